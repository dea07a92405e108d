#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# dist.t - the distribution has every file that git tracks, but for git's own.
# shellcheck source=test/lint/lint.sh
. "${top_srcdir:?run it by make check}/test/lint/lint.sh"
# shellcheck source=/dev/null
. "$lint_vars"

# missing TREE DISTFILES: tracked files that are not among the words, which may be absolute or
# begin at the top directory as make knows it
missing() {
    local names
    read -ra names <<<"$2"
    lint_all_files "$1" | awk -v "top=${3:-$1}/" '
        FILENAME == "-" { if ($0 !~ /(^|\/)\.git(ignore|attributes|modules)$/) tracked[$0]; next }
        { if (index($0, top) == 1) $0 = substr($0, length(top) + 1); sub(/^\.\//, ""); listed[$0] }
        END { for (name in tracked) if (!(name in listed))
            print name ":1: make dist leaves it out: add it to EXTRA_DIST in its local.mk" }' \
        - <(printf '%s\n' "${names[@]}") | sort
}

if ! git -C "$top_srcdir" ls-files --error-unmatch configure.ac >/dev/null 2>&1; then
    skip 1 "this is no git checkout"
else
    clean "make dist takes every file" missing "$top_srcdir" "${distfiles:?}" "${srcdir:?}"
fi

tree=$(tap_dir)/tree
plant "$tree" .gitignore '*.o'
plant "$tree" src/a.c '/* a */'
plant "$tree" README.md 'a'
clean "however they are named" missing "$tree" "$tree/src/a.c README.md"
caught "src/a.c:1: make dist leaves it out: *" "one that is forgotten is caught" \
    missing "$tree" "README.md $tree/src/b.c"
done_testing
