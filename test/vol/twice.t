#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A name of a launch is given more than once: to a program after one that was killed in the middle of a step, or
# has ended; to one that is started while the other still runs, or at the same moment. Each is a launch of its own:
# no dataset has files of two. PEER_TIMEOUT is longer than any program may live.
: "${top_srcdir:?}" "${top_builddir:?}" "${HDF5_PLUGIN_PATH:?}"
# shellcheck source=test/tap/tap.sh
. "$top_srcdir/test/tap/tap.sh"
dir=$(tap_dir)
shopt -s extglob
export ASAN_OPTIONS="detect_leaks=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
export VELOC_LOG_LEVEL=info VELOC_PEER_TIMEOUT=1000 VELOC_SEAL_AFTER=1000
point=$top_builddir/test/vol/point

# begin NAME NODES: an empty prefix, empty caches
begin() {
    nodes=$2 here=$dir/$1.$2
    mkdir -p "$here/p" "$here/c"
    cd "$here/p" || bail_out 'no directory'
    echo 'DATASET=ck PATTERN=ck.{step}.{rank}.h5 PUBLISH=BEHIND' >.velocconf
}

# The ranks of program RUN of 4, % is the rank. Of each its last words and its status are kept.
ranks() { # RUN FIRST LAST OPS...
    local run=$1 k ops=("${@:4}")
    for ((k = $2; k <= $3; k++)); do
        (
            env PMI_RANK="$k" PMI_SIZE=4 VELOC_LAUNCH="${launch-same}" VELOC_VIRTUAL_NODES="$nodes" VELOC_CACHE_BASE="$here/c" \
                VELOC_CNTL_BASE="$here" VELOC_LOG_FILE="$here/log.$run.$k" HDF5_VOL_CONNECTOR=veloc \
                timeout -k 1 60 "$point" tells "${ops[@]//%/$k}" >"$here/out.$run.$k" 2>&1
            echo $? >"$here/end.$run.$k"
        ) &
    done 2>>"$here/killed"
}
all() { # RUN OPS...
    ranks "$1" 0 3 "${@:2}"
    wait 2>>"$here/killed"
}
all_of() { # the same, beside others
    ranks "$1" 0 3 "${@:2}"
    await [ -e "$here/end.$1.0" -a -e "$here/end.$1.1" -a -e "$here/end.$1.2" -a -e "$here/end.$1.3" ]
}
ends() { cat "$here/end.$1".? | tr '\n' ' '; } # RUN
# seen RUN STEP: what its ranks have read of the step, each
seen() { cat "$here/out.$1".? | sed -n "s/^ck\.$2\..\.h5: \(all \)\?\([^, ]*\).*/\2/p" | tr '\n' ' '; }
is_gone() { # DIR...: caches have none of them any more
    local dir
    for dir; do [ ! -e "$dir" ] || return 1; done
}
in_vain() { cat "$here"/log.* 2>/dev/null | grep 'in vain'; }


# found STEP...: what the next program reads, of another name
found() {
    local step ops=()
    for step; do ops+=("read=ck.$step.%.h5"); done
    launch=next all last "${ops[@]}"
    for step; do echo "$step: $(seen last "$step")"; done | tr '\n' ' '
}

for n in 1 2; do
    begin killed $n
    # version 1 is whole; of version 2 half of the ranks have closed their files
    ranks 1 0 1 create=ck.1.%.h5 write=11 close meet=one create=ck.2.%.h5 write=12 close meet=two kill
    ranks 1 2 3 create=ck.1.%.h5 write=11 close meet=one create=ck.2.%.h5 write=12 meet=two kill
    wait 2>>"$here/killed"
    all 2 read=ck.2.%.h5 read=ck.1.%.h5 meet=three create=ck.2.%.h5 write=22 close create=ck.3.%.h5 write=23 close
    is "$(seen 2 2), $(seen 2 1)" 'none none none none , 11 11 11 11 ' \
        "on $n: killed in the middle of a step, and started again under the same name: all ranks find the step before"
    is "$(ends 2), $(found 1 2 3)" '0 0 0 0 , 1: 11 11 11 11  2: 22 22 22 22  3: 23 23 23 23  ' 'and write the next ones, which are theirs alone'
    is "$(in_vain)" '' 'nobody waits for who cannot come'

    begin ended $n
    all 1 create=ck.1.%.h5 write=11 close create=ck.2.%.h5 write=12 close
    all 2 read=ck.2.%.h5 create=ck.2.%.h5 write=22 close create=ck.3.%.h5 write=23 close
    all 3 read=ck.2.%.h5 read=ck.3.%.h5 create=ck.3.%.h5 write=33 close
    is "$(seen 2 2), $(seen 3 2), $(seen 3 3)" '12 12 12 12 , 22 22 22 22 , 23 23 23 23 ' \
        "on $n: three programs one after the other under one name: each finds what the one before has written"
    is "$(in_vain)" '' 'nobody waits for who cannot come'

    # a rank begins when the others have been there for long: the launch whose name they all were given is swept
    begin late $n
    all 1 create=ck.1.%.h5 write=11 close
    ranks 2 0 3 create=ck.1.%.h5 write=21 close wait=taken
    await is_gone "$here"/c/*/*/*/index.0/dataset.1
    touch taken
    wait
    ranks 3 1 3 read=ck.1.%.h5 create=ck.2.%.h5 write=32 close wait=late
    await [ -e ck.2.3.h5 ]
    await [ ! -e .veloc/launch.same ]
    ranks 3 0 0 read=ck.1.%.h5 create=ck.2.%.h5 write=32 close
    await [ -e ck.2.0.h5 ]
    touch late
    wait
    is "$(ends 3), $(seen 3 1), $(found 2), $(in_vain)" '0 0 0 0 , 21 21 21 21 , 2: 32 32 32 32  , ' \
        "on $n: a rank that begins late is of the same launch as the others"
done

# A node is lost with the program: its ranks come on the other one. That the node is lost takes its time to be seen.
begin lost 2
export VELOC_PEER_TIMEOUT=4 VELOC_VIEW_WAIT=2
VELOC_SET_SIZE=2 all 1 create=ck.1.%.h5 write=11 close protected=ck.1.%.h5 meet=one create=ck.2.%.h5 write=12 meet=two kill
rm -rf "$here"/c/*.v1
nodes=1
all 2 read=ck.2.%.h5 read=ck.1.%.h5 create=ck.2.%.h5 write=22 close
is "$(ends 2), $(seen 2 2), $(seen 2 1)" '0 0 0 0 , none none none none , 11 11 11 11 ' \
    'a node is lost as well, and its ranks come on another one: all find the step before'
is "$(found 1 2)" '1: 11 11 11 11  2: 22 22 22 22  ' 'and go on from there'

# A second instance, or another program, while the first one runs.
export VELOC_PEER_TIMEOUT=3
refused() { cat "$here/out.$1".? | grep -c 'cannot be written: another program that runs writes .*/ck.{step}.{rank}.h5 (process [0-9]* of '; }
for n in 1 2; do
    for second in same other; do
        begin "beside-$second" $n
        ranks 1 0 1 create=ck.1.%.h5 write=11 close meet=one wait=go create=ck.2.%.h5 write=12 close
        ranks 1 2 3 create=ck.1.%.h5 write=11 meet=one wait=go close create=ck.2.%.h5 write=12 close
        await [ -e one.0 -a -e one.1 -a -e one.2 -a -e one.3 ]
        launch=$second all_of 2 create=ck.1.%.h5 write=21 close create=ck.2.%.h5 write=22 close
        touch go
        wait
        is "$(ends 2), $(refused 2)" '1 1 1 1 , 4' "on $n: beside one that runs ($second name) another is refused for writing, all ranks, with a sentence"
        is "$(ends 1), $(found 1 2)" '0 0 0 0 , 1: 11 11 11 11  2: 12 12 12 12  ' 'and the first one has its files alone'
    done
done

# At the same moment, by a launcher: one waits for the other.
export VELOC_PEER_TIMEOUT=1000
mpi() { # RUN: a program that writes two steps
    # shellcheck disable=SC2016  # for the ranks
    env VELOC_LAUNCH="$launch" VELOC_VIRTUAL_NODES="$nodes" VELOC_CACHE_BASE="$here/c" VELOC_CNTL_BASE="$here" VELOC_LOG_FILE="$here/log.$1" \
        HDF5_VOL_CONNECTOR=veloc H5V_TEST_JOB=1 "$top_srcdir/test/mpirun.sh" 4 sh -c 'k=${PMI_RANK:-$PMIX_RANK}
            exec "$0" tells create=ck.1.$k.h5 write=${1}1 close create=ck.2.$k.h5 write=${1}2 close' "$point" "$1" >"$here/out.$1" 2>&1
    echo "$?" >"$here/end.$1.0"
}
if [ "${MPI_KIND:-no}" = no ]; then
    skip 4 'there is no MPI to launch ranks'
else
    for n in 1 2; do
        for launch in same ''; do
            begin "at-once-$launch" $n
            mpi 1 &
            mpi 2 &
            wait
            like "$(ends 1)$(ends 2)$(found 1 2)" '0 0 1: @(11 11 11 11  2: 12 12 12 12 |21 21 21 21  2: 22 22 22 22 ) ' \
                "on $n: two at the same moment under ${launch:-no} name: each writes its files when the other has ended"
        done
    done
fi
# A program that a rank starts has its environment: it is not that rank, and reads what that has closed. That a rank
# is there is noted after PEER_TIMEOUT/1000.
begin child 1
export VELOC_PEER_TIMEOUT=4
ranks 1 0 2 create=ck.1.%.h5 write=11 close run="$point read=ck.1.%.h5" meet=one create=ck.2.%.h5 write=12 close
await grep -qs . "$here/out.1.2"
await grep -qs . "$here/out.1.0"
ranks 1 3 3 create=ck.1.%.h5 write=11 close meet=one create=ck.2.%.h5 write=12 close
wait
is "$(ends 1), $(seen 1 1), $(found 1 2)" '0 0 0 0 , 11 11 11 , 1: 11 11 11 11  2: 12 12 12 12  ' \
    'programs that ranks start read their files, and rank 3, which comes later, is with the others'
is "$(in_vain)" '' 'nobody waits for who cannot come'

# A program of MPI in which one rank has files: when that is over no other rank begins, and the launch has its end.
if [ "${MPI_KIND:-no}" = no ] || [ "${PARALLEL_HDF5:-}" != yes ]; then
    skip 1 'there is no MPI'
else
    begin few 2
    # shellcheck disable=SC2016  # for the ranks
    env VELOC_LAUNCH=few VELOC_SEAL_AFTER=0.1 VELOC_VIRTUAL_NODES=2 VELOC_CACHE_BASE="$here/c" VELOC_CNTL_BASE="$here" \
        HDF5_VOL_CONNECTOR=veloc "$top_srcdir/test/mpirun.sh" 4 sh -c '
            if [ "${PMI_RANK:-$PMIX_RANK}" = 0 ]; then exec "$0" mpi create=ck.1.0.h5 write=11 close; else exec "$0" mpi; fi' "$point" >"$here/out" 2>&1
    is "$?, $(cd .veloc && grep -l ' done ' launch.*/1.* | sed 's/few-[0-9a-f]*/few/')" '0, launch.few/1.0' \
        'a launch of MPI ends with the one rank that has files: the next program is not taken for more of it'
fi
done_testing
