/* SPDX-License-Identifier: BSD-3-Clause */
/* A program that lives has a checkpoint in the caches. Another one, of the same user
 * and prefix, begins while the prefix is frozen for it: it takes nothing from the one
 * that lives, though it cannot know that. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "comm/comm.h"
#include "process/attend.h"
#include "tap/hangfs.h"
#include "tap/seslab.h"
#include "tap/tap.h"

static struct seslab lab;
static struct hangfs hang;
static struct vel_err err;

static void must(int rc)
{
    if (rc < 0)
        bail_out("%s", err.text);
}

static struct vel_comm *self;

static struct vel_session *open_one(struct vel_fs *fs)
{
    struct vel_session *s = NULL;

    must(vel_comm_self(&self, &err));
    must(seslab_open_with(&lab, self, fs, vel_attend(), &s, &err));
    return s;
}

/* It saves, says so, and restarts from that when it is told to. */
static int live(int said, int told)
{
    struct vel_session *s = open_one(vel_fs_posix());
    char c = 'x';
    int rc = seslab_checkpoint(&lab, s, 1, &err);

    if (rc == 0)
        rc = vel_session_wait(s, &err);
    if (rc < 0 || write(said, &c, 1) != 1 || read(told, &c, 1) != 1)
        return 1;
    rc = seslab_restart(&lab, s, 1, &err);
    if (rc < 0)
        fprintf(stderr, "# %s\n", err.text);
    vel_session_close(s, NULL, &err);
    return rc < 0;
}

int main(void)
{
    struct vel_session *s;
    int to[2], from[2], status;
    char c = 'x';
    pid_t pid;

    seslab_init(&lab, 7);
    seslab_set(&lab, "MODE", "ASYNC");
    seslab_set(&lab, "FLUSH", "0");
    seslab_set(&lab, "PEER_TIMEOUT", "2");
    hangfs_init(&hang, lab.prefix);
    if (pipe(to) < 0 || pipe(from) < 0 || (pid = fork()) < 0)
        bail_out("no process");
    if (pid == 0)
        _exit(live(from[1], to[0]));
    if (read(from[0], &c, 1) != 1)
        bail_out("the other one does not save");
    hang.lets_read = true;
    hangfs_hang(&hang);
    s = open_one(&hang.twin.fs);
    hangfs_let_go(&hang);
    for (int64_t version = 2; version < 5; version++)
        must(seslab_checkpoint(&lab, s, version, &err));
    must(vel_session_close(s, NULL, &err));
    vel_comm_destroy(self);
    if (write(to[1], &c, 1) != 1 || waitpid(pid, &status, 0) < 0)
        bail_out("the other one is gone");
    is_int(status, 0,
           "who lives restarts from its checkpoint, when another has made three");
    hangfs_fini(&hang);
    return done_testing();
}
