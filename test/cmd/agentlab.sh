# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# shellcheck disable=SC2034  # got and status are for who calls
# agentlab.sh - for tests of h5veloc-agent: programs that do one step when they are told
# (test/cmd/obey), agents whose log is read as it grows, and their ends. Sourced behind
# tap.sh, in the test's own directory.
dir=$(tap_dir)
cd "$dir" || bail_out "no $dir"
# MPI libraries leak at exit, which is not ours to report. The tool has none.
mpi_leaks="ASAN_OPTIONS=detect_leaks=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
for name in $(env | sed -n 's/^\(\(VELOC\|SCR\)_[A-Z_]*\)=.*/\1/p'); do unset "$name"; done
mkdir n c
# A peer that is silent is waited for longer than any test lasts: nothing here may wait.
export VELOC_CNTL_BASE="$dir/n" VELOC_CACHE_BASE="$dir/c" VELOC_FLUSH=1 VELOC_CACHE_SIZE=3 \
    VELOC_PEER_TIMEOUT=1000 VELOC_LOG_LEVEL=INFO
tool=${TOOLS:?}/h5veloc-agent
limit=${TEST_TIMEOUT:-120} # seconds for one step: then it has failed
agent() {
    timeout "$limit" "$tool" "$@"
    local status=$?
    [ "$status" -ne 124 ] || echo "h5veloc-agent $* has not ended in $limit s" >&2
    return "$status"
}

declare -A pid_of to_of from_of
lab_end() {
    local name
    for name in "${!pid_of[@]}"; do
        kill -CONT "${pid_of[$name]}" 2>/dev/null
        kill -KILL "${pid_of[$name]}" 2>/dev/null
    done
    agent --stop >/dev/null 2>&1
}
tap_at_exit lab_end

# program NAME ID: begin one, which waits for calls; its messages are in NAME.err
program() {
    mkfifo "$1.to" "$1.from"
    env "$mpi_leaks" "${top_builddir:?}/test/cmd/obey" "$2" \
        <"$1.to" >"$1.from" 2>"$1.err" &
    pid_of[$1]=$!
    exec {to}>"$1.to" {from}<"$1.from"
    to_of[$1]=$to from_of[$1]=$from
}
# tell NAME CALL: its result is in $got
tell() {
    echo "$2" >&"${to_of[$1]}"
    IFS= read -r -t "$limit" got <&"${from_of[$1]}" || got='nothing'
}
# ends NAME: it ends when it has nothing more to do; its exit status is in $status
ends() {
    wait "${pid_of[$1]}" 2>/dev/null
    status=$?
    local to=${to_of[$1]} from=${from_of[$1]}
    exec {to}>&- {from}<&-
    unset "pid_of[$1]"
    rm -f "$1.to" "$1.from"
}
# freezes NAME: it is stopped when this returns
freezes() {
    local line
    kill -STOP "${pid_of[$1]}"
    until read -r line <"/proc/${pid_of[$1]}/stat" && [[ $line == *") T "* ]]; do :; done
}
# quits NAME: a program whose calls are done
quits() {
    echo quit >&"${to_of[$1]}"
    ends "$1"
}
# dies NAME SIGNAL: it is killed
dies() {
    kill "-$2" "${pid_of[$1]}"
    ends "$1"
}

# serves NAME: an agent that serves, whose log heard NAME TEXT reads
serves() {
    mkfifo "$1.from"
    "$tool" 2>"$1.from" &
    pid_of[$1]=$!
    exec {from}<"$1.from" {to}>/dev/null
    to_of[$1]=$to from_of[$1]=$from
    heard "$1" 'an agent serves'
}
# heard NAME TEXT: read its log to a line with TEXT; false when it ends before
heard() {
    local line
    while IFS= read -r -t "$limit" line <&"${from_of[$1]}"; do
        [[ $line == *"$2"* ]] && return 0
    done
    return 1
}
warnings() { grep -c warn "$1.err"; }
left_in_base() { find n -mindepth 2 | sort | tr '\n' ' '; }
