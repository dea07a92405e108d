#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# What STORE lines say holds for HDF5 files: COUNT of their datasets stay in the cache, and BYTES bounds what is there.
# (A store that is not enabled is in settings.t.)
: "${top_srcdir:?}" "${top_builddir:?}" "${HDF5_PLUGIN_PATH:?}"
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

anew
run 5 COPY_TYPE=XOR "STORE=$dir/cache COUNT=3"
is "$result,$(files),$(kept cache),$(lines)" 0,15,2,3,4, 'of five steps COUNT stay in the cache, and nothing is said'
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

for name in STORE CACHEDIR; do
    anew
    line="$line KEEP=100" run 24 COPY_TYPE=XOR "$name=$dir/cache BYTES=65536"
    is "$result,$(files)" 0,72 "with $name BYTES a program writes all its files"
    ok "and keeps what BYTES has room for in the cache: $(kept cache)" test "$(kept cache | tr , '\n' | wc -l)" -ge 10
    ok 'and no more, with redundancy' test "$(find "$dir"/cache/*.v0 -name '*.h5' -printf '%s\n' | awk '{ n += 2 * $1 } END { print n }')" -le 65536
    like "$(lines | grep -v 'the program ends when')" "h5veloc: warn: */ck.*.h5 is written to its own path, and is not protected: $dir/cache/* has no room for another \
dataset: BYTES of its store is 65536, and what is there takes *" 'what has no place there is told'
    is "$(lines | grep -vc 'the program ends when')" 3 'once by each rank, and is all that is lacking'
done
done_testing
