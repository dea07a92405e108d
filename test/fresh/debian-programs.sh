#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# debian-programs.sh [FLAVOUR...] - the distribution's own HDF5 programs, with HDF5 alone and through the
# connector, live and behind: do they say and leave the same? It installs packages and h5veloc itself, so it wants a root
# of its own, with a Debian whose HDF5 has a VOL layer (13 and later):
#     FRESH_ONCE=1 test/fresh/fresh-debian.sh trixie test/fresh/debian-programs.sh
# FLAVOUR: serial, openmpi (default: both). Of each: bootstrap, make install, h5py's own test suite test
# by test, the netCDF tools, a script with h5py that is killed; of Open MPI some of make check as well.
set -u
top_srcdir=$(cd -P "$(dirname "$0")/../.." && pwd -P) || exit 1
# shellcheck source=test/tap/tap.sh
. "$top_srcdir/test/tap/tap.sh"

[ "$(id -u)" -eq 0 ] || bail_out "this installs packages: run it as root, in a root of its own"
export LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# no word of Open MPI about interfaces, which in a root of its own it may not find
export OMPI_MCA_btl=^tcp
cd "$(tap_dir)" || bail_out "no directory"
mkdir tmp && export TMPDIR=$PWD/tmp

quietly() {
    "$@" >step.log 2>&1 || { tail -n 30 step.log >&2 && return 1; }
}

# through HOW [exec] COMMAND...: native, live or behind; with exec it is the process that $! tells
through() {
    local connector=$1
    [ "$1" = native ] || connector="veloc $1"
    HDF5_VOL_CONNECTOR=$connector VELOC_QUIET=1 VELOC_CACHE_BASE=$PWD/cache VELOC_LOG_FILE=$PWD/log VELOC_LOG_LEVEL=INFO "${@:2}"
}

# same WHAT COMMAND...: in a directory of each: status and output are the same
same() {
    local what=$1 how
    shift
    for how in native live behind; do
        mkdir -p $how
        (cd $how && through $how "$@" >../$how.out 2>&1
            echo "status $?" >>../$how.out)
    done
    ok "$what (live)" diff native.out live.out
    ok "$what (behind)" diff native.out behind.out
}

# --- h5py ---

# The fixtures that h5py's tests of MPI take from a plug-in of pytest which Debian has not
write_fixtures() {
    cat >mpi_names.py <<'END'
import os, pytest
@pytest.fixture
def mpi_file_name():
    from mpi4py import MPI
    name = os.path.join(os.getcwd(), "mpi.h5")
    if MPI.COMM_WORLD.rank == 0 and os.path.exists(name):
        os.remove(name)
    MPI.COMM_WORLD.barrier()
    yield name
    MPI.COMM_WORLD.barrier()
END
}

# suite DIRECTORY HOW PACKAGE TESTS COMMAND...: what became of each of the tests, in DIRECTORY.tests;
# TESTS: those of these names, or '' for all
suite() {
    local dir=$1 how=$2 package=$3 tests=$4
    shift 4
    rm -rf "$dir"
    mkdir -p "$dir/tmp"
    (cd "$dir" && TMPDIR=$PWD/tmp through "$how" env PYTHONPATH="$PWD/.." "$@" python3 -m pytest -q --color=no -p mpi_names \
        -p no:cacheprovider --tb=no -rA -k "$tests" --pyargs "h5py.$package.tests") >"$dir.log" 2>&1
    sed -nE 's/^((PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS) .*)/\1/p' "$dir.log" | sed -E 's/ - .*//' | sort >"$dir.tests"
    note "$dir: $(grep -E '(passed|failed).* in ' "$dir.log")"
}

# differing FILE FILE: the names of the tests that have become different, as pytest's -k wants them
differing() {
    comm -3 --nocheck-order "$1" "$2" | sed -E 's/.*:://; s/\[.*//' | sort -u | paste -sd'|' | sed 's/|/ or /g'
}

# With HDF5 alone, too, some fail now and then on a busy machine: what differs is tried again, both ways.
same_suites() {
    local what=$1 package=$2 some differ try how
    shift 2
    suite "$what-native" native "$package" '' "$@"
    some=$(grep -c '^PASSED' "$what-native.tests")
    like "$some" '[5-9]??' "h5py passes its tests ($what) with HDF5 alone"
    cp "$what-native.tests" all.tests
    for how in live behind; do
        cp all.tests "$what-native.tests"
        suite "$what-$how" $how "$package" '' "$@"
        [ $how = live ] || ok "its files being in the cache" grep -q 'bytes in the cache' "$what-$how/log"
        for try in 1 2 3; do
            differ=$(differing "$what-native.tests" "$what-$how.tests")
            [ -n "$differ" ] || break
            note "try $try: $differ"
            suite "$what-native" native "$package" "$differ" "$@"
            suite "$what-$how" $how "$package" "$differ" "$@"
        done
        # it writes to the path of its file by open(2), which is no file yet (veloc(7))
        [ $how = live ] || sed -i /test_write_block/d "$what-native.tests" "$what-$how.tests"
        ok "and test by test the same through the connector ($how)" diff "$what-native.tests" "$what-$how.tests"
    done
}

with_ranks() {
    mkdir ranks && cd ranks || return
    same "h5py's tests of MPI with 2 ranks say the same" sh -c 'PYTHONPATH=../.. mpirun --oversubscribe -n 2 \
        python3 -m pytest -q --color=no -p mpi_names -p no:cacheprovider --pyargs h5py._debian_h5py_mpi.tests.test_file -k TestMPI 2>&1 |
        grep -oE "[0-9]+ (passed|failed|error)" | sort'
    like "$(<native.out)" '*4 passed*4 passed*' 'and pass'
    cd ..
}

# --- netCDF ---

write_cdl() {
    cat >all.cdl <<END
netcdf all {
types:
    compound wind { float speed; int from; };
    int(*) several;
    byte enum sky { clear = 0, cloudy = 1 };
    opaque(4) raw;
dimensions:
    time = UNLIMITED;
    x = 40;
    y = 30;
variables:
    double t(time);
        t:units = "days since 2000-01-01";
    float heat(time, y, x);
        heat:_FillValue = -1.f;
        heat:_ChunkSizes = 1, 10, 20;
        heat:_DeflateLevel = 5;
        heat:_Shuffle = "true";
    string name(time);
    wind w(time);
    several some(time);
    sky over(time);
    raw bits(time);
// global attributes
    :title = "everything";
    :numbers = 1, 2, 3;
data:
    t = 1, 2, 3;
    name = "a", "bb", "";
    w = {1.5, 1}, {2.5, 2}, {3.5, 3};
    some = {1}, {2, 3}, {4, 5, 6};
    over = clear, cloudy, clear;
    bits = 0X01020304, 0X05060708, 0X090a0b0c;
    heat = $(seq -s ', ' 3600);
group: inner {
    dimensions: z = 5;
    variables: int64 deep(z);
        deep:_Endianness = "big";
    data: deep = 1, 2, 3, 4, 9000000000;
}
}
END
}

netcdf_tools() {
    local file how
    mkdir netcdf && cd netcdf && write_cdl || return
    same 'ncgen writes' ncgen -4 -o all.nc ../all.cdl
    same 'ncdump reads what it wrote' ncdump all.nc
    same 'and how it is stored' ncdump -h -s all.nc
    same 'nccopy writes anew, with other chunks' nccopy -d 2 -s -c time/2,y/15,x/40 all.nc other.nc
    same 'and so that all is there' ncdump -s other.nc
    same 'nccopy makes a classic file into one of HDF5' sh -c \
        'printf "netcdf c { dimensions: n = 3; variables: int v(n); data: v = 1,2,3; }" | ncgen -3 -o c.nc && nccopy -k nc4 c.nc c4.nc && ncdump c4.nc'
    same 'what is no file of netCDF is refused in the same words' ncdump ../all.cdl
    same 'nor is one that is not there' ncdump none.nc
    same 'nccopy writes over its own' sh -c 'nccopy -k nc4 all.nc other.nc && ncdump other.nc'
    for file in all other c4; do
        for how in native live behind; do
            # of a member of an old reference h5dump tells where it is in its memory
            (cd $how && HDF5_VOL_CONNECTOR=native h5dump $file.nc 2>&1) |
                sed -E 's/(DATASET|GROUP) [0-9]{12,}/\1/g' >$how.dump
        done
        ok "h5dump reads the same from $file.nc (live)" diff native.dump live.dump
        ok "h5dump reads the same from $file.nc (behind)" diff native.dump behind.dump
    done
    ok 'files were in the cache' grep -q 'bytes in the cache' behind/log
    cd ..
}

# --- a checkpoint of h5py, killed: as one file that is made anew each time it needs to be behind ---

# state FILE: which version of it is there; nothing while a new name is only taken
state() { [ -s "$1" ] && ! grep -q 'h5veloc stub' "$1" && stat -c '%i %z' "$1"; }

# changed FILE TIMES PID: waits until it was replaced so often, or the process is gone
changed() {
    local was now n=$2
    was=$(state "$1" 2>/dev/null)
    while ((n > 0)) && kill -0 "$3" 2>/dev/null; do
        now=$(state "$1" 2>/dev/null)
        [ "$now" = "$was" ] || n=$((n - 1))
        was=$now
    done
}

killed_script() {
    local walk=$top_srcdir/h5examples/walk.py rounds=10 good=0 from=0 left=0 step began said i pid
    mkdir walk && cd walk || return
    for ((i = 1; i <= rounds; i++)); do
        through behind exec python3 -u "$walk" walk.h5 1000000000 >said 2>&1 &
        pid=$!
        until grep -q begins said || ! kill -0 $pid; do :; done
        changed walk.h5 $i $pid
        kill -9 $pid
        wait $pid 2>/dev/null
        began=$(sed -n 's/begins at step //p' said)
        step=$(HDF5_VOL_CONNECTOR=native h5dump -a /step walk.h5 2>&1 | sed -n 's/.*(0): //p')
        note "round $i: began at step ${began:-?}, was killed, and left step ${step:-?}"
        # what is at its path may be behind what is in the cache, and neither goes back
        [ "${began:--1}" -ge "$from" ] && [ "${began:--1}" -ge "$left" ] && [ "${step:--1}" -ge "$left" ] && good=$((good + 1))
        from=${began:-0} left=${step:-0}
    done
    is $good $rounds 'a script with h5py that is killed goes on from where it was, and HDF5 alone reads what it leaves'
    said=$(through behind python3 "$walk" walk.h5 $((from + 10000)) | tail -n 1)
    is "$said" "$(through native python3 "$walk" straight.h5 $((from + 10000)) | tail -n 1)" 'it ends where it would have'
    ok 'its file was in the cache' grep -q 'bytes in the cache' log
    cd ..
}

# --- what make check has ---

some_of_make_check() {
    local build=$1 what=$2
    shift 2
    ok "$what" quietly make -C "$build" check TESTS="$*" || sh "$top_srcdir/test/summary.sh" "$build"
}

ok "Debian's programs are installed" quietly sh -c 'apt-get -q update &&
    apt-get -q -y --no-install-recommends install hdf5-tools netcdf-bin python3-h5py-serial python3-h5py-mpi \
        python3-h5py python3-mpi4py python3-pytest openmpi-bin' || bail_out "no packages"
write_fixtures
[ $# -gt 0 ] || set -- serial openmpi
for flavour; do
    build=$top_srcdir/build/$flavour
    ok "bootstrap builds for $flavour" env H5VELOC_MPI="${flavour/serial/none}" "$top_srcdir/bootstrap" || bail_out "no build"
    ok "and it is installed" quietly make -C "$build" install
    HDF5_PLUGIN_PATH=$(echo /usr/local/lib/h5veloc/hdf5-*-"$flavour")
    export HDF5_PLUGIN_PATH
    tests=$(printf 'test/vol/%s.t ' asks ends errors examples files full habits plugin restarts)
    if [ "$flavour" = serial ]; then
        same_suites serial _debian_h5py_serial H5PY_NEVER_USE_MPI=1
        netcdf_tools
        killed_script
        some_of_make_check "$build" 'tests of the connector and the tools pass without MPI' \
            "$tests" test/cmd/{ls,schema,rebuild,prerun}.t
    else
        same_suites mpi _debian_h5py_mpi H5PY_ALWAYS_USE_MPI=1
        with_ranks
        some_of_make_check "$build" 'tests with several ranks pass, and no thread of ours calls MPI' \
            "$tests" test/mpi/{threads,api_async,api_calls,api_mem,comm,red}.np4 test/mpi/api_single.t \
            test/cmd/{heat,veloc_heat,prerun}.t
    fi
done
done_testing
