/* SPDX-License-Identifier: BSD-3-Clause */
/* A patch is carried out.
 *
 * In place: all pieces are written and synced before the file gets the time of its new
 * version, so that a file of that time is whole. What is found in between belongs to an
 * attempt that ended, or to one whose process is frozen and thaws later: that could
 * write old bytes into the file at any time. So whoever is not sure to be alone leaves
 * it alone, and makes a new one of its bytes and the patch: every byte that the patch
 * does not have is the base's in any mix. The checksum of all tells whether somebody
 * else has written there.
 */
#include "config.h"

#include <fcntl.h>
#include <stdlib.h>

#include "base/crc.h"
#include "xfer/patch.h"
#include "xfer/stands.h"
#include "xfer/temp.h"

enum { CHUNK = 1 << 20 };

struct apply {
    const struct vel_patch *patch;
    struct vel_fs *fs;
    struct vel_patch_head head;
    int dest, work; /* descriptors or -1 */
    struct stat st; /* of dest */
    int to;         /* the one that pieces go to, */
    const char *to_path;
};

int vel_patch_work(const char *path, int64_t id, char **ret_work, struct vel_err *err)
{
    return vel_xfer_temp_name(path, (uint64_t)id, ret_work, err);
}

static int is_other(const struct apply *a, struct vel_err *err)
{
    return vel_fail(err, VEL_EEXIST,
                    "%s was changed by somebody else: what has changed since the last "
                    "flush cannot be written there",
                    a->patch->dest);
}

/* A worker that is alone does here what somebody waits for in a call. */
static void let_others(const struct apply *a)
{
    vel_watch_step(a->patch->watch, 0);
}

static int put(void *arg, uint64_t at, const void *bytes, size_t len,
               struct vel_err *err)
{
    const struct apply *a = arg;

    let_others(a);
    return vel_fs_write_at(a->fs, a->to, bytes, len, (off_t)at, a->to_path, err);
}

static int put_pieces(struct apply *a, int to, const char *to_path, struct vel_err *err)
{
    struct vel_patch_head head;
    int rc;

    a->to = to;
    a->to_path = to_path;
    rc = vel_patch_read(a->fs, a->patch->path, &head, put, a, err);
    if (rc == 0)
        rc = vel_fs_truncate(a->fs, to, (off_t)head.new_size, to_path, err);
    return rc == 0 ? vel_fs_sync(a->fs, to, to_path, err) : rc;
}

/* Mode and time of the version that it is now: nobody takes it for that before. */
static int set_metadata(struct apply *a, struct vel_err *err)
{
    const struct vel_listed *file = a->patch->file;
    const struct timespec times[2] = {
        {.tv_nsec = UTIME_OMIT},
        {.tv_sec = (time_t)file->mtime_s, .tv_nsec = (long)file->mtime_ns}};
    mode_t mode = a->patch->keeps_mode ? (mode_t)file->mode : a->st.st_mode;
    int rc = a->fs->ops->set_mode(a->fs, a->to, mode & 0777);

    if (rc < 0)
        return vel_fail_errno(err, -rc, "cannot set the mode of %s", a->to_path);
    rc = a->fs->ops->set_times(a->fs, a->to, times);
    if (rc < 0)
        return vel_fail_errno(err, -rc, "cannot set the times of %s", a->to_path);
    return vel_fs_sync(a->fs, a->to, a->to_path, err);
}

/* --- in place --- */

static bool is_base(const struct apply *a)
{
    const struct vel_patch_head *h = &a->head;

    return (uint64_t)a->st.st_size == h->size && a->st.st_mtim.tv_sec == h->mtime_s &&
           a->st.st_mtim.tv_nsec == (long)h->mtime_ns && a->st.st_nlink == 1;
}

static int patch_in_place(struct apply *a, struct vel_err *err)
{
    const char *dest = a->patch->dest;
    int fd = -1;
    struct stat st;
    int rc = vel_fs_open(a->fs, dest, O_WRONLY | O_NOFOLLOW | O_NONBLOCK, 0, &fd, err);

    if (rc == 0)
        rc = vel_fs_stat(a->fs, fd, dest, &st, err);
    if (rc == 0 && (st.st_ino != a->st.st_ino || st.st_dev != a->st.st_dev))
        rc = is_other(a, err);
    if (rc == 0)
        rc = put_pieces(a, fd, dest, err);
    if (rc == 0)
        rc = set_metadata(a, err);
    int closed = vel_fs_close(a->fs, fd, dest, rc == 0 ? err : NULL);
    return rc < 0 ? rc : closed;
}

/* --- into a new file --- */

static int check_all(struct apply *a, struct vel_err *err)
{
    const struct vel_listed *file = a->patch->file;
    char *buffer = malloc(CHUNK);
    uint32_t crc = 0;
    int rc = buffer ? 0 : vel_out_of_memory(err, a->patch->work);

    for (uint64_t at = 0; rc == 0 && at < file->size; at += CHUNK) {
        size_t len = file->size - at < CHUNK ? (size_t)(file->size - at) : CHUNK;

        let_others(a);
        rc =
            vel_fs_read_at(a->fs, a->work, buffer, len, (off_t)at, a->patch->work, err);
        if (rc == 0)
            crc = vel_crc32c(crc, buffer, len);
    }
    free(buffer);
    return rc == 0 && crc != file->crc ? is_other(a, err) : rc;
}

static int make_work(struct apply *a, struct vel_err *err)
{
    const struct vel_patch *p = a->patch;
    uint64_t size = (uint64_t)a->st.st_size;
    int rc = vel_fs_unlink(a->fs, p->work, err); /* what a crash left behind */

    if (rc == 0)
        rc = vel_fs_open(a->fs, p->work, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600,
                         &a->work, err);
    if (rc < 0)
        return rc;
    if (size > a->head.new_size)
        size = a->head.new_size;
    for (uint64_t at = 0; rc == 0 && at < size; at += CHUNK) {
        size_t len = size - at < CHUNK ? (size_t)(size - at) : CHUNK;

        let_others(a);
        rc = vel_fs_copy_at(a->fs, a->dest, (off_t)at, p->dest, a->work, (off_t)at,
                            p->work, len, err);
    }
    if (rc == 0)
        rc = put_pieces(a, a->work, p->work, err);
    if (rc == 0)
        rc = check_all(a, err);
    return rc == 0 ? set_metadata(a, err) : rc;
}

static int replace(struct apply *a, struct vel_err *err)
{
    const struct vel_patch *p = a->patch;
    int rc = make_work(a, err);
    int closed = vel_fs_close(a->fs, a->work, p->work, rc == 0 ? err : NULL);

    a->work = -1;
    if (rc == 0)
        rc = closed;
    if (rc == 0)
        rc = vel_fs_rename(a->fs, p->work, p->dest, err);
    if (rc < 0)
        vel_fs_unlink(a->fs, p->work, NULL); /* the first failure is the one told */
    return rc;
}

/* --- either --- */

static int bring_forward(struct apply *a, struct vel_err *err)
{
    const struct vel_patch *p = a->patch;
    struct vel_err why = {0};
    int rc = vel_fs_lstat(a->fs, p->dest, &a->st, &why);

    if (rc == VEL_ENOENT || (rc == 0 && (!S_ISREG(a->st.st_mode) ||
                                         (uint64_t)a->st.st_ino != a->head.inode)))
        return is_other(a, err);
    if (rc < 0)
        return vel_fail(err, (enum vel_status)rc, "%s", why.text);
    rc = vel_fs_open(a->fs, p->dest, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, &a->dest,
                     err);
    if (rc == 0)
        rc = p->is_alone && is_base(a) ? patch_in_place(a, err) : replace(a, err);
    vel_fs_close(a->fs, a->dest, p->dest, NULL);
    return rc;
}

int vel_patch_apply(const struct vel_patch *patch, struct vel_err *err)
{
    struct apply a = {.patch = patch, .fs = patch->fs, .dest = -1, .work = -1};
    /* all of it before the first byte is changed */
    int rc = vel_patch_read(a.fs, patch->path, &a.head, NULL, NULL, err);

    if (rc == 0 && a.head.new_size != patch->file->size)
        rc = vel_fail(err, VEL_ECORRUPT, "%s is a patch of another file", patch->path);
    if (rc == 0 && !vel_stands_untouched(a.fs, patch->dest, patch->file))
        rc = bring_forward(&a, err);
    if (rc == 0)
        rc = vel_fs_sync_parent(a.fs, patch->dest, err);
    if (rc == 0)
        rc = vel_fs_unlink(a.fs, patch->path, err);
    return rc < 0 ? vel_wrap(err, rc, "carrying out %s", patch->path) : 0;
}
