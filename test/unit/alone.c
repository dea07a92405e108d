/* SPDX-License-Identifier: BSD-3-Clause */
/* A session begins while another program recovers what earlier launches have left: it
 * waits, and goes on when that is done. When it is never done, since who does it is
 * frozen, no rank gets a session: what can be restored is not known, and to go on as if
 * there was nothing would lose it. */
#include "config.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sys/host.h"
#include "tap/manual_clock.h"
#include "tap/crowd.h"
#include "tap/files.h"
#include "tap/seslab.h"
#include "tap/standin.h"
#include "tap/tap.h"

enum { RANKS = 4, PEER_SECONDS = 1 };

static struct seslab lab;
static struct vel_host host;
static char lock[600];

/* What each rank of a launch got. */
struct launch {
    struct standin *standin;
    int rc[RANKS];
    int64_t newest[RANKS];
    struct vel_err err[RANKS];
    bool writes;
};

static int member(struct vel_comm *comm, void *arg)
{
    struct launch *l = arg;
    struct vel_session *s = NULL;
    int rank = comm->rank, rc;

    rc = seslab_open_with(&lab, comm, vel_fs_posix(), standin_seat(l->standin, rank),
                          &s, &l->err[rank]);
    l->rc[rank] = rc;
    if (rc == 0)
        rc = l->writes ? seslab_checkpoint(&lab, s, 1, &l->err[rank])
                       : seslab_newest(s, &l->newest[rank], &l->err[rank]);
    vel_session_close(s, "the program has ended", NULL);
    return rc;
}

static struct launch launch(bool writes)
{
    struct launch l = {.standin = standin_create(RANKS), .writes = writes};

    crowd_run(RANKS, NULL, member, &l, NULL);
    standin_destroy(l.standin);
    l.standin = NULL;
    return l;
}

static bool all_refused(const struct launch *l)
{
    bool are = true;

    for (int i = 0; i < RANKS; i++)
        are = are && l->rc[i] == VEL_EBUSY && strstr(l->err[i].text, lock);
    return are;
}

static bool all_have_1(const struct launch *l)
{
    bool have = true;

    for (int i = 0; i < RANKS; i++)
        have = have && l->rc[i] == 0 && l->newest[i] == 1;
    return have;
}

/* --- who recovers --- */

static void stand_still(void)
{
    raise(SIGSTOP);
}

/* For longer than a peer may be silent. */
static void work_hard(void)
{
    while (clock() < 5 * (clock_t)CLOCKS_PER_SEC * PEER_SECONDS / 2)
        ;
}

/* A process on `node` that has the lock, and does something with it. */
static pid_t holder(const char *node, void (*does)(void))
{
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        FILE *file = fopen(lock, "w");

        if (!file || flock(fileno(file), LOCK_EX | LOCK_NB) < 0 ||
            fprintf(file, "process %ld on %s\n", (long)getpid(), node) < 0 ||
            fflush(file) != 0)
            _exit(1);
        raise(SIGSTOP); /* it is ready */
        does();
        _exit(0);
    }
    if (pid < 0 || waitpid(pid, &status, WUNTRACED) != pid || !WIFSTOPPED(status))
        bail_out("nobody has the lock");
    if (does != stand_still)
        kill(pid, SIGCONT);
    return pid;
}

static void end(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

/* --- and who begins --- */

static void frozen(void)
{
    pid_t pid = holder(host.node, stand_still);
    struct launch l = launch(false);
    char who[400];

    ok(all_refused(&l), "while it is frozen no rank gets a session: %s", l.err[0].text);
    snprintf(who, sizeof who, "process %ld on %s, which stands still", (long)pid,
             host.node);
    ok(strstr(l.err[0].text, who) != NULL, "the sentence names it");
    ok(strstr(l.err[0].text, "end that process") &&
           strstr(l.err[0].text, "remove the file"),
       "and the remedies");
    end(pid);
    l = launch(false);
    ok(all_have_1(&l), "when it was ended the next launch finds what there is");
}

static void busy(void)
{
    pid_t pid = holder(host.node, work_hard);
    struct launch l = launch(false);

    ok(all_have_1(&l),
       "one that works for longer than a peer may be silent is waited for");
    end(pid);
}

/* Its node may be lost: then the lock is free when the file system has noticed. */
static void elsewhere(void)
{
    struct vel_manual_clock manual;
    pid_t pid = holder("elsewhere", stand_still);
    struct launch l;

    vel_manual_clock_init(&manual, VEL_CLOCK_S, VEL_CLOCK_S);
    lab.clock = &manual.clock;
    l = launch(false);
    lab.clock = NULL;
    ok(all_refused(&l) && strstr(l.err[0].text, "on elsewhere: end that process"),
       "one on another node, of which nobody knows: %s", l.err[0].text);
    ok(vel_clock_monotonic(&manual.clock) >= 120 * VEL_CLOCK_S,
       "is waited for until its lock would be free if the node was lost");
    vel_manual_clock_fini(&manual);
    end(pid);
}

int main(void)
{
    struct vel_err err = {0};
    struct launch l;

    seslab_init(&lab, 1);
    seslab_set(&lab, "MODE", "ASYNC");
    seslab_set(&lab, "VIRTUAL_NODES", "4");
    seslab_set(&lab, "FLUSH", "0");
    seslab_set(&lab, "PEER_TIMEOUT", "1");
    if (vel_host_init(&host, &err) < 0)
        bail_out("%s", err.text);
    snprintf(lock, sizeof lock, "%s/.veloc/recovery", lab.prefix);
    l = launch(true);
    if (l.rc[0] < 0)
        bail_out("%s", l.err[0].text);
    frozen();
    busy();
    elsewhere();
    vel_host_fini(&host);
    return done_testing();
}
