#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# MODE=SYNC: the close that makes a dataset of HDF5 files whole returns when it is encoded and on the prefix. Closes
# before it return at once, and with MODE=ASYNC all do.
: "${top_srcdir:?}" "${top_builddir:?}" "${HDF5_PLUGIN_PATH:?}"
# shellcheck source=test/tap/tap.sh
. "$top_srcdir/test/tap/tap.sh"
dir=$(tap_dir)
# A plug-in with a sanitizer needs a program with it; what HDF5 leaks is not ours to report.
export ASAN_OPTIONS="detect_leaks=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
export VELOC_CACHE_BASE="$dir/cache" VELOC_CNTL_BASE="$dir" VELOC_LOG_LEVEL=INFO VELOC_VIRTUAL_NODES=2
# whoever waits for others by mistake is killed first
export VELOC_PEER_TIMEOUT=300 VELOC_SEAL_AFTER=600
line='DATASET=ck PATTERN=ck.{step}.{rank}.h5'
launch=0

fresh() { # LINES...
    rm -rf "$dir/cache" "$dir/p"
    mkdir "$dir/cache" "$dir/p"
    cd "$dir/p" || bail_out "no directory"
    printf '%s\n' "$@" >.velocconf
    launch=$((launch + 1))
}

# rank R OPS... &: of two, each on its node
rank() {
    local r=$1
    shift
    exec env VELOC_LAUNCH="$launch" PMI_RANK="$r" PMI_SIZE=2 VELOC_LOG_FILE="$dir/p/log.$launch.$r" \
        HDF5_VOL_CONNECTOR=veloc timeout --foreground -s KILL 60 "$top_builddir/test/vol/point" "$@" >"$dir/said.$r" 2>&1
}
node_of() { find "$dir/cache" -maxdepth 1 -name "*.v$1"; }
sealed() { grep -qs ' sealed ' .veloc/launch.*/1.*; }
has_chair() { compgen -G '.veloc/launch.*/1.0' >/dev/null; }
stop() { pkill -STOP -P "$1" -x point; }
go_on() { pkill -CONT -P "$1" -x point; }

# Rank 0's leader is the chair, and it has its file open; rank 1 has closed its own and is stopped, its leader with it: $stopped. Rank
# 0 closes then: $pid
close_beside_stopped() { # OPS...: what rank 0 does afterwards
    rank 0 tells create=ck.1.0.h5 write=1 run='touch made' wait=closed close "$@" &
    pid=$!
    await test -e made
    await has_chair
    rank 1 create=ck.1.1.h5 write=1 close run='touch end' wait=over &
    stopped=$!
    await test -e end
    stop "$stopped"
    touch closed
}
end_of() { # until it has ended
    wait "$1"
    is $? 0 "$2" || note "$(cat "$dir"/said.?)"
}

# --- who waits ---

fresh "$line" MODE=ASYNC
close_beside_stopped run='touch returned'
ok 'MODE=ASYNC: a close does not wait for another node, which is stopped' await_of "$pid" test -e returned
go_on "$stopped"
touch over
end_of "$pid" 'and the program ends well'
wait "$stopped"

fresh "$line" MODE=SYNC
close_beside_stopped run='! grep -aq "h5veloc stub" ck.1.?.h5' run='touch returned'
ok 'MODE=SYNC: the dataset is sealed when all have closed' await_of "$pid" sealed
not_ok 'its last close waits for the node that is stopped' test -e returned
go_on "$stopped"
ok 'and returns when that goes on' await_of "$pid" test -e returned
touch over
end_of "$pid" 'with all files of the dataset at their paths'
wait "$stopped"
is "$(grep -c 'MODE=SYNC' log.* | cut -d : -f 2 | sort -u)" 0 'and nobody warns of the mode'

fresh "$line" MODE=SYNC
rank 0 create=ck.1.0.h5 write=1 close create=ck.2.0.h5 write=2 run='touch turn1' wait=turn2 close run='touch turn3' wait=over &
pid=$!
await_of "$pid" test -e turn1
rank 1 create=ck.1.1.h5 write=1 close run='! grep -aq "h5veloc stub" ck.1.?.h5' create=ck.2.1.h5 write=2 run='touch turn2' \
    wait=turn3 close run='! grep -aq "h5veloc stub" ck.2.?.h5' run='touch over' &
other=$!
end_of "$pid" 'ranks that write in turn do not wait for each other'
end_of "$other" 'and the last of them waits for the dataset'

fresh 'DATASET=st PATTERN=st.h5' MODE=SYNC
rank 0 create=st.h5 write=1 close run='touch turn' wait=over open=st.h5 write=3 close &
pid=$!
rank 1 wait=turn open=st.h5 write=2 close run='touch over' &
end_of "$pid" 'nor when they write one file'
wait
rank 0 read=st.h5 &
wait
is "$(<"$dir/said.0")" 'st.h5: all 3, 1000 cells, 3 at the end' 'which has what was written last'

fresh "$line" MODE=SYNC
rank 0 create=ck.1.0.h5 write=1 close run='touch returned' kill &
ok 'a close that makes nothing whole returns, though the other rank never comes' await_of $! test -e returned
wait

fresh MODE=SYNC
rank 0 create=live.h5 write=1 close create=live.h5 write=2 close &
end_of $! 'files at their own paths are not waited for'

fresh "$line" MODE=SYNC
rank 0 linkless create=ck.1.0.h5 write=1 close &
wait
like "$(cat log.*)" '*warn: *written where they belong, and not protected: *cannot link *' 'where a file system has no leaders that is told'
is "$("$top_builddir/test/vol/point" read=ck.1.0.h5)" 'ck.1.0.h5: all 1, 1000 cells, 1 at the end' 'and files are at their own paths'

# --- what it is worth ---

# the prefix takes nothing: what was encoded is in the caches alone
fresh "$line" MODE=SYNC FLUSH_BANDWIDTH=1 FLUSH_STALL=5
rank 0 create=ck.1.0.h5 write=1 close run='touch closed' meet=end kill &
rank 1 create=ck.1.1.h5 write=1 wait=closed close meet=end kill &
wait
is "$(cat log.* | grep -c 'warn: .*/ck\.1\.1\.h5: .*is protected, but not flushed')" 1 'a flush that stands still ends the wait with one warning' ||
    note "$(cat log.* "$dir"/said.?)"
ok 'the dataset is not on the prefix' is_stub ck.1.0.h5
rm -rf "$(node_of 0)"
printf '%s\n' "$line" MODE=SYNC >.velocconf
launch=$((launch + 1))
for r in 0 1; do rank $r read=ck.1.$r.h5 meet=read & done
wait
is "$(cat "$dir"/said.?)" 'ck.1.0.h5: all 1, 1000 cells, 1 at the end
ck.1.1.h5: all 1, 1000 cells, 1 at the end' 'who is killed after that close finds the dataset, though a node is lost'

fresh "$line" MODE=SYNC FLUSH_STALL=5
close_beside_stopped run='touch returned'
wait "$pid"
like "$(<"$dir/said.0")" '*cannot close the file' 'what is not encoded for FLUSH_STALL makes the close fail'
like "$(<"$dir/said.0")" '*ck.1.0.h5 is complete in the cache, and not protected: *nothing has moved for FLUSH_STALL*' 'and says why'
go_on "$stopped"
touch over
wait
done_testing
