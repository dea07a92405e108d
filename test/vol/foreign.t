#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Somebody writes at the path of a file of a dataset without h5veloc, between its close and its publication: what they
# have put there stays, and ours comes beside it, with a warning.
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
is_on_its_way() { compgen -G '.a.h5.h5v-*.tmp' >/dev/null; }

# What people do to a.h5.
truncate_it() { native create=a.h5 write=7 close; }
write_it() { native open=a.h5 grow=7 close; }
repack_it() { native create=b.h5 write=7 close && "${HDF5_BINDIR:?}/h5repack" b.h5 a.h5; }
copy_it() { native create=b.h5 write=7 close && cp b.h5 a.h5 && rm b.h5; }

fresh() {
    rm -rf "$dir/cache" "$dir/p" "$dir/log"
    mkdir "$dir/cache" "$dir/p"
    cd "$dir/p" || bail_out "no directory"
}

# VERSION of it is on the way to its path, where WHAT happens
meanwhile() { # VERSION WHAT
    fresh
    [ "$1" = 1 ] || behind create=a.h5 write=1 close
    VELOC_FLUSH_BANDWIDTH=4000 behind create=a.h5 write=2 close wait=end &
    await is_on_its_way
    "$2"
    touch end
    wait $!
    is "$(native read=a.h5)" "$3" "$2 at $4: what was put there stays"
    is "$(behind read=a.h5)" "$3" 'with h5veloc it is what is read, too'
    is "$(native "read=a.h5.h5veloc-$1")" "a.h5.h5veloc-$1: all 2, 1000 cells, 2 at the end" 'the file of the dataset is beside it'
    like "$(<"$dir/log")" "*warn: */a.h5 was written by someone else*/a.h5.h5veloc-$1*" 'as a warning says'
    not_ok 'nothing else is left' is_on_its_way
}

seven='a.h5: all 7, 1000 cells, 7 at the end'
meanwhile 1 truncate_it "$seven" 'a stub'
meanwhile 1 repack_it "$seven" 'a stub'
meanwhile 1 copy_it "$seven" 'a stub'
meanwhile 2 truncate_it "$seven" 'an older version'
meanwhile 2 write_it 'a.h5: all 1, 2000 cells, 7 at the end' 'an older version'
meanwhile 2 repack_it "$seven" 'an older version'

# --- who touches an older version has put nothing there ---

fresh
behind create=a.h5 write=1 close
VELOC_FLUSH_BANDWIDTH=4000 behind create=a.h5 write=2 close wait=end &
await is_on_its_way
touch a.h5 end
wait $!
is "$(native read=a.h5)" 'a.h5: all 2, 1000 cells, 2 at the end' 'an older version that was touched is replaced'
is "$(ls)" 'a.h5
end' 'and nothing comes beside it'

# --- who takes the name away has removed the file ---

move_it() { native create=b.h5 write=7 close && mv b.h5 a.h5; }
meanwhile_moved() {
    fresh
    VELOC_FLUSH_BANDWIDTH=4000 behind create=a.h5 write=2 close wait=end &
    await is_on_its_way
    move_it
    touch end
    wait $!
    is "$(native read=a.h5)" "$seven" 'a file that was moved to the name has it'
    is "$(ls)" 'a.h5
end' 'the one that was to come there does not come'
}
meanwhile_moved

# --- while its process has it open, and brings it to its path itself: somebody has emptied the cache ---

# VERSION of it is open, somebody does WHAT to the path and empties the cache; then the rest is written.
while_open() { # VERSION WHAT...
    fresh
    [ "$1" = 1 ] || behind create=a.h5 write=1 close
    if [ "$1" = 1 ]; then set -- 'create=a.h5' "${@:2}"; else set -- 'open=a.h5' "${@:2}"; fi
    behind "$1" write=2 flush say=there wait=end write=3 close >said &
    await grep -qs there said
    "${@:2}"
    find "$dir/cache" -name a.h5 -delete
    touch end
    wait $!
    rm said end
    for file in *; do native "read=$file" | sed 's/h5veloc-[0-9]*/h5veloc-ID/'; done
}
three='a.h5: all 3, 1000 cells, 3 at the end'
for version in 1 2; do
    is "$(while_open $version true)" "$three" "from an emptied cache a file comes to its path (version $version)"
    is "$(while_open $version copy_it)" "$seven
a.h5.h5veloc-ID: all 3, 1000 cells, 3 at the end" 'what somebody has copied there stays, and ours comes beside it'
    like "$(<"$dir/log")" '*warn: */a.h5 was written by someone else while it was open*/a.h5.h5veloc-*' 'as a warning says'
    is "$(while_open $version move_it)" "$seven" 'what was moved there has the name, as natively'
    is "$(while_open $version rm a.h5)" '*: none' 'what was removed is not there again'
    is "$(while_open $version mv a.h5 b.h5)" 'b.h5: all 3, 1000 cells, 3 at the end' 'what was renamed is where it is now'
done

done_testing
