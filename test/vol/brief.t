#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Ranks of a launcher that names nothing, over in a moment: nobody waits for others who cannot come,
# neither to begin nor to end. PEER_TIMEOUT is longer than any test may last.
: "${top_srcdir:?}" "${top_builddir:?}" "${HDF5_PLUGIN_PATH:?}"
# shellcheck source=test/tap/tap.sh
. "$top_srcdir/test/tap/tap.sh"
[ "${MPI_KIND:-no}" != no ] || skip_all 'there is no MPI to launch ranks'
dir=$(tap_dir)
export ASAN_OPTIONS="detect_leaks=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
export VELOC_CACHE_BASE="$dir/cache" VELOC_CNTL_BASE="$dir" VELOC_LOG_FILE="$dir/log"
export VELOC_PEER_TIMEOUT=1000 VELOC_SEAL_AFTER=1000

# brief STEPS: by two ranks
brief() {
    (cd "$dir/prefix" && TEST_TIMEOUT=60 HDF5_VOL_CONNECTOR=veloc \
        "$top_srcdir/test/mpirun.sh" 2 "$top_builddir/test/vol/brief" "$@" >/dev/null 2>&1)
}
files() { find "$dir/prefix" -name 'ck.*.h5' -size +1k | wc -l; }

mkdir "$dir/prefix" "$dir/cache"
ok 'the first launch begins and ends at once' brief 3
is "$(files)" 6 'and its files are at their path'
ok 'so does the next' brief 3
done_testing
