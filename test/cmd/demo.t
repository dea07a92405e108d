#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The demonstration runs: killed programs that lose a node, too, go on from what the others have: an HDF5
# program that knows nothing of h5veloc, and one that calls veloc.h.
set -u
mpi=$(sed -n 's/^MPI_KIND = //p' Makefile)
if [ "$mpi" = no ]; then
    echo "1..0 # SKIP this build has no MPI"
    exit
fi
echo 1..1
# Two ranks tell the story as well as four. MPI libraries leak at exit, which is not ours to report.
ASAN_OPTIONS=detect_leaks=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}
export ASAN_OPTIONS
# One MPI job at a time, as in test/mpirun.sh: they would only stretch each other.
exec 9</tmp
flock 9
# shellcheck disable=SC2154  # automake sets srcdir
if story=$(sh "$srcdir/h5examples/demo.sh" "$PWD" 2 2>&1 9>&-); then
    echo "ok 1 - programs that are killed and lose a node go on with the same result, from rebuilt files"
else
    echo "not ok 1 - programs that are killed and lose a node go on with the same result, from rebuilt files"
fi
printf '%s\n' "$story" | sed 's/^/# /'
