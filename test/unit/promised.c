/* SPDX-License-Identifier: BSD-3-Clause */
/* A process promises a part, and is killed before the dataset is settled: nobody seals
 * it any more, and nobody waits for that. */
#include "config.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tap/filelab.h"
#include "tap/files.h"
#include "tap/tap.h"

enum { ID = 7, PATIENCE = 60 };

static void promise(struct filelab *lab)
{
    char dir[320];
    struct vel_err err = {0};
    unsigned before;

    snprintf(dir, sizeof dir, "%s/index.0/dataset.%d/rank.0", lab->home[0], ID);
    if (vel_fs_make_dirs(vel_fs_posix(), dir, 0700, &err) < 0)
        bail_out("%s", err.text);
    is_int(vel_client_owe(lab->client[0], ID, 0, VEL_OWED_ENCODE | VEL_OWED_FLUSH, dir,
                          &before, &err),
           0, "a part is promised: %s", err.text);
}

static void killed(void)
{
    struct filelab lab;
    struct vel_progress progress = {0};
    struct vel_client *tool = NULL;
    uint64_t value;
    struct vel_err err = {0};

    filelab_init(&lab, "killed", 1, 1, "PEER_TIMEOUT=1\nFLUSH_STALL=60\n");
    filelab_begin(&lab, "L1");
    promise(&lab);
    const struct vel_client_conf conf = {.role = VEL_PEER_TOOL,
                                         .launch = lab.launch,
                                         .node = lab.host[0].node,
                                         .leader = vel_role_endpoint(lab.alive[0]),
                                         .user = geteuid(),
                                         .limit_ms = 1000};
    if (vel_client_open(&conf, &tool, &err) < 0 ||
        vel_client_ping(tool, 1, &value, &err) < 0)
        bail_out("%s", err.text);
    vel_client_close(lab.client[0]);
    lab.client[0] = NULL;
    is_int(vel_client_drain(tool, 0, PATIENCE, &progress, &err), 0,
           "its process is killed: who drains hears of it: %s", err.text);
    is_int((long)progress.left, 0, "that nothing is left");
    vel_client_close(tool);
    filelab_end(&lab);
    filelab_fini(&lab);
}

/* --- it cannot be looked for --- */

static atomic_int looks = -1; /* below 0: not yet */

/* The first time the prefix does not answer. */
static int list_later(struct vel_fs *fs, const char *path, struct vel_vec *ret)
{
    (void)fs;
    if (strstr(path, "/ids") && looks >= 0 && atomic_fetch_add(&looks, 1) == 0)
        return -EIO;
    return vel_fs_posix()->ops->list(vel_fs_posix(), path, ret);
}

static void unread(void)
{
    static struct vel_fs_ops ops;
    static struct vel_fs fs = {&ops};
    struct vel_progress progress = {0};
    struct vel_err err = {0};
    struct filelab lab;

    ops = *vel_fs_posix()->ops;
    ops.list = list_later;
    filelab_init(&lab, "unread", 1, 1, "PEER_TIMEOUT=1\n");
    lab.fs = &fs;
    filelab_begin(&lab, "L1");
    looks = 0;
    is_int(vel_client_drain(lab.client[0], 9, PATIENCE, &progress, &err), 0,
           "who waits for a dataset is answered: %s", err.text);
    ok(atomic_load(&looks) > 1, "when its leader could look whether anything is left");
    filelab_end(&lab);
    filelab_fini(&lab);
}

int main(void)
{
    killed();
    unread();
    return done_testing();
}
