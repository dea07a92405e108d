#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Campaign: an HDF5 program of eight ranks with a file of each, on four virtual nodes, is killed (SIGKILL) at an
# instant of its seed: all ranks, one of them, or a node with its cache, with or without agents. At that
# instant its files on the prefix are such as h5dump reads, stubs, or empty, as those of any program that is killed
# in the middle. It is run again, perhaps on other nodes, perhaps after h5veloc-prerun, perhaps killed once more: all
# its ranks find the same newest step, which is not older than what was safe. The last launch has a step more to write,
# for who only reads leaves what others owe to the next one: in the end all files are at their paths, and nothing else is.
#
# Everything follows from the seed but the order of what processes do. make check takes 2 seeds.
# shellcheck source=test/tap/tap.sh
. "${top_srcdir:?run it by make check}/test/tap/tap.sh"
# shellcheck source=test/cluster/cluster.sh
. "$top_srcdir/test/cluster/cluster.sh"
# shellcheck source=test/cluster/filer.sh
. "$top_srcdir/test/cluster/filer.sh"
: "${HDF5_LIBS?}"

steps=6 turns_of_all=$((8 * (2 + 3 * 6)))
home=node1,node2,node3,node4
how=(all rank node silent served both) # dies
dump=$(sed -n 's|.*-L\([^ ]*\)/lib .*|\1/bin/h5dump|p' <<<" $HDF5_LIBS ")
[ -x "$dump" ] || dump=$(command -v h5dump)

below() { pick=$((RANDOM % $1)); } # by the seed, in $pick
pause() { sleep "$(printf '%d.%03d' $(($1 / 1000)) $(($1 % 1000)))"; }
now() { # what is right now; $why is the first that is not
    local text=$1
    shift
    "$@" && return
    [ -n "$why" ] || why=$text
    false
}

# --- the scene ---

choose() { # SEED
    RANDOM=$(($1 * 7919 % 32768))
    below 100
    death=${how[$1 % ${#how[@]}]}
    below 4 && rule=${pick/[012]/BEHIND} rule=${rule/3/none}
    shape=each
    below 4 && [ "$pick" -gt 0 ] || shape=same
    options=(-n "$steps")
    below 3 && [ "$pick" -eq 0 ] || options+=(-b)
    below 4 && kills=$((pick == 0 ? 2 : 1))
    below 3 && comes=$pick # the lost node: empty, a spare one, not at all
    below 2 && has_prerun=$pick
    nodes=$home why='' safe=0 found=0 lost=''
    settings
}

settings() {
    local pattern='out/ck.{step}/part-{rank}.h5'
    [ "$shape" = each ] || pattern='out/state.{rank}.h5'
    filer_fresh $shape
    [ "$rule" = none ] || echo "DATASET=ck PATTERN=$pattern PUBLISH=$rule" >"$pfs/prefix/.velocconf"
    filer_env=(VELOC_PEER_TIMEOUT=5 VELOC_VIEW_WAIT=5 VELOC_SET_SIZE=4)
    below 2 && filer_env+=("VELOC_CACHE_SIZE=$((1 + 2 * pick))")
    below 3 && [ "$pick" -gt 0 ] || filer_env+=(VELOC_COPY_TYPE=PARTNER)
    below 2 && [ "$pick" -gt 0 ] || filer_env+=("SLURM_JOB_ID=17")
}

# For the launch that is killed: what waits for its safety, and how slow files come to the prefix.
slow() {
    bound=$((2 + RANDOM % 2)) waits=$((RANDOM % 64 & RANDOM))
    wait_options=(-w "$bound:$waits")
    below 3 && [ "$pick" -gt 0 ] || wait_options=()
    below 3 && slow_env=("VELOC_FLUSH_BANDWIDTH=$((pick * pick * 50000))")
}

# --- what happens to it ---

strike() {
    local node
    below 4 && node=$((pick + 1))
    case $death in
    all | served) filer_kill head ;;
    rank) cluster_sh node$node pkill -KILL -o -x filer ;;
    both) filer_kill head & cluster_each pkill -KILL -x h5veloc-agent && wait $! ;;
    node) cluster_kill $node && lost=$node ;;
    silent)
        cluster_kill --silent $node && lost=$node
        below 6000 && pause $((pick < 3000 ? 10 : pick))
        cluster_sh head pkill -KILL mpiexec
        filer_kill head
        ;;
    esac 2>>"$log"
}

# A machine that is so busy that leaders are silent for PEER_TIMEOUT makes other scenes of it.
note_launch() {
    cp "$log" "$(tap_dir)/stderr.$seed.$i"
    ! grep -q 'does not answer in' "$log" || told="$told (a leader was silent)"
}

# it begins and is killed, or ends before that
suffer() {
    local at env=("${filer_env[@]}")
    slow
    filer_env+=("${slow_env[@]}")
    below $turns_of_all && at=$pick
    filer_start "$nodes" "${options[@]}" "${wait_options[@]}"
    below 3 && case $pick in 0) wait_ms=0 ;; 1) below 40 && wait_ms=$pick ;; 2) below 500 && wait_ms=$pick ;; esac
    if filer_turns $at; then
        pause "$wait_ms"
        strike
    fi
    filer_env=("${env[@]}")
    filer_end
    [ "$status" -eq 0 ] || killed=1
    now "a launch hangs" [ "$status" -ne 124 ]
    [ "$status" -ne 124 ] || cp "$log" "$(tap_dir)/hangs.$seed"
    cp -r "$filer_results" "$(tap_dir)/results.$seed.$i"
    note_launch
    told="$told; $death at $at + $wait_ms ms, status $status, found $(filer_newest | paste -sd,)"
}

# the lost node comes back, or another one, or none
recall() {
    [ -n "$lost" ] || return
    cluster_start "$lost"
    case $comes in
    1) nodes=${home/node$lost/node5} ;;
    2) nodes=$(tr ',' '\n' <<<$home | grep -v "node$lost" | paste -sd,) ;;
    esac
}

# --- what is right ---

# Nothing is there by half: files that HDF5's own tool reads, stubs, and what was just made.
is_readable() {
    filer_look >"$(tap_dir)/look"
    if grep -q wrong "$(tap_dir)/look"; then
        told="$told ($(grep -c wrong "$(tap_dir)/look") wrong)"
        return 1
    fi
    [ -n "$dump" ] || return 0
    local file
    find "$pfs/prefix/out" -name '*.h5' -type f | while IFS= read -r file; do
        is_stub "$file" || [ ! -s "$file" ] || env -u HDF5_VOL_CONNECTOR "$dump" "$file" ||
            [ ! -e "$file" ] || echo "$file" >&3
    done 3>"$(tap_dir)/undumped" >/dev/null 2>"$(tap_dir)/dump.err"
    [ ! -s "$(tap_dir)/undumped" ]
}

# Of the same names that are no dataset together each rank has its own step: "RANK STEP" of what it may rely on.
is_own() { [ "$shape" = same ] && [ "$rule" != BEHIND ]; }
on_prefix() { filer_look | awk '$3 == "right" { print $2, $1 }'; }
newest_of_each() { awk 'NF > 1 && $2 > m[$1] { m[$1] = $2 } END { for (r in m) print r, m[r] }'; }

# nothing in this list is newer than what that one has
is_in() { # LIST LIST
    awk 'FILENAME == ARGV[1] { if ($2 > has[$1]) has[$1] = $2; next } $2 > has[$1] { exit 1 }' "$2" "$1"
}

learn_own() {
    on_prefix >"$(tap_dir)/stands"
    {
        cat "$(tap_dir)/stands" "$own"
        if [ -z "$lost" ] || [ "$bound" -ge 3 ]; then filer_did safe; fi
    } | newest_of_each >"$own.new"
    mv "$own.new" "$own"
}

# What a later launch may rely on
learn() {
    local said
    ! is_own || learn_own
    said=$(filer_did safe | awk -v rule="$rule" '
        ++n[$2] >= (rule == "none" ? 8 : 1) && $2 > m { m = $2 } END { print m + 0 }') # without a rule each tells of its own
    [ -n "$lost" ] && [ "$bound" -lt 3 ] && said=0
    [ "$said" -le "$safe" ] || safe=$said
    said=$(filer_whole)
    [ "$said" -le "$safe" ] || safe=$said
    ! is_own || safe=0
}

# All ranks have found the same newest step, or each its own, and not too old
has_found() {
    local said
    now "a file is torn" [ -z "$(filer_did torn)" ]
    said=$(filer_did found | awk '{ for (i = 2; i <= NF; i++) n[$i]++; ranks++ } END {
        for (s in n) if (n[s] == ranks && s > m) m = s; print m + 0 }')
    [ "$rule" != BEHIND ] || now "ranks find $(filer_newest | paste -sd' ')" [ "$(filer_newest | wc -l)" -le 1 ]
    [ -z "$(filer_did found)" ] || now "step $said is found, $safe was safe" [ "$said" -ge "$safe" ]
    filer_did found >"$(tap_dir)/finds"
    [ -z "$(filer_did found)" ] || now 'a rank finds an older step than was there' is_in "$own" "$(tap_dir)/finds"
    found=$said
}

# Stubs of what never was whole stay for one launch.
is_tidy() {
    is_readable && ! awk -v found="$found" '$1 > found' "$(tap_dir)/look" | grep -q 'stub\|empty' && [ -z "$(find "$pfs/prefix" -name .veloc -prune -o -name '*.h5v-*' -print)" ]
}

# each step whole or absent, those after $found whole; of the same names the last
is_whole() {
    if [ "$shape" = same ]; then
        [ "$(filer_whole)" = "$steps" ]
        return
    fi
    awk -v found="$found" -v rule="$rule" -v last="$steps" '
        { n[$1] += $3 == "right" }
        END { for (s = 1; s <= last; s++) if (n[s] != 8 && (s > found || (rule == "BEHIND" && n[s] > 0))) exit 1 }' "$(tap_dir)/look"
}

# before the job's program; again when a leader was silent, as one does
recover() {
    codes=$(filer_prerun "$nodes")
    if [ "${codes//[0 ]/}" != '' ] && grep -q 'does not answer' "$(tap_dir)"/prerun.*; then
        told="$told, prerun $codes (a leader was silent)"
        codes=$(filer_prerun "$nodes")
    fi
    told="$told, prerun $codes"
}

run_scene() { # SEED
    local i own
    own=$(tap_dir)/own
    : >"$own"
    choose "$1"
    told="$death, $rule, $shape, ${filer_env[*]}"
    case $death in served | both) filer_agents node1 node2 node3 node4 ;; esac
    for ((i = 0; i < kills; i++)); do
        suffer
        has_found
        now 'a file on the prefix is broken after the kill' is_readable
        learn
        [ -z "$lost" ] || { recall && death=all; }
    done
    told="$told; safe $safe, on $nodes"
    if [ "$has_prerun" = 1 ]; then
        recover
        now "prerun ends with $codes" [ "${codes//[0 ]/}" = '' ]
        now 'after prerun not all is at its path' [ "$(filer_whole)" -ge "$safe" ]
        on_prefix >"$(tap_dir)/stands"
        now 'after prerun a step of a rank is not at its path' is_in "$own" "$(tap_dir)/stands"
    fi
    local steps=$((steps + 1))
    local filer_steps=$steps
    options[1]=$steps
    filer_run "$nodes" "${options[@]}"
    note_launch
    now "the last launch ends with status $status" [ "$status" -eq 0 ]
    has_found
    told="$told; found $found"
    [ "$death" != served ] || cluster_each env "${filer_vars[@]}" "$TOOLS/h5veloc-agent" --drain --stop
    now 'something else than right files is left in the end' is_tidy
    now 'a step is not whole in the end' is_whole
    [ -z "$why" ]
}

keep() { # SEED
    local node to
    to=$(tap_dir)/kept.$1
    mkdir "$to"
    cp -a "$pfs/prefix" "$filer_results" "$log" "$(tap_dir)/look" "$to"
    for node in $(cluster_nodes); do
        cluster_sh "$node" tar -C /node/cache --exclude s -cf - . >"$to/$node.tar"
    done
    cp "$(tap_dir)"/prerun.* "$to" 2>/dev/null
}

seeds=${SEEDS:-101-102} failed=0 deaths=0 reasons=''
filer_begin 5
for ((seed = ${seeds%-*}; seed <= ${seeds#*-}; seed++)); do
    killed=0
    rm -f "$(tap_dir)"/prerun.*
    if run_scene $seed; then
        [ "${seeds%-*}" != "${seeds#*-}" ] || note "SEEDS=$seed: $told"
    else
        note "SEEDS=$seed: $why: $told"
        reasons+="; $seed: $why ($told)"
        keep $seed
        failed=$((failed + 1))
    fi
    deaths=$((deaths + killed))
done
note "$deaths were killed"
is $failed 0 "after kills and lost nodes files are whole, and all ranks restart from the same step, seeds $seeds$reasons"
done_testing
