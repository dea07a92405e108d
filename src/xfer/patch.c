/* SPDX-License-Identifier: BSD-3-Clause */
/* A patch as bytes: a head, pieces that each have a checksum, and an end that tells how
 * many there are. */
#include "config.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc.h"
#include "base/le.h"
#include "xfer/patch.h"

enum { FORMAT = 1, HEAD = 56, PIECE = 16, PIECE_MOST = 1 << 20 };

static const char magic[8] = {'H', '5', 'V', 'P', 'A', 'T', 'C', 'H'};

/* where a piece would lie that is the end */
#define END UINT64_MAX

/* --- writing --- */

static int append(struct vel_patch_writer *w, const void *bytes, size_t len,
                  struct vel_err *err)
{
    int rc = vel_fs_write_at(w->fs, w->fd, bytes, len, (off_t)w->at, w->path, err);

    w->at += len;
    return rc;
}

int vel_patch_begin(struct vel_patch_writer *writer, struct vel_fs *fs, int fd,
                    const char *path, const struct vel_patch_head *head,
                    struct vel_err *err)
{
    uint8_t bytes[HEAD];
    struct vel_le_writer w;

    *writer = (struct vel_patch_writer){
        .fs = fs, .fd = fd, .path = path, .most = head->new_size / 2};
    vel_le_write_init(&w, bytes, sizeof bytes);
    vel_le_put_bytes(&w, magic, sizeof magic);
    vel_le_put32(&w, FORMAT);
    vel_le_put32(&w, head->mtime_ns);
    vel_le_put64(&w, head->inode);
    vel_le_put64(&w, head->size);
    vel_le_put64(&w, (uint64_t)head->mtime_s);
    vel_le_put64(&w, head->new_size);
    vel_le_put32(&w, 0);
    vel_le_put32(&w, vel_crc32c(0, bytes, HEAD - 4));
    return append(writer, bytes, sizeof bytes, err);
}

static int put_piece(struct vel_patch_writer *writer, uint64_t at, uint32_t number,
                     const void *bytes, size_t len, struct vel_err *err)
{
    uint8_t head[PIECE];
    struct vel_le_writer w;
    int rc;

    vel_le_write_init(&w, head, sizeof head);
    vel_le_put64(&w, at);
    vel_le_put32(&w, number);
    vel_le_put32(&w, vel_crc32c(vel_crc32c(0, head, PIECE - 4), bytes, len));
    rc = append(writer, head, sizeof head, err);
    return rc == 0 && len > 0 ? append(writer, bytes, len, err) : rc;
}

int vel_patch_put(struct vel_patch_writer *writer, uint64_t at, const void *bytes,
                  size_t len, struct vel_err *err)
{
    const char *from = bytes;
    int rc = 0;

    if (writer->at + len > writer->most)
        return vel_fail(err, VEL_EUNSUP, "more than half of the file has changed");
    for (size_t done = 0, n; rc == 0 && done < len; done += n) {
        n = len - done < PIECE_MOST ? len - done : PIECE_MOST;
        rc = put_piece(writer, at + done, (uint32_t)n, from + done, n, err);
        writer->count++;
    }
    return rc;
}

int vel_patch_end(struct vel_patch_writer *writer, struct vel_err *err)
{
    return put_piece(writer, END, (uint32_t)writer->count, "", 0, err);
}

/* --- reading --- */

struct reading {
    struct vel_fs *fs;
    const char *path;
    int fd;
    uint64_t at, count;
    struct vel_patch_head head;
    uint8_t *piece; /* PIECE_MOST bytes */
};

static int is_none(const struct reading *r, struct vel_err *err)
{
    return vel_fail(err, VEL_ECORRUPT, "%s is no whole patch", r->path);
}

static int next(struct reading *r, void *bytes, size_t len, struct vel_err *err)
{
    int rc = vel_fs_read_at(r->fs, r->fd, bytes, len, (off_t)r->at, r->path, err);

    r->at += len;
    return rc;
}

static int read_head(struct reading *r, struct vel_err *err)
{
    uint8_t bytes[HEAD];
    struct vel_le_reader in;
    uint32_t version;
    int rc = next(r, bytes, sizeof bytes, err);

    if (rc < 0)
        return rc;
    vel_le_read_init(&in, bytes + sizeof magic, HEAD - sizeof magic);
    version = vel_le_get32(&in);
    r->head.mtime_ns = vel_le_get32(&in);
    r->head.inode = vel_le_get64(&in);
    r->head.size = vel_le_get64(&in);
    r->head.mtime_s = (int64_t)vel_le_get64(&in);
    r->head.new_size = vel_le_get64(&in);
    vel_le_get32(&in);
    if (memcmp(bytes, magic, sizeof magic) != 0 ||
        vel_le_get32(&in) != vel_crc32c(0, bytes, HEAD - 4))
        return is_none(r, err);
    return version == FORMAT
               ? 0
               : vel_fail(err, VEL_EUNSUP, "%s is a patch of a newer h5veloc", r->path);
}

/* *ret_len is 0 behind the last one. */
static int read_piece(struct reading *r, uint64_t *ret_at, size_t *ret_len,
                      struct vel_err *err)
{
    uint8_t bytes[PIECE];
    struct vel_le_reader in;
    uint64_t at;
    uint32_t number, crc;
    int rc = next(r, bytes, sizeof bytes, err);

    if (rc < 0)
        return rc;
    vel_le_read_init(&in, bytes, sizeof bytes);
    at = vel_le_get64(&in);
    number = vel_le_get32(&in);
    crc = vel_crc32c(0, bytes, PIECE - 4);
    if (at == END) {
        *ret_len = 0;
        return crc == vel_le_get32(&in) && number == (uint32_t)r->count
                   ? 0
                   : is_none(r, err);
    }
    if (number == 0 || number > PIECE_MOST || at >= r->head.new_size ||
        number > r->head.new_size - at)
        return is_none(r, err);
    rc = next(r, r->piece, number, err);
    if (rc == 0 && vel_crc32c(crc, r->piece, number) != vel_le_get32(&in))
        rc = is_none(r, err);
    *ret_at = at;
    *ret_len = number;
    r->count++;
    return rc;
}

int vel_patch_read(struct vel_fs *fs, const char *path, struct vel_patch_head *ret_head,
                   vel_patch_piece_f *piece, void *arg, struct vel_err *err)
{
    struct reading r = {.fs = fs, .path = path, .fd = -1, .piece = malloc(PIECE_MOST)};
    uint64_t at = 0;
    size_t len = 1;
    int rc = r.piece ? vel_fs_open(fs, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0,
                                   &r.fd, err)
                     : vel_out_of_memory(err, path);

    if (rc == 0)
        rc = read_head(&r, err);
    while (rc == 0 && len > 0) {
        rc = read_piece(&r, &at, &len, err);
        if (rc == 0 && len > 0 && piece)
            rc = piece(arg, at, r.piece, len, err);
    }
    if (rc == 0)
        *ret_head = r.head;
    vel_fs_close(fs, r.fd, path, NULL);
    free(r.piece);
    return rc;
}
