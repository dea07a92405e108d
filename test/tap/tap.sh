# SPDX-License-Identifier: BSD-3-Clause
# tap.sh - tap.h for shell tests: source it, state behaviours, end with done_testing.
#
#   ok TEXT CMD ARGS...      passes when CMD does; its output is shown when it fails
#   not_ok TEXT CMD ARGS...  passes when CMD fails
#   is GOT WANT TEXT         two texts are the same
#   like GOT PATTERN TEXT    a text matches a pattern of the shell (*, ?, [...])
#   pass TEXT, fail TEXT     for a verdict reached otherwise
#   await CMD ARGS...        until CMD succeeds; fails when it has not in TEST_TIMEOUT s (120)
#   await_of PID CMD ARGS... the same, or until that process has ended
#   is_stub FILE             what stands there is a stub: the file has not come to its path yet
#   note TEXT, skip COUNT WHY, skip_all WHY, bail_out WHY, plan COUNT
#   tap_dir                  prints a fresh directory: removed at a good end, else kept
#   "${memcheck[@]}"         goes before a program that make check-valgrind is to look at; else empty
#   tap_at_exit CMD          adds a command to what is done when the test ends or is ended
#   done_testing             prints the plan; its status is the test's
#
# The text of a check states a behaviour that a user relies on.
# shellcheck shell=bash

tap_checks=0 tap_failures=0 tap_planned='' tap_directory='' tap_exits=()
# shellcheck disable=SC2034 # the tests use it
read -ra memcheck <<<"${MEMCHECK-}"

pass() {
    tap_checks=$((tap_checks + 1))
    echo "ok $tap_checks - $1"
}

fail() {
    tap_checks=$((tap_checks + 1)) tap_failures=$((tap_failures + 1))
    echo "not ok $tap_checks - $1"
    echo "# ${BASH_SOURCE[-1]}:${BASH_LINENO[-2]}"
}

note() {
    local line
    while IFS= read -r line; do
        echo "# $line"
    done <<<"$1"
}

ok() {
    local text=$1 said
    shift
    if said=$("$@" 2>&1); then
        pass "$text"
    else
        fail "$text"
        note "$* says: $said"
        return 1
    fi
}

not_ok() {
    local text=$1 said
    shift
    if said=$("$@" 2>&1); then
        fail "$text"
        note "$* succeeds and says: $said"
        return 1
    fi
    pass "$text"
}

is() {
    if [ "$1" = "$2" ]; then
        pass "$3"
    else
        fail "$3"
        note "got  '$1'"
        note "want '$2'"
        return 1
    fi
}

like() {
    # shellcheck disable=SC2053  # the right side is a pattern
    if [[ $1 == $2 ]]; then
        pass "$3"
    else
        fail "$3"
        note "got  '$1'"
        note "want '$2'"
        return 1
    fi
}

is_stub() { grep -aqsx 'h5veloc stub 2' "$1"; }

await() { await_of $$ "$@"; }

await_of() {
    local pid=$1 end=$((SECONDS + ${TEST_TIMEOUT:-120}))
    shift
    until "$@"; do
        if ! kill -0 "$pid" 2>/dev/null; then
            "$@" # it may have done it last
            return
        fi
        if [ "$SECONDS" -ge "$end" ]; then
            note "waited ${TEST_TIMEOUT:-120} s in vain for: $*" >&2
            return 1
        fi
        sleep 0.05
    done
}

skip() {
    local i
    for ((i = 0; i < $1; i++)); do
        tap_checks=$((tap_checks + 1))
        echo "ok $tap_checks # SKIP $2"
    done
}

skip_all() {
    echo "1..0 # SKIP $1"
    exit 0
}

bail_out() {
    echo "Bail out! $1"
    exit 99
}

plan() {
    tap_planned=$1
    echo "1..$1"
}

tap_at_exit() {
    tap_exits+=("$1")
}

# Last in, first out. An interrupted test says so by its status and cleans up once.
tap_end() {
    local status=$? i
    trap '' EXIT INT TERM HUP
    for ((i = ${#tap_exits[@]} - 1; i >= 0; i--)); do
        eval "${tap_exits[i]}"
    done
    [ -z "${1:-}" ] || exit "$1"
    exit "$status"
}
trap tap_end EXIT
trap 'tap_end 130' INT
trap 'tap_end 143' TERM
trap 'tap_end 129' HUP

# Called in the test's own shell once, so that $(tap_dir) in a subshell finds it made.
tap_make_dir() {
    tap_directory=$(mktemp -d "${TMPDIR:-/tmp}/h5veloc-test.XXXXXX") ||
        bail_out "cannot make a directory below ${TMPDIR:-/tmp}"
    tap_at_exit tap_remove_dir
}
tap_remove_dir() {
    if [ "$tap_failures" -gt 0 ]; then
        note "files are kept in $tap_directory"
    else
        rm -rf "$tap_directory"
    fi
}
tap_dir() { echo "$tap_directory"; }
tap_make_dir

done_testing() {
    [ -n "$tap_planned" ] || echo "1..$tap_checks"
    [ "$tap_failures" -eq 0 ]
}
