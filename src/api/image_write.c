/* SPDX-License-Identifier: BSD-3-Clause */
/* image_write - regions become a checkpoint image.
 *
 * The bytes of a region are written straight from where the program has them, piece by
 * piece. A piece is small enough to be still in the processor's cache when its checksum
 * is taken, so that memory is read once. The write comes first, since the kernel
 * answers a pointer that leads nowhere with an error, where the checksum would crash.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "api/image.h"
#include "api/image_format.h"
#include "base/crc.h"

struct vel_image_writer {
    struct vel_fs *fs;
    char *path;
    int fd; /* -1: closed */
    bool has_failed;
    bool is_unfinished; /* the file is there and will have to go */
    bool is_patched;    /* bytes of a former state of a region may be left in it */
    uint64_t end;       /* of what has been written */
    bool has_sum;
    uint32_t sum; /* of the file */
    uint64_t size;
    struct vel_image_table table;
};

/* A new file, never one that stands there already: it might be a link, or have other
 * names. */
static int create_file(struct vel_image_writer *w, struct vel_err *err)
{
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW;

    w->fd = w->fs->ops->open(w->fs, w->path, flags, 0666);
    if (w->fd == -EEXIST) {
        int rc = vel_fs_unlink(w->fs, w->path, err);
        if (rc < 0)
            return rc;
        w->fd = w->fs->ops->open(w->fs, w->path, flags, 0666);
    }
    return w->fd < 0 ? vel_fail_errno(err, -w->fd, "cannot create %s", w->path) : 0;
}

int vel_image_create(struct vel_fs *fs, const char *path, bool has_crc,
                     struct vel_image_writer **ret_writer, struct vel_err *err)
{
    struct vel_image_writer *w = calloc(1, sizeof *w);

    if (!w)
        return vel_out_of_memory(err, path);
    w->fs = fs;
    w->fd = -1;
    w->end = VEL_IMAGE_HEADER;
    vel_image_table_init(&w->table, has_crc);
    w->path = strdup(path);
    int rc = w->path ? create_file(w, err) : vel_out_of_memory(err, path);
    w->is_unfinished = rc == 0;
    if (rc < 0)
        vel_image_destroy(w);
    else
        *ret_writer = w;
    return rc;
}

void vel_image_destroy(struct vel_image_writer *writer)
{
    if (!writer)
        return;
    vel_fs_close(writer->fs, writer->fd, writer->path, NULL);
    if (writer->is_unfinished)
        vel_fs_unlink(writer->fs, writer->path, NULL);
    vel_image_table_fini(&writer->table);
    free(writer->path);
    free(writer);
}

static int write_bytes(struct vel_image_writer *w, const void *bytes, size_t len,
                       uint64_t at, uint32_t *ret_crc, struct vel_err *err)
{
    size_t most = w->table.has_crc ? (size_t)VEL_IMAGE_PIECE : len;
    const char *from = bytes;
    uint32_t crc = 0;

    while (len > 0) {
        size_t n = len < most ? len : most;
        int rc = vel_fs_write_at(w->fs, w->fd, from, n, (off_t)at, w->path, err);

        if (rc < 0)
            return rc;
        if (w->table.has_crc)
            crc = vel_crc32c(crc, from, n);
        from += n;
        at += n;
        len -= n;
    }
    *ret_crc = crc;
    return 0;
}

static uint64_t round_up(uint64_t n, uint64_t to)
{
    return (n + to - 1) / to * to;
}

/* Where a region goes: where it was, if it fits there, else behind all others. A large
 * one has the same place in a page of the file as in one of memory: the kernel copies
 * that 2.5 times faster. */
static int place(const struct vel_image_writer *w, const struct vel_region *region,
                 const struct vel_image_line *old, uint64_t *ret_at,
                 struct vel_err *err)
{
    const uint64_t most = (uint64_t)1 << VEL_IMAGE_SHIFT_MOST;
    uint64_t bytes = vel_region_bytes(region), at = round_up(w->end, VEL_IMAGE_ALIGN);

    if (old && bytes <= vel_image_line_bytes(old)) {
        *ret_at = old->at;
        return 0;
    }
    if (bytes >= VEL_IMAGE_PAGE)
        at = w->end + ((uintptr_t)region->ptr - w->end) % VEL_IMAGE_PAGE;
    /* both are below 2^63, and so is all that has been written */
    if (at + bytes > most - VEL_IMAGE_ALIGN)
        return vel_fail(err, VEL_EINVAL, "%s would be too large for any file", w->path);
    *ret_at = at;
    return 0;
}

static int write_region(struct vel_image_writer *w, const struct vel_region *region,
                        struct vel_err *err)
{
    struct vel_image_line line = {
        .id = region->id, .size = region->size, .count = region->count};
    uint64_t bytes = vel_region_bytes(region);
    bool is_there;
    size_t i = vel_image_table_find(&w->table, region->id, &is_there);
    struct vel_image_line *old =
        is_there ? vel_image_line_at(&w->table.lines, i) : NULL;

    if (!old && w->table.lines.n == VEL_IMAGE_MOST)
        return vel_fail(err, VEL_EINVAL, "%s has no room for more than %d regions",
                        w->path, VEL_IMAGE_MOST);
    int rc = place(w, region, old, &line.at, err);
    if (rc == 0)
        rc = write_bytes(w, region->ptr, bytes, line.at, &line.crc, err);
    if (rc < 0)
        return rc;
    w->is_patched |= old && vel_image_line_bytes(old) != bytes;
    if (old)
        *old = line;
    else if (!vel_vec_insert(&w->table.lines, i, &line))
        return vel_out_of_memory(err, w->path);
    if (line.at + bytes > w->end)
        w->end = line.at + bytes;
    return 0;
}

static int check_known(const struct vel_image_writer *w,
                       const struct vel_region_list *list,
                       const struct vel_selection *selection, struct vel_err *err)
{
    for (size_t i = 0; i < selection->ids.n; i++) {
        int id = *(const int *)vel_vec_at(&selection->ids, i);

        if (!vel_region_find(list, id))
            return vel_fail(err, VEL_ENOENT,
                            "cannot write %s: the selection names region %d, which is "
                            "not protected",
                            w->path, id);
    }
    return 0;
}

int vel_image_append(struct vel_image_writer *writer,
                     const struct vel_region_list *list,
                     const struct vel_selection *selection, struct vel_err *err)
{
    int rc = check_known(writer, list, selection, err);

    if (rc < 0)
        return rc;
    for (size_t i = 0; rc == 0 && i < list->items.n; i++) {
        const struct vel_region *region = vel_vec_at(&list->items, i);

        if (vel_selection_takes(selection, region->id))
            rc = write_region(writer, region, err);
    }
    writer->has_failed |= rc < 0;
    return rc;
}

static int by_place(const void *a, const void *b)
{
    uint64_t x = ((const struct vel_image_line *)a)->at,
             y = ((const struct vel_image_line *)b)->at;

    return (x > y) - (x < y);
}

/* What was never written between two of its parts is zeros, less than a page. */
static uint32_t skip(uint32_t crc, uint64_t from, uint64_t to)
{
    static const uint8_t zeros[VEL_IMAGE_PAGE];

    return vel_crc32c(crc, zeros, (size_t)(to - from));
}

/* The checksum of the file from those of its regions; without memory there is none. */
static void sum_up(struct vel_image_writer *w, const uint8_t header[VEL_IMAGE_HEADER],
                   const struct vel_buf *table)
{
    uint32_t crc = vel_crc32c(0, header, VEL_IMAGE_HEADER);
    uint64_t at = VEL_IMAGE_HEADER;
    struct vel_vec lines;
    bool is_all = true;

    vel_vec_init(&lines, sizeof(struct vel_image_line));
    for (size_t i = 0; is_all && i < w->table.lines.n; i++)
        is_all = vel_vec_push(&lines, vel_image_line_at(&w->table.lines, i));
    vel_vec_sort(&lines, by_place);
    for (size_t i = 0; i < lines.n; i++) {
        const struct vel_image_line *line = vel_image_line_at(&lines, i);
        uint64_t bytes = vel_image_line_bytes(line);

        if (bytes == 0)
            continue;
        crc = vel_crc32c_join(skip(crc, at, line->at), line->crc, bytes);
        at = line->at + bytes;
    }
    vel_vec_fini(&lines);
    w->sum = vel_crc32c(skip(crc, at, w->table.at), table->data, table->len);
    w->size = w->table.at + table->len;
    w->has_sum = is_all;
}

static int write_table(struct vel_image_writer *w, struct vel_err *err)
{
    uint8_t header[VEL_IMAGE_HEADER];
    struct vel_buf bytes;

    vel_buf_init(&bytes);
    w->table.at = round_up(w->end, VEL_IMAGE_ALIGN);
    int rc = vel_image_encode(&w->table, &bytes, header, err);
    if (rc == 0)
        rc = vel_fs_write_at(w->fs, w->fd, bytes.data, bytes.len, (off_t)w->table.at,
                             w->path, err);
    if (rc == 0)
        rc = vel_fs_write_at(w->fs, w->fd, header, sizeof header, 0, w->path, err);
    if (rc == 0 && w->table.has_crc && !w->is_patched)
        sum_up(w, header, &bytes);
    vel_buf_fini(&bytes);
    return rc;
}

int vel_image_commit(struct vel_image_writer *writer, struct vel_err *err)
{
    if (writer->has_failed)
        return vel_fail(err, VEL_ESTATE,
                        "%s lacks regions that could not be written: it is given up",
                        writer->path);
    int rc = write_table(writer, err);
    if (rc == 0) {
        /* some file systems report a full disk only here */
        rc = vel_fs_close(writer->fs, writer->fd, writer->path, err);
        writer->fd = -1;
    }
    writer->has_failed |= rc < 0;
    writer->is_unfinished = rc < 0;
    return rc;
}

const char *vel_image_writer_path(const struct vel_image_writer *writer)
{
    return writer->path;
}

bool vel_image_sum(const struct vel_image_writer *writer, uint64_t *ret_size,
                   uint32_t *ret_crc)
{
    if (!writer->has_sum || writer->has_failed)
        return false;
    *ret_size = writer->size;
    *ret_crc = writer->sum;
    return true;
}
