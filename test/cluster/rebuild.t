#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Files on nodes that are lost: rebuilt where they were, on a spare node, and off the nodes.
# shellcheck source=test/tap/tap.sh
. "${top_srcdir:?run it by make check}/test/tap/tap.sh"
# shellcheck source=test/cluster/cluster.sh
. "$top_srcdir/test/cluster/cluster.sh"
redset=${top_builddir:?}/test/cluster/redset
tool=${TOOLS:?}/h5veloc-rebuild
dir=$(tap_dir)

[ "${MPI_KIND:-no}" != no ] || skip_all "built without MPI"
cluster_up 5

job() { # HOSTS WHAT: the set of four members on these nodes
    cluster_run -np 4 -hosts "$1" "$redset" "$2" /node/cache RS 2
}
sums() { # NODES...: of all files in their caches
    local node
    for node; do
        cluster_sh "$node" sh -c 'cd /node/cache && find m* -type f -exec sha256sum {} +'
    done | sort
}
lost() { cluster_sh "$1" sh -c 'cd /node/cache && find . -type f | wc -l'; }

job node1,node2,node3,node4 protect || bail_out "nothing can be protected"
sums node1 node2 node3 node4 >"$dir/sums"
is "$(grep -c 'h5vr$' "$dir/sums")" 4 "a set over four nodes keeps its files and redundancy in their caches"

cluster_kill 2
cluster_start 2
is "$(lost node2)" 0 "a node that comes back has lost its files"
said=$(job node1,node2,node3,node4 recover)
like "$said" "1 rebuilt"$'\n'"member 1: *no redundancy file*" "the next job rebuilds them there"
is "$(sums node1 node2 node3 node4)" "$(cat "$dir/sums")" "byte for byte, and nothing else has changed"

cluster_kill 3
said=$(job node1,node2,node5,node4 recover)
like "$said" "1 rebuilt"$'\n'"member 2: *" "the files of a node that stays away are rebuilt on a spare one"
is "$(sums node1 node2 node5 node4)" "$(cat "$dir/sums")" "byte for byte"

cluster_kill 1
cluster_kill 4
mkdir "$(cluster_pfs)/left" "$(cluster_pfs)/new"
cluster_sh node2 cp -a /node/cache/m1 /node/pfs/left/
cluster_sh node5 cp -a /node/cache/m2 /node/pfs/left/
said=$(cluster_sh head "$tool" --into=/node/pfs/new /node/pfs/left/m1 /node/pfs/left/m2)
like "$said" "*2 members rebuilt*" "without a job, what two nodes have left is enough for the other two"
cluster_start 1
cluster_start 4
cluster_sh node1 cp -a /node/pfs/new/rank.0 /node/cache/m0
cluster_sh node4 cp -a /node/pfs/new/rank.3 /node/cache/m3
is "$(sums node1 node2 node5 node4)" "$(cat "$dir/sums")" "byte for byte, once they are brought there"
is "$(job node1,node2,node5,node4 recover)" "0 rebuilt" "and the next job finds all of it"

for i in 1 2 4; do
    cluster_kill $i
    cluster_start $i
done
said=$(job node1,node2,node5,node4 recover 2>&1)
is $? 1 "three lost nodes are more than the set bears"
like "$said" "*members 0, 1, 3 of a set of 4 are lost*" "and are named"
is "$(sums node5)" "$(grep ' m2/' "$dir/sums")" "what is left is not touched"
is "$(lost node1) $(lost node2) $(lost node4)" "0 0 0" "and nothing half rebuilt"
done_testing
