#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The programs of h5examples that know nothing of h5veloc, alone and through the connector: they say the
# same, go on from each other's files, and leave files that HDF5 alone can read.
: "${top_srcdir:?}" "${top_builddir:?}" "${TOOLS:?}" "${HDF5_PLUGIN_PATH:?}"
# shellcheck source=test/tap/tap.sh
. "$top_srcdir/test/tap/tap.sh"
dir=$(tap_dir)
mkdir "$dir/native" "$dir/veloc" "$dir/cache"
# A plug-in with a sanitizer needs a program with it; what HDF5 leaks is not ours to report.
export ASAN_OPTIONS="detect_leaks=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
export VELOC_CACHE_BASE="$dir/cache" VELOC_CNTL_BASE="$dir" VELOC_LOG_LEVEL=INFO
examples=$top_builddir/h5examples

native() { (cd "$dir/native" && "$@" 2>&1); }
veloc() { (cd "$dir/veloc" && HDF5_VOL_CONNECTOR='veloc behind' VELOC_LOG_FILE="$dir/log" "$@" 2>&1); }

# same WHAT COMMAND...: both say this, and have something to say
same() {
    local what=$1 said
    shift
    said=$(native "$@")
    like "$?: $said" '0: *[0-9]*' "$what runs with HDF5 alone"
    is "$(veloc "$@")" "$said" 'and says the same through the connector'
}

# swap FILE: that of each becomes that of the other
swap() {
    cp "$dir/native/$1" "$dir/other" && cp "$dir/veloc/$1" "$dir/native/$1" && cp "$dir/other" "$dir/veloc/$1"
}

same 'a serial program' "$examples/serial" state.h5 250
like "$(veloc "$examples/serial" state.h5 300)" 'begins at step 250*' 'it goes on from its file'
native "$examples/serial" state.h5 360 >/dev/null
swap state.h5
like "$(native "$examples/serial" state.h5 420)" 'begins at step 300*' 'and so does HDF5 alone'
like "$(veloc "$examples/serial" state.h5 420)" 'begins at step 360*' 'what was changed without the connector is seen'
like "$(<"$dir/log")" '*state.h5: * bytes in the cache*' 'which was written in the cache'

same 'a program that appends' "$examples/append" series.h5 20
same 'which opens its file again, too,' "$examples/append" series.h5 30
native "$examples/append" series.h5 35 >/dev/null
swap series.h5
like "$(native "$examples/append" series.h5 1)" '31 values*' 'HDF5 alone appends to its file'
like "$(veloc "$examples/append" series.h5 1)" '36 values*' 'and it to one that was changed without the connector'
like "$(<"$dir/log")" '*series.h5: * bytes in the cache*' 'which was written in the cache'

# the line that the pages show is the one that the demonstration uses, and means the files of checkpoint.c
line=$(sed -n 's/^echo .\(DATASET=.*\). >.*/\1/p' "$top_srcdir/h5examples/demo.sh")
is "$(sed -n 's/^    DATASET=/DATASET=/p' "$top_srcdir/README.md")" "$line" 'README.md has the line of the demonstration'
is "$(sed -n '/^DATASET=/s/\\-/-/gp' "$top_srcdir/doc/veloc.7")" "$line" 'so has veloc(7)'
echo "$line" >"$dir/veloc.conf"
ok 'which is right' "$TOOLS/h5veloc-schema" --file="$dir/veloc.conf" check

hdf5=$(sed -n 's/^HDF5_VERSION = //p' "$top_builddir/Makefile") kind=serial
[ "${PARALLEL_HDF5:-}" != yes ] || kind=parallel
# Debian has an h5py for each
[ $kind = serial ] || export H5PY_ALWAYS_USE_MPI=1
hdf5="$hdf5 $kind"
theirs=$(python3 -c 'import h5py
print(h5py.version.hdf5_version, "parallel" if h5py.get_config().mpi else "serial")' 2>/dev/null)
why=
[ "$theirs" = "$hdf5" ] || why="the HDF5 of h5py is $theirs, and ours $hdf5"
[ -n "$theirs" ] || why='python3 has no h5py'
[ -z "${SANITIZER:-}" ] || why='python3 cannot load a plug-in with a sanitizer'
if [ -n "$why" ]; then
    skip 4 "$why"
    done_testing
    exit
fi
same 'a script with h5py' python3 "$top_srcdir/h5examples/walk.py" walk.h5 250
is "$(native python3 "$top_srcdir/h5examples/walk.py" walk.h5 420)" \
    "$(veloc python3 "$top_srcdir/h5examples/walk.py" walk.h5 420)" 'so it does when it goes on'
like "$(native python3 "$top_srcdir/h5examples/walk.py" walk.h5 500)" 'begins at step 420*' 'from its file'
done_testing
