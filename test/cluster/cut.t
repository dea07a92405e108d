#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A program that runs on four nodes, whose clocks are hours apart. The node that decides is cut off for
# longer than its peers wait for it, and healed: nothing happens to the program. Later a node freezes, all
# else is killed, and the node thaws when the next launch has its view: that one goes on with what was
# safe, and nothing of the node's old work spoils it.
# shellcheck source=test/tap/tap.sh
. "${top_srcdir:?run it by make check}/test/tap/tap.sh"
# shellcheck source=test/cluster/cluster.sh
. "$top_srcdir/test/cluster/cluster.sh"
# shellcheck source=test/cluster/filer.sh
. "$top_srcdir/test/cluster/filer.sh"
filer_begin 5
records=$pfs/prefix/.veloc
# all nodes are of one kernel here, where a frozen process keeps its locks for ever; file servers take them from a node
settings=(HDF5_USE_FILE_LOCKING=FALSE VELOC_PEER_TIMEOUT=3 VELOC_VIEW_WAIT=8 VELOC_SET_SIZE=4)
protected=3

wait_for() { # CONDITION...: tells when it does not come
    local i
    for ((i = 0; i < 1200; i++)); do
        "$@" 2>/dev/null && return
        kill -0 "$launcher" 2>/dev/null || break
        sleep 0.05
    done
    fail "it does not come: $*"
    note "$(tail -n 20 "$log")"
}
chairs() { find "$records/launch.$1" -name '1.[0-9]*' | sort -V; }
chair() { # LAUNCH: the number of the node that decides
    sed -n '1s/.* node\([0-9]*\) .*/\1/p' "$(chairs "$1" | tail -n 1)"
}
has_view() { [ -e "$records/view.$1" ]; }
has_living() { grep -q "\"living\":\"[^\"]*\<node$2\>" "$records/launch.$1/beat"; }
is_missed() { [ "$(chairs "$1" | wc -l)" -gt 1 ] && ! has_living "$1" "$2"; }
# or all is protected, which it has a part in, and the program has ended
is_back() { has_living "$1" "$2" || ! kill -0 "$launcher"; }
freeze() { cluster_sh "node$1" sh -c 'kill -STOP -1'; }
thaw() { cluster_sh "node$1" sh -c 'kill -CONT -1'; }
is_alone() { ! cluster_sh "node$1" pgrep -x filer >/dev/null; }
least_safe() { filer_did safe | awk '{ n[$2]++ } END { for (s in n) if (n[s] == 8 && s > m) m = s; print m + 0 }'; }
# datasets to restart from that lack files
halves() {
    cluster_sh head env "${filer_vars[@]}" "$TOOLS/h5veloc-ls" --json /node/pfs/prefix |
        awk '$1 == "\"files\":" { files = $2 + 0 }
            $1 == "\"restart\":" && $2 ~ /cache|rebuilt|prefix/ { n += files != 8 }
            END { print n + 0 }'
}

# --- cut off ---

filer_fresh each 'DATASET=ck PATTERN=out/ck.{step}/part-{rank}.h5 PUBLISH=BEHIND'
filer_steps=30 # more than it makes before the node is cut off; then all wait for that
filer_env=("${settings[@]}" VELOC_LAUNCH=first)
filer_start node1,node2,node3,node4 -n $filer_steps -w $protected:$(((1 << filer_steps) - 1))
filer_turns 30
wait_for has_view first
cut=$(chair first)
cluster_cut "$cut"
wait_for is_missed first "$cut"
pass "the node that decides is cut off: after a while another decides"
cluster_heal "$cut"
wait_for is_back first "$cut"
filer_end
is "$status" 0 "it comes back, and the program ends well" || note "$(tail -n 20 "$log")"
is "$(filer_whole) $(halves)" "$filer_steps 0" "all its steps are whole, and at their paths"
is "$(filer_did safe | wc -l)" $((8 * filer_steps)) "all were protected while it ran"

# --- frozen, and thawed when others have gone on ---

filer_steps=16
filer_env=("${settings[@]}" VELOC_LAUNCH=second VELOC_FLUSH_BANDWIDTH=2000)
filer_start node1,node2,node3,node4 -n $filer_steps -w $protected:65535
filer_turns 60
freeze 3
filer_turns 6
cluster_sh head pkill -KILL mpiexec
for i in 1 2 4; do filer_kill "node$i"; done 2>/dev/null
wait "$launcher"
safe=$(least_safe)
# what the frozen node alone has is not waited for at the end
filer_env=("${settings[@]}" VELOC_LAUNCH=third)
filer_start node1,node2,node5,node4 -n $filer_steps
wait_for has_view third
before=$(cksum <"$records/view.third")
thaw 3
wait_for is_alone 3
filer_end
is "$status $(filer_newest | wc -l)" "0 1" "a node freezes, all else is killed: the next launch agrees on a step" ||
    note "$(tail -n 20 "$log")"
ok "step $(filer_newest), and $safe was protected" test "$(filer_newest)" -ge "$safe"
is "$(filer_did torn)" '' "byte by byte"
is "$(cksum <"$records/view.third")" "$before" "the node that thaws changes nothing of its view"
is "$(filer_whole) $(halves)" "$filer_steps 0" "and in the end all steps are whole, and at their paths"
done_testing
