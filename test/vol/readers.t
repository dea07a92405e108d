#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Who only reads owes nothing: a program has been killed, and its file is still to be flushed, which takes
# minutes here. Readers read it and end; it stays in the cache and on record until a program comes that writes.
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
limit=(timeout "${TEST_TIMEOUT:-120}") # the flush takes seven minutes, and FLUSH_STALL is five
connected=(env HDF5_VOL_CONNECTOR=veloc)
slow=(env VELOC_FLUSH_BANDWIDTH=100)
native() { env -u HDF5_PLUGIN_PATH "$pause" "$@" 2>/dev/null </dev/null; }
list() { "$TOOLS/h5veloc-ls" -l "$dir/p"; }
mkfifo "$dir/in" "$dir/out"

# begin PROGRAM ARGS...: in the background; sets $said to what it says first. It goes on when `end` ends its input.
begin() {
    "$@" <"$dir/in" >"$dir/out" &
    program=$!
    exec 8>"$dir/in" 9<"$dir/out"
    IFS= read -r -t "${TEST_TIMEOUT:-120}" said <&9
}
end() {
    local status
    exec 8>&-
    wait "$program" 2>/dev/null
    status=$?
    exec 9<&-
    return "$status"
}

begin "${slow[@]}" "${connected[@]}" "${memcheck[@]}" "$pause" make s.1.h5
is "$said" 'done' 'a program has closed a file, and is killed'
kill -9 "$program"
end
for who in 'a reader' 'another one'; do
    is "$("${limit[@]}" "${slow[@]}" "${connected[@]}" "${memcheck[@]}" "$pause" read s.1.h5 </dev/null 2>&1) $?" \
        "there 1 last 9999: cells
done 0" "$who has it from the cache, and does not wait for its flush"
    like "$(list)" '* 1 s *1 *yes, cache*still to do:*flush*' 'which is still to be done, and on record'
done
h5dump=$(sed -n 's/.*-L\([^ ]*\)\/lib.*/\1\/bin\/h5dump/p' <<<"$HDF5_LIBS")
[ -x "$h5dump" ] || h5dump=$(command -v h5dump)
if [ -n "$h5dump" ] && [ -z "${SANITIZER:-}" ]; then
    said=$("${limit[@]}" "${slow[@]}" "${connected[@]}" "$h5dump" -d cells -s 9999 -c 1 s.1.h5 2>&1)
    like "$? $said" '0 *: 9999*' 'nor does h5dump'
else
    skip 1 'there is no h5dump, or none with the sanitizer'
fi
ok 'nothing has come to its path' is_stub s.1.h5
is "$("${limit[@]}" "${connected[@]}" "$pause" make s.2.h5 </dev/null 2>&1)" 'done' 'a program comes that writes'
is "$(native read s.1.h5)" "there 1 last 9999: cells
done" 'and what was owed is done when it has ended'
is "$(find . -maxdepth 1 -name '.*tmp')" '' 'nothing is left of what readers had begun'

# --- a reader and a writer in one launch: that owes what was written, whoever is its last
export VELOC_LAUNCH=one
begin "${limit[@]}" "${connected[@]}" "${memcheck[@]}" "$pause" read s.2.h5
is "$said" 'there 1 last 9999: cells' 'a reader is there'
is "$("${connected[@]}" "$pause" make s.3.h5 </dev/null 2>&1)" 'done' 'a writer of the same launch comes and goes'
end
is $? 0 'and the reader after it'
is "$(native read s.3.h5)" "there 1 last 9999: cells
done" 'what was written is at its path then'
done_testing
