/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "ident/key.h"
#include "sys/entropy.h"

static int unsafe(const char *path, const char *what, struct vel_err *err)
{
    return vel_fail(err, VEL_EUNSAFE,
                    "%s %s: it is not the key of this user's leaders: remove it", path,
                    what);
}

static int check(const char *path, const struct stat *st, uid_t user,
                 struct vel_err *err)
{
    if (!S_ISREG(st->st_mode))
        return unsafe(path, "is no regular file", err);
    if (st->st_uid != user)
        return unsafe(path, "belongs to another user", err);
    if ((st->st_mode & 07777) != 0600)
        return unsafe(path, "has not the mode 0600", err);
    if (st->st_size != VEL_SECRET)
        return unsafe(path, "has another size than 32 bytes", err);
    return 0;
}

static int key_load(struct vel_fs *fs, const char *path, uid_t user,
                    struct vel_key *ret, struct vel_err *err)
{
    struct stat st;
    int fd, rc;

    fd = fs->ops->open(fs, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    if (fd == -ELOOP)
        return unsafe(path, "is a link", err);
    if (fd < 0)
        return vel_fail_errno(err, -fd, "cannot open %s", path);
    rc = vel_fs_stat(fs, fd, path, &st, err);
    if (rc == 0)
        rc = check(path, &st, user, err);
    if (rc == 0)
        rc = vel_fs_read_at(fs, fd, ret->bytes, VEL_SECRET, 0, path, err);
    vel_fs_close(fs, fd, path, NULL); /* it was only read */
    return rc;
}

int vel_key_get(struct vel_fs *fs, const char *dir, uid_t user, struct vel_key *ret,
                struct vel_err *err)
{
    struct vel_key key;
    struct vel_buf path;
    bool is_mine;
    int rc;

    vel_buf_init(&path);
    vel_buf_printf(&path, "%s/key.%ld", dir, (long)user);
    rc = vel_buf_status(&path, err);
    if (rc < 0)
        goto out;
    rc = key_load(fs, path.data, user, &key, err);
    if (rc == VEL_ENOENT) {
        rc = vel_entropy(key.bytes, VEL_SECRET, err);
        if (rc == 0)
            rc = vel_fs_once(fs, path.data, key.bytes, VEL_SECRET, VEL_FS_LASTS,
                             &is_mine, err);
        if (rc == 0)
            rc = key_load(fs, path.data, user, &key, err);
    }
    if (rc == 0)
        *ret = key;
out:
    vel_buf_fini(&path);
    return rc;
}
