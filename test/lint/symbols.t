#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# symbols.t - a library gives just what its .map promises and needs no library it shall not know.
# shellcheck source=test/lint/lint.sh
. "${top_srcdir:?run it by make check}/test/lint/lint.sh"
# shellcheck source=/dev/null
. "$lint_vars"

# promised MAP: "line pattern" of what stands under global:
promised() {
    awk '{ sub(/\/\*.*\*\//, "") }
        /\/\*/ { comment = 1 } comment { if (/\*\//) comment = 0; next }
        /global:/ { on = 1; sub(/.*global:/, "") } /local:/ { on = 0 }
        on { n = split($0, word, /[ \t;]+/)
             for (i = 1; i <= n; i++) if (word[i] != "") print FNR, word[i] }' "$1"
}

# given LIBRARY: what it exports; a version node is absolute
given() {
    nm -D --defined-only "$1" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort -u
}

# exports LIBRARY MAP: what is exported and not promised, or promised and not there
exports() {
    given "$1" >"$(tap_dir)/given"
    promised "$2" | awk -v "map=$2" -v "lib=${1##*/}" '
        FILENAME == "-" { line[$2] = $1; next }
        {
            hit = ""
            for (pattern in line) {
                like = pattern
                gsub(/\*/, ".*", like)
                if ($1 ~ "^" like "$") { hit = pattern; used[pattern] }
            }
            if (hit == "") print map ":1: " lib " exports " $1 ", which is not promised"
        }
        END { for (pattern in line) if (!(pattern in used))
            print map ":" line[pattern] ": " lib " does not export " pattern }' - "$(tap_dir)/given"
}

# needs LIBRARY REGEX: needed libraries that match
needs() {
    readelf -d "$1" | awk -v "lib=$1" -v "never=$2" '/\(NEEDED\)/ {
        gsub(/[][]/, "", $NF)
        if ($NF ~ never) print lib ": needs " $NF ", which it shall not know" }'
}

# judged NAME MAP NEVER: the library of that name, when this build has it
judged() {
    local lib=$top_builddir/$1
    if [ ! -e "$lib" ]; then
        skip 2 "this build has no $1"
        return
    fi
    clean "${1##*/} gives what ${2##*/} promises" exports "$lib" "$top_srcdir/$2"
    clean "${1##*/} needs none of $3" needs "$lib" "$3"
}
# base/library.h loads these
loaded='^lib(isal|jansson)[.]so'
mpi='^lib(mpi|pmpi|mpich|open-(rte|pal))'
judged src/.libs/libveloc_core.so src/core.map "$mpi|^libhdf5|$loaded"
judged src/.libs/libveloc.so src/api/api.map "^libhdf5|$loaded"
judged vol/.libs/libh5veloc.so vol/plugin.map "${serial_hdf5:+$mpi|^libveloc[.]so|}$loaded"

# planted libraries: two functions, and one that is to be hidden
# lost LIBRARY DIR: a library that does not look in DIR for those that it needs
lost() {
    readelf -d "$1" | awk -v "lib=$1" -v "dir=$2" '
        /R(UN)?PATH/ { gsub(/.*\[|\].*/, ""); if (index(":" $0 ":", ":" dir ":")) found = 1 }
        END { if (!found) print lib ": does not look in " dir " for its libraries" }'
}
for lib in src/.libs/libveloc.so vol/.libs/libh5veloc.so; do
    [ ! -e "$top_builddir/$lib" ] ||
        clean "${lib##*/} finds our libraries where they are installed" lost "$top_builddir/$lib" "${libdir:?}"
done

work=$(tap_dir)/work
plant "$work" a.c 'int vel_a(void) { return 1; }' 'int vel_b(void) { return 2; }' \
    'int own(void) { return 3; }'
plant "$work" mpi.c 'int vel_mpi(void) { return 1; }'
plant "$work" good.map '/* a; b */' 'V1 {' 'global:' '    vel_a;' '    vel_b;' 'local:' '    *;' '};'
plant "$work" more.map 'V1 {' 'global:' '    vel_a;' '    vel_b;' '    vel_c;' 'local:' '    *;' '};'
plant "$work" less.map 'V1 {' 'global:' '    vel_a;' 'local:' '    *;' '};'
read -ra cc <<<"${cc:?}"
so() {
    (cd "$work" && "${cc[@]}" -fPIC -shared -o "$@") || bail_out "cannot link $1"
}
so libx.so a.c -Wl,--version-script=good.map
clean "what is promised and given is well" exports "$work/libx.so" "$work/good.map"
caught '*more.map:5: libx.so does not export vel_c' "a promise that is not kept is caught" \
    exports "$work/libx.so" "$work/more.map"
caught '*less.map:1: libx.so exports vel_b, *' "so is a symbol more" \
    exports "$work/libx.so" "$work/less.map"
so libmpi.so.12 mpi.c -Wl,-soname,libmpi.so.12
so liby.so a.c -Wl,--no-as-needed ./libmpi.so.12
caught '*liby.so: needs libmpi.so.12, *' "so is a library that is not to be known" \
    needs "$work/liby.so" "$mpi"
caught '*liby.so: does not look in /opt/lib *' "so is one that does not look where ours are" lost "$work/liby.so" /opt/lib
clean "others are not" needs "$work/liby.so" '^libhdf5'
done_testing
