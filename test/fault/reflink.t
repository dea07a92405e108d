#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Delta flushes on file systems that share blocks: test/unit/delta.t and deltakill.t once more, in
# images of XFS and btrfs. Knows how to make and mount one; skips what is not here.
. "${top_srcdir:?run it by make check}/test/tap/tap.sh"
: "${top_builddir:?run it by make check}"

PATH=$PATH:/usr/sbin:/sbin
dir=$(tap_dir)
mounted=()

leave() {
    local m
    for m in "${mounted[@]}"; do
        umount "$m"
    done
}
tap_at_exit leave

# try NAME MKFS...: the tests in an image of it
try() {
    local name=$1 image=$dir/$1.img test
    shift
    command -v "$1" >/dev/null || {
        skip 2 "$1 is not here"
        return
    }
    truncate -s 400M "$image"
    if ! "$@" "$image" >"$dir/$name.log" 2>&1 || ! mkdir "$dir/$name" ||
        ! mount -o loop "$image" "$dir/$name" 2>>"$dir/$name.log"; then
        skip 2 "$name cannot be mounted here: $(tail -n 1 "$dir/$name.log")"
        return
    fi
    mounted+=("$dir/$name")
    for test in delta deltakill; do
        TMPDIR=$dir/$name "$top_builddir/test/unit/$test.t" >"$dir/$name.$test.log" 2>&1 &&
            { [ $test != delta ] || grep -q '^# clones are real' "$dir/$name.$test.log"; }
        is $? 0 "$test.t on $name, whose clones are real" || note "$(grep -v ^ok "$dir/$name.$test.log")"
    done
}

[ "$(id -u)" = 0 ] || skip_all "only root can mount a file system"
try xfs mkfs.xfs -q -m reflink=1
try btrfs mkfs.btrfs -q
done_testing
