#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# h5veloc-rebuild as its user calls it, on sets that redlab has protected.
: "${top_srcdir:?}" "${top_builddir:?}" "${TOOLS:?}"
# shellcheck source=test/tap/tap.sh
. "$top_srcdir/test/tap/tap.sh"

tool=$TOOLS/h5veloc-rebuild
dir=$(tap_dir)
cd "$dir" || bail_out "no $dir"

# protect SCHEME N M: members in m0, m1, ...; sums of all their files in sums
protect() {
    rm -rf m* sums
    "$top_builddir/test/cmd/protect" . "$@" || bail_out 'protecting failed'
    find m* -type f -print0 | sort -z | xargs -0 sha256sum >sums
}
same() { sha256sum --quiet -c sums; }

protect RS 6 2
is "$("$tool" m?)" 'ckpt set 0 of 1 (RS, 6 members): whole' 'a set that is whole is called so'
is "$("$tool" --quiet m? | wc -c)" 0 'or not at all'

rm -rf m1 m4
mkdir new
out=$("$tool" --into=new m? 2>&1)
is $? 0 'two members of a set that bears two losses are rebuilt'
like "$out" '*2 members rebuilt*member 1 rank 1: *in new/rank.1 (no redundancy file of it is left)*' 'and told with the reason'
sed -E 's| m([14])/| new/rank.\1/|' sums >moved
ok 'their files have the bytes they had' sha256sum --quiet -c moved

protect XOR 5 1
victim=$(find m0 m1 m2 -type f ! -name '*.h5vr' -size +0 | sort | head -n 1)
[ -n "$victim" ] || bail_out 'no file to damage'
mode=$(stat -c '%a %Y' "$victim")
printf 'X' | dd of="$victim" bs=1 seek=7 conv=notrunc status=none
like "$("$tool" --dry-run m?)" '*1 member can be rebuilt*its bytes have changed*' 'a dry run finds a changed byte'
not_ok 'and leaves it' same
like "$("$tool" m?)" '*1 member rebuilt*' 'the tool mends it'
ok 'byte for byte' same
is "$(stat -c '%a %Y' "$victim")" "$mode" 'with its mode and time'
is "$(find . -name '*.h5vtmp' | wc -l)" 0 'no temporary is left'

rm -rf m0 m3
find m? -type f -print0 | sort -z | xargs -0 sha256sum >sums
out=$("$tool" m? 2>&1)
is $? 1 'more losses than the scheme bears are a failure'
like "$out" '*NOT REBUILT: members 0, 3 of a set of 5 are lost*' 'with the members named'
ok 'and nothing is changed' same

"$tool" >/dev/null 2>&1
is $? 2 'no directory is wrong usage'
out=$("$tool" "$dir/nowhere" 2>&1)
is "$?: $out" "1: h5veloc-rebuild: $dir/nowhere: there is no such directory" 'a directory that is not there is named'
mkdir empty
out=$("$tool" empty 2>&1)
like "$?: $out" '1: h5veloc-rebuild: empty: no redundancy file (*.h5vr) is there: name the directories *' 'so is one without redundancy files, and what to do'
if command -v python3 >/dev/null; then
    protect PARTNER 4 1
    rm -rf m2
    is "$("$tool" --json --into=new2 m0 m1 m3 | python3 -c '
import json, sys
s = json.load(sys.stdin)[0]
print(s["scheme"], s["members"], s["whole"], [m["rank"] for m in s["lost"]])')" \
        'PARTNER 4 True [2]' 'JSON says the same'
    mv new2/rank.2 m2
    ok 'and it is there again' same
else
    skip 2 'no python3 to read JSON'
fi
done_testing
