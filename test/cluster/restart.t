#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A program that loses ranks, nodes or a switch restarts from the nearest place that is left,
# on the same nodes when they come back empty, or on others; the result is that of a run that
# nothing happened to.
# shellcheck source=test/tap/tap.sh
. "${top_srcdir:?run it by make check}/test/tap/tap.sh"
# shellcheck source=test/cluster/cluster.sh
. "$top_srcdir/test/cluster/cluster.sh"
# shellcheck source=test/cluster/solver.sh
. "$top_srcdir/test/cluster/solver.sh"

home=node1,node2,node3,node4
solver_begin 6 # two of them spare

# lose TEXT EXPECTED TOLD HOSTS NODES OPTIONS...: NODES ("2 3") are lost when step 35 is done,
# and started again empty; the next launch is on HOSTS, begins as EXPECTED (see came_from) and
# tells nothing but TOLD, a pattern.
lose() {
    local text=$1 expected=$2 told=$3 hosts=$4 nodes=$5 node
    shift 5
    launch_until 35 $home "$@"
    for node in $nodes; do cluster_kill "$node"; done
    lost
    for node in $nodes; do cluster_start "$node"; done
    launch "$hosts" "$@"
    is "$status $(came_from)" "0 $expected" "$text" || note "$(cat "$log")"
    like "$(told)" "$told" "... as one is told in so many words"
    same_result "... and the result is the same"
    clear_caches
}

rebuilt() { # ID STEP N RANKS: what is told then
    echo "restored dataset $1 (solver $2) in the caches in * s: of 8 parts $3 rebuilt (ranks $4), * moved"
}
aside() { # RANKS WHY
    echo "dataset 3 (solver 30): the files of ranks $1 are lost: $2: it cannot be restored from the caches now, and is set aside there until a newer one is complete"
}
fetched='fetched dataset 2 (solver 20) from the prefix instead, * bytes in * s'
anew='nothing can be restored, neither from the caches nor from the prefix: the program begins anew'
fewer=$'redundancy sets over * would be of size 2, and the scheme needs 3: *\n'
none='dataset 3 (solver 30) is not found: it was in caches only, and none of those that were looked at has any of it (*)'

# Each loss with the lost nodes back, empty, and the state in memory; then with other nodes,
# so that ranks land where their files are not, and the state in files.
xor=(COPY_TYPE=XOR SET_SIZE=4 FLUSH=2)
rs=(COPY_TYPE=RS SET_SIZE=4 SET_FAILURES=2 FLUSH=2)
switch=("GROUPS=node1 SWITCH=a" "GROUPS=node2 SWITCH=a" "GROUPS=node3 SWITCH=b"
    "GROUPS=node4 SWITCH=b" "GROUPS=node5 SWITCH=c" "GROUPS=node6 SWITCH=c")

conf rank "${xor[@]}"
launch $home -x 5:35
not_ok "a rank that is killed ends the job" test "$status" -eq 0
launch $home
is "$status $(came_from)" "0 30 cache" "it goes on from the cache"
is "$(told)" "" "... without a word"
same_result "... and the result is the same"
clear_caches
conf rank "${xor[@]}"
launch $home "${files[@]}" -x 5:35
launch node2,node3,node4,node1 "${files[@]}"
is "$status $(came_from)" "0 30 moved" "with its ranks on each other's nodes from files that moved"
is "$(told)" "" "... without a word"
same_result "... and the result is the same"
clear_caches
conf rank "${xor[@]}"
launch $home "${files[@]}" -x 5:35
launch node1,node5,node3,node4 "${files[@]}"
is "$status $(came_from)" "0 30 rebuilt" "what is on a node without ranks is rebuilt on the spare"
like "$(told)" "$(rebuilt 3 30 2 2-3)" "... as one is told in so many words"
same_result "... and the result is the same"
clear_caches

conf midway "${xor[@]}"
launch $home -m -x 5:30
launch $home
is "$status $(came_from)" "0 20 cache" "a rank that is killed in a checkpoint leaves the one before"
is "$(told)" "" "... without a word"
same_result "... and the result is the same"
clear_caches

conf node "${xor[@]}"
lose "one node is lost: its files are rebuilt under XOR" \
    "30 rebuilt" "$(rebuilt 3 30 2 2-3)" $home 2
conf node "${xor[@]}"
lose "... onto a spare node" \
    "30 rebuilt" "$(rebuilt 3 30 2 2-3)" node1,node3,node4,node5 2 "${files[@]}"

conf nodes "${rs[@]}"
lose "two nodes are lost: their files are rebuilt under RS" \
    "30 rebuilt" "$(rebuilt 3 30 4 2-5)" $home "2 3"
conf nodes "${rs[@]}"
lose "... onto spare nodes" \
    "30 rebuilt" "$(rebuilt 3 30 4 2-5)" node1,node4,node5,node6 "2 3" "${files[@]}"
conf nodes "${rs[@]}"
lose "... onto one spare node and those that are left" \
    "30 rebuilt" "$fewer$(rebuilt 3 30 4 2-5)" node1,node5,node4 "2 3" "${files[@]}"

conf switch "${switch[@]}" FLUSH=2 "CKPT=0 TYPE=PARTNER GROUP=SWITCH SET_SIZE=2"
lose "a switch is lost: its files are rebuilt from the other" \
    "30 rebuilt" "$(rebuilt 3 30 4 4-7)" $home "3 4"
conf switch "${switch[@]}" FLUSH=2 "CKPT=0 TYPE=XOR GROUP=SWITCH SET_SIZE=2"
lose "... onto another one" \
    "30 rebuilt" "$(rebuilt 3 30 4 4-7)" node1,node2,node5,node6 "3 4" "${files[@]}"

levels=("${switch[@]}" FLUSH=0 CACHE_SIZE=2 "CKPT=0 TYPE=XOR GROUP=NODE SET_SIZE=4"
    "CKPT=1 INTERVAL=2 TYPE=XOR GROUP=SWITCH SET_SIZE=2")
told=$(aside 0-3 'set * of 2: members 0, 1 of a set of 4 are lost, and XOR here bears the loss of 1 *')
told+=$'\n'$(rebuilt 2 20 4 0-3)
conf levels "${levels[@]}"
lose "the last level that bears a switch is rebuilt, though it is older" \
    "20 rebuilt" "$told" $home "1 2"
conf levels "${levels[@]}"
lose "... onto another one" \
    "20 rebuilt" "$told" node5,node6,node3,node4 "1 2" "${files[@]}"

told=$(aside 2-5 'set * of 2: members 1, 2 of a set of 4 are lost, and XOR here bears the loss of 1 *')
told+=$'\n'$fetched
conf more "${xor[@]}"
lose "more is lost than XOR bears: the prefix is read" "20 prefix" "$told" $home "2 3"
conf more "${xor[@]}"
lose "... onto other nodes" \
    "20 prefix" "$told" node1,node5,node6,node4 "2 3" "${files[@]}"
conf all "${rs[@]}"
lose "all is lost" "20 prefix" "$none"$'\n'"$fetched" $home "1 2 3 4"
conf all "${rs[@]}"
lose "... and there are other nodes" \
    "20 prefix" "$fewer$none"$'\n'"$fetched" node5,node6 "1 2 3 4" "${files[@]}"
conf nothing COPY_TYPE=SINGLE FLUSH=0
lose "nothing is left at all: it begins anew" "0 nowhere" \
    "$(aside 0-1 'nothing is left of set 1 of 8')"$'\n'"$anew" $home "1"

done_testing
