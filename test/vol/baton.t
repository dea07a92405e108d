#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Campaign: ranks of one node, or of two to four, write one file in turn (baton passing), of which a DATASET line, or
# nobody, thinks that each has its own. The last who closed it has it: when the program ends all is at its path, whole,
# nothing else is there, and no time limit has run out. SEEDS=a-b runs those.
: "${top_srcdir:?}" "${top_builddir:?}" "${HDF5_PLUGIN_PATH:?}"
# shellcheck source=test/tap/tap.sh
. "$top_srcdir/test/tap/tap.sh"
[ "$MPI_KIND" != no ] || skip_all 'there is no MPI'
dir=$(tap_dir)
export VELOC_CACHE_BASE="$dir/c" VELOC_CNTL_BASE="$dir/n" VELOC_LOG_FILE="$dir/log"
baton=("$top_srcdir/test/mpirun.sh" 4 "$top_builddir/test/vol/baton")
lines=('DATASET=s PATTERN=f.{step}.{rank}.h5' 'DATASET=s PATTERN=f.{step}.{rank}.h5 POINTS=1' ''
    'DATASET=s PATTERN=f.{rank}.h5' 'DATASET=s PATTERN=* PUBLISH=BEHIND')
names=(each each each same each)

# Two ranks of a node write a file in turn, once it is known that the number of its name is the rank: what the first
# one wrote then is of a dataset of all ranks, and what the other writes first, of its own.
export VELOC_CACHE_BASE="$dir/c" VELOC_CNTL_BASE="$dir/n"
mkdir "$dir/p" "$dir/c" "$dir/n"
cd "$dir/p" || bail_out "no $dir/p"
turn() { # RANK OPS...
    PMI_RANK=$1 PMI_SIZE=3 VELOC_VIRTUAL_NODES=2 HDF5_VOL_CONNECTOR=veloc "$top_builddir/test/vol/point" "${@:2}" &
}
{
    turn 0 create=f.1.0.h5 write=1 close meet=../one create=f.2.0.h5 write=1 close meet=../two \
        create=f.3.0.h5 write=2 close meet=../known meet=../third
    turn 1 meet=../one meet=../two meet=../known open=f.3.0.h5 write=3 close read=f.3.0.h5 meet=../third
    turn 2 create=f.1.2.h5 write=1 close meet=../one create=f.2.2.h5 write=1 close meet=../two meet=../known meet=../third
    wait
} >"$dir/said" 2>&1
is "$(cat "$dir/said")" 'f.3.0.h5: all 3, 1000 cells, 3 at the end' 'the last who has closed a file has it, and reads what it wrote'
is "$(HDF5_PLUGIN_PATH='' "$top_builddir/test/vol/point" read=f.3.0.h5)" 'f.3.0.h5: all 3, 1000 cells, 3 at the end' 'which is at its path in the end'

# play SEED LINE NAMES [SETTING=VALUE...]: says what is wrong
play() {
    local seed=$1 line=$2 way=$3 left
    shift 3
    rm -rf "$dir"/[pcn] "$dir/log"
    mkdir "$dir/p" "$dir/c" "$dir/n"
    cd "$dir/p" || bail_out "no $dir/p"
    [ -z "$line" ] || echo "$line" >.velocconf
    # on a busy machine an end may take longer than 2 s, and says so
    env HDF5_VOL_CONNECTOR=veloc "$@" "${baton[@]}" write "$way" "$seed" 2>&1 |
        grep -v '^h5veloc: .*the program ends when'
    [ "${PIPESTATUS[0]}" = 0 ] || echo 'the program fails, or does not end'
    HDF5_PLUGIN_PATH='' "${baton[@]}" check "$way" "$seed" || echo 'files are not whole'
    left=$(find . -maxdepth 1 -name '.?*' ! -name .veloc ! -name .velocconf)
    [ -z "$left" ] || echo "left there: $left"
    grep 'nothing has moved for\|does not answer\|in vain' "$dir/log" 2>/dev/null
}

failed=0
seeds=${SEEDS:-1-6}
for ((seed = ${seeds%-*}; seed <= ${seeds#*-}; seed++)); do
    kind=$((seed % ${#lines[@]}))
    settings=(VELOC_LOG=info "VELOC_VIRTUAL_NODES=$((1 + seed % 4))")
    [ $((seed / 3 % 2)) = 0 ] || settings+=(VELOC_PEER_TIMEOUT=3 VELOC_VIEW_WAIT=2 VELOC_SEAL_AFTER=1)
    said=$(play "$seed" "${lines[kind]}" "${names[kind]}" "${settings[@]}" 2>&1)
    [ -n "$said" ] || continue
    failed=$((failed + 1))
    note "SEEDS=$seed-$seed, ${settings[*]}, ${lines[kind]:-no line}: $said"
done
is "$failed" 0 "files that ranks write in turn are whole and at their paths, seeds ${seeds/-/ to }"
done_testing
