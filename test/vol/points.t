#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Programs that are killed: between the close of their files and the seal, or with files open that
# they had flushed. What the next ones find, by HDF5 and by tools.
: "${top_srcdir:?}" "${top_builddir:?}" "${TOOLS:?}" "${HDF5_PLUGIN_PATH:?}"
# shellcheck source=test/tap/tap.sh
. "$top_srcdir/test/tap/tap.sh"
dir=$(tap_dir)
# A plug-in with a sanitizer needs a program with it; what HDF5 leaks is not ours to report.
export ASAN_OPTIONS="detect_leaks=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
export VELOC_CACHE_BASE="$dir/cache" VELOC_CNTL_BASE="$dir"
export VELOC_PEER_TIMEOUT=20
point=$top_builddir/test/vol/point
# the tool of the HDF5 that the program has
h5dump=$(ldd "$point" | sed -n 's|.* => \(.*\)/lib/libhdf5[._].*|\1/bin/h5dump|p')
[ -x "$h5dump" ] || h5dump=h5dump

fresh() {
    rm -rf "$dir/cache" "$dir/p"
    mkdir "$dir/cache" "$dir/p"
    cd "$dir/p" || bail_out "no directory"
    printf '%s\n' "${@:-UNLISTED=BEHIND}" >.velocconf
}

list() { "$TOOLS/h5veloc-ls" 2>&1; }

# A program of one process, or of RANKS: % in OPS is the rank.
run() { HDF5_VOL_CONNECTOR=veloc VELOC_LOG_FILE="$dir/log" "${memcheck[@]}" "$point" "$@" 2>&1; }
ranks() {
    local n=$1 of=$2 rank name=${launch:-$(mktemp -u l.XXXXXXXX)}
    shift 2
    for ((rank = 0; rank < n; rank++)); do
        (PMI_RANK=$rank PMI_SIZE=$of VELOC_LAUNCH=$name run "${@//%/$rank}") &
    done 2>"$dir/killed"
    wait 2>"$dir/killed"
}

# --- closed, and not sealed ---

# behind what stands there a launch can have no term: nobody can seal then
last=1.1000000000000000000 seal=1.0
stand_in_the_way() { (umask 077 && mkdir -p ".veloc/launch.$1/$last"); }

step='DATASET=ck PATTERN=ck.{step}.{rank}.h5 PUBLISH=BEHIND'
# a launch of one rank, killed when it has sealed; and a twin, killed before: with the other's seal
fresh "$step"
PMI_RANK=0 PMI_SIZE=1 VELOC_LAUNCH=first VELOC_FLUSH_BANDWIDTH=1 HDF5_VOL_CONNECTOR=veloc \
    "${memcheck[@]}" "$point" create=ck.1.0.h5 write=1 close >/dev/null 2>&1 &
is_sealed() { [ -e ".veloc/launch.first/$seal" ] && grep -q " sealed " ".veloc/launch.first/$seal"; }
await is_sealed
kill -9 $!
wait 2>"$dir/killed"
mkdir "$dir/sealed"
cp -r ".veloc/launch.first/$seal" .veloc/ids "$dir/sealed"
fresh "$step"
stand_in_the_way first
launch=first ranks 1 1 create=ck.1.%.h5 write=1 close kill >/dev/null
like "$(list)" '*- ck  *  1  *announced*no: never sealed: the next launch does so*' \
    'h5veloc-ls tells of which step files are that nobody has sealed'
rmdir ".veloc/launch.first/$last"
cp -r "$dir/sealed/$seal" .veloc/launch.first
cp -r "$dir/sealed/ids" .veloc
like "$(list)" '*yes, cache: the next launch takes its files over*' \
    'and that a step which is sealed can be restarted from, though its files are not in their place'
is "$(ranks 1 1 read=ck.1.%.h5)" 'ck.1.0.h5: all 1, 1000 cells, 1 at the end' 'as the next launch does'

fresh "$step"
stand_in_the_way dies
launch=dies ranks 2 2 create=ck.1.%.h5 write=1 close wait=ck.1.0.h5 wait=ck.1.1.h5 kill >/dev/null
rmdir ".veloc/launch.dies/$last"
not_ok 'a launch dies between the close of all files and the seal' ls .veloc/ids
is "$(ranks 2 2 read=ck.1.%.h5 | sort | tr '\n' ' ')" \
    'ck.1.0.h5: all 1, 1000 cells, 1 at the end ck.1.1.h5: all 1, 1000 cells, 1 at the end ' \
    'the next one seals them anew, and reads them'
ranks 2 2 create=ck.2.%.h5 write=2 close >/dev/null
ok 'and they come to their own path with the next one that writes' "$h5dump" -H ck.1.0.h5 ck.1.1.h5

# All of a launch on three nodes dies before its beat has told of more than one of them. The next one
# begins on that node; it waits for the others.
die_young() {
    local -x VELOC_VIRTUAL_NODES=3 VELOC_PEER_TIMEOUT=30 VELOC_VIEW_WAIT=20 VELOC_LAUNCH=next PMI_SIZE=3 PMI_RANK
    local first rank
    launch=young ranks 3 3 create=ck.1.%.h5 write=1 close wait=ck.1.0.h5 wait=ck.1.1.h5 wait=ck.1.2.h5 kill >/dev/null
    first=$(sed -n 's/.*"living":"vm.v\([0-2]\)".*/\1/p' .veloc/launch.young/beat)
    PMI_RANK=${first:=0}
    run read="ck.1.$first.h5" >"$dir/read.$first" &
    await_of $! grep -qs '"beat":2' .veloc/launch.next/beat
    for rank in 0 1 2; do
        PMI_RANK=$rank
        [ "$rank" = "$first" ] || run read="ck.1.$rank.h5" >"$dir/read.$rank" &
    done
    wait
}
fresh "$step" COPY_TYPE=XOR SET_SIZE=3
die_young
is "$(cat "$dir"/read.? | grep -c 'all 1, 1000 cells')" 3 \
    'what a launch closes that dies while it begins is whole for the next one' || note "$(cat "$dir"/read.?)"

fresh "$step"
stand_in_the_way part
launch=part ranks 2 3 create=ck.1.%.h5 write=1 close wait=ck.1.0.h5 wait=ck.1.1.h5 kill >/dev/null
rmdir ".veloc/launch.part/$last"
is "$(ranks 3 3 read=ck.1.%.h5 | sort | tr '\n' ' ')" 'ck.1.0.h5: none ck.1.1.h5: none ck.1.2.h5: none ' \
    'what lacks the file of a rank is nobody'"'"'s to restore'
is "$(find "$dir/cache" -name 'ck.1.?.h5' | wc -l)" 2 'and is kept'
ranks 3 3 create=ck.1.%.h5 write=2 close
ranks 3 3 read=ck.1.%.h5 >"$dir/newer"
is "$(grep -c 'all 2' "$dir/newer")" 3 'until there is a newer one' || note "$(cat "$dir/newer")"
ranks 3 3 create=ck.2.%.h5 write=3 close
is "$(find "$dir/cache" -path '*/[0-9]*.[0-9]*/[0-9]*/*' -name 'ck.1.?.h5' | wc -l)" 0 'then it goes'

# --- a rank with two files ---

one() { PMI_RANK=$1 PMI_SIZE=2 run "${@:2}" & }
fresh 'DATASET=ck PATTERN=ck.{step}.*.{rank}.h5 PUBLISH=BEHIND'
export VELOC_LAUNCH=two
one 0 create=ck.1.a.0.h5 write=1 close create=ck.1.b.0.h5 write=1 close
one 1 wait=ck.1.b.0.h5 create=ck.1.c.1.h5 write=1 close
wait
VELOC_LAUNCH=again
one 1 create=ck.2.c.1.h5 write=2 close
one 0 wait=ck.2.c.1.h5 create=ck.2.a.0.h5 write=2 close create=z.h5 write=2 close create=ck.2.b.0.h5 write=2 close
wait
unset VELOC_LAUNCH
is "$("$TOOLS/h5veloc-ls" | awk '$2 ~ /ck/ || $3 ~ /ck/' | wc -l)" 2 \
    'a rank had two files in a step: the next launch waits for the second one, and has one dataset'

# --- killed while it brings a file to its own path by itself ---

fresh
(VELOC_LAUNCH=over run create=x.h5 write=1 wait=go dies close) >"$dir/out" 2>"$dir/killed" &
is_begun() { [ -n "$(find "$dir/cache" -name x.h5 -size +0)" ]; }
await is_begun
"$top_builddir/test/vol/ender" .veloc/launch.over # as another launch ends it
await grep -q 'launch over was ended by another' "$dir/log"
: >go
wait
like "$(find . -maxdepth 1 -name '.x.h5.h5v-*')" './.x.h5.h5v-*.tmp' 'killed before the file had its name: a temporary one is left'
for _ in 1 2 3 4 5; do
    run create=y.h5 write=1 close
    left=$(find . -maxdepth 1 -name '.x.h5.h5v-*')
    [ -n "$left" ] || break
done
is "$left" '' 'the next launch removes it'
is "$(grep 'do not count' "$dir/log")" '' 'and says of none that its datasets do not count, which is just being ended'

# --- flushed, and not closed ---

# A program that only reads does not wait for what others have left to be flushed; one that writes does.
publish() { run create=z.h5 write=1 close; }

fresh
run create=a.h5 write=1 flush kill >/dev/null 2>&1
is "$(run read=a.h5)" 'a.h5: all 1, 1000 cells, 1 at the end' 'killed after H5Fflush: the next program reads what was flushed'
like "$(cat "$dir/log")" '*a.h5*killed before it was closed; it is as H5Fflush has left it*' 'and is told so'
publish
ok 'it comes to its own path with the next one that writes, a file as any' "$h5dump" -H a.h5
run open=a.h5 write=2 flush grow=3 kill >/dev/null 2>&1
is "$(run read=a.h5)" 'a.h5: all 2, 1000 cells, 2 at the end' 'what was written after it does not count'
run open=a.h5 write=4 flush write=5 flush write=6 flush flush write=7 kill >/dev/null 2>&1
is "$(run read=a.h5)" 'a.h5: all 6, 1000 cells, 6 at the end' 'of several the last counts'
run create=a.h5 write=8 kill >/dev/null 2>&1
is "$(run read=a.h5)" 'a.h5: all 6, 1000 cells, 6 at the end' 'without any the older file stays'
run create=a.h5 write=9 flush write=10 close >/dev/null 2>&1
is "$(run read=a.h5)" 'a.h5: all 10, 1000 cells, 10 at the end' 'a file that is closed is as it was closed'
run open=a.h5 flush kill >/dev/null 2>&1
is "$(find "$dir/cache" -path '*/mark.*' -type f | wc -l)" 0 'H5Fflush of what has not changed leaves no trace'
run latest create=b.h5 write=1 flush kill >/dev/null 2>&1
is "$(VELOC_FLUSH_BANDWIDTH=1 run read=b.h5)" 'b.h5: all 1, 1000 cells, 1 at the end' 'the newest format is not marked as still written'
publish
ok 'nor on the prefix' "$h5dump" -H b.h5

fresh "$step"
ranks 2 2 create=ck.1.%.h5 write=1 flush wait=ck.1.0.h5 wait=ck.1.1.h5 kill >/dev/null
is "$(ranks 2 2 read=ck.1.%.h5 | sort | tr '\n' ' ')" \
    'ck.1.0.h5: all 1, 1000 cells, 1 at the end ck.1.1.h5: all 1, 1000 cells, 1 at the end ' \
    'all ranks have flushed: they are one dataset'
(launch=ahead ranks 1 2 create=ck.2.%.h5 write=2 flush meet=begun write=3 flush kill >/dev/null) &
(PMI_RANK=1 PMI_SIZE=2 VELOC_LAUNCH=ahead run create=ck.2.1.h5 write=2 flush meet=begun write=3 kill >/dev/null) 2>/dev/null &
wait
is "$(ranks 2 2 read=ck.2.%.h5 | sort | tr '\n' ' ')" \
    'ck.2.0.h5: all 2, 1000 cells, 2 at the end ck.2.1.h5: all 2, 1000 cells, 2 at the end ' \
    'one rank was a flush ahead: all go back to the one that is common' || note "$(tail -n 20 "$dir/log")"

# --- flushed, and a version (POINTS) ---

# while_open CONDITION: until it holds, the program in the background has its files open
while_open() {
    await_of $! "$@"
    touch go
    wait
}
is_published() { "$h5dump" -d cells st.0.h5 st.1.h5 >"$dir/seen" 2>&1; }
is_protected() { "$TOOLS/h5veloc-ls" 2>/dev/null | grep -qE 'XOR +2/2'; }

versions='DATASET=st PATTERN=st.{rank}.h5 PUBLISH=BEHIND POINTS=2'
fresh "$versions"
(launch=open ranks 2 2 create=st.%.h5 write=1 flush write=2 flush write=3 flush wait=go close >/dev/null) &
while_open is_published
like "$(<"$dir/seen")" '*0): 2, 2, 2*0): 2, 2, 2*' 'every second flush is published while the files are open, as it was flushed'
is "$(ranks 2 2 read=st.%.h5 | sort | tr '\n' ' ')" \
    'st.0.h5: all 3, 1000 cells, 3 at the end st.1.h5: all 3, 1000 cells, 3 at the end ' \
    'what is closed is the newest version'

fresh "$versions" COPY_TYPE=XOR SET_SIZE=2
export VELOC_VIRTUAL_NODES=2
(VELOC_FLUSH_BANDWIDTH=100 launch=node ranks 2 2 create=st.%.h5 write=1 flush write=2 flush write=3 flush wait=go kill >/dev/null) &
while_open is_protected
not_ok 'another one is protected, and not yet published' "$h5dump" -H st.0.h5
rm -rf "$dir"/cache/*.v1
is "$(ranks 2 2 read=st.%.h5 meet="$dir/seen.both" | sort | tr '\n' ' ')" \
    'st.0.h5: all 2, 1000 cells, 2 at the end st.1.h5: all 2, 1000 cells, 2 at the end ' \
    'killed, with the node of a rank that never closed its file, it is rebuilt'
unset VELOC_VIRTUAL_NODES
# --- changed while nobody looked, and kept nowhere else ---

# Whoever opens it to write is told, and neither gets what stands at its path instead nor changes that.
turned() { # it stands in the cache alone, with another byte in it
    launch=behind VELOC_FLUSH_BANDWIDTH=1 ranks 1 1 create=st.%.h5 write=2 close complete=st.%.h5 kill >/dev/null
    printf x | dd of="$(find "$dir/cache" -path '*/dataset.*' -name st.0.h5 | sort | tail -n 1)" bs=1 seek=100 conv=notrunc 2>/dev/null
}
for before in a none; do
    fresh 'DATASET=st PATTERN=st.{rank}.h5 PUBLISH=BEHIND'
    [ "$before" = none ] || ranks 1 1 create=st.%.h5 write=1 close >/dev/null
    turned
    out=$(ranks 1 1 tells open=st.%.h5 grow=3 close)
    like "$out" '*st.0.h5 cannot be opened to be written: *its bytes have changed*cannot open st.0.h5' \
        "a program that is to change a version that is lost is told so, with $before version before it"
    like "$("$point" read=st.0.h5)" "st.0.h5: $([ "$before" = none ] && echo none || echo 'all 1, 1000 cells, 1 at the end')" \
        'and what stands at its path is as it was'
done
like "$(VELOC_ENABLE=0 ranks 1 1 tells read=st.%.h5)" '*st.0.h5 is in the caches of launch behind*st.0.h5: none' \
    'who has h5veloc switched off is told what a placeholder stands for'

done_testing
