/* SPDX-License-Identifier: BSD-3-Clause */
/* How the bytes of a copy move.
 *
 * Where a checksum is wanted the bytes go through memory: read, summed while they are
 * in the processor's cache, written. A copy inside the kernel that is read back for its
 * checksum was measured and is slower (test/bench/flush.c); it would also sum what was
 * written instead of what the program wrote. Without a checksum the kernel copies,
 * which costs nothing at all where the file system shares blocks.
 *
 * What is written begins its way to the disk at once, and the sync in the end finds
 * little to do: the disk works while we read and sum. Not where a share of the disk's
 * time is ours (FLUSH_PERCENT), which can be measured only when nothing happens beside.
 *
 * A file with holes always goes through memory, and blocks of zeros are not written:
 * reading a hole costs no disk, and what the kernel makes of one differs between file
 * systems.
 */
#include "config.h"

#include <errno.h>
#include <string.h>

#include "base/crc.h"
#include "xfer/copy_in.h"

enum { KERNEL_STEP = 16 << 20, HASTEN_STEP = 8 << 20 };

static bool has_holes(const struct vel_copy_run *c)
{
    return (uint64_t)c->st.st_blocks * 512 < c->file->size;
}

int vel_copy_ask(const struct vel_copy_how *how, uint64_t bytes, struct vel_err *err)
{
    int rc = vel_throttle_take(how->device, bytes, how->watch, err);

    return rc < 0 ? rc : vel_throttle_take(how->throttle, bytes, how->watch, err);
}

int vel_copy_told(const struct vel_copy_run *c, uint64_t n, struct vel_err *err)
{
    return vel_watch_step(c->how->watch, n) ? 0
                                            : vel_fail(err, VEL_ECANCEL, "cancelled");
}

uint64_t vel_copy_now(const struct vel_copy_run *c)
{
    return c->how->clock ? vel_clock_monotonic(c->how->clock) : 0;
}

/* Since `begun` was written. */
int vel_copy_rest(const struct vel_copy_run *c, uint64_t begun, struct vel_err *err)
{
    return vel_throttle_rest(c->how->throttle, vel_copy_now(c) - begun, c->how->watch,
                             err);
}

void vel_copy_hasten(struct vel_copy_run *c, uint64_t at)
{
    if (at - c->hastened < HASTEN_STEP || vel_throttle_has_share(c->how->throttle))
        return;
    vel_fs_hasten(c->how->fs, c->to, c->hastened, at - c->hastened);
    c->hastened = at;
}

/* Everything before `at` is written: is it time to say so? */
static int note_at(struct vel_copy_run *c, uint64_t at, struct vel_err *err)
{
    struct vel_fs *fs = c->how->fs;
    uint64_t begun = vel_copy_now(c);
    int rc;

    vel_copy_hasten(c, at);
    if (!c->resume || at - c->noted < c->resume->every || at == c->file->size ||
        begun - c->noted_at < c->resume->apart)
        return 0;
    rc =
        vel_fs_truncate(fs, c->to, (off_t)at, c->file->to, err); /* a hole at the end */
    if (rc == 0)
        rc = vel_fs_sync(fs, c->to, c->file->to, err);
    if (rc == 0)
        rc = vel_copy_rest(c, begun, err);
    if (rc == 0)
        rc = c->resume->note(c->resume->arg, at, c->crc, err);
    c->noted = at;
    c->noted_at = vel_copy_now(c);
    return rc;
}

/* As many bytes as the kernel wants to copy: *ret_at is where the rest begins. */
static int copy_in_kernel(struct vel_copy_run *c, uint64_t *ret_at, struct vel_err *err)
{
    struct vel_fs *fs = c->how->fs;
    const struct vel_xfer_file *f = c->file;
    size_t most = c->how->throttle || c->how->device ? c->chunk : KERNEL_STEP;
    uint64_t at = *ret_at;
    int rc = 0;

    while (at < f->size && rc == 0) {
        size_t len = f->size - at < most ? (size_t)(f->size - at) : most;
        uint64_t begun;

        rc = vel_copy_ask(c->how, len, err);
        if (rc < 0)
            break;
        begun = vel_copy_now(c);
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
            rc = vel_copy_told(c, len, err);
        if (rc == 0)
            rc = vel_copy_rest(c, begun, err);
        if (rc == 0)
            rc = note_at(c, at, err);
    }
    *ret_at = at;
    return rc;
}

static bool is_zero(const char *bytes, size_t len)
{
    return bytes[0] == 0 && memcmp(bytes, bytes + 1, len - 1) == 0;
}

/* The blocks of a chunk that are not zero, each run of them by one write. */
static int write_around_holes(const struct vel_copy_run *c, uint64_t at, size_t len,
                              struct vel_err *err)
{
    size_t begin = 0, end = 0;
    int rc = 0;

    while (end < len && rc == 0) {
        size_t n = len - end < VEL_COPY_ALIGN ? len - end : VEL_COPY_ALIGN;
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

/* --- only what has changed --- */

/* What differs from the base, at its place or into the patch. */
static int write_run(struct vel_copy_run *c, uint64_t at, const char *bytes, size_t len,
                     struct vel_err *err)
{
    uint64_t begun;
    int rc = vel_copy_ask(c->how, len, err);

    if (rc < 0)
        return rc;
    begun = vel_copy_now(c);
    rc = c->blocks->as == VEL_COPY_PATCH
             ? vel_patch_put(&c->patch, at, bytes, len, err)
             : vel_fs_write_at(c->how->fs, c->to, bytes, len, (off_t)at, c->file->to,
                               err);
    c->blocks->differ += len;
    return rc == 0 ? vel_copy_rest(c, begun, err) : rc;
}

static int write_changes(struct vel_copy_run *c, uint64_t at, size_t len,
                         struct vel_err *err)
{
    struct vel_copy_blocks *b = c->blocks;
    size_t begin = 0, end = 0;
    int rc = 0;

    while (end < len && rc == 0) {
        size_t n = len - end < b->block ? len - end : b->block;
        bool is_same = b->is_same(b->arg, at + end, c->buffer + end, n);

        if (!is_same)
            end += n;
        if (end > begin && (is_same || end == len))
            rc = write_run(c, at + begin, c->buffer + begin, end - begin, err);
        if (is_same) {
            begin = end = end + n;
            b->same += n;
        }
    }
    return rc;
}

static int copy_changes(struct vel_copy_run *c, struct vel_err *err)
{
    const struct vel_xfer_file *f = c->file;
    struct vel_fs *fs = c->how->fs;
    int rc = 0;

    for (uint64_t at = 0; at < f->size && rc == 0;) {
        size_t len = f->size - at < c->chunk ? (size_t)(f->size - at) : c->chunk;

        rc = vel_fs_read_at(fs, c->from, c->buffer, len, (off_t)at, f->from, err);
        if (rc == 0 && vel_copy_needs_crc(c))
            c->crc = vel_crc32c(c->crc, c->buffer, len);
        if (rc == 0)
            rc = write_changes(c, at, len, err);
        at += len;
        if (rc == 0)
            rc = vel_copy_told(c, len, err);
    }
    if (rc < 0)
        return rc;
    return c->blocks->as == VEL_COPY_PATCH
               ? vel_patch_end(&c->patch, err)
               : vel_fs_truncate(fs, c->to, (off_t)f->size, f->to, err);
}

/* Of a whole copy whoever wants to compare the next one with it sees each block. */
static void show_blocks(const struct vel_copy_run *c, uint64_t at, size_t len)
{
    const struct vel_copy_blocks *b = c->blocks;

    for (size_t n, i = 0; b && i < len; i += n) {
        n = len - i < b->block ? len - i : b->block;
        b->is_same(b->arg, at + i, c->buffer + i, n);
    }
}

/* --- all of it --- */

static int copy_through_memory(struct vel_copy_run *c, uint64_t at, struct vel_err *err)
{
    const struct vel_xfer_file *f = c->file;
    struct vel_fs *fs = c->how->fs;
    bool keeps_holes = has_holes(c);
    int rc = 0;

    while (at < f->size && rc == 0) {
        size_t len = f->size - at < c->chunk ? (size_t)(f->size - at) : c->chunk;
        uint64_t begun;

        rc = vel_copy_ask(c->how, len, err);
        if (rc == 0)
            rc = vel_fs_read_at(fs, c->from, c->buffer, len, (off_t)at, f->from, err);
        if (rc < 0)
            break;
        if (vel_copy_needs_crc(c))
            c->crc = vel_crc32c(c->crc, c->buffer, len);
        show_blocks(c, at, len);
        begun = vel_copy_now(c);
        rc = keeps_holes
                 ? write_around_holes(c, at, len, err)
                 : vel_fs_write_at(fs, c->to, c->buffer, len, (off_t)at, f->to, err);
        at += len;
        if (rc == 0)
            rc = vel_copy_told(c, len, err);
        if (rc == 0)
            rc = vel_copy_rest(c, begun, err);
        if (rc == 0)
            rc = note_at(c, at, err);
    }
    if (rc == 0 && keeps_holes) /* the last one */
        rc = vel_fs_truncate(fs, c->to, (off_t)f->size, f->to, err);
    return rc;
}

int vel_copy_bytes(struct vel_copy_run *c, struct vel_err *err)
{
    uint64_t at = c->resume ? c->resume->at : 0;
    int rc = 0;

    c->hastened = at;
    c->noted_at = vel_copy_now(c);
    if (vel_copy_is_partial(c))
        return copy_changes(c, err);
    if (!vel_copy_needs_crc(c) && !has_holes(c) && !c->blocks)
        rc = copy_in_kernel(c, &at, err);
    return rc < 0 ? rc : copy_through_memory(c, at, err);
}
