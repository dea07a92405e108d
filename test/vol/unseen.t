#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A checkpoint is complete in the caches, and in them alone, when its program is killed; the next one looks into other
# caches: CACHE_BASE is another, or they are not mounted. It is told that they have nothing, and nothing is taken from
# the checkpoint: who comes back with the old caches has it.
: "${top_srcdir:?}" "${top_builddir:?}" "${TOOLS:?}" "${HDF5_PLUGIN_PATH:?}"
# shellcheck source=test/tap/tap.sh
. "$top_srcdir/test/tap/tap.sh"
[ "${MPI_KIND:-no}" != no ] || skip_all 'there is no MPI to launch ranks'
dir=$(tap_dir)
export ASAN_OPTIONS="detect_leaks=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
export VELOC_CNTL_BASE="$dir/n" VELOC_VIRTUAL_NODES=3 VELOC_COPY_TYPE=XOR VELOC_PEER_TIMEOUT=20 VELOC_DATASET='ck PATTERN=ck.{step}.{rank}.h5'
export VELOC_CACHE_BASE="$dir/old"
unset VELOC_QUIET
point=$top_builddir/test/vol/point

# ranks WORDS...: three, on a node each; @ is the rank. What a program tells is printed, what h5veloc tells is in err.
# shellcheck disable=SC2016
ranks() {
    HDF5_VOL_CONNECTOR=veloc TEST_TIMEOUT=60 "$top_srcdir/test/mpirun.sh" 3 bash -c '
        rank=${PMI_RANK:-$OMPI_COMM_WORLD_RANK}
        PMI_RANK=$rank PMI_SIZE=3 exec "$0" "${@//@/$rank}"' "$point" "$@" 2>"$dir/err" | grep '\.h5: ' | sort | paste -sd';'
}
read_1='ck.1.0.h5: all 1, 1000 cells, 1 at the end;ck.1.1.h5: all 1, 1000 cells, 1 at the end;ck.1.2.h5: all 1, 1000 cells, 1 at the end'
none_1='ck.1.0.h5: none;ck.1.1.h5: none;ck.1.2.h5: none'
native() { "$point" "read=ck.$1.0.h5" "read=ck.$1.1.h5" "read=ck.$1.2.h5" | paste -sd';'; }
other() { VELOC_CACHE_BASE="$dir/other" "$@"; }
list() { "$TOOLS/h5veloc-ls"; }
launches() { find .veloc/launch.* -type f ! -name '1.*' -printf '%h\n' | sort -u | wc -l; } # that have more than a ledger
stubs() { grep -laxs 'h5veloc stub 2' ck.*.h5 | wc -l; }
has() { like "$(grep -F "$1" "$dir/err")" "*$2*" "$3"; } # PATH SENTENCE TEXT: among what was told
recover() {
    local i
    for i in 0 1 2; do "$TOOLS/h5veloc-prerun" --recover --nodes=3 --node="$i" >>"$dir/err" 2>&1 & done
    wait
}
# killed [SETTING]...: a checkpoint is in the caches of three nodes, and a flush of it has begun
killed() {
    rm -rf "$dir/old" "$dir/other" "$dir/p" "$dir/n"
    mkdir "$dir/old" "$dir/other" "$dir/p" "$dir/n"
    cd "$dir/p" || bail_out 'no prefix'
    VELOC_FLUSH_BANDWIDTH=1 ranks create=ck.1.@.h5 write=1 close protected=ck.1.@.h5 "meet=$dir/n/met" kill >"$dir/out"
    is "$(stubs)" 3 "a program is killed when its checkpoint is in the caches${1:+ ($1)}"
}

# --- who looks elsewhere

killed
is "$(other ranks tells read=ck.1.@.h5)" "$none_1" 'with another CACHE_BASE it is not found'
has "$dir/p/ck.1.0.h5" "was not found in the caches that were looked at ($dir/other): the program that wrote it had caches in $dir/old; set CACHE_BASE*" \
    'which tells where was looked, where it was, and what to do'
is "$(grep -c "dataset 1 (ck 1).* not found.*($dir/other)" "$dir/err")" 1 'one line says so of the checkpoint'
like "$(other list | grep ' ck  *1 ')" "*unknown: *not looked at: $dir/old*" 'h5veloc-ls tells it, too'
is "$(stubs)" 3 'and what stands at its names stays'
other recover
is "$(other ranks read=ck.1.@.h5),$(stubs)" "$none_1,3" 'again, and after h5veloc-prerun has looked'
is "$(ranks read=ck.1.@.h5)" "$read_1" 'who comes back with the old caches has it'
recover
is "$(native 1),$(find . -name '.ck*')" "$read_1," 'and it comes to its names, of which no temporary file is left'

killed 'not mounted'
mv "$dir/old" "$dir/away" && mkdir "$dir/old"
is "$(ranks tells read=ck.1.@.h5)" "$none_1" 'caches that are not mounted do not give it'
has "$dir/p/ck.1.0.h5" "was not found in the caches that were looked at ($dir/old): mount those*" 'which is told'
like "$(list | grep ' ck  *1 ')" '* no: no cache that was looked at holds any of it*' 'also by h5veloc-ls'
rm -r "$dir/old" && mv "$dir/away" "$dir/old"
recover
is "$(native 1)" "$read_1" 'h5veloc-prerun --recover brings it to its names when they are'

# --- what is written meanwhile

killed 'then a newer one is written'
other ranks create=ck.2.@.h5 write=2 close
ranks read=ck.2.@.h5 >"$dir/out"
is "$(ranks read=ck.1.@.h5)" "$read_1" 'a newer checkpoint that is whole takes nothing from it while its caches are looked at'

killed 'then a newer one is written'
other ranks create=ck.2.@.h5 write=2 close
other ranks read=ck.2.@.h5 >"$dir/out"
is "$(other ranks read=ck.1.@.h5),$(grep -c 'not found' "$dir/err")" "$none_1,0" 'when a newer one is whole nobody tells of it any more'
is "$(launches)" 1 'nor keeps the records of its program' || note "$(ls .veloc)"
is "$(find . -name '.ck*')" '' 'nor what a flush of it had begun'
is "$(ranks read=ck.1.@.h5)" "$none_1" 'it does not come back then'

killed 'then it is written anew'
other ranks create=ck.1.@.h5 write=5 close
read_5=${read_1//all 1, 1000 cells, 1/all 5, 1000 cells, 5}
is "$(native 1)" "$read_5" 'what a program writes at the same names stands there'
is "$(ranks read=ck.1.@.h5)" "$read_5" 'and is read with the old caches, too'
is "$(native 1)" "$read_5" 'it stays'

# --- some of it is seen

killed 'two nodes are lost'
rm -r "$dir"/old/*.v[12]
is "$(ranks read=ck.1.@.h5)" "$none_1" 'of which a cache has too little'
has ck.1.0.h5 'is lost: its placeholder was removed' 'that is lost'
is "$(launches)" 1 'and no record of it stays'
done_testing
