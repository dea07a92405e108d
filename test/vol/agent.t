#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# An agent is killed while an HDF5 program waits for its close: the program takes the role, and goes on
# as if nothing had happened, but for a warning. So it does when the agent does not answer any more.
: "${top_srcdir:?}" "${top_builddir:?}" "${TOOLS:?}" "${HDF5_PLUGIN_PATH:?}"
# shellcheck source=test/tap/tap.sh
. "$top_srcdir/test/tap/tap.sh"
[ "${MPI_KIND:-no}" != no ] || skip_all 'the program is one of MPI'
dir=$(tap_dir)
cd "$dir" || bail_out "no $dir"
export ASAN_OPTIONS="detect_leaks=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
export VELOC_CACHE_BASE="$dir/c" VELOC_CNTL_BASE="$dir/n" VELOC_PEER_TIMEOUT=10 VELOC_VIEW_WAIT=2
mkdir c n files
agent() {
    "$TOOLS/h5veloc-agent" "$@"
}
tap_at_exit 'agent --stop >/dev/null 2>&1'

# strike SIGNAL: the agent gets it when a file that is closed is a part of its dataset
is_closed() { [ -n "$(find c -path '*/dataset.1/rank.0/*' -name '*.h5')" ]; }
strike() {
    local struck program status
    rm -rf files .veloc c/*
    mkdir files
    echo "DATASET=heat PATTERN=files/heat-{step}.{rank}.h5" >.velocconf
    ok "an agent serves" agent --detach
    struck=$(sed -n 's/^process \([0-9]*\) on .*/\1/p' n/*/agent/lock)
    HDF5_VOL_CONNECTOR=veloc VELOC_FLUSH_BANDWIDTH=60KB "$top_srcdir/test/mpirun.sh" 1 \
        "$top_builddir/h5examples/checkpoint" -n 20 -c 20 files >log 2>&1 &
    program=$!
    await_of "$program" is_closed
    ok "it gets SIG$1 when a file that is closed is a part of its dataset" kill -"$1" "$struck"
    wait "$program"
    status=$?
    kill -CONT "$struck" 2>/dev/null
    is "$status" 0 "the program ends well" || note "$(cat log)"
    ok "what is left is done by --drain" agent --drain
    is "$(find files -name 'heat-*.h5' -size +100k | wc -l)" 1 "and its file is at its path"
    is "$(find files c -name '*.h5v-*' -o -path '*/[0-9]*.[0-9]*/[0-9]*' | wc -l)" 0 "and nothing else is left there"
}
strike KILL
agent --stop >/dev/null 2>&1
VELOC_PEER_TIMEOUT=2 strike STOP

# Killed, with one of its ranks not there yet: the agent stays, for it may still come. Started again by a
# launcher that names nothing, that rank is the first.
rank() { PMI_RANK=$1 PMI_SIZE=2 HDF5_VOL_CONNECTOR=veloc "$top_builddir/test/vol/point" "${@:2}"; }
agent --stop >/dev/null 2>&1
rm -rf .veloc c/* k.*
echo 'DATASET=k PATTERN=k.{step}.{rank}.h5' >.velocconf
ok 'an agent serves' agent --detach
(rank 1 create=k.1.1.h5 write=1 close kill) >/dev/null 2>killed
await grep -qs '"ranks":"1".*"lost":1' .veloc/launch.*/node.*
ok 'its agent tells that it has lost a rank' grep -q '"lost":1' .veloc/launch.*/node.*
{
    rank 0 create=k.2.0.h5 write=2 close wait=k.2.1.h5 >out.0 &
    await_of $! test -e k.2.0.h5
    rank 1 create=k.2.1.h5 write=2 close >out.1
    wait
} 2>>killed
like "$("$TOOLS/h5veloc-ls")" '* k  *2 * 2  *2 *yes*' 'all ranks of the next program are in one launch: a dataset of two files of two ranks'

# Killed as well, where no agent is: --drain waits for the rank that may still come (2 PEER_TIMEOUT), longer than FLUSH_STALL
# here, and then flushes what is there. Nothing has stood still since that was decided.
agent --stop >/dev/null 2>&1
rm -rf .veloc c/* k.*
(VELOC_PEER_TIMEOUT=2 VELOC_FLUSH_STALL=3 rank 1 create=k.1.1.h5 write=1 close kill) >/dev/null 2>killed
ok '--drain does what a program owes of which one rank never came' agent --drain
ok 'all of it: the file is at its path' env -u HDF5_PLUGIN_PATH "$top_builddir/test/vol/point" open=k.1.1.h5
done_testing
