#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Campaign: what README.md tells one to do first (write, kill, run again), and once more, where the wall clocks of the ranks are
# 0.3 s apart. The program goes on where it was and ends, and nobody has waited for a timeout. The seed chooses
# ranks, mode, scheme, the step of the kill and the timeouts; CLOCKS_TIMEOUTS=short or default says which.
: "${top_srcdir:?}" "${top_builddir:?}" "${MPI_KIND:?}"
# shellcheck source=test/tap/tap.sh
. "$top_srcdir/test/tap/tap.sh"
dir=$(tap_dir)
export VELOC_VIRTUAL_NODES=4 VELOC_CACHE_BASE="$dir/cache" VELOC_CNTL_BASE="$dir" VELOC_LOG_FILE="$dir/log"
export VELOC_LOG_LEVEL=INFO ASAN_OPTIONS="detect_leaks=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
expired='does not answer|nothing has moved|no progress|did not come|in vain|silent' # what is said of a timeout
pick() { printf -v "$1" %s "${@:RANDOM % ($# - 1) + 2:1}"; } # VAR WORD...: here, since a $(...) has chances of its own

# run RANKS ARGS...: a job that is far quicker than a timeout; PEER_TIMEOUT is 30 s by default
run() {
    (cd "$dir/prefix" && TEST_TIMEOUT=${CLOCKS_LIMIT:-25} apart "$1" "$top_builddir/h5examples/heat" "${@:2}") >"$dir/said" 2>&1
}
# apart RANKS PROG ARGS...: a job with such clocks; mpirun.sh gives ranks of MPICH the preload that YIELD_SHIM names
apart() {
    local clocks=$top_builddir/test/fault/.libs/clocks.so
    YIELD_SHIM="$clocks${YIELD_SHIM:+:$YIELD_SHIM}" LD_PRELOAD="$clocks${LD_PRELOAD:+:$LD_PRELOAD}" "$top_srcdir/test/mpirun.sh" "$@"
}

# again STEP OTHER: it begins at either step, and ends
again() {
    local begins
    run "$ranks" || { why="a run again ends with $?: $(tail -n 3 "$dir/said")"; return 1; }
    begins=$(sed -nE 's/.*begins at step ([0-9]+)$/\1/p' "$dir/said" | sort -u | paste -sd' ')
    [ "$begins" = "$1" ] || [ "$begins" = "${2:--}" ] || { why="it begins at $begins"; return 1; }
}
run_scene() {
    RANDOM=$1
    local ranks crash n
    pick ranks 2 4 4
    pick crash 15 35 55 75 100
    unset VELOC_PEER_TIMEOUT VELOC_FLUSH_STALL VELOC_VIEW_WAIT
    pick timeouts short default
    timeouts=${CLOCKS_TIMEOUTS:-$timeouts}
    [ "$timeouts" = default ] || export VELOC_PEER_TIMEOUT=3 VELOC_VIEW_WAIT=2 VELOC_FLUSH_STALL=4
    pick VELOC_MODE SYNC SYNC ASYNC
    pick VELOC_COPY_TYPE XOR PARTNER SINGLE
    pick VELOC_FLUSH 1 2 10
    export VELOC_MODE VELOC_COPY_TYPE VELOC_FLUSH
    told="$ranks ranks, killed at step $crash, MODE=$VELOC_MODE COPY_TYPE=$VELOC_COPY_TYPE FLUSH=$VELOC_FLUSH, $timeouts timeouts"
    rm -rf "$dir/prefix" "$dir/cache" "$dir/log"
    mkdir -p "$dir/prefix" "$dir/cache"
    run "$ranks" "$crash"
    # behind the program the last one need not be complete yet
    again "$((crash / 10 * 10))" "$([ "$VELOC_MODE" = SYNC ] || echo $((crash / 10 * 10 - 10)))" && again 100 '' || return 1
    n=$(grep -cE "$expired" "$dir/log")
    [ "$n" -eq 0 ] || { why="$n timeouts: $(grep -E "$expired" "$dir/log" | head -n 1)"; return 1; }
}

apart 4 date +%s%3N | sort -n >"$dir/said"
ok 'the clocks of the ranks are apart' test $(($(tail -n 1 "$dir/said") - $(head -n 1 "$dir/said"))) -gt 300

seeds=${SEEDS:-1-3} failed=0
for ((seed = ${seeds%-*}; seed <= ${seeds#*-}; seed++)); do
    run_scene $seed && continue
    note "SEEDS=$seed ($told): $why"
    failed=$((failed + 1))
done
is $failed 0 "killed and run again with clocks 0.3 s apart a program goes on, and no timeout expires, seeds $seeds"
done_testing
