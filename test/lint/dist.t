#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# dist.t - the distribution has every file that git tracks, but for git's own, and no other that is not there.
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

# gone TREE DISTFILES [TOP]: those of the words below the top directory that are not in the tree
gone() {
    local name names
    read -ra names <<<"$2"
    for name in "${names[@]#"${3:-$1}/"}"; do
        [ -e "$1/$name" ] || [ -e "$name" ] || echo "$name:1: make dist wants it, and it is not there: take it out of EXTRA_DIST in its local.mk"
    done | sort -u
}

if ! git -C "$top_srcdir" ls-files --error-unmatch configure.ac >/dev/null 2>&1; then
    skip 2 "this is no git checkout"
else
    clean "make dist takes every file" missing "$top_srcdir" "${distfiles:?}" "${srcdir:?}"
    clean "and all that it wants are there" gone "$top_srcdir" "${distfiles:?}" "${srcdir:?}"
fi

tree=$(tap_dir)/tree
plant "$tree" .gitignore '*.o'
plant "$tree" src/a.c '/* a */'
plant "$tree" README.md 'a'
clean "however they are named" missing "$tree" "$tree/src/a.c README.md"
caught "src/a.c:1: make dist leaves it out: *" "one that is forgotten is caught" \
    missing "$tree" "README.md $tree/src/b.c"
caught "src/b.c:1: make dist wants it*" "and so is one that went" gone "$tree" "README.md $tree/src/b.c"
clean "what is there is wanted" gone "$tree" "README.md $tree/src/a.c"
done_testing
