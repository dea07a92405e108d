/* SPDX-License-Identifier: BSD-3-Clause */
/* The prefix hangs in the middle of a run: no checkpoint waits for it, and all are
 * there when it has come back. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm/comm.h"
#include "tap/hangfs.h"
#include "tap/seslab.h"
#include "tap/tap.h"

enum { BEFORE = 2, MEANWHILE = 40, AFTER = 42 };

static struct seslab lab;
static struct hangfs hang; /* it outlives whoever hangs there */
static struct vel_err err;

static void must(int rc)
{
    if (rc < 0)
        bail_out("%s", err.text);
}

static struct vel_session *open_one(struct vel_comm *self)
{
    struct vel_session *s = NULL;

    must(seslab_open(&lab, self, &hang.twin.fs, &s, &err));
    return s;
}

static int64_t newest_of(struct vel_session *s)
{
    int64_t newest = 0;

    must(seslab_newest(s, &newest, &err));
    return newest;
}

static void run(const char *mode)
{
    struct vel_comm *self;
    struct vel_session *s;
    int64_t version = 1;

    seslab_init(&lab, 7);
    seslab_set(&lab, "MODE", mode);
    seslab_set(&lab, "FLUSH", "0");
    seslab_set(&lab, "PEER_TIMEOUT", "1");
    seslab_set(&lab, "CACHE_SIZE", "100");
    hangfs_init(&hang, lab.prefix);
    must(vel_comm_self(&self, &err));
    s = open_one(self);
    while (version <= BEFORE)
        must(seslab_checkpoint(&lab, s, version++, &err));
    hangfs_hang(&hang);
    while (version <= MEANWHILE && seslab_checkpoint(&lab, s, version, &err) == 0)
        version++;
    is_int(version - 1, MEANWHILE, "%s: checkpoints are made while the prefix hangs",
           mode);
    hangfs_let_go(&hang);
    while (version <= AFTER)
        must(seslab_checkpoint(&lab, s, version++, &err));
    must(vel_session_close(s, "the end", &err));
    s = open_one(self);
    is_int(newest_of(s), AFTER, "%s: the next launch finds the last", mode);
    must(seslab_restart(&lab, s, MEANWHILE, &err));
    ok(true, "%s: and what was made meanwhile", mode);
    must(seslab_checkpoint(&lab, s, AFTER + 1, &err));
    must(vel_session_close(s, "the end", &err));
    vel_comm_destroy(self);
    hangfs_fini(&hang);
}

int main(void)
{
    run("SYNC");
    run("ASYNC");
    return done_testing();
}
