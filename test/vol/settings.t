#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Settings that cannot protect anything: VELOC_Init refuses them, and a program that has only HDF5 files
# goes on as without us, all of its ranks alike, and is told why in one line.
: "${top_srcdir:?}" "${top_builddir:?}" "${TOOLS:?}" "${HDF5_PLUGIN_PATH:?}"
# shellcheck source=test/tap/tap.sh
. "$top_srcdir/test/tap/tap.sh"
[ "${MPI_KIND:-no}" != no ] || skip_all 'there is no MPI to launch ranks'
dir=$(tap_dir)
export ASAN_OPTIONS="detect_leaks=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
export VELOC_CACHE_BASE="$dir/cache" VELOC_CNTL_BASE="$dir" VELOC_VIRTUAL_NODES=3 VELOC_SEAL_AFTER=1000

host=$(uname -n)
# run SETTINGS...: by three ranks, two steps, in an empty prefix
run() {
    rm -rf "$dir/cache" "$dir/prefix"
    mkdir "$dir/cache" "$dir/prefix"
    printf '%s\n' "$@" >"$dir/prefix/.velocconf"
    (cd "$dir/prefix" && TEST_TIMEOUT=60 HDF5_VOL_CONNECTOR=veloc \
        "$top_srcdir/test/mpirun.sh" 3 "$top_builddir/test/vol/brief" 2 >"$dir/out" 2>&1)
    result=$?
}
files() { find "$dir/prefix" -name 'ck.*.h5' -size +1k | wc -l; }
lines() { grep '^h5veloc: ' "$dir/out"; }
# refused TEXT PATTERN SETTINGS...: the program has all its files, nothing is in the cache, and one line says why
refused() {
    local text=$1 pattern=$2
    shift 2
    run "$@"
    like "$result,$(files),$(find "$dir/cache" -type f | wc -l),$(lines)" \
        "0,6,0,h5veloc: error: $pattern: until this is mended HDF5 files are written to their own paths, and are not protected" \
        "$text: one line says so, and all files are at their paths"
    [ "$(lines | wc -l)" = 1 ] || note "$(cat "$dir/out")"
}
refused 'a setting that is misspelled' '*/.velocconf:2: *CACHE_SIEZ*CACHE_SIZE*' COPY_TYPE=SINGLE CACHE_SIEZ=2
refused 'XOR on the parallel file system' '*XOR on the parallel file system*only SINGLE makes sense there' \
    "STORE=$dir/cache TYPE=PFS"
refused 'a store that is not enabled' "*the store $dir/cache is not enabled: give it ENABLED=1" "STORE=$dir/cache ENABLED=0"
refused 'RS with half of a set that has no half' '*SET_SIZE=6 must be a multiple of 4*' COPY_TYPE=RS SET_SIZE=6
refused 'a group that is everybody' '*GROUP=WORLD*' GROUP=WORLD
refused 'a name of the user that leads out of the cache' "*/.velocconf:1: USER_NAME: '../x' cannot be part of a path: *" USER_NAME=../x
refused 'a file for messages that cannot be' '*LOG_FILE*' "LOG_FILE=$dir/none/log"

# A directory for the control that others have to make is not made by us.
control() { VELOC_CNTL_BASE="$dir/control" "$@"; }
control run COPY_TYPE=SINGLE "STORE=$dir/control MKDIR=0" "STORE=$dir/cache"
is "$result,$(files)" 0,6 'a control directory that is not there, with MKDIR=0: the program has its files'
is "$(lines | sed 's/.*warn: rank . on [^ ]*: //' | sort -u)" \
    "HDF5 files are written where they belong, and not protected: CNTL_BASE: $dir/control is not there, and is not made \
because of MKDIR=0: make or mount it before the program starts" 'and is told, with what to do'
is "$(cd "$dir/prefix" && control "$TOOLS/h5veloc-agent" 2>&1 </dev/null | sed 's/.*CNTL_BASE: //')" \
    "$dir/control is not there, and is not made because of MKDIR=0: make or mount it before the program starts" 'so is an agent'
ok 'which nobody makes' test ! -e "$dir/control"
mkdir "$dir/control"
control run COPY_TYPE=SINGLE "STORE=$dir/control MKDIR=0" "STORE=$dir/cache"
is "$result,$(files),$(lines)" 0,6, 'one that is there is used'
rm -rf "$dir/control"
control run COPY_TYPE=SINGLE "STORE=$dir/control" "STORE=$dir/cache"
ok 'and without MKDIR=0 it is made' test -d "$dir/control"

# What was set and does nothing for HDF5 files is said once, where they are made; a system's file is for everybody.
run COPY_TYPE=SINGLE CACHE_SIZE=2 FETCH_WIDTH=2 WATCHDOG=1 "STORE=$dir/cache COUNT=3" "STORE=$dir/other COUNT=1 MTBF=100h"
is "$result,$(files),$(lines | grep obey)" "0,6,h5veloc: warn: rank 0 on ${host%%.*}.v0: HDF5 files do not obey these settings: \
FETCH_WIDTH, WATCHDOG, STORE MTBF (veloc.conf(5) says whom each is for)" 'settings that HDF5 files do not obey are told in one line'
is "$(cd "$dir/prefix" && HDF5_VOL_CONNECTOR=veloc "$top_builddir/test/vol/pause" read ck.0.0.h5 </dev/null 2>&1 >"$dir/out" | grep '^h5veloc: ')" '' \
    'but not to who only reads'
mv "$dir/prefix/.velocconf" "$dir/system.conf"
VELOC_SYSTEM_FILE="$dir/system.conf" run COPY_TYPE=SINGLE
is "$result,$(files),$(lines | grep obey)" 0,6, 'nor where the settings are those of the system'

# Only the process of a node knows that no line is for it.
run 'DATASET=ck PATTERN=ck.{step}.{rank}.h5 PUBLISH=BEHIND' GROUP=RACK SET_SIZE=2 "GROUPS=${host%%.*}.v0 RACK=0" "GROUPS=${host%%.*}.v1 RACK=1"
is "$result,$(files)" 0,6 'a node that the GROUPS lines leave out has its files like all others'
like "$(lines | grep GROUPS)" "h5veloc: warn: *no GROUPS line says which RACK node *.v2 is in*single copy*" 'one line names it'
is "$(lines | grep -c GROUPS)" 1 'and no other does'
is "$("$TOOLS/h5veloc-ls" "$dir/prefix" | awk '$3 ~ /^[0-9]+$/ { print $7 }' | sort -u)" 3 'and no dataset is offered without its files'

# What the settings ask for and a file cannot have is told, once.
run COPY_TYPE=SINGLE 'DATASET=out PATTERN=out/ck.{step}.{rank}.h5'
like "$(lines | grep out/)" "h5veloc: warn: *.velocconf:2: DATASET=out PATTERN=out/ck.{step}.{rank}.h5 does not fit */ck.0.0.h5, which is in another *" \
    'a line that means another directory is told'
is "$(lines | grep -c out/)" 1 'once'
tool() { (cd "$dir/prefix" && HDF5_VOL_CONNECTOR=veloc "$top_builddir/test/vol/pause" make "$1" </dev/null 2>"$dir/out" >&2) || echo failed; }
is "$(tool other.h5; lines)" '' 'but not of a tool that writes something else beside it'
like "$(tool ck.7.0.h5; lines)" 'h5veloc: warn: *.velocconf:2: DATASET=out PATTERN=out/ck.* does not fit */ck.7.0.h5, which is in another directory*' \
    'unless that has the name, in another directory'

# Lines of the environment and of the connector's name come before those of files.
: >"$dir/empty"
words() { # CONNECTOR [VARIABLE=VALUE...]: which line has w.1.h5
    rm -rf "$dir/cache" "$dir/prefix"
    mkdir "$dir/cache" "$dir/prefix"
    echo 'DATASET=file PATTERN=w.*' >"$dir/prefix/.velocconf"
    (cd "$dir/prefix" && env VELOC_LOG_LEVEL=INFO HDF5_VOL_CONNECTOR="$1" "${@:2}" \
        "$top_builddir/test/vol/pause" make "${file:-w.1.h5}" </dev/null 2>&1 >"$dir/out" |
        sed -n 's/.* bytes in the cache by \(.*\), written in.*/\1/p; s/.* is written where it belongs: \(.*\)/\1/p')
}
is "$(words veloc)" 'DATASET file' 'a line of a file'
is "$(words veloc VELOC_DATASET='env PATTERN=w.{step}.h5')" 'DATASET env' 'one of the environment comes before it'
is "$(words 'veloc dataset=name PATTERN=w.{step}.h5')" 'DATASET name' 'so does one of the connector'
is "$(words 'veloc dataset=name PATTERN=w.{step}.h5; config=../empty' VELOC_DATASET='env PATTERN=v.{step}.h5')" 'DATASET name' 'after that of the environment'
is "$(words veloc VELOC_DATASET='env PATTERN=w.{step}.h5
file PATTERN=w.1.h5')" 'DATASET env' 'of several lines the first one counts'
told() { env VELOC_LOG_LEVEL=INFO HDF5_VOL_CONNECTOR=veloc "$@" "$top_builddir/test/vol/pause" make w.2.h5 </dev/null 2>&1 >"$dir/out"; }
like "$(cd "$dir/prefix" && told VELOC_DATASET='file PATTERN=w.{step}.h5')" \
    '*h5veloc: info: */.velocconf:1: the line DATASET=file is not used: VELOC_DATASET:1 replaces it*' 'that it replaces a line of a file is told'
like "$(cd "$dir/prefix" && told VELOC_DATASET='file PATTERN=w.{step}.h5
ENABLE=0')" "h5veloc: error: VELOC_DATASET:2: found 'ENABLE=' where the name of a dataset belongs: *" 'nothing but lines comes in by it'
file=x.h5
is "$(words veloc)" 'no DATASET line has it' 'a file that no line has is live'
is "$(words 'veloc behind')" 'no DATASET line' 'with behind it is protected'
is "$(words 'veloc behind' VELOC_UNLISTED=LIVE)" 'no DATASET line has it' 'unless the environment says something else'
is "$(words 'veloc live' VELOC_DATASET='env PATTERN=x.h5')" 'DATASET env' 'live is of files without a line'
file=''
VELOC_VIRTUAL_NODES=1 run COPY_TYPE=XOR 'DATASET=ck PATTERN=ck.{step}.{rank}.h5'
like "$(lines | grep copy)" 'h5veloc: warn: *all files are on node *, where no redundancy would survive: a single copy *' \
    'redundancy that was asked for and that a single node cannot have is told'
VELOC_VIRTUAL_NODES=1 run CACHE_SIZE=1 'DATASET=ck PATTERN=ck.{step}.{rank}.h5'
is "$(lines | grep copy)" '' 'where nobody asked for it nothing is said'
run 'DATASET=ck PATTERN=ck.{step}.{rank}.h5 PUBLISH=THROUGH'
like "$(lines | grep THROUGH)" 'h5veloc: warn: *DATASET=ck: PUBLISH=THROUGH means LIVE: its files are written to their own paths, and are not protected; *' \
    'a line with PUBLISH=THROUGH says what that means'
is "$(lines | grep -c THROUGH),$(files)" 1,6 'once, and its files are at their paths'
if [ "${PARALLEL_HDF5:-}" = yes ]; then
    echo 'DATASET=all PATTERN=all.{step}.h5' >"$dir/prefix/.velocconf"
    shared() {
        (cd "$dir/prefix" && TEST_TIMEOUT=60 HDF5_VOL_CONNECTOR=veloc "$top_srcdir/test/mpirun.sh" 2 \
            "$top_builddir/test/vol/mpio" "$1" >"$dir/out" 2>&1) || echo failed
    }
    like "$(shared all.7.h5; lines)" 'h5veloc: warn: */all.7.h5 is written to its own path, and is not protected, though DATASET=all has it: *' \
        'a file of MPI-IO that a line has is told'
    is "$(lines | wc -l),$(shared other.h5; lines)" 1, 'once, and one that no line has is not'
else
    skip 2 'this HDF5 is serial'
fi
small() { # in a cache of 512 KiB
    # shellcheck disable=SC2016 # the inner shell expands them
    unshare -m sh -c 'mount --make-rprivate / && mount -t tmpfs -o size=512k none "$1/cache" && cd "$1/prefix" && exec "$2" 2' - \
        "$dir" "$top_builddir/test/vol/brief" 2>"$dir/out"
}
if unshare -m true 2>/dev/null; then
    rm -rf "$dir/prefix" "$dir/cache"
    mkdir "$dir/prefix" "$dir/cache"
    ok 'with a cache without room a program writes its files' env VELOC_UNLISTED=BEHIND HDF5_VOL_CONNECTOR=veloc bash -c "$(declare -f small); dir=$dir top_builddir=$top_builddir small"
    is "$(files)" 2 'to their paths'
    like "$(lines)" 'h5veloc: warn: */ck.0.0.h5 is written to its own path, and is not protected: *cache* has no room for another dataset' 'and is told'
    is "$(lines | wc -l)" 1 'once'
else
    skip 4 'there are no mount namespaces here'
fi
done_testing
