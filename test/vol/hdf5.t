#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# HDF5's own test of its API, with HDF5 alone and through the connector: test by test the same.
# The sources are those of the HDF5 in use, which bootstrap keeps (configure --with-hdf5-source).
# Nothing in them builds these tests without CMake, so they are compiled here.
: "${top_srcdir:?}" "${CC:?}" "${HDF5_CFLAGS?}" "${HDF5_LIBS?}" "${MPI_CFLAGS?}" "${MPI_LIBS?}" "${PARALLEL_HDF5?}"
# shellcheck source=test/tap/tap.sh
. "$top_srcdir/test/tap/tap.sh"

[ -n "${HDF5_SOURCE:-}" ] || skip_all "the sources of HDF5 are not here: configure --with-hdf5-source=DIR"
cd "$(tap_dir)" || bail_out "no directory"
src=$HDF5_SOURCE

# what CMake would have made
echo '#include <H5pubconf.h>' >H5config.h
echo '/* nothing */' >H5_api_test_config.h
echo "static const char *config_srcdir = \"$src/test\";" >H5srcdir_str.h

# A plug-in with a sanitizer can only be loaded by a program with it. Leaks are HDF5's,
# as are two variables of one name.
sanitize=
case ${SANITIZER:-} in *address*) sanitize=-fsanitize=address ;; *thread*) sanitize=-fsanitize=thread ;; esac
export ASAN_OPTIONS="detect_leaks=0:detect_odr_violation=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}"

# build PROGRAM FILES...: the part of HDF5's test library that they need comes with them
build() {
    local program=$1 flags=()
    shift
    read -ra flags <<<"$HDF5_CFLAGS $MPI_CFLAGS"
    read -ra libs <<<"$HDF5_LIBS $MPI_LIBS"
    # shellcheck disable=SC2086  # a compiler may have options
    $CC -w -O0 $sanitize -D_GNU_SOURCE -Wl,--allow-multiple-definition -I. -I"$src/src" -I"$src/test" \
        -I"$src/test/API" -I"$src/testpar" -I"$src/testpar/API" "${flags[@]}" -o "$program" "$@" \
        "$src/test/h5test.c" "$src/test/testframe.c" "${libs[@]}" -lm
}

# run DIRECTORY CONNECTOR COMMAND...: with $line for settings, its output in DIRECTORY.out, without what the connector says and the time has chosen
run() {
    local dir=$1 connector=$2 status
    shift 2
    mkdir "$dir" "$dir.n" "$dir.c"
    [ -z "${line:-}" ] || echo "$line" >"$dir/.velocconf"
    (cd "$dir" && HDF5_VOL_CONNECTOR=$connector VELOC_LOG_LEVEL=INFO VELOC_LOG_FILE="$PWD/h5veloc.log" \
        VELOC_CACHE_BASE="$PWD.c" VELOC_CNTL_BASE="$PWD.n" "$@") </dev/null >"$dir.all" 2>&1
    status=$?
    grep -v -e 'VOL connector' -e '^h5veloc: ' -e 'Test seed' "$dir.all" >"$dir.out"
    return $status
}

# counts DIRECTORY: how many passed, failed and were skipped
counts() {
    sed -n 's|^\(At least \)*\([0-9]*\)/\([0-9]*\) .*|\2 of \3|p' "$1.all" | paste -sd' '
}

api=()
for file in "$src"/test/API/H5_api_*.c; do
    case $file in *async*) ;; *) api+=("$file") ;; esac
done
ok "the test of the API compiles" build h5_api_test "${api[@]}" || bail_out "no program"
run native native ../h5_api_test
run veloc veloc ../h5_api_test
like "$(counts native)" '[1-9]* of * 0 of * * of *' 'HDF5 alone passes its own test'
is "$(counts veloc)" "$(counts native)" 'as many tests pass through the connector'
ok 'and they are the same' cmp native.out veloc.out
run placed veloc env TMPDIR="$PWD" "${top_builddir:?}/test/vol/placed" ../h5_api_test
is "$(counts placed)" "$(counts native)" 'and when all files are in a cache'
ok 'test by test' cmp native.out placed.out
ok 'where they really were' grep -q "bytes in the cache" placed/h5veloc.log

# a line for all files; nobody waits for a timeout, for these are longer than the test may take
number=0
while IFS= read -r line; do
    number=$((number + 1))
    VELOC_PEER_TIMEOUT=300 VELOC_SEAL_AFTER=300 run "lined$number" veloc timeout 240 ../h5_api_test
    is "$(counts "lined$number")" "$(counts native)" "as many with $line"
    ok 'test by test' cmp native.out "lined$number.out"
    ok 'by that line' grep -q "bytes in the cache by DATASET x" "lined$number/h5veloc.log"
done <<'EOT'
DATASET=x PATTERN=* POINTS=1
DATASET=x PATTERN=* PUBLISH=BEHIND
EOT
line=

if [ "$PARALLEL_HDF5" != yes ]; then
    skip 3 'this HDF5 is serial'
    done_testing
    exit
fi
api=("$src/test/API/H5_api_test_util.c")
for file in "$src"/testpar/API/H5_api_*.c; do
    case $file in *async*) ;; *) api+=("$file") ;; esac
done
ok "the parallel test compiles" build h5_api_test_parallel "${api[@]}" || bail_out "no program"
run native4 native "$top_srcdir/test/mpirun.sh" 4 ../h5_api_test_parallel
run veloc4 veloc "$top_srcdir/test/mpirun.sh" 4 ../h5_api_test_parallel
like "$(counts native4)" '[1-9]* of * 0 of * * of *' 'HDF5 alone passes that with 4 ranks'
is "$(counts veloc4)" "$(counts native4)" 'so it does through the connector'
done_testing
