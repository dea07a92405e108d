/* SPDX-License-Identifier: BSD-3-Clause */
/* A full prefix takes the title of a launch's terms, and nothing behind it: no name
 * more is left than one in each PEER_TIMEOUT, and who begins at last is the first
 * chair.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tap/filelab.h"
#include "tap/files.h"
#include "tap/tap.h"

enum { FAIL = 3 }; /* what is said first, and begins */

static atomic_int begins;
static atomic_bool is_term[1024]; /* by descriptor */

static int open_noted(struct vel_fs *fs, const char *path, int flags, mode_t mode)
{
    int fd = vel_fs_posix()->ops->open(vel_fs_posix(), path, flags, mode);

    (void)fs;
    if (fd >= 0 && fd < 1024)
        atomic_store(&is_term[fd], strstr(path, "/launch.L1/1.") && flags & O_RDWR);
    return fd;
}

static ssize_t pwrite_full(struct vel_fs *fs, int fd, const void *bytes, size_t len,
                           off_t at)
{
    (void)fs;
    if (fd < 1024 && atomic_load(&is_term[fd]) && atomic_fetch_add(&begins, 1) < FAIL)
        return -ENOSPC;
    return vel_fs_posix()->ops->pwrite(vel_fs_posix(), fd, bytes, len, at);
}

static int count(const char *text, const char *word)
{
    int n = 0;

    for (const char *at = text; at && (at = strstr(at, word)); at++)
        n++;
    return n;
}

int main(void)
{
    static struct vel_fs_ops ops;
    static struct vel_fs fs = {&ops};
    struct vel_clock *clock = vel_clock_system();
    struct vel_err err = {0};
    struct filelab lab;
    char path[320];
    uint64_t since;
    char *events;

    ops = *vel_fs_posix()->ops;
    ops.open = open_noted;
    ops.pwrite = pwrite_full;
    filelab_init(&lab, "first", 1, 1,
                 "PEER_TIMEOUT=2\nFLUSH_STALL=30\nDATASET=one PATTERN=one\n");
    lab.fs = &fs;
    since = vel_clock_monotonic(clock);
    filelab_begin(&lab, "L1");
    is_int(filelab_write(&lab, 0, "one", "text", &err), 0, "a file is written");
    filelab_drain(&lab);
    ok(vel_clock_monotonic(clock) - since >= (FAIL - 1) * 2 * VEL_CLOCK_S,
       "who could not begin a term claims no other one before T");
    ok(filelab_stands(&lab, "one", "text"), "but then it begins");
    is_int(atomic_load(&begins) > FAIL, 1, "after %d that failed", FAIL);
    filelab_end(&lab);
    snprintf(path, sizeof path, "%s/events", lab.dir);
    events = tap_get_file(path, NULL);
    is_int(count(events, "\"run_start\""), 1, "it tells that the run begins");
    free(events);
    snprintf(path, sizeof path, "%s/nodes", lab.dir);
    ok(vel_fs_exists(vel_fs_posix(), path), "and on how many nodes");
    filelab_fini(&lab);
    return done_testing();
}
