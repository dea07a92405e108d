#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# HDF5 programs of which not every rank has one file: rank 3 has none and rank 0 two; or
# rank 0 alone has files, and the others do not know HDF5. Their nodes are lost.
# shellcheck source=test/tap/tap.sh
. "${top_srcdir:?run it by make check}/test/tap/tap.sh"
# shellcheck source=test/cluster/cluster.sh
. "$top_srcdir/test/cluster/cluster.sh"
# shellcheck source=test/cluster/filer.sh
. "$top_srcdir/test/cluster/filer.sh"
home=node1,node2,node3,node4
filer_begin 4
settings=(VELOC_PEER_TIMEOUT=6 VELOC_VIEW_WAIT=60 VELOC_SET_SIZE=4 VELOC_SEAL_AFTER=5)
slow=VELOC_FLUSH_BANDWIDTH=1000

# "STEP:FILES" of all datasets
datasets() {
    cluster_sh head env "${filer_vars[@]}" "$TOOLS/h5veloc-ls" --json /node/pfs/prefix |
        awk '$1 == "\"step\":" { step = $2 + 0 }
            $1 == "\"files\":" { files = $2 + 0 }
            step && files { print step ":" files; step = files = 0 }' | paste -sd' '
}
torn() { filer_did torn; }

# --- rank 3 has none, rank 0 two ---

filer_fresh odd 'DATASET=ck PATTERN=out/ck.{step}/*-{rank}.h5 PUBLISH=BEHIND'
filer_env=("${settings[@]}" "$slow" SLURM_JOB_ID=17 SLURM_STEP_ID=0)
filer_start $home -n 3 -w 3:4
filer_turns 87 # all of them
cluster_kill 2
filer_end
is "$(filer_did safe | wc -l)" 7 'rank 3 writes no file and rank 0 two: all is protected, nobody waits for rank 3'
cluster_start 2
filer_env=("${settings[@]}" "$slow" SLURM_JOB_ID=18 SLURM_STEP_ID=0)
filer_start $home -n 4 -w 3:8
filer_turns 39
filer_kill head 2>/dev/null
filer_end
is "$(filer_newest | paste -sd' ') $(torn)" '3 ' 'a node is lost, and another job goes on: all ranks find the newest step'
is "$(filer_whole)" 0 'which is in the caches only'
filer_env=("${settings[@]}")
filer_run $home -n 5
is "$status $(filer_newest | paste -sd' ') $(torn)" '0 4 ' 'so does a plain mpiexec after that was killed'
is "$(filer_whole) $(datasets)" '5 5:8 4:8 3:8 2:8 1:8' 'every step is one dataset, and at its path in the end'

# --- rank 0 alone has files ---

zero() { # SETTINGS...: it writes 2 steps, and its node is lost
    filer_start $home -n 2 -w 3:2
    filer_turns 35 # all of them
    cluster_kill 1
    filer_end
    cluster_start 1
}
filer_fresh zero
filer_env=("${settings[@]}")
zero
is "$(filer_whole)" 2 'rank 0 alone has files: they were complete at their paths at close'
filer_env=("${settings[@]}")
filer_run $home -n 3
is "$status $(filer_newest) $(torn)" '0 2 ' 'its node is lost: it goes on with the newest'

# the first step that has redundancy on nodes where no process knows HDF5
first_spread() {
    grep -h ' sealed .*"node4"' "$pfs"/prefix/.veloc/launch.*/1.* | grep -o '"version":[0-9]*' | sort -t: -nk2 |
        head -n 1
}
are_here() {
    local node
    for node; do ls "$pfs/prefix/.veloc"/launch.*/node."$node" >&2 || return; done 2>/dev/null
}
filer_fresh zero 'DATASET=ck PATTERN=out/ck.{step}/part-0.h5 PUBLISH=BEHIND'
filer_env=("${settings[@]}" "$slow")
filer_agents node1 node2 node3 node4
filer_steps=12
filer_start $home -n "$filer_steps" -b -w 3:65535 # after all steps
filer_turns 17 # one of them
cluster_sh node1 pkill -STOP -x filer
await are_here node2 node3 node4
cluster_sh node1 pkill -CONT -x filer
safe=0 first=''
until [ -n "$first" ] && [ "$safe" -ge "${first#*:}" ]; do
    filer_turns 1 || break
    first=$(first_spread)
    safe=$(filer_did safe | awk '{ step = $2 } END { print step + 0 }')
done
cluster_kill 1
filer_end
is "$(filer_whole)" 0 'with agents on the other nodes its files are in the caches only'
cluster_start 1
filer_env=("${settings[@]}")
filer_agents node1
filer_run $home -n "$filer_steps"
newest=$(filer_newest)
ok "and are rebuilt when its node is lost, step $newest, $safe was protected" test "$newest" -ge "$safe"
is "$status $(torn)" '0 ' 'byte by byte'
cluster_each env "${filer_vars[@]}" "$TOOLS/h5veloc-agent" --drain --stop
is "$(filer_whole)" "$filer_steps" 'all of it comes to its path'

# --- the cache has the name of its node; the next launch has ranks on two of them, and agents on the others ---

filer_fresh each 'DATASET=ck PATTERN=out/ck.{step}/part-{rank}.h5 PUBLISH=BEHIND'
filer_env=("${settings[@]}" "$slow")
program=$filer
filer=$pfs/filer.sh
# shellcheck disable=SC2016 # the shell there expands it
printf '#!/bin/sh\nexport VELOC_CACHE_BASE=/node/cache/$(uname -n)\nmkdir -p $VELOC_CACHE_BASE\nexec %s "$@"\n' "$program" >"$filer"
chmod +x "$filer"
filer=/node/pfs/filer.sh
filer_start $home -n 3 -w 3:4
filer_turns 80 # all that they can make
filer_kill head 2>/dev/null
filer_end
filer=$program
is "$(filer_whole)" 0 'of 4 nodes with ranks the files are in their caches only'
for node in node3 node4; do
    filer_env=("${settings[@]}" "VELOC_CACHE_BASE=/node/cache/$node")
    filer_agents $node
done
filer_env=("${settings[@]}")
filer=/node/pfs/filer.sh
filer_run node1,node2 -n 4
is "$status $(filer_newest | paste -sd' ') $(torn)" '0 3 ' 'the agents of two nodes bring what is in those, wherever it is there'
done_testing
