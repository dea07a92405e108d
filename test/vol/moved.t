#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# What stands at the path of a file of a dataset is renamed, or gets another mode, while the file is on its way there:
# it comes to where that is by then, its program ends, and everyone reads it there.
: "${top_srcdir:?}" "${top_builddir:?}" "${HDF5_PLUGIN_PATH:?}"
# shellcheck source=test/tap/tap.sh
. "$top_srcdir/test/tap/tap.sh"
dir=$(tap_dir)
# A plug-in with a sanitizer needs a program with it; what HDF5 leaks is not ours to report.
export ASAN_OPTIONS="detect_leaks=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
export VELOC_CACHE_BASE="$dir/cache" VELOC_CNTL_BASE="$dir" VELOC_LOG_FILE="$dir/log" VELOC_PEER_TIMEOUT=20
point=$top_builddir/test/vol/point

native() { timeout -s KILL 120 "$point" "$@" 2>&1; }
behind() { HDF5_VOL_CONNECTOR='veloc behind' timeout -s KILL 120 "${memcheck[@]}" "$point" "$@" 2>&1; }
is_on_its_way() { [ -e ".a.h5.h5v-$1.1.tmp" ]; }

# A program whose file comes slowly, dataset N. Then the rest of the line happens, and it ends.
while_dataset() { # N OPS -- CMD
    local ops=() n=$1
    shift
    while [ "$1" != -- ]; do
        ops+=("$1")
        shift
    done
    rm -f end
    VELOC_FLUSH_BANDWIDTH=4000 behind "${ops[@]}" wait=end read=b.h5 >said &
    await is_on_its_way "$n"
    "${@:2}"
    touch end
    wait $!
}
fresh() {
    rm -rf "$dir/cache" "$dir/p"
    mkdir "$dir/cache" "$dir/p"
    cd "$dir/p" || bail_out "no directory"
}
all_read() { # NAME WHAT
    is "$(behind "read=$1")" "$1: $2" "who reads it with h5veloc finds it at $1"
    is "$(native "read=$1")" "$1: $2" 'and who reads it without'
}

fresh
while_dataset 1 create=a.h5 write=1 close -- mv a.h5 b.h5
ok 'a program ends whose stub was renamed while its file was published' test "$(<said)" = 'b.h5: all 1, 1000 cells, 1 at the end'
all_read b.h5 'all 1, 1000 cells, 1 at the end'
not_ok 'nothing is left at the old name' test -e a.h5

fresh
mkdir sub
while_dataset 1 create=a.h5 write=1 close -- mv a.h5 sub/b.h5
all_read sub/b.h5 'all 1, 1000 cells, 1 at the end'

fresh
behind create=a.h5 write=1 close
while_dataset 2 create=a.h5 write=2 close -- mv a.h5 b.h5
ok 'so does one whose older version was' test "$(<said)" = 'b.h5: all 2, 1000 cells, 2 at the end'
all_read b.h5 'all 2, 1000 cells, 2 at the end'

# --- its mode is changed ---

umask 022
mode() { stat -c %a a.h5; }
mode_at() { # MODE THEN: what it is now, and shall be
    mode >was
    [ -z "$1" ] || chmod "$1" a.h5
}
fresh
while_dataset 1 create=a.h5 write=1 close -- mode_at ''
is "$(<was),$(mode)" 644,644 'what stands at a new name has the mode that the file has'
fresh
while_dataset 1 create=a.h5 write=1 close -- mode_at 600
is "$(mode)" 600 'who changes it changes that of the file'
chmod 640 a.h5
while_dataset 2 create=a.h5 write=2 close -- mode_at ''
is "$(<was),$(mode)" 640,640 'a new version has the mode of the one before, as without h5veloc'

# --- and a new file is made at the old name meanwhile ---

fresh
VELOC_FLUSH_BANDWIDTH=4000 behind create=a.h5 write=1 close wait=moved create=a.h5 write=2 close say=again read=a.h5 read=b.h5 >said &
await is_on_its_way 1
mv a.h5 b.h5
touch moved
wait $!
is "$(<said)" 'again
a.h5: all 2, 1000 cells, 2 at the end
b.h5: all 1, 1000 cells, 1 at the end' 'a new file has the old name, the renamed one has its own'
all_read a.h5 'all 2, 1000 cells, 2 at the end'
all_read b.h5 'all 1, 1000 cells, 1 at the end'

done_testing
