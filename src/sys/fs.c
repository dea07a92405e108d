/* SPDX-License-Identifier: BSD-3-Clause */
/* fs - open files: whole transfers out of short ones, and a sentence with the path for
 * every failure. What concerns directories is in fs_dir.c. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "sys/fs.h"

int vel_fs_open(struct vel_fs *fs, const char *path, int flags, mode_t mode,
                int *ret_fd, struct vel_err *err)
{
    int fd = fs->ops->open(fs, path, flags, mode);

    if (fd < 0)
        return vel_fail_errno(err, -fd, "cannot %s %s",
                              flags & O_CREAT ? "create" : "open", path);
    *ret_fd = fd;
    return 0;
}

int vel_fs_close(struct vel_fs *fs, int fd, const char *path, struct vel_err *err)
{
    if (fd < 0)
        return 0;
    int saved = errno;
    int rc = fs->ops->close(fs, fd);
    errno = saved;
    return rc < 0 ? vel_fail_errno(err, -rc, "cannot close %s", path) : 0;
}

static int ends_early(const char *path, off_t at, size_t missing, struct vel_err *err)
{
    return vel_fail(err, VEL_ECORRUPT, "%s ends at byte %lld, %zu bytes too early",
                    path, (long long)at, missing);
}

int vel_fs_read_at(struct vel_fs *fs, int fd, void *buf, size_t len, off_t at,
                   const char *path, struct vel_err *err)
{
    char *to = buf;

    while (len > 0) {
        ssize_t n = fs->ops->pread(fs, fd, to, len, at);

        if (n < 0)
            return vel_fail_errno(err, (int)-n, "cannot read %s", path);
        if (n == 0)
            return ends_early(path, at, len, err);
        to += n;
        at += n;
        len -= (size_t)n;
    }
    return 0;
}

int vel_fs_write_at(struct vel_fs *fs, int fd, const void *buf, size_t len, off_t at,
                    const char *path, struct vel_err *err)
{
    const char *from = buf;

    while (len > 0) {
        ssize_t n = fs->ops->pwrite(fs, fd, from, len, at);

        if (n <= 0) /* nothing written and no reason given: do not go round for ever */
            return vel_fail_errno(err, n ? (int)-n : EIO, "cannot write %s", path);
        from += n;
        at += n;
        len -= (size_t)n;
    }
    return 0;
}

int vel_fs_append(struct vel_fs *fs, int fd, const void *buf, size_t len,
                  const char *path, struct vel_err *err)
{
    const char *from = buf;

    while (len > 0) {
        ssize_t n = fs->ops->append(fs, fd, from, len);

        if (n <= 0)
            return vel_fail_errno(err, n ? (int)-n : EIO, "cannot write %s", path);
        from += n;
        len -= (size_t)n;
    }
    return 0;
}

/* the part of a copy that the kernel does not do for these files */
static int copy_through_memory(struct vel_fs *fs, int from, off_t from_at,
                               const char *from_path, int to, off_t to_at,
                               const char *to_path, size_t len, struct vel_err *err)
{
    const size_t most = (size_t)1 << 20;
    char *tile = malloc(len < most ? len : most);
    int rc = 0;

    if (!tile)
        return vel_out_of_memory(err, to_path);
    while (len > 0 && rc == 0) {
        size_t n = len < most ? len : most;

        rc = vel_fs_read_at(fs, from, tile, n, from_at, from_path, err);
        if (rc == 0)
            rc = vel_fs_write_at(fs, to, tile, n, to_at, to_path, err);
        from_at += (off_t)n;
        to_at += (off_t)n;
        len -= n;
    }
    free(tile);
    return rc;
}

int vel_fs_copy_at(struct vel_fs *fs, int from, off_t from_at, const char *from_path,
                   int to, off_t to_at, const char *to_path, size_t len,
                   struct vel_err *err)
{
    while (len > 0) {
        ssize_t n = fs->ops->copy(fs, from, from_at, to, to_at, len);

        if (n == -EXDEV || n == -EOPNOTSUPP || n == -EINVAL)
            return copy_through_memory(fs, from, from_at, from_path, to, to_at, to_path,
                                       len, err);
        if (n < 0)
            return vel_fail_errno(err, (int)-n, "cannot copy %s to %s", from_path,
                                  to_path);
        if (n == 0)
            return ends_early(from_path, from_at, len, err);
        from_at += n;
        to_at += n;
        len -= (size_t)n;
    }
    return 0;
}

int vel_fs_clone(struct vel_fs *fs, int from, const char *from_path, int to,
                 const char *to_path, struct vel_err *err)
{
    int rc = fs->ops->clone(fs, from, to);

    if (rc == -EXDEV || rc == -EOPNOTSUPP || rc == -EINVAL || rc == -ENOTTY ||
        rc == -ENOSYS)
        return vel_fail(err, VEL_EUNSUP, "%s cannot share its blocks with %s",
                        from_path, to_path);
    return rc < 0
               ? vel_fail_errno(err, -rc, "cannot clone %s as %s", from_path, to_path)
               : 0;
}

static int copy_open(struct vel_fs *fs, int in, const char *from, int out,
                     const char *to, const struct stat *st, struct vel_err *err)
{
    struct vel_err why = {0};
    int rc = fs->ops->set_mode(fs, out, st->st_mode & 07777);

    if (rc < 0)
        return vel_fail_errno(err, -rc, "cannot set the mode of %s", to);
    if (vel_fs_clone(fs, in, from, out, to, &why) == 0)
        return 0;
    return vel_fs_copy_at(fs, in, 0, from, out, 0, to, (size_t)st->st_size, err);
}

int vel_fs_copy(struct vel_fs *fs, const char *from, const char *to,
                struct vel_err *err)
{
    int in = -1, out = -1, closed = 0;
    struct stat st;
    int rc = vel_fs_open(fs, from, O_RDONLY | O_NOFOLLOW, 0, &in, err);

    if (rc == 0)
        rc = vel_fs_stat(fs, in, from, &st, err);
    if (rc == 0)
        rc = vel_fs_open(fs, to, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600, &out,
                         err);
    if (rc == 0)
        rc = copy_open(fs, in, from, out, to, &st, err);
    vel_fs_close(fs, in, from, NULL);
    if (out >= 0)
        closed = vel_fs_close(fs, out, to, rc == 0 ? err : NULL);
    return rc < 0 ? rc : closed;
}

int vel_fs_truncate(struct vel_fs *fs, int fd, off_t size, const char *path,
                    struct vel_err *err)
{
    int rc = fs->ops->truncate(fs, fd, size);

    return rc < 0 ? vel_fail_errno(err, -rc, "cannot set the size of %s to %lld", path,
                                   (long long)size)
                  : 0;
}

int vel_fs_sync(struct vel_fs *fs, int fd, const char *path, struct vel_err *err)
{
    int rc = fs->ops->fsync(fs, fd);

    return rc < 0 ? vel_fail_errno(err, -rc, "cannot bring %s to its disk", path) : 0;
}

void vel_fs_hasten(struct vel_fs *fs, int fd, uint64_t at, uint64_t len)
{
    if (fs->ops->hasten)
        fs->ops->hasten(fs, fd, (off_t)at, (off_t)len);
}

int vel_fs_stat(struct vel_fs *fs, int fd, const char *path, struct stat *ret_stat,
                struct vel_err *err)
{
    struct stat st;
    int rc = fs->ops->fstat(fs, fd, &st);

    if (rc < 0)
        return vel_fail_errno(err, -rc, "cannot look at %s", path);
    *ret_stat = st;
    return 0;
}

int vel_fs_lstat(struct vel_fs *fs, const char *path, struct stat *ret_stat,
                 struct vel_err *err)
{
    struct stat st;
    int rc = fs->ops->lstat(fs, path, &st);

    if (rc < 0)
        return vel_fail_errno(err, -rc, "cannot look at %s", path);
    *ret_stat = st;
    return 0;
}

/* To the end of the file, whatever size it claimed: it may be growing, and a file below
 * /proc claims nothing. */
static int read_rest(struct vel_fs *fs, int fd, const char *path, size_t most,
                     struct vel_buf *buf, struct vel_err *err)
{
    enum { STEP = 65536 };
    size_t total = 0;

    for (;;) {
        if (vel_buf_reserve(buf, STEP) < 0)
            return vel_out_of_memory(err, path);
        ssize_t n = fs->ops->pread(fs, fd, buf->data + buf->len, STEP, (off_t)total);
        if (n < 0)
            return vel_fail_errno(err, (int)-n, "cannot read %s", path);
        if (n == 0)
            return 0;
        total += (size_t)n;
        if (total > most)
            return vel_fail(err, VEL_ECORRUPT, "%s is longer than %zu bytes", path,
                            most);
        buf->len += (size_t)n;
    }
}

int vel_fs_read_file(struct vel_fs *fs, const char *path, size_t most,
                     struct vel_buf *buf, struct vel_err *err)
{
    struct stat st;
    size_t before = buf->len;
    int fd = -1, rc;

    /* not blocking, because a pipe of that name would make us wait for its writer */
    rc = vel_fs_open(fs, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0, &fd, err);
    if (rc < 0)
        return rc;
    rc = vel_fs_stat(fs, fd, path, &st, err);
    if (rc < 0)
        goto out;
    if (!S_ISREG(st.st_mode)) {
        rc = vel_fail(err, VEL_EINVAL, "%s is no regular file", path);
        goto out;
    }
    if (st.st_size > 0 && (uintmax_t)st.st_size > most) {
        rc = vel_fail(err, VEL_ECORRUPT, "%s has %lld bytes, more than %zu", path,
                      (long long)st.st_size, most);
        goto out;
    }
    rc = read_rest(fs, fd, path, most, buf, err);
out:
    if (rc < 0)
        buf->len = before;
    if (buf->data)
        buf->data[buf->len] = '\0';
    vel_fs_close(fs, fd, path, NULL); /* it was only read */
    return rc;
}

int vel_fs_rename(struct vel_fs *fs, const char *from, const char *to,
                  struct vel_err *err)
{
    int rc = fs->ops->rename(fs, from, to);

    return rc < 0 ? vel_fail_errno(err, -rc, "cannot rename %s to %s", from, to) : 0;
}

int vel_fs_link(struct vel_fs *fs, const char *from, const char *to,
                struct vel_err *err)
{
    int rc = fs->ops->link(fs, from, to);

    return rc < 0 ? vel_fail_errno(err, -rc, "cannot link %s to %s", from, to) : 0;
}

int vel_fs_unlink(struct vel_fs *fs, const char *path, struct vel_err *err)
{
    int rc = fs->ops->unlink(fs, path);

    return rc < 0 && rc != -ENOENT ? vel_fail_errno(err, -rc, "cannot remove %s", path)
                                   : 0;
}

bool vel_fs_exists(struct vel_fs *fs, const char *path)
{
    struct stat st;

    return fs->ops->lstat(fs, path, &st) == 0;
}

int vel_fs_space(struct vel_fs *fs, const char *path, uint64_t *ret_free,
                 struct vel_err *err)
{
    struct statvfs vfs;
    int rc = fs->ops->space(fs, path, &vfs);

    if (rc < 0)
        return vel_fail_errno(err, -rc, "cannot ask for the free space at %s", path);
    if (__builtin_mul_overflow((uint64_t)vfs.f_bavail, (uint64_t)vfs.f_frsize,
                               ret_free))
        *ret_free = UINT64_MAX; /* some network file systems have no end */
    return 0;
}
