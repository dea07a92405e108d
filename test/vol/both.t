#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A program that calls VELOC_* and has HDF5 files: those that it makes between VELOC_Checkpoint_begin
# and _end are restored with the memory and the files of the same checkpoint, or not at all.
: "${top_srcdir:?}" "${top_builddir:?}" "${HDF5_PLUGIN_PATH:?}" "${PARALLEL_HDF5:?}"
# shellcheck source=test/tap/tap.sh
. "$top_srcdir/test/tap/tap.sh"
[ "$PARALLEL_HDF5" = yes ] || skip_all 'this HDF5 is serial'
dir=$(tap_dir)
export ASAN_OPTIONS="detect_leaks=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
export VELOC_CACHE_BASE="$dir/cache" VELOC_CNTL_BASE="$dir" VELOC_VIRTUAL_NODES=3
export VELOC_PEER_TIMEOUT=10 VELOC_VIEW_WAIT=5 VELOC_LOG_FILE="$dir/log" VELOC_LOG_LEVEL=INFO BOTH_CONFIG="$dir/veloc.conf"

# begin SETTINGS...: an empty prefix and empty caches
begin() {
    rm -rf "$dir/cache" "$dir/prefix" "$dir/log"
    mkdir -p "$dir/cache" "$dir/prefix"
    printf '%s\n' "$@" >"$dir/veloc.conf"
}
both() {
    (cd "$dir/prefix" && HDF5_VOL_CONNECTOR=veloc "$top_srcdir/test/mpirun.sh" 3 "$top_builddir/test/vol/both" "$@" 2>&1 |
        sed -nE "s|^/.*/(.* is still open):.*|\1|p; s|.*('same' is a file of .*), and only.*|\1|p;"'  /^[a-zA-Z5 ]+( -?[0-9]+)+$/p' | paste -sd,)
}
lose() { rm -rf "$dir"/cache/*.v"$1"; }
restarted() { echo "newest $1,HDF5 file $1,routed file $1,memory $1,restarted 1"; }
wrote() { echo "wrote 0,ended 1"; }

for mode in SYNC ASYNC; do
    begin "MODE=$mode" COPY_TYPE=XOR SET_SIZE=3 FLUSH=0
    is "$(both init write=1 wait write=2 wait look kill)" \
        "init 1,$(wrote),waited 1,$(wrote),waited 1,state 2" \
        "$mode: HDF5 files that are made in checkpoints are seen at once"
    ok 'and are not on the prefix' test ! -e "$dir/prefix/state.0.h5"
    is "$(both init restart look append=3 open=4 wait kill)" \
        "init 1,$(restarted 2),state 2,$(wrote),ended 0,state.0.h5 is still open,closed 0,waited 1" \
        'killed, it restarts with all three of the same version; one that is left open is refused'
    lose 1
    is "$(both init restart write=5 finalize plain=1 see)" \
        "init 1,$(restarted 3),$(wrote),finalized 1,made 1,plain 1" \
        'a lost node is rebuilt, and what is written after VELOC_Finalize is there as well'
done

for mode in SYNC ASYNC AGENT; do
    begin "MODE=$mode" COPY_TYPE=XOR SET_SIZE=3 FLUSH=0
    refused="ended 0,'same' is a file of rank 0 and of rank 2"
    is "$(both init write=1 same=2,1 same=3,2 same=4,3 wait restart write=5 wait kill)" \
        "init 1,$(wrote),$refused,$refused,$refused,waited 1,$(restarted 1),$(wrote),waited 1" \
        "$mode: a checkpoint where two ranks have a file of one name fails, and the program goes on"
    is "$(find "$dir/cache" "$dir/prefix" -name same | wc -l),$(both init restart kill)" "0,init 1,$(restarted 5)" 'nothing of it is left'
done

# the background is slower than the program: COUNT bounds what waits for it
cached() { find "$dir/cache" -name 'dataset.*' -printf '%f\n' | sort -u | wc -l; }
five=(write=1 write=2 write=3 write=4 write=5)
all_five=$(wrote),$(wrote),$(wrote),$(wrote),$(wrote)
for count in 1 3; do
    begin COPY_TYPE=XOR SET_SIZE=3 FLUSH=1 FLUSH_BANDWIDTH=8000 CACHE_SIZE=$count
    is "$(both init "${five[@]}" kill),$(cached)" "init 1,$all_five,$((count + 1))" \
        "CACHE_SIZE=$count: behind a slow flush no more are in the cache, and the one that was just written"
done
begin COPY_TYPE=XOR SET_SIZE=3 FLUSH=1 FLUSH_BANDWIDTH=1
is "$(VELOC_PEER_TIMEOUT=4 both init "${five[@]}" kill),$(cached)" "init 1,$all_five,5" 'one that does not move at all holds no checkpoint up'

# the files' leaders are there before the session
launches() { find "$dir/prefix/.veloc" -name 'view.*' | wc -l; }
begin COPY_TYPE=XOR SET_SIZE=3 FLUSH=0 'DATASET=plain PATTERN=plain.{rank}.h5 PUBLISH=BEHIND'
export VELOC_CONF_FILE="$dir/veloc.conf"
is "$(both plain=1 init write=1 wait plain=2 see look kill)" \
    "made 1,init 1,$(wrote),waited 1,made 1,plain 2,state 1" \
    'a session that comes later and the files are there for each other'
is "$(launches)" 1 'in one launch'
lose 1
# the second one may have been lost before it was protected, but not for some ranks only
like "$(both see init restart see write=2 finalize plain=3 see)" \
    "plain [12],init 1,$(restarted 1),plain [12],$(wrote),finalized 1,made 1,plain 3" \
    'killed, with a lost node, both are there again for all ranks; files go on after VELOC_Finalize'
ok 'and nobody waits for what the lost node had' test -z "$(grep 'nothing has moved' "$dir/log")"
ok 'and come to their path' grep -q "HDF" "$dir/prefix/plain.2.h5"
is "$(both see init restart write=3 finalize init restart finalize)" \
    "plain 3,init 1,$(restarted 2),$(wrote),finalized 1,init 1,$(restarted 3),finalized 1" \
    'a second session has what the first has made'
# the prefix by way of a link
begin "PREFIX=$dir/link" COPY_TYPE=XOR SET_SIZE=3 FLUSH=0 'DATASET=plain PATTERN=plain.{rank}.h5 PUBLISH=BEHIND'
ln -sfn prefix "$dir/link"
is "$(both init write=1 wait plain=1 kill),$(both init restart finalize)" \
    "init 1,$(wrote),waited 1,made 1,init 1,$(restarted 1),finalized 1" \
    'the prefix may be given by way of a link'
ok 'and names are the same for both kinds of files' test -z "$(find "$dir/cache" -name '@*')" -a -e "$dir/prefix/plain.2.h5"

begin COPY_TYPE=XOR SET_SIZE=3 FLUSH=0
echo 'DATASET=plain PATTERN=plain.{rank}.h5 PUBLISH=BEHIND' >"$dir/other"
is "$(VELOC_CONF_FILE=$dir/other both plain=1 init finalize),$(grep -c 'other CKPT' "$dir/log")" 'made 1,init 1,finalized 1,1' \
    'when the two are told other lines one warning says so'

# a line with the name of its checkpoints
begin COPY_TYPE=XOR SET_SIZE=3 FLUSH=0 'DATASET=both PATTERN=plain.{rank}.h5 PUBLISH=BEHIND'
is "$(both plain=1 plain=2 plain=3 init write=1 wait kill),$(both init restart see finalize)" \
    "made 1,made 1,made 1,init 1,$(wrote),waited 1,init 1,$(restarted 1),plain 3,finalized 1" \
    'VELOC_Restart_test offers no HDF5 files, though their line has the same name'

# one program with both has leaders in every mode
for more in CONTAINERS=0 CONTAINERS=1; do
    begin COPY_TYPE=XOR SET_SIZE=3 FLUSH=0 MODE=SYNC "$more" 'DATASET=plain PATTERN=plain.{rank}.h5 PUBLISH=BEHIND'
    is "$(both init plain=1 write=1 kill)" "init 1,made 1,$(wrote)" "MODE=SYNC, $more: files beside a checkpoint"
    is "$(find "$dir/cache" -path '*/dataset.*/rank.*' -name 'plain.?.h5' | wc -l)" 3 'are protected in the caches'
    lose 1
    is "$(both init see restart finalize)" "init 1,plain 1,$(restarted 1),finalized 1" 'and found with it'
done
done_testing
