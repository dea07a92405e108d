#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# summary.sh [BUILD-DIR [SCRATCH-DIR]] - what `make check` has found, counted in TAP checks.
#
# Counts in the .trs files that Automake's driver has left, and names what failed in the
# words of the .log beside each, with the first notes on why. The last line is `N passed, N failed`, or
# `N passed, N failed, N skipped` where something was skipped. An error (a crash, a missing
# plan, a time limit) is a failure. So is a run that did not come to its end, which would
# look better than it is. What tests leave in SCRATCH-DIR, their TMPDIR, is a failure: only those
# that fail keep their files. Status 0 when something ran and nothing failed.
set -u
build=${1:-.}
scratch=${2:-}

name_failed() {
    awk '/^(FAIL|XPASS|ERROR): / { print; found = 1; notes = 12; next }
         /^# / && notes > 0 { print "  " substr($0, 1, 400); notes--; next }
         { notes = 0 }
         END { exit !found }' "$1"
}

find "$build" -name '*.trs' -type f | LC_ALL=C sort | {
    passed=0 failed=0 skipped=0
    if [ ! -e "$build/test-suite.log" ]; then
        failed=1
        echo "FAIL $build: the tests did not run to their end (there is no test-suite.log)"
    fi
    while IFS= read -r trs; do
        name=${trs#"$build"/}
        name=${name%.trs}
        checks=0 bad=0
        while IFS= read -r line; do
            case $line in
            ":test-result: PASS"* | ":test-result: XFAIL"*) passed=$((passed + 1)) ;;
            ":test-result: SKIP"*) skipped=$((skipped + 1)) ;;
            ":test-result: "*) # FAIL, XPASS, ERROR and what we do not know
                bad=$((bad + 1))
                ;;
            *) continue ;;
            esac
            checks=$((checks + 1))
        done <"$trs"
        if [ "$checks" -eq 0 ]; then
            bad=1
            echo "FAIL $name: it left no result"
        elif [ "$bad" -gt 0 ]; then
            name_failed "${trs%.trs}.log" || echo "FAIL $name"
        fi
        failed=$((failed + bad))
    done
    left=
    [ -z "$scratch" ] || left=$(ls -A "$scratch" 2>/dev/null)
    if [ "$failed" -eq 0 ] && [ -n "$left" ]; then
        failed=1
        echo "FAIL the tests have left in $scratch: $left"
    fi
    skips=
    [ "$skipped" -eq 0 ] || skips=", $skipped skipped"
    echo "$passed passed, $failed failed$skips"
    [ "$failed" -eq 0 ] && [ $((passed + skipped)) -gt 0 ]
}
