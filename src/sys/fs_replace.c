/* SPDX-License-Identifier: BSD-3-Clause */
/* fs_replace - a file exchanged whole.
 *
 * The bytes go to a temporary name in the same directory and are synced before the
 * rename, so that the name never leads to bytes that a power loss could take back; the
 * rename puts the new file in the old one's place in one step; the sync of the
 * directory makes the caller's "done" true after a power loss too.
 *
 * The temporary's name follows from the file's, so that one left behind by a crash is
 * found and removed by the next replace instead of piling up.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc.h"
#include "base/path.h"
#include "sys/entropy.h"
#include "sys/fs.h"

static const char suffix[] = ".h5v-tmp";

bool vel_fs_is_temporary(const char *name)
{
    size_t len = strlen(name), tail = sizeof suffix - 1;

    return len > tail + 1 && name[0] == '.' && strcmp(name + len - tail, suffix) == 0;
}

int vel_fs_writer(int64_t *ret_writer, struct vel_err *err)
{
    uint64_t number;
    int rc = vel_entropy(&number, sizeof number, err);

    if (rc == 0)
        *ret_writer = (int64_t)(number >> 2) + 1;
    return rc;
}

/* ".<name>.h5v-tmp", or of one of several writers ".<name>.<writer>.h5v-tmp", a long
 * name cut and told from its like by its checksum */
static void put_temporary_name(struct vel_buf *buf, const char *name, int64_t writer)
{
    const size_t most = 255 - 1 - (sizeof suffix - 1) - 1 - 19, sum = 9;
    size_t len = strlen(name);

    vel_buf_putc(buf, '.');
    vel_buf_append(buf, name, len <= most ? len : most - sum);
    if (len > most)
        vel_buf_printf(buf, "~%08x", (unsigned)vel_crc32c(0, name, len));
    if (writer)
        vel_buf_printf(buf, ".%" PRId64, writer);
    vel_buf_puts(buf, suffix);
}

static int temporary_path(const char *path, int64_t writer, struct vel_buf *buf,
                          struct vel_err *err)
{
    const char *base = vel_path_base(path);

    if (!base[0])
        return vel_fail(err, VEL_EINVAL, "cannot write '%s': that names no file", path);
    vel_buf_append(buf, path, (size_t)(base - path));
    put_temporary_name(buf, base, writer);
    return vel_buf_status(buf, err);
}

/* A new file under the temporary name, never one that stands there already: it might be
 * a link, or have other names. */
static int create_temporary(struct vel_fs *fs, const char *temporary, mode_t mode,
                            int *ret_fd, struct vel_err *err)
{
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW;
    int fd = fs->ops->open(fs, temporary, flags, mode);

    if (fd == -EEXIST) { /* left behind by a crash */
        int rc = vel_fs_unlink(fs, temporary, err);
        if (rc < 0)
            return rc;
        fd = fs->ops->open(fs, temporary, flags, mode);
    }
    if (fd < 0)
        return vel_fail_errno(err, -fd, "cannot create %s", temporary);
    *ret_fd = fd;
    return 0;
}

/* write, sync and close; a failed close counts, for some file systems report a full
 * disk there */
static int fill(struct vel_fs *fs, int fd, const char *path, const void *bytes,
                size_t len, bool lasts, struct vel_err *err)
{
    int rc = vel_fs_write_at(fs, fd, bytes, len, 0, path, err);

    if (rc == 0 && lasts)
        rc = vel_fs_sync(fs, fd, path, err);
    int closed = vel_fs_close(fs, fd, path, rc == 0 ? err : NULL);
    return rc < 0 ? rc : closed;
}

static int replace(struct vel_fs *fs, const char *path, int64_t writer,
                   const void *bytes, size_t len, mode_t mode, bool lasts,
                   struct vel_err *err)
{
    struct vel_buf temporary;
    char *dir = NULL;
    bool is_there = false;
    int fd = -1, rc;

    vel_buf_init(&temporary);
    rc = temporary_path(path, writer, &temporary, err);
    if (rc < 0)
        goto out;
    dir = vel_path_dir(path);
    if (!dir) {
        rc = vel_out_of_memory(err, path);
        goto out;
    }
    rc = create_temporary(fs, temporary.data, mode, &fd, err);
    if (rc < 0)
        goto out;
    is_there = true;
    rc = fill(fs, fd, temporary.data, bytes, len, lasts, err);
    if (rc < 0)
        goto out;
    rc = vel_fs_rename(fs, temporary.data, path, err);
    if (rc < 0)
        goto out;
    is_there = false;
    if (lasts)
        rc = vel_fs_sync_dir(fs, dir, err);
out:
    if (is_there)
        vel_fs_unlink(fs, temporary.data, NULL); /* the first failure is the one told */
    free(dir);
    vel_buf_fini(&temporary);
    return rc;
}

int vel_fs_replace(struct vel_fs *fs, const char *path, const void *bytes, size_t len,
                   mode_t mode, struct vel_err *err)
{
    return replace(fs, path, 0, bytes, len, mode, true, err);
}

int vel_fs_replace_by(struct vel_fs *fs, const char *path, int64_t writer,
                      const void *bytes, size_t len, mode_t mode, struct vel_err *err)
{
    return replace(fs, path, writer, bytes, len, mode, true, err);
}

int vel_fs_replace_unsynced(struct vel_fs *fs, const char *path, int64_t writer,
                            const void *bytes, size_t len, mode_t mode,
                            struct vel_err *err)
{
    return replace(fs, path, writer, bytes, len, mode, false, err);
}
