#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# demo.sh BUILD_DIR [RANKS] - a program is killed in the middle and goes on from its own files; another
# one loses a node, too, and goes on from what the others have of it.
# Knows the story to tell and how to prove its end; the programs are checkpoint.c and heat.c beside it.
# ./bootstrap demo runs it, and so does make check.
# shellcheck disable=SC2015  # "a && b || c": c is meant for either failure
set -u

build=$(cd "${1:?usage: demo.sh BUILD_DIR [RANKS]}" && pwd) || exit 1
ranks=${2:-4}
steps=200 every=20 kill_after=100
program=$build/h5examples/checkpoint
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

# launch DIR PAUSE: the program, its files in DIR, PAUSE ms of pretended work in each step
launch() {
    "$mpiexec" -n "$ranks" "$program" -n "$steps" -c "$every" -p "$2" "$1" </dev/null
}

# The process and all below it: launcher, its helpers, the ranks. KILL, so that nobody can tidy up.
kill_all() {
    # shellcheck disable=SC2046  # a list of numbers
    kill -KILL $(ps -A -o pid= -o ppid= | awk -v top="$1" '
        { parent[$1] = $2 }
        END {
            for (pid in parent) {
                for (up = pid; up in parent && up != top; up = parent[up]) ;
                if (up == top) print pid
            }
        }') 2>/dev/null
}

# Sets killed=yes when the ranks were killed before they were done. They cannot be held at a
# step, they know nothing of this script; a pause in every step gives it time.
run_until_killed() {
    rm -rf "$1"
    mkdir "$1" && mkfifo "$1.pipe" || fail "cannot write into $work"
    launch "$1" "$2" >"$1.pipe" 2>&1 &
    launcher=$!
    while read -r line; do
        echo "    $line"
        [ "$line" != "saved step $kill_after" ] || kill_all "$launcher"
    done <"$1.pipe"
    wait "$launcher" 2>/dev/null && killed=no || killed=yes
    launcher=
    rm -f "$1.pipe"
}

mkdir "$work/reference" "$work/files"
echo "1. What the program computes when nothing happens ($ranks ranks, $steps steps):"
launch "$work/reference" 0 >"$work/reference.log" 2>&1 || {
    cat "$work/reference.log" >&2
    fail "the program does not run under $mpiexec"
}
expected=$(sed -n 's/^step .* result //p' "$work/reference.log")
[ -n "$expected" ] || fail "the program gave no result"
echo "    result $expected"
rm -rf "$work/reference"

echo "2. The same program again; every rank is killed after step $kill_after:"
for pause in 4 16 64 256; do
    run_until_killed "$work/files" "$pause"
    [ "$killed" = no ] || break
    echo "    it was done before it could be killed; again with more work:"
done
[ "$killed" = yes ] || fail "the program was always done before it could be killed"
echo "    killed; it leaves $(find "$work/files" -name '*.h5' | wc -l) HDF5 files"

echo "3. The same program once more:"
launch "$work/files" 0 >"$work/restart.log" 2>&1 || {
    cat "$work/restart.log" >&2
    fail "the restarted program failed"
}
sed 's/^/    /' "$work/restart.log"
from=$(sed -n 's/.*restarted from step \([0-9]*\) .*/\1/p' "$work/restart.log")
[ "${from:-0}" -ge "$kill_after" ] || fail "the restart did not find step $kill_after"
[ "$(sed -n 's/^step .* result //p' "$work/restart.log")" = "$expected" ] ||
    fail "the restarted program computed something else than $expected"

echo "    the same result, bit for bit, from files that the crash left untouched"

# heat STEP: the program of README.md, killed at STEP if it comes to it, on pretended nodes
heat() {
    # it is killed right after a checkpoint: MODE=SYNC, so that the call has protected it
    (cd "$work/heat" && VELOC_MODE=SYNC VELOC_VIRTUAL_NODES=4 VELOC_CACHE_BASE=$work/cache \
        "$build/libtool" --silent --mode=execute "$mpiexec" -n 4 \
        "$build/h5examples/heat" "$1" </dev/null 2>&1)
}
ends() { grep ' ends with ' "$1" | sort; }

mkdir "$work/heat" "$work/cache"
echo "4. A program that calls veloc.h, on four nodes that this machine pretends to be:"
VELOC_ENABLE=0 heat 0 >"$work/whole.log" || {
    cat "$work/whole.log" >&2
    fail "the program does not run under $mpiexec"
}
heat 55 >"$work/killed.log" && fail "the program was not killed"
rm -rf "$work/cache"/*.v2
echo "    killed at step 55; then node 2 is lost, and its checkpoint with it"

echo "5. The same program once more:"
heat 0 >"$work/rebuilt.log" || {
    cat "$work/rebuilt.log" >&2
    fail "the restarted program failed"
}
grep -e '^h5veloc' -e 'begins at step' "$work/rebuilt.log" | sed 's/^/    /'
grep -q 'begins at step 50$' "$work/rebuilt.log" || fail "the restart did not find step 50"
[ "$(ends "$work/rebuilt.log")" = "$(ends "$work/whole.log")" ] ||
    fail "the restarted program computed something else"

cat <<END
    the files of the lost node were rebuilt, and the result is the same, bit for bit

The HDF5 connector does not protect files in this version yet. Once it does, the first program here will
lose a node as the second one did, without a change.
END
