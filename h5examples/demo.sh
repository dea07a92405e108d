#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# demo.sh BUILD_DIR [RANKS] - a program is killed in the middle and goes on from its own files.
# Knows the story to tell and how to prove its end; the program is checkpoint.c beside it.
# ./bootstrap demo runs it, and so does make check.
# shellcheck disable=SC2015  # "a && b || c": c is meant for either failure
set -u

build=${1:?usage: demo.sh BUILD_DIR [RANKS]}
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

cat <<END
The result after the restart from step $from is the same, bit for bit.

So far this is HDF5 alone, on files that the crash left untouched: the h5veloc connector is not
in this version yet. Once it is, this demonstration will lose a whole node, with the files on it.
END
