#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A virtual cluster from the outside: several at once, odd places, interrupted and abandoned.
export TMPDIR=/tmp # one of the places that nodes have for themselves
# shellcheck source=test/tap/tap.sh
. "${top_srcdir:?run it by make check}/test/tap/tap.sh"
# shellcheck source=test/cluster/cluster.sh
. "$top_srcdir/test/cluster/cluster.sh"

# a directory of clusters of our own: what is swept here is ours
top=$(dirname "$VC_STATE")/lifecycle.$$
one="$top/one" two="$top/the second" three="$top/three"
on() { # STATE ARGS...
    local state=$1
    shift
    VC_STATE=$state cluster "$@"
}
if ! said=$(cluster check 2>&1); then
    skip_all "${said#vcluster: }"
fi
end() {
    local state
    for state in "$top"/*/; do on "${state%/}" down; done
    rm -rf "$top"
}
tap_at_exit end

# as in a checkout that lies below a directory that nodes have for themselves
tree="$(tap_dir)/a tree"
mkdir -p "$tree/test" "$tree/build"
cp -R "$top_srcdir/test/cluster" "$top_srcdir/test/launcher.sh" "$tree/test/"
cd "$tree/build" || bail_out "no $tree/build"

on "$one" up 1 || bail_out "no cluster"
(cluster_command="$tree/test/cluster/vcluster" top_builddir=$PWD on "$two" up 2)
is $? 0 "a cluster comes up from a tree below /tmp, with blanks in its paths"
is "$(on "$two" sh node2 pwd)" "$tree/build" "its nodes see the working directory"
on "$two" sh node1 touch "$tree/build/seen"
ok "and can write there" test -e seen
is "$(on "$two" sh node1 ls /tmp)" "$(basename "$(tap_dir)")" "and else their /tmp is empty"
if [ "${MPI_KIND:-no}" != no ]; then
    is "$(cluster_command="$tree/test/cluster/vcluster" on "$two" run -np 2 pwd | sort -u)" \
        "$tree/build" "so do its MPI jobs"
else
    skip 1 "built without MPI"
fi
hidden=$(mktemp -d /tmp/h5veloc-hidden.XXXXXX)
said=$(cd "$hidden" && on "$one" sh node1 true 2>&1)
is $? 126 "a directory that a node does not see is not replaced by another"
like "$said" "*node1 does not see the directory $hidden *VC_BIND*" "and the remedy is named"
rmdir "$hidden"

on "$one" sh node1 touch /node/pfs/mine
is "$(on "$two" sh node1 ls /node/pfs)" "" "two clusters share nothing"
is "$(on "$one" nodes | wc -l) $(on "$two" nodes | wc -l)" "1 2" "and are told apart"
said=$(on "$one" up 1 2>&1)
is $? 1 "a second cluster in the same place is refused"
like "$said" "*there is a cluster in $one already" "with a sentence"

# the boot command of node1 tells that up is under way, and keeps it there
mkfifo boot
exec {booting}<>boot # or a boot that fails would be waited for
# shellcheck disable=SC2016  # expanded on the node
printf '#!/bin/sh\necho "$1" >"%s"\nexec sleep 1000\n' "$PWD/boot" >boot.sh
chmod +x boot.sh
VC_BIND=$PWD VC_BOOT=$PWD/boot.sh VC_STATE=$three "$cluster_command" up 2 &
upping=$!
read -r -t "${TEST_TIMEOUT:-120}" -u "$booting" word
is "$word" node1 "a node runs VC_BOOT when it has come up"
head=$(cat "$three/head.pid")
kill -TERM $upping
wait $upping
is $? 130 "up can be interrupted"
not_ok "and leaves no process" kill -0 "$head"
not_ok "and no file" test -e "$three"

(VC_OWNER=$BASHPID on "$three" up 1)
head=$(cat "$three/head.pid")
ok "a cluster may outlive who started it" kill -0 "$head"
kill -KILL "$(cat "$two/head.pid")"
on "$top/four" up 1
is $? 0 "the next up"
not_ok "cleans a cluster away whose owner is gone" test -e "$three" -o -d "/proc/$head"
not_ok "and one that was killed" test -e "$two"
is "$(on "$one" nodes)" node1 "but none that is in use"
on "$top/four" down
ok "down of what is down is no error" on "$top/four" down

# machines where it cannot work
mkdir bin
printf '#!/bin/sh\necho 1000\n' >bin/id
chmod +x bin/id
said=$(PATH=$PWD/bin:$PATH on "$three" up 1 2>&1)
is "$? $said" "77 vcluster: no virtual cluster here: it needs root" "without root up says so: 77"
rm bin/id
printf '#!/bin/sh\necho "unshare failed: Operation not permitted" >&2\nexit 1\n' >bin/unshare
chmod +x bin/unshare
said=$(PATH=$PWD/bin:$PATH on "$three" up 1 2>&1)
is "$? $said" "77 vcluster: no virtual cluster here: unshare failed: Operation not permitted" \
    "without namespaces, too"
cd /
done_testing
