# SPDX-License-Identifier: BSD-3-Clause
# shared.sh - programs on one prefix, each a process that needs no launcher: source it behind tap.sh.
#
#   begin                        an empty prefix and empty caches
#   program "SETTINGS" WORDS...  test/vol/both with these words and the connector; prints in one line what it tells;
#                                killed after $cut seconds, if that is set
#   native WORDS...              the same without us: what stands on the prefix
#   forget_caches                every node is lost
#   restarted V                  what `restart` tells of a good one; $wrote: what `write` tells
#   $held                        a setting: nothing comes to the prefix before the program is killed
# shellcheck shell=bash disable=SC2034
: "${top_builddir:?}"
dir=$(tap_dir)
export ASAN_OPTIONS="detect_leaks=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
export VELOC_CACHE_BASE="$dir/cache" VELOC_CNTL_BASE="$dir" VELOC_LOG_FILE="$dir/log" VELOC_LOG_LEVEL=INFO
export VELOC_PEER_TIMEOUT=10 VELOC_VIEW_WAIT=5 BOTH_CONFIG="$dir/veloc.conf" VELOC_CONF_FILE="$dir/veloc.conf"
lines=('DATASET=plain PATTERN=plain.{rank}.h5 PUBLISH=BEHIND' 'DATASET=both PATTERN=both.{step}.{rank}.h5 PUBLISH=BEHIND')
held='FLUSH_BANDWIDTH=1' # of what such a program writes nothing comes to the prefix before it is killed

begin() {
    rm -rf "$dir/cache" "$dir/prefix" "$dir/log"
    mkdir -p "$dir/cache" "$dir/prefix"
}
# what it tells, in one line; it is one process, and needs no launcher; $cut: it is killed after so many seconds
program() {
    local settings
    read -ra settings <<<"$1"
    shift
    printf '%s\n' "${settings[@]}" "${lines[@]}" >"$dir/veloc.conf"
    { (cd "$dir/prefix" && HDF5_VOL_CONNECTOR=veloc timeout -s KILL "${cut:-60}" "$top_builddir/test/vol/both" "$@"); } 2>/dev/null |
        sed -nE '/^[a-zA-Z5 ]+( -?[0-9]+)+$/p' | paste -sd,
}
forget_caches() { rm -rf "$dir/cache" && mkdir "$dir/cache"; }
native() { (cd "$dir/prefix" && timeout 60 "$top_builddir/test/vol/both" "$@" 2>/dev/null) | paste -sd,; }
restarted() { echo "newest $1,HDF5 file $1,routed file $1,memory $1,restarted 1"; }
wrote='wrote 0,ended 1'

