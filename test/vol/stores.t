#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# What STORE and CKPT lines say holds for HDF5 files: COUNT of their datasets stay in a store, BYTES bounds what is there,
# each lies in the store of the level that is due, and where that has none for it in the next one.
# (A store that is not enabled is in settings.t.)
: "${top_srcdir:?}" "${top_builddir:?}" "${TOOLS:?}" "${HDF5_PLUGIN_PATH:?}"
# shellcheck source=test/tap/tap.sh
. "$top_srcdir/test/tap/tap.sh"
[ "${MPI_KIND:-no}" != no ] || skip_all 'there is no MPI to launch ranks'
dir=$(tap_dir)
export ASAN_OPTIONS="detect_leaks=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
export VELOC_CACHE_BASE="$dir/cache" VELOC_CNTL_BASE="$dir" VELOC_VIRTUAL_NODES=3 VELOC_SEAL_AFTER=1000
line='DATASET=ck PATTERN=ck.{step}.{rank}.h5'

anew() { rm -rf "$dir/cache" "$dir/other" "$dir/prefix" && mkdir "$dir/cache" "$dir/other" "$dir/prefix"; }
# run STEPS SETTINGS...: by three ranks, on a node each
run() {
    local steps=$1
    shift
    printf '%s\n' "$line" "$@" >"$dir/prefix/.velocconf"
    (cd "$dir/prefix" && TEST_TIMEOUT=60 HDF5_VOL_CONNECTOR=veloc \
        "$top_srcdir/test/mpirun.sh" 3 "$top_builddir/test/vol/brief" "$steps" >"$dir/out" 2>&1)
    result=$?
}
files() { find "$dir/prefix" -name 'ck.*.h5' -size +1k | wc -l; }
# kept STORE: the steps of which all ranks have files there, the oldest first
kept() {
    find "$dir/$1" -path '*/index.*/dataset.*/rank.*/*' -name '*ck.*.h5' | sed 's/.*ck\.\([0-9]*\)\..*/\1/' | sort -n | uniq -c |
        awk '$1 == 3 { print $2 }' | paste -sd,
}
lines() { grep '^h5veloc: ' "$dir/out"; }

# --- COUNT ---

for mode in SYNC ASYNC; do
    anew
    run 5 MODE=$mode COPY_TYPE=XOR "STORE=$dir/cache COUNT=3"
    is "$result,$(files),$(kept cache),$(lines)" 0,15,2,3,4, "$mode: of five steps COUNT stay in the cache, and nothing is said"
done
anew
run 5 COPY_TYPE=XOR CACHE_SIZE=2 "STORE=$dir/other COUNT=3"
is "$(kept cache)" 3,4 'a store that has no line keeps CACHE_SIZE'
anew
line="$line KEEP=1" run 5 COPY_TYPE=XOR "STORE=$dir/cache COUNT=3"
is "$(kept cache)" 4 'KEEP of a DATASET line comes before COUNT'
anew
run 5 "STORE=$dir/cache COUNT=1" "STORE=$dir/other COUNT=3" 'CKPT=0 TYPE=XOR' "CKPT=1 TYPE=SINGLE INTERVAL=1000000 STORE=$dir/other"
is "$(kept cache),$(kept other)" 4, 'COUNT is that of the store where the files are'
anew
printf '%s\n' 'DATASET=ck PATTERN=ck.{step}.h5' "STORE=$dir/cache COUNT=3" >"$dir/prefix/.velocconf"
# one process, which waits until each of steps FIRST to LAST is complete
steps() {
    local i words=()
    for i in $(seq "$1" "$2"); do words+=("create=ck.$i.h5" close "complete=ck.$i.h5"); done
    (cd "$dir/prefix" && HDF5_VOL_CONNECTOR=veloc timeout -s KILL 60 "$top_builddir/test/vol/point" "${words[@]}" >"$dir/out" 2>&1) || echo failed
}
in_cache() { find "$dir/cache" -name 'ck.*.h5' | sed 's/.*ck\.\([0-9]*\)\..*/\1/' | sort -n | paste -sd,; }
is "$(steps 1 5; in_cache)" 3,4,5 'what one program leaves'
is "$(steps 6 7; in_cache)" 5,6,7 'goes as the next one leaves more, together COUNT'
is "$(steps 8 12; in_cache)" 10,11,12 'or all of it'

# --- BYTES ---

for words in 'STORE ASYNC' 'CACHEDIR SYNC'; do
    read -r name mode <<<"$words"
    anew
    line="$line KEEP=100" run 24 MODE="$mode" COPY_TYPE=XOR "$name=$dir/cache BYTES=65536"
    is "$result,$(files)" 0,72 "$mode: with $name BYTES a program writes all its files"
    ok "and keeps what BYTES has room for in the cache: $(kept cache)" test "$(kept cache | tr , '\n' | wc -l)" -ge 10
    ok 'and no more, with redundancy' test "$(find "$dir"/cache/*.v0 -name '*.h5' -printf '%s\n' | awk '{ n += 2 * $1 } END { print n }')" -le 65536
    like "$(lines | grep -v 'the program ends when')" "h5veloc: warn: */ck.*.h5 is written to its own path, and is not protected: $dir/cache/* has no room for another \
dataset: BYTES of its store is 65536, and what is there takes *" 'what has no place there is told'
    is "$(lines | grep -vc 'the program ends when')" 3 'once by each rank, and is all that is lacking' ||
        note "$(lines)"
done

# --- levels in several stores ---

scr=("STORE=$dir/cache COUNT=9" "STORE=$dir/other COUNT=9" "CKPT=0 TYPE=XOR INTERVAL=1 STORE=$dir/cache"
    "CKPT=1 TYPE=XOR INTERVAL=4 STORE=$dir/other" "CKPT=2 TYPE=SINGLE INTERVAL=8 STORE=$dir/other")
levels() { "$TOOLS/h5veloc-ls" --json "$dir/prefix" | python3 -c '
import json, sys
print(*(d["level"] for d in sorted(json.load(sys.stdin)["datasets"], key=lambda d: d["id"])))'; }
for mode in SYNC ASYNC; do
    anew
    run 8 MODE=$mode "${scr[@]}"
    is "$result,$(files),$(lines)" 0,24, "$mode: with levels in two stores a program has all its files, and nothing is said"
    is "$(kept cache),$(kept other)" 0,1,2,4,5,6,3,7 'a dataset lies in the store of the level that is due: the largest INTERVAL that divides its number'
    is "$(find "$dir/other" -path '*/index.1/*ck.3.*h5' | wc -l),$(find "$dir/other" -path '*/index.2/*ck.7.*h5' | wc -l)" 3,3 'as that level'
    is "$(find "$dir/other" -path '*index.1*' -name '*XOR*' | wc -l),$(find "$dir/cache" -path '*ck.3.*' | wc -l)" 3,0 \
        'with its redundancy, and is not in the other store any more'
done
anew
run 4 "CKPT=0 TYPE=SINGLE STORE=$dir/cache" "CKPT=1 TYPE=SINGLE INTERVAL=1h STORE=$dir/other" CACHE_SIZE=9
is "$result,$(kept cache),$(kept other)" 0,1,2,3,0 'one with an INTERVAL by time takes the first, and then none for so long'

# one process, killed before anything is on the prefix; what the next one reads
moved() {
    local settings=("STORE=$dir/cache COUNT=9" "STORE=$dir/other COUNT=9${*:+ $*}" "CKPT=0 TYPE=SINGLE STORE=$dir/cache"
        "CKPT=1 TYPE=SINGLE INTERVAL=2 STORE=$dir/other")
    printf '%s\n' 'DATASET=ck PATTERN=ck.{step}.h5' "${settings[@]}" FLUSH_BANDWIDTH=1 >"$dir/prefix/.velocconf"
    cd "$dir/prefix" && export HDF5_VOL_CONNECTOR=veloc VELOC_QUIET=1 VELOC_VIRTUAL_NODES=1
    timeout -s KILL 60 "$top_builddir/test/vol/point" create=ck.1.h5 write=1 close protected=ck.1.h5 create=ck.2.h5 write=2 close \
        protected=ck.2.h5 read=ck.2.h5 kill >"$dir/out" 2>&1 || true
    find "$dir/cache" "$dir/other" -name 'ck.*.h5' | sed "s:$dir/::; s:/.*/:/:" | sort | paste -sd' '
    printf '%s\n' 'DATASET=ck PATTERN=ck.{step}.h5' "${settings[@]}" >"$dir/prefix/.velocconf"
    timeout -s KILL 60 "$top_builddir/test/vol/point" read=ck.1.h5 read=ck.2.h5 2>&1
}
wants='cache/ck.1.h5 other/ck.2.h5
ck.1.h5: all 1, 1000 cells, 1 at the end
ck.2.h5: all 2, 1000 cells, 2 at the end'
anew
is "$(moved)" "$wants" 'the next program reads each where it is'
like "$(<"$dir/out")" '*ck.2.h5: all 2, 1000 cells*' 'as the program itself did'
anew
is "$(moved BYTES=1000)" "${wants/other/cache}" 'one for which the store of its level has no room stays where it was written'
like "$(lines)" "h5veloc: warn: *datasets stay in the store where they were written: $dir/other/*has no room*" 'which is told'
# far SIZE: the other store is a file system of its own
far() { # shellcheck disable=SC2016 # the inner shell expands them
    dir=$dir top_builddir=$top_builddir unshare -m bash -c "$(declare -f moved)"'
        mount --make-rprivate / && mount -t tmpfs -o size=$0 none "$dir/other" && moved' "$1"
}
if unshare -m true 2>/dev/null; then
    anew
    is "$(far 64m 2>/dev/null)" "$wants" 'so does one from a store on another disk'
    anew
    is "$(far 1m 2>/dev/null)" "${wants/other/cache}" 'and stays when that is full'
else
    skip 2 'there are no mount namespaces here'
fi

# --- the next store ---

# three OP...: by three ranks, on a node each, @ is the rank; what they say
export VELOC_PEER_TIMEOUT=20
three() {
    local r
    for r in 0 1 2; do
        (cd "$dir/prefix" && VELOC_LAUNCH=three PMI_RANK=$r PMI_SIZE=3 HDF5_VOL_CONNECTOR=veloc VELOC_VIRTUAL_NODES=3 VELOC_QUIET=1 \
            timeout -s KILL 90 "$top_builddir/test/vol/point" "${@//@/$r}" 2>>"$dir/out") &
    done 2>/dev/null
    wait
}
# spill SETTINGS...: in two stores; three that write two steps and are killed before anything is on the prefix
spill() {
    printf '%s\n' 'DATASET=ck PATTERN=ck.{step}.{rank}.h5' "CKPT=0 TYPE=XOR STORE=$dir/cache" "CKPT=1 TYPE=SINGLE INTERVAL=1000000 STORE=$dir/other" \
        "STORE=$dir/other COUNT=9" "$@" >"$dir/prefix/.velocconf"
    : >"$dir/out"
    VELOC_FLUSH_BANDWIDTH=1 three create=ck.1.@.h5 write=1@ close protected=ck.1.@.h5 create=ck.2.@.h5 write=2@ close protected=ck.2.@.h5 \
        meet=../done kill 2>/dev/null
    rm -f "$dir"/done.?
}
# lie STORE: how many files of each step lie there, of which nodes
lie() {
    find "$dir/$1" -path '*/index.0/dataset.*' -name 'ck.*.h5' | sed 's:.*\.v\(.\)/.*/ck\.\(.\)\..*:\2 \1:' | sort |
        awk '{ of[$1] = of[$1] $2 } END { for (i in of) print i ":" of[i] }' | sort | paste -sd' '
}
# each file as ls tells it: its name, and the store where it is
told() {
    "$TOOLS/h5veloc-ls" -r --json "$dir/prefix" | python3 -c '
import json, sys
for d in json.load(sys.stdin)["datasets"]:
    for f in d["contents"]:
        if not f["redundancy"]:
            print(d["restart"], d["level"], f["name"], f["path"] and f["path"][len(sys.argv[1]):].split("/")[1])' "$dir" | sort | paste -sd,
}
back() { # who has read his own stays for the others
    three read=ck.1.@.h5 read=ck.2.@.h5 meet=../read 2>&1 | sort | sed 's/, 1000 cells.*//' | paste -sd,
    rm -f "$dir"/read.?
}
all='ck.1.0.h5: all 10,ck.1.1.h5: all 11,ck.1.2.h5: all 12,ck.2.0.h5: all 20,ck.2.1.h5: all 21,ck.2.2.h5: all 22'
not_used() { lines | grep -v 'stays in the cache'; }

anew
rmdir "$dir/cache"
spill "STORE=$dir/cache COUNT=9 MKDIR=0"
is "$(lie other)" '1:012 2:012' 'where the store of the level is not there files go to the next one'
ok 'which nobody makes' test ! -e "$dir/cache"
like "$(not_used)" "*store $dir/cache is not used: $dir/cache is not there, and is not made because of MKDIR=0: make or mount it *; files go to $dir/other*" \
    'what is not used is told, why, and what is'
is "$(not_used | wc -l)" 3 'once by each node'
is "$(told)" 'cache 0 ck.1.0.h5 other,cache 0 ck.1.1.h5 other,cache 0 ck.1.2.h5 other,cache 0 ck.2.0.h5 other,cache 0 ck.2.1.h5 other,cache 0 ck.2.2.h5 other' \
    'h5veloc-ls knows where they are'
rm -rf "$dir"/other/*.v1
is "$(back)" "$all" 'they are protected, and what a lost node had is rebuilt'

anew
spill "STORE=$dir/cache COUNT=9 BYTES=1000"
is "$(lie cache),$(lie other)" 1:012,2:012 'the first dataset for which it has no room goes to the next store'
like "$(not_used)" "*warn: *$dir/cache/*has no room for another dataset: BYTES *; files go to $dir/other*" 'which is told'
is "$(not_used | wc -l)" 3 'once by each node'
like "$(told)" '*cache 0 ck.1.2.h5 cache,cache 0 ck.2.0.h5 other,*' 'h5veloc-ls knows where each is'
is "$(back)" "$all" 'the next launch reads both'
anew
run 6 "CKPT=0 TYPE=XOR STORE=$dir/cache" "CKPT=1 TYPE=XOR INTERVAL=4 STORE=$dir/other" "STORE=$dir/cache COUNT=9 BYTES=1000" "STORE=$dir/other COUNT=9"
is "$result,$(files),$(kept cache),$(kept other)" 0,18,0,1,2,3,4,5 'and in the end all files of all are on the prefix'
is "$(lines | grep -c .)" 3 'while nothing else is told'

# one node alone
node=$(uname -n) && node=${node%%.*}
anew
: >"$dir/cache/$node.v1"
spill "STORE=$dir/cache COUNT=9"
is "$(lie cache),$(lie other)" '1:02 2:02,1:1 2:1' 'a node whose store cannot be used takes the next one, and the others their own'
like "$(not_used)" "*store $dir/cache is not used: *$node.v1*; files go to $dir/other*" 'that one tells it'
is "$(not_used | wc -l)" 1 'alone'
is "$(back)" "$all" 'all parts are one dataset'
anew
: >"$dir/cache/$node.v1"
spill "STORE=$dir/cache COUNT=9"
rm -rf "$dir"/other/*.v1
is "$(back)" "$all" 'of which that node'
anew
: >"$dir/cache/$node.v1"
spill "STORE=$dir/cache COUNT=9"
rm -rf "$dir"/cache/*.v2
is "$(back)" "$all" 'or another may be lost'
# full SIZE: the store of one node is a disk of so many bytes; what is read there, of launches before unless SETTINGS... are for one now
full() { # shellcheck disable=SC2016 # the inner shell expands them
    dir=$dir top_builddir=$top_builddir node=$node unshare -m bash -c "$(declare -f three spill lie lines not_used back)"'
        mount --make-rprivate / && mkdir "$dir/cache/$node.v1" && mount -t tmpfs -o size=$0 none "$dir/cache/$node.v1"
        [ $# = 0 ] || { spill "$@" && echo "$(lie cache),$(lie other),$(not_used | wc -l)"; }
        back' "$@"
}
if unshare -m true 2>/dev/null; then
    anew
    is "$(full 512k "STORE=$dir/cache COUNT=9")" "1:02 2:02,1:1 2:1,1
$all" 'so does one whose disk is full'
    like "$(not_used)" "*warn: *$dir/cache/$node.v1/*has no room for another dataset; files go to $dir/other*" 'which is told'
    anew
    spill "STORE=$dir/cache COUNT=9"
    rm -rf "$dir"/cache/*.v1
    is "$(full 4k)" "$all" 'and what is rebuilt on a node whose disk is full'
else
    skip 3 'there are no mount namespaces here'
fi

anew
run 4 "CKPT=0 TYPE=XOR STORE=$dir/cache" "CKPT=1 TYPE=XOR INTERVAL=1000000 STORE=$dir/other" "STORE=$dir/cache COUNT=9 BYTES=1000" \
    "STORE=$dir/other COUNT=9 BYTES=8000"
is "$result,$(files),$(kept cache),$(kept other)" 0,12,0,1 'what no store has room for is written to its own path'
like "$(lines)" "*/ck.2.*.h5 is written to its own path, and is not protected: $dir/cache/*has no room for another dataset*" 'with a warning'
done_testing
