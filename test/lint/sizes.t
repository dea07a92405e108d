#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# sizes.t - files of at most 500 lines, functions of at most 80.
# shellcheck source=test/lint/lint.sh
. "${top_srcdir:?run it by make check}/test/lint/lint.sh"

# sizes TREE ALLOW: what is too long and not allowed to, and what of the list is not needed
sizes() {
    (cd "$1" && { lint_files . '*.[ch]' && lint_scripts . && lint_files . '*.awk'; } |
        xargs awk -v "allow=$2" -f "$lint_dir/sizes.awk" "$2")
}

clean "files and functions are short" sizes "$top_srcdir" "$lint_dir/sizes.allow"

tree=$(tap_dir)/tree
none=$(tap_dir)/none
echo '# nothing' >"$none"
# lines COUNT TEXT: so many lines of it
lines() {
    awk -v "n=$1" -v "text=$2" 'BEGIN { while (n--) print text }'
}
# function_of LINES: planted in a file with another one before and after
function_of() {
    mkdir -p "$tree/src"
    {
        echo 'int before(void)'; echo '{'; lines 20 '    x();'; echo '}'; echo
        echo '/* what it does'; echo ' * and why */'
        echo 'static const struct vel_thing *'; echo 'vel_thing_find(int a,'
        echo '               int b)'; echo '{'; lines "$(($1 - 5))" '    if (x) {}'; echo '}'; echo
        echo 'static const int after[] = {'; lines 90 '    1,'; echo '};'
    } >"$tree/src/a.c"
}
allow() { printf '%s\n' "$@" >"$(tap_dir)/allow"; }
allowed() { sizes "$tree" "$(tap_dir)/allow"; }

function_of 80
clean "80 lines are a function" sizes "$tree" "$none"
function_of 81
caught 'src/a.c:27: src/a.c:vel_thing_find has 81 lines, 80*' "81 are too many" sizes "$tree" "$none"
allow '2026-01-31 src/a.c:vel_thing_find 81 a table in disguise'
clean "unless the list allows them" allowed
function_of 82
caught 'src/a.c:27: *has grown from 81 to 82 lines' "and no more than them" allowed
allow '2026-01-31 src/a.c:vel_thing_find 83 a table in disguise'
caught '*sizes.allow:1: *lower the entry' "an entry gets shorter with the function" allowed
function_of 80
caught '*sizes.allow:1: *remove the entry' "and goes when it is not needed" allowed
allow '2026-01-31 src/a.c:gone 83 a table in disguise'
caught '*sizes.allow:1: *is no more*' "or when there is no such function" allowed
allow 'src/a.c:vel_thing_find 83'
caught '*sizes.allow:1: an entry is DATE*' "an entry has a date and a reason" allowed

rm "$tree/src/a.c"
lines 500 '/* */' >"$tree/src/b.h"
{ echo '#!/bin/sh'; lines 499 '#'; } >"$tree/src/run"
clean "500 lines are a file" sizes "$tree" "$none"
echo '/* */' >>"$tree/src/b.h"
caught 'src/b.h:501: src/b.h has 501 lines, 500*' "501 are too many" sizes "$tree" "$none"
rm "$tree/src/b.h"
echo '#' >>"$tree/src/run"
caught 'src/run:501: *' "of a script, too" sizes "$tree" "$none"
done_testing
