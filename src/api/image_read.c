/* SPDX-License-Identifier: BSD-3-Clause */
/* image_read - a checkpoint image becomes memory again.
 *
 * All that can be known is checked before a byte of the program's memory changes. The
 * bytes then go straight to their place, and each piece is added to the checksum while
 * it is in the processor's cache.
 */
#include "config.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "api/image.h"
#include "api/image_format.h"
#include "base/crc.h"

struct vel_image {
    struct vel_fs *fs;
    char *path;
    int fd;
    struct vel_image_table table;
};

static int open_file(struct vel_image *image, uint64_t *ret_size, struct vel_err *err)
{
    const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
    struct stat st;
    int rc = vel_fs_open(image->fs, image->path, flags, 0, &image->fd, err);

    if (rc == 0)
        rc = vel_fs_stat(image->fs, image->fd, image->path, &st, err);
    if (rc < 0)
        return rc;
    if (!S_ISREG(st.st_mode))
        return vel_fail(err, VEL_EINVAL, "%s is no regular file", image->path);
    *ret_size = (uint64_t)st.st_size;
    return 0;
}

static int read_table(struct vel_image *image, uint64_t file_size, struct vel_err *err)
{
    uint8_t header[VEL_IMAGE_HEADER];
    struct vel_buf bytes;
    uint64_t at;
    size_t len;

    if (file_size < sizeof header)
        return vel_fail(err, VEL_ECORRUPT,
                        "%s: %" PRIu64 " bytes are too few for a checkpoint image",
                        image->path, file_size);
    int rc = vel_fs_read_at(image->fs, image->fd, header, sizeof header, 0, image->path,
                            err);
    if (rc < 0)
        return rc;
    rc = vel_image_peek(header, file_size, &at, &len, err);
    if (rc < 0)
        return vel_wrap(err, rc, "%s", image->path);
    vel_buf_init(&bytes);
    if (vel_buf_reserve(&bytes, len) < 0)
        rc = vel_out_of_memory(err, image->path);
    else
        rc = vel_fs_read_at(image->fs, image->fd, bytes.data, len, (off_t)at,
                            image->path, err);
    if (rc == 0) {
        rc = vel_image_decode(header, bytes.data, len, file_size, &image->table, err);
        if (rc < 0)
            rc = vel_wrap(err, rc, "%s", image->path);
    }
    vel_buf_fini(&bytes);
    return rc;
}

int vel_image_open(struct vel_fs *fs, const char *path, struct vel_image **ret_image,
                   struct vel_err *err)
{
    struct vel_image *image = calloc(1, sizeof *image);
    uint64_t size = 0;

    if (!image)
        return vel_out_of_memory(err, path);
    image->fs = fs;
    image->fd = -1;
    vel_image_table_init(&image->table, false);
    image->path = strdup(path);
    int rc = image->path ? open_file(image, &size, err) : vel_out_of_memory(err, path);
    if (rc == 0)
        rc = read_table(image, size, err);
    if (rc < 0)
        vel_image_close(image);
    else
        *ret_image = image;
    return rc;
}

void vel_image_close(struct vel_image *image)
{
    if (!image)
        return;
    vel_fs_close(image->fs, image->fd, image->path, NULL); /* it was only read */
    vel_image_table_fini(&image->table);
    free(image->path);
    free(image);
}

static const struct vel_image_line *line_of(const struct vel_image *image, int id)
{
    bool is_there;
    size_t i = vel_image_table_find(&image->table, id, &is_there);

    return is_there ? vel_image_line_at(&image->table.lines, i) : NULL;
}

int vel_image_size_of(const struct vel_image *image, int id, uint64_t *ret_bytes,
                      struct vel_err *err)
{
    const struct vel_image_line *line = line_of(image, id);

    if (!line)
        return vel_fail(err, VEL_ENOENT, "%s has no region %d", image->path, id);
    *ret_bytes = vel_image_line_bytes(line);
    return 0;
}

/* SOME wants what was saved; REST may also name what is only protected, since leaving
 * that out is what would happen anyway */
static int check_known(const struct vel_image *image,
                       const struct vel_region_list *list,
                       const struct vel_selection *selection, struct vel_err *err)
{
    for (size_t i = 0; i < selection->ids.n; i++) {
        int id = *(const int *)vel_vec_at(&selection->ids, i);

        if (line_of(image, id))
            continue;
        if (selection->mode == VEL_SELECT_SOME || !vel_region_find(list, id))
            return vel_fail(err, VEL_ENOENT,
                            "%s has no region %d, which the selection names",
                            image->path, id);
    }
    return 0;
}

/* Is there memory for a saved region? */
static int check_room(const struct vel_image *image, const struct vel_image_line *line,
                      const struct vel_region_list *list, struct vel_err *err)
{
    const struct vel_region *region = vel_region_find(list, line->id);
    uint64_t saved = vel_image_line_bytes(line);

    if (!region)
        return vel_fail(err, VEL_ENOENT,
                        "%s has a region %d of %" PRIu64
                        " bytes, which is not protected: protect it, or leave it out "
                        "of the selection",
                        image->path, line->id, saved);
    if (vel_region_bytes(region) < saved)
        return vel_fail(err, VEL_EINVAL,
                        "%s has %" PRIu64
                        " bytes of region %d, and only %zu are protected: protect at "
                        "least as many as were saved",
                        image->path, saved, line->id, vel_region_bytes(region));
    return 0;
}

static int check_all(const struct vel_image *image, const struct vel_region_list *list,
                     const struct vel_selection *selection, struct vel_err *err)
{
    int rc = check_known(image, list, selection, err);

    for (size_t i = 0; rc == 0 && i < image->table.lines.n; i++) {
        const struct vel_image_line *line = vel_image_line_at(&image->table.lines, i);

        if (vel_selection_takes(selection, line->id))
            rc = check_room(image, line, list, err);
    }
    return rc;
}

static int read_region(const struct vel_image *image, const struct vel_image_line *line,
                       void *to, struct vel_err *err)
{
    bool has_crc = image->table.has_crc;
    uint64_t left = vel_image_line_bytes(line), at = line->at;
    char *next = to;
    uint32_t crc = 0;

    while (left > 0) {
        size_t n = has_crc && left > VEL_IMAGE_PIECE ? VEL_IMAGE_PIECE : left;
        int rc =
            vel_fs_read_at(image->fs, image->fd, next, n, (off_t)at, image->path, err);

        if (rc < 0)
            return rc;
        if (has_crc)
            crc = vel_crc32c(crc, next, n);
        next += n;
        at += n;
        left -= n;
    }
    return crc == line->crc
               ? 0
               : vel_fail(err, VEL_ECORRUPT,
                          "%s: region %d has another checksum than when it "
                          "was written",
                          image->path, line->id);
}

int vel_image_read(struct vel_image *image, const struct vel_region_list *list,
                   const struct vel_selection *selection, struct vel_err *err)
{
    int rc = check_all(image, list, selection, err);

    if (rc < 0)
        return rc;
    for (size_t i = 0; rc == 0 && i < image->table.lines.n; i++) {
        const struct vel_image_line *line = vel_image_line_at(&image->table.lines, i);

        if (vel_selection_takes(selection, line->id))
            rc = read_region(image, line, vel_region_find(list, line->id)->ptr, err);
    }
    return rc < 0 ? vel_wrap(err, rc,
                             "the protected memory may be partly overwritten: do not "
                             "use it")
                  : 0;
}
