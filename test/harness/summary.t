#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# summary.sh, on results that Automake's own driver makes of tests that go right and wrong.
# shellcheck source=test/tap/tap.sh
. "${top_srcdir:?run it by make check}/test/tap/tap.sh"

build="$(tap_dir)/a build"
mkdir -p "$build/test/unit" "$build/tmp"
summary() { "$top_srcdir/test/summary.sh" "$build" "$build/tmp"; }
last() { tail -n 1 <<<"$1"; }

# a_test NAME SCRIPT: what Automake does with a test that is this script
a_test() {
    AM_TAP_AWK="awk" sh "$top_srcdir/build-aux/tap-driver.sh" --test-name "$1" \
        --log-file "$build/test/unit/$1.log" --trs-file "$build/test/unit/$1.trs" \
        --color-tests no --enable-hard-errors yes --expect-failure no \
        -- sh -c "$2" >/dev/null 2>&1
}

touch "$build/test-suite.log"
said=$(summary)
is "$? $(last "$said")" "1 0 passed, 0 failed" "where nothing ran nothing is well"

a_test good.t 'echo 1..2; echo ok 1 - a; echo ok 2 - b'
said=$(summary)
is "$? $said" "0 2 passed, 0 failed" "checks are counted, not programs"

touch "$build/tmp/h5veloc-test.x"
said=$(summary)
is "$? $(last "$said")" "1 2 passed, 1 failed" "what tests leave in their TMPDIR is a failure"
like "$said" "*h5veloc-test.x*" "and is named"
rm "$build/tmp/h5veloc-test.x"

a_test skips.t 'echo 1..2; echo ok 1 - a; echo "ok 2 # SKIP no disk"'
a_test skipped.t 'echo "1..0 # SKIP no root"'
said=$(summary)
is "$? $said" "0 3 passed, 0 failed, 2 skipped" "what is skipped is told apart"

a_test known.t 'echo 1..1; echo "not ok 1 - a # TODO issue 7"'
said=$(summary)
is "$? $said" "0 4 passed, 0 failed, 2 skipped" "a known failure passes"

a_test bad.t 'echo 1..2; echo ok 1; echo "# all is well"; echo not ok 2 - the disk is safe; echo "# it is full"'
said=$(summary)
is "$? $(last "$said")" "1 5 passed, 1 failed, 2 skipped" "a failed check fails the run"
like "$said" "*FAIL: bad.t 2 - the disk is safe
  # it is full
*" "and is named, with why"
is "$(grep -c 'all is well' <<<"$said")" 0 "but not what went right"

a_test crash.t 'echo 1..1; echo ok 1; kill -SEGV $$'
is "$(last "$(summary)")" "6 passed, 2 failed, 2 skipped" "a crash after the last check is a failure"
a_test early.t 'echo 1..3; echo ok 1'
is "$(last "$(summary)")" "7 passed, 3 failed, 2 skipped" "so are checks that are missing"
a_test silent.t 'true'
is "$(last "$(summary)")" "7 passed, 4 failed, 2 skipped" "so is a test without a plan"
a_test surprise.t 'echo 1..1; echo "ok 1 - a # TODO issue 7"'
is "$(last "$(summary)")" "7 passed, 5 failed, 2 skipped" "so is a known failure that passes"
: >"$build/test/unit/torn.trs"
is "$(last "$(summary)")" "7 passed, 6 failed, 2 skipped" "so is a result that was not written"

rm "$build"/test/unit/* "$build/test-suite.log"
a_test good.t 'echo 1..1; echo ok 1'
said=$(summary)
is "$? $(last "$said")" "1 1 passed, 1 failed" "a run that was cut short is a failure"
done_testing
