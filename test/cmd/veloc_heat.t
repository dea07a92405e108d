#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# h5examples/veloc_heat.c as its user runs it, on virtual nodes: it is killed, nodes are
# lost, and it goes on to the same result.
: "${top_srcdir:?}" "${top_builddir:?}"
# shellcheck source=test/tap/tap.sh
. "$top_srcdir/test/tap/tap.sh"
[ "${MPI_KIND:?}" != no ] || skip_all "this build has no MPI"
dir=$(tap_dir)
cd "$dir" || bail_out "no $dir"
# MPI libraries leak at exit, which is not ours to report.
export ASAN_OPTIONS="detect_leaks=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
# what is killed right after a checkpoint is protected only when the call did it
export VELOC_MODE=SYNC VELOC_VIRTUAL_NODES=4
printf '%s\n' "CACHE_BASE=$dir/cache" SET_SIZE=4 FLUSH=2 >veloc.conf

# heat [STEP]: one launch of four ranks, killed after STEP; $said and $log remain
heat() {
    said=$("$top_srcdir/test/mpirun.sh" 4 \
        "$top_builddir/h5examples/veloc_heat" veloc.conf "$@" 2>stderr </dev/null)
    status=$?
    log=$(grep ^h5veloc: stderr)
}
history() { cat history/rank?.txt; }

# killed TEXT DIRS...: a launch from the beginning is killed, and DIRS are lost
killed() {
    rm -rf cache .veloc history heat-*.dat
    heat 550
    like "$status $said" '[!0]* begin at step 0 of 1000*' "$1"
    shift
    rm -rf "$@"
}

heat
like "$status $said" '0 4 ranks begin at step 0 of 1000?step 1000 reached, result ????????????????' \
    'it runs'
is "$log" '' 'and tells nothing'
result=${said#*reached, }
history >expected
is "$(wc -l <expected)" 4000 'its files are on the prefix under their own names'

killed 'it is killed when it is half done'
heat
is "$status $said" "0 4 ranks begin at step 500 of 1000
step 1000 reached, $result" 'launched again it goes on, to the same result'
is "$log" '' 'and tells nothing'
ok 'its files are the same' diff expected <(history)

killed 'it is killed again, and a node is lost' cache/*.v2
heat
is "$status $said" "0 4 ranks begin at step 500 of 1000
step 1000 reached, $result" 'the node is no loss'
like "$log" '*restored dataset 5 (heat 500) in the caches *: of 4 parts 1 rebuilt (rank 2), 0 moved' \
    'and one line tells of it'
ok 'its files are the same' diff expected <(history)

killed 'it is killed again, and a file is cut short'
for file in cache/*.v1/*/*/index.*/dataset.5/rank.1/history/rank1.txt; do
    truncate -s 10 "$file"
done
heat
is "$status $said" "0 4 ranks begin at step 500 of 1000
step 1000 reached, $result" 'that is seen, and the file rebuilt'
like "$log" '*rank 1 on *: dataset 5 (heat 500): the files of this rank were rebuilt: *history/rank1.txt: 10 bytes where *' \
    'and its rank tells what was wrong'
ok 'its files are the same' diff expected <(history)

killed 'it is killed again, and all nodes are lost' cache
heat
is "$status $said" "0 4 ranks begin at step 400 of 1000
step 1000 reached, $result" 'the last checkpoint that was flushed is taken'
like "$log" '*dataset 5 (heat 500) is not found: *?h5veloc: *fetched dataset 4 (heat 400) from the prefix instead, *' \
    'and one line tells what is not found, one what is taken instead'
ok 'its files are the same' diff expected <(history)
done_testing
