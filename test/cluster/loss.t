#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# An MPI program over three nodes, one of which is lost under it.
# shellcheck source=test/tap/tap.sh
. "${top_srcdir:?run it by make check}/test/tap/tap.sh"
# shellcheck source=test/cluster/cluster.sh
. "$top_srcdir/test/cluster/cluster.sh"
planted=${top_builddir:?}/test/harness/planted
busy=${top_builddir:?}/test/cluster/busy

[ "${MPI_KIND:-no}" != no ] || skip_all "built without MPI"
cluster_up 3
fifo=$(cluster_pfs)/ranks

# Starts the program and waits until its ranks have met. They keep the FIFO open; its end on
# descriptor `ranks` is the end of the last of them.
start_busy() { # RANKS
    local i opener
    rm -f "$fifo"
    mkfifo "$fifo"
    exec {opener}<>"$fifo" # or the next line would wait for the first rank for ever
    exec {ranks}<"$fifo"
    cluster_run -np "$1" "$busy" /node/pfs/ranks >"$(tap_dir)/said" 2>&1 &
    launcher=$!
    where=
    for ((i = 0; i < $1; i++)); do
        read -r -t 60 -u "$ranks" host _ || bail_out "the job does not start: $(cat "$(tap_dir)/said")"
        where+=$host$'\n'
    done
    exec {opener}>&-
}
no_rank_is_left() { timeout 30 cat <&"$ranks"; }

is "$(cluster_run -np 3 hostname | sort | paste -sd' ')" "node1 node2 node3" \
    "a job spreads over the nodes"
cluster_run -np 6 "$planted" exit 5 >/dev/null 2>&1
is $? 5 "its ranks talk over the network and part well, and its status comes back"

start_busy 6
is "$(sort -u <<<"$where" | paste -sd' ')" " node1 node2 node3" "ranks of three nodes have met"
cluster_kill 2
wait "$launcher"
status=$?
note "the launcher ends with status $status"
ok "the launcher of a job that lost a node ends, and not well" test $status -ne 0 -a $status -ne 124
ok "no process of the job is left on the other nodes" no_rank_is_left
exec {ranks}<&-

is "$(cluster_run -np 2 hostname | sort | paste -sd' ')" "node1 node3" \
    "the next job runs on the nodes that are left"

# MPICH's launcher does not notice; only the time limit does, and timeout(1) takes SIGALRM for its
# end. (Its ranks may live on until TCP gives up, about 13 s: that is not waited for.)
cluster_start 2
start_busy 6
cluster_kill --silent 2
pkill -ALRM -x -P "$launcher" timeout || bail_out "the launcher has no time limit"
wait "$launcher"
not_ok "a job that lost a node silently ends as well, if only by the time limit" test $? -eq 0

done_testing
