# SPDX-License-Identifier: BSD-3-Clause
# solver.sh - launches of the program solver on a virtual cluster, what happened to them and
# what came out: source it after cluster.sh. A launch has eight ranks.
#
#   solver_begin NODES NAME...   cluster of NODES nodes, and the result of an undisturbed run
#   conf NAME LINES...           settings in the file NAME on the prefix, and a new prefix
#   launch HOSTS [OPTIONS]       run it; $status, $said (its output) and what it wrote to stderr
#                                in $log remain
#   launch_until STEP HOSTS [OPTIONS]  the same in the background: returns when all ranks wait
#                                at that step; then lose nodes, and call lost
#   lost                         waits for the end of that launch and of all its ranks
#   came_from                    prints where the last launch restarted: "STEP SOURCE", SOURCE
#                                being nowhere, cache, moved, rebuilt or prefix
#   told                         prints what the last launch told, without who told it
#   clear_caches                 of all nodes: what is there is of the prefix of an earlier case
#   same_result TEXT             a check: the result is that of the undisturbed run, bit for bit
# shellcheck shell=bash
solver=${top_builddir:?}/test/cluster/solver
solver_steps=40 solver_every=10
solver_mode=SYNC # who encodes and flushes
solver_env=() # variables for the launches to come
# options: the state in files instead of memory
# shellcheck disable=SC2034
files=(-f /node/pfs/prefix/state)

solver_begin() { # NODES
    [ "${MPI_KIND:-no}" != no ] || skip_all "built without MPI"
    cluster_up "$1"
    pfs=$(cluster_pfs)
    log=$(tap_dir)/stderr
    mkdir "$pfs/expected" "$pfs/result"
    conf undisturbed COPY_TYPE=SINGLE FLUSH=0
    launch node1,node2,node3,node4
    [ "$status" -eq 0 ] || bail_out "the solver does not run: $(cat "$log")"
    mv "$pfs"/result/* "$pfs/expected/"
}

conf() { # NAME LINES...
    rm -rf "${pfs:?}/prefix"
    settings=/node/pfs/$1.conf
    shift
    printf '%s\n' "MODE=$solver_mode" PREFIX=/node/pfs/prefix CACHE_BASE=/node/cache CNTL_BASE=/node/cache PEER_TIMEOUT=8 \
        "$@" >"$pfs/${settings##*/}"
}

solver_run() { # HOSTS OPTIONS...
    local hosts=$1
    shift
    cluster_run -np 8 -hosts "$hosts" env "${solver_env[@]}" "$solver" -n $solver_steps -k $solver_every "$@" \
        "$settings" /node/pfs/result/sum
}

launch() {
    rm -f "${pfs:?}"/result/*
    said=$(solver_run "$@" 2>"$log")
    status=$?
}

launch_until() { # STEP HOSTS OPTIONS...
    local step=$1 fifo=$pfs/ranks opener i
    shift
    rm -f "$fifo"
    mkfifo "$fifo"
    exec {opener}<>"$fifo" # or the next line would wait for the first rank for ever
    exec {ranks}<"$fifo"
    solver_run "$@" -w "$step:/node/pfs/ranks" >"$(tap_dir)/said" 2>"$log" &
    launcher=$!
    for ((i = 0; i < 8; i++)); do
        read -r -t 60 -u "$ranks" _ ||
            bail_out "the job does not come to step $step: $(cat "$(tap_dir)/said" "$log")"
    done
    exec {opener}>&-
}

lost() {
    wait "$launcher"
    status=$?
    said=$(cat "$(tap_dir)/said")
    timeout 60 cat <&"$ranks" >/dev/null || bail_out "ranks of the lost job do not end"
    exec {ranks}<&-
}

# The events of the last launch
events() { tac "$pfs/prefix/.veloc/events" | sed '/"event":"run_start"/q' | tac; }

came_from() {
    local id how step=${said##*begins at }
    id=$(events | sed -n 's/.*"event":"restart","id":\([0-9]*\),.*/\1/p')
    how=$(events | grep -E "\"event\":\"(rebuild|fetch)\",\"ok\":true,\"id\":${id:-none},")
    case $how in
    '') how=nowhere ;;
    *'"event":"fetch"'*) how=prefix ;;
    *'nothing was lost'*) how=cache ;;
    *' 0 rebuilt, '*) how=moved ;;
    *' rebuilt ('*) how=rebuilt ;;
    *) how="event $how" ;;
    esac
    echo "${step%%$'\n'*} $how"
}

told() { sed 's/^h5veloc: [a-z]*: rank [0-9]* on [^:]*: //' "$log"; }

clear_caches() { cluster_each sh -c 'rm -rf /node/cache/*'; }

same_result() {
    ok "$1" diff -r "$pfs/expected" "$pfs/result" || note "$(tail -n 20 "$log")"
}
