/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <signal.h>

#include "tap/deadlyfs.h"

enum { PAGE = 4096 };

enum how { LIVES, DIES_BEFORE, DIES_HALFWAY, DIES_AFTER };

static long left = -1;
static enum how how_it_dies;

static enum how begin(void)
{
    if (left < 0 || left-- > 0)
        return LIVES;
    if (how_it_dies == DIES_BEFORE)
        raise(SIGKILL);
    return how_it_dies;
}

static int end(enum how how, int rc)
{
    if (how != LIVES)
        raise(SIGKILL);
    return rc;
}

/* Below a page the system does nothing by half. */
static ssize_t deadly_pwrite(struct vel_fs *fs, int fd, const void *buf, size_t len,
                             off_t at)
{
    enum how how = begin();
    size_t n = how == DIES_HALFWAY && len > PAGE ? len / 2 : len;
    ssize_t done = vel_fs_posix()->ops->pwrite(fs, fd, buf, n, at);

    end(how, 0);
    return done;
}

static int deadly_truncate(struct vel_fs *fs, int fd, off_t size)
{
    enum how how = begin();

    return end(how, vel_fs_posix()->ops->truncate(fs, fd, size));
}

static int deadly_link(struct vel_fs *fs, const char *from, const char *to)
{
    enum how how = begin();

    return end(how, vel_fs_posix()->ops->link(fs, from, to));
}

static int deadly_unlink(struct vel_fs *fs, const char *path)
{
    enum how how = begin();

    return end(how, vel_fs_posix()->ops->unlink(fs, path));
}

struct vel_fs *deadlyfs(void)
{
    static struct vel_fs_ops ops;
    static struct vel_fs fs = {&ops};

    ops = *vel_fs_posix()->ops;
    ops.pwrite = deadly_pwrite;
    ops.truncate = deadly_truncate;
    ops.link = deadly_link;
    ops.unlink = deadly_unlink;
    return &fs;
}

void deadlyfs_kill_in(long operations)
{
    left = operations;
    how_it_dies = DIES_BEFORE + (enum how)(operations % 3);
}

bool deadlyfs_is_due(void)
{
    return left >= 0;
}
