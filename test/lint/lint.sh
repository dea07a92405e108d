# SPDX-License-Identifier: BSD-3-Clause
# lint.sh - what the lint tests share. A lint is a shell function that is given a tree and prints
# a line "file:line: sentence" for each violation, and nothing for a tree that is well. Each is
# tried on the tree we build and on small trees with a violation planted.
# shellcheck shell=bash
# shellcheck source=test/tap/tap.sh
. "${top_srcdir:?run it by make check}/test/tap/tap.sh"

# shellcheck disable=SC2034  # used by the tests
lint_dir=$top_srcdir/test/lint
# shellcheck disable=SC2034
lint_vars=${top_builddir:?run it by make check}/test/lint/build.vars
LC_ALL=C
export LC_ALL

# lint_files TREE [PATTERN...]: the tree's own files, relative to it, that match a shell pattern;
# what git tracks, or what was unpacked without what builds leave there (no binaries, no
# wrappers of libtool)
lint_files() {
    local tree=$1 name pattern
    shift
    lint_all_files "$tree" | while IFS= read -r name; do
        [ -f "$tree/$name" ] || continue
        [ $# -gt 0 ] || echo "$name"
        for pattern; do
            # shellcheck disable=SC2254  # it is a pattern
            case $name in $pattern) echo "$name" && break ;; esac
        done
    done
}

lint_all_files() {
    if [ -e "$1/.git" ] && git -C "$1" ls-files 2>/dev/null; then
        return
    fi
    (cd "$1" && find . \( -name '_build' -o -name '_inst' -o -name .libs -o -name .deps \
        -o -path './build*' -o -name autom4te.cache -o -name .git \) -prune -o -type f \
        ! -name '*.o' ! -name '*.lo' ! -name '*.la' ! -name '*.log' ! -name '*.trs' \
        ! -name Makefile ! -name Makefile.in ! -name build.vars ! -path ./aclocal.m4 \
        ! -path './config.[hls]*' ! -path ./configure ! -path ./libtool ! -path './stamp-h*' \
        ! -name '*~' ! -path './m4/l*.m4' ! -path './veloc*.pc' -exec grep -Il '' {} + |
        tr '\n' '\0' | xargs -0 grep -L 'temporary wrapper[ ]script for' | sed 's|^\./||' | sort)
}

# lint_scripts TREE: the shell scripts, by their first line or their name
lint_scripts() {
    (cd "$1" && lint_files . | while IFS= read -r name; do
        case $name in
        *.c | *.h | *.mk | *.m4 | *.md) ;;
        *.sh) echo "$name" ;;
        *) IFS= read -r first <"$name" 2>/dev/null
            case $first in '#!'*sh | '#!'*'sh -'*) echo "$name" ;; esac ;;
        esac
    done) 2>/dev/null
}

# clean TEXT LINT ARGS...: nothing is found
clean() {
    local text=$1 said
    shift
    said=$("$@" 2>&1)
    if [ -z "$said" ]; then
        pass "$text"
    else
        fail "$text"
        note "$said"
    fi
}

# caught PATTERN TEXT LINT ARGS...: one line matches the shell pattern, and it is the only one
caught() {
    local pattern=$1 text=$2 said
    shift 2
    said=$("$@" 2>&1)
    # shellcheck disable=SC2053  # the right side is a pattern
    if [[ $said == $pattern && $said != *$'\n'* ]]; then
        pass "$text"
    else
        fail "$text"
        note "want one line like '$pattern', got:"
        note "$said"
    fi
}

# plant TREE FILE LINE...: a file of these lines
plant() {
    local file=$1/$2
    shift 2
    mkdir -p "${file%/*}"
    printf '%s\n' "$@" >"$file"
}
