#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Live files that take the place of versions that are only in caches, of a program that runs or was killed: what
# a program has written last is what all read, and nobody waits for what is of no use any more.
: "${top_srcdir:?}" "${top_builddir:?}" "${TOOLS:?}" "${HDF5_PLUGIN_PATH:?}"
# shellcheck source=test/tap/tap.sh
. "$top_srcdir/test/tap/tap.sh"
dir=$(tap_dir)
# A plug-in with a sanitizer needs a program with it; what HDF5 leaks is not ours to report.
export ASAN_OPTIONS="detect_leaks=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
export VELOC_CACHE_BASE="$dir/cache" VELOC_CNTL_BASE="$dir" VELOC_LOG_FILE="$dir/log"
export VELOC_PEER_TIMEOUT=20
point=$top_builddir/test/vol/point
umask 022

fresh() {
    rm -rf "$dir/cache" "$dir/p"
    mkdir "$dir/cache" "$dir/p"
    cd "$dir/p" || bail_out "no directory"
}

# who waits for something on the prefix is ended
run() { timeout -s KILL 300 "${memcheck[@]}" "$point" "$@" 2>&1; }
live() { HDF5_VOL_CONNECTOR='veloc live' run "$@"; }
behind() { HDF5_VOL_CONNECTOR='veloc behind' run "$@"; }
# nothing comes to the prefix by it: who waits for that, waits for hours
held() { VELOC_FLUSH_BANDWIDTH=1 "$@"; }
killed() { ("$@" kill) 2>/dev/null; }
# rank R of two, on a node each, of a launch
rank() {
    local rank=$1 launch=$2 how=$3
    shift 3
    PMI_RANK=$rank PMI_SIZE=2 VELOC_LAUNCH=$launch VELOC_VIRTUAL_NODES=2 "$how" "$@"
}

# --- another program has it, and runs ---

fresh
behind create=a.h5 write=1 close
VELOC_FLUSH_BANDWIDTH=4000 behind create=a.h5 write=2 grow=2 close say=closed wait=end >first &
is_closed() { grep -qs closed first; }
await is_closed
live open=a.h5 grow=3 close read=a.h5 >second
touch end
wait
is "$(cat second)" 'a.h5: all 2, 3000 cells, 3 at the end' \
    'who opens a file to write that another program has in its cache goes on from that version'
is "$(live read=a.h5)" 'a.h5: all 2, 3000 cells, 3 at the end' 'and that is the newest one in the end'

fresh
live create=a.h5 write=1 close
killed held behind create=a.h5 write=2 grow=2 close say=closed wait=end >first &
await is_closed
VELOC_FLUSH_STALL=1 live open=a.h5 grow=3 close >second
is "$(<second)" 'cannot open a.h5' 'when that does not come for FLUSH_STALL the open fails'
touch end
wait 2>ended
is "$(live read=a.h5)" 'a.h5: all 2, 2000 cells, 2 at the end' 'nothing has taken its place'

# --- a program had it, and was killed ---

fresh
killed held behind create=a.h5 write=1 close
is "$(held live create=a.h5 write=2 close read=a.h5)" 'a.h5: all 2, 1000 cells, 2 at the end' \
    'a program that writes anew what another had in a cache alone ends without waiting for that'
is "$(stat -c %a a.h5)" 644 'the file has the mode of a new one, not that of the stub'
is "$(live read=a.h5)" 'a.h5: all 2, 1000 cells, 2 at the end' 'and it is the newest'

fresh
killed held behind create=a.h5 write=1 close
is "$(held live delete=a.h5 create=a.h5 write=2 close read=a.h5)" 'a.h5: all 2, 1000 cells, 2 at the end' \
    'nor does one that deletes it first'

# --- and on another node they have the record of that ---

fresh
for r in 0 1; do killed held rank $r first behind create=f.$r.h5 write=2 close meet=m & done 2>ended
wait 2>ended
held rank 0 next live create=f.0.h5 write=3 close meet=n >/dev/null &
held rank 1 next live create=f.1.h5 write=3 close meet=n read=f.0.h5 open=f.0.h5 grow=7 close read=f.0.h5 >second
wait
is "$(cat second)" "f.0.h5: all 3, 1000 cells, 3 at the end
f.0.h5: all 3, 2000 cells, 7 at the end" 'a file that was written over on another node is read as it is there, and changed'
is "$(run read=f.0.h5)" 'f.0.h5: all 3, 2000 cells, 7 at the end' 'and stays so'

# --- a file that is opened to be written, and is not ---

fresh
behind create=a.h5 write=1 close open=a.h5 close
is "$("$TOOLS/h5veloc-ls" | grep -c ' 7\.3 KiB \| 0 B ')" 1 \
    'of a file that was opened to be written, and was not, the version that is there is all'

# --- what a person is told ---

fresh
rm -f "$dir/log"
HDF5_VOL_CONNECTOR=veloc run create=a.h5 close create=b.h5 close >/dev/null
not_ok 'nothing is said of files that are made once' grep 'written anew' "$dir/log"
HDF5_VOL_CONNECTOR=veloc run create=a.h5 close create=a.h5 close create=a.h5 close >/dev/null
like "$(<"$dir/log")" "*/a.h5 is written anew in its place: *VELOC_DATASET='a.h5 PATTERN=a.h5' keeps the one before*" \
    'of one that is made again its line is'
is "$(grep -c 'written anew' "$dir/log")" 1 'once'
export VELOC_DATASET='a.h5 PATTERN=a.h5'
rm -f "$dir/log"
HDF5_VOL_CONNECTOR=veloc run create=a.h5 close create=a.h5 close >/dev/null
not_ok 'which is followed, and nothing said any more' grep 'written anew' "$dir/log"
like "$("$TOOLS/h5veloc-ls" 2>&1)" '* a.h5 *2 *yes, cache*' \
    'for it is protected'

done_testing
