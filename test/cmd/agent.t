#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# h5veloc-agent as its user calls it: options, messages, several programs and nodes, other users,
# and the examples of its page.
: "${top_srcdir:?}" "${top_builddir:?}"
# shellcheck source=test/tap/tap.sh
. "$top_srcdir/test/tap/tap.sh"
[ "${MPI_KIND:?}" != no ] || skip_all "this build has no MPI"
# shellcheck source=test/cmd/agentlab.sh
. "$top_srcdir/test/cmd/agentlab.sh"

# --- the tool
is "$(agent --help | wc -l | awk '{ print ($1 <= 24) }')" 1 'the help fits a screen'
is "$(agent --version)" "h5veloc-agent (h5veloc) $(sed -n 's/^PACKAGE_VERSION = //p' "$top_builddir/Makefile")" \
    'the version is told'
for wrong in --nonsense serve '--detach --drain'; do
    # shellcheck disable=SC2086  # words
    agent $wrong >/dev/null 2>&1
    is $? 2 "$wrong: wrong usage"
done
like "$(agent --status)" 'no h5veloc-agent answers on * for *' '--status without an agent says that there is none'
ok '--drain has nothing to wait for' agent --drain
like "$(agent --stop 2>&1) $?" '*no h5veloc-agent of * is on * 0' '--stop finds none, which is no failure'
is "$(left_in_base)" '' 'and nothing was made to look for one'
like "$(VELOC_CNTL_BASE=n agent 2>&1) $?" '*CNTL_BASE=n: *its whole path* 1' 'a setting that cannot be is told'

# --- messages
mkdir logs
ok 'an agent detaches itself' env VELOC_LOG_FILE="$dir/logs" "$tool" -d
like "$(agent 2>&1) $?" '*an agent is here already: *lock is held by process * 1' 'a second one is refused, with the process'
is "$(stat -c %a n/*/agent n/*/agent/* | sort -u | tr '\n' ' ')" '600 700 ' 'what it makes is for its user alone'
like "$(agent -d 2>&1) $?" '*an agent is here already: * 1' 'also when it would detach itself'
ok 'it stops when it is asked to' agent --stop
like "$(cat logs/h5veloc-*.log)" '*info: h5veloc-agent on *: an agent serves *the agent ends' 'LOG_FILE has its messages'
is "$(left_in_base)" '' 'and CNTL_BASE nothing'
rm logs/*
VELOC_LOG_LEVEL=WARN VELOC_LOG_FILE="$dir/logs" agent -d
agent --stop
is "$(cat logs/*)" '' 'LOG_LEVEL says which'

# --- several programs
agent -d
for i in 1 2 3; do
    program "p$i" "$i"
    tell "p$i" init
done
failed=0
for v in 1 2 3 4 5 6 7 8; do
    for i in 1 2 3; do
        tell "p$i" "checkpoint $v"
        [ "$got" = 0 ] || failed=$((failed + 1))
    done
done
is "$failed" 0 'three programs make eight checkpoints each, beside one agent'
json=$(agent --json)
for i in 1 2 3; do
    tell "p$i" finalize
    quits "p$i"
done
ok '--drain waits for all of them' agent --drain
is "$(cat obey?-[1-8].dat | wc -c)" 480000 'all is on the prefix'
for i in 1 2 3; do
    program "p$i" "$i"
    tell "p$i" init
    tell "p$i" restart
    is "$got" 8 "program $i restarts from its last"
    tell "p$i" finalize
    quits "p$i"
done
is "$(cat p?.err | grep -c -e warn -e error)" 0 'without a word of trouble'
if command -v python3 >/dev/null; then
    is "$(python3 -c '
import json, sys
j = json.load(sys.stdin)
print(j["agent"], len(j["launches"]), {l["leader"] for l in j["launches"]}, {l["processes"] for l in j["launches"]}, type(j["owed"]).__name__)' <<<"$json")" \
        "True 3 {'agent'} {True} list" 'JSON tells of each launch'
else
    skip 1 'no python3 to read JSON'
fi
ok 'four ranks on two virtual nodes make three checkpoints' env "$mpi_leaks" VELOC_VIRTUAL_NODES=2 VELOC_SET_SIZE=2 \
    "$top_srcdir/test/mpirun.sh" 4 "$top_builddir/test/cmd/steps" 1 3
ok 'the agent leads both nodes to the end' agent --drain
is "$(find out -type f | wc -l)" 12 'all files are there'
ok 'and ends' agent --stop
is "$(left_in_base)" '' 'nothing is left in CNTL_BASE'

# --- what cannot be done
export VELOC_FLUSH_STALL=5 VELOC_PEER_TIMEOUT=5
program f 6
tell f init
mkdir obey6-1.dat
tell f 'checkpoint 1'
dies f KILL
out=$(agent --drain 2>&1)
is $? 1 'a file whose name a directory has: --drain fails'
like "$out" '*nobody is here to flush dataset 1 of launch *; the next launch of its program does it: *obey6-1.dat*' \
    'and tells what is left, and why'
set_aside=$(sed -n 's|.* in \([^ ]*/dataset.1\);.*|\1|p' <<<"$out")/aside
touch "$set_aside"
out=$(agent --drain 2>&1)
is $? 0 'what a launch could not find all of is left by nobody: --drain is done'
like "$out" '*dataset 1 of launch * is set aside: *' 'and tells of it'
rm "$set_aside"
like "$(agent --status)" '*owed: flush dataset 1 on *obey6-1.dat*' 'so does --status'
rmdir obey6-1.dat
program f 6
tell f init
tell f finalize
quits f
is "$(wc -c <obey6-1.dat)" 20000 'the next launch does it'
program g 7
tell g init
freezes g
out=$(agent --drain 2>&1)
is $? 1 'a program is stopped: --drain fails'
like "$out" '*launch * does not tell what it has left: * does not answer in *: try again when *' 'and tells which, why, and what to do'
dies g KILL
ok 'when it has gone nothing is left' agent --drain
unset VELOC_FLUSH_STALL
export VELOC_PEER_TIMEOUT=1000

# --- the page
# example N: the commands of the N-th example
example() {
    awk -v n="$1" '/^\.SH/ { on = $2 == "EXAMPLES" } /^\.fi/ { code = 0 }
        on && code && k == n { print } on && /^\.nf/ { code = 1; k++ }' \
        "$top_srcdir/doc/h5veloc-agent.1" | sed 's/\\&//g; s/\\-/-/g'
}
mkdir bin
# what the examples call
cat >bin/h5veloc-agent <<EOF
#!/bin/sh
exec '$tool' "\$@"
EOF
cat >program <<EOF
#!/bin/sh
printf 'init\ncheckpoint %d\nfinalize\nquit\n' "\$(cat said 2>/dev/null | wc -l)1" |
    env '$mpi_leaks' '$top_builddir/test/cmd/obey' 7 >>said
EOF
cat >bin/srun <<'EOF'
#!/bin/sh
echo "$*" >>steps
while [ "${1#--}" != "$1" ]; do shift; done
exec "$@"
EOF
chmod +x bin/* program
run() { PATH="$dir/bin:$PATH" SLURM_NNODES=1 bash -e -c "$(example "$1")"; }

ok 'the first example works' run 1
is "$(cat obey7-*.dat | wc -c)" 40000 'and what its programs have made is on the prefix'
is "$(left_in_base)" '' 'no trace of it is left'
rm -f obey7-*.dat
ok 'the second, with an srun that knows one node, too' run 2
is "$(cat obey7-*.dat | wc -c)" 20000 'its files are there'
each='--overlap --no-kill --nodes=1 --ntasks=1 --ntasks-per-node=1 h5veloc-agent'
is "$(sort steps)" "$each
$each --drain --stop
./program" 'by these steps'
agent --stop 2>/dev/null # the first step may have begun last
like "$(run 3)" 'no h5veloc-agent answers*nothing is left' 'and the third says what it found'

# --- other users
other() {
    setpriv --reuid=65534 --regid=65534 --clear-groups env VELOC_USER_NAME="$user" \
        "$tool" "$@" 2>&1
}
user=$(id -un)
chmod 711 "$dir"
chmod 1777 n
if [ "$(id -u)" != 0 ] || ! other --version >/dev/null; then
    skip 8 'it needs root, and a second user who can run what was built'
else
    agent -d
    program g 8
    tell g init
    tell g 'checkpoint 1'
    is "$(setpriv --reuid=65534 --regid=65534 --clear-groups find n -mindepth 2 2>/dev/null | wc -l)" 0 \
        'another user sees nothing of what an agent has'
    like "$(other --status) $?" "no h5veloc-agent answers on * 0" 'is told nothing'
    like "$(other --stop) $?" '*no h5veloc-agent of * 0' 'finds none to stop'
    like "$(agent --status)" 'an h5veloc-agent runs*' 'and has disturbed nobody'
    tell g finalize
    quits g
    agent --drain --stop
    rm -rf n
    mkdir -m 1777 n
    setpriv --reuid=65534 --regid=65534 --clear-groups mkdir -m 777 "n/$user"
    ok 'where another user has planted a directory' agent -d
    program g 8
    tell g init
    is "$got" 0 'a program'
    tell g finalize
    quits g
    ok 'and an agent meet in one of ours beside it' agent --drain --stop
    is "$(find "n/$user" -mindepth 1 | wc -l),$(find "n/$user.1" -maxdepth 0 -user 0 -perm 700 | wc -l)" 0,1 'and leave his alone'
    rmdir "n/$user"
fi
done_testing
