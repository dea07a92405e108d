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
    grep 'nothing has moved for FLUSH_STALL\|does not answer\|in vain' "$dir/log" 2>/dev/null
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
