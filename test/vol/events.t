#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The log of events of a prefix, and the record of how many nodes its last run had, as HDF5 programs leave them: what
# happened stands there once, whichever of the nodes has done it.
: "${top_srcdir:?}" "${top_builddir:?}" "${HDF5_PLUGIN_PATH:?}" "${PARALLEL_HDF5:?}"
# shellcheck source=test/tap/tap.sh
. "$top_srcdir/test/tap/tap.sh"
dir=$(tap_dir)
# A plug-in with a sanitizer needs a program with it; what HDF5 leaks is not ours to report.
export ASAN_OPTIONS="detect_leaks=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
export VELOC_CACHE_BASE="$dir/cache" VELOC_CNTL_BASE="$dir" VELOC_LOG_FILE="$dir/log" VELOC_LOG_LEVEL=INFO
export VELOC_PEER_TIMEOUT=20 VELOC_VIEW_WAIT=5 VELOC_VIRTUAL_NODES=2 VELOC_COPY_TYPE=XOR VELOC_SET_SIZE=2 VELOC_JOB_ID=17
export VELOC_DATASET='ck PATTERN=ck.{step}.{rank}.h5 PUBLISH=BEHIND'
held='VELOC_FLUSH_BANDWIDTH=1' # nothing comes to the prefix before the program is killed
launches=0

# ranks "SETTINGS" OPS...: both, each on a node of its own; @ is the rank
ranks() {
    local r settings
    read -ra settings <<<"$1"
    shift
    launches=$((launches + 1))
    {
        for r in 0 1; do
            env "${settings[@]}" HDF5_VOL_CONNECTOR=veloc PMI_RANK=$r PMI_SIZE=2 VELOC_LAUNCH="run$launches" \
                timeout -s KILL 120 "${memcheck[@]}" "$top_builddir/test/vol/point" "${@//@/$r}" >"$dir/said.$r" 2>&1 &
        done
        wait
    } 2>/dev/null
}
fresh() {
    rm -rf "$dir/cache" "$dir/p" "$dir/log"
    mkdir "$dir/cache" "$dir/p"
    cd "$dir/p" || bail_out "no directory"
}
# the events without their times and bytes, as "EVENT ID ok|failed", each with how often it is there
events() {
    sed -E 's/.*"event":"([a-z_]+)"(,"ok":(true|false))?(,"id":([0-9]+))?.*/\1 \5 \3/; s/true/ok/; s/false/failed/; s/ *$//; s/  / /' \
        .veloc/events | sort | uniq -c | sed 's/^ *//' | paste -sd,
}
lines() { grep -E "\"event\":\"$1\"" .veloc/events; }

fresh
ranks '' create=ck.1.@.h5 write=1 close create=ck.2.@.h5 write=2 close meet=m
is "$(events)" "$(printf '1 %s,' 'checkpoint 1 ok' 'checkpoint 2 ok' 'encode 1 ok' 'encode 2 ok' 'flush 1 ok' 'flush 2 ok' \
    'flush_start 1' 'flush_start 2' 'run_end' 'run_start' | sed 's/,$//')" \
    'a run of two nodes begins and ends once, and each of its datasets is complete, protected and published once'
like "$(lines run_start | grep -n .),$(tail -n 1 .veloc/events)" '1:*"ranks":2,"job":"17","user":*,*"event":"run_end","text":"all processes have ended in good order","ranks":2,"nodes":2,*' \
    'the first and the last line tell how many ranks and nodes, and which job it was'
for event in encode flush; do
    like "$(lines $event | head -n 1)" "*\"id\":1,\"name\":\"ck\",\"files\":2,\"bytes\":$(cat ck.1.?.h5 | wc -c),\"seconds\":*" \
        "$event tells of how many bytes, and how long it took"
done
like "$(<.veloc/nodes)" '*{"nodes":2}*' 'how many nodes the run had is on record'

fresh
ranks VELOC_LOG_ENABLE=0 create=ck.1.@.h5 write=1 close meet=m
ok 'LOG_ENABLE=0: there are no events' test ! -e .veloc/events
like "$(<.veloc/nodes)" '*{"nodes":2}*' 'but the record of nodes, by which a launcher goes'

fresh
ranks "$held" create=ck.1.@.h5 write=1 close protected=ck.1.@.h5 meet=m kill
is "$(events)" '1 checkpoint 1 ok,1 encode 1 ok,1 flush_start 1,1 run_start' 'a run that is killed has no end'
rm -rf "$dir"/cache/*.v1
rm -f .veloc/events
ranks '' read=ck.1.@.h5 meet=n
is "$(<"$dir/said.1")" 'ck.1.1.h5: all 1, 1000 cells, 1 at the end' 'a file whose node was lost is rebuilt for its reader'
# for the reader, or before that for the flush of what is owed
like "$(lines rebuild | head -n 1)" '*"ok":true,"id":1,"name":"ck",*"bytes":*"seconds":*' 'and that stands among the events'
is "$(grep -nE 'restoring dataset 1|restored the part of rank 1' "$dir/log" | sed -E 's/.*(restor[a-z]+).*/\1/' | uniq | paste -sd,)" \
    restoring,restored 'the log tells that it begins, and then how it ended'

fresh
mkdir sub
export VELOC_DATASET='ck PATTERN=sub/ck.{step}.{rank}.h5 PUBLISH=BEHIND'
ranks "$held" create=sub/ck.1.@.h5 write=1 close protected=sub/ck.1.@.h5 meet=m kill
rm -rf sub .veloc/events
touch sub
ranks VELOC_FLUSH_STALL=4 create=own.@ write=2 close meet=n
like "$(lines flush)" '*"ok":false,"id":1,"name":"ck",*"text":"*sub/*: Not a directory",*' 'a flush that fails says why'

# --- who has asked for a halt reads that a program has begun all the same ---

asked() { # a record of h5veloc-halt
    mkdir -p .veloc && printf '%s\n' '{"h5veloc":"halt","version":1,"length":33,"crc32c":"d5ce1623",' '"body":{"reason":"maintenance"}}' >.veloc/halt
}
fresh
asked
VELOC_DATASET='ck PATTERN=ck.{step}.{rank}.h5' ranks '' create=ck.1.@.h5 write=1 close meet=m
is "$(events | grep -o '[0-9]* halt'),$(grep -c 'asked to end: .*maintenance' "$dir/log")" '1 halt,1' 'a halt that is asked for is told when a program begins'

# --- with a session, of which some is told by itself and some by its leaders ---

[ "$PARALLEL_HDF5" = yes ] || { skip 6 'this HDF5 is serial' && done_testing && exit; }
unset VELOC_DATASET VELOC_VIRTUAL_NODES VELOC_COPY_TYPE VELOC_SET_SIZE
export BOTH_CONFIG="$dir/veloc.conf" VELOC_CONF_FILE="$dir/veloc.conf"
halt=''
both() { # MODE WORDS...
    fresh
    printf '%s\n' "MODE=$1" VIRTUAL_NODES=3 COPY_TYPE=XOR SET_SIZE=3 FLUSH=1 'DATASET=plain PATTERN=plain.{rank}.h5 PUBLISH=BEHIND' \
        >"$dir/veloc.conf"
    [ ! "$halt" ] || asked
    HDF5_VOL_CONNECTOR=veloc "$top_srcdir/test/mpirun.sh" 3 "$top_builddir/test/vol/both" "${@:2}" >"$dir/said" 2>&1
}
both SYNC init write=1 write=2 finalize
sync=$(events)
is "$sync" "$(printf '1 %s,' 'checkpoint 1 ok' 'checkpoint 2 ok' 'checkpoint_start 1' 'checkpoint_start 2')2 compute,$(printf '1 %s,' \
    'encode 1 ok' 'encode 2 ok' 'flush 1 ok' 'flush 2 ok' 'flush_start 1' 'flush_start 2' init run_end)1 run_start" 'a session tells what it does'
is "$(grep -cE '"event":"(init|compute|checkpoint)".*"seconds":' .veloc/events)" 5 'and how long it took to begin, to compute and to make each checkpoint'
halt=yes
both ASYNC init write=1 finalize
is "$(lines halt | wc -l)" 1 'a halt that is asked for is told once, by a session or its leaders'
halt=''
both ASYNC init write=1 write=2 finalize
is "$(events)" "$sync" 'MODE=ASYNC tells of a session what MODE=SYNC does, each once'
is "$(lines '(encode|flush)' | grep -c '"bytes":.*"seconds":')" 4 'and how long its leaders took for it, of which it asks nothing'
both ASYNC plain=1 init write=1 finalize plain=2
is "$(lines run_start | wc -l),$(lines run_end | wc -l),$(lines flush | wc -l)" 1,1,3 'one with HDF5 files beside it is one run'

done_testing
