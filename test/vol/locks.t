#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# HDF5 locks the files that it opens: who writes a file has it alone. Of a file in the cache the same is true, for
# programs with the connector and for those without.
: "${top_srcdir:?}" "${top_builddir:?}" "${HDF5_PLUGIN_PATH:?}"
# shellcheck source=test/tap/tap.sh
. "$top_srcdir/test/tap/tap.sh"
dir=$(tap_dir)
export ASAN_OPTIONS="detect_leaks=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
export VELOC_CACHE_BASE="$dir/cache" VELOC_CNTL_BASE="$dir" VELOC_LOG_FILE="$dir/log" VELOC_PEER_TIMEOUT=20
point=$top_builddir/test/vol/point

native() { timeout -s KILL 120 "$point" "$@" 2>&1; }
veloc() { HDF5_VOL_CONNECTOR='veloc behind' timeout -s KILL 120 "${memcheck[@]}" "$point" "$@" 2>&1; }
is_there() { grep -qs "$1" "$dir/first"; }

begin() { # [FILE]: a directory of its own, with a file that was written before
    rm -rf "$dir/cache" "$dir/p"
    mkdir "$dir/cache" "$dir/p"
    cd "$dir/p" || bail_out "no directory"
    rm -f "$dir/first"
    [ -z "${1:-}" ] || "$2" create="$1" write=1 close
}
# How the second fares beside the first that has the file open: "locked", or what it says else
beside() { # FIRST OPS SECOND OP
    local pid said
    # shellcheck disable=SC2086 # ops are words
    "$1" $2 say=there wait=end close >"$dir/first" &
    pid=$!
    await is_there there
    said=$("$3" tells "$4=f.h5")
    touch end
    wait "$pid" || said+=" the first: $(<"$dir/first")"
    case $said in
    *'unable to lock file, errno = 11'*) echo locked ;;
    *) echo "$said" ;;
    esac
}
of() { # FIRST SECOND: for each state of the file, and each way to open it
    local op
    for op in create open read; do
        begin
        echo "made, $op: $(beside "$1" 'create=f.h5 write=2 flush' "$2" "$op")"
        begin f.h5 "$1"
        echo "changed, $op: $(beside "$1" 'open=f.h5 write=2' "$2" "$op")"
        begin f.h5 "$1"
        echo "read, $op: $(beside "$1" 'look=f.h5' "$2" "$op")"
        begin f.h5 "$1"
        echo "made anew, $op: $(beside "$1" 'create=f.h5 write=2 flush' "$2" "$op")"
    done
}
want=$(of native native)
is "$(grep -v ': locked' <<<"$want")" 'read, read: f.h5: all 1, 1000 cells, 1 at the end' 'one writes, or all read'
is "$(of veloc veloc)" "$want" 'with the connector as well'
is "$(of veloc native)" "$want" 'of which only the first has it'
is "$(of native veloc)" "$want" 'or only the second'

# What the first has written is what is there in the end.
begin f.h5 veloc
is "$(beside veloc 'open=f.h5 write=2' veloc create)" locked 'a file that another program changes is not made anew'
is "$(native read=f.h5)" 'f.h5: all 2, 1000 cells, 2 at the end' 'and what that one wrote is there'
begin
is "$(beside veloc 'create=f.h5 write=2' veloc create)" locked 'nor is one that it makes'
is "$(native read=f.h5)" 'f.h5: all 2, 1000 cells, 2 at the end' 'which is there as well'

# Whoever switches locks off has none.
export HDF5_USE_FILE_LOCKING=FALSE
for how in native veloc; do
    begin f.h5 $how
    is "$(beside $how 'look=f.h5' $how open)" '' "without locks both have it open ($how)"
done
# Two ranks may then make one file at the same time: in the end one of their files is there, and nobody has waited.
for nodes in 1 2; do
    begin
    export PMI_SIZE=2 VELOC_VIRTUAL_NODES=$nodes VELOC_LAUNCH=both$nodes VELOC_LOG_LEVEL=info
    PMI_RANK=1 veloc create=f.h5 write=1 meet=../opened close say=there >"$dir/first" &
    PMI_RANK=0 veloc create=f.h5 write=2 meet=../opened wait=end close >"$dir/second" &
    await is_there there
    touch end
    wait
    unset PMI_SIZE VELOC_VIRTUAL_NODES VELOC_LAUNCH VELOC_LOG_LEVEL
    rm -f end "$dir"/opened.*
    is "$(native read=f.h5)" 'f.h5: all 2, 1000 cells, 2 at the end' "the last of two ranks that make a file at the same time has it ($nodes nodes)"
    is "$(ls; grep 'nothing has moved\|does not answer\|in vain' "$dir/log")" f.h5 'nothing else is there, and no time limit has run out'
done
unset HDF5_USE_FILE_LOCKING

# A name is taken from the moment that a file is made, with the mode that the file will have; also of a program that
# is killed before it has closed it.
for mask in 022 077; do
    begin
    (umask $mask && veloc create=f.h5 write=1 say=there wait=end close >"$dir/first") &
    await is_there there
    early=$(stat -c %a f.h5)
    touch end
    wait
    (umask $mask && : >native)
    is "$early $(stat -c %a f.h5)" "$(stat -c '%a %a' native)" "a new file has the mode of any (umask $mask)"
done

# What is done to the name while the file is open.
meanwhile() { # HOW OPS COMMAND...: what is there in the end
    # shellcheck disable=SC2086 # ops are words
    "$1" $2 say=there wait=end close >"$dir/first" &
    await is_there there
    "${@:3}"
    touch end
    wait
    rm end
    for file in *; do native "read=$file"; done
}
for how in native veloc; do
    begin
    is "$(meanwhile $how 'create=f.h5 write=2' mv f.h5 g.h5)" 'g.h5: all 2, 1000 cells, 2 at the end' "a new file is renamed while it is open ($how)"
    begin
    is "$(meanwhile $how 'create=f.h5 write=2' rm f.h5)" '*: none' "or removed ($how)"
    begin f.h5 $how
    is "$(meanwhile $how 'open=f.h5 write=2' mv f.h5 g.h5)" 'g.h5: all 2, 1000 cells, 2 at the end' "one that is changed is renamed ($how)"
    begin f.h5 $how
    is "$(meanwhile $how 'open=f.h5 write=2' rm f.h5)" '*: none' "or removed ($how)"
    begin
    is "$(meanwhile $how 'create=f.h5 write=2 flush' mv f.h5 g.h5)" 'g.h5: all 2, 1000 cells, 2 at the end' "one that was flushed is renamed ($how)"
    begin
    is "$(meanwhile $how 'create=f.h5 write=2 flush' rm f.h5)" '*: none' "or removed ($how)"
    begin f.h5 $how
    is "$(meanwhile $how 'open=f.h5 write=2' touch f.h5)" 'f.h5: all 2, 1000 cells, 2 at the end' "touched ($how)"
    begin
    is "$(meanwhile $how 'create=f.h5 write=2' touch f.h5)" 'f.h5: all 2, 1000 cells, 2 at the end' "so is a new one ($how)"
done
begin
is "$(beside veloc 'create=f.h5 write=2' native create) $(rm end; ls) $(native read=f.h5)" 'locked f.h5 f.h5: all 2, 1000 cells, 2 at the end' \
    'HDF5, which empties a file before it finds it locked, takes nothing from one of the cache'

# A program is in nobody's way but in that of others.
for how in native veloc; do
    begin f.h5 native
    is "$($how open=f.h5 read=f.h5 write=2 close read=f.h5)" 'f.h5: all 1, 1000 cells, 1 at the end
f.h5: all 2, 1000 cells, 2 at the end' "a file at its own path that is open is opened again ($how)"
done

# Nobody reads what was never closed.
begin
(veloc create=f.h5 write=1 kill; :) >"$dir/first" 2>&1
is "$(ls) $(veloc read=f.h5)" 'f.h5 f.h5: none' 'nobody reads what was never closed'
veloc create=f.h5 write=3 close
is "$(native read=f.h5)" 'f.h5: all 3, 1000 cells, 3 at the end' 'and it can be made again'
done_testing
