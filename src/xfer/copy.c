/* SPDX-License-Identifier: BSD-3-Clause */
/* copy - see the header.
 *
 * Where a checksum is wanted the bytes go through memory: read, summed while they are
 * in the processor's cache, written. A copy inside the kernel that is read back for its
 * checksum was measured and is slower (test/bench/flush.c); it would also sum what was
 * written instead of what the program wrote. Without a checksum the kernel copies,
 * which costs nothing at all where the file system shares blocks.
 *
 * A file with holes always goes through memory, and blocks of zeros are not written:
 * reading a hole costs no disk, and what the kernel makes of one differs between file
 * systems.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc.h"
#include "base/path.h"
#include "xfer/copy.h"

enum { BLOCK = 4096, CHUNK = 1 << 20, KERNEL_STEP = 16 << 20 };

/* one copy under way */
struct copy {
    const struct vel_copy_how *how;
    const struct vel_xfer_file *file;
    int from, to; /* descriptors or -1 */
    bool is_made; /* `to` was created by us */
    struct stat st;
    size_t chunk; /* a multiple of BLOCK */
    char *buffer;
    uint32_t crc;
};

static bool needs_crc(const struct copy *c)
{
    return c->how->wants_crc || c->file->has_crc;
}

static bool has_holes(const struct copy *c)
{
    return (uint64_t)c->st.st_blocks * 512 < c->file->size;
}

static int allocate(struct copy *c, struct vel_err *err)
{
    size_t chunk = c->how->chunk ? c->how->chunk : CHUNK;

    c->chunk = (chunk + BLOCK - 1) / BLOCK * BLOCK;
    c->buffer = aligned_alloc(BLOCK, c->chunk);
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
static int open_source(struct copy *c, struct vel_err *err)
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
static int create_target(struct copy *c, struct vel_err *err)
{
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW;
    const mode_t mode = c->how->keeps_metadata ? 0600 : 0666;
    struct vel_fs *fs = c->how->fs;
    const char *path = c->file->to;
    char *dir = vel_path_dir(path);

    if (!dir)
        return vel_out_of_memory(err, path);
    int rc = vel_fs_make_dirs(fs, dir, 0777, err);
    free(dir);
    if (rc == 0)
        rc = vel_fs_unlink(fs, path, err); /* what a crash left behind */
    if (rc == 0)
        rc = vel_fs_open(fs, path, flags, mode, &c->to, err);
    c->is_made = rc == 0;
    return rc;
}

/* --- the bytes ------------------------------------------------------------------- */

int vel_copy_ask(const struct vel_copy_how *how, uint64_t bytes, struct vel_err *err)
{
    int rc = vel_throttle_take(how->device, bytes, how->watch, err);

    return rc < 0 ? rc : vel_throttle_take(how->throttle, bytes, how->watch, err);
}

static int told(const struct copy *c, uint64_t n, struct vel_err *err)
{
    return vel_watch_step(c->how->watch, n) ? 0
                                            : vel_fail(err, VEL_ECANCEL, "cancelled");
}

/* As many bytes as the kernel wants to copy: *ret_at is where the rest begins. */
static int copy_in_kernel(struct copy *c, uint64_t *ret_at, struct vel_err *err)
{
    struct vel_fs *fs = c->how->fs;
    const struct vel_xfer_file *f = c->file;
    size_t most = c->how->throttle || c->how->device ? c->chunk : KERNEL_STEP;
    uint64_t at = 0;
    int rc = 0;

    while (at < f->size && rc == 0) {
        size_t len = f->size - at < most ? (size_t)(f->size - at) : most;

        rc = vel_copy_ask(c->how, len, err);
        if (rc < 0)
            break;
        for (size_t done = 0; done < len && rc == 0;) {
            off_t here = (off_t)(at + done);
            ssize_t n = fs->ops->copy(fs, c->from, here, c->to, here, len - done);

            if (n == 0 || n == -EXDEV || n == -EOPNOTSUPP || n == -EINVAL) {
                *ret_at = at + done;
                return 0; /* not for these files; memory does the rest */
            }
            if (n < 0)
                rc = vel_fail_errno(err, (int)-n, "cannot write %s", f->to);
            else
                done += (size_t)n;
        }
        at += len;
        if (rc == 0)
            rc = told(c, len, err);
    }
    *ret_at = at;
    return rc;
}

static bool is_zero(const char *bytes, size_t len)
{
    return bytes[0] == 0 && memcmp(bytes, bytes + 1, len - 1) == 0;
}

/* The blocks of a chunk that are not zero, each run of them by one write. */
static int write_around_holes(const struct copy *c, uint64_t at, size_t len,
                              struct vel_err *err)
{
    size_t begin = 0, end = 0;
    int rc = 0;

    while (end < len && rc == 0) {
        size_t n = len - end < BLOCK ? len - end : BLOCK;
        bool is_hole = is_zero(c->buffer + end, n);

        if (!is_hole)
            end += n;
        if (end > begin && (is_hole || end == len))
            rc = vel_fs_write_at(c->how->fs, c->to, c->buffer + begin, end - begin,
                                 (off_t)(at + begin), c->file->to, err);
        if (is_hole)
            begin = end = end + n;
    }
    return rc;
}

static int copy_through_memory(struct copy *c, uint64_t at, struct vel_err *err)
{
    const struct vel_xfer_file *f = c->file;
    struct vel_fs *fs = c->how->fs;
    bool keeps_holes = has_holes(c);
    int rc = 0;

    while (at < f->size && rc == 0) {
        size_t len = f->size - at < c->chunk ? (size_t)(f->size - at) : c->chunk;

        rc = vel_copy_ask(c->how, len, err);
        if (rc == 0)
            rc = vel_fs_read_at(fs, c->from, c->buffer, len, (off_t)at, f->from, err);
        if (rc < 0)
            break;
        if (needs_crc(c))
            c->crc = vel_crc32c(c->crc, c->buffer, len);
        rc = keeps_holes
                 ? write_around_holes(c, at, len, err)
                 : vel_fs_write_at(fs, c->to, c->buffer, len, (off_t)at, f->to, err);
        at += len;
        if (rc == 0)
            rc = told(c, len, err);
    }
    if (rc == 0 && keeps_holes) /* the last one */
        rc = vel_fs_truncate(fs, c->to, (off_t)f->size, f->to, err);
    return rc;
}

static int copy_bytes(struct copy *c, struct vel_err *err)
{
    uint64_t at = 0;
    int rc = 0;

    if (!needs_crc(c) && !has_holes(c))
        rc = copy_in_kernel(c, &at, err);
    return rc < 0 ? rc : copy_through_memory(c, at, err);
}

/* --- what must be true of the copy ------------------------------------------------ */

static int check_crc(const struct copy *c, const char *path, struct vel_err *err)
{
    if (!c->file->has_crc || c->crc == c->file->crc)
        return 0;
    return vel_fail(err, VEL_ECORRUPT, "%s: checksum is %08x, not the recorded %08x",
                    path, (unsigned)c->crc, (unsigned)c->file->crc);
}

/* Did anybody write to the source while it was read? */
static int check_unchanged(const struct copy *c, struct vel_err *err)
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

static int set_metadata(const struct copy *c, struct vel_err *err)
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

static int settle(struct copy *c, struct vel_err *err)
{
    struct vel_fs *fs = c->how->fs;
    int rc = set_metadata(c, err);

    if (rc == 0)
        rc = vel_fs_sync(fs, c->to, c->file->to, err);
    int closed = vel_fs_close(fs, c->to, c->file->to, rc == 0 ? err : NULL);
    c->to = -1;
    return rc < 0 ? rc : closed;
}

static void tell(const struct copy *c, struct vel_xfer_copied *ret_copied)
{
    *ret_copied = (struct vel_xfer_copied){.crc = c->crc,
                                           .has_crc = needs_crc(c),
                                           .mode = c->st.st_mode & 0777,
                                           .mtime = c->st.st_mtim};
}

static void let_go(struct copy *c)
{
    vel_fs_close(c->how->fs, c->from, c->file->from, NULL);
    vel_fs_close(c->how->fs, c->to, c->file->to, NULL);
    free(c->buffer);
}

int vel_copy_file(const struct vel_copy_how *how, const struct vel_xfer_file *file,
                  struct vel_xfer_copied *ret_copied, struct vel_err *err)
{
    struct copy c = {.how = how, .file = file, .from = -1, .to = -1};
    int rc = allocate(&c, err);

    if (rc < 0)
        goto out;
    rc = open_source(&c, err);
    if (rc < 0)
        goto out;
    rc = create_target(&c, err);
    if (rc < 0)
        goto out;
    rc = copy_bytes(&c, err);
    if (rc < 0)
        goto out;
    rc = check_unchanged(&c, err);
    if (rc < 0)
        goto out;
    rc = check_crc(&c, file->from, err);
    if (rc < 0)
        goto out;
    rc = settle(&c, err);
    if (rc < 0)
        goto out;
    tell(&c, ret_copied);
out:
    let_go(&c);
    if (rc < 0 && c.is_made)
        vel_fs_unlink(how->fs, file->to, NULL); /* the first failure is the one told */
    return rc < 0 ? vel_wrap(err, rc, "copying %s to %s", file->from, file->to) : 0;
}

static int read_back(struct copy *c, struct vel_err *err)
{
    const struct vel_xfer_file *f = c->file;
    int rc = 0;

    for (uint64_t at = 0; at < f->size && rc == 0; at += c->chunk) {
        size_t len = f->size - at < c->chunk ? (size_t)(f->size - at) : c->chunk;

        rc = told(c, 0, err);
        if (rc == 0)
            rc = vel_fs_read_at(c->how->fs, c->to, c->buffer, len, (off_t)at, f->to,
                                err);
        if (rc == 0)
            c->crc = vel_crc32c(c->crc, c->buffer, len);
    }
    return rc;
}

/* open the copy, which must be a plain file of the right size */
static int open_copy(struct copy *c, struct vel_err *err)
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
    struct copy c = {.how = how, .file = file, .from = -1, .to = -1};
    int rc = allocate(&c, err);

    if (rc < 0)
        goto out;
    rc = open_source(&c, err);
    if (rc < 0)
        goto out;
    rc = open_copy(&c, err);
    if (rc < 0)
        goto out;
    if (needs_crc(&c))
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
