#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# HDF5's tools and programs like h5py, one after the other in a directory that has files already: many
# open a file to write, and create it when it is not there. With the connector, without a line and
# with one for all files, they say what they say with HDF5 alone, and wait for nothing.
: "${top_srcdir:?}" "${top_builddir:?}" "${HDF5_PLUGIN_PATH:?}" "${HDF5_LIBS?}"
# shellcheck source=test/tap/tap.sh
. "$top_srcdir/test/tap/tap.sh"
dir=$(tap_dir)
bin=$(sed -n 's/.*-L\([^ ]*\)\/lib.*/\1\/bin/p' <<<"$HDF5_LIBS")
[ -x "$bin/h5repart" ] || bin=$(dirname "$(command -v h5repart)")
[ -x "$bin/h5repart" ] || skip_all "there are no tools of HDF5"
[ -z "${SANITIZER:-}" ] || skip_all "HDF5's tools have no sanitizer"
hand=$top_builddir/test/vol/hand
# longer than anything may take here
export VELOC_PEER_TIMEOUT=300 VELOC_SEAL_AFTER=300 VELOC_VIEW_WAIT=300
limit=${TEST_TIMEOUT:-120}

# as HOW COMMAND...: with HDF5 alone (native), or through the connector; its output and how it ended
as() {
    local how=$1
    shift
    echo "$*"
    if [ "$how" = native ]; then
        timeout "$limit" env -u HDF5_PLUGIN_PATH "$@" 2>&1
    else
        HDF5_VOL_CONNECTOR=veloc timeout "$limit" "$@" 2>&1
    fi
    echo "ended: $?"
}

# say WORDS...: a line for each to the program that does what it is told
say() { printf '%s\n' "$@"; }

# all HOW: in this directory
all() {
    say 'trunc a.h5 1' 'add a.h5 g' | as "$1" "$hand"
    as "$1" "$bin/h5mkgrp" -p m.h5 /a/b
    as "$1" "$bin/h5repack" a.h5 r.h5
    as "$1" "$bin/h5copy" -i a.h5 -o c.h5 -s g -d g
    as "$1" "$bin/h5copy" -p -i m.h5 -o c.h5 -s /a -d /x/a
    as "$1" "$bin/h5repart" -b 2k c.h5 part%d.h5
    as "$1" "$bin/h5repart" -m 1m part%d.h5 whole.h5
    say 'append m.h5 new' 'append n.h5 new' 'excl n.h5 2' 'excl o.h5 3' | as "$1" "$hand"
    say 'excl o.h5 3' 'append o.h5 p' 'append q.h5 p' 'touch none.h5' | as "$1" "$hand"
    as "$1" "$bin/h5mkgrp" m.h5 /a/b
    as "$1" "$bin/h5mkgrp" m.h5 /c
    as "$1" "$bin/h5repack" -l CHUNK=1 m.h5 m2.h5
    as "$1" "$bin/h5repack" o.h5 r.h5
    for name in *.h5; do
        case $name in part*) ;; *) as "$1" "$bin/h5ls" -rv "$name" | grep -v Modified ;; esac
    done
}

# at_paths: what is there without us
at_paths() {
    for name in *.h5; do
        case $name in part*) ;; *) as native "$bin/h5ls" -rv "$name" | grep -v Modified ;; esac
    done
}

mkdir "$dir/native"
cd "$dir/native" || bail_out "no directory"
all native >"$dir/native.all"
at_paths >"$dir/native.paths"
while IFS= read -r line; do
    rm -rf "$dir/p" "$dir/c" "$dir/n"
    mkdir "$dir/p" "$dir/c" "$dir/n"
    cd "$dir/p" || bail_out "no directory"
    echo "$line" >.velocconf
    export VELOC_CACHE_BASE=$dir/c VELOC_CNTL_BASE=$dir/n VELOC_LOG_FILE=$dir/log
    all veloc >"$dir/veloc.all"
    ok "${line:-no line}: tools and programs say what they say with HDF5 alone" diff "$dir/native.all" "$dir/veloc.all"
    at_paths >"$dir/veloc.paths"
    ok 'and what they wrote is at its paths' diff "$dir/native.paths" "$dir/veloc.paths"
done <<'EOT'

UNLISTED=BEHIND
DATASET=x PATTERN=*
DATASET=x PATTERN=* POINTS=1
DATASET=x PATTERN=* PUBLISH=LIVE
EOT
done_testing
