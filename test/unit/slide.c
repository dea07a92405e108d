/* SPDX-License-Identifier: BSD-3-Clause */
/* PREFIX_SIZE: the oldest checkpoints leave the prefix, and no call of the program
 * removes anything there. */
#include "config.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/path.h"
#include "comm/comm.h"
#include "tap/files.h"
#include "tap/seslab.h"
#include "tap/tap.h"

enum { VERSIONS = 6, KEPT = 2 };

static struct seslab lab;
static atomic_int removed;

static bool is_on_prefix(const char *path)
{
    return strncmp(path, lab.prefix, strlen(lab.prefix)) == 0;
}

static int counted_unlink(struct vel_fs *fs, const char *path)
{
    (void)fs;
    removed += is_on_prefix(path) && !vel_fs_is_look(vel_path_base(path));
    return vel_fs_posix()->ops->unlink(vel_fs_posix(), path);
}

static int counted_rmdir(struct vel_fs *fs, const char *path)
{
    (void)fs;
    removed += is_on_prefix(path);
    return vel_fs_posix()->ops->rmdir(vel_fs_posix(), path);
}

static void must(int rc, const struct vel_err *err)
{
    if (rc < 0)
        bail_out("%s", err->text);
}

static void run(const char *mode)
{
    struct vel_fs_ops ops = *vel_fs_posix()->ops;
    struct vel_fs fs = {.ops = &ops};
    struct vel_session *s = NULL;
    struct vel_comm *self;
    struct vel_err err = {0};
    bool are_there = true;

    ops.unlink = counted_unlink;
    ops.rmdir = counted_rmdir;
    seslab_init(&lab, 5);
    seslab_set(&lab, "FLUSH", "1");
    seslab_set(&lab, "PREFIX_SIZE", "2");
    seslab_set(&lab, "MODE", mode);
    must(vel_comm_self(&self, &err), &err);
    must(seslab_open(&lab, self, &fs, &s, &err), &err);
    removed = 0;
    for (int64_t version = 1; version <= VERSIONS; version++)
        must(seslab_checkpoint(&lab, s, version, &err), &err);
    must(vel_session_close(s, "the end", &err), &err);
    for (int64_t version = 1; version <= VERSIONS; version++)
        are_there &= seslab_is_flushed(&lab, version) == (version > VERSIONS - KEPT);
    ok(are_there, "%s: the newest two are on the prefix, and no others", mode);
    is_int(removed, 0, "%s: no call has removed anything there", mode);
    vel_comm_destroy(self);
}

int main(void)
{
    run("SYNC");
    run("ASYNC");
    return done_testing();
}
