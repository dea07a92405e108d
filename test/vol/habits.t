#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A program that takes the newest file it finds, keeps the last three and removes older ones, and one
# that writes under another name and renames: while files come to their own path later, it is killed
# and run again, and says what it says with HDF5 alone.
: "${top_srcdir:?}" "${top_builddir:?}" "${TOOLS:?}" "${HDF5_PLUGIN_PATH:?}"
# shellcheck source=test/tap/tap.sh
. "$top_srcdir/test/tap/tap.sh"
dir=$(tap_dir)
# A plug-in with a sanitizer needs a program with it; what HDF5 leaks is not ours to report.
export ASAN_OPTIONS="detect_leaks=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
export VELOC_CACHE_BASE="$dir/cache" VELOC_CNTL_BASE="$dir" VELOC_CACHE_SIZE=8
habit=$top_builddir/test/vol/habit

native() { (cd "$dir/native" && "$habit" "$@" 2>&1); }
veloc() { (cd "$dir/veloc" && HDF5_VOL_CONNECTOR=veloc VELOC_LOG_FILE="$dir/log" "$habit" "$@" 2>&1); }

# so slow that nothing has come to its path when the program is killed
slowly() { VELOC_FLUSH_BANDWIDTH=100 veloc "$@"; }

for how in plain tmp; do
    rm -rf "$dir/native" "$dir/veloc" "$dir/cache"
    mkdir "$dir/native" "$dir/veloc" "$dir/cache"
    echo 'DATASET=s PATTERN=s.* PUBLISH=BEHIND' >"$dir/veloc/.velocconf"
    native $how 9 7 >/dev/null
    (slowly $how 9 7) >/dev/null 2>&1
    is "$(cd "$dir/veloc" && find . -name 's.*.h5' -size +4k | wc -l)" 0 "$how: killed, nothing has come to its path yet"
    is "$(cd "$dir/veloc" && echo s.00?.h5)" "$(cd "$dir/native" && echo s.00?.h5)" 'but the names are there'
    said=$(native $how 9 0)
    like "$said" 'begins with s.006.h5*s.009.h5 has step 9' 'the next one goes on from the newest name'
    is "$(veloc $how 9 0)" "$said" 'and says the same through the connector'
    is "$(cd "$dir/veloc" && "$habit" $how 9 0)" "$(native $how 9 0)" 'the last three are plain files when it has ended'
done

# --- what lines say of names
rm -rf "$dir/veloc" "$dir/cache"
mkdir "$dir/veloc" "$dir/cache"
cat >"$dir/veloc/.velocconf" <<'EOF'
CACHE_SIZE=1
PREFIX_SIZE=1
DATASET=a PATTERN=a.{step}.h5 KEEP=2
DATASET=b PATTERN=b.{step}.h5
EOF
habit=$top_builddir/test/vol/exits veloc b.1.h5 b.2.h5 b.3.h5 a.5.h5 a.6.h5 a.0.h5 a.00.h5 a.007.h5
cached=$(find "$dir/cache" -name '*.h5' -printf '%f\n' | sort | tr '\n' ' ')
like "$cached" 'a.00.h5 a.007.h5 *b.3.h5 ' 'the newest two of a name with KEEP=2 are in the cache, and older ones are not'
is "$(cd "$dir/veloc" && echo ./*.h5)" './a.0.h5 ./a.00.h5 ./a.007.h5 ./a.5.h5 ./a.6.h5 ./b.1.h5 ./b.2.h5 ./b.3.h5' 'and what is on the prefix stays there'
is "$(cd "$dir/veloc" && "$TOOLS/h5veloc-ls" |
    awk '$1 == "*" { printf "(%s) %s ", $3, $4 } $2 == "a" { printf "%s ", $3 }')" '(a) 7 0 0 6 5 ' 'steps are as they are written: 0 and 00 are two'
done_testing
