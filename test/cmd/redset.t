#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# h5examples/redset.c as its user runs it: launches that know nothing of each other, and
# directories of ranks that are gone in between.
: "${top_srcdir:?}" "${top_builddir:?}" "${TOOLS:?}"
# shellcheck source=test/tap/tap.sh
. "$top_srcdir/test/tap/tap.sh"
[ "${MPI_KIND:?}" != no ] || skip_all "this build has no MPI"
dir=$(tap_dir)
cd "$dir" || bail_out "no $dir"
# MPI libraries leak at exit, which is not ours to report.
export ASAN_OPTIONS="detect_leaks=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}"

# run TYPE: one launch of four ranks over the files in "files"; its lines in order
run() {
    "$top_srcdir/test/mpirun.sh" 4 \
        "$top_builddir/h5examples/redset" "$1" files 2>&1 </dev/null | sort
    return "${PIPESTATUS[0]}"
}
sum() { sed -n 's/^step 30, //p' <<<"$1"; }

mkdir files
for _ in 1 2 3; do whole=$(run XOR); done
like "$whole" 'step 30, *' 'three launches take thirty steps'
like "$(ls files/rank.2)" 'walk.2.XOR.grp_0_of_1.mem_2_of_4.*.h5vr*way' 'each leaves a redundancy file beside the file'

# lose TYPE RANK...: three launches, and before each but the first these ranks lose everything
lose() {
    local type=$1 out
    shift
    rm -rf files
    mkdir files
    for _ in 1 2 3; do
        out=$(run "$type") || return
        (cd files && rm -rf "$@")
    done
    echo "$out"
}
for try in 'XOR rank.1' 'XOR rank.3' 'PARTNER rank.0 rank.2' 'RS rank.0 rank.3'; do
    # shellcheck disable=SC2086  # a type and names
    out=$(lose $try)
    is "$(sum "$out")" "$(sum "$whole")" "$try lost twice: the same way is walked"
    like "$out" '*member *: *no redundancy file that can be read*' 'and it is told who was lost'
done

# what is left now are two of four ranks under RS: another launch may protect otherwise
out=$(run XOR)
like "$out" '*step 40, *' 'another launch may protect by another scheme'
like "$(ls files/rank.0)" 'walk.0.XOR.*' 'and leaves nothing of the scheme before'
is "$(find files -name '*.h5vr' | wc -l)" 4 'one redundancy file for each rank'

rm -rf files/rank.1
out=$("$TOOLS/h5veloc-rebuild" --into=files files/rank.? 2>&1)
is $? 0 'h5veloc-rebuild brings a rank back without MPI'
like "$(run XOR)" 'step 50, *' 'and the next launch finds nothing missing'

rm -rf files/rank.1 files/rank.2
before=$(find files -type f -exec sha256sum {} + | sort)
out=$(run XOR)
is $? 1 'more losses than the scheme bears end the launch'
like "$out" '*cannot go on: *members 1, 2 of a set of 4 are lost, and XOR here bears the loss of 1*' 'with a sentence'
is "$(find files -type f -exec sha256sum {} + | sort)" "$before" 'and nothing is changed'
done_testing
