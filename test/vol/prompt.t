#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Campaign: launches of a program one after the other in one directory, of some ranks on one to four virtual
# nodes whose processes begin up to 0.3 s apart and whose clocks are 0.3 s apart. Each ends in good order, or is
# killed. In two of three seeds nobody ends before all have begun, as in programs of MPI. No time limit ever runs out: whoever could answer is on this machine, and dead, or has said goodbye.
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
    meets=$(($1 % 3))
    # a rank that ends before another begins may have been a program: SEAL_AFTER says that nobody comes
    [ "$meets" -ne 0 ] || limits+=(VELOC_SEAL_AFTER=3)
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
        for ((s = last + 1; s <= last + steps; s++)); do
            ops+=("create=ck.$s.$k.h5" "write=$s")
            [ "$meets" -eq 0 ] || [ "$s" -gt $((last + 1)) ] || ops+=("meet=$here/begun.$run")
            ops+=(close)
        done
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
    wrong=$(cat "$here/ends"; cat "$here"/log.* | grep 'in vain\|are written where they belong, and not protected')
    [ "$meets" -ne 0 ] || wrong=$(echo "$wrong" | grep -v 'in vain for more files of')
    for ((k = 0; k < ranks; k++)); do
        ! is_stub "ck.$last.$k.h5" || wrong+=" ck.$last.$k.h5 is not at its path"
    done
    if [ -n "$wrong" ]; then echo "SEEDS=$1-$1: $told: $wrong"; else rm -rf "${here:?}"; fi
}

# A rank begins when another one of its node has ended, with the leader that knew it: all have been there, and what
# the others have closed is a checkpoint at once. The limits are longer than a process may live.
late() { # RANK OPS...
    local k=$1
    shift
    env VELOC_PEER_TIMEOUT=300 VELOC_SEAL_AFTER=600 PMI_RANK="$k" PMI_SIZE=3 VELOC_VIRTUAL_NODES=2 VELOC_LOG=info \
        VELOC_LOG_FILE="$dir/late/log.$k" VELOC_CACHE_BASE="$dir/late/c" VELOC_CNTL_BASE="$dir/late" \
        HDF5_VOL_CONNECTOR=veloc timeout -k 1 60 "$point" "$@" >"$dir/late/out.$k" 2>&1
    echo "$?"
}
mkdir -p "$dir/late/c" "$dir/late/p"
cd "$dir/late/p" || exit
printf '%s\n' 'DATASET=solo PATTERN=solo.h5' 'DATASET=ck PATTERN=ck.{step}.{rank}.h5' >.velocconf
late 2 create=ck.1.2.h5 write=1 close wait="$dir/late/go" >"$dir/late/end" &
await grep -qs ck.1.2.h5 "$dir/late/log.2"
is "$(late 0 create=solo.h5 write=1 close)" 0 "a rank ends in good order"
late 1 create=ck.1.1.h5 write=1 close >"$dir/late/end.1" &
await grep -qs ck.1.1.h5 "$dir/late/log.1"
: >"$dir/late/go"
wait
is "$(cat "$dir/late/end" "$dir/late/end.1")" $'0\n0' "and nobody waits for it who begins later"
is "$(cat "$dir"/late/log.* | grep 'in vain')" '' "nor does any limit run out"
cd "$dir" || exit

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
