/* SPDX-License-Identifier: BSD-3-Clause */
/* The prefix hangs in the middle of a run: no checkpoint waits for it, and all are
 * there when it has come back. It is frozen when a run begins: that goes on from what
 * there is, and so does the next one. */
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

static void set_up(const char *mode)
{
    seslab_init(&lab, 7);
    seslab_set(&lab, "MODE", mode);
    seslab_set(&lab, "FLUSH", "0");
    seslab_set(&lab, "PEER_TIMEOUT", "1");
    seslab_set(&lab, "CACHE_SIZE", "100");
    hangfs_init(&hang, lab.prefix);
}

static void run(const char *mode)
{
    struct vel_comm *self;
    struct vel_session *s;
    int64_t version = 1;

    set_up(mode);
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

/* So many launches, and two checkpoints of each. */
static void run_frozen(const char *mode, int launches)
{
    struct vel_comm *self;
    struct vel_session *s;
    int64_t version = 1;

    set_up(mode);
    must(vel_comm_self(&self, &err));
    for (int i = 0; i <= launches; i++) {
        s = open_one(self);
        is_int(newest_of(s), version - 1, "%s: launch %d finds what there is", mode, i);
        for (int k = 0; k < 2; k++)
            must(seslab_checkpoint(&lab, s, version++, &err));
        must(vel_session_close(s, "the end", &err));
        hang.lets_read = true;
        hangfs_hang(&hang);
    }
    ok(true, "%s: and goes on while the prefix is frozen, from its beginning", mode);
    hangfs_let_go(&hang);
    s = open_one(self);
    is_int(newest_of(s), version - 1, "%s: all is there when it is not", mode);
    must(seslab_restart(&lab, s, version - 2, &err));
    must(seslab_checkpoint(&lab, s, version, &err));
    must(vel_session_close(s, "the end", &err));
    vel_comm_destroy(self);
    hangfs_fini(&hang);
}

int main(void)
{
    run_frozen("SYNC", 2);
    run_frozen("ASYNC", 2);
    run("SYNC");
    run("ASYNC");
    return done_testing();
}
