#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Campaign: launches of a program one after the other in one directory, of some ranks on one to four virtual
# nodes whose processes begin up to 0.3 s apart and whose clocks are 0.3 s apart. Each ends in good order, or is
# killed. No time limit ever runs out: whoever could answer is on this machine, and dead, or has said goodbye.
#
# Everything follows from the seed but the order of what processes do. make check takes a few seeds;
# make check-fault SEEDS=a-b those. Seeds that are odd have the default time limits.
: "${top_srcdir:?}" "${top_builddir:?}" "${HDF5_PLUGIN_PATH:?}"
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
    [ "$nodes" -gt 1 ] || ranks=$((ranks + 1))
    limits=()
    most=28 # seconds of a process, below PEER_TIMEOUT
    [ $(($1 % 2)) -eq 1 ] || limits=(VELOC_PEER_TIMEOUT=10 VELOC_VIEW_WAIT=5)
    below 3 && line=("DATASET=ck PATTERN=ck.{step}.{rank}.h5 PUBLISH=BEHIND")
    [ "$pick" -ne 1 ] || line=("DATASET=ck PATTERN=ck.{step}.{rank}.h5")
    [ "$pick" -ne 2 ] || line=()
    told="$nodes nodes, $ranks ranks, ${limits[*]} ${line[*]}"
}

# one rank of launch $run
rank() { # RANK PAUSE OPS...
    local k=$1 pause=$2
    shift 2
    sleep "$(printf '0.%03d' "$pause")" # processes begin apart
    env "${limits[@]}" PMI_RANK="$k" PMI_SIZE="$ranks" VELOC_VIRTUAL_NODES="$nodes" VELOC_CACHE_BASE="$here/c" \
        VELOC_CNTL_BASE="$here" VELOC_LOG=info VELOC_LOG_FILE="$here/log.$run.$k" HDF5_VOL_CONNECTOR=veloc \
        timeout -k 1 "$most" "$point" "$@" >"$here/out.$run.$k" 2>&1 ||
        [ "$dies" -eq 1 ] || echo "rank $k of launch $run ends with status $?: $(cat "$here/out.$run.$k")"
}

launch() { # clean|killed
    local k s n ops steps
    dies=0
    [ "$1" = clean ] || dies=1
    below 3 && steps=$((pick + 1))
    told+="; $1, $steps steps"
    for ((k = 0; k < ranks; k++)); do
        ops=("ahead=$((300 * (k % 3)))")
        for ((s = last, n = 0; s > 0 && n < 2; s--, n++)); do ops+=("read=ck.$s.$k.h5"); done
        for ((s = last + 1; s <= last + steps; s++)); do ops+=("create=ck.$s.$k.h5" "write=$s" close); done
        [ "$dies" -eq 0 ] || ops+=("meet=$here/met.$run" kill)
        below 300
        rank "$k" "$pick" "${ops[@]}" &
    done
    wait
    last=$((last + steps))
}

run_seed() { # SEED; prints what is wrong
    local here=$dir/$1 run last=0 dies wrong k
    mkdir -p "$here/p" "$here/c"
    cd "$here/p" || exit
    choose "$1"
    [ ${#line[@]} -eq 0 ] || echo "${line[*]}" >.velocconf
    for ((run = 1; run <= 3; run++)); do
        below 3
        if [ "$run" -lt 3 ] && [ "$pick" -eq 0 ]; then launch killed; else launch clean; fi
    done >"$here/ends"
    wrong=$(cat "$here/ends"; cat "$here"/log.* | grep 'in vain')
    for ((k = 0; k < ranks; k++)); do
        [ "$(head -c 15 "ck.$last.$k.h5" | tr -d '\0')" != 'h5veloc stub 1' ] || wrong+=" ck.$last.$k.h5 is not at its path"
    done
    if [ -n "$wrong" ]; then echo "SEEDS=$1-$1: $told: $wrong"; else rm -rf "${here:?}"; fi
}

# two at a time
seeds=${SEEDS:-1-6}
worker() { # FIRST
    local seed
    for ((seed = ${seeds%-*} + $1; seed <= ${seeds#*-}; seed += 2)); do (run_seed $seed); done 2>"$dir/killed.$1"
}
worker 0 >"$dir/wrong.0" &
worker 1 >"$dir/wrong.1" &
wait
is "$(cat "$dir"/wrong.?)" '' "programs begin and end without waiting for anybody who cannot answer, seeds $seeds"
done_testing
