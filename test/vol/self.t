#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A file that MPI-IO opens for one rank, of MPI_COMM_SELF: with a line it is protected as any, and the program sees
# what it sees without h5veloc.
: "${top_srcdir:?}" "${top_builddir:?}" "${TOOLS:?}" "${HDF5_PLUGIN_PATH:?}"
# shellcheck source=test/tap/tap.sh
. "$top_srcdir/test/tap/tap.sh"
[ "${PARALLEL_HDF5:-}" = yes ] || skip_all 'this HDF5 is serial'
dir=$(tap_dir)
# A plug-in with a sanitizer needs a program with it; what HDF5 leaks is not ours to report.
export ASAN_OPTIONS="detect_leaks=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
export VELOC_CACHE_BASE="$dir/cache" VELOC_CNTL_BASE="$dir" VELOC_LOG_FILE="$dir/log"

fresh() {
    rm -rf "$dir/cache" "$dir/p"
    mkdir "$dir/cache" "$dir/p"
    cd "$dir/p" || bail_out "no directory"
}
run() { TEST_TIMEOUT=60 "$top_srcdir/test/mpirun.sh" 2 "$top_builddir/test/vol/mpio" f "${1:-self}" 2>&1; }
datasets() { "$TOOLS/h5veloc-ls" 2>&1; }

fresh
want=$(run)
like "$want" '*of 1, atomic 1, 999 in the last cell*' 'without h5veloc'
cp f.0.h5 "$dir/native.h5"

fresh
is "$(VELOC_DATASET='f PATTERN=f.{rank}.h5' HDF5_VOL_CONNECTOR=veloc run)" "$want" 'a program sees the same with a line'
like "$(datasets)" '* f *2*flushed*yes, cache*' 'its files are protected'
is "$("${HDF5_BINDIR:?}/h5diff" f.0.h5 "$dir/native.h5" 2>&1)" '' 'and the same at their paths'

fresh
is "$(HDF5_VOL_CONNECTOR='veloc behind' run)" "$want" 'so does one all of whose files are'

fresh
is "$(HDF5_VOL_CONNECTOR=veloc run)" "$want" 'and one without a line'
is "$(ls)" 'f.0.h5
f.1.h5' 'whose files are where MPI-IO has written them, and no others'

# --- MPI-IO has no locks ---

fresh
is "$(VELOC_DATASET='f PATTERN=f.h5' HDF5_VOL_CONNECTOR=veloc run both)" '5000 5001' \
    'what two ranks change in one file at the same time is there'

# --- of all ranks ---

fresh
is "$(VELOC_DATASET='f PATTERN=f.{rank}.h5' HDF5_VOL_CONNECTOR=veloc run all)" $'999\n999' \
    'what one rank has closed is read by all ranks by MPI-IO: it comes to its path first'

done_testing
