#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# mpirun.sh NP PROG ARGS... - run one MPI job of a test; its output and exit status are PROG's.
#
# However parallel make is, one job runs at a time: they share the cores and would only
# stretch each other. A job that takes longer than TEST_TIMEOUT seconds (120; the wait for
# its turn is not counted) is ended with all it has started: first the stacks of its
# processes are printed, then the exit status is 124, an error for the TAP driver.
#
#   MPIEXEC         the launcher (default: mpiexec)      MPIEXEC_FLAGS  more words for it
#   YIELD_SHIM      what test/yield has built, for MPICH
#   TEST_TIMEOUT    seconds
set -u
here=$(cd "${BASH_SOURCE[0]%/*}" && pwd)
# shellcheck source=test/launcher.sh
. "$here/launcher.sh"
# shellcheck source=test/stacks.sh
. "$here/stacks.sh"

[ $# -ge 2 ] || { echo "usage: mpirun.sh NP PROG ARGS..." >&2; exit 2; }
np=$1
shift
limit=${TEST_TIMEOUT:-120}
: "${MPIEXEC:=mpiexec}"
kind=$(launcher_kind "$MPIEXEC") || exit 99
launcher_flags "$kind"
# All ranks are on this machine. What UCX has not of these is no reason to warn each of them.
if [ "$kind" = mpich ]; then
    export UCX_TLS="${UCX_TLS:-self,posix,cma}" UCX_LOG_LEVEL="${UCX_LOG_LEVEL:-error}"
    # buffers are made as they are needed, not 4 MB of them before the first message
    export UCX_POSIX_RX_BUFS_GROW=16
fi

# Every process of the job carries this word in its environment, whatever session it moves
# to and whoever its parent becomes. A job inside a job has both words.
mark="$$.$RANDOM$RANDOM"

stop_timer() {
    kill "$timer" 2>/dev/null
    wait "$timer" 2>/dev/null
}

end_job() { # the launcher first, it knows what to clean up; what is left is killed
    stop_timer
    if kill -TERM "$job" 2>/dev/null; then
        sleep 2 >/dev/null 2>&1 {turn}>&- &
        timer=$!
        wait -n "$job" "$timer" 2>/dev/null
        stop_timer
    fi
    kill_marked "$mark"
}

# shellcheck disable=SC2317  # called by traps
interrupted() {
    trap '' INT TERM HUP
    end_job
    exit "$1"
}

if [ -z "${H5V_TEST_JOB:-}" ]; then # a job that runs inside a job has its turn already
    # what is locked is /tmp itself: common to all builds and users, who share the cores, and no
    # file is left behind
    exec {turn}</tmp || exit 99
    flock "$turn" || exit 99
else
    exec {turn}>/dev/null
fi

job='' timer=''
trap 'interrupted 130' INT
trap 'interrupted 143' TERM
trap 'interrupted 129' HUP
# A session of its own: what hits this script's group does not hit half of the job. The job
# must not inherit the lock: a stray child would hold it for ever.
# shellcheck disable=SC2086  # MPIEXEC_FLAGS are words
H5V_TEST_JOB="${H5V_TEST_JOB:+$H5V_TEST_JOB }$mark" \
    setsid "$MPIEXEC" "${flags[@]}" ${MPIEXEC_FLAGS:-} -n "$np" "$@" \
    </dev/null {turn}>&- &
job=$!
sleep "$limit" >/dev/null 2>&1 {turn}>&- &
timer=$!
wait -n -p first "$job" "$timer"
status=$?
if [ "${first:-}" = "$timer" ]; then
    echo "# the time limit of $limit s (TEST_TIMEOUT) is over; the job is ended:" \
        "$MPIEXEC -n $np $*"
    print_stacks "$mark"
    end_job
    exit 124
fi
stop_timer
# Nobody waits for what a test forgot; it would keep the test's output open, and make waiting.
kill_marked "$mark"
exit "$status"
