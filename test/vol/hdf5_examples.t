#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# HDF5's own examples in C, with HDF5 alone and through the connector: each ends with the same status,
# says the same and leaves the same files, as h5dump and h5dump through the connector read them. The
# programs of a folder follow each other in one directory, as some read what others wrote.
# HDF5_EXAMPLES='H5G H5VDS': only these folders.
: "${top_srcdir:?}" "${CC:?}" "${HDF5_CFLAGS?}" "${HDF5_LIBS?}" "${MPI_CFLAGS?}" "${MPI_LIBS?}" "${PARALLEL_HDF5?}"
# shellcheck source=test/tap/tap.sh
. "$top_srcdir/test/tap/tap.sh"

src=${HDF5_SOURCE:-}/HDF5Examples/C
[ -d "$src" ] || skip_all "the sources of HDF5 are not here: configure --with-hdf5-source=DIR"
h5dump=$(PATH=${HDF5_BINDIR:-}:$PATH command -v h5dump) || skip_all "no h5dump"
cd "$(tap_dir)" || bail_out "no directory"
mkdir cache
# A plug-in with a sanitizer needs a program with it; what HDF5 leaks is not ours to report.
sanitize=
case ${SANITIZER:-} in *address*) sanitize=-fsanitize=address ;; esac
export ASAN_OPTIONS="detect_leaks=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
export VELOC_CACHE_BASE="$PWD/cache" VELOC_CNTL_BASE="$PWD" VELOC_LOG_LEVEL=INFO VELOC_LOG_FILE="$PWD/log"
read -ra flags <<<"$HDF5_CFLAGS $MPI_CFLAGS"
read -ra libs <<<"$HDF5_LIBS $MPI_LIBS"

# compile FOLDER PROGRAM
compile() {
    local old=()
    case $1 in */16) old=(-DH5_USE_16_API) ;; esac
    # shellcheck disable=SC2086  # a compiler may have options
    $CC -w -O0 $sanitize -D_GNU_SOURCE "${flags[@]}" "${old[@]}" -o "$2" "$src/$1/$2.c" "${libs[@]}" -lm
}

# the programs of FOLDER, in the order in which HDF5 runs them; then those that it leaves out
programs() {
    {
        [ ! -e "$src/$1/CMakeLists.txt" ] ||
            cat "$src/$1/C_sourcefiles.cmake" "$src/$1/CMakeLists.txt" 2>/dev/null | grep -oE '\bp?h5[a-z0-9_-]+'
        (cd "$src/$1" && printf '%s\n' *.c | sed 's/\.c$//')
    } | awk '!seen[$0]++' | while read -r program; do
        [ ! -e "$src/$1/$program.c" ] || echo "$program"
    done
}

# run CONNECTOR COMMAND...: what it says and its status
run() {
    local connector=$1
    shift
    (cd "$here/$connector" && HDF5_VOL_CONNECTOR=$connector "$@" </dev/null >../said 2>&1
        echo "status $?" >>../said)
    # Nobody promises which address a thing has. What ranks say is mixed anywhere: each letter as often.
    case $here in *H5PAR) tr -d '\n' <"$here/said" | fold -w 1 | LC_ALL=C sort | uniq -c ;; *) sed -E 's/0x[0-9a-f]+/ADDRESS/g' "$here/said" ;; esac
}

# the files in the directory of CONNECTOR as h5dump reads them through READER
files() {
    (cd "$here/$1" && find . -name .veloc -prune -o -type f -print | LC_ALL=C sort | while read -r file; do
        echo "$file"
        # of the members of an old object reference h5dump tells where they are in its memory; of one
        # file it prints more than a hundred megabytes
        case $file in
        *.h5) HDF5_VOL_CONNECTOR=$2 "$h5dump" "$file" 2>&1 | head -n 20000 | sed -E 's/GROUP [0-9]{12,}/GROUP/' ;;
        *) cksum <"$file" ;;
        esac
    done)
}

# ranks FOLDER PROGRAM: the words before the command of a parallel program, as many ranks as it wants
ranks() {
    case $1/$2 in
    H5PAR/*by_col) echo "$top_srcdir/test/mpirun.sh" 2 ;;
    H5PAR/*) echo "$top_srcdir/test/mpirun.sh" 4 ;;
    esac
}

# compare FOLDER: one check for each program, and two for what they leave. Every second one has its files behind.
compare() {
    local folder=$1 program launch
    here=$PWD/${folder//\//-}
    mkdir -p "$here/native" "$here/veloc"
    for connector in native veloc; do
        (cd "$here/$connector" && mkdir red blue u2w && cp "$src/$folder"/*.h5 . 2>/dev/null)
    done
    for program in $(programs "$folder"); do
        # prints what lies behind its array: not even HDF5 alone says the same twice
        [ "$program" != h5ex_vds-exclim ] || continue
        compile "$folder" "$program" >"$here/$program.cc" 2>&1 || {
            note "$folder/$program does not compile here"
            continue
        }
        read -ra launch <<<"$(ranks "$folder" "$program")"
        if [ "${VELOC_UNLISTED:-LIVE}" = LIVE ]; then export VELOC_UNLISTED=BEHIND; else VELOC_UNLISTED=LIVE; fi
        run native "${launch[@]}" "$PWD/$program" >"$here/$program.native"
        run veloc "${launch[@]}" "$PWD/$program" >"$here/$program.veloc"
        ok "$folder/$program: the same" diff "$here/$program.native" "$here/$program.veloc"
        rm "$program"
    done
    files native native >"$here/native.dump"
    files veloc native >"$here/veloc.dump"
    ok "$folder: the same files" diff "$here/native.dump" "$here/veloc.dump"
    files veloc veloc >"$here/through.dump"
    ok "$folder: also when read through the connector" diff "$here/native.dump" "$here/through.dump"
}

for folder in ${HDF5_EXAMPLES:-H5D H5D/16 H5FLT H5G H5G/16 H5T H5T/16 H5VDS TUTR H5PAR}; do
    [ -d "$src/$folder" ] || continue
    [ "$folder" != H5PAR ] || [ "$PARALLEL_HDF5" = yes ] || continue
    compare "$folder"
done
[ -n "${HDF5_EXAMPLES:-}" ] || like "$(<log)" '*bytes in the cache*' 'files were written in the cache'
done_testing
