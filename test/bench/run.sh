#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# run.sh BENCH-PROGRAM... - run benchmarks one after another, never two at once, and print one
# table of tab-separated rows. Every row names commit and machine, so that tables can be joined.
# The spread is where the median lies in 95 of 100 cases. A target is met when the lower end of it is no lower, missed when
# the higher end is; else it is not measured: more pairs, or a quieter moment.
#   BENCH=pattern     only programs whose name contains it
#   BENCH_ON=dir      where they write: another disk; else in memory (/dev/shm), or in TMPDIR
#   BENCH_PART=name   only that part of programs that have parts (leader: blocking, loss, flush)
#   BENCH_PAIRS=n     pairs per comparison, 7 at least
#   BENCH_MIB=n       MiB of files for each rank, where files are measured (256 if they fit)
#   TEST_TIMEOUT=n    seconds for a benchmark of several ranks (3600)
set -eu
srcdir=${top_srcdir:-.}
commit=$(git -C "$srcdir" describe --always --dirty 2>/dev/null || echo unknown)
host=$(uname -n)
cores=$(nproc 2>/dev/null || echo 1)
status=0
export TEST_TIMEOUT="${TEST_TIMEOUT:-3600}"
where=${TMPDIR:-/tmp}
[ ! -d /dev/shm ] || where=/dev/shm
BENCH_DIR=$(mktemp -d "${BENCH_ON:-$where}/h5veloc-bench.XXXXXX")
export BENCH_DIR
trap 'rm -rf "$BENCH_DIR"' EXIT # also of what was ended: these files are as large as the memory
trap 'exit 130' INT
trap 'exit 143' TERM
printf 'commit\thost\tcores\tbench\tparams\tbytes\ta\ta_GB/s\tb\tb_GB/s\tratio\tratio_low\tratio_high\tpairs\ttarget\tverdict\n'
for program in "$@"; do
    case $(basename "$program") in *"${BENCH:-}"*) ;; *) continue ;; esac
    case $program in
    *.np*) runner="$srcdir/test/mpirun.sh ${program##*.np}" ;;
    *) runner= ;;
    esac
    # shellcheck disable=SC2086 # a runner is words
    rows=$($runner "$program") || status=1
    [ -z "$rows" ] || printf '%s\n' "$rows" | sed "s|^|$commit	$host	$cores	|"
done
exit $status
