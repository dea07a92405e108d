/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include "base/path.h"
#include "meta/dataset.h"
#include "meta/filelist.h"
#include "meta/paths.h"
#include "record/record.h"

#define TYPE "files"
/* whoever does not know patches would take one for the file */
enum { FORMAT = 2, FORMAT_PLAIN = 1 };

enum { SHORT = 4096 }; /* bytes of all short lists of a dataset */

void vel_listed_fini(struct vel_listed *file)
{
    free(file->name);
    file->name = NULL;
}

void vel_filelist_fini(struct vel_vec *files)
{
    struct vel_listed *f = files->items;

    for (size_t i = 0; i < files->n; i++)
        vel_listed_fini(&f[i]);
    vel_vec_fini(files);
}

static int put(struct vel_node *node, const struct vel_listed *f)
{
    if (vel_node_set_int(node, "rank", f->rank) ||
        vel_node_set_name(node, "name", f->name) ||
        vel_node_set_int(node, "size", (int64_t)f->size) ||
        vel_node_set_int(node, "crc", f->crc) ||
        vel_node_set_int(node, "mode", f->mode) ||
        vel_node_set_int(node, "mtime", f->mtime_s) ||
        vel_node_set_int(node, "mtime_ns", f->mtime_ns) ||
        (f->is_through && vel_node_set_bool(node, "through", true)) ||
        (f->is_patch && vel_node_set_bool(node, "patch", true)))
        return VEL_ENOMEM;
    if (f->container < 0)
        return 0;
    return vel_node_set_int(node, "container", f->container) ||
           vel_node_set_int(node, "offset", (int64_t)f->offset);
}

static int format_of(const struct vel_vec *files)
{
    const struct vel_listed *f = files->items;

    for (size_t i = 0; i < files->n; i++)
        if (f[i].is_patch)
            return FORMAT;
    return FORMAT_PLAIN;
}

struct vel_node *vel_filelist_to_node(const struct vel_vec *files, struct vel_err *err)
{
    struct vel_node *body = vel_node_object(), *list = vel_node_list();
    const struct vel_listed *f = files->items;
    int rc = body && list ? 0 : VEL_ENOMEM;

    for (size_t i = 0; rc == 0 && i < files->n; i++) {
        struct vel_node *node = vel_node_object();

        rc = node ? put(node, &f[i]) : VEL_ENOMEM;
        if (rc == 0)
            rc = vel_node_append(list, node);
        else
            vel_node_destroy(node);
    }
    if (rc == 0) {
        rc = vel_node_adopt(body, "files", list);
        list = NULL;
    }
    if (rc == 0)
        return body;
    vel_out_of_memory(err, "a list of files");
    vel_node_destroy(list);
    vel_node_destroy(body);
    return NULL;
}

static int get(const struct vel_node *node, struct vel_listed *f, struct vel_err *err)
{
    int64_t rank, size, crc, mode, ns, container = -1, offset = 0;
    int rc;

    if ((rc = vel_node_get_int(node, "rank", 0, VEL_RANKS_MAX, &rank, err)) < 0 ||
        (rc = vel_node_get_int(node, "size", 0, INT64_MAX / 2, &size, err)) < 0 ||
        (rc = vel_node_get_int(node, "crc", 0, UINT32_MAX, &crc, err)) < 0 ||
        (rc = vel_node_get_int(node, "mode", 0, 07777, &mode, err)) < 0 ||
        (rc = vel_node_get_int(node, "mtime", INT64_MIN, INT64_MAX, &f->mtime_s, err)) <
            0 ||
        (rc = vel_node_get_int(node, "mtime_ns", 0, 999999999, &ns, err)) < 0 ||
        (rc = vel_node_get_name(node, "name", &f->name, err)) < 0)
        return rc;
    if (vel_node_has(node, "container"))
        if ((rc = vel_node_get_int(node, "container", 0, INT32_MAX, &container, err)) <
                0 ||
            (rc = vel_node_get_int(node, "offset", 0, INT64_MAX / 2, &offset, err)) < 0)
            return rc;
    if (vel_node_has(node, "through") &&
        (rc = vel_node_get_bool(node, "through", &f->is_through, err)) < 0)
        return rc;
    if (vel_node_has(node, "patch") &&
        (rc = vel_node_get_bool(node, "patch", &f->is_patch, err)) < 0)
        return rc;
    if (!vel_path_is_inner(f->name))
        return vel_fail(err, VEL_ECORRUPT, "'%s' is no name of a cached file", f->name);
    f->rank = (int)rank;
    f->size = (uint64_t)size;
    f->crc = (uint32_t)crc;
    f->mode = (uint32_t)mode;
    f->mtime_ns = (uint32_t)ns;
    f->container = (int)container;
    f->offset = (uint64_t)offset;
    return 0;
}

int vel_filelist_from_node(const struct vel_node *node, struct vel_vec *ret,
                           struct vel_err *err)
{
    const struct vel_node *list, *one;
    int rc = vel_node_get_list(node, "files", &list, err);

    for (size_t i = 0; rc == 0 && i < vel_node_count(list); i++) {
        struct vel_listed file = {0};

        rc = vel_node_object_at(list, i, &one, err);
        if (rc == 0)
            rc = get(one, &file, err);
        if (rc == 0 && !vel_vec_push(ret, &file))
            rc = vel_out_of_memory(err, "a list of files");
        if (rc < 0)
            vel_listed_fini(&file);
    }
    return rc;
}

/* Takes the body. */
static int from_body(struct vel_node *body, struct vel_vec *ret, struct vel_err *err)
{
    int rc = vel_filelist_from_node(body, ret, err);

    vel_node_destroy(body);
    return rc;
}

int vel_filelist_encode(const struct vel_vec *files, struct vel_buf *ret,
                        struct vel_err *err)
{
    struct vel_node *body = vel_filelist_to_node(files, err);
    int rc =
        body ? vel_record_encode(TYPE, format_of(files), body, ret, err) : VEL_ENOMEM;

    vel_node_destroy(body);
    return rc;
}

int vel_filelist_decode(const void *bytes, size_t len, struct vel_vec *ret,
                        struct vel_err *err)
{
    struct vel_node *body = NULL;
    int version, rc;

    rc = vel_record_decode(bytes, len, TYPE, FORMAT, &version, &body, err);
    return rc < 0 ? rc : from_body(body, ret, err);
}

int vel_filelist_save_at(struct vel_fs *fs, const char *path,
                         const struct vel_vec *files, struct vel_err *err)
{
    struct vel_buf bytes;
    int rc;

    vel_buf_init(&bytes);
    rc = vel_filelist_encode(files, &bytes, err);
    if (rc == 0)
        rc = vel_fs_replace(fs, path, bytes.data, bytes.len, 0600, err);
    vel_buf_fini(&bytes);
    return rc;
}

int vel_filelist_load_at(struct vel_fs *fs, const char *path, struct vel_vec *ret,
                         struct vel_err *err)
{
    struct vel_vec files;
    struct vel_node *body = NULL;
    int version, rc;

    vel_vec_init(&files, sizeof(struct vel_listed));
    rc = vel_record_load(fs, path, TYPE, FORMAT, &version, &body, err);
    if (rc == 0) {
        rc = from_body(body, &files, err);
        if (rc < 0)
            rc = vel_wrap(err, rc, "%s", path);
    }
    if (rc < 0)
        vel_filelist_fini(&files);
    else
        *ret = files;
    return rc;
}

int vel_filelist_make_dir(struct vel_fs *fs, const char *dir, int64_t id,
                          struct vel_err *err)
{
    char *path = vel_dataset_dir(dir, id);
    int rc = path ? fs->ops->mkdir(fs, path, 0777) : -ENOMEM;

    rc = rc < 0 && rc != -EEXIST
             ? vel_fail_errno(err, -rc, "cannot make %s", path ? path : dir)
             : rc == 0;
    free(path);
    return rc;
}

bool vel_filelist_is_short(size_t len, int lists)
{
    return lists > 0 && len <= SHORT / (size_t)lists;
}

static int save_soon(struct vel_fs *fs, const char *dir, int64_t id, const char *path,
                     const struct vel_buf *bytes, struct vel_err *err)
{
    int64_t writer;
    int rc = vel_fs_writer(&writer, err);

    if (rc == 0)
        rc = vel_filelist_make_dir(fs, dir, id, err);
    return rc < 0 ? rc
                  : vel_fs_replace_unsynced(fs, path, writer, bytes->data, bytes->len,
                                            0600, err);
}

/* Whoever has made the directory may have died before its name was on the disk, or had
 * no need of that. */
static int save_lasting(struct vel_fs *fs, const char *dir, int64_t id,
                        const char *path, const struct vel_buf *bytes,
                        struct vel_err *err)
{
    int64_t writer;
    int rc = vel_fs_writer(&writer, err);

    if (rc == 0)
        rc = vel_filelist_make_dir(fs, dir, id, err);
    if (rc >= 0)
        rc = vel_fs_sync_dir(fs, dir, err);
    return rc < 0 ? rc
                  : vel_fs_replace_by(fs, path, writer, bytes->data, bytes->len, 0600,
                                      err);
}

/* A node that takes back what is its own may have removed the directory just when we
 * had found it. */
int vel_filelist_save(struct vel_fs *fs, const char *dir, int64_t id, int list,
                      const struct vel_vec *files, bool lasts, struct vel_err *err)
{
    char *path = vel_files_path(dir, id, list);
    struct vel_buf bytes;
    int rc = path ? 0 : vel_out_of_memory(err, "a list of files");

    vel_buf_init(&bytes);
    if (rc == 0)
        rc = vel_filelist_encode(files, &bytes, err);
    for (int round = 0; rc == (round ? VEL_ENOENT : 0) && round < 2; round++)
        rc = (lasts ? save_lasting : save_soon)(fs, dir, id, path, &bytes, err);
    vel_buf_fini(&bytes);
    free(path);
    return rc;
}

void vel_filelist_remove(struct vel_fs *fs, const char *dir, int64_t id, int list)
{
    char *path = vel_files_path(dir, id, list);

    if (path)
        vel_fs_unlink(fs, path, NULL);
    free(path);
}

void vel_filelist_remove_dir(struct vel_fs *fs, const char *dir, int64_t id)
{
    char *path = vel_dataset_dir(dir, id);

    if (path)
        fs->ops->rmdir(fs, path);
    free(path);
}

int vel_filelist_load(struct vel_fs *fs, const char *dir, int64_t id, int list,
                      struct vel_vec *ret, struct vel_err *err)
{
    char *path = vel_files_path(dir, id, list);
    int rc = path ? vel_filelist_load_at(fs, path, ret, err)
                  : vel_out_of_memory(err, "a list of files");

    free(path);
    return rc;
}
