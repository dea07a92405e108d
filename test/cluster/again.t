#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A program is launched again in other circumstances: by another job, on fewer nodes, with
# other numbers of ranks on them, and with nodes that were away for a while. What its caches
# hold is found wherever it lies, and what is out of date is never taken.
# shellcheck source=test/tap/tap.sh
. "${top_srcdir:?run it by make check}/test/tap/tap.sh"
# shellcheck source=test/cluster/cluster.sh
. "$top_srcdir/test/cluster/cluster.sh"
# shellcheck source=test/cluster/solver.sh
. "$top_srcdir/test/cluster/solver.sh"

home=node1,node2,node3,node4
solver_begin 5
xor=(COPY_TYPE=XOR SET_SIZE=4 FLUSH=0)

parts() { # NODE ID: how many ranks have files of that dataset there
    cluster_sh "$1" sh -c "ls -d /node/cache/*/*/index.*/dataset.$2/rank.* 2>/dev/null | wc -l"
}
job_of() { events | sed -n "s/.*\"event\":\"$1\".*\"job\":\"\([^\"]*\)\".*/\1/p"; }
began() { # the next launch begins as told, and ends well
    is "$status $(came_from)" "0 $1" "$2" || note "$(cat "$log")"
}

# --- another job ---

conf job "${xor[@]}"
solver_env=(SLURM_JOB_ID=17)
launch $home -x 5:35
is "$(job_of run_start)" 17 "the job that ran is recorded"
solver_env=(SLURM_JOB_ID=18 SLURM_JOBID=18)
launch $home
began "30 cache" "a job that is submitted again finds the cache of the one before"
is "$(job_of restart)" 18 "and is recorded as the one that restarted"
same_result "... and the result is the same"
solver_env=()
clear_caches

conf wrong SET_SIZE=4 SET_SIZE=4
launch $home
like "$status $(grep -c ^h5veloc: "$log") $(told)" \
    "[!0]* 1 *h5veloc: error: /node/pfs/wrong.conf:7: SET_SIZE is given twice, *" \
    "what is wrong for all ranks is told by one"

# --- other nodes, and other numbers of ranks on them ---

conf fewer "${xor[@]}"
launch_until 35 $home
cluster_kill 2
lost
launch node1,node3,node4
began "30 rebuilt" "the same command on the nodes that survive goes on with more ranks on each"
same_result "... and the result is the same"
cluster_start 2
clear_caches

conf spread COPY_TYPE=XOR SET_SIZE=2 FLUSH=0
launch node1,node2 "${files[@]}" -x 5:35
launch node4,node2,node1,node3 "${files[@]}" -x 5:35
is "$(came_from)" "30 moved" "ranks that were four on a node go on as two on a node"
is "$(parts node1 3) $(parts node2 3) $(parts node3 3) $(parts node4 3)" "2 2 2 2" \
    "files that have moved are where their ranks are, and not where they were"
launch node3,node1,node2,node4 "${files[@]}"
began "30 moved" "and on other nodes again"
same_result "... and the result is the same"
clear_caches

# --- nodes that were away ---

conf away COPY_TYPE=SINGLE FLUSH=0
launch $home -x 5:35
launch node1,node5,node3,node4 -x 0:5
is "$(came_from)" "0 nowhere" "without the node that has some files nothing is restored"
launch $home
began "30 cache" "they are still there when it comes back before there is a newer checkpoint"
same_result "... and the result is the same"
clear_caches

conf late COPY_TYPE=SINGLE FLUSH=0
launch $home -x 5:35
launch node1,node5,node3,node4 -x 0:15
is "$(parts node1 3) $(parts node3 3)" "0 0" "a newer one is the end of what was set aside"
launch $home
began "0 nowhere" "what the node has that comes back then is of no use to anybody"
same_result "... and the result is the same"
ok "its entry is gone" test ! -e "$pfs/prefix/.veloc/dataset.3" || note "$(cat "$log" "$pfs/prefix/.veloc/events")"
is "$(parts node2 3)" 0 "and goes, too"
clear_caches

conf stale "${xor[@]}"
launch $home -x 5:25
launch node1,node5,node3,node4 -x 5:35
launch $home
began "30 rebuilt" "a node with an older checkpoint gets the newer one rebuilt"
same_result "... and the result is the same"
is "$(parts node2 2) $(parts node2 4) $(parts node2 5)" "0 0 2" "and keeps nothing of the older"
clear_caches

done_testing
