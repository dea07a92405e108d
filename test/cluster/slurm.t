#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A job of a real Slurm: agents as a step beside an unmodified HDF5 program, a node lost in the
# middle, and in the same allocation h5veloc-prerun on the nodes that are left, the program again,
# and agents that drain. As the man pages tell it.
# shellcheck source=test/tap/tap.sh
. "${top_srcdir:?run it by make check}/test/tap/tap.sh"
# shellcheck source=test/cluster/cluster.sh
. "$top_srcdir/test/cluster/cluster.sh"
# shellcheck source=test/cluster/slurm.sh
. "$top_srcdir/test/cluster/slurm.sh"
: "${top_builddir:?}"
[ "${MPI_KIND:-}" = mpich ] || skip_all "Debian's Slurm starts programs of MPICH only"
export TEST_TIMEOUT=180

slurm_up 4
job=$(cluster_pfs)/job tools=$top_builddir/src/cmd
mkdir -p "$job/files" "$job/reference"
cat >"$job/.velocconf" <<'END'
COPY_TYPE=XOR
SET_SIZE=4
CACHE_BASE=/node/cache
CNTL_BASE=/dev/shm
PEER_TIMEOUT=10
VIEW_WAIT=5
DATASET=heat PATTERN=files/heat-{step}.{rank}.h5 PUBLISH=BEHIND
END

# The job script. Everything before `lost` is done with four nodes.
cat >"$job/job.sh" <<END
#!/bin/bash
cd /node/pfs/job
export UCX_TLS=tcp,self UCX_NET_DEVICES=eth0 HDF5_PLUGIN_PATH=$HDF5_PLUGIN_PATH
program="srun --overlap --distribution=block --ntasks=8 --ntasks-per-node=2 --mpi=pmi2 env ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0 LD_PRELOAD=${YIELD_SHIM:+/node/state/lib/yield.so} YIELD_FINALIZE=1 $top_builddir/h5examples/checkpoint -n 100 -c 20"
each="srun --overlap --no-kill --ntasks-per-node=1"
END
cat >>"$job/job.sh" <<'END'
$program reference >reference.log 2>&1
export HDF5_VOL_CONNECTOR=veloc
$each --nodes=4 --ntasks=4 TOOLS/h5veloc-agent >agent.log 2>&1 &
until [ "$($each --nodes=4 --ntasks=4 TOOLS/h5veloc-agent --status 2>/dev/null | grep -c 'agent runs')" -eq 4 ]; do :; done
VELOC_FLUSH_BANDWIDTH=1KB $program -p 400 files >killed.log 2>&1
echo $? >killed
# the survivors, once Slurm knows
until on=$(squeue -h -j "$SLURM_JOB_ID" -o %N) && [ "$(scontrol show hostnames "$on" | wc -l)" -eq 3 ]; do read -r -t 0.5 <> <(:); done
each="$each --nodelist=$on --nodes=3 --ntasks=3"
$each TOOLS/h5veloc-prerun --recover >prerun.log 2>&1
echo $? >prerun
$each TOOLS/h5veloc-agent --status >status.log 2>&1
${program/--ntasks-per-node=2/--nodelist=$on --nodes=3} files >restart.log 2>&1
echo $? >restart
$each TOOLS/h5veloc-agent --drain --stop >drain.log 2>&1
echo $? >drain
END
sed -i "s,TOOLS,$tools,g" "$job/job.sh"
chmod +x "$job/job.sh"

is_protected() { # STEP
    cluster_sh node1 env -C /node/pfs/job "$tools/h5veloc-ls" -q --json 2>/dev/null |
        awk -v want="$1" '/"step":/ { step = $2 + 0 } /"scheme":/ { is_single = $2 ~ /SINGLE|null/ }
            /"state": "flushing"/ && !is_single && step == want { found = 1 } END { exit !found }'
}
show() { (cd "$job" && tail -n 20 -- *.log slurm-*.out 2>/dev/null); }

cluster_sh head env -C /node/pfs/job SLURM_CONF="$slurm_dir/slurm.conf" \
    sbatch --quiet --no-kill --nodes=4 --ntasks-per-node=4 /node/pfs/job/job.sh || bail_out "sbatch fails"
ok "a checkpoint of a job is protected among its nodes" await is_protected 20 || note "$(show)"
cluster_kill 2
ok "the job goes on when one of them is lost" await test -e "$job/drain" || note "$(show)"

is "$(cat "$job/prerun" 2>&1)" 0 "h5veloc-prerun brings the files to the nodes that are left"
is "$(cat "$job/restart" 2>&1)" 0 "the program goes on there"
like "$(cat "$job/restart.log" 2>&1)" "*restarted from step [2468]0 *" "from the step that was protected"
is "$(sed -n 's/.*result //p' "$job/restart.log")" "$(sed -n 's/.*result //p' "$job/reference.log")" \
    "and its result is that of a run that nothing happened to"
is "$(cat "$job/drain" 2>&1)" 0 "the agents end when all is on the prefix"
stubs=$(find "$job/files" -name '*.h5' -size -1k | wc -l)
is "$stubs $(find "$job/files" -name '*.h5' | wc -l)" "0 40" "which holds every file of the five steps"
[ "$tap_failures" -eq 0 ] || note "$(show)"
done_testing
