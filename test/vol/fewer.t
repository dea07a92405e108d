#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A checkpoint of four nodes is complete in their caches, and in them alone, when its program is killed. The next one
# has ranks on two of the nodes, and the set bears the loss of one: a line says which nodes the checkpoint waits for,
# and nothing is taken from it before a newer one is whole.
: "${top_srcdir:?}" "${top_builddir:?}" "${TOOLS:?}" "${HDF5_PLUGIN_PATH:?}"
# shellcheck source=test/tap/tap.sh
. "$top_srcdir/test/tap/tap.sh"
[ "${MPI_KIND:-no}" != no ] || skip_all 'there is no MPI to launch ranks'
dir=$(tap_dir)
export ASAN_OPTIONS="detect_leaks=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
export VELOC_CACHE_BASE="$dir/c" VELOC_CNTL_BASE="$dir/n" VELOC_COPY_TYPE=XOR VELOC_SET_SIZE=4 VELOC_PEER_TIMEOUT=8
export VELOC_VIEW_WAIT=1 VELOC_DATASET='ck PATTERN=ck.{step}.{rank}.h5'
unset VELOC_QUIET
point=$top_builddir/test/vol/point

# ranks N WORDS...: N of them, on a node each; @ is the rank. What a program tells is printed, what h5veloc tells is in err.
# shellcheck disable=SC2016
ranks() {
    local n=$1
    shift
    HDF5_VOL_CONNECTOR=veloc VELOC_VIRTUAL_NODES=$n TEST_TIMEOUT=60 "$top_srcdir/test/mpirun.sh" "$n" bash -c '
        rank=${PMI_RANK:-$OMPI_COMM_WORLD_RANK} n=$0 it=$1
        shift
        PMI_RANK=$rank PMI_SIZE=$n exec "$it" "${@//@/$rank}"' "$n" "$point" "$@" 2>"$dir/err" | grep '\.h5: ' | sort -u | paste -sd';'
}
# killed: a checkpoint is in the caches of four nodes, and a flush of it has begun
killed() {
    rm -rf "$dir/c" "$dir/p" "$dir/n"
    mkdir "$dir/c" "$dir/p" "$dir/n"
    cd "$dir/p" || bail_out 'no prefix'
    VELOC_FLUSH_BANDWIDTH=1 ranks 4 create=ck.1.@.h5 write=1 close protected=ck.1.@.h5 "meet=$dir/n/met" kill >"$dir/out"
    is "$(stubs)" 4 "a program of four nodes is killed when its checkpoint is in the caches${1:+ ($1)}"
}
stubs() { grep -laxs 'h5veloc stub 2' ck.1.*.h5 | wc -l; }
told() { grep -c "warn.*dataset 1 (ck 1) cannot be restored now" "$dir/err"; }
list() { VELOC_VIRTUAL_NODES=4 "$TOOLS/h5veloc-ls" | grep " ck  *$1 "; }
files=(read=ck.1.0.h5 read=ck.1.1.h5 read=ck.1.2.h5 read=ck.1.3.h5)
none='ck.1.0.h5: none;ck.1.1.h5: none;ck.1.2.h5: none;ck.1.3.h5: none'
all_1=${none//none/all 1, 1000 cells, 1 at the end}

# --- it is told, and nothing is taken from it

killed
is "$(ranks 2 tells "${files[@]}")" "$none" 'two ranks on two of its nodes do not get it'
is "$(told)" 1 'one line says so, on standard error, before the program goes on' || note "$(grep warn: "$dir/err")"
like "$(grep 'cannot be restored now' "$dir/err")" "*nodes that had parts of it, *.v2, *.v3 did not tell * (VIEW_WAIT)*h5veloc-agent on *h5veloc-prerun*" \
    'it names the nodes, and what brings it'
like "$(grep -F "'ck.1.0.h5'" "$dir/err")" '*is part of dataset 1, which cannot be restored now: *; *.v2, *.v3 did not tell*' 'so do opens of its files'
like "$(grep -F "'ck.1.2.h5'" "$dir/err")" '*may be part of dataset 1, which cannot be restored now: *; *.v2, *.v3 did not tell*' \
    'and of those whose lists nobody has told'
is "$(ranks 2 "${files[@]}"),$(told),$(stubs)" "$none,1,4" 'the next one is told again, and takes nothing from it'
like "$(list 1)" '* yes, *' 'h5veloc-ls, which looks at all caches, finds it whole'
is "$(ranks 4 "${files[@]}"),$(told)" "$all_1,0" 'who comes back with all of its nodes has it'

# --- a program that wants it, or nothing

required() { VELOC_RESTART=REQUIRE ranks "$@"; }
killed 'then it is required'
is "$(required 2 tells read=ck.1.0.h5 read=ck.9.h5),$(grep -c '#0.*RESTART=REQUIRE: dataset 1 (ck 1) cannot be restored now: ' "$dir/err")" \
    'ck.1.0.h5: none;ck.9.h5: none,4' 'with RESTART=REQUIRE every open fails, and says why'
required 2 tells create=ck.1.@.h5 write=9 close >"$dir/out"
is "$(grep -c '#0.*RESTART=REQUIRE: dataset 1 (ck 1) cannot be restored now: ' "$dir/err"),$(stubs)" 2,4 'so does the first creation'
required 1 read=ck.1.0.h5 create=log.h5 write=9 close >"$dir/out"
is "$("$point" read=log.h5)" 'log.h5: all 9, 1000 cells, 9 at the end' 'what is no file of a dataset is made all the same'
is "$(required 4 "${files[@]}")" "$all_1" 'with all of its nodes the program goes on'
is "$(required 2 "${files[@]}" create=ck.2.@.h5 write=2 close),$(told)" "$all_1,0" 'and with any, when it is on the prefix'

# --- its step is written anew

killed 'then its step is written anew'
VELOC_FLUSH_BANDWIDTH=1 ranks 2 create=ck.1.@.h5 write=9 "meet=$dir/n/met" kill >"$dir/out"
is "$(ranks 4 "${files[@]}")" "$all_1" 'a program that is killed before it has written all takes nothing from it'

killed 'then all of its step is written anew'
ranks 2 create=ck.1.@.h5 write=9 close >"$dir/out"
is "$(grep -c 'the newest to restart from is dataset 2 (ck 1)' "$dir/err"),$(told)" 1,1 'the new one is the newest then, as the end says'
is "$(ranks 2 read=ck.1.@.h5),$(told)" 'ck.1.0.h5: all 9, 1000 cells, 9 at the end;ck.1.1.h5: all 9, 1000 cells, 9 at the end,0' \
    'and nobody is told of the old one any more'

killed 'then all of its step is written anew, and is in caches, too'
VELOC_FLUSH_BANDWIDTH=1 ranks 2 create=ck.1.@.h5 write=9 close protected=ck.1.@.h5 "meet=$dir/n/met2" kill >"$dir/out"
mixed='ck.1.0.h5: all 9, 1000 cells, 9 at the end;ck.1.1.h5: all 9, 1000 cells, 9 at the end;ck.1.2.h5: none;ck.1.3.h5: none'
like "$(list 1)" '* no: dataset 2 was written in its place while it could not be restored' 'h5veloc-ls says that it is replaced'
is "$(VELOC_NODELIST="$(uname -n).v[0-3]" ranks 4 "${files[@]}")" "$mixed" 'with all nodes the new files are not mixed with old ones'
is "$(ranks 4 "${files[@]}"),$("$point" read=ck.1.0.h5 read=ck.1.1.h5 | paste -sd';')" "$mixed,${mixed%%;ck.1.2*}" 'nor later, and they come to their paths'
done_testing
