#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Campaign: programs that call VELOC_* and programs that have HDF5 files alone, on one prefix, one after the
# other, with settings by chance, some of them killed. After each of them the newest version of every HDF5 file
# is there, and every checkpoint that nobody has deleted.
: "${top_srcdir:?}" "${top_builddir:?}" "${HDF5_PLUGIN_PATH:?}" "${PARALLEL_HDF5:?}"
# shellcheck source=test/tap/tap.sh
. "$top_srcdir/test/tap/tap.sh"
[ "$PARALLEL_HDF5" = yes ] || skip_all 'this HDF5 is serial'
# shellcheck source=test/vol/shared.sh
. "$top_srcdir/test/vol/shared.sh"

shopt -s extglob
names=(both other)
files=(plain both.1 both.2 own)
pick() { printf -v "$1" %s "${@:RANDOM % ($# - 1) + 2:1}"; } # VAR WORD...: here, since a $(...) has chances of its own
chance() { ((RANDOM % $1 == 0)); }

# Files that are closed, and checkpoints that are complete, are there afterwards though their program is killed.
# has[file] is a pattern: of a program that is killed at any moment the versions that it may have left.
step_files() {
    local with=FLUSH_BANDWIDTH=0 words=() file i n=$((RANDOM % 3 + 1)) end='' ok=1 cut='' safe
    ! chance 4 || pick cut 0.04 0.06 0.08 0.12 0.16 0.24
    chance 2 && end='kill' && pick with "$held" FLUSH_BANDWIDTH=0
    for ((i = 0; i < n; i++)); do
        pick file "${files[@]}"
        # one without a line is at its path when it is closed, if ever
        [ "$with" != "$held" ] || while [ "$file" = own ]; do pick file "${files[@]}"; done
        number=$((number + 1))
        words+=("file=$file" "plain=$number")
        if [ "$cut" ]; then has[$file]="@(${has[$file]:--1}|$number)"; else has[$file]=$number; fi
    done
    [ "$end" != kill ] || { pick safe 2 1 && words+=("safe=$safe" kill); }
    told+=" [$with${cut:+ $cut s}: ${words[*]}]"
    said=$(program "$with" "${words[@]}")
    [ -z "$cut" ] || return 0
    for ((i = 0; i < n; i++)); do [ "$(cut -d, -f$((i + 1)) <<<"$said")" = 'made 1' ] || ok=0; done
    ((ok))
}

# What is known of checkpoints: newest[name], or -1: none, or empty: anything up to `number`.
step_session() {
    local name with words n i ends='finalize' cut='' mode flush size at other does
    ! chance 4 || pick cut 0.04 0.06 0.08 0.12 0.16 0.24
    pick name "${names[@]}"
    pick mode SYNC ASYNC
    pick flush 0 1 2
    with="MODE=$mode FLUSH=$flush"
    chance 3 && pick size 1 2 && with+=" PREFIX_SIZE=$size"
    chance 6 && with+=' CACHE_PURGE=1'
    chance 6 && with+=' PREFIX_PURGE=1'
    chance 4 && pick size 1 2 && with+=" CACHE_SIZE=$size"
    chance 6 && pick other FLUSH_ON_RESTART=1 GLOBAL_RESTART=1 DROP_AFTER_CURRENT=1 && with+=" $other"
    case $with in *PURGE* | *PREFIX_SIZE* | *DROP*) newest=() ;; esac
    words=("name=$name" init)
    n=$((RANDOM % 4))
    for ((i = 0; i < n; i++)); do
        number=$((number + 1))
        words+=("write=$number")
        chance 2 && words+=(wait)
        newest[$name]=$number
        if chance 5; then
            pick does current remove drop
            words+=("$does=$number")
            [ "$does" = current ] || newest[$name]=''
        fi
    done
    # of HDF5 files there may be some with such a number
    chance 3 && pick does remove drop current && pick at 1 2 $((number + 1)) && words+=("$does=$at")
    case ${words[-1]} in remove* | drop* | current*) newest[$name]='' ;; esac
    chance 2 && ends='kill'
    words+=("$ends")
    told+=" [$with${cut:+ $cut s}: ${words[*]}]"
    [ -z "$cut" ] || newest[$name]=''
    said=$(program "$with" "${words[@]}")
    [ -z "$cut" ] || return 0
    [[ $said == 'init 1'* && $said != *wrote\ 1* && $said != *ended\ 0* ]] && [[ $ends == kill || $said == *'finalized 1' ]]
}

files_are_there() {
    local file words=() each=() want with=$held
    for file in "${!has[@]}"; do
        words+=("file=$file" see)
        each+=("plain ${has[$file]}")
    done
    [ ${#words[@]} -gt 0 ] || return 0
    if chance 3; then with=FLUSH_BANDWIDTH=0; else words+=(kill); fi
    want=$(printf '%s\n' "${each[@]}" | paste -sd,)
    said=$(program "$with" "${words[@]}")
    # shellcheck disable=SC2053
    [[ $said == $want ]] || { why="files: $said, not $want"; return 1; }
}
checkpoints_are_there() {
    local name mode
    for name in "${!newest[@]}"; do
        [ -n "${newest[$name]}" ] || continue
        pick mode SYNC ASYNC
        said=$(program "MODE=$mode FLUSH=0" "name=$name" init restart kill)
        [ "$said" = "init 1,$(restarted "${newest[$name]}")" ] || { why="$mode: $name: $said, not ${newest[$name]}"; return 1; }
    done
}

run_scene() {
    local -A has=() newest=()
    local i number=10 step
    RANDOM=$1 told='' why=''
    begin
    for ((i = 0; i < 6; i++)); do
        pick step step_files step_session
        $step || { why="the program itself: $said"; return 1; }
        files_are_there && checkpoints_are_there || return 1
    done
}

failed=0
mapfile -t seeds < <(if [ -n "${SEEDS-}" ]; then seq "${SEEDS%-*}" "${SEEDS#*-}"; else printf '%s\n' 1 2 8 14; fi)
for seed in "${seeds[@]}"; do
    run_scene "$seed" && continue
    note "SEEDS=$seed: $why, after$told"
    failed=$((failed + 1))
done
is $failed 0 "after programs of both kinds in any order all files and all checkpoints are there, seeds ${SEEDS:-${seeds[*]}}"
done_testing
