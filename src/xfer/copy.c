/* SPDX-License-Identifier: BSD-3-Clause */
/* What must be true of a copy; its bytes are moved in copy_bytes.c. */
#include "config.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc.h"
#include "base/path.h"
#include "xfer/copy_in.h"

enum { CHUNK = 1 << 20 };

static int allocate(struct vel_copy_run *c, struct vel_err *err)
{
    size_t chunk = c->how->chunk ? c->how->chunk : CHUNK;

    size_t unit = c->blocks ? c->blocks->block : VEL_COPY_ALIGN;

    c->chunk = (chunk + unit - 1) / unit * unit;
    c->buffer = aligned_alloc(VEL_COPY_ALIGN, c->chunk);
    return c->buffer ? 0 : vel_out_of_memory(err, c->file->from);
}

static int check_size(const char *path, uint64_t size, uint64_t wanted,
                      struct vel_err *err)
{
    if (size == wanted)
        return 0;
    return vel_fail(err, VEL_ECORRUPT, "%s has %llu bytes, not the recorded %llu", path,
                    (unsigned long long)size, (unsigned long long)wanted);
}

/* A FIFO under the file's name must not make us wait for its writer. */
static int open_source(struct vel_copy_run *c, struct vel_err *err)
{
    struct vel_fs *fs = c->how->fs;
    const char *path = c->file->from;
    int rc = vel_fs_open(fs, path, O_RDONLY | O_NONBLOCK, 0, &c->from, err);

    if (rc == 0)
        rc = vel_fs_stat(fs, c->from, path, &c->st, err);
    if (rc == 0 && !S_ISREG(c->st.st_mode))
        rc = vel_fail(err, VEL_EINVAL, "%s is no regular file", path);
    if (rc == 0)
        rc = check_size(path, (uint64_t)c->st.st_size, c->file->size, err);
    return rc;
}

/* A new file, never one that stands there already: it might be a link, or have other
 * names. It gets its mode when it is whole. */
static int create_target(struct vel_copy_run *c, struct vel_err *err)
{
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW;
    const mode_t mode = c->how->keeps_metadata ? 0600 : 0666;
    struct vel_fs *fs = c->how->fs;
    const char *path = c->file->to;
    char *dir = vel_path_dir(path);
    struct stat st;

    if (!dir)
        return vel_out_of_memory(err, path);
    int rc = c->how->leaves_dirs && fs->ops->lstat(fs, dir, &st) == 0
                 ? 0
                 : vel_fs_make_dirs(fs, dir, 0777, err);
    free(dir);
    if (rc == 0)
        rc = vel_fs_unlink(fs, path, err); /* what a crash left behind */
    if (rc == 0)
        rc = vel_fs_open(fs, path, flags, mode, &c->to, err);
    c->is_made = rc == 0;
    return rc;
}

/* Go on with what stands at the target: false when it is not what was left there. */
static bool reopen_target(struct vel_copy_run *c)
{
    struct vel_fs *fs = c->how->fs;
    const char *path = c->file->to;
    uint64_t at = c->resume->at;
    struct stat st;

    if (at == 0 || at > c->file->size || (c->blocks && at % c->blocks->block > 0) ||
        vel_fs_open(fs, path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK, 0, &c->to, NULL) < 0)
        return false;
    if (vel_fs_stat(fs, c->to, path, &st, NULL) == 0 && S_ISREG(st.st_mode) &&
        st.st_nlink == 1 && (uint64_t)st.st_size >= at &&
        vel_fs_truncate(fs, c->to, (off_t)at, path, NULL) == 0) {
        c->is_made = true;
        c->crc = c->resume->crc;
        c->noted = at;
        return true;
    }
    vel_fs_close(fs, c->to, path, NULL);
    c->to = -1;
    return false;
}

/* What the target begins with, when only changes are written to it. */
static int begin_partial(struct vel_copy_run *c, struct vel_err *err)
{
    const struct vel_copy_blocks *b = c->blocks;

    if (b->as == VEL_COPY_CLONE)
        return vel_fs_clone(c->how->fs, b->base, b->base_path, c->to, c->file->to, err);
    return vel_patch_begin(&c->patch, c->how->fs, c->to, c->file->to, b->head, err);
}

static int open_target(struct vel_copy_run *c, struct vel_err *err)
{
    int rc = 0;

    if (c->resume && reopen_target(c))
        return 0;
    if (c->resume && c->resume->at > 0) {
        c->resume->at = 0;
        rc = c->resume->note(c->resume->arg, 0, 0, err);
    }
    if (rc == 0)
        rc = create_target(c, err);
    return rc == 0 && vel_copy_is_partial(c) ? begin_partial(c, err) : rc;
}

/* --- what must be true of the copy ------------------------------------------------ */

static int check_crc(const struct vel_copy_run *c, const char *path,
                     struct vel_err *err)
{
    if (!c->file->has_crc || c->crc == c->file->crc)
        return 0;
    return vel_fail(err, VEL_ECORRUPT, "%s: checksum is %08x, not the recorded %08x",
                    path, (unsigned)c->crc, (unsigned)c->file->crc);
}

/* Did anybody write to the source while it was read? */
static int check_unchanged(const struct vel_copy_run *c, struct vel_err *err)
{
    const struct timespec *was = &c->st.st_mtim;
    struct stat st;
    int rc = vel_fs_stat(c->how->fs, c->from, c->file->from, &st, err);

    if (rc < 0)
        return rc;
    if (st.st_size == c->st.st_size && st.st_mtim.tv_sec == was->tv_sec &&
        st.st_mtim.tv_nsec == was->tv_nsec)
        return 0;
    return vel_fail(err, VEL_EBUSY, "%s was changed while it was copied",
                    c->file->from);
}

static int set_metadata(const struct vel_copy_run *c, struct vel_err *err)
{
    struct vel_fs *fs = c->how->fs;
    const struct timespec times[2] = {c->st.st_atim, c->st.st_mtim};

    if (!c->how->keeps_metadata)
        return 0;
    int rc = fs->ops->set_mode(fs, c->to, c->st.st_mode & 0777);
    if (rc < 0)
        return vel_fail_errno(err, -rc, "cannot set the mode of %s", c->file->to);
    rc = fs->ops->set_times(fs, c->to, times);
    if (rc < 0)
        return vel_fail_errno(err, -rc, "cannot set the times of %s", c->file->to);
    return 0;
}

static int settle(struct vel_copy_run *c, struct vel_err *err)
{
    struct vel_fs *fs = c->how->fs;
    uint64_t begun = vel_copy_now(c);
    int rc = set_metadata(c, err);

    if (rc == 0)
        rc = vel_fs_sync(fs, c->to, c->file->to, err);
    if (rc == 0)
        rc = vel_copy_rest(c, begun, err);
    int closed = vel_fs_close(fs, c->to, c->file->to, rc == 0 ? err : NULL);
    c->to = -1;
    return rc < 0 ? rc : closed;
}

static void tell(const struct vel_copy_run *c, struct vel_xfer_copied *ret_copied)
{
    *ret_copied = (struct vel_xfer_copied){.crc = c->crc,
                                           .has_crc = vel_copy_needs_crc(c),
                                           .mode = c->st.st_mode & 0777,
                                           .mtime = c->st.st_mtim};
}

static void let_go(struct vel_copy_run *c)
{
    vel_fs_close(c->how->fs, c->from, c->file->from, NULL);
    vel_fs_close(c->how->fs, c->to, c->file->to, NULL);
    free(c->buffer);
}

/* All of it, but for what is to be removed when it fails. */
static int copy_whole(struct vel_copy_run *c, struct vel_xfer_copied *ret_copied,
                      struct vel_err *err)
{
    int rc = allocate(c, err);

    if (rc == 0)
        rc = open_source(c, err);
    if (rc == 0)
        rc = open_target(c, err);
    if (rc == 0)
        rc = vel_copy_bytes(c, err);
    if (rc == 0)
        rc = check_unchanged(c, err);
    if (rc == 0)
        rc = check_crc(c, c->file->from, err);
    if (rc == 0)
        rc = settle(c, err);
    if (rc == 0)
        tell(c, ret_copied);
    let_go(c);
    return rc < 0 ? vel_wrap(err, rc, "copying %s to %s", c->file->from, c->file->to)
                  : 0;
}

int vel_copy_file(const struct vel_copy_how *how, const struct vel_xfer_file *file,
                  struct vel_xfer_copied *ret_copied, struct vel_err *err)
{
    struct vel_copy_run c = {.how = how, .file = file, .from = -1, .to = -1};
    int rc = copy_whole(&c, ret_copied, err);

    if (rc < 0 && c.is_made)
        vel_fs_unlink(how->fs, file->to, NULL); /* the first failure is the one told */
    return rc;
}

int vel_copy_by_blocks(const struct vel_copy_how *how, const struct vel_xfer_file *file,
                       struct vel_copy_resume *resume, struct vel_copy_blocks *blocks,
                       struct vel_xfer_copied *ret_copied, struct vel_err *err)
{
    struct vel_copy_run c = {
        .how = how, .file = file, .blocks = blocks, .from = -1, .to = -1};
    int rc;

    c.resume = vel_copy_is_partial(&c) ? NULL : resume;
    blocks->same = blocks->differ = 0;
    rc = copy_whole(&c, ret_copied, err);
    if (rc < 0 && c.is_made && (!c.resume || rc == VEL_ECORRUPT))
        vel_fs_unlink(how->fs, file->to, NULL);
    return rc;
}

int vel_copy_resume(const struct vel_copy_how *how, const struct vel_xfer_file *file,
                    struct vel_copy_resume *resume, struct vel_xfer_copied *ret_copied,
                    struct vel_err *err)
{
    struct vel_copy_run c = {
        .how = how, .file = file, .resume = resume, .from = -1, .to = -1};
    int rc = copy_whole(&c, ret_copied, err);

    if (rc == VEL_ECORRUPT && c.is_made)
        vel_fs_unlink(how->fs, file->to, NULL);
    return rc;
}

static int read_back(struct vel_copy_run *c, struct vel_err *err)
{
    const struct vel_xfer_file *f = c->file;
    int rc = 0;

    for (uint64_t at = 0; at < f->size && rc == 0; at += c->chunk) {
        size_t len = f->size - at < c->chunk ? (size_t)(f->size - at) : c->chunk;

        rc = vel_copy_told(c, 0, err);
        if (rc == 0)
            rc = vel_fs_read_at(c->how->fs, c->to, c->buffer, len, (off_t)at, f->to,
                                err);
        if (rc == 0)
            c->crc = vel_crc32c(c->crc, c->buffer, len);
    }
    return rc;
}

/* open the copy, which must be a plain file of the right size */
static int open_copy(struct vel_copy_run *c, struct vel_err *err)
{
    const char *path = c->file->to;
    struct stat st;
    int rc = vel_fs_open(c->how->fs, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0,
                         &c->to, err);

    if (rc == 0)
        rc = vel_fs_stat(c->how->fs, c->to, path, &st, err);
    if (rc == 0 && !S_ISREG(st.st_mode))
        rc = vel_fail(err, VEL_EINVAL, "%s is no regular file", path);
    return rc < 0 ? rc : check_size(path, (uint64_t)st.st_size, c->file->size, err);
}

int vel_copy_check(const struct vel_copy_how *how, const struct vel_xfer_file *file,
                   struct vel_xfer_copied *ret_copied, struct vel_err *err)
{
    struct vel_copy_run c = {.how = how, .file = file, .from = -1, .to = -1};
    int rc = allocate(&c, err);

    if (rc < 0)
        goto out;
    rc = open_source(&c, err);
    if (rc < 0)
        goto out;
    rc = open_copy(&c, err);
    if (rc < 0)
        goto out;
    if (vel_copy_needs_crc(&c))
        rc = read_back(&c, err);
    if (rc == 0)
        rc = check_crc(&c, file->to, err);
    if (rc < 0)
        goto out;
    rc = settle(&c, err);
    if (rc < 0)
        goto out;
    tell(&c, ret_copied);
out:
    let_go(&c);
    return rc < 0 ? vel_wrap(err, rc, "checking the copy of %s", file->from) : 0;
}

int vel_copy_publish(struct vel_fs *fs, const char *temporary, const char *dest,
                     struct vel_err *err)
{
    int rc = vel_fs_rename(fs, temporary, dest, err);

    if (rc == 0)
        rc = vel_fs_sync_parent(fs, dest, err);
    return rc < 0 ? vel_wrap(err, rc, "publishing %s", dest) : 0;
}
