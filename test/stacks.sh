# SPDX-License-Identifier: BSD-3-Clause
# stacks.sh - find, show and end all processes of a test's job, told by a word in their
# environment (H5V_TEST_JOB). Sourced by mpirun.sh; needs /proc.
# shellcheck shell=bash

# marked MARK: the process ids, one a line; a job inside a job has several marks
marked() {
    grep -lzE "^H5V_TEST_JOB=([^ ]* )*$1( |\$)" /proc/[0-9]*/environ 2>/dev/null |
        while IFS=/ read -r _ _ pid _; do echo "$pid"; done
}

kill_marked() {
    local pids round
    for round in {1..50}; do # what is killed while it forks leaves a child: look again
        pids=$(marked "$1")
        [ -n "$pids" ] || return 0
        # shellcheck disable=SC2086  # one word per process
        kill -KILL $pids 2>/dev/null
        [ "$round" -eq 1 ] || sleep 0.1 >/dev/null 2>&1
    done
    echo "# these processes cannot be ended: $pids"
}

# print_stacks MARK: what every process of the job is doing, as TAP comments; the launcher's
# own helpers are of no interest
print_stacks() {
    local pid name rank
    for pid in $(marked "$1"); do
        name=$(cat "/proc/$pid/comm" 2>/dev/null) || continue
        case $name in
        mpiexec* | mpirun* | hydra_* | orted | orterun | prte* | prun) continue ;;
        esac
        rank=$(tr '\0' '\n' <"/proc/$pid/environ" 2>/dev/null |
            sed -nE 's/^(PMI_RANK|PMIX_RANK|OMPI_COMM_WORLD_RANK)=//p' | head -n 1)
        echo "rank ${rank:-unknown}: process $pid ($name)"
        stack_of "$pid"
    done 2>&1 | sed 's/^/# /'
}

stack_of() {
    local text
    if ! command -v gdb >/dev/null; then
        echo "  no gdb here: only where the kernel stands"
    else
        text=$(DEBUGINFOD_URLS='' timeout -k 1 30 gdb -nx -q -batch -p "$1" \
            -ex 'thread apply all bt 40' 2>&1 </dev/null)
        case $text in
        *'#0 '*)
            grep -E '^(Thread |#[0-9]|    )' <<<"$text" | sed 's/^/  /'
            return
            ;;
        esac
        echo "  gdb cannot read it: $(grep -iE 'ptrace|permitted|denied' <<<"$text" | head -n 1)"
    fi
    sed 's/^/  /' "/proc/$1/stack" 2>/dev/null ||
        echo "  the kernel says: $(cat "/proc/$1/wchan" 2>/dev/null || echo nothing)"
}
