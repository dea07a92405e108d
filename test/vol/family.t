#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Ranks that write files of names without a line, not all at the same speed: until it is known which number is the rank
# a file is live, and a step of which one is live is live on all ranks. What a killed program had closed is there.
: "${top_srcdir:?}" "${top_builddir:?}" "${TOOLS:?}" "${HDF5_PLUGIN_PATH:?}"
# shellcheck source=test/tap/tap.sh
. "$top_srcdir/test/tap/tap.sh"
dir=$(tap_dir)
# A plug-in with a sanitizer needs a program with it; what HDF5 leaks is not ours to report.
export ASAN_OPTIONS="detect_leaks=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
export VELOC_CACHE_BASE="$dir/cache" VELOC_CNTL_BASE="$dir" VELOC_LOG_LEVEL=INFO VELOC_VIRTUAL_NODES=2
export VELOC_PEER_TIMEOUT=300 VELOC_SEAL_AFTER=600
launch=0

fresh() {
    rm -rf "$dir/cache" "$dir/p"
    mkdir "$dir/cache" "$dir/p"
    cd "$dir/p" || bail_out "no directory"
}

# rank R OPS...: of two, in the launch of this number
rank() {
    local r=$1
    shift
    VELOC_LAUNCH=$launch PMI_RANK=$r PMI_SIZE=2 VELOC_LOG_FILE="$dir/p/log.$launch.$r" HDF5_VOL_CONNECTOR=veloc \
        timeout -s KILL 60 "$top_builddir/test/vol/point" "$@" 2>&1
}

# step STEP RANK VALUE: the operations that make a file, in ops
step() { ops+=("create=ck.$1.$2.h5" "write=$3" close); }

# One rank is two steps ahead before the other begins, and then both are killed together in the fourth
fresh
launch=1
ops=()
for s in 1 2; do step "$s" 0 "$s"; done
ops+=(meet=ahead)
for s in 3 4; do step "$s" 0 "$s"; done
rank 0 "${ops[@]}" meet=end kill >"$dir/said.0" &
await grep -qs ck.2.0 "$dir/p/log.1.0"
ops=()
step 1 1 1
ops+=(meet=ahead)
for s in 2 3 4; do step "$s" 1 "$s"; done
rank 1 "${ops[@]}" meet=end kill >"$dir/said.1"
wait
launch=2
for r in 0 1; do rank "$r" read=ck.1.$r.h5 read=ck.2.$r.h5 read=ck.3.$r.h5 read=ck.4.$r.h5 meet=read >"$dir/read.$r" & done
wait
for r in 0 1; do
    is "$(grep -c 'all' "$dir/read.$r")" 4 "rank $r finds all that it had closed when it was killed"
    is "$(grep -o 'ck.*bytes in the cache' "log.1.$r" | cut -d : -f 1 | tr '\n' ' ')" "ck.3.$r.h5 ck.4.$r.h5 " \
        'of which steps are in the cache that began when the family was known'
done
"$TOOLS/h5veloc-ls" >"$dir/list"
like "$(<"$dir/list")" '*4 * 2 * 2 *yes, *3 * 2 * 2 *yes, *' 'and are checkpoints of both'

# --- files that are made anew under their names ---

fresh
launch=3
for r in 0 1; do
    ops=()
    for s in 1 2 3; do ops+=("create=st.$r.h5" "write=$s" close "meet=m.$s"); done
    rank "$r" "${ops[@]}" kill >"$dir/said.$r" &
done
wait
launch=4
for r in 0 1; do rank "$r" read=st.$r.h5 meet=read >"$dir/read.$r" & done
wait
is "$(cat "$dir"/read.?)" 'st.0.h5: all 3, 1000 cells, 3 at the end
st.1.h5: all 3, 1000 cells, 3 at the end' 'names without a step, too: the last that all had closed is there'
is "$(cat log.3.? | grep -c 'bytes in the cache')" 4 'and the second and the third are protected'

done_testing
