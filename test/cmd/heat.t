#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The first program of README.md and veloc(7), and what those pages promise of it: four virtual nodes,
# a crash, a node that is lost, caches that are lost, a byte that rots.
: "${top_srcdir:?}" "${top_builddir:?}" "${TOOLS:?}"
# shellcheck source=test/tap/tap.sh
. "$top_srcdir/test/tap/tap.sh"
program=$(sed -n '/^#include/,$p' "$top_srcdir/h5examples/heat.c")
is "$(sed -n '/^    #include/,/^    }$/{s/^    //;p}' "$top_srcdir/README.md")" "$program" \
    'the program of README.md is h5examples/heat.c'
is "$(sed -n '/^#include/,/^}$/{s#\\e#\\#g;s#\\-#-#g;p}' "$top_srcdir/doc/veloc.7")" "$program" \
    'so is that of veloc(7)'
if [ "${MPI_KIND:?}" = no ]; then
    skip 13 "this build has no MPI"
    done_testing
    exit
fi
dir=$(tap_dir)
mkdir "$dir/run" "$dir/cache"
cd "$dir/run" || bail_out "no $dir/run"
export ASAN_OPTIONS="detect_leaks=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
# what is killed right after a checkpoint is protected only when the call did it
export VELOC_MODE=SYNC VELOC_VIRTUAL_NODES=4 VELOC_CACHE_BASE="$dir/cache"
# heat STEP: a run that dies there, if it comes to it
heat() {
    "$top_srcdir/test/mpirun.sh" 8 \
        "$top_builddir/h5examples/heat" "$1" </dev/null 2>&1
}
begins() { sed -n 's/.* begins at step //p' <<<"$1" | sort | uniq -c | tr -s ' '; }
ends() { grep ' ends with ' <<<"$1" | sort; }

whole=$(VELOC_ENABLE=0 heat 0)
is "$(begins "$whole")" ' 8 0' 'without h5veloc it runs, and begins at step 0'
is "$(ends "$whole" | wc -l)" 8 'and all ranks end'

not_ok 'the program dies at step 55' heat 55
not_ok 'and in its second run at step 75' heat 75
rm -r "$dir"/cache/*.v2
out=$(VELOC_LOG_LEVEL=INFO heat 0)
is "$(begins "$out")" ' 8 70' 'without node 2 the third goes on at the last checkpoint'
like "$out" '*restored dataset 9 (heat 70) *: of 8 parts 2 rebuilt (ranks 4-5), 0 moved*' 'of which two parts were rebuilt'
is "$(ends "$out")" "$(ends "$whole")" 'and ends with the same numbers'

rm -r "$dir"/cache/*.v[12]
out=$(heat 0)
like "$out" '*members 1, 2 of a set of 4 are lost*cannot be restored *' \
    'that more nodes are lost than XOR bears is told'
like "$out" '*fetched dataset 13 (heat 100) from the prefix instead*' 'and what was fetched instead'
is "$(begins "$out")" ' 8 100' 'with which it goes on'

rm -r "$dir"/cache/*
is "$(begins "$(heat 0)")" ' 8 100' 'so it does without any cache'
file=$(find "$dir/cache" -name 'heat-3-100.dat')
cp "$file" good
printf X | dd of="$file" bs=1 seek=5000 conv=notrunc status=none
out=$("$TOOLS/h5veloc-rebuild" --scrub "$dir/cache")
is "$?: ${out##*$'\n'}" '0: 1 dataset checked, 1 damage found' 'a byte that rots is found'
ok 'and made good' cmp good "$file"
done_testing
