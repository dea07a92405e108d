#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# docs.t - settings, tools and functions have their man pages, test data its README.
# shellcheck source=test/lint/lint.sh
. "${top_srcdir:?run it by make check}/test/lint/lint.sh"
# shellcheck source=/dev/null
. "$lint_vars"
no_groff="there is no groff"
has_groff() { command -v groff >/dev/null; }

# missing_in PAGE: of the words on stdin those that the page does not have
missing_in() {
    if [ -f "$1" ]; then
        awk -f "$lint_dir/docs.awk" - "$1"
    else
        cat >/dev/null
        echo "$1:1: there is no such page"
    fi
}

# settings TREE: rows of the table of settings that their man page does not know
settings() {
    (cd "$1" && awk -F '[(,]' '/^(SETTING|CHILD)\(/ {
        key = $1 == "CHILD" ? $3 : $2
        gsub(/[ "]/, "", key)
        print key " " FILENAME ":" FNR " the setting"
    }' src/conf/schema.def | missing_in doc/veloc.conf.5)
}

# in_force TREE: settings that no source reads, unless they are for nobody; and those that do wrongly
in_force() {
    (cd "$1" && {
        grep -rhoE --include='*.[ch]' --exclude-dir=conf 'conf(\([^)]*\))?(->|\.)[a-z_]+' src |
            sed 's/.*[>.]//'
        echo '=='
        awk -F '[(,] *' '/^SETTING\(/ { print $3, FILENAME ":" FNR, $2, ($4 == "NOBODY") }' \
            src/conf/schema.def
    } | awk '/^==/ { table = 1; next }
        !table { is_read[$1] = 1; next }
        !($1 in is_read) && !$4 { print $2 ": nothing reads " $3 ": say NOBODY" }
        $1 in is_read && $4 { print $2 ": " $3 " is in force: say for whom" }')
}

# described TREE: sources that doc/architecture.md does not name under the heading of their room
described() {
    (cd "$1" && lint_files . 'src/*.[ch]' 'src/*.def' 'vol/*.[ch]' 'include/*.h' 'test/tap/*.[ch]' |
        awk '{
            base = room = $0
            sub(/.*\//, "", base); sub(/\.[a-z]*$/, "", base); sub(/\/[^\/]*$/, "", room)
            print room, base, $0 }' |
        awk 'FNR == NR {
                if (/^##/) room = $2
                else while (match($0, /`[A-Za-z0-9_.]+`/)) {
                    name = substr($0, RSTART + 1, RLENGTH - 2)
                    sub(/\..*/, "", name)
                    named[room, name] = 1
                    $0 = substr($0, RSTART + RLENGTH)
                }
                next
            }
            !(($1, $2) in named) { print $3 ":1: it has no sentence in doc/architecture.md" }' \
            doc/architecture.md -)
}

# tool TREE PROGRAM: sections and long options that the page of a built tool has not
tool() {
    local name=${2##*/} page section
    page=doc/$name.1
    (cd "$1" && "$2" --help 2>&1 | grep -Eo -- '(^|[^A-Za-z0-9-])--[a-z][a-z0-9-]*' |
        sed 's/^[^-]//' | sort -u | sed "s|\$| $page:1 the option|" | missing_in "$page"
    [ -f "$page" ] || exit
    for section in NAME SYNOPSIS DESCRIPTION OPTIONS 'EXIT STATUS' EXAMPLES; do
        grep -Eq "^\.SH \"?$section\"?\$" "$page" || echo "$page:1: there is no section $section"
    done)
}

# page_of PAGE: in $page the page that it is, or points to with a .so in its only line
page_of() {
    local line=''
    page=$1
    [ ! -f "$page" ] || IFS= read -r line <"$page"
    [[ $line != '.so man3/'* ]] || page=doc/${line#.so man3/}
}

# functions TREE: what libveloc exports and no page of section 3 describes by its name
functions() {
    (cd "$1" && awk '/global:/ { on = 1; next } /local:/ { on = 0 }
        on && sub(/;.*/, "") { print FILENAME ":" FNR, $1 }' src/api/api.map |
        while read -r where name; do
            page_of "doc/$name.3"
            missing_in "$page" <<<"$name $where the function"
        done)
}

# set_well TREE: pages that groff complains of
set_well() {
    (cd "$1" && lint_files . 'doc/*.[1-8]' | while IFS= read -r name; do
        page_of "$name"
        [ "$page" = "$name" ] || continue
        groff -man -ww -z "$page" 2>&1
    done)
}

# explained TREE: test data that the README beside it, or above it, does not name by a name or a
# pattern, which are relative to the README
explained() {
    local words_of=none words=()
    (cd "$1" && find test/data test/fuzz/corpus -type f ! -name 'README*' 2>/dev/null | sort |
        while IFS= read -r file; do
            dir=${file%/*}
            while [ "$dir" != test ] && [ ! -f "$dir/README" ] && [ ! -f "$dir/README.md" ]; do
                dir=${dir%/*}
            done
            words_in "$dir"
            named "${file#"$dir"/}" ||
                echo "$file:1: no README beside it or above tells what it is"
        done)
}

# words_in DIR: in words those of its README, read once for all files that it tells of
words_in() {
    local readme=("$1"/README*)
    [ "$1" != "$words_of" ] || return 0
    words_of=$1 words=()
    [ ! -f "${readme[0]}" ] || mapfile -t words < <(
        tr -s '[:space:]`|,;:()' '\n' <"${readme[0]}" | sed 's/\.$//' | grep '[A-Za-z0-9]'
    )
}

# named NAME: one of the words is the name or a pattern for it (of more than stars)
named() {
    local word
    for word in "${words[@]}"; do
        # shellcheck disable=SC2254  # it is a pattern
        case $1 in $word) return 0 ;; esac
    done
    return 1
}

if [ -f "$top_srcdir/src/conf/schema.def" ]; then
    clean "every setting is in veloc.conf(5)" settings "$top_srcdir"
    clean "settings without effect are told as such" in_force "$top_srcdir"
else
    skip 2 "there is no table of settings yet"
fi
clean "every source has a sentence in the architecture" described "$top_srcdir"
for program in ${programs?}; do
    clean "${program##*/} is described, with all its options" \
        tool "$top_srcdir" "$top_builddir/$program"
done
clean "every function of libveloc has a man page" functions "$top_srcdir"
if has_groff; then
    clean "groff has nothing to say to the pages" set_well "$top_srcdir"
else
    skip 1 "$no_groff"
fi
clean "test data is explained" explained "$top_srcdir"

tree=$(tap_dir)/tree
plant "$tree" src/conf/schema.def '#define SETTING(KEY)' 'SETTING(SET_SIZE, set_size, INT)' \
    'CHILD(STORE, ' 'CHILD(STORE, MKDIR, mkdir, BOOL)' 'SETTING(SET, set)'
sed -i 3d "$tree/src/conf/schema.def"
plant "$tree" doc/veloc.conf.5 '.SH NAME' '.B SET_SIZE' '.\" SET' 'its \fBMKDIR\fR.'
caught 'src/conf/schema.def:4: the setting SET is not in doc/veloc.conf.5' \
    "a setting without a word is caught" settings "$tree"

plant "$tree" src/conf/schema.def 'SETTING(A, one, ALL, INT, "", "1: that")' \
    'SETTING(B, two, NOBODY, INT, "", "that")'
plant "$tree" src/topo/a.c 'return conf->one;'
clean "settings that are read are for somebody" in_force "$tree"
plant "$tree" src/topo/a.c 'return other->one;'
caught 'src/conf/schema.def:1: nothing reads A: *' "one that nobody reads does" in_force "$tree"
plant "$tree" src/topo/a.c 'return conf->one && settings_conf(s->session)->two;'
caught 'src/conf/schema.def:2: B is in force: *' "and one for nobody that is read is caught" \
    in_force "$tree"

plant "$tree" doc/architecture.md '### src/topo' "- \`a\`, \`b.def\` are two" '### src/red' "- \`c\` another"
plant "$tree" src/topo/b.def '/* */'
rm "$tree/src/conf/schema.def"
clean "sources that the architecture names are found" described "$tree"
plant "$tree" src/topo/c.c 'int a;'
caught 'src/topo/c.c:1: it has no sentence *' "one of another room is not" described "$tree"
plant "$tree" src/conf/schema.def 'SETTING(A)'

plant "$tree" bin/h5veloc-x '#!/bin/sh' "echo '  -j, --json[=N]  print'; echo '  --out-dir=DIR'"
chmod +x "$tree/bin/h5veloc-x"
caught 'doc/h5veloc-x.1:1: there is no such page' "so is a tool" tool "$tree" "$tree/bin/h5veloc-x"
page=('.SH NAME' '.SH SYNOPSIS' '.SH DESCRIPTION' '.SH OPTIONS' '.BR \-j ", " \-\-json'
    '.SH EXIT STATUS' '.SH EXAMPLES')
plant "$tree" doc/h5veloc-x.1 "${page[@]}" '\-\-out'
caught 'doc/h5veloc-x.1:1: the option --out-dir is not*' "so is an option" \
    tool "$tree" "$tree/bin/h5veloc-x"
plant "$tree" doc/h5veloc-x.1 "${page[@]}" '\fB\-\-out\-dir\fR=\fIDIR\fR'
clean "what is there is found" tool "$tree" "$tree/bin/h5veloc-x"
sed -i '/EXIT/d' "$tree/doc/h5veloc-x.1"
caught 'doc/h5veloc-x.1:1: *EXIT STATUS' "so is a section" tool "$tree" "$tree/bin/h5veloc-x"

plant "$tree" src/api/api.map 'V {' 'global:' '    VELOC_A;' '    VELOC_B;' 'local:' '    *;' '};'
plant "$tree" doc/VELOC_A.3 '.SH NAME' 'VELOC_A \- a'
caught 'doc/VELOC_B.3:1: there is no such page' "so is a function" functions "$tree"
plant "$tree" doc/VELOC_B.3 '.so man3/VELOC_A.3'
caught '*the function VELOC_B is not in doc/VELOC_A.3' "also one on the page of another" functions "$tree"
plant "$tree" doc/VELOC_A.3 '.SH NAME' 'VELOC_A, VELOC_B \- a and b'
clean "unless that describes it" functions "$tree"
if has_groff; then
    plant "$tree" doc/VELOC_A.3 '.TH A 3 2026-01-01' '.SH NAME' '.NOSUCHMACRO'
    rm "$tree"/doc/*.[15]
    caught '*doc/VELOC_A.3:3: *' "so is a page that groff does not like" set_well "$tree"
else
    skip 1 "$no_groff"
fi

plant "$tree" test/data/conf/README 'good-*.conf are well; odd.conf is not.'
plant "$tree" test/data/conf/good-1.conf a
plant "$tree" test/data/conf/odd.conf a
plant "$tree" test/fuzz/corpus/record/README.md '*/empty: nothing'
plant "$tree" test/fuzz/corpus/record/a/empty a
clean "data that is named is explained" explained "$tree"
plant "$tree" test/data/conf/bad-1.conf a
caught 'test/data/conf/bad-1.conf:1: no README*' "other data is caught" explained "$tree"
done_testing
