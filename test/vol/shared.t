#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Programs that call VELOC_* and programs that have HDF5 files alone, one after the other on one prefix:
# neither takes what the other has for its own, whatever its settings say.
: "${top_srcdir:?}" "${top_builddir:?}" "${TOOLS:?}" "${HDF5_PLUGIN_PATH:?}" "${PARALLEL_HDF5:?}"
# shellcheck source=test/tap/tap.sh
. "$top_srcdir/test/tap/tap.sh"
[ "$PARALLEL_HDF5" = yes ] || skip_all 'this HDF5 is serial'
# shellcheck source=test/vol/shared.sh
. "$top_srcdir/test/vol/shared.sh"

for mode in SYNC ASYNC; do
    begin
    program '' plain=1 file=both.1 plain=2 file=own plain=3 safe=4 >/dev/null
    is "$(program "MODE=$mode FLUSH=1 PREFIX_SIZE=1" init write=1 wait write=2 wait write=3 finalize)" \
        "init 1,$wrote,waited 1,$wrote,waited 1,$wrote,finalized 1" "$mode: PREFIX_SIZE=1 on a prefix with HDF5 files"
    is "$(native see file=both.1 see file=own see)" 'plain 1,plain 2,plain 3' 'removes none of them'
    forget_caches
    is "$(program "MODE=$mode" init restart kill)" "init 1,$(restarted 3)" 'and keeps the newest checkpoint'
    forget_caches
    is "$(program "MODE=$mode PREFIX_PURGE=1" init restart write=4 finalize)" "init 1,newest -1,$wrote,finalized 1" \
        'PREFIX_PURGE=1 removes the checkpoints'
    is "$(native see file=both.1 see file=own see)" 'plain 1,plain 2,plain 3' 'and no HDF5 file'

    # what is nowhere but in caches
    begin
    program 'FLUSH=0' init write=1 wait kill >/dev/null
    program "$held" plain=1 file=both.1 plain=2 safe=2 kill >/dev/null
    is "$(program "MODE=$mode CACHE_PURGE=1 FLUSH=0 $held" init restart kill)" 'init 1,newest -1' "$mode: CACHE_PURGE=1 removes a checkpoint from the caches"
    is "$(program "$held" see file=both.1 see kill)" 'plain 1,plain 2' 'and no HDF5 file'
    program "MODE=$mode FLUSH=0 $held" init write=2 wait write=3 wait write=4 wait kill >/dev/null
    is "$(program "$held" see file=both.1 see kill)" 'plain 1,plain 2' \
        'HDF5 files that are not on the prefix yet are evicted by no checkpoint, be it of the same name'
    for setting in FLUSH_ON_RESTART GLOBAL_RESTART; do
        begin
        program 'FLUSH=0' init write=2 kill >/dev/null
        program "$held" file=both.9 plain=9 safe=2 kill >/dev/null
        is "$(program "MODE=$mode FLUSH=0 $setting=1" init restart kill),$(find "$dir/prefix" -name both-0-2.dat | wc -l)" \
            "init 1,$(restarted 2),1" "$mode: $setting=1 flushes the newest checkpoint, though an HDF5 dataset is newer"
        is "$(program '' file=both.9 see)" 'plain 9' 'which is there all the same'
    done

    # one of the same name that is newer, and nothing in the caches
    begin
    program 'FLUSH=1' init write=1 write=2 finalize >/dev/null
    program '' plain=7 safe=4 file=both.40 plain=40 safe=4 >/dev/null
    forget_caches
    is "$(program "MODE=$mode" init restart write=3 finalize)" "init 1,$(restarted 2),$wrote,finalized 1" \
        "$mode: VELOC_Init fetches a checkpoint, and no HDF5 dataset of its name"
    program "MODE=$mode FLUSH=1" name=other init write=4 finalize >/dev/null
    forget_caches
    echo damaged >"$dir/prefix/other-0-4.dat"
    like "$(program "MODE=$mode" init finalize),$("$TOOLS/h5veloc-ls" "$dir/prefix" | grep '^\*')" \
        'init 1,finalized 1,\* * both * 3 *' 'nor when the newest checkpoint is damaged: the one before it is fetched, and current'
    is "$(program "MODE=$mode" init remove=40 drop=40 current=40 finalize)" 'init 1,removed 0,dropped 0,made current 0,finalized 1' \
        'VELOC_Delete, VELOC_Drop and VELOC_Current know no HDF5 dataset'
    is "$(native file=both.40 see)" 'plain 40' 'which stays'
    is "$(program "MODE=$mode DROP_AFTER_CURRENT=1" init current=3 finalize),$(program '' file=both.40 see file=plain see)" \
        'init 1,made current 1,finalized 1,plain 40,plain 7' 'nor does DROP_AFTER_CURRENT=1'

    # which one is current, a program of the API says
    begin
    program 'FLUSH=1' init write=1 finalize >/dev/null
    program '' plain=2 safe=4 >/dev/null
    like "$("$TOOLS/h5veloc-ls" "$dir/prefix" | grep '^\*')" '\* * both *' \
        "$mode: the current checkpoint stays the current one, whatever HDF5 file is newer"
    # another program of the API
    begin
    program 'FLUSH=0' init write=1 wait kill >/dev/null
    is "$(program "MODE=$mode FLUSH=0" name=other init write=1 wait write=2 wait kill),$(program "MODE=$mode FLUSH=0" init restart kill)" \
        "init 1,$wrote,waited 1,$wrote,waited 1,init 1,$(restarted 1)" "$mode: a checkpoint makes way for none of another name"

    # a file that was made between begin and end is the session's
    begin
    program "MODE=$mode FLUSH=0" init write=1 wait kill >/dev/null
    program "MODE=$mode CACHE_PURGE=1" init finalize >/dev/null
    is "$(program '' file=state see)" 'plain -1' "$mode: CACHE_PURGE=1 removes HDF5 files that belong to a checkpoint"

    begin
    program "MODE=$mode FLUSH=1" init write=1 wait finalize >/dev/null
    native file=state plain=9 >/dev/null
    is "$(program "MODE=$mode FLUSH=0" init restart kill)" "init 1,$(restarted 1)" \
        "$mode: a restart has the checkpoint's own HDF5 file, whatever somebody has put at its path since"

    # it is replaced while its node is away, and its leaders forget it
    begin
    program '' file=both.40 plain=40 safe=4 >/dev/null
    mv "$dir/cache" "$dir/away" && mkdir "$dir/cache"
    program "MODE=$mode FLUSH=1" init write=1 finalize >/dev/null
    for ((i = 0; i < 10; i++)); do
        program '' file=both.40 plain=$((41 + i)) safe=4 >/dev/null
        [ -e "$dir/prefix/.veloc/dataset.1" ] || break
    done
    ok "$mode: nothing is recorded any more of a dataset that was replaced" test ! -e "$dir/prefix/.veloc/dataset.1"
    rm -r "$dir/cache" && mv "$dir/away" "$dir/cache"
    is "$(program "MODE=$mode" init restart kill)" "init 1,$(restarted 1)" \
        'when its node is back the checkpoint is restored, and not the HDF5 dataset of its name that is newer'
    is "$(program '' file=both.40 see)" "plain $((41 + i))" 'and the file is what replaced it'
done
done_testing
