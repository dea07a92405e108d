#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# h5veloc-rebuild --scrub and h5veloc-unpack on what an MPI program has left in the caches of four
# virtual nodes and on its prefix.
: "${top_srcdir:?}" "${top_builddir:?}" "${TOOLS:?}"
# shellcheck source=test/tap/tap.sh
. "$top_srcdir/test/tap/tap.sh"
[ "${MPI_KIND:?}" != no ] || skip_all "this build has no MPI"
dir=$(tap_dir)
cd "$dir" || bail_out "no $dir"
export ASAN_OPTIONS="detect_leaks=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
export VELOC_MODE=SYNC VELOC_VIRTUAL_NODES=4 VELOC_CACHE_BASE="$dir/cache" VELOC_CNTL_BASE="$dir/cache" VELOC_FLUSH=1
steps() {
    (cd "$VELOC_PREFIX" && "$top_srcdir/test/mpirun.sh" 4 "$top_builddir/test/cmd/steps" "$@" </dev/null)
}
scrub() { "$TOOLS/h5veloc-rebuild" --scrub "$@" 2>&1; }
flip() { printf '\377' | dd of="$1" bs=1 seek="${2:-1000}" conv=notrunc status=none; }
sums() { (cd "$1" && find . -type f ! -path '*/.veloc/*' ! -name '*.h5vr' -exec sha256sum {} +) | sort; }

mkdir cache plain packed
export VELOC_PREFIX="$dir/plain"
ok 'four ranks make three checkpoints' steps 1 3
whole=$(sums plain) cached=$(sums cache)
out=$(scrub cache plain)
is $? 0 'what is clean is no failure'
like "$out" '*datasets checked, 0 damages found' 'and it is said that nothing was found'

part() { find cache -path "*/rank.$1/out/step-3/part-$1.bin"; }
flip "$(part 2)"
out=$(scrub --dry-run cache)
is $? 0 'one damaged file of a set can be repaired'
like "$out" 'can be repaired: *rank.2*checksum*its redundancy set*' 'and it is told which, why and from what'
not_ok 'a dry run changes nothing' test "$(sums cache)" = "$cached"
ok 'it is repaired' scrub cache
is "$(sums cache)" "$cached" 'byte for byte'

flip "$(part 0)"
flip "$(part 3)"
out=$(scrub cache)
is $? 1 'two damaged files are more than XOR bears'
like "$out" '*not repairable: *members 0, 3*' 'which is said'
out=$(scrub cache plain)
is $? 0 'with the prefix they are repaired'
like "$out" '*repaired: *good copy: *plain*' 'from there'
is "$(sums cache)" "$cached" 'byte for byte as well'

flip plain/out/step-3/part-1.bin 77
rm plain/out/step-3/part-2.bin
flip plain/out/step-1/part-0.bin
out=$(scrub plain)
is $? 1 'damages on the prefix alone cannot be repaired'
is "$(grep -c '^not repairable' <<<"$out")" 3 'each is told'
out=$(scrub --json cache plain)
is $? 1 'the cache has the newest only'
is "$(grep -c '"result": "repaired"' <<<"$out")" 2 'whose files are repaired'
like "$out" '*"not repairable"*step-1/part-0.bin*' 'and that of the older one is named'
cp cache/*/*/*/index.0/dataset.3/rank.1/out/step-3/part-1.bin again
ok 'what was repaired is right' cmp again plain/out/step-3/part-1.bin
is "$(sums plain | grep -v step-1/part-0)" "$(grep -v step-1/part-0 <<<"$whole")" 'all of it'

not_ok 'a directory without datasets is a failure' scrub "$top_srcdir/doc"
not_ok 'so is one that is not there' scrub nowhere

# --- containers ---
export VELOC_PREFIX="$dir/packed" VELOC_CONTAINERS=1
rm -rf cache
mkdir cache
ok 'the same into containers' steps 1 3
is "$(find packed -name '*.bin' | wc -l)" 0 'no plain file is on the prefix'
unpack() { "$TOOLS/h5veloc-unpack" "$@" 2>&1; }
is "$(unpack --list packed 3 | grep -c 'out/step-3/part')" 4 'a dataset is listed'
ok 'it is unpacked elsewhere' unpack --into=look packed
ok 'as it was' cmp look/out/step-3/part-1.bin plain/out/step-3/part-1.bin
for id in 1 2 3; do unpack packed $id || fail "dataset $id is unpacked"; done
is "$(sums packed)" "$whole" 'all are unpacked to their places'
flip packed/.veloc/dataset.3/container.0 30
out=$(unpack --into=look packed 3)
is $? 1 'a damaged container is a failure'
like "$out" '*container.0: its checksum is *' 'that is named'
out=$(scrub cache packed)
is $? 0 'and repaired from the cache'
ok 'it unpacks again' unpack --into=look packed 3
rm -rf cache
mkdir cache
ok 'a restart unpacks by itself' steps 4 4
is "$(unpack packed 99 | grep -c 'dataset 99')" 1 'a dataset that is not there is named'
done_testing
