#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A program may have functions of its own under any name, those of the libraries that we use among
# them: json-c's old fork has a json_object_get, and many a program a gf_mul. Neither is ours to call.
: "${top_srcdir:?}" "${top_builddir:?}" "${TOOLS:?}" "${HDF5_PLUGIN_PATH:?}" "${CC:?}" "${HDF5_CFLAGS?}" "${HDF5_LIBS?}"
: "${MPI_CFLAGS?}" "${MPI_LIBS?}"
# shellcheck source=test/tap/tap.sh
. "$top_srcdir/test/tap/tap.sh"
[ -z "${SANITIZER:-}" ] || skip_all 'the program is built without sanitizers'
[ "${MPI_KIND:-no}" != no ] || skip_all 'there is no MPI to launch ranks'
dir=$(tap_dir)
read -ra flags <<<"$HDF5_CFLAGS $MPI_CFLAGS"
read -ra libs <<<"$HDF5_LIBS $MPI_LIBS"
export VELOC_CACHE_BASE="$dir/cache" VELOC_CNTL_BASE="$dir" VELOC_LOG_FILE="$dir/log" VELOC_LOG_LEVEL=INFO
export VELOC_VIRTUAL_NODES=2 VELOC_SET_SIZE=2 VELOC_SEAL_AFTER=1000
mkdir "$dir/prefix" "$dir/cache"
echo 'DATASET=ck PATTERN=ck.{step}.{rank}.h5' >"$dir/prefix/.velocconf"

# what $1 gives, by the linker's way to find it
names_of() {
    echo 'int main(void) { return 0; }' >"$dir/empty.c"
    # shellcheck disable=SC2086 # CC may have flags
    $CC -o "$dir/empty" "$dir/empty.c" -Wl,--no-as-needed "-l$1" || bail_out "cannot link -l$1"
    nm -D --defined-only "$(ldd "$dir/empty" | awk -v "lib=lib$1." 'index($1, lib) { print $3 }')" |
        awk '$2 == "T" { sub(/@.*/, "", $3); print $3 }'
}
{
    echo '#include <stdlib.h>'
    echo '#include <unistd.h>'
    echo 'static void taken(const char *name, size_t n) { if (write(2, name, n)) {} abort(); }'
    { names_of jansson && names_of isal; } | sort -u |
        awk '{ printf "void %s(void) { taken(\"%s was taken\\n\", sizeof \"%s was taken\"); }\n", $1, $1, $1 }'
} >"$dir/greedy.c"
ok 'there is a program with all their names' test "$(wc -l <"$dir/greedy.c")" -gt 100
# the engine's own functions, of which a program may know nothing
echo 'void vel_fail(void) { taken("vel_fail", 8); } void vel_crc32c(void) { taken("vel_crc32c", 10); }' >>"$dir/greedy.c"
# shellcheck disable=SC2086
$CC -w -fno-builtin -rdynamic "${flags[@]}" -o "$dir/greedy" "$top_srcdir/test/vol/brief.c" "$dir/greedy.c" "${libs[@]}" ||
    bail_out 'cannot build it'

greedy() {
    (cd "$dir/prefix" && TEST_TIMEOUT=60 HDF5_VOL_CONNECTOR=$1 "$top_srcdir/test/mpirun.sh" 2 "$dir/greedy" 2)
}
ok 'it runs' greedy native
rm "$dir"/prefix/*
ok 'and with the connector' greedy veloc
is "$(find "$dir/prefix" -name 'ck.*.h5' -size +1k | wc -l)" 4 'its files come to their path'
like "$("$TOOLS/h5veloc-ls" "$dir/prefix")" '* XOR *2/2 *' 'after they were protected by XOR'

# Where a library is not there nothing works with settings, and files are as without us.
mkdir "$dir/broken" "$dir/plain"
echo 'no library' >"$dir/broken/$(basename "$(ldd "$dir/empty" | awk 'index($1, "libisal.") { print $1 }')")"
alone() { (cd "$dir/plain" && LD_LIBRARY_PATH="$dir/broken" HDF5_VOL_CONNECTOR=veloc "$top_builddir/test/vol/brief" 1); }
like "$(VELOC_LOG_FILE='' alone 2>&1)" '*h5veloc*cannot work without libisal*' 'without ISA-L a sentence says so'
ok 'and the file is at its path' test -s "$dir/plain/ck.0.0.h5"
like "$(LD_LIBRARY_PATH="$dir/broken:$LD_LIBRARY_PATH" "$TOOLS/h5veloc-ls" "$dir/prefix" 2>&1)" \
    'h5veloc-ls: h5veloc cannot work without libisal*' 'and a tool says so'
done_testing
