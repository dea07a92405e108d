/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "red/lofi.h"

enum { OPEN_MOST = 64 };

struct file {
    char *path;
    uint64_t at; /* of its first byte in the string */
    uint64_t size;
    int fd;        /* -1: closed */
    uint64_t used; /* when it was last touched */
    bool is_made;
};

struct vel_lofi {
    struct vel_fs *fs;
    const char *dir;
    bool is_written;
    struct vel_vec files;
    uint64_t size;
    uint64_t clock;
    size_t open;
};

static struct file *file_at(const struct vel_lofi *lofi, size_t i)
{
    return (struct file *)lofi->files.items + i;
}

struct vel_lofi *vel_lofi_create(struct vel_fs *fs, const char *dir, bool is_written)
{
    struct vel_lofi *lofi = calloc(1, sizeof *lofi);

    if (lofi) {
        *lofi = (struct vel_lofi){.fs = fs, .dir = dir, .is_written = is_written};
        vel_vec_init(&lofi->files, sizeof(struct file));
    }
    return lofi;
}

void vel_lofi_destroy(struct vel_lofi *lofi)
{
    if (!lofi)
        return;
    for (size_t i = 0; i < lofi->files.n; i++) {
        struct file *file = file_at(lofi, i);

        vel_fs_close(lofi->fs, file->fd, file->path, NULL);
        free(file->path);
    }
    vel_vec_fini(&lofi->files);
    free(lofi);
}

int vel_lofi_add(struct vel_lofi *lofi, const char *name, uint64_t size,
                 struct vel_err *err)
{
    struct file file = {.path = vel_path_join(lofi->dir, name),
                        .at = lofi->size,
                        .size = size,
                        .fd = -1};

    if (!file.path || !vel_vec_push(&lofi->files, &file)) {
        free(file.path);
        return vel_out_of_memory(err, name);
    }
    lofi->size += size;
    return 0;
}

uint64_t vel_lofi_size(const struct vel_lofi *lofi)
{
    return lofi->size;
}

static int close_file(struct vel_lofi *lofi, struct file *file, struct vel_err *err)
{
    int fd = file->fd;

    file->fd = -1;
    lofi->open--;
    return vel_fs_close(lofi->fs, fd, file->path, err);
}

/* Keep the number of open files small: the one that was not touched for longest goes.
 * What was written to it reaches the disk in vel_lofi_sync. */
static int make_way(struct vel_lofi *lofi, struct vel_err *err)
{
    struct file *oldest = NULL;

    if (lofi->open < OPEN_MOST)
        return 0;
    for (size_t i = 0; i < lofi->files.n; i++) {
        struct file *file = file_at(lofi, i);

        if (file->fd >= 0 && (!oldest || file->used < oldest->used))
            oldest = file;
    }
    return close_file(lofi, oldest, err);
}

static int touch(struct vel_lofi *lofi, struct file *file, struct vel_err *err)
{
    int rc;

    file->used = ++lofi->clock;
    if (file->fd >= 0)
        return 0;
    rc = make_way(lofi, err);
    if (rc < 0)
        return rc;
    int flags = O_NOFOLLOW | (lofi->is_written ? O_RDWR : O_RDONLY);
    if (lofi->is_written && !file->is_made)
        flags |= O_CREAT | O_EXCL;
    rc = vel_fs_open(lofi->fs, file->path, flags, 0600, &file->fd, err);
    if (rc < 0) {
        file->fd = -1;
        return rc;
    }
    file->is_made = true;
    lofi->open++;
    return 0;
}

/* the first file that ends behind `at` */
static size_t find(const struct vel_lofi *lofi, uint64_t at)
{
    size_t low = 0, high = lofi->files.n;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        const struct file *file = file_at(lofi, mid);

        if (file->at + file->size <= at)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

typedef int move_f(struct vel_lofi *lofi, struct file *file, off_t at, void *bytes,
                   size_t len, struct vel_err *err);

static int move_in(struct vel_lofi *lofi, struct file *file, off_t at, void *bytes,
                   size_t len, struct vel_err *err)
{
    return vel_fs_read_at(lofi->fs, file->fd, bytes, len, at, file->path, err);
}

static int move_out(struct vel_lofi *lofi, struct file *file, off_t at, void *bytes,
                    size_t len, struct vel_err *err)
{
    return vel_fs_write_at(lofi->fs, file->fd, bytes, len, at, file->path, err);
}

/* Move what lies inside the string; tells how much that was. */
static int move(struct vel_lofi *lofi, move_f *one, uint64_t at, void *bytes,
                size_t len, size_t *ret_done, struct vel_err *err)
{
    char *to = bytes;
    size_t left = at >= lofi->size        ? 0
                  : lofi->size - at < len ? (size_t)(lofi->size - at)
                                          : len;

    *ret_done = left;
    for (size_t i = find(lofi, at); left > 0; i++) {
        struct file *file = file_at(lofi, i);
        uint64_t inside = at - file->at;
        size_t n = file->size - inside < left ? (size_t)(file->size - inside) : left;
        int rc;

        if (n == 0)
            continue;
        rc = touch(lofi, file, err);
        if (rc == 0)
            rc = one(lofi, file, (off_t)inside, to, n, err);
        if (rc < 0)
            return rc;
        at += n;
        to += n;
        left -= n;
    }
    return 0;
}

int vel_lofi_read(struct vel_lofi *lofi, uint64_t at, void *bytes, size_t len,
                  struct vel_err *err)
{
    size_t done;
    int rc = move(lofi, move_in, at, bytes, len, &done, err);

    if (rc == 0)
        memset((char *)bytes + done, 0, len - done);
    return rc;
}

int vel_lofi_write(struct vel_lofi *lofi, uint64_t at, const void *bytes, size_t len,
                   struct vel_err *err)
{
    size_t done;

    return move(lofi, move_out, at, (void *)(uintptr_t)bytes, len, &done, err);
}

static int sync_file(struct vel_lofi *lofi, struct file *file, struct vel_err *err)
{
    int rc = touch(lofi, file, err);

    if (rc < 0)
        return rc;
    rc = lofi->fs->ops->truncate(lofi->fs, file->fd, (off_t)file->size);
    if (rc == 0)
        rc = lofi->fs->ops->fsync(lofi->fs, file->fd);
    if (rc < 0)
        return vel_fail_errno(err, -rc, "%s: writing it to disk", file->path);
    return close_file(lofi, file, err);
}

int vel_lofi_sync(struct vel_lofi *lofi, struct vel_err *err)
{
    for (size_t i = 0; i < lofi->files.n; i++) {
        int rc = sync_file(lofi, file_at(lofi, i), err);

        if (rc < 0)
            return rc;
    }
    return 0;
}
