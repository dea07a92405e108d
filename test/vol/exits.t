#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# However a program ends: its last step is whole and at its path, its exit code is its own, it does
# not hang, and says nothing. Children of it do nothing of all that; several programs in one directory
# have nothing in common.
: "${top_srcdir:?}" "${top_builddir:?}" "${TOOLS:?}" "${HDF5_PLUGIN_PATH:?}" "${HDF5_LIBS?}"
# shellcheck source=test/tap/tap.sh
. "$top_srcdir/test/tap/tap.sh"
dir=$(tap_dir)
# A plug-in with a sanitizer needs a program with it; what HDF5 leaks is not ours to report.
export ASAN_OPTIONS="detect_leaks=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
export VELOC_CNTL_BASE="$dir/n" VELOC_CACHE_BASE="$dir/c"
exits=$top_builddir/test/vol/exits
loads=$top_builddir/test/vol/loads
list() { "$TOOLS/h5veloc-ls" "$@"; }

anew() {
    rm -rf "$dir/p" "$dir/c" "$dir/n"
    mkdir "$dir/p" "$dir/c" "$dir/n"
    cd "$dir/p" || bail_out "no $dir/p"
    printf '%s\n' 'DATASET=e PATTERN=e.{step}.h5 PUBLISH=BEHIND' UNLISTED=BEHIND >.velocconf
}
# What it said. On a busy machine any end may take longer than 2 s, and says so.
said() {
    if [ "${tells_end:-}" ]; then cat "$dir/out"; else grep -v '^h5veloc: .*the program ends when' "$dir/out"; fi
}
# native COMMAND..., run COMMAND...: without the connector, through it; what it said and its exit code
native() {
    timeout "${TEST_TIMEOUT:-120}" "$@" </dev/null >"$dir/out" 2>&1
    echo "$? $(said)"
}
run() { HDF5_VOL_CONNECTOR=veloc native "${memcheck[@]}" "${leaks[@]}" "$@"; }
leaks=()
# whole FILE...: those that HDF5 alone reads as they were written
whole() {
    for file; do
        ! is_stub "$file" && [ "$(head -c 8 "$file" 2>/dev/null | od -An -c | tr -d ' ')" = '211HDF\r\n032\n' ] && echo "$file"
    done | tr '\n' ' '
}
for way in $("$exits"); do
    anew
    leaks=() # what threads of its parent held is lost to a forked child
    [[ $way != *child || ${#memcheck[@]} -eq 0 ]] || leaks=(--leak-check=no)
    mkdir native
    said=$(cd native && native "$exits" "$way")
    case $way in
    as_another | with_idle_child)
        is "$(VELOC_FLUSH_BANDWIDTH=1 run "$exits" "$way") $(whole e.?.h5)" '7  ' \
            "$way: its exit code, not a word, and nothing is flushed"
        run "$exits" f.h5 >/dev/null # the next one does
        ;;
    without_records)
        out=$(VELOC_FLUSH_BANDWIDTH=1 run "$exits" "$way")
        like "$out" '7 *h5veloc: error: somebody has removed * stays in *, and all else is written where it belongs*' \
            "$way: its exit code, and it is told"
        stays=$(sed -n 's/.* stays in \([^ ]*\),.*/\1/p' <<<"$out")
        is "$(find . "$stays" -name 'e.?.h5' -size +1 -printf '%f\n' | sort -u | tr '\n' ' ')" 'e.1.h5 e.2.h5 ' 'which names where files are that are not at their paths'
        continue
        ;;
    *)
        is "$(run "$exits" "$way")" "$said" "$way: its exit code, and not a word of ours"
        like "$said" '7 *' 'which is what it is natively'
        ;;
    esac
    is "$(whole e.?.h5)" 'e.1.h5 e.2.h5 ' 'its files are at their paths'
done

# --- a step of a scheduler that runs one program after the other
anew
for i in 1 2; do
    is "$(VELOC_LAUNCH=step run "$exits" plainly) $(whole e.?.h5)" '7  e.1.h5 e.2.h5 ' "the launch's name for the $i. time"
done
is "$(list --json | grep '"launch": "step' | sort -u | wc -l)" 2 'each has its datasets'

# --- run again and again: what stays does not grow with it
anew
for i in 1 2 3 4 5 6; do
    run "$exits" f.h5 >/dev/null
done
ok 'of six runs that write one name the last are in the cache' test "$(find "$dir/c" -name 'dataset.*' | wc -l)" -le 3
launches() { find .veloc -maxdepth 1 -name 'launch.*' | wc -l; }
for i in {7..20}; do # one that ends before it has cleared up leaves it to the next
    [ "$(launches)" -gt 4 ] || break
    run "$exits" f.h5 >/dev/null
done
ok 'nor does what is kept of launches' test "$(launches)" -le 4

# --- an end that takes longer than 2 s says what it waits for
anew
out=$(tells_end=1 VELOC_FLUSH_BANDWIDTH=1000 run "$exits" plainly)
like "$out" '7 *h5veloc: warn: *the program ends when its last files are protected and on the prefix, or when nothing has moved for 300 s (FLUSH_STALL)' \
    'an end that takes its time says what it waits for'
is "$(grep -c h5veloc: <<<"$out")" 1 'once'

anew
HDF5_VOL_CONNECTOR=veloc native "$exits" own.{1..64}.h5 >/dev/null # without memcheck: it would take minutes
for i in {65..80}; do
    HDF5_VOL_CONNECTOR=veloc native "$exits" "own.$i.h5" >/dev/null
done
ok 'of runs that write names of their own, eighty in all, the last are in the cache' test "$(find "$dir/c" -name 'dataset.*' | wc -l)" -le 72
is "$(whole own.*.h5 | wc -w)" 80 'and all are at their own paths'

# --- one that makes many files, each a dataset by itself: who begins later does not read of all of them
anew
HDF5_VOL_CONNECTOR=veloc native "$exits" m.{1..400}.h5 >/dev/null
entries() { list --json . | grep -o '"id":' | wc -l; }
for i in {1..20}; do
    [ "$(entries)" -gt 340 ] || break
    HDF5_VOL_CONNECTOR=veloc native "$exits" f.h5 >/dev/null
done
ok 'of four hundred files as many are known as are cached, and 256' test "$(entries)" -le 340
seals() { for launch in .veloc/launch.*; do grep ' sealed ' "$(find "$launch" -name '1.*' | sort -V | tail -n 1)"; done | wc -l; }
ok 'and no more seals stay than files in the cache' test "$(seals)" -le 80
is "$(whole m.*.h5 | wc -w)" 400 'all are at their own paths'
is "$(list | grep '_m[.]' | grep -c 'no: ')" 0 'and none is called lost'
is "$(run "$exits" m.1.h5) $(whole m.1.h5)" '7  m.1.h5 ' 'one that is not known any more is made again as any'

# --- what is none of ours lies in the cache
anew
run "$exits" plainly >/dev/null
level=$(dirname "$(find "$dir/c" -name 'dataset.*' | head -n 1)")
touch "$level/dataset.99" "$level/new.99" "${level%/*}/index.9" "${level%/*}/9.9"
is "$(run "$exits" plainly) $(whole e.?.h5)" '7  e.1.h5 e.2.h5 ' 'files of others in a cache are passed over'
like "$(list)" '* e *2 *yes, cache*' 'and what is protected there is seen'

# --- HDF5 that is loaded later
hdf5=$(sed -n 's/.*-L\([^ ]*\) .*/\1\/libhdf5.so/p' <<<"$HDF5_LIBS ")
if [ -f "$hdf5" ] && [ -z "${SANITIZER:-}" ]; then
    for scope in local global; do
        anew
        is "$(run "$loads" "$hdf5" $scope e.1.h5) $(whole e.1.h5)" '7  e.1.h5 ' "a program that loads HDF5 ($scope) ends as well"
        is "$(list --json | grep -c '"id"')" 1 'and has the connector'
    done
    if command -v python3 >/dev/null; then
        anew
        is "$(run python3 -c 'import ctypes, sys
h5 = ctypes.CDLL(sys.argv[1])
h5.H5Fcreate.restype = ctypes.c_int64
h5.H5Fcreate.argtypes = [ctypes.c_char_p, ctypes.c_uint, ctypes.c_int64, ctypes.c_int64]
h5.H5Fclose.argtypes = [ctypes.c_int64]
h5.H5Fclose(h5.H5Fcreate(b"e.1.h5", 2, 0, 0))
h5.H5Fcreate(b"e.2.h5", 2, 0, 0)
sys.exit(7)' "$hdf5") $(whole e.?.h5)" '7  e.1.h5 e.2.h5 ' 'Python does, with a file open'
    else
        skip 1 'there is no python3'
    fi
else
    skip 5 'the library of HDF5 is not known by its file, or a sanitizer must be first'
fi

# --- eight at once, whose files look as if one program had written them; again and again, for they
# meet each other while they begin and while they publish. Nobody waits for a limit of time.
export VELOC_PEER_TIMEOUT=1000
for round in $(seq "${EIGHT_ROUNDS:-4}"); do
    anew
    echo 'DATASET=p PATTERN=p.{rank}.h5' >>.velocconf
    programs=()
    for i in 1 2 3 4 5 6 7 8; do
        HDF5_VOL_CONNECTOR=veloc timeout "${TEST_TIMEOUT:-120}" "${memcheck[@]}" "$exits" "p.$i.h5" </dev/null >>"$dir/out" 2>&1 &
        programs+=($!)
    done
    codes=
    for program in "${programs[@]}"; do
        wait "$program"
        codes+="$? "
    done
    list --json >"$dir/json"
    is "$codes$(whole p.?.h5)$(grep -c '"files": 1,' "$dir/json") $(grep '"launch"' "$dir/json" | sort -u | wc -l)" \
        '7 7 7 7 7 7 7 7 p.1.h5 p.2.h5 p.3.h5 p.4.h5 p.5.h5 p.6.h5 p.7.h5 p.8.h5 8 8' \
        "eight programs in one directory end as they want to, each with its file, a dataset of its own ($round)"
done
is "$(said)" '' 'and say nothing'
done_testing
