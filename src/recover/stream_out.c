/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/le.h"
#include "base/path.h"
#include "meta/filelist.h"
#include "recover/stream.h"
#include "recover/stream_wire.h"
#include "red/lofi.h"

struct vel_stream_out {
    struct vel_comm *comm;
    int to;
    struct vel_lofi *lofi;
    struct vel_throttle *throttle;
    struct vel_buf list;
    uint8_t head[VEL_STREAM_HEAD];
    uint8_t *piece; /* the bytes under way, and the status behind them */
    size_t piece_len;
    uint64_t total, at;
    uint8_t status; /* 0 while everything could be read */
    enum { SEND_HEAD, SEND_LIST, SEND_BYTES, SENT } state;
    struct vel_req *pending;
};

struct listing {
    struct vel_vec files;
    struct vel_lofi *lofi;
};

static int visit(void *arg, enum vel_fs_visit what, const char *below,
                 const struct stat *st, struct vel_err *err)
{
    struct listing *listing = arg;
    struct vel_listed file = {.container = -1};
    int rc;

    /* a name that nobody could have routed is none of the dataset's */
    if (what != VEL_FS_FILE || !S_ISREG(st->st_mode) || !vel_path_is_inner(below))
        return 0;
    file.name = strdup(below);
    file.size = (uint64_t)st->st_size;
    file.mode = st->st_mode & 07777;
    file.mtime_s = st->st_mtim.tv_sec;
    file.mtime_ns = (uint32_t)st->st_mtim.tv_nsec;
    rc = file.name ? vel_lofi_add(listing->lofi, below, file.size, err)
                   : vel_out_of_memory(err, "moving files");
    if (rc == 0 && !vel_vec_push(&listing->files, &file))
        rc = vel_out_of_memory(err, "moving files");
    if (rc < 0)
        vel_listed_fini(&file);
    return rc;
}

static int list_files(struct vel_stream_out *out, struct vel_fs *fs, const char *dir)
{
    struct listing listing = {.lofi = out->lofi};
    int rc;

    vel_vec_init(&listing.files, sizeof(struct vel_listed));
    rc = vel_fs_walk(fs, dir, visit, &listing, NULL);
    if (rc == 0)
        rc = vel_filelist_encode(&listing.files, &out->list, NULL);
    vel_filelist_fini(&listing.files);
    return rc;
}

static int post(struct vel_stream_out *out, const void *bytes, size_t len,
                struct vel_err *err)
{
    return vel_comm_isend(out->comm, out->to, VEL_STREAM_TAG, bytes, len, &out->pending,
                          err);
}

int vel_stream_out_open(struct vel_comm *comm, int to, struct vel_fs *fs,
                        const char *dir, size_t piece, struct vel_throttle *throttle,
                        struct vel_stream_out **ret, struct vel_err *err)
{
    struct vel_stream_out *out = calloc(1, sizeof *out);
    struct vel_le_writer w;
    int rc;

    if (out) {
        out->comm = comm;
        out->to = to;
        out->piece_len = piece;
        out->throttle = throttle;
        out->piece = malloc(piece + 1);
        out->lofi = vel_lofi_create(fs, dir, false);
        vel_buf_init(&out->list);
    }
    if (!out || !out->piece || !out->lofi) {
        rc = vel_out_of_memory(err, "moving files");
        goto fail;
    }
    out->status = list_files(out, fs, dir) < 0;
    if (!out->status)
        out->total = vel_lofi_size(out->lofi);
    vel_le_write_init(&w, out->head, sizeof out->head);
    vel_le_put64(&w, out->status ? 0 : out->list.len);
    vel_le_put64(&w, piece);
    rc = post(out, out->head, sizeof out->head, err);
    if (rc < 0)
        goto fail;
    *ret = out;
    return 0;
fail:
    vel_stream_out_close(out);
    return rc;
}

struct vel_req *vel_stream_out_pending(const struct vel_stream_out *out)
{
    return out->pending;
}

bool vel_stream_out_is_done(const struct vel_stream_out *out)
{
    return out->state == SENT;
}

static int send_piece(struct vel_stream_out *out, struct vel_err *err)
{
    uint64_t left = out->total - out->at;
    size_t len = left < out->piece_len ? (size_t)left : out->piece_len;

    if (!left) {
        out->state = SENT;
        return 0;
    }
    vel_throttle_take(out->throttle, len, NULL, NULL);
    if (!out->status && vel_lofi_read(out->lofi, out->at, out->piece, len, NULL) < 0) {
        out->status = 1;
        memset(out->piece, 0, len);
    }
    out->piece[len] = out->status;
    out->at += len;
    return post(out, out->piece, len + 1, err);
}

int vel_stream_out_step(struct vel_stream_out *out, struct vel_err *err)
{
    out->pending = NULL;
    if (out->state == SEND_HEAD && !out->status) {
        out->state = SEND_LIST;
        return post(out, out->list.data, out->list.len, err);
    }
    if (out->state == SEND_HEAD) {
        out->state = SENT;
        return 0;
    }
    out->state = SEND_BYTES;
    return send_piece(out, err);
}

void vel_stream_out_close(struct vel_stream_out *out)
{
    if (!out)
        return;
    if (out->pending)
        vel_comm_cancel_all(out->comm, &out->pending, 1);
    vel_lofi_destroy(out->lofi);
    vel_buf_fini(&out->list);
    free(out->piece);
    free(out);
}
