#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# demo.sh BUILD_DIR [RANKS] - an HDF5 program that knows nothing of h5veloc is killed and loses a node, and
# goes on from what the other nodes have of its files. So does a program that calls veloc.h.
# Knows the story to tell and how to prove its end; the programs are checkpoint.c and heat.c beside it.
# ./bootstrap demo runs it, and so does make check.
# shellcheck disable=SC2015  # "a && b || c": c is meant for either failure
set -u

build=$(cd "${1:?usage: demo.sh BUILD_DIR [RANKS]}" && pwd) || exit 1
ranks=${2:-4}
steps=200 every=20 kill_after=100
program=$build/h5examples/checkpoint
nodes=$((ranks < 4 ? ranks : 4))
mpiexec=$(sed -n 's/^MPIEXEC = //p' "$build/Makefile")

# Open MPI asks for permission to run as root and with more ranks than processors, and keeps
# files that a killed run leaves behind: they go into our directory. MPICH knows none of these.
OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1
PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
export OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM OMPI_MCA_rmaps_base_oversubscribe
export OMPI_MCA_mpi_yield_when_idle PRTE_MCA_rmaps_default_mapping_policy
work=$(mktemp -d "${TMPDIR:-/tmp}/h5veloc-demo.XXXXXX") || exit 1
TMPDIR=$work OMPI_MCA_btl_vader_backing_directory=$work
export TMPDIR OMPI_MCA_btl_vader_backing_directory

launcher=
cleanup() {
    [ -z "$launcher" ] || kill_all "$launcher"
    rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' HUP TERM

fail() {
    echo "demo: error: $*" >&2
    exit 1
}

# All that it takes to have the files of the program protected. The variables are for this machine, which
# pretends to be four nodes, each with a cache of its own, and for a build that is not installed.
mkdir "$work/files" "$work/cache" "$work/reference" "$work/heat" || fail "cannot write into $work"
echo 'DATASET=heat PATTERN=files/heat-{step}.{rank}.h5' >"$work/.velocconf"
HDF5_PLUGIN_PATH=$build/vol/.libs
VELOC_VIRTUAL_NODES=$nodes VELOC_CACHE_BASE=$work/cache VELOC_CNTL_BASE=$work
VELOC_PEER_TIMEOUT=10 VELOC_VIEW_WAIT=5 # a killed run and a lost node are not waited for longer
export HDF5_PLUGIN_PATH VELOC_VIRTUAL_NODES VELOC_CACHE_BASE VELOC_CNTL_BASE
export VELOC_PEER_TIMEOUT VELOC_VIEW_WAIT

# launch CONNECTOR DIR PAUSE: the program, its files in DIR, PAUSE ms of pretended work in each step
launch() (
    cd "$work" && HDF5_VOL_CONNECTOR=$1 exec "$mpiexec" -n "$ranks" \
        "$program" -n "$steps" -c "$every" -p "$3" "$2" </dev/null
)
result() { sed -n 's/^step .* result //p' "$1"; }
list() (cd "$work" && exec "$build/src/cmd/h5veloc-ls" -q "$@")

# The process and all below it: launcher, its helpers, the ranks. KILL, so that nobody can tidy up.
# A small machine may have no ps.
kill_all() {
    # shellcheck disable=SC2046  # a list of numbers
    kill -KILL $(cat /proc/[0-9]*/stat 2>/dev/null | awk -v top="$1" '
        { pid = $1; sub(/.*\) . /, ""); parent[pid] = $1 }
        END {
            for (pid in parent) {
                for (up = pid; up in parent && up != top; up = parent[up]) ;
                if (up == top) print pid
            }
        }') 2>/dev/null
}

# The newest step whose files have their redundancy on other nodes; nothing: there is none.
protected_step() {
    list --json 2>/dev/null | awk '
        /"step":/ { step = $2 + 0 }
        /"scheme":/ { is_single = $2 ~ /SINGLE|null/ }
        /"state": "flushing"/ && !is_single { print step; exit }'
}

# Sets step to what is protected when all ranks are killed, empty: they were done before. They cannot be
# held at a step, they know nothing of this script; a pause in every step gives it time. The flush is so
# slow that nothing of a step comes to its own path before that.
run_until_killed() {
    VELOC_FLUSH_BANDWIDTH=1KB launch veloc files "$1" >"$work/killed.log" 2>&1 &
    launcher=$!
    step=
    while kill -0 "$launcher" 2>/dev/null; do
        step=$(protected_step)
        [ "${step:-0}" -lt "$kill_after" ] || break
        step=
    done
    kill_all "$launcher"
    wait "$launcher" 2>/dev/null && step=
    launcher=
    sed 's/^/    /' "$work/killed.log"
}

echo "1. What the program computes when nothing happens ($ranks ranks, $steps steps):"
launch native reference 0 >"$work/reference.log" 2>&1 || {
    cat "$work/reference.log" >&2
    fail "the program does not run under $mpiexec"
}
expected=$(result "$work/reference.log")
[ -n "$expected" ] || fail "the program gave no result"
echo "    result $expected"

echo "2. The same program with HDF5_VOL_CONNECTOR=veloc, on $nodes nodes that this machine pretends to be, and"
sed 's/^/    /' "$work/.velocconf"
echo "   Every rank is killed when step $kill_after is protected:"
for pause in 64 256 900; do
    run_until_killed "$pause"
    [ -z "$step" ] || break
    echo "    it was done before it could be killed; again with more work:"
    rm -rf "$work/files" "$work/cache" "$work/.veloc"
    mkdir "$work/files" "$work/cache" || fail "cannot write into $work"
done
[ -n "$step" ] || fail "the program was always done before it could be killed"
echo "    killed"

echo "3. A node is lost, and its cache with it: rm -r cache/*.v1; then h5veloc-ls says:"
rm -rf "$work/cache"/*.v1
list | tee "$work/list" | sed 's/^/    /'
grep -q " $step .*yes, rebuilt: " "$work/list" || fail "step $step is not to be rebuilt"

echo "4. The same program once more:"
launch veloc files 0 >"$work/restart.log" 2>"$work/restart.err" || {
    cat "$work/restart.log" "$work/restart.err" >&2
    fail "the restarted program failed"
}
sed 's/^/    /' "$work/restart.log"
sed -n 's/^h5veloc: [0-9]* dataset/    &/p' "$work/restart.err"
from=$(sed -n 's/.*restarted from step \([0-9]*\) .*/\1/p' "$work/restart.log")
[ "${from:-0}" -ge "$step" ] || fail "the restart did not find step $step"
[ "$(result "$work/restart.log")" = "$expected" ] ||
    fail "the restarted program computed something else than $expected"
echo "    the same result, bit for bit, with files of the lost node that were rebuilt from the others"

# heat STEP: the program of README.md, killed at STEP if it comes to it
heat() (
    # it is killed right after a checkpoint: MODE=SYNC, so that the call has protected it
    cd "$work/heat" && VELOC_MODE=SYNC VELOC_VIRTUAL_NODES=4 \
        exec "$mpiexec" -n 4 \
        "$build/h5examples/heat" "$1" </dev/null 2>&1
)
ends() { grep ' ends with ' "$1" | sort; }

echo "5. A program that calls veloc.h is killed, loses a node, and is run again:"
VELOC_ENABLE=0 heat 0 >"$work/whole.log" || {
    cat "$work/whole.log" >&2
    fail "the program does not run under $mpiexec"
}
heat 55 >"$work/killed.log" && fail "the program was not killed"
rm -rf "$work/cache"/*.v2
heat 0 >"$work/rebuilt.log" || {
    cat "$work/rebuilt.log" >&2
    fail "the restarted program failed"
}
grep '^rank 2 begins at step' "$work/rebuilt.log" | sed 's/^/    /'
grep -q 'begins at step 50$' "$work/rebuilt.log" || fail "the restart did not find step 50"
[ "$(ends "$work/rebuilt.log")" = "$(ends "$work/whole.log")" ] ||
    fail "the restarted program computed something else"
echo "    the same result, bit for bit"
