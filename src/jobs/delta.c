/* SPDX-License-Identifier: BSD-3-Clause */
/* What is compared: the hashes of the source's blocks, made while it is copied, with
 * those of the version that stands at the name. The key of a file's hashes stays the
 * same from version to version: nobody who does not know it can make two blocks of one
 * hash. */
#include "config.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc.h"
#include "base/log.h"
#include "jobs/delta.h"
#include "jobs/delta_past.h"
#include "meta/paths.h"
#include "sys/entropy.h"

struct vel_delta {
    struct vel_fs *fs;
    const char *dir;
    int64_t id;
    int list;
    bool can_clone;        /* files of the prefix share blocks */
    struct vel_past *past; /* versions of before */
    struct vel_vec fresh;  /* struct vel_hashed: what is on its way */
    struct vel_delta_counts counts;
};

/* one file on its way */
struct one {
    struct vel_delta *delta;
    const struct vel_copy_how *how;
    const struct vel_xfer_file *file;
    struct vel_hashed hashed;     /* what it becomes; without `hash`: it has none */
    const struct vel_hashed *old; /* NULL: nothing to compare with */
    int64_t old_id;               /* dataset of it */
    int base;                     /* the file that it tells of, or -1 */
    struct stat st;               /* of that one */
};

/* --- all of them --- */

static bool make_probe(struct vel_delta *d, const char *path, int *ret_fd)
{
    return vel_fs_unlink(d->fs, path, NULL) == 0 &&
           vel_fs_open(d->fs, path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600,
                       ret_fd, NULL) == 0;
}

/* Two empty files tell: where blocks are never shared nothing need be hashed. */
static int probe(struct vel_delta *d, struct vel_err *err)
{
    char *hashes = vel_hashes_path(d->dir, d->id, d->list);
    struct vel_buf from, to;
    int a = -1, b = -1, rc;

    vel_buf_init(&from);
    vel_buf_init(&to);
    if (hashes) {
        vel_buf_printf(&from, "%s.from", hashes);
        vel_buf_printf(&to, "%s.to", hashes);
    }
    rc = hashes ? vel_buf_status(&from, err) : vel_out_of_memory(err, "flushing");
    if (rc == 0)
        rc = vel_buf_status(&to, err);
    if (rc == 0) {
        d->can_clone = make_probe(d, from.data, &a) && make_probe(d, to.data, &b) &&
                       vel_fs_clone(d->fs, a, from.data, b, to.data, NULL) == 0;
        vel_fs_close(d->fs, a, from.data, NULL);
        vel_fs_close(d->fs, b, to.data, NULL);
        vel_fs_unlink(d->fs, from.data, NULL);
        vel_fs_unlink(d->fs, to.data, NULL);
    }
    vel_buf_fini(&to);
    vel_buf_fini(&from);
    free(hashes);
    return rc;
}

int vel_delta_open(struct vel_index *index, int64_t id, int list,
                   struct vel_delta **ret_delta, struct vel_err *err)
{
    struct vel_delta *d = calloc(1, sizeof *d);
    int rc;

    if (!d)
        return vel_out_of_memory(err, "flushing");
    *d = (struct vel_delta){
        .fs = vel_index_fs(index), .dir = vel_index_dir(index), .id = id, .list = list};
    vel_vec_init(&d->fresh, sizeof(struct vel_hashed));
    rc = probe(d, err);
    if (rc == 0)
        rc = vel_past_open(index, id, list, &d->past, err);
    if (rc == 0)
        *ret_delta = d;
    else
        vel_delta_close(d);
    return rc;
}

void vel_delta_close(struct vel_delta *delta)
{
    if (!delta)
        return;
    vel_past_close(delta->past);
    vel_hashes_fini(&delta->fresh);
    free(delta);
}

int vel_delta_save(struct vel_delta *delta, struct vel_err *err)
{
    char *path;
    int rc;

    if (delta->fresh.n > 0)
        return vel_hashes_save(delta->fs, delta->dir, delta->id, delta->list,
                               &delta->fresh, err);
    path = vel_hashes_path(delta->dir, delta->id, delta->list);
    rc = path ? vel_fs_unlink(delta->fs, path, err) /* of an attempt before */
              : vel_out_of_memory(err, "flushing");
    free(path);
    return rc;
}

struct vel_delta_counts vel_delta_counts(const struct vel_delta *delta)
{
    return delta->counts;
}

/* --- one of them --- */

static int one_init(struct one *o, struct vel_delta *delta,
                    const struct vel_copy_how *how, const struct vel_xfer_file *file,
                    const char *name, struct vel_err *err)
{
    *o = (struct one){.delta = delta, .how = how, .file = file, .base = -1};
    o->hashed.size = file->size;
    o->hashed.name = strdup(name);
    o->hashed.hash = malloc(vel_hashed_blocks(file->size) * VEL_SIPHASH_LEN);
    if (!o->hashed.name || !o->hashed.hash)
        return vel_out_of_memory(err, file->from);
    return vel_entropy(o->hashed.key, sizeof o->hashed.key, err);
}

static void one_fini(struct one *o)
{
    vel_fs_close(o->delta->fs, o->base, "", NULL);
    vel_hashed_fini(&o->hashed);
}

static bool is_as_left(const struct stat *st, const struct vel_hashed *old)
{
    return S_ISREG(st->st_mode) && (uint64_t)st->st_ino == old->inode &&
           (uint64_t)st->st_size == old->size && st->st_mtim.tv_sec == old->mtime_s &&
           st->st_mtim.tv_nsec == (long)old->mtime_ns;
}

/* What stands at the name, when it is a version that we know and as we left it. */
static int find_base(struct one *o, const char *dest, struct vel_err *err)
{
    struct vel_fs *fs = o->delta->fs;
    const struct vel_hashed *old = NULL;
    struct stat st;
    int rc;

    if (vel_fs_lstat(fs, dest, &st, NULL) < 0 || !S_ISREG(st.st_mode))
        return 0;
    rc = vel_past_find(o->delta->past, o->hashed.name, &old, &o->old_id, err);
    if (rc < 0 || !old || !is_as_left(&st, old) ||
        vel_fs_open(fs, dest, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, &o->base, NULL) <
            0)
        return rc;
    if (vel_fs_stat(fs, o->base, dest, &o->st, NULL) < 0 || !is_as_left(&o->st, old))
        return 0;
    o->old = old;
    memcpy(o->hashed.key, old->key, sizeof old->key);
    return 0;
}

static bool is_same(void *arg, uint64_t at, const void *bytes, size_t len)
{
    const struct one *o = arg;
    size_t i = (size_t)(at / VEL_HASHES_BLOCK);
    uint8_t *hash = o->hashed.hash + i * VEL_SIPHASH_LEN;
    uint64_t left;

    vel_siphash(o->hashed.key, bytes, len, hash);
    if (!o->old || at >= o->old->size)
        return false;
    left = o->old->size - at;
    return len == (left < VEL_HASHES_BLOCK ? (size_t)left : (size_t)VEL_HASHES_BLOCK) &&
           memcmp(hash, o->old->hash + i * VEL_SIPHASH_LEN, VEL_SIPHASH_LEN) == 0;
}

/* The blocks before `end`, from the source; and the checksum of all that. */
static int hash_source(struct one *o, uint64_t end, uint32_t *ret_crc,
                       struct vel_err *err)
{
    struct vel_fs *fs = o->delta->fs;
    char *block = malloc(VEL_HASHES_BLOCK);
    uint32_t crc = 0;
    int fd = -1, rc;

    rc = block ? vel_fs_open(fs, o->file->from, O_RDONLY | O_NONBLOCK, 0, &fd, err)
               : vel_out_of_memory(err, o->file->from);
    for (uint64_t at = 0; rc == 0 && at < end; at += VEL_HASHES_BLOCK) {
        size_t len =
            end - at < VEL_HASHES_BLOCK ? (size_t)(end - at) : (size_t)VEL_HASHES_BLOCK;

        rc = vel_watch_step(o->how->watch, 0)
                 ? vel_fs_read_at(fs, fd, block, len, (off_t)at, o->file->from, err)
                 : vel_fail(err, VEL_ECANCEL, "cancelled");
        if (rc == 0) {
            crc = vel_crc32c(crc, block, len);
            is_same(o, at, block, len);
        }
    }
    if (rc == 0)
        *ret_crc = crc;
    vel_fs_close(fs, fd, o->file->from, NULL);
    free(block);
    return rc;
}

/* Its hashes will be known with it, under what it is on the prefix: `st` is that of the
 * temporary name, but for a patch. */
static int keep(struct one *o, const struct stat *st, uint64_t inode,
                struct vel_err *err)
{
    o->hashed.inode = inode;
    o->hashed.mtime_s = st->st_mtim.tv_sec;
    o->hashed.mtime_ns = (uint32_t)st->st_mtim.tv_nsec;
    if (!vel_vec_push(&o->delta->fresh, &o->hashed))
        return vel_out_of_memory(err, o->file->from);
    o->hashed.name = NULL; /* the vector's now */
    o->hashed.hash = NULL;
    return 0;
}

/* --- the ways of a file --- */

static int copy_whole(struct one *o, struct vel_copy_resume *resume,
                      struct vel_xfer_copied *ret_copied, struct vel_err *err)
{
    struct vel_copy_blocks blocks = {
        .block = VEL_HASHES_BLOCK, .is_same = is_same, .arg = o, .as = VEL_COPY_WHOLE};
    uint32_t begun_with = resume->crc, crc = 0;
    struct stat st;
    int rc;

    o->old = NULL;
    rc = vel_copy_by_blocks(o->how, o->file, resume, &blocks, ret_copied, err);
    if (rc == 0)
        rc = vel_fs_lstat(o->delta->fs, o->file->to, &st, err);
    if (rc < 0)
        return rc;
    o->delta->counts.written += o->file->size - resume->at;
    if (resume->at > 0 &&
        (hash_source(o, resume->at, &crc, NULL) < 0 || crc != begun_with))
        return 0; /* what was copied before is not what is there now */
    return keep(o, &st, (uint64_t)st.st_ino, err);
}

/* VEL_EUNSUP: it cannot be done so; VEL_EBUSY: the base has changed. */
static int copy_changes(struct one *o, struct vel_copy_blocks *blocks, const char *dest,
                        struct vel_xfer_copied *ret_copied, struct vel_err *err)
{
    struct vel_fs *fs = o->delta->fs;
    bool is_patch = blocks->as == VEL_COPY_PATCH;
    struct vel_delta_counts *counts = &o->delta->counts;
    struct stat st, now;
    int rc = vel_copy_by_blocks(o->how, o->file, NULL, blocks, ret_copied, err);

    if (rc < 0)
        return rc;
    rc = vel_fs_lstat(fs, o->file->to, &st, err);
    if (rc == 0)
        rc = vel_fs_stat(fs, o->base, dest, &now, err);
    if (rc == 0 && !is_as_left(&now, o->old))
        rc = vel_fail(err, VEL_EBUSY, "%s was changed meanwhile", dest);
    /* a patched file is told from an unpatched one by its time */
    if (rc == 0 && is_patch && o->old->size == o->file->size &&
        st.st_mtim.tv_sec == o->old->mtime_s &&
        st.st_mtim.tv_nsec == (long)o->old->mtime_ns)
        rc = vel_fail(err, VEL_EUNSUP, "%s has the time of its older version", dest);
    if (rc == 0)
        rc = keep(o, &st, is_patch ? o->old->inode : (uint64_t)st.st_ino, err);
    if (rc < 0) {
        vel_fs_unlink(fs, o->file->to, NULL);
        return rc;
    }
    counts->compared += o->file->size;
    counts->cloned += blocks->same;
    counts->written += blocks->differ;
    return 0;
}

/* A name for the file alone, and nobody between the two versions who would still take
 * it. */
static bool may_be_patched(const struct one *o)
{
    return o->st.st_nlink == 1 && vel_past_is_last(o->delta->past, o->old_id);
}

static int copy_with_base(struct one *o, const char *dest, bool may_patch,
                          bool *ret_is_patch, struct vel_xfer_copied *ret_copied,
                          struct vel_err *err)
{
    const struct vel_patch_head head = {.inode = o->old->inode,
                                        .size = o->old->size,
                                        .mtime_s = o->old->mtime_s,
                                        .mtime_ns = o->old->mtime_ns,
                                        .new_size = o->file->size};
    struct vel_copy_blocks blocks = {.block = VEL_HASHES_BLOCK,
                                     .is_same = is_same,
                                     .arg = o,
                                     .as = VEL_COPY_CLONE,
                                     .base = o->base,
                                     .base_path = dest,
                                     .head = &head};
    int rc = o->delta->can_clone ? copy_changes(o, &blocks, dest, ret_copied, err)
                                 : VEL_EUNSUP;

    *ret_is_patch = false;
    if (rc == VEL_EUNSUP && may_patch && may_be_patched(o)) {
        blocks.as = VEL_COPY_PATCH;
        rc = copy_changes(o, &blocks, dest, ret_copied, err);
        *ret_is_patch = rc == 0;
    }
    return rc;
}

int vel_delta_copy(struct vel_delta *delta, const struct vel_copy_how *how,
                   const struct vel_xfer_file *file, const char *dest, bool may_patch,
                   struct vel_copy_resume *resume, struct vel_listed *listed,
                   struct vel_xfer_copied *ret_copied, struct vel_err *err)
{
    struct one o;
    struct vel_err why = {0};
    int rc;

    listed->is_patch = false;
    if (file->size <= VEL_HASHES_BLOCK || !(delta->can_clone || may_patch)) {
        rc = vel_copy_resume(how, file, resume, ret_copied, err);
        delta->counts.written += rc == 0 ? file->size - resume->at : 0;
        return rc;
    }
    rc = one_init(&o, delta, how, file, listed->name, err);
    if (rc == 0 && resume->at == 0)
        rc = find_base(&o, dest, err);
    if (rc == 0 && o.old) {
        rc = copy_with_base(&o, dest, may_patch, &listed->is_patch, ret_copied, &why);
        if (rc == VEL_EUNSUP || rc == VEL_EBUSY)
            rc = copy_whole(&o, resume, ret_copied, err);
        else if (rc < 0)
            vel_fail(err, (enum vel_status)rc, "%s", why.text);
    } else if (rc == 0) {
        rc = copy_whole(&o, resume, ret_copied, err);
    }
    one_fini(&o);
    return rc;
}

int vel_delta_keep(struct vel_delta *delta, const struct vel_copy_how *how,
                   const struct vel_xfer_file *file, const struct vel_listed *listed,
                   struct vel_err *err)
{
    struct one o;
    struct stat st;
    uint32_t crc = 0;
    int rc;

    if (file->size <= VEL_HASHES_BLOCK || !delta->can_clone)
        return 0;
    rc = one_init(&o, delta, how, file, listed->name, err);
    if (rc == 0)
        rc = hash_source(&o, file->size, &crc, err);
    if (rc == 0)
        rc = vel_fs_lstat(delta->fs, file->to, &st, err);
    if (rc == 0 && crc == listed->crc)
        rc = keep(&o, &st, (uint64_t)st.st_ino, err);
    one_fini(&o);
    return rc;
}
