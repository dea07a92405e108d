#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# What a virtual node promises to the tests that use it: what is its own, what is shared, and
# what a loss takes away.
# shellcheck source=test/tap/tap.sh
. "${top_srcdir:?run it by make check}/test/tap/tap.sh"
# shellcheck source=test/cluster/cluster.sh
. "$top_srcdir/test/cluster/cluster.sh"
probe=${top_builddir:?}/test/cluster/probe
hour=3600
# shellcheck disable=SC2016  # expanded on the node
write='for d in /node/cache /tmp /var/tmp /dev/shm; do echo "$0" >$d/h5veloc-vc.$1 || exit 1; done'
# shellcheck disable=SC2016
count='cat /node/cache/*.$0 /tmp/*.$0 /var/tmp/*.$0 /dev/shm/*.$0 2>/dev/null | wc -l'
id=$$

before=$(ip -o link 2>/dev/null; cat /proc/self/mountinfo)
cluster_up 3

address=$(cluster_sh head cat /sys/class/net/br0/address)
is "$(cluster_sh node1 hostname) $(cluster_sh node2 hostname)" "node1 node2" \
    "a node has a host name of its own"
like "$(cluster_sh node2 cat /proc/1/cmdline | tr '\0' ' ')" "*vnode node2 *" \
    "and process ids of its own"
is "$(cluster_sh node1 pwd)" "$PWD" "a command starts in the directory of the same name"
# shellcheck disable=SC2016  # expanded on the node
is "$(cluster_sh node1 sh -c 'echo "$# $2"; exit 7' - one 'two words'; echo $?)" \
    "2 two words"$'\n'7 "its words arrive whole and its status comes back"

host=$("$probe" clock)
ahead=$(($(cluster_sh node1 "$probe" clock) - host))
behind=$(($(cluster_sh node2 "$probe" clock) - host))
note "node1's clock is $ahead s from the host's, node2's $behind s"
ok "clocks of two nodes are more than an hour apart" test $((ahead - behind)) -gt $hour
ok "one is ahead of the host's" test $ahead -gt 0
ok "the other is behind the host's" test $behind -lt 0
ok "and still counts from its own boot" test "$(cluster_sh node2 "$probe" clock)" -ge 0

ok "a node writes to its private places" cluster_sh node1 sh -c "$write" node1 $id
ok "so does another" cluster_sh node2 sh -c "$write" node2 $id
is "$(cluster_sh node1 sh -c "cat /tmp/*.$id /dev/shm/*.$id")" node1$'\n'node1 \
    "a node does not see what another writes there"
is "$(cat /tmp/h5veloc-vc.$id /dev/shm/h5veloc-vc.$id 2>/dev/null)" "" "nor does the host"
cluster_sh node1 sh -c 'echo shared >/node/pfs/word'
is "$(cluster_sh node2 cat /node/pfs/word) $(cluster_sh head cat /node/pfs/word)" \
    "shared shared" "the prefix is the same for all nodes and the head"
is "$(cat "$(cluster_pfs)/word")" "shared" "and the host can look at it"

# An open connection sees a loss, or does not.
mkfifo "$(tap_dir)/served" "$(tap_dir)/held"
serve() { # NODE
    { cluster_sh "$1" "$probe" serve 4711 >"$(tap_dir)/served"; } 2>/dev/null & # dies with it
    read -r -t 60 word <"$(tap_dir)/served"
    [ "$word" = ready ] || bail_out "$1 does not serve"
}
hold() { # FROM TO MS: leaves what follows on descriptor 7
    cluster_sh "$1" "$probe" hold "$2" 4711 "$3" >"$(tap_dir)/held" &
    exec 7<"$(tap_dir)/held"
    read -r -t 60 word <&7
    [ "$word" = answer ] || bail_out "$1 does not reach $2: $word"
}
ask() { cluster_sh "$1" "$probe" ask "$2" 4711 "$3"; }

is "$(ask node1 node2 20000)" refused "a node where nobody listens refuses"
serve node2
is "$(ask node1 node2 20000)" answer "nodes reach each other by name"
cluster_cut 2
is "$(ask node1 node2 300)" silence "a node that is cut off does not answer"
is "$(ask node2 node2 20000)" answer "but lives on"
cluster_heal 2
is "$(ask node1 node2 20000)" answer "healed, it answers again"

hold node1 node2 20000
cluster_kill 2
read -r -t 60 word <&7
is "$word" closed "the peers of a killed node see their connections close"
is "$(cluster_nodes | paste -sd' ')" "node1 node3" "it is not among the living"
not_ok "nothing can be run there" cluster_sh node2 true
not_ok "it cannot be killed again" cluster_kill 2
cluster_start 2
is "$(cluster_nodes | paste -sd' ')" "node1 node2 node3" "it can be started again"
is "$(cluster_sh node2 sh -c "$count" $id)" 0 "what was in its cache, /tmp, /var/tmp and /dev/shm is gone"
is "$(cluster_sh node1 sh -c "$count" $id)" 4 "what was on other nodes is there"
is "$(cluster_sh node2 cat /node/pfs/word)" shared "so is the prefix"
is "$(ask node1 node2 20000)" refused "its programs are gone"

serve node3
hold node1 node3 1000
cluster_kill --silent 3
read -r -t 60 word <&7
is "$word" silence "the peers of a silently lost node see nothing"
is "$(cluster_nodes | paste -sd' ')" "node1 node2" "and it is dead nevertheless"

cluster_kill 1
cluster_kill 2
is "$(cluster_sh head cat /sys/class/net/br0/address)" "$address" \
    "head keeps its hardware address whichever node is lost"

cluster down
is "$(ip -o link 2>/dev/null; cat /proc/self/mountinfo)" "$before" \
    "the host's network and mounts are as before"
done_testing
