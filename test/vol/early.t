#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Campaign: a program of some ranks on one to four virtual nodes, with a file of each rank and step, is killed
# early, twice or three times in a row, each time when some of its ranks have begun a step that others have
# not. It is of a launcher that names nothing. The next one finds the newest step that all ranks had closed,
# which h5veloc-ls has promised. No launch says of another that its datasets do not count, or that its own are not
# finished yet: whoever comes and goes does so in good time. Waits that were in vain are told.
#
# Everything follows from the seed but the order of what processes do. make check takes a few seeds;
# make check-fault SEEDS=a-b those.
: "${top_srcdir:?}" "${top_builddir:?}" "${TOOLS:?}" "${HDF5_PLUGIN_PATH:?}"
# shellcheck source=test/tap/tap.sh
. "$top_srcdir/test/tap/tap.sh"
export ASAN_OPTIONS="detect_leaks=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
dir=$(tap_dir)
point=$top_builddir/test/vol/point
below() { pick=$((RANDOM % $1)); } # by the seed, in $pick

choose() { # SEED
    RANDOM=$(($1 * 7919 % 32768))
    below 4 && nodes=$((pick + 1))
    below 4 && ranks=$((nodes + pick))
    below 2 && kills=$((pick + 2))
    below 3 && limits=("VELOC_PEER_TIMEOUT=$((pick == 0 ? 10 : 30))" "VELOC_VIEW_WAIT=$((pick == 0 ? 5 : 30))")
    [ "$nodes" -gt 1 ] || ranks=$((ranks + 1))
    done=0 by=0 told="$nodes nodes, $ranks ranks, ${limits[*]}"
}

# one rank of launch $run
rank() { # RANK OPS...
    local k=$1
    shift
    env "${limits[@]}" PMI_RANK="$k" PMI_SIZE="$ranks" VELOC_VIRTUAL_NODES="$nodes" VELOC_CACHE_BASE="$here/c" \
        VELOC_CNTL_BASE="$here" VELOC_LOG=info VELOC_LOG_FILE="$here/log.$run.$k" HDF5_VOL_CONNECTOR=veloc \
        timeout -k 1 "${TEST_TIMEOUT:-120}" "$point" "$@" >"$here/out.$run.$k" 2>&1
}

# A launch that dies in step $done + 1: each rank has closed its file then, or has it open, or has not begun.
die() { # all: have closed it
    local k step=$((done + 1)) reads=() ops all=1
    below 2 && [ "$pick" -eq 0 ] && [ "$done" -gt 0 ] && reads=(read)
    told+="; dies in step $step:"
    for ((k = 0; k < ranks; k++)); do
        below 3
        [ "${1:-}" != all ] || pick=0
        ops=("meet=$here/begin.$run")
        [ ${#reads[@]} -eq 0 ] || ops=("read=ck.$done.$k.h5" "${ops[@]}")
        case $pick in
        0) ops+=("create=ck.$step.$k.h5" "write=$run" close) told+=" closed" ;;
        1) ops+=("create=ck.$step.$k.h5" "write=$run") all=0 told+=" open" ;;
        2) all=0 told+=" -" ;;
        esac
        rank "$k" "${ops[@]}" "meet=$here/end.$run" kill &
    done
    wait
    [ "$all" -eq 0 ] || done=$step by=$run
}

# Both tell "K step", once for each rank.
find_all() {
    local k s ops=()
    for ((k = 0; k < ranks; k++)); do
        ops=(tells)
        for ((s = done + 1; s > 0; s--)); do ops+=("read=ck.$s.$k.h5"); done
        rank "$k" "${ops[@]}" || echo "rank $k ends with status $?" &
    done
    wait
}
newest_found() { # of each rank, and who wrote it
    local k
    for ((k = 0; k < ranks; k++)); do
        sed -n 's/^ck\.\([0-9]*\)\..*: all \([0-9]*\), .*/\1 \2/p' "$here/out.$run.$k" | head -n 1 | grep . || echo none
    done | sort -u
}
promised() {
    (cd "$here/p" && env "${limits[@]}" VELOC_VIRTUAL_NODES="$nodes" VELOC_CACHE_BASE="$here/c" VELOC_CNTL_BASE="$here" \
        "$TOOLS/h5veloc-ls" 2>/dev/null) |
        awk '/ yes, / && $3 > n { n = $3 } END { print n + 0 }'
}

run_seed() { # SEED; prints what is wrong
    local here=$dir/$1 run promise found vain worries
    mkdir -p "$here/p" "$here/c"
    cd "$here/p" || exit
    echo 'DATASET=ck PATTERN=ck.{step}.{rank}.h5 PUBLISH=BEHIND' >.velocconf
    choose "$1"
    run=1
    die all
    for ((run = 2; run <= kills; run++)); do die; done
    promise=$(promised)
    find_all >"$here/ends"
    found=$(newest_found)
    vain=$(cat "$here"/log.* | grep 'in vain')
    told+="; found $found, promised $promise"
    [ -z "$vain" ] || echo "SEEDS=$1-$1: $told; $vain" >>"$dir/told" # prompt.t counts them
    worries=$(cat "$here"/log.* | grep 'do not count\|not finished in the background')
    if [ "$found" != "$done $by" ] || [ "$promise" -gt "$done" ] || [ -s "$here/ends" ] || [ -n "$worries" ]; then
        echo "SEEDS=$1-$1: $told; $(cat "$here/ends") $worries $(grep -h '^ *#00.*(): ' "$here/out.$run."* | sort -u | tail -n 6)"
    elif [ -n "${SEEDS:-}" ] && [ "${seeds%-*}" = "${seeds#*-}" ]; then
        echo "SEEDS=$1-$1: $told" >>"$dir/told"
    fi
    [ "$found" = "$done $by" ] && rm -rf "${here:?}"
    true
}

# two at a time
seeds=${SEEDS:-2-9}
worker() { # FIRST
    local seed
    for ((seed = ${seeds%-*} + $1; seed <= ${seeds#*-}; seed += 2)); do (run_seed $seed); done 2>"$dir/killed.$1"
}
worker 0 >"$dir/wrong.0" &
worker 1 >"$dir/wrong.1" &
wait
[ ! -e "$dir/told" ] || note "$(cat "$dir/told")"
is "$(cat "$dir"/wrong.?)" '' "who is killed early goes on from the newest step that was whole, seeds $seeds"
done_testing
