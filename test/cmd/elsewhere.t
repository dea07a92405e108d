#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A checkpoint is in the caches alone, and the settings name other caches now: nobody says that it is lost, but where
# nobody has looked.
: "${top_srcdir:?}" "${top_builddir:?}" "${TOOLS:?}"
# shellcheck source=test/tap/tap.sh
. "$top_srcdir/test/tap/tap.sh"
[ "${MPI_KIND:?}" != no ] || skip_all "this build has no MPI"
dir=$(tap_dir)
mkdir "$dir/p" "$dir/c" "$dir/d" "$dir/n"
cd "$dir/p" || bail_out "no $dir/p"
export VELOC_CNTL_BASE="$dir/n" VELOC_VIRTUAL_NODES=2 VELOC_FLUSH=0 VELOC_PEER_TIMEOUT=10
steps() {
    "$top_srcdir/test/mpirun.sh" 2 "$top_builddir/test/cmd/steps" "$@" >"$dir/out" 2>&1
}
list() { "$TOOLS/h5veloc-ls" "$@"; }
row() { list | grep ' steps  *1 '; }

export VELOC_CACHE_BASE="$dir/c"
ok 'a checkpoint in the caches' steps 1 1
like "$(row)" '* complete *yes, cache' 'can be restored'
export VELOC_CACHE_BASE="$dir/d"
like "$(row)" "* unknown: *; not looked at: $dir/c, where its launch had caches and which these settings do not name" \
    'with another CACHE_BASE it is said where nobody has looked'
is "$(row | grep -c lost)" 0 'and not that it is lost'
like "$(list --json)" '*"restart": "unknown"*' 'a script is told the same'
like "$(printf 'STORE=%s\n' "$dir/c" >.velocconf && row)" '* complete *yes, cache' 'where a line names them they are looked at'
rm .velocconf
ok 'a program that starts with the other CACHE_BASE' steps 2 2
like "$(<"$dir/out")" "*dataset 1 (steps 1) is not found: it was in caches only, and none of those that were looked at has any of it ($dir/d)*" \
    'is told which caches were looked at'

# what is there and cannot be restored is not called nowhere, however many there are
rm -rf "$dir/c" "$dir/d"
mkdir "$dir/q" "$dir/c"
cd "$dir/q" || bail_out "no $dir/q"
export VELOC_CACHE_BASE="$dir/c" VELOC_CACHE_SIZE=3
ok 'three checkpoints in the caches' steps 1 3
find "$dir/c" -name 'part-*.bin' -delete
ok 'of which no file is left' steps 4 4
is "$(grep -c 'dataset [123] (steps [123])' "$dir/out")" 3 'are told, each once'
is "$(grep -c 'is not found' "$dir/out")" 0 'and none as if nothing of it were there'
done_testing
