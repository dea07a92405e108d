#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# h5veloc-ls: what it says in the twelve states that datasets can be in, word for word, what it
# leaves behind, and how it shows itself to people and scripts. UPDATE_EXPECTED=1 writes the
# expected outputs anew.
: "${top_srcdir:?}" "${top_builddir:?}" "${TOOLS:?}"
# shellcheck source=test/tap/tap.sh
. "$top_srcdir/test/tap/tap.sh"
dir=$(tap_dir)
cd "$dir" || bail_out "no $dir"
for name in $(env | sed -n 's/^\(\(VELOC\|SCR\)_[A-Z_]*\)=.*/\1/p'); do unset "$name"; done
export VELOC_PREFIX="$dir/p" VELOC_CACHE_BASE="$dir/c" VELOC_CNTL_BASE="$dir/n" VELOC_VIRTUAL_NODES=4
unset NO_COLOR TZ
tool=$TOOLS/h5veloc-ls
list() { "$tool" "$@"; }
lab() { "$top_builddir/test/cmd/lslab" "$@" || bail_out "lslab $*"; }
page=$top_srcdir/doc/format-ls.txt

anew() {
    rm -rf p c n
    mkdir p c n
}
# What is another each time: names of this machine and user, ids, times.
plain() {
    sed -E "s|$dir|DIR|g; s/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/UUID/g; s|$(uname -n)\.v|NODE.v|g
        s/^( +rank .* (NODE\.v[0-9]|nowhere|prefix)) +/\1  /
        s|/$(id -un)/UUID|/USER/UUID|g; s/[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}/TIME/g
        s/(\"(time|created|flushed|fetched|failed|refused)\": )[0-9]+/\1TIME/; s/(\"age\": )[0-9]+/\1AGE/"
}
# expected NAME ARGS...: the output is the recorded one
expected() {
    local file=$top_srcdir/test/data/ls/$1.expected got status
    list --json -r "${@:2}" >"json.$1" 2>/dev/null
    shift
    got=$(list "$@" 2>&1)
    status=$?
    got="$(plain <<<"$got")
exit status $status"
    [ -z "${UPDATE_EXPECTED:-}" ] || echo "$got" >"$file"
    is "$got" "$(cat "$file")" "$(basename "$file" .expected): h5veloc-ls $* says what is the case"
}
# everything NAME...: names, kinds, sizes and times of all that is there
everything() { find "$@" -printf '%p %y %s %m %T@ %C@\n' | sort; }

# --- twelve states
anew
expected fresh -l
before=$(everything .)
list >/dev/null 2>&1
is "$(everything .)" "$before" 'looking at a prefix that was never used makes nothing'

lab begin 1 10
expected announced -l

anew
lab part 1 10 XOR
lab part 2 20 RS
expected complete -l

anew
lab part 1 10 SINGLE
lab owe 1 encode
expected encoding -l

anew
lab part 1 10 XOR
lab owe 1 flush
lab entry 1 FLUSHING
expected flushing -l

anew
lab part 1 10 XOR
lab publish 1
expected flushed -l -r

rm -r c
rm p/out/step-10/part-1.h5
like "$(list)" '*1 heat*failed*no: *its files on the prefix are not those that were written*' \
    'a file that somebody has removed is missed without -r'

anew
lab entry 1 PREFIX failed
lab entry 2 PREFIX refused
lab entry 3 PREFIX 4
lab part 4 40 XOR
lab owe 4 flush 'no space left on device'
expected failed -l

anew
lab part 1 10 XOR
rm -r c/*.v1
expected member-lost -l -r
cp -r c kept
rm -r c/*.v2
expected too-many-lost -l -r

anew
lab part 1 10 XOR
lab publish 1
printf x | dd of="$(lab dir 1 2)/out/step-10/part-2.h5" bs=1 seek=77 conv=notrunc status=none
printf x | dd of=p/out/step-10/part-0.h5 bs=1 seek=7 conv=notrunc status=none
expected corrupt -l --verify
is "$(list -i 1 | grep -c 'yes, cache')" 1 'without --verify bytes are not read'
list --json --verify >json
is "$(grep -c '"health": "corrupt"' json)" 2 'a script is told of each file'
red=$(echo "$(lab dir 1 0)"/*.h5vr)
printf x | dd of="$red" bs=1 seek=$(($(stat -c %s "$red") - 9)) conv=notrunc status=none
like "$(list --verify 2>&1)" '*2/4*no: *corrupt *rank.0/set.0.XOR*its parity is not what was recorded*' \
    'parity is read as well, and what is bad does not count'
printf x | dd of="$red" bs=1 seek=50 conv=notrunc status=none
list -q --verify -i 1 >out 2>&1
is "$? $(grep -o '[0-9]/4' out)" '1 2/4' 'a redundancy file that is no such file counts as lost, and is a failure'
rm "$(lab dir 1 2)/out/step-10/part-2.h5"
: >"$(lab dir 1 1)/out/step-10/part-1.h5"
like "$(list -r)" '*1/4*short *part-1.h5: it has 0 bytes, and had 2000*missing *part-2.h5: it is not there*' \
    'files that are short or missing are seen without --verify'

anew
lab part 1 10 XOR
level=$(lab dir 1 0)
level=${level%/*/*}
mkdir "${level%/*}/tmp"
touch "$level/core" "$level/dataset.1/notes.txt" "$level/dataset.7" "$level/new.7"
expected garbage -l

anew
lab part 1 10 XOR
lab publish 1
lab entry 2 PREFIX
mkdir p/.veloc/dataset.2 # where its lists were
sed -i 's/"place"/"plaCe"/' p/.veloc/launch.lab/1.*
expected unreadable -l

anew
lab part 1 10 XOR
lab publish 1
ln -s launch.bad p/.veloc/launch.bad # "too many levels of symbolic links"
like "$(list 2>&1) $?" '*1 heat*yes, cache*launch bad are left out: cannot list */launch.bad: * 1' \
    'a launch whose records cannot be read is left out: that is told, and no success'

# --- files of the connector that are of no dataset yet
anew
lab part 1 10 XOR
lab new 2
like "$(list -r -l)" '*announced*no: not all of it is written yet*in */1.0/1*rank 0 *6 B*there *ck.7.0.h5*rank 1 *2 B*open *ck.7.1.h5*1 heat*' \
    'they are listed with the names that they have, closed or open'
is "$(list -r | grep -c 'ck.7')" 2 'each once'
list --json -r >json.new
: >"$(find c -name ck.7.0.h5)"
like "$(list -r)" '*short *ck.7.0.h5: it has not the size that it was closed with*' 'and looked at'

# --- what it leaves
anew
lab part 1 10 XOR
lab publish 1
lab part 2 20 XOR
lab entry 2 CACHE
rm -r c/*.v3
before=$(everything .)
list -l -r --verify >/dev/null 2>&1
list --json >/dev/null
list c >/dev/null
is "$(everything .)" "$before" 'it leaves no trace: names, sizes, modes and times are as before'
chmod -R a-w p c
ok 'nor needs it to write anything' list -r
chmod -R u+w p c

# --- which
ids() { list "$@" | awk 'NR > 1 { print substr($0, 1, 1) $(/^\*/ ? 2 : 1) }' | paste -sd,; }
is "$(ids)" ' 2,*1' 'the newest is the first, and the newest on the prefix is marked'
is "$(ids -i 1)" '*1' '--id shows one'
like "$(list c)" '*NAME*2 heat*yes, rebuilt: rank 3 is lost*' 'caches may be named'
like "$(VELOC_PREFIX=/nonexistent list c)" '*2 heat*yes, rebuilt*1 heat*complete*yes, rebuilt*' \
    'without their prefix, too'
like "$(cd / && VELOC_PREFIX="" list "$dir/p")" '*2 heat*1 heat*' 'or the prefix'
like "$(list "$(lab dir 1 0)")" '*1/4*no: set 1 of 1: members 1, 2, 3 of a set of 4 are lost*' \
    'a directory in a cache stands for that cache, and what is not named is not there'
like "$(VELOC_VIRTUAL_NODES=0 VELOC_CACHE_BASE="$dir/n" list)" \
    '*2 heat*unknown: no cache that was looked at holds any of it; other nodes did not tell*1 heat*yes, prefix*' \
    'of nodes that cannot be asked nothing is claimed'
like "$(VELOC_CACHE_BASE=c list 2>&1) $?" '*CACHE_BASE=c: *its whole path* 1' \
    'a setting that no program could use is told'
ln -s c link
like "$(list link)" '*2 heat*yes, rebuilt: rank 3 is lost*' 'a link is followed'
like "$(list "$top_srcdir/doc" 2>&1) $?" 'h5veloc-ls: */doc: no dataset of h5veloc is there 0' 'elsewhere there is none'
list nowhere >out 2>&1
is "$? $(cat out)" '1 h5veloc-ls: cannot look at '"$dir"'/nowhere: No such file or directory' \
    'a path that is not there is a failure'
lab drop 2
like "$(list)" '*2 heat*dropped*no: it was dropped*' 'what was dropped is not offered'
for wrong in --nonsense --id=x --id=0 --color=blue --watch=x --h5 '--json --watch' '--h5 -l x'; do
    # shellcheck disable=SC2086  # words
    list $wrong >/dev/null 2>&1
    is $? 2 "$wrong: wrong usage"
done
is "$(list --help | wc -l | awk '{ print ($1 <= 24) }')" 1 'the help fits a screen'

# --- how
is "$(list | grep -c $'\033')" 0 'no colour in a pipe'
is "$(list --color=always | grep -c $'\033')" 2 'unless it is wanted'
on_terminal() { TERM=xterm script -qec "$tool $*" /dev/null </dev/null; }
if command -v script >/dev/null; then
    is "$(on_terminal | grep -c $'\033\\[3')" 2 'colour on a terminal'
    is "$(NO_COLOR=1 on_terminal | grep -c $'\033')" 0 'but for NO_COLOR'
    like "$(on_terminal --verify 2>&1 | tr -d '\r')" '*ID NAME*' 'and --verify cleans its line'
else
    skip 3 'there is no script(1)'
fi
list >/dev/full 2>out
is "$? $(cat out)" '1 h5veloc-ls: standard output could not be written' 'a full disk is a failure'

# --- another node
if [ "${MPI_KIND:?}" != no ]; then
    anew
    mkdir away
    mkfifo to from
    VELOC_MODE=ASYNC VELOC_VIRTUAL_NODES=1 VELOC_FLUSH=0 "$top_builddir/test/cmd/obey" 7 <to >from 2>err &
    program=$!
    exec {to}>to {from}<from
    tell() {
        echo "$1" >&"$to"
        IFS= read -r -t "${TEST_TIMEOUT:-120}" got <&"$from" || got=nothing
    }
    for call in init 'checkpoint 1' wait; do tell "$call"; done
    is "$got" 0 'a program makes a checkpoint in the cache of its node'
    # As from a node of another name, whose directories are others.
    elsewhere() { VELOC_VIRTUAL_NODES=0 VELOC_CNTL_BASE="$dir/away" VELOC_CACHE_BASE="$dir/away" list "$@"; }
    like "$(elsewhere -r)" '*1 obey7 *SINGLE*1/1*complete*yes, cache*rank 0 * away *obey7-1.dat*' \
        'elsewhere its leader is asked, and tells'
    like "$(elsewhere --verify -r) $? $(find away -mindepth 1)" '*1/1*rank 0 * right *obey7-1.dat*right *.h5vr 0 ' \
        'with --verify it reads what they have'
    kept=$(find c -name obey7-1.dat)
    cp "$kept" kept.dat
    printf x | dd of="$kept" bs=1 seek=1 conv=notrunc status=none
    like "$(elsewhere --verify 2>&1; echo $?)" '*0/1*corrupt *obey7-1.dat: its bytes are not those*1' 'and sees what is damaged there'
    cp kept.dat "$kept"
    mv n hidden
    like "$(elsewhere)" '*1 obey7 *yes, cache' 'also over TCP, when its socket is not there'
    mv p/.veloc/single.7/key.* .
    like "$(elsewhere)" '*unknown: *.v0 did not tell*' 'but not without the key of its user'
    is "$(find p -name 'key.*')" '' 'of which none is made for that'
    mv key.* p/.veloc/single.7
    mv hidden n
    kill -STOP "$program"
    like "$(VELOC_PEER_TIMEOUT=1 elsewhere)" '*unknown: *.v0 did not tell*node *.v0 tells nothing: *does not answer*' \
        'a leader that is silent is named, and nothing is claimed'
    kill -CONT "$program"
    tell finalize
    echo quit >&"$to"
    wait "$program"
    exec {to}>&- {from}<&-
    like "$(elsewhere)" '*1 obey7 *unknown: *other nodes did not tell' 'when nobody leads there, nothing is claimed either'
    like "$(VELOC_VIRTUAL_NODES=1 list)" '*1 obey7 *yes, cache' 'there it is still seen'
    printf '%s\n' init 'checkpoint 3' finalize quit | VELOC_MODE=SYNC VELOC_FLUSH=0 VELOC_VIRTUAL_NODES=1 \
        "$top_builddir/test/cmd/obey" 8 >out 2>err
    like "$(VELOC_VIRTUAL_NODES=1 list)" "$dir/p, single.7:*1 obey7 *yes, cache*$dir/p, single.8:*1 obey8 *yes, cache" \
        'parts of a job with datasets of their own are told apart'
else
    skip 10 'this build has no MPI'
fi

# --- watching
anew
lab part 1 10 XOR
lab publish 1
lab part 2 20 XOR
lab drop 2
mkfifo lines
list --watch=0.1 >lines 2>/dev/null &
watcher=$!
exec 5<lines
IFS= read -r head <&5
IFS= read -r first <&5
IFS= read -r second <&5
like "$head $first $second" '*ID NAME*2 heat*dropped*1 heat*flushed*' '--watch lists'
lab part 3 30 XOR
IFS= read -r head <&5
IFS= read -r first <&5
like "$first" '*3 heat*' 'and again when something has changed, and only then'
kill "$watcher"
wait "$watcher" 2>/dev/null
exec 5<&-

# --- in a file
mkdir bin
cat >bin/h5ls <<'EOF'
#!/bin/sh
echo "h5ls $* ${HDF5_VOL_CONNECTOR-native}"
[ -f "$2" ]
EOF
chmod +x bin/h5ls
h5() { PATH="$dir/bin:$PATH" HDF5_VOL_CONNECTOR=veloc list --h5 "$@" 2>&1; }
like "$(h5 p/out/step-30/part-1.h5)" "*/rank.1/out/step-30/part-1.h5:
h5ls -r $dir/c/*/dataset.3/rank.1/out/step-30/part-1.h5 native" \
    '--h5 asks h5ls of the cached copy, without the connector'
rm -r c
like "$(h5 p/out/step-10/part-1.h5)" "*h5ls -r $dir/p/out/step-10/part-1.h5 native" 'or of the published one'
like "$(h5 p/out/step-30/part-1.h5) $?" '*step-30/part-1.h5: no dataset that can be looked at from here has it*' \
    'and says when there is none'
not_ok 'which is a failure' h5 p/out/step-30/part-1.h5

# --- the page of --json, and what was printed so far
if command -v python3 >/dev/null; then
    ok 'all of it fits the schema' python3 "$top_srcdir/test/cmd/fits_schema.py" "$top_srcdir/doc/h5veloc-ls.schema.json" json.*
    sed 's/"datasets"/"sets"/; s/"time": /"time": "x"+/; s/"x"+[0-9]*/"x"/' json.flushed >broken
    not_ok 'and other things do not' python3 "$top_srcdir/test/cmd/fits_schema.py" "$top_srcdir/doc/h5veloc-ls.schema.json" broken
else
    skip 2 'there is no python3'
fi
keys_of() { grep -oE '"[a-z_0-9]+":' "$@" | grep -oE '[a-z_0-9]+' | sort -u; }
anew
lab part 1 10 XOR
lab publish 1
list --json -r >json
printed=$(keys_of -h json)
told=$(sed -nE 's/^    ([a-z_0-9]+) +(integer|text|time|boolean|list).*/\1/p' "$page" | sort -u)
is "$printed" "$told" 'every key of --json is in doc/format-ls.txt, and no other'
list --json -r >again
is "$(plain <json)" "$(plain <again)" 'and it is the same each time'

# --- what was in live files before they were mended
anew
mkdir -p p/.veloc/7/replaced
: >p/.veloc/7/replaced/a.h5.1795624197388
is "$(list 2>&1)" "replaced when a file was mended: $dir/p/.veloc/7/replaced/a.h5.1795624197388" 'where no dataset ever was, what mending has replaced is listed'
like "$(list --json)" "*\"replaced\": [*\"$dir/p/.veloc/7/replaced/a.h5.1795624197388\"*" 'and for scripts'
lab part 1 10 XOR
like "$(list)" "* 1 heat *replaced when a file was mended: */a.h5.*" 'and below datasets'

# --- the current one
anew
lab part 1 10 XOR
lab publish 1
lab part 2 20 XOR
lab publish 2
is "$(ids)" '*2, 1' 'of two on the prefix the newer one is marked'
lab current 1
is "$(ids)" ' 2,*1' 'until somebody has chosen the other'
lab part 3 30 XOR
lab publish 3
is "$(ids)" '*3, 2, 1' 'and again when one comes that is newer than both'

# --- the examples of the man page
anew
lab part 1 10 XOR
lab publish 1
lab part 2 20 XOR
rm -r c/*.v1
man=$top_srcdir/doc/h5veloc-ls.1
is "$(list)" "$(sed -n '/^\$ h5veloc\\-ls$/,/^\.fi/p' "$man" | sed '1d; $d')" 'the first example shows what is printed'
# example PATTERN: the line of the page with it, as a command
example() { sed -n '/^\.SH EXAMPLES/,/^\.SH SEE/p' "$man" | grep -- "$1" | sed 's/\\-/-/g'; }
cat >bin/h5veloc-ls <<EOF
#!/bin/sh
exec "$tool" "\$@"
EOF
chmod +x bin/h5veloc-ls
run() { PATH="$dir/bin:$PATH" bash -c "$1" 2>&1; }
like "$(run "$(example verify)") $?" '*1 heat*yes, rebuilt: rank 1 is lost 0' 'the second reads all that is there'
if command -v jq >/dev/null; then
    is "$(run "$(example jq)")" 20 'the third finds the newest step'
else
    skip 1 'there is no jq'
fi
cp -r c saved
like "$(run "$(example saved | sed "s|/p/saved|$dir/saved|")")" '*2 heat*rank 1 is lost*set 1 of 1: 3 of 4*' \
    'the fourth sees what was saved'
like "$(run "$(example h5 | sed 's|out/|p/out/|')")" '*rank.2/out/step-20/part-2.h5:*h5ls -r */part-2.h5*' \
    'the fifth looks into a file'
done_testing
