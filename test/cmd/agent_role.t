#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Who leads: an agent that comes before or during a program, that is killed, ends, or hangs; and
# programs that are killed.
: "${top_srcdir:?}" "${top_builddir:?}"
# shellcheck source=test/tap/tap.sh
. "$top_srcdir/test/tap/tap.sh"
[ "${MPI_KIND:?}" != no ] || skip_all "this build has no MPI"
# shellcheck source=test/cmd/agentlab.sh
. "$top_srcdir/test/cmd/agentlab.sh"

# --- an agent comes, dies, comes again, ends
export VELOC_MODE=AGENT
program a 1
tell a init
is "$got" 0 'a program begins without an agent'
is "$(warnings a)" 1 'with one warning'
like "$(cat a.err)" '*MODE=AGENT, but no h5veloc-agent leads on * (none is here): a process of this program does*' \
    'that says so'
tell a 'checkpoint 1'
tell a wait
is "$got" 0 'and works'
serves first
ok 'an agent that comes takes the role while the program computes' heard first 'leads launch'
tell a 'checkpoint 2'
is "$got" 0 'the program goes on'
like "$(agent --status)" '*an h5veloc-agent runs*the agent leads, processes run*' 'which --status tells'
dies first KILL
tell a 'checkpoint 3'
is "$got" 0 'the agent is killed, and the program goes on'
is "$(warnings a)" 2 'with one warning'
like "$(tail -n 1 a.err)" '*the h5veloc-agent of * has died or hangs, a process of this program leads now' 'of what it was'
tell a wait
serves second
ok 'the next agent takes the role back' heard second 'leads launch'
tell a 'checkpoint 4'
tell a wait
is "$got" 0 'and does the work'
kill -TERM "${pid_of[second]}"
ok 'at SIGTERM it gives the role back' heard second 'is given back'
ends second
is "$status" 0 'and ends in good order'
tell a 'checkpoint 5'
tell a finalize
is "$got" 0 'the program ends in good order'
quits a
is "$status" 0 'by itself'
is "$(cat obey1-[1-5].dat | wc -c)" 100000 'all that it has made is on the prefix'
is "$(left_in_base)" '' 'and nothing is left in CNTL_BASE'

# --- programs that are killed
export VELOC_MODE=ASYNC
serves third
program b 2
tell b init
tell b 'checkpoint 1'
tell b 'checkpoint 2'
dies b KILL
ok 'a program is killed: the agent finishes what it owed' agent --drain
is "$(cat obey2-[12].dat | wc -c)" 40000 'all of it is on the prefix'
program b 2
tell b init
tell b restart
is "$got" 2 'the next launch finds the last checkpoint'
tell b finalize
quits b
export VELOC_FLUSH_BANDWIDTH=10000 # two seconds for a file
program b 2
tell b init
tell b 'checkpoint 3'
tell b finalize
unset VELOC_FLUSH_BANDWIDTH
ok 'it finalizes without waiting for the agent' [ "$got" = 0 ] && not_ok 'which has not flushed yet' [ -e obey2-3.dat ]
quits b
ok 'which finishes' agent --drain
is "$(wc -c <obey2-3.dat)" 20000 'the flush'
is "$(grep -c -e warn -e error b.err)" 0 'without a word of trouble'
left_of_others() { left_in_base | sed "s|n/[^/ ]*/agent[^ ]* *||g"; }
for asked in {1..100}; do # it ends the launch when all is told to be done
    [ -n "$(left_of_others)" ] || break
    agent --drain
done
is "$(left_of_others)" '' "the agent leaves nothing of launches that are over ($asked)"
export VELOC_FLUSH_BANDWIDTH=10000
program b 2
tell b init
tell b 'checkpoint 4'
dies b KILL
unset VELOC_FLUSH_BANDWIDTH
program b 2
tell b init
tell b restart
is "$got" 4 'one is killed again, and launched while the agent still flushes: it begins from what is in the cache'
tell b finalize
quits b
ok 'all that both owed' agent --drain
is "$(wc -c <obey2-4.dat)" 20000 'is done'
dies third KILL

program c 3
tell c init
tell c 'checkpoint 1'
dies c KILL
like "$(agent --status)" '*nobody leads, no process runs*' 'a program is killed where no agent is'
ok 'then --drain does what it owed' agent --drain
is "$(wc -c <obey3-1.dat)" 20000 'all of it'
program c 3
tell c init
dies c KILL
program c 3
tell c init
tell c restart
is "$got" 1 'one is killed that owed nothing, the next begins'
tell c finalize
quits c
is "$(left_in_base | sed "s|n/[^/ ]*/agent[^ ]* *||g")" '' 'and removes what that has left'

# --- an agent that hangs
export VELOC_PEER_TIMEOUT=6
serves fourth
program d 4
tell d init
ok 'an agent leads a program' heard fourth 'leads launch'
tell d 'checkpoint 1'
is "$got" 0 'which works'
freezes fourth
tell d 'checkpoint 2'
is "$got" 0 'the agent hangs: after PEER_TIMEOUT a checkpoint is protected in the call'
like "$(cat d.err)" '*does not answer*' 'that the leader does not answer'
program e 5
tell e init
tell e 'checkpoint 1'
is "$got" 0 'one that begins now does without it'
is "$(warnings e)" 0 'and says nothing, for MODE=ASYNC'
tell e finalize
is "$got" 0 'and ends well'
quits e
dies d KILL
kill -CONT "${pid_of[fourth]}"
ok 'the agent wakes up and finishes what the other owed' agent --drain
is "$(cat obey4-1.dat obey5-1.dat | wc -c)" 40000 'nothing is missing'
done_testing
