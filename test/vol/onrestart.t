#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# FLUSH_ON_RESTART and GLOBAL_RESTART for programs of HDF5 files: what the program before has left in the caches of its
# nodes is on the prefix before they have it.
: "${top_srcdir:?}" "${top_builddir:?}" "${HDF5_PLUGIN_PATH:?}"
# shellcheck source=test/tap/tap.sh
. "$top_srcdir/test/tap/tap.sh"
dir=$(tap_dir)
# A plug-in with a sanitizer needs a program with it; what HDF5 leaks is not ours to report.
export ASAN_OPTIONS="detect_leaks=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
export VELOC_CACHE_BASE="$dir/cache" VELOC_CNTL_BASE="$dir" VELOC_LOG_FILE="$dir/log"
export VELOC_PEER_TIMEOUT=20 VELOC_VIEW_WAIT=5 VELOC_VIRTUAL_NODES=2 VELOC_COPY_TYPE=XOR VELOC_SET_SIZE=2 VELOC_QUIET=1
export VELOC_DATASET='ck PATTERN=ck.{step}.{rank}.h5'
held='VELOC_FLUSH_BANDWIDTH=1'    # nothing comes to the prefix before the program is killed
slow='VELOC_FLUSH_BANDWIDTH=8000' # it takes a second or two
launches=0

# ranks "SETTINGS" OPS...: both, each on a node of its own; @ is the rank
ranks() {
    local r settings
    read -ra settings <<<"$1"
    shift
    launches=$((launches + 1))
    {
        for r in 0 1; do
            env "${settings[@]}" HDF5_VOL_CONNECTOR=veloc PMI_RANK=$r PMI_SIZE=2 VELOC_LAUNCH="run$launches" \
                timeout -s KILL 120 "${memcheck[@]}" "$top_builddir/test/vol/point" "${@//@/$r}" >"$dir/said.$r" 2>&1 &
        done
        wait
    } 2>/dev/null
}
# left: a checkpoint that is in the caches, and not on the prefix
left() {
    rm -rf "$dir/cache" "$dir/p" "$dir/log"
    mkdir "$dir/cache" "$dir/p"
    cd "$dir/p" || bail_out "no directory"
    ranks "$held" create=ck.1.@.h5 write=1 close protected=ck.1.@.h5 meet=m kill
    is "$(stubs)" 'stub stub' 'a checkpoint is in the caches alone'
}
stubs() { for file in ck.1.?.h5; do if is_stub "$file"; then echo stub; else echo there; fi; done | paste -sd' '; }
# while it is open: what stands at its path
open=(look=ck.1.@.h5 "run=cp ck.1.@.h5 $dir/at.@" meet=n read=ck.1.@.h5)
at_open() { (cd "$dir" && for file in at.0 at.1; do if is_stub "$file"; then echo stub; else echo there; fi; done | paste -sd' '); }
reads() { cat "$dir/said.0" "$dir/said.1" | paste -sd';'; }
right='ck.1.0.h5: all 1, 1000 cells, 1 at the end;ck.1.1.h5: all 1, 1000 cells, 1 at the end'

left
ranks "$held" "${open[@]}" kill
is "$(reads),$(at_open)" "$right,stub stub" 'a program reads it from there, whatever stands at its path'

left
ranks "$slow VELOC_FLUSH_ON_RESTART=1" "${open[@]}"
is "$(at_open),$(reads)" "there there,$right" 'FLUSH_ON_RESTART: it is on the prefix before it is opened'
left
rm -rf "$dir"/cache/*.v1
ranks "$slow VELOC_FLUSH_ON_RESTART=1" look=ck.1.@.h5 "run=cp ck.1.@.h5 $dir/at.@" meet=n read=ck.1.@.h5
is "$(at_open),$(reads)" "there there,$right" 'so is what had to be rebuilt for that, and another node brings'

left
ranks "$slow VELOC_GLOBAL_RESTART=1" "${open[@]}"
is "$(at_open),$(reads)" "there there,$right" 'GLOBAL_RESTART: the same'
ranks "$held VELOC_GLOBAL_RESTART=1" create=ck.2.@.h5 write=2 close look=ck.2.@.h5 "run=cp ck.2.@.h5 $dir/at.@" meet=o kill
is "$(at_open)" 'stub stub' 'but nobody waits for what the program itself has written'

left
ranks "$slow VELOC_FLUSH_ON_RESTART=1" open=ck.1.@.h5 "run=cp ck.1.@.h5 $dir/at.@" write=2 close meet=n
is "$(at_open)" 'there there' 'what is to be changed is there before, too'

# --- where it cannot come ---

# closed SETTING: one program, of which a directory lets nothing in meanwhile
# shellcheck disable=SC2016 # the inner shell expands them
closed() {
    rm -rf "$dir/cache" "$dir/p"
    mkdir -p "$dir/cache" "$dir/p/sub"
    cd "$dir/p" && SETTING=$1 dir=$dir point="$top_builddir/test/vol/point" unshare -m bash -c '
        mount --make-rprivate / && export HDF5_VOL_CONNECTOR=veloc VELOC_VIRTUAL_NODES=1 VELOC_LOG_FILE= VELOC_FLUSH_STALL=2
        VELOC_FLUSH_BANDWIDTH=1 timeout -s KILL 60 "$point" create=sub/ck.1.0.h5 write=1 close protected=sub/ck.1.0.h5 kill
        mount --bind sub sub && mount -o remount,bind,ro sub
        env "$SETTING" VELOC_FLUSH_ON_RESTART=1 timeout -s KILL 60 "$point" tells read=sub/ck.1.0.h5' 2>&1 | grep -E 'all|none|STRICT|read from'
}
if unshare -m true 2>/dev/null; then
    export VELOC_DATASET='ck PATTERN=sub/ck.{step}.{rank}.h5'
    like "$(closed A=b)" '*h5veloc: warn: dataset 1 does not come to the prefix, and is read from the cache: *sub/ck.1.0.h5: all 1, 1000 cells*' \
        'what cannot come to the prefix is read from the cache, with a warning'
    like "$(closed VELOC_STRICT=1)" '*sub/ck.1.0.h5: dataset 1 does not come to the prefix, and STRICT is 1: *sub/ck.1.0.h5: none' 'with STRICT its open fails'
else
    skip 2 'there are no mount namespaces here'
fi
done_testing
