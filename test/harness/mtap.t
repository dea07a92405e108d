#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# What mok says when ranks fail: planted failures, told apart by their TAP.
# shellcheck source-path=SCRIPTDIR
. "${top_srcdir:?run it by make check}/test/tap/tap.sh"
run() { "$top_srcdir/test/mpirun.sh" 4 "${top_builddir:?}/test/harness/planted" "$@"; }

[ "${MPI_KIND:-no}" != no ] || skip_all "built without MPI"

said=$(run fail 2>&1)
is $? 1 "a program with a failed check fails"
like "$said" "*not ok 1 - nobody is rank 2*" "a failing rank fails the check"
like "$said" "*# fails on rank 2 of 4: *planted.c:[0-9]*: !is_culprit()*" \
    "the failing rank, the place and the code are named"
like "$said" "*not ok 2 - *# fails on ranks 2-3 of 4: *: got 1, want 0*" \
    "ranks that got the same are named together"
like "$said" "*# fails on ranks 0-3 of 4: *: mtap_rank() < 0*" "a range of ranks is compact"
is "$(grep -c '^\(not \)\?ok ' <<<"$said")" 3 "one line a check, however many ranks"
is "$(grep -c '^1\.\.3$' <<<"$said")" 1 "there is one plan"

said=$(run apart 2>&1)
like "$said" "*not ok 1*# the ranks stand at different checks*" \
    "ranks that stand at different checks are a failure"
like "$said" "*# fails on ranks 0-1,3 of 4: *# fails on rank 2 of 4: *" \
    "and it is said who stands where"

done_testing
