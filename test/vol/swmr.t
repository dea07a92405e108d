#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A file that is read while it is written (SWMR) from some moment on: who reads it finds at its path what the writer
# has flushed, whatever kind of file it was until then.
: "${top_srcdir:?}" "${top_builddir:?}" "${HDF5_PLUGIN_PATH:?}"
# shellcheck source=test/tap/tap.sh
. "$top_srcdir/test/tap/tap.sh"
dir=$(tap_dir)
# A plug-in with a sanitizer needs a program with it; what HDF5 leaks is not ours to report.
export ASAN_OPTIONS="detect_leaks=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
export VELOC_CACHE_BASE="$dir/cache" VELOC_CNTL_BASE="$dir" VELOC_LOG_FILE="$dir/log" VELOC_PEER_TIMEOUT=20
point=$top_builddir/test/vol/point

native() { timeout -s KILL 120 "$point" "$@" 2>&1; }
with() { HDF5_VOL_CONNECTOR=$1 timeout -s KILL 120 "${memcheck[@]}" "$point" "${@:2}" 2>&1; }
is_flushed() { grep -qs there "$dir/writer"; }

# what readers see of a writer that is run as $1 says: natively, and with the connector
readers_of() {
    local writer
    rm -rf "$dir/cache" "$dir/p" "$dir/writer"
    mkdir "$dir/cache" "$dir/p"
    cd "$dir/p" || bail_out "no directory"
    "$@" latest create=s.h5 write=1 swmr grow=2 flush say=there wait=end grow=3 close >"$dir/writer" &
    writer=$!
    await is_flushed
    native follow=s.h5
    with veloc follow=s.h5
    touch end
    wait "$writer" || cat "$dir/writer"
    native read=s.h5
    with veloc read=s.h5
}

want=$(readers_of native)
is "$want" 's.h5: all 1, 2000 cells, 2 at the end
s.h5: all 1, 2000 cells, 2 at the end
s.h5: all 1, 3000 cells, 3 at the end
s.h5: all 1, 3000 cells, 3 at the end' 'without h5veloc'
is "$(readers_of with 'veloc live')" "$want" 'of a live file readers see the same'
is "$(readers_of with 'veloc behind')" "$want" 'and of a file of a dataset'
like "$(<"$dir/log")" '*s.h5*it is read while it is written (SWMR)*' 'which a warning says is not protected from then on'

# --- a file that is closed, and is in the cache ---

follows() {
    rm -rf "$dir/cache" "$dir/p"
    mkdir "$dir/cache" "$dir/p"
    cd "$dir/p" || bail_out "no directory"
    "$@" latest create=c.h5 write=1 close follow=c.h5 create=c.h5 write=2 close follow=c.h5
    "$@" latest create=d.h5 write=3 flush follow=d.h5
    "$@" latest create=c.h5 write=4 close kill
    "$@" latest follow=c.h5
}
want=$(follows native)
like "$want" '*all 1*all 2*all 4*' 'a closed file is opened to be read while it is written, without h5veloc'
is "$(follows with 'veloc behind')" "$want" 'and so is one of a dataset: it comes to its path first'

# --- and one that another process writes without that ---

rm -rf "$dir/cache" "$dir/p" "$dir/writer"
mkdir "$dir/cache" "$dir/p"
cd "$dir/p" || bail_out "no directory"
with 'veloc behind' latest create=w.h5 write=1 flush say=there wait=end close >"$dir/writer" &
await is_flushed
is "$(with veloc follow=w.h5)" 'w.h5: none' 'what another process writes is refused, as without h5veloc'
touch end
wait
is "$(with veloc follow=w.h5)" 'w.h5: all 1, 1000 cells, 1 at the end' 'then it is read'

done_testing
