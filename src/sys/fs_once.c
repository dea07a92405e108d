/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that are made once: of many that try one succeeds, whatever link(2) answers. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "sys/entropy.h"
#include "sys/fs.h"

static const char suffix[] = ".h5v-tmp"; /* vel_fs_is_temporary() knows it */

enum {
    RANDOM = 16, /* hex digits in a temporary name */
    TAIL = 1 + RANDOM + (int)sizeof suffix - 1,
    ROUNDS = 8, /* each means that a sweep took the temporary away */
};

/* "DIR/.NAME.RANDOM.h5v-tmp" */
static int temporary_path(const char *path, struct vel_buf *ret, struct vel_err *err)
{
    const char *base = vel_path_base(path);
    uint64_t random;
    int rc = vel_entropy(&random, sizeof random, err);

    if (rc < 0)
        return rc;
    vel_buf_append(ret, path, (size_t)(base - path));
    vel_buf_printf(ret, ".%s.%016" PRIx64 "%s", base, random, suffix);
    return vel_buf_status(ret, err);
}

static int write_temporary(struct vel_fs *fs, const char *path, const void *bytes,
                           size_t len, bool is_synced, struct vel_err *err)
{
    int fd = -1, rc;

    rc =
        vel_fs_open(fs, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600, &fd, err);
    if (rc < 0)
        return rc;
    rc = fs->ops->set_mode(fs, fd, 0600); /* whatever the umask is */
    if (rc < 0)
        rc = vel_fail_errno(err, -rc, "cannot set the mode of %s", path);
    if (rc == 0)
        rc = vel_fs_write_at(fs, fd, bytes, len, 0, path, err);
    if (rc == 0 && is_synced)
        rc = vel_fs_sync(fs, fd, path, err);
    int closed = vel_fs_close(fs, fd, path, rc == 0 ? err : NULL);
    return rc < 0 ? rc : closed;
}

/* 1: these bytes are there, 0: others are, VEL_ENOENT: none. */
static int is_there(struct vel_fs *fs, const char *path, const void *bytes, size_t len,
                    struct vel_err *err)
{
    struct vel_buf found;
    int rc;

    vel_buf_init(&found);
    rc = vel_fs_read_file(fs, path, len, &found, err);
    if (rc == 0)
        rc = found.len == len && memcmp(found.data, bytes, len) == 0;
    else if (rc == VEL_ECORRUPT || rc == VEL_EINVAL)
        rc = 0; /* longer, or no file: another's in any case */
    vel_buf_fini(&found);
    return rc;
}

/* The answer of link(2) may be lost and the question repeated by the system, as NFS
 * does: whatever it said, what is there decides. */
static int settle(struct vel_fs *fs, const char *path, const void *bytes, size_t len,
                  int linked, bool *ret_is_mine, struct vel_err *err)
{
    int rc = linked == 0 ? 1 : is_there(fs, path, bytes, len, err);

    if (rc >= 0) {
        *ret_is_mine = rc == 1;
        return 0;
    }
    if (rc != VEL_ENOENT)
        return rc;
    if (linked == -EPERM || linked == -EOPNOTSUPP || linked == -ENOSYS ||
        linked == -EMLINK)
        return vel_fail(err, VEL_EUNSUP,
                        "cannot make %s: its file system has no hard links, which "
                        "leaders need: name a directory on one that has them",
                        path);
    return vel_fail_errno(err, -linked, "cannot make %s", path);
}

static int attempt(struct vel_fs *fs, const char *temporary, const char *path,
                   const void *bytes, size_t len, enum vel_fs_lasts lasts,
                   bool *ret_is_mine, bool *ret_was_swept, struct vel_err *err)
{
    int rc = write_temporary(fs, temporary, bytes, len, lasts != VEL_FS_LASTS_NOT, err);

    if (rc == 0) {
        int linked = fs->ops->link(fs, temporary, path);

        rc = settle(fs, path, bytes, len, linked, ret_is_mine, err);
        *ret_was_swept = rc == VEL_ENOENT && !vel_fs_exists(fs, temporary);
    }
    /* also another's: who acts on it must find it after a loss of power */
    if (rc == 0 && lasts == VEL_FS_LASTS)
        rc = vel_fs_sync_parent(fs, path, err);
    vel_fs_unlink(fs, temporary, NULL); /* it is decided; a sweep will do as well */
    return rc;
}

int vel_fs_once(struct vel_fs *fs, const char *path, const void *bytes, size_t len,
                enum vel_fs_lasts lasts, bool *ret_is_mine, struct vel_err *err)
{
    bool is_mine = false, was_swept = true;
    int rc = 0;

    for (int round = 0; round < ROUNDS && was_swept; round++) {
        struct vel_buf temporary;

        was_swept = false;
        vel_buf_init(&temporary);
        rc = temporary_path(path, &temporary, err);
        if (rc == 0)
            rc = attempt(fs, temporary.data, path, bytes, len, lasts, &is_mine,
                         &was_swept, err);
        vel_buf_fini(&temporary);
    }
    if (rc == 0)
        *ret_is_mine = is_mine;
    return rc;
}

/* --- what crashes leave --- */

/* The name that a temporary was for, as a new string; NULL when it is none of ours. */
static char *decided_name(const char *entry)
{
    size_t len = strlen(entry);

    if (!vel_fs_is_temporary(entry) || len <= 1 + (size_t)TAIL)
        return NULL;
    const char *tail = entry + len - TAIL;
    if (tail[0] != '.' || strspn(tail + 1, "0123456789abcdef") != RANDOM)
        return NULL;
    return strndup(entry + 1, len - TAIL - 1);
}

int vel_fs_once_sweep(struct vel_fs *fs, const char *dir, struct vel_err *err)
{
    struct vel_vec names;
    int rc = vel_fs_list(fs, dir, &names, err);

    if (rc < 0)
        return rc == VEL_ENOENT ? 0 : rc;
    for (size_t i = 0; rc == 0 && i < names.n; i++) {
        const char *entry = *(char **)vel_vec_at(&names, i);
        char *name = decided_name(entry);
        char *path = name ? vel_path_join(dir, name) : NULL;
        char *temporary = vel_path_join(dir, entry);

        if (!temporary || (name && !path))
            rc = vel_out_of_memory(err, dir);
        else if (path && vel_fs_exists(fs, path))
            rc = vel_fs_unlink(fs, temporary, err);
        free(temporary);
        free(path);
        free(name);
    }
    vel_fs_names_fini(&names);
    return rc;
}
