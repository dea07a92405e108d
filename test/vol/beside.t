#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A program and its reader: a file that the one has closed, and which is only in a cache, is read by
# another program at once, and by HDF5's tools; without the connector there is a placeholder. And
# files that are only on the prefix, opened to be written: a line makes them ours, or nothing does.
: "${top_srcdir:?}" "${top_builddir:?}" "${TOOLS:?}" "${HDF5_PLUGIN_PATH:?}" "${HDF5_LIBS?}"
# shellcheck source=test/tap/tap.sh
. "$top_srcdir/test/tap/tap.sh"
dir=$(tap_dir)
# A plug-in with a sanitizer needs a program with it; what HDF5 leaks is not ours to report.
export ASAN_OPTIONS="detect_leaks=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
mkdir "$dir/p" "$dir/c" "$dir/n"
export VELOC_CACHE_BASE="$dir/c" VELOC_CNTL_BASE="$dir/n" VELOC_LOG_FILE="$dir/log"
cd "$dir/p" || bail_out "no $dir/p"
echo 'DATASET=s PATTERN=s.{step}.h5 PUBLISH=BEHIND' >.velocconf
pause=$top_builddir/test/vol/pause
native() { env -u HDF5_PLUGIN_PATH "$pause" "$@" 2>/dev/null </dev/null; }
veloc() { HDF5_VOL_CONNECTOR=veloc "${memcheck[@]}" "$pause" "$@" 2>/dev/null </dev/null; }

# --- a program that runs
mkfifo "$dir/in" "$dir/out"
VELOC_FLUSH_BANDWIDTH=100 HDF5_VOL_CONNECTOR=veloc "${memcheck[@]}" "$pause" make s.1.h5 <"$dir/in" >"$dir/out" &
program=$!
exec 8>"$dir/in" 9<"$dir/out"
IFS= read -r -t "${TEST_TIMEOUT:-120}" said <&9
is "$said" 'done' 'a program has closed a file, and goes on'
is "$(native read s.1.h5)" "there 1 not opened
failed" 'natively it looks like a file of HDF5, for programs that test before they open, and cannot be opened'
like "$(env -u HDF5_VOL_CONNECTOR "$top_builddir/test/vol/point" tells read=s.1.h5 2>&1)" '*bad superblock version number*' \
    'and HDF5 says what it minds'
like "$(cat s.1.h5)" '*h5veloc stub 2*The file of this name is written, but not in this place yet*' \
    'but says what it is'
is "$(veloc read s.1.h5)" "there 1 last 9999: cells
done" 'through the connector another program reads it'
h5dump=$(sed -n 's/.*-L\([^ ]*\)\/lib.*/\1\/bin\/h5dump/p' <<<"$HDF5_LIBS")
[ -x "$h5dump" ] || h5dump=$(command -v h5dump)
if [ -n "$h5dump" ] && [ -z "${SANITIZER:-}" ]; then
    like "$(HDF5_VOL_CONNECTOR=veloc "$h5dump" -d cells -s 9999 -c 1 s.1.h5 2>&1)" '*: 9999*' 'h5dump reads it as well'
else
    skip 1 'there is no h5dump, or none with the sanitizer'
fi
ok 'while nothing has come to its path' is_stub s.1.h5
is "$(VELOC_FLUSH_STALL=1 veloc add s.1.h5 more)" failed 'who would write it has to wait'
kill -9 "$program"
wait "$program" 2>/dev/null
exec 8>&- 9<&-
is "$(veloc add s.1.h5 more)" 'done' 'the program is killed: then it can be written'
is "$(native read s.1.h5)" "there 1 last 9999: cells more
done" 'and is at its path when that has ended'

# --- on another node
VELOC_VIRTUAL_NODES=1 HDF5_VOL_CONNECTOR=veloc "${memcheck[@]}" "$pause" hold s.2.h5 <"$dir/in" >"$dir/out" &
program=$!
exec 8>"$dir/in" 9<"$dir/out"
IFS= read -r -t "${TEST_TIMEOUT:-120}" said <&9
# as from there: with other directories
like "$(VELOC_CNTL_BASE="$dir/away" VELOC_CACHE_BASE="$dir/away" "$TOOLS/h5veloc-ls" -l)" \
    "*- s *2 *announced*no: not closed, nor flushed: *on $(uname -n).v0*" 'h5veloc-ls of another node lists what is being written'
exec 8>&- 9<&-
wait "$program"

# --- files that are only on the prefix
native make plain.h5 >/dev/null
native make s.7.h5 >/dev/null
inode=$(stat -c %i plain.h5)
is "$(veloc add plain.h5 a) $(stat -c %i plain.h5)" "done $inode" 'a file that no line has is written where it is'
like "$(VELOC_LOG=info veloc add plain.h5 b; cat "$dir/log")" \
    '*plain.h5 is written where it belongs: no DATASET line has it*' 'which is told'
is "$(find "$dir/c" -name plain.h5)" '' 'and is in no cache'
is "$(native read plain.h5)" "there 1 last 9999: a b cells
done" 'with all that was written'
inode=$(stat -c %i s.7.h5)
veloc add s.7.h5 a >/dev/null
not_ok 'one that a line has becomes a new version' test "$(stat -c %i s.7.h5)" = "$inode"
is "$(find "$dir/c" -name s.7.h5 | wc -l) $(native read s.7.h5)" "1 there 1 last 9999: a cells
done" 'that begins with what was there, and is cached'
veloc make own.h5 >/dev/null
inode=$(stat -c %i own.h5)
veloc add own.h5 a >/dev/null
is "$(stat -c %i own.h5)" "$inode" 'one that was made with the connector, and that no line has, is written where it is'

# --- what VELOC_LOG=info tells of each file
like "$(VELOC_LOG=info veloc make s.3.h5; VELOC_LOG=info veloc make own.h5; cat "$dir/log")" \
    '*s.3.h5: * bytes in the cache by DATASET s, written in*own.h5 is written where it belongs: no DATASET line has it*' \
    'the line is told that a file fits, and that none does'
like "$(VELOC_LOG=info VELOC_PREFIX="$dir/none" veloc make out.h5; cat "$dir/log")" \
    "*/out.h5 is written where it belongs: it is not below the prefix $dir/none
*the prefix $dir/none is not there; make it*" 'and why one is not protected whose prefix is not there'
lines=$(wc -l <"$dir/log")
VELOC_LOG=warn VELOC_PREFIX="$dir/n" veloc make out.h5 >/dev/null
is "$(wc -l <"$dir/log") $(native read out.h5 | head -n 1)" "$lines there 1 last 9999: cells" \
    'one outside of a prefix that is there needs no word'
done_testing
