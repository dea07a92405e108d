#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# text.t - what every text of ours looks like; clang-format and shellcheck have their say, too.
# shellcheck source=test/lint/lint.sh
. "${top_srcdir:?run it by make check}/test/lint/lint.sh"

# texts TREE: lines that look wrong. Test data may look as it likes.
texts() {
    (cd "$1" && lint_files . | grep -Ev '^(COPYING$|test/data/|test/fuzz/corpus/)' |
        xargs awk -f "$lint_dir/text.awk")
}

# formatted TREE: lines that clang-format would write otherwise
formatted() {
    (cd "$1" && lint_files . '*.[ch]' | grep -v '^test/data/' |
        xargs clang-format --dry-run --Werror 2>&1 |
        awk '/error: / && !($1 in told) { told[$1]; print }' FS='[ ]')
}

# checked TREE: what shellcheck says of scripts, each in the shell that it names
checked() {
    (cd "$1" && lint_scripts . | xargs shellcheck -x -f gcc)
}

has_clang_format() { clang-format --version 2>/dev/null | grep -q 'version 14\.'; }
has_shellcheck() { command -v shellcheck >/dev/null; }

clean "texts are tidy" texts "$top_srcdir"
if has_clang_format; then
    clean "C is as clang-format writes it" formatted "$top_srcdir"
else
    skip 1 "there is no clang-format 14"
fi
if has_shellcheck; then
    clean "scripts please shellcheck" checked "$top_srcdir"
else
    skip 1 "there is no shellcheck"
fi

# planted FILE LINE PATTERN TEXT: on the second line of a file, below the licence
planted() {
    local tree
    tree=$(mktemp -d "$(tap_dir)/XXXXXX")
    plant "$tree" "$1" '/* SPDX-License-Identifier: BSD-3-Clause */' "$2"
    if [ -n "$3" ]; then
        caught "$1:2: $3" "$4" texts "$tree"
    else
        clean "$4" texts "$tree"
    fi
}
planted src/a.c $'\tint x;' 'a tab*' "a tab in C is caught"
planted src/a.mk $'\techo' '' "make needs tabs"
planted doc/a.md 'text ' 'blanks*' "so are trailing blanks"
planted doc/a.md $'text\r' 'blanks*' "so are carriage returns"
planted src/a.h "/* $(printf '%95s' x) */" '101 columns*' "so are 101 columns"
planted src/a.h "/* $(printf '%94s' x) */" '' "100 columns are well"
planted src/a.c "/* TO""DO: more */" 'something is left*' "so is what is left to do"
planted src/a.c "/* TO""DO: more, issue 17 */" '' "unless an issue knows"
planted tool.sh "curl https://deb.debian"".org/x" 'a package host*' "so is a package host"
planted doc/a.txt "see /wo""rk/main" 'a path*' "so is a path of one machine"
tree=$(tap_dir)/tree
plant "$tree" src/a.c 'int x;'
caught 'src/a.c:1: no SPDX*' "so is a source without licence" texts "$tree"

if has_clang_format; then
    cp "$top_srcdir/.clang-format" "$tree"
    plant "$tree" src/a.c 'int x;' 'int  y;'
    caught 'src/a.c:2:*' "so is what clang-format would change" formatted "$tree"
else
    skip 1 "there is no clang-format 14"
fi
if has_shellcheck; then
    # shellcheck disable=SC2016  # it is to be bad there
    plant "$tree" run '#!/bin/sh' 'rm -r $1'
    caught 'run:2:*SC2086*' "so is what shellcheck finds" checked "$tree"
else
    skip 1 "there is no shellcheck"
fi
done_testing
