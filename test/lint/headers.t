#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# headers.t - every header compiles alone, by the flags of this build; those that are installed
# also as C++ and beside nothing else of ours. A guard is named after its path.
# shellcheck source=test/lint/lint.sh
. "${top_srcdir:?run it by make check}/test/lint/lint.sh"
# shellcheck source=/dev/null
. "$lint_vars"
read -ra cc <<<"${cc:?}"
read -ra cflags <<<"${cflags:?} ${lib_cflags:?}"
read -ra lib_cflags <<<"$lib_cflags"

# headers TREE PATTERN...: those that this build can compile
headers() {
    local tree=$1
    shift
    lint_files "$tree" "$@" | while IFS= read -r name; do
        if [ "${mpi_kind:?}" = no ] &&
            grep -q -e 'include *<mpi.h>' -e 'include *"veloc_redset.h"' "$tree/$name"; then
            continue
        fi
        echo "$name"
    done
}

# errors COMMAND...: the first error of each file, "file:line: text"
errors() {
    "$@" 2>&1 | awk '/: (fatal )?error: / {
        file = $0; sub(/:.*/, "", file)
        if (!(file in told)) { sub(/:[0-9]+: (fatal )?error:/, ":"); print }
        told[file]
    }'
}

# inner TREE BUILD: headers of the rooms that need another one before them
inner() {
    (cd "$1" && headers . 'src/*.h' 'vol/*.h' | split_args errors "${cc[@]}" \
        "${cflags[@]}" -I"$2" -Isrc -Iinclude -Ivol -include config.h -fsyntax-only -x c)
}

# outer TREE COMPILER...: installed headers that need more than themselves, HDF5 and MPI
outer() {
    local tree=$1
    shift
    (cd "$tree" && headers . 'include/*.h' | split_args errors "$@" -Wall -Wextra -Wundef \
        -Werror -Iinclude "${lib_cflags[@]}" -fsyntax-only)
}

# split_args CMD...: CMD with the lines of stdin added, unless there are none
split_args() {
    local files
    mapfile -t files
    [ ${#files[@]} -eq 0 ] || "$@" "${files[@]}"
}

# guards TREE: headers without a guard of their name
guards() {
    (cd "$1" && lint_files . 'src/*.h' 'vol/*.h' 'include/*.h' 'test/*.h' 'h5examples/*.h' |
        split_args awk -f "$lint_dir/guards.awk")
}

clean "every header of the rooms compiles alone" inner "$top_srcdir" "$top_builddir"
clean "every installed header compiles alone" outer "$top_srcdir" "${cc[@]}" -x c
if cxx=$(command -v g++ || command -v clang++); then
    clean "every installed header compiles alone as C++" outer "$top_srcdir" "$cxx" -x c++
else
    skip 1 "there is no C++ compiler"
fi
clean "guards are named after the path" guards "$top_srcdir"

tree=$(tap_dir)/tree
plant "$tree" config.h '#define HAVE_X 1'
plant "$tree" src/sys/a.h '#ifndef VEL_SYS_A_H' '#define VEL_SYS_A_H' 'int a(size_t x);' '#endif'
plant "$tree" src/sys/b.h '#ifndef VEL_SYS_B_H' '#define VEL_SYS_B_H' 'int b(int x);' '#endif'
caught "src/sys/a.h:3: *size_t*" "a header that needs another one is caught" inner "$tree" "$tree"
clean "a guard that is right is right" guards "$tree"
plant "$tree" include/veloc.h '#ifndef VELOC_H' '#define VELOC_H' '#include "sys/b.h"' '#endif'
caught "include/veloc.h:3: *sys/b.h*" "so is one that is not installed" outer "$tree" "${cc[@]}" -x c
if [ -n "$cxx" ]; then
    plant "$tree" include/veloc.h '#ifndef VELOC_H' '#define VELOC_H' 'int f(int new);' '#endif'
    caught "include/veloc.h:3: *" "so is a word of C++" outer "$tree" "$cxx" -x c++
else
    skip 1 "there is no C++ compiler"
fi
plant "$tree" src/sys/b.h '#ifndef VEL_B_H' '#define VEL_B_H' '#endif'
caught "src/sys/b.h:1: *VEL_SYS_B_H" "so is a guard of another name" guards "$tree"
plant "$tree" src/sys/b.h '/* b */'
caught "src/sys/b.h:1: no #ifndef VEL_SYS_B_H*" "so is no guard" guards "$tree"
done_testing
