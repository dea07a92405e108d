#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Another user is there first, in a directory in which all may write: what he made is not touched, and files are
# protected all the same, in the next place of that name; programs, tools and the VELOC API look there. Where he has
# taken all names that is told, and programs run as without us.
: "${top_srcdir:?}" "${top_builddir:?}" "${TOOLS:?}" "${HDF5_PLUGIN_PATH:?}"
# shellcheck source=test/tap/tap.sh
. "$top_srcdir/test/tap/tap.sh"
[ "$(id -u)" = 0 ] || skip_all 'only root can give a directory to another user'
[ "${MPI_KIND:-no}" != no ] || skip_all 'there is no MPI to launch ranks'
dir=$(tap_dir)
export ASAN_OPTIONS="detect_leaks=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
export VELOC_CACHE_BASE="$dir/c" VELOC_CNTL_BASE="$dir/n" VELOC_PEER_TIMEOUT=20 VELOC_DATASET='ck PATTERN=ck.{step}.h5'
unset VELOC_QUIET
me=$(id -un)
stranger=12345

# anew MAKE: an empty prefix, and caches in whose bases MAKE was here before us
anew() {
    local base
    rm -rf "$dir/p" "$dir/c" "$dir/n"
    mkdir "$dir/p" "$dir/c" "$dir/n"
    cd "$dir/p" || bail_out 'no prefix'
    for base in "$dir/c" "$dir/n"; do "$1" "$base/$me"; done
}
private() { mkdir -m 700 "$1" && chown $stranger "$1"; }
open() { mkdir -m 777 "$1" && chmod 777 "$1" && chown $stranger "$1"; }
link() { mkdir -m 700 "$1-there" && ln -s "$1-there" "$1"; }
file() { : >"$1"; }
wide() { mkdir -m 777 "$1" && chmod 777 "$1"; }
all_of_them() {
    local i
    private "$1"
    for i in 1 2 3 4 5 6 7; do private "$1.$i"; done
}

point() { HDF5_VOL_CONNECTOR=veloc timeout -s KILL 120 "${memcheck[@]}" "$top_builddir/test/vol/point" "$@"; }
# What the program says is in out, the sentences of h5veloc are printed.
# shellcheck disable=SC2069
told() { point "$@" 2>&1 >"$dir/out" | grep '^h5veloc: '; }
listed() { "$TOOLS/h5veloc-ls" | grep " $1 "; }
parts() { find "$dir/c/" -path "$dir/c/$1/*/dataset.*/rank.0/*" -name '*.h5' | wc -l; }

# protects MAKE TEXT: and so are live files, by their journals
protects() {
    local said
    anew "$1"
    said=$(told create=ck.1.h5 write=1 close complete=ck.1.h5)
    like "$said" '*ck.1.h5 is protected (DATASET=ck)*1 dataset of 1 file complete*' "$2: files are protected"
    like "$said" "*$dir/c/$me.1 is used in the place of $dir/c/$me: *" 'and it is told where they are now'
    like "$(parts "$me.1"),$(listed 'ck  *1')" '1,*yes, *' 'tools find them'
    told create=live.h5 write=1 flush grow=2 flush kill >"$dir/said"
    is "$(find "$dir/c/$me.1/journal" -type f | wc -l)" 1 'a live file has its journal there' || note "$(<"$dir/said")"
    is "$(point read=live.h5 2>&1)" 'live.h5: all 1, 2000 cells, 2 at the end' 'the next program reads it'
    is "$(find "$dir/n/$me.1" -mindepth 1 -name 'leader.*' | wc -l),$(find "$dir/c/$me/" "$dir/n/$me/" -mindepth 1 2>/dev/null | wc -l)" \
        0,0 'nothing is left of leaders, and nothing is in what is not ours'
}
protects private 'another user has made the directories'
protects open 'even for everybody'
protects link 'there are links'
protects file 'there are files'
protects wide 'ours are open to others'

# Once it is there it is the one, whatever becomes of the other.
rm -r "$dir/c/$me" "$dir/n/$me"
point create=ck.2.h5 write=2 close complete=ck.2.h5 >"$dir/out" 2>&1
like "$(listed 'ck  *1'),$(listed 'ck  *2'),$(find "$dir/c" "$dir/n" -maxdepth 1 -name "$me")" '*yes, *,*yes, *,' \
    'it stays the one when the other is gone'

# --- programs that begin together ---

anew private
for r in 0 1 2 3; do
    PMI_RANK=$r PMI_SIZE=4 VELOC_LAUNCH=four VELOC_DATASET='f PATTERN=f.{step}.{rank}.h5' \
        point meet=m create=f.1.$r.h5 write=1 close complete=f.1.$r.h5 >"$dir/out.$r" 2>&1 &
done
wait
is "$(find "$dir/c" "$dir/n" -mindepth 1 -maxdepth 1 -user 0 | sed "s,$dir/,," | sort | tr '\n' ' ')" "c/$me.1 n/$me.1 " \
    'four processes that begin together make one directory'
like "$(listed 'f  *1')" '*yes, *' 'and have one dataset'

# --- an agent, and programs that it leads ---

agent() { "$TOOLS/h5veloc-agent" "$@"; }
anew private
tap_at_exit 'agent --stop >/dev/null 2>&1'
ok 'an agent serves' agent --detach
is "$(find "$dir/n" -path "*/agent/s" | sed "s,$dir/,,")" "n/$me.1/agent/s" 'in our directory'
VELOC_MODE=AGENT told create=ck.1.h5 write=1 close complete=ck.1.h5 >"$dir/said"
like "$(<"$dir/said")" '*ck.1.h5 is protected*' 'programs find it'
[[ $(<"$dir/said") != *MODE=AGENT* ]]
is $? 0 'and none leads instead'
ok 'and it ends when it is told to' agent --stop

# --- the API ---

steps() {
    "$top_srcdir/test/mpirun.sh" 2 "$top_builddir/test/cmd/steps" "$@" >"$dir/out" 2>&1
}
for mode in SYNC ASYNC; do
    anew private
    export VELOC_MODE=$mode
    ok "MODE=$mode: a program checkpoints by the API" steps 1 2
    is "$(find "$dir/c/$me.1" -path '*/dataset.2/rank.*' -name 'part-*' | wc -l)" 2 'its files are in our directory' ||
        note "$(cat "$dir/out")"
    like "$(listed 'steps  *2')" '*yes, *' 'and a restart finds them'
done
unset VELOC_MODE

# --- no name is left ---

anew all_of_them
said=$(told create=ck.1.h5 write=1 close create=b.h5 write=2 close)
like "$said" "*not protected: *$dir/c/$me, and $me.1 to $me.7 in its place, *: name another place*" \
    'where all names are taken that is told'
is "$(point read=ck.1.h5 read=b.h5 2>/dev/null)" 'ck.1.h5: all 1, 1000 cells, 1 at the end
b.h5: all 2, 1000 cells, 2 at the end' 'and files are written to their own paths'
is "$(grep -c 'in its place' <<<"$said")" 1 'once'
not_ok 'VELOC_Init fails' steps 1 1
like "$(<"$dir/out")" '*in its place, *' 'and says why'
done_testing
