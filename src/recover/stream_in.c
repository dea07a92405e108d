/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/le.h"
#include "base/path.h"
#include "meta/cache.h"
#include "meta/filelist.h"
#include "recover/stream.h"
#include "recover/stream_wire.h"
#include "red/lofi.h"

struct vel_stream_in {
    struct vel_comm *comm;
    int from;
    struct vel_fs *fs;
    char *dir;
    char *fresh; /* where the files are written */
    struct vel_throttle *throttle;
    struct vel_lofi *lofi;
    struct vel_vec files; /* struct vel_listed */
    uint8_t head[VEL_STREAM_HEAD];
    uint8_t *bytes; /* the list, then pieces */
    size_t list_len, piece_len;
    uint64_t total, at;
    enum { WANT_HEAD, WANT_LIST, WANT_BYTES, DONE } state;
    struct vel_req *pending;
    struct vel_err why; /* the first failure of our files, or theirs */
    int rc;
};

static int receive(struct vel_stream_in *in, void *bytes, size_t len,
                   struct vel_err *err)
{
    return vel_comm_irecv(in->comm, in->from, VEL_STREAM_TAG, bytes, len, &in->pending,
                          err);
}

int vel_stream_in_open(struct vel_comm *comm, int from, struct vel_fs *fs,
                       const char *dir, struct vel_throttle *throttle,
                       struct vel_stream_in **ret, struct vel_err *err)
{
    struct vel_stream_in *in = calloc(1, sizeof *in);
    struct vel_buf fresh;
    int rc;

    vel_buf_init(&fresh);
    vel_buf_printf(&fresh, "%s" VEL_CACHE_NEW, dir);
    if (in) {
        vel_vec_init(&in->files, sizeof(struct vel_listed));
        in->comm = comm;
        in->from = from;
        in->fs = fs;
        in->throttle = throttle;
        in->dir = strdup(dir);
        in->fresh = vel_buf_take(&fresh, NULL);
    }
    vel_buf_fini(&fresh);
    if (!in || !in->dir || !in->fresh)
        rc = vel_out_of_memory(err, "moving files");
    else
        rc = receive(in, in->head, sizeof in->head, err);
    if (rc < 0)
        vel_stream_in_close(in);
    else
        *ret = in;
    return rc;
}

struct vel_req *vel_stream_in_pending(const struct vel_stream_in *in)
{
    return in->pending;
}

bool vel_stream_in_is_done(const struct vel_stream_in *in)
{
    return in->state == DONE;
}

/* Another sender's message is as good as its bytes: they are checked like a file's. */
static int take_head(struct vel_stream_in *in, struct vel_err *err)
{
    struct vel_le_reader r;
    uint64_t list, piece;

    vel_le_read_init(&r, in->head, sizeof in->head);
    list = vel_le_get64(&r);
    piece = vel_le_get64(&r);
    if (list == 0) {
        in->state = DONE;
        in->rc = vel_fail(&in->why, VEL_EREMOTE, "rank %d cannot read them", in->from);
        return 0;
    }
    if (list > VEL_STREAM_LIST_MAX || !piece || piece > VEL_STREAM_PIECE_MAX)
        return vel_fail(err, VEL_ECORRUPT,
                        "rank %d announces a list of %llu bytes, and pieces of %llu",
                        in->from, (unsigned long long)list, (unsigned long long)piece);
    in->list_len = (size_t)list;
    in->piece_len = (size_t)piece;
    in->bytes = malloc((list > piece ? list : piece) + 1);
    if (!in->bytes)
        return vel_out_of_memory(err, "moving files");
    in->state = WANT_LIST;
    return receive(in, in->bytes, in->list_len, err);
}

static int make_parents(struct vel_stream_in *in, const char *name, struct vel_err *err)
{
    char *path, *parent;
    int rc;

    if (!strchr(name, '/'))
        return 0;
    path = vel_path_join(in->fresh, name);
    parent = path ? vel_path_dir(path) : NULL;
    rc = parent ? vel_fs_make_dirs(in->fs, parent, 0700, err)
                : vel_out_of_memory(err, "moving files");
    free(parent);
    free(path);
    return rc;
}

static int prepare_files(struct vel_stream_in *in, struct vel_err *err)
{
    const struct vel_listed *f = in->files.items;
    int rc = vel_fs_remove_tree(in->fs, in->fresh, err);

    if (rc == 0)
        rc = vel_fs_make_dirs(in->fs, in->fresh, 0700, err);
    for (size_t i = 0; rc == 0 && i < in->files.n; i++)
        rc = make_parents(in, f[i].name, err);
    return rc;
}

static int next_piece(struct vel_stream_in *in, struct vel_err *err)
{
    uint64_t left = in->total - in->at;

    if (!left) {
        in->state = DONE;
        return 0;
    }
    return receive(in, in->bytes,
                   (left < in->piece_len ? (size_t)left : in->piece_len) + 1, err);
}

static int take_list(struct vel_stream_in *in, struct vel_err *err)
{
    const struct vel_listed *f;
    int rc = vel_filelist_decode(in->bytes, in->list_len, &in->files, err);

    if (rc < 0)
        return vel_wrap(err, rc, "rank %d", in->from);
    in->lofi = vel_lofi_create(in->fs, in->fresh, true);
    if (!in->lofi)
        return vel_out_of_memory(err, "moving files");
    f = in->files.items;
    for (size_t i = 0; rc == 0 && i < in->files.n; i++)
        rc = vel_lofi_add(in->lofi, f[i].name, f[i].size, err);
    if (rc < 0)
        return rc;
    in->total = vel_lofi_size(in->lofi);
    in->rc = prepare_files(in, &in->why);
    in->state = WANT_BYTES;
    return next_piece(in, err);
}

static int take_piece(struct vel_stream_in *in, struct vel_err *err)
{
    uint64_t left = in->total - in->at;
    size_t len = left < in->piece_len ? (size_t)left : in->piece_len;

    if (in->bytes[len] && in->rc == 0)
        in->rc = vel_fail(&in->why, VEL_EREMOTE, "rank %d cannot read them", in->from);
    vel_throttle_take(in->throttle, len, NULL, NULL);
    if (in->rc == 0)
        in->rc = vel_lofi_write(in->lofi, in->at, in->bytes, len, &in->why);
    in->at += len;
    return next_piece(in, err);
}

int vel_stream_in_step(struct vel_stream_in *in, struct vel_err *err)
{
    in->pending = NULL;
    switch (in->state) {
    case WANT_HEAD:
        return take_head(in, err);
    case WANT_LIST:
        return take_list(in, err);
    case WANT_BYTES:
        return take_piece(in, err);
    case DONE:
        break;
    }
    return 0;
}

static int set_metadata(struct vel_stream_in *in, const struct vel_listed *f,
                        struct vel_err *err)
{
    const struct timespec times[2] = {
        {.tv_sec = f->mtime_s, .tv_nsec = f->mtime_ns},
        {.tv_sec = f->mtime_s, .tv_nsec = f->mtime_ns},
    };
    char *path = vel_path_join(in->fresh, f->name);
    int fd = -1, rc;

    if (!path)
        return vel_out_of_memory(err, "moving files");
    rc = vel_fs_open(in->fs, path, O_RDONLY | O_NOFOLLOW, 0, &fd, err);
    if (rc == 0 && (rc = in->fs->ops->set_mode(in->fs, fd, f->mode)) == 0)
        rc = in->fs->ops->set_times(in->fs, fd, times);
    if (rc < 0 && fd >= 0)
        rc = vel_fail_errno(err, -rc, "setting mode and times of %s", path);
    if (fd >= 0)
        in->fs->ops->close(in->fs, fd);
    free(path);
    return rc;
}

/* The names of the files to disk: the copy they came from is removed soon. */
static int sync_visited(void *arg, enum vel_fs_visit what, const char *below,
                        const struct stat *st, struct vel_err *err)
{
    struct vel_stream_in *in = arg;
    char *dir;
    int rc;

    (void)st;
    if (what != VEL_FS_LEAVE)
        return 0;
    dir = *below ? vel_path_join(in->fresh, below) : strdup(in->fresh);
    rc = dir ? vel_fs_sync_dir(in->fs, dir, err)
             : vel_out_of_memory(err, "moving files");
    free(dir);
    return rc;
}

int vel_stream_in_finish(struct vel_stream_in *in, struct vel_err *err)
{
    const struct vel_listed *f = in->files.items;
    int rc = in->rc;

    if (rc < 0)
        return vel_fail(err, (enum vel_status)rc, "%s", in->why.text);
    rc = vel_lofi_sync(in->lofi, err);
    for (size_t i = 0; rc == 0 && i < in->files.n; i++)
        rc = set_metadata(in, &f[i], err);
    if (rc == 0)
        rc = vel_fs_walk(in->fs, in->fresh, sync_visited, in, err);
    if (rc == 0)
        rc = vel_fs_remove_tree(in->fs, in->dir, err);
    if (rc == 0)
        rc = vel_fs_rename(in->fs, in->fresh, in->dir, err);
    return rc < 0 ? rc : vel_fs_sync_parent(in->fs, in->dir, err);
}

void vel_stream_in_close(struct vel_stream_in *in)
{
    if (!in)
        return;
    if (in->pending)
        vel_comm_cancel_all(in->comm, &in->pending, 1);
    vel_lofi_destroy(in->lofi);
    if (in->fresh)
        vel_fs_remove_tree(in->fs, in->fresh, NULL);
    vel_filelist_fini(&in->files);
    free(in->bytes);
    free(in->fresh);
    free(in->dir);
    free(in);
}
