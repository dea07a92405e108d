#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# h5veloc-prerun as its user calls it, on virtual nodes: programs that lose nodes, or whose ranks
# will run elsewhere, then find everything in the caches of their own nodes.
: "${top_srcdir:?}" "${top_builddir:?}" "${TOOLS:?}"
# shellcheck source=test/tap/tap.sh
. "$top_srcdir/test/tap/tap.sh"
[ "${MPI_KIND:?}" != no ] || skip_all "this build has no MPI"
dir=$(tap_dir)
cd "$dir" || bail_out "no $dir"
for name in $(env | sed -n 's/^\(\(VELOC\|SCR\|SLURM\|PMI\|PMIX\|OMPI\)_[A-Z_]*\)=.*/\1/p'); do unset "$name"; done
mkdir n c
host=$(uname -n)
# Who does not come is waited for longer than any test lasts: nothing here may wait.
export VELOC_CNTL_BASE="$dir/n" VELOC_CACHE_BASE="$dir/c" VELOC_CACHE_SIZE=3 VELOC_SET_SIZE=4 \
    VELOC_LOG_LEVEL=INFO VELOC_PEER_TIMEOUT=1000 VELOC_VIEW_WAIT=1000
limit=${TEST_TIMEOUT:-120}
prerun() {
    timeout "$limit" "$TOOLS/h5veloc-prerun" "$@"
}
# steps NODES WORDS: eight ranks on so many nodes; what it says of its start is in log
steps() {
    local nodes=$1
    shift
    VELOC_VIRTUAL_NODES=$nodes ASAN_OPTIONS="detect_leaks=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}" \
        "$top_srcdir/test/mpirun.sh" 8 "$top_builddir/test/cmd/steps" "$@" >log 2>&1 </dev/null
}
restored() { sed -n 's/.*restored dataset \([0-9]*\) .* s: /\1: /p' log | tr '\n' ';'; }
# on NODES WORDS: one on each node; what they say is in out.I and err.I, how they end in $codes
on() {
    local nodes=$1 i pids=()
    shift
    rm -f out.* err.*
    for ((i = 0; i < nodes; i++)); do
        VELOC_VIRTUAL_NODES=$nodes prerun --recover --nodes="$nodes" --node="$i" "$@" >"out.$i" 2>"err.$i" &
        pids+=($!)
    done
    codes=
    for i in "${pids[@]}"; do
        wait "$i"
        codes+="$? "
    done
    [[ $codes != *[1-9]* ]] || sed '/ info: /d; s/^/# /' err.*
}
lose() { rm -r "c/$host.v$1"; }
parts() { (cd "c/$host.v$1" && find . -name 'rank.*' | sed -n 's|.*dataset\.\([0-9]*\)/rank\.|\1:|p' | sort | tr '\n' ' '); }
# the cache as it was for the next launch: which files of parts there are, and since when
stand() { find c -path '*/rank.*/*' -type f -printf '%i %T@ %p\n' | sort; }

# --- the tool
is "$(prerun --help | wc -l | awk '{ print ($1 <= 24) }')" 1 'the help fits a screen'
like "$(prerun --version)" 'h5veloc-prerun (h5veloc) *' 'the version is told'
for wrong in '' --nonsense '--recover now' '--recover --nodes=2' '--recover --node=0' '--recover --node=2 --nodes=2' \
    '--recover --nodes=x --node=0' '--recover --ranks=' '--recover --ranks=3-1' '--recover --ranks=1,' '--recover --ranks=1 --keep'; do
    # shellcheck disable=SC2086  # words
    prerun $wrong >/dev/null 2>&1
    is $? 2 "'$wrong': wrong usage"
done
like "$(SLURM_NNODES=3 prerun --recover 2>&1) $?" '*this job has 3 nodes: start one on each * 2' \
    'one alone in a job of three nodes does not take the others for lost'
like "$(prerun --recover) $?" "no program has worked with $dir yet 0" 'a prefix that nobody has worked with'
is "$(find . -name .veloc)$(find n c -mindepth 1)" '' 'stays as it is'

# --- a node is lost
export VELOC_FLUSH=0
ok 'eight ranks on four nodes make three checkpoints' steps 4 1 3
before=$(parts 2)
lose 2
on 4
is "$codes" '0 0 0 0 ' 'a node is lost, and one of its name comes: all tools are content'
is "$(cat out.*)" 'dataset 3 (steps 3): 6 parts were in place, 0 copied, 2 rebuilt
dataset 2 (steps 2): 6 parts were in place, 0 copied, 2 rebuilt
dataset 1 (steps 1): 6 parts were in place, 0 copied, 2 rebuilt' 'the first tells what came'
is "$(parts 2)" "$before" 'the node has the parts of its ranks'
stand >before
ok 'the program starts' steps 4 4 4
is "$(restored)" '3: nothing was lost;2: nothing was lost;1: nothing was lost;' 'and nothing is moved or rebuilt'
stand | grep -v dataset.4 >after
is "$(grep -vFxf before after)" '' 'no file of a part was written again'
is "$(find n -mindepth 2)" '' 'nothing is left in CNTL_BASE'

# --- a session that owes its leaders nothing
rm -rf c/* n/* .veloc
export VELOC_MODE=SYNC
ok 'with MODE=SYNC nothing is left to do behind a checkpoint' steps 4 1 1
unset VELOC_MODE
lose 2
on 4
is "$codes$(cat out.0)" '0 0 0 0 dataset 1 (steps 1): 6 parts were in place, 0 copied, 2 rebuilt' 'and it is brought like any'
rm -rf c/* n/* .veloc
steps 4 1 4

# --- fewer nodes
lose 3
on 3
is "$codes" '0 0 0 ' 'of four nodes three are left'
is "$(cat out.*)" 'dataset 4 (steps 4): 3 parts were in place, 3 copied, 2 rebuilt; 2 sets have several parts on one node
dataset 3 (steps 3): 3 parts were in place, 3 copied, 2 rebuilt; 2 sets have several parts on one node
dataset 2 (steps 2): 3 parts were in place, 3 copied, 2 rebuilt; 2 sets have several parts on one node' 'parts go to where their ranks will run, be it to others of their set, which is told'
ok 'the program starts there' steps 3 5 5
is "$(restored)" '4: nothing was lost;3: nothing was lost;2: nothing was lost;' 'and has everything in its own caches'

# --- where ranks will run is told, or parts stay
lose 1
on 3 --keep
is "$codes" '0 0 0 ' '--keep'
is "$(head -n 1 out.0)" 'dataset 8 (steps 5): 5 parts were in place, 0 copied, 3 rebuilt' 'moves nothing, and rebuilds what is lost'
is "$(parts 1)" '8:3 8:4 8:5 ' 'where its sets have no other member'
on 3 --keep
like "$(cat out.*)" '*dataset 8 *: 8 parts were in place, 0 copied, 0 rebuilt*' 'once more, and there is nothing to do'
rm -f out.* err.*
for i in 0 1 2; do # in reverse order
    VELOC_VIRTUAL_NODES=3 prerun --recover --nodes=3 --node=$i --ranks="$((6 - 3 * i < 0 ? 0 : 6 - 3 * i))-$((8 - 3 * i > 7 ? 7 : 8 - 3 * i))" >out.$i 2>err.$i &
done
wait
like "$(head -n 1 out.0)" 'dataset 8 (steps 5): 3 parts were in place, 5 copied, 0 rebuilt' '--ranks says what goes where'
like "$(parts 0)" '*8:6 8:7 *' 'and there it is'

# --- what only a container on the prefix has
rm -rf c/* n/* out .veloc
VELOC_COPY_TYPE=SINGLE VELOC_CONTAINERS=1 VELOC_FLUSH=1 steps 4 1 1
damaged=$(find "c/$host.v1" -name '*part-2.bin')
printf x | dd of="$damaged" conv=notrunc 2>/dev/null
VELOC_FETCH=0 on 4 >/dev/null
like "$codes $(cat err.0)" '1 1 1 1  *the part of rank 2 *: it is in a container, and with FETCH=0 nothing is read back from the prefix' \
    'FETCH=0: what only a container on the prefix has is not brought, and that is told'
on 4
like "$codes $(cat out.0)" '0 0 0 0  dataset 1 (steps 1): 7 parts were in place, 0 copied, 0 rebuilt, 1 *' 'else it is'

# --- what was owed
rm -rf c/* n/* out .veloc
export VELOC_FLUSH=1 VELOC_FLUSH_BANDWIDTH=20000
not_ok 'a program is killed behind its third checkpoint' steps 4 1 3 die
unset VELOC_FLUSH_BANDWIDTH
lose 1 2>/dev/null # what was not encoded is lost with it, the others are not
on 4
like "$codes" '[01] [01] [01] [01] ' 'a node is lost with it, and the tools end'
rm -rf c/* n/* out .veloc
export VELOC_FLUSH_BANDWIDTH=20000
not_ok 'it begins anew and is killed again' steps 4 1 3 die
unset VELOC_FLUSH_BANDWIDTH
on 4
is "$codes" '0 0 0 0 ' 'no node is lost: the tools wait for what was owed'
is "$(find out -type f | wc -l)" 24 'all of it is on the prefix'
rm -r out # by whom?
lose 3
on 4
is "$codes $(grep -c '6 parts were in place, 0 copied, 2 rebuilt' out.0)" '0 0 0 0  3' 'and was encoded: it bears the loss of a node'
ok 'the program starts' steps 4 4 4
like "$(restored)" '3: nothing was lost;*' 'from its caches'

rm -rf c/* n/* out .veloc
VELOC_FLUSH=0 steps 4 1 3 die
VELOC_FLUSH_ON_RESTART=1 on 4
is "$codes $(find out -type f | sed 's|^out/||; s|/.*||' | sort | uniq -c | xargs)" '0 0 0 0  8 step-3' \
    'FLUSH_ON_RESTART: what the program restarts from is flushed, though that was not due'
VELOC_FLUSH=0 steps 4 1 4 die
VELOC_GLOBAL_RESTART=1 on 4
is "$(find out -type f | sed 's|^out/||; s|/.*||' | sort | uniq -c | xargs)" '8 step-3 8 step-4' 'GLOBAL_RESTART: the same'

rm -rf c/* n/* out .veloc
VELOC_FLUSH=0 steps 4 1 4 die
VELOC_FLUSH_ON_RESTART=1 VELOC_CONTAINERS=1 on 4
is "$codes$(find .veloc -name 'container.*' | wc -l)" '0 0 0 0 4' 'into containers with CONTAINERS=1'
VELOC_FLUSH=0 steps 4 1 5 die
VELOC_GLOBAL_RESTART=1 VELOC_CONTAINERS=1 on 4
is "$codes $(find out -type f | grep -c step-5)" '0 0 0 0  8' 'which reads it by name: with CONTAINERS=1 it is in none'

# --- what cannot be had
lose 0
lose 1
mkdir -p out/step-4
printf '\211HDF\r\n\032\n\377\n' >out/step-4/part-2.bin
cat >>out/step-4/part-2.bin <<'EOF'
h5veloc stub 2
launch gone
mark 0123456789abcdef
The file of this name is written, but not in this place yet: h5veloc keeps it in the caches of
the nodes that wrote it and will put it here. Programs with HDF5_VOL_CONNECTOR=veloc read it
already. h5veloc-ls tells more.
EOF
echo mine >out/step-4/part-3.bin
rm -rf .veloc/dataset.* .veloc/launch.* # what was flushed is gone as well
on 4
is "$codes$(cat out.0)" '0 0 0 0 no dataset in the caches can be restored
1 placeholders of lost files removed' 'two of four nodes are lost: nothing is left, and that is told'
not_ok 'a placeholder of what is lost goes' [ -e out/step-4/part-2.bin ]
is "$(cat out/step-4/part-3.bin)" mine 'what a user has put there stays'

# --- tools that do not meet
export VELOC_PEER_TIMEOUT=1 VELOC_VIEW_WAIT=0
like "$(prerun --recover --nodes=3 --node=0 2>&1) $?" '*of 3 tools 1 came; missing: number 1* 1' 'one that stays alone says who is missing'
like "$(prerun --recover --nodes=3 --node=2 2>&1) $?" '*the tool of number 0 has not come* 1' 'or that the first is'
ln -s launch.bad .veloc/launch.bad # "too many levels of symbolic links"
like "$(prerun --recover 2>&1) $?" '*not decided what can be restored: what launch bad has saved is not known (*/launch.bad: *): * 1' \
    'what a launch has saved that cannot be read may be the newest: that is a failure'
rm .veloc/launch.bad
export VELOC_PEER_TIMEOUT=1000 VELOC_VIEW_WAIT=1000
prerun --recover --nodes=2 --node=0 >/dev/null 2>err.0 &
prerun --recover --nodes=2 --node=1 >/dev/null 2>err.1
wait $!
is $? 1 'two on one node'
like "$(cat err.0)" '*numbers 0 and 1 are both on *: start one tool on each node*' 'are told so'
on 2
is "$codes" '0 0 ' 'after all of these two on two nodes do it'
is "$(VELOC_ENABLE=0 prerun --recover) $?" 'h5veloc is switched off (ENABLE=0) 0' 'with ENABLE=0 nothing is done'
done_testing
