#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Ranks of a launcher that names nothing, over in a moment: nobody waits for others who cannot come,
# neither to begin nor to end. PEER_TIMEOUT is longer than any test may last.
: "${top_srcdir:?}" "${top_builddir:?}" "${TOOLS:?}" "${HDF5_PLUGIN_PATH:?}"
# shellcheck source=test/tap/tap.sh
. "$top_srcdir/test/tap/tap.sh"
[ "${MPI_KIND:-no}" != no ] || skip_all 'there is no MPI to launch ranks'
dir=$(tap_dir)
export ASAN_OPTIONS="detect_leaks=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
export VELOC_CACHE_BASE="$dir/cache" VELOC_CNTL_BASE="$dir" VELOC_LOG_FILE="$dir/log"
export VELOC_PEER_TIMEOUT=1000 VELOC_SEAL_AFTER=1000

# brief STEPS: by two ranks
brief() {
    (cd "$prefix" && TEST_TIMEOUT=60 HDF5_VOL_CONNECTOR=veloc \
        "$top_srcdir/test/mpirun.sh" 2 "$top_builddir/test/vol/brief" "$@" >/dev/null 2>&1)
}
# All at once: a leader that outlived another for a moment would take over from it.
kill_all() { pkill -KILL -P "$(IFS=,; echo "${pids[*]}")"; }
files() { find "$prefix" -name 'ck.*.h5' -size +1k | wc -l; }

prefix=$dir/prefix
mkdir "$prefix" "$dir/cache"
ok 'the first launch begins and ends at once' brief 3
is "$(files)" 6 'and its files are at their path'
ok 'so does the next' brief 3

# A rank has come and gone before any other begins: it was of their launch all the same, and they know that
# nothing of it is to be waited for.
prefix=$dir/apart
mkdir "$prefix"
printf '%s\n' 'DATASET=ck PATTERN=ck.{step}.{rank}.h5 PUBLISH=BEHIND' 'DATASET=own PATTERN=own.h5' >"$prefix/.velocconf"
# shellcheck disable=SC2016  # for the ranks
apart='if [ "${PMI_RANK:-$PMIX_RANK}" = 2 ]; then
    "$0" create=own.h5 close && : >../gone
else
    until [ -e ../gone ]; do sleep 0.02; done
    "$1" 2
fi'
ok 'a rank ends before the others begin' env -C "$prefix" TEST_TIMEOUT=60 VELOC_VIRTUAL_NODES=3 HDF5_VOL_CONNECTOR=veloc \
    "$top_srcdir/test/mpirun.sh" 3 sh -c "$apart" "$top_builddir/test/vol/point" "$top_builddir/test/vol/brief"
is "$(files),$(grep 'in vain' "$dir/log" 2>/dev/null)" 4, 'and nobody waits for it'

# Only one of the ranks has HDF5 files: its launch has no end of its own, and the next program waits for nobody.
prefix=$dir/one-of-many
mkdir "$prefix"
one() { (cd "$prefix" && env VELOC_DATASET='own PATTERN=*' VELOC_SEAL_AFTER=0.1 "${@:2}" HDF5_VOL_CONNECTOR=veloc timeout -k 1 60 "$top_builddir/test/vol/point" "create=$1" write=1 close \
    >/dev/null 2>&1); }
one a.h5 PMI_RANK=0 PMI_SIZE=4 VELOC_LAUNCH=many
is "$(echo "$prefix"/.veloc/launch.*/left.*)" "$prefix/.veloc/launch.many/left.$(uname -n | cut -d. -f1)" 'one of many ranks ends its part of a launch'
ok 'and a program after it does not wait for the others' one b.h5

# Digits of the directory that a program runs in are neither its rank nor its step.
prefix=$dir/run3.07/u12
mkdir -p "$prefix"
known() { # two ranks that know of each other
    local rank ends=''
    for rank in 0 1; do
        (cd "$prefix" && PMI_RANK=$rank PMI_SIZE=2 VELOC_LAUNCH=known HDF5_VOL_CONNECTOR=veloc "$top_builddir/test/vol/point" \
            create=ck.0.$rank.h5 close meet="$dir/one" create=ck.1.$rank.h5 close meet="$dir/two" \
            create=ck.2.$rank.h5 close create=ck.3.$rank.h5 close >/dev/null 2>&1) &
        ends+=" $!"
    done
    for rank in $ends; do wait "$rank" || return; done
}
ok 'a launch in a directory with numbers in its name' known
told() { "$TOOLS/h5veloc-ls" --json "$prefix" | sed -nE "s/^ *\"$1\": \"?([^\",]*)\"?,?\$/\1/p"; }
like "$(told name | grep '{step}' | sort -u)" '*run3.07_u12_ck.{step}.{rank}.h5' 'what they have in common is found in the names of its files'
is "$(told step | sort -n | tail -1)" 3 'and the number of the step is theirs'

# Of a node whose ranks have ended long before those of others it is known that nobody comes from there.
prefix=$dir/parts
mkdir "$prefix"
echo 'DATASET=ck PATTERN=ck.{step}.{rank}.h5 PUBLISH=BEHIND' >"$prefix/.velocconf"
rank() { # RANK OPS...
    (cd "$prefix" && PMI_RANK=$1 PMI_SIZE=2 VELOC_LAUNCH=parts VELOC_VIRTUAL_NODES=2 VELOC_PEER_TIMEOUT=2 VELOC_LOG_LEVEL=info \
        VELOC_LOG_FILE="$dir/log.$1" HDF5_VOL_CONNECTOR=veloc "$top_builddir/test/vol/point" "${@:2}" >/dev/null 2>&1)
}
rank 1 create=ck.1.1.h5 close meet="$dir/both" &
first=$!
await [ -e "$prefix/.veloc/launch.parts/1.0" ]
rank 0 create=ck.1.0.h5 close meet="$dir/both" wait="$dir/go" create=ck.2.0.h5 close &
wait $first
touch "$dir/go"
wait
is "$(files)" 3 'all files are at their path'
is "$(grep -c 'in vain for ranks' "$dir/log.0")" 0 'and nobody has waited for ranks that had ended'

# Of a step that is protected more is lost than its sets bear: both have a part on the node that is gone, and
# one that has changed. Whoever works on one of them does not wait for members of the other.
prefix=$dir/lost
mkdir "$prefix"
echo 'DATASET=ck PATTERN=ck.{step}.{rank}.h5 PUBLISH=BEHIND' >"$prefix/.velocconf"
all() { # LAUNCH OPS...: % is the rank
    local rank launch=$1
    shift
    for rank in 0 1 2 3; do
        (cd "$prefix" && PMI_RANK=$rank PMI_SIZE=4 VELOC_LAUNCH=$launch VELOC_VIRTUAL_NODES=2 VELOC_SET_SIZE=2 HDF5_VOL_CONNECTOR=veloc \
            timeout -k 1 60 "$top_builddir/test/vol/point" "${@//%/$rank}" >/dev/null 2>&1; echo $?) &
    done 2>/dev/null | sort | tr '\n' ' '
}
for n in 1 2 3; do
    rm -rf "$dir/cache" "$prefix/.veloc" "${prefix:?}"/*
    mkdir "$dir/cache"
    VELOC_FLUSH_BANDWIDTH=1 all dies create=ck.1.%.h5 write=1 close protected=ck.1.%.h5 meet="$prefix/whole" kill >/dev/null
    rm -rf "$dir"/cache/*.v1
    for part in "$dir"/cache/*.v0/*/*/*/dataset.1/rank.0/*.h5vr "$dir"/cache/*.v0/*/*/*/dataset.1/rank.1/*.h5; do
        printf xxx | dd of="$part" bs=1 seek="$(($(stat -c %s "$part") / 2))" conv=notrunc 2>/dev/null
    done
    is "$(all next create=own.%.h5 close meet="$prefix/written")" '0 0 0 0 ' "a program beside what is lost for good ends at once ($n)"
done

# A node ends whose ranks have only looked for a file, while another one is slow to protect what a program that
# was killed has left. The others do not wait for its part of that until FLUSH_STALL.
prefix=$dir/left
mkdir "$prefix"
rm -rf "$dir/cache"
mkdir "$dir/cache"
echo 'DATASET=ck PATTERN=ck.{step}.{rank}.h5 PUBLISH=BEHIND' >"$prefix/.velocconf"
there=$prefix/.veloc/launch.later
begin() { # LAUNCH RANK OPS...; $! is its process
    (cd "$prefix" && PMI_RANK=$2 PMI_SIZE=3 VELOC_LAUNCH=$1 VELOC_VIRTUAL_NODES=3 VELOC_SET_SIZE=3 VELOC_PEER_TIMEOUT=100 \
        HDF5_VOL_CONNECTOR=veloc exec timeout -k 1 60 "$top_builddir/test/vol/point" "${@:3}" >/dev/null 2>&1) &
}
is_taken() { [ "$(find "$dir/cache" -path '*/dataset.1/*' -name '*.h5vr' | wc -l)" -ge 3 ]; }
pids=()
for k in 0 1 2; do
    VELOC_FLUSH_BANDWIDTH=1 begin early $k cells=4000000 create=ck.1.$k.h5 write=1 close wait=never
    pids+=($!)
done
await is_taken
kill_all
wait 2>/dev/null
begin later 0 create=own.0.h5 close wait=go
pids=($!)
await [ -e "$there/1.0" ]
begin later 1 create=own.1.h5 close wait=go
pids+=($!)
begin later 2 read=none.h5 wait=.veloc/view.later
reader=$!
await [ -e "$prefix/.veloc/view.later" ]
pkill -STOP -P "${pids[1]}"
await [ -e "$there/left.$(uname -n | cut -d. -f1).v2" ]
pkill -CONT -P "${pids[1]}"
wait "$reader" # not before: they may be encoding together
touch "$prefix/go"
ends=''
for pid in "${pids[@]}"; do
    wait "$pid"
    ends+="$? "
done
is "$ends" '0 0 ' 'nobody waits for what a node has left behind, when all ranks have come'

# The same where the dataset is encoded, and those who leave have only read: what they keep is not said to be lost.
prefix=$dir/kept
mkdir "$prefix"
rm -rf "$dir/cache"
mkdir "$dir/cache"
echo 'DATASET=ck PATTERN=ck.{step}.{rank}.h5 PUBLISH=BEHIND' >"$prefix/.velocconf"
export VELOC_FLUSH_BANDWIDTH=1
is_copied_by() { [ "$(find "$prefix" -maxdepth 1 -name ".ck.1.?.h5.h5v-1.[$1].tmp" | wc -l)" -eq 3 ]; }
pids=()
for k in 0 1 2; do
    begin early $k cells=4000000 create=ck.1.$k.h5 write=1 close wait=never
    pids+=($!)
done
await is_copied_by 1
kill_all
wait 2>/dev/null
mapfile -t reads < <(yes read=ck.1.0.h5 | head -n 8)
pids=()
for k in 0 1 2; do
    VELOC_LOG_FILE=$prefix/log.$k begin later $k read=none.h5 wait=go.$k "${reads[@]}"
    pids+=($!)
    await [ -e "$prefix/.veloc/launch.later/1.0" ]
done
await is_copied_by 2-9
touch "$prefix/go.1" "$prefix/go.2"
ends=''
for k in 1 2; do
    wait "${pids[k]}"
    ends+="$? "
done
touch "$prefix/go.0"
wait "${pids[0]}"
is "$ends$?" '0 0 0' 'who has only read leaves what is being copied'
is "$(cat "$prefix"/log.?)" '' 'and nobody says that it is lost'
done_testing
