# SPDX-License-Identifier: BSD-3-Clause
# filer.sh - launches of the program filer (eight ranks, a file of each) through the connector on a
# virtual cluster, and what they leave: source it after cluster.sh.
#
#   filer_begin NODES            a cluster; skips the test where there is none, or no MPI
#   filer_fresh SHAPE LINES...   nothing is on the prefix or in caches but these settings, and no agent runs
#   filer_start HOSTS OPTIONS... run it in the background, as soon as it has begun
#   filer_turns N                until its ranks have made N turns more; fails when it has ended before, or hangs
#   filer_end                    until all of it has ended: $status, and what it wrote to stderr in $log
#   filer_run HOSTS OPTIONS...   start and end
#   filer_kill HOST              its processes: of one node, or of head, where all are seen
#   filer_did WORD               the lines of that word that the last launch told, without it, each with its rank
#   filer_newest                 the newest step that each rank has found, each once: one line when all agree
#   filer_look                   "STEP RANK STATE" of the files on the prefix, see filer.c
#   filer_whole                  the newest step of which all files are at their paths; 0: none
#   filer_agents NODES...        an agent on each
#   filer_prerun HOSTS           h5veloc-prerun --recover on each; prints how they end
#
# $filer_env are variables for launches, $filer_on are the nodes that have ranks
# shellcheck shell=bash
filer_env=()
filer_shape=each
filer_steps=6 # that filer_look looks for
filer_limit=$((${TEST_TIMEOUT:-120} / 3)) # seconds without a turn
filer=${top_builddir:?}/test/cluster/filer
# what a job script exports, on all nodes
filer_vars=(VELOC_PREFIX=/node/pfs/prefix VELOC_CACHE_BASE=/node/cache VELOC_CNTL_BASE=/node/cache
    VELOC_LOG_LEVEL="${FILER_LOG_LEVEL:-INFO}" "LD_LIBRARY_PATH=$top_builddir/src/.libs")

filer_begin() { # NODES
    [ "${MPI_KIND:-no}" != no ] || skip_all "built without MPI"
    cluster_up "$1"
    pfs=$(cluster_pfs)
    log=$(tap_dir)/stderr
    filer_results=$pfs/results
}

filer_fresh() { # SHAPE LINES...
    filer_shape=$1
    shift
    cluster_each sh -c 'pkill -KILL -x h5veloc-agent; rm -rf /node/cache/*'
    rm -rf "${pfs:?}/prefix"
    mkdir -p "$pfs/prefix/out"
    filer_env=()
    [ $# -eq 0 ] || printf '%s\n' "$@" >"$pfs/prefix/.velocconf"
}

filer_start() { # HOSTS OPTIONS...
    local hosts=$1 opener fifo=$pfs/turns
    shift
    rm -rf "$fifo" "$filer_results"
    mkdir "$filer_results"
    mkfifo "$fifo"
    exec {opener}<>"$fifo" # or the next line would wait for the first rank for ever
    exec {turns}<"$fifo"
    cluster_run -np 8 -hosts "$hosts" env "${filer_vars[@]}" HDF5_VOL_CONNECTOR=veloc \
        "HDF5_PLUGIN_PATH=$HDF5_PLUGIN_PATH" "${filer_env[@]}" "$filer" -s "$filer_shape" -r /node/pfs/results \
        -f /node/pfs/turns "$@" /node/pfs/prefix/out >"$log" 2>&1 &
    launcher=$!
    read -r -N 1 -t 60 -u "$turns" _ || bail_out "no launch begins: $(cat "$log")"
    exec {opener}>&-
}

# 0, or 1: it has ended before; 2: nothing has happened for a while, and its stacks are in $log
filer_turns() {
    local i
    for ((i = 0; i < $1; i++)); do
        read -r -N 1 -t "$filer_limit" -u "$turns" _
        case $? in
        0) ;;
        1) return 1 ;;
        *) filer_stacks >>"$log" && return 2 ;;
        esac
    done
}

filer_stacks() {
    # shellcheck disable=SC2016  # expanded there
    cluster_sh head sh -c 'for pid in $(pgrep -x filer); do
            echo "process $pid:"; gdb -p $pid -batch -ex "thread apply all backtrace"; done' 2>/dev/null
    true
}

# 124: it hangs
filer_end() {
    filer_turns 100000
    [ $? -ne 2 ] || filer_kill head
    wait "$launcher"
    status=$?
    # shellcheck disable=SC2034  # for who calls
    grep -q '^process [0-9]*:' "$log" && status=124
    exec {turns}<&-
}

filer_run() {
    filer_start "$@"
    filer_end
}

filer_kill() { cluster_sh "$1" pkill -KILL -x filer; }

filer_did() {
    local file
    for file in "$filer_results"/*; do
        sed -n "s/^$1\(.*\)/${file##*/}\1/p" "$file"
    done
}

filer_newest() { filer_did found | awk '{ print $2 + 0 }' | sort -u; }

filer_look() { env -u HDF5_VOL_CONNECTOR "$filer" -v -n "$filer_steps" -s "$filer_shape" "$pfs/prefix/out"; }

filer_whole() {
    local files=8 # of a step
    [ "$filer_shape" != zero ] || files=1
    filer_look | awk -v files=$files '$3 == "right" && ++n[$1] == files && $1 > newest { newest = $1 }
        END { print newest + 0 }'
}

filer_agents() {
    local node
    for node; do
        cluster_sh "$node" env "${filer_vars[@]}" "${filer_env[@]}" VELOC_LOG_FILE=/node/cache/agent.log \
            "$TOOLS/h5veloc-agent" --detach ||
            bail_out "no agent on $node"
    done
}

filer_prerun() { # HOSTS
    local host hosts i=0 pids=() codes=''
    IFS=, read -ra hosts <<<"$1"
    for host in "${hosts[@]}"; do
        cluster_sh "$host" env "${filer_vars[@]}" "${filer_env[@]}" "$TOOLS/h5veloc-prerun" \
            --recover --nodes=${#hosts[@]} --node=$i >>"$(tap_dir)/prerun.$i" 2>&1 &
        pids+=($!)
        i=$((i + 1))
    done
    for i in "${pids[@]}"; do
        wait "$i"
        codes+="$? "
    done
    echo "$codes"
}
