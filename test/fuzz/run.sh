#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# run.sh TARGET... - build fuzz targets with clang's libFuzzer, address and undefined-behaviour
# sanitizers, and run each for FUZZ_SECONDS. Called by `make fuzz` in the build directory.
set -eu
: "${top_srcdir:?}"
command -v clang >/dev/null || { echo "fuzzing needs clang with libFuzzer" >&2; exit 1; }
mkdir -p fuzz-corpus
# what the libraries without MPI are made of, as make knows it
sources=
for source in ${SOURCES:?}; do
    case $source in *.c) sources="$sources $top_srcdir/$source" ;; esac
done
for name in "$@"; do
    echo "fuzz: $name for ${FUZZ_SECONDS:=60} seconds"
    # shellcheck disable=SC2086 # flags are lists of words; room names have no blanks
    clang -std=gnu11 -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all \
        -DHAVE_CONFIG_H -DFUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION \
        -DH5VELOC_SYSCONFDIR='"/etc"' -DH5VELOC_TRANSPORTDIR='"/usr/lib/h5veloc"' ${CPPFLAGS} \
        "$top_srcdir/test/fuzz/$name.c" \
        $sources ${LIBS} -o "fuzz-$name"
    mkdir -p "fuzz-corpus/$name"
    for seed in "$top_srcdir/test/fuzz/corpus/$name"/*.hex; do # bytes as text: see the README there
        [ ! -e "$seed" ] || perl -ne 's/#.*//; s/\s//g;
            if (/^@(\d+)/) { print "\0" x ($1 - $n); $n = $1 } else { $n += length($_) / 2; print pack "H*", $_ }' \
            "$seed" >"fuzz-corpus/$name/$(basename "$seed" .hex)"
    done
    "./fuzz-$name" -max_total_time="$FUZZ_SECONDS" -timeout=10 -print_final_stats=1 \
        "fuzz-corpus/$name" "$top_srcdir/test/fuzz/corpus/$name" 2>"fuzz-$name.log" || {
        tail -40 "fuzz-$name.log" >&2
        echo "fuzz: $name found a crash; its input is below the build directory" >&2
        exit 1
    }
    grep -E 'stat::(number_of_executed_units|peak_rss_mb)' "fuzz-$name.log"
done
