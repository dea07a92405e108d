/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "jobs/anchor.h"
#include "meta/paths.h"
#include "record/record.h"

#define TYPE "anchors"
enum { FORMAT = 1, NUMBER_BYTES = 8 };

void vel_anchor_fini(struct vel_anchor *anchor)
{
    free(anchor->name);
    free(anchor->path);
    *anchor = (struct vel_anchor){0};
}

void vel_anchors_fini(struct vel_vec *anchors)
{
    struct vel_anchor *a = anchors->items;

    for (size_t i = 0; i < anchors->n; i++)
        vel_anchor_fini(&a[i]);
    vel_vec_fini(anchors);
}

char *vel_anchors_path(const char *level, int64_t id, int rank)
{
    char *dir = vel_cache_dataset_dir(level, id);
    struct vel_buf text;

    vel_buf_init(&text);
    if (dir)
        vel_buf_printf(&text, "%s/anchors.%d", dir, rank);
    free(dir);
    return vel_buf_take(&text, NULL);
}

/* --- what stands there --- */

/* A stub, which may be that of an older file of this name; else the previous version.
 */
int vel_anchor_look(struct vel_fs *fs, const char *path, struct vel_anchor *ret,
                    struct vel_err *err)
{
    struct vel_err ignored = {0};
    struct vel_stub stub;
    struct stat st;
    int rc = vel_fs_lstat(fs, path, &st, err);

    if (rc < 0)
        return rc;
    if (!S_ISREG(st.st_mode))
        return vel_fail(err, VEL_EINVAL, "%s is no regular file", path);
    rc = vel_stub_read(fs, path, &stub, &ignored);
    if (rc < 0 && rc != VEL_EINVAL)
        return vel_fail(err, (enum vel_status)rc, "%s", ignored.text);
    ret->is_stub = rc == 0;
    ret->mark = rc == 0 ? stub.mark : 0;
    ret->inode = st.st_ino;
    ret->size = (uint64_t)st.st_size;
    ret->mtime_s = st.st_mtim.tv_sec;
    ret->mtime_ns = (uint32_t)st.st_mtim.tv_nsec;
    ret->is_patched = false;
    return 0;
}

int vel_anchor_renew_at(struct vel_fs *fs, const char *path, const char *launch,
                        struct vel_anchor *ret, struct vel_err *err)
{
    struct stat st;

    if (vel_fs_lstat(fs, path, &st, NULL) == 0 && S_ISREG(st.st_mode) &&
        st.st_size == 0)
        vel_stub_fill(fs, path, launch, NULL);
    return vel_anchor_look(fs, path, ret, err);
}

int vel_anchor_set(struct vel_fs *fs, const char *path, const char *name,
                   const struct vel_stub_maker *maker, struct vel_anchor *ret,
                   struct vel_err *err)
{
    struct vel_anchor anchor = {.name = strdup(name), .path = strdup(path)};
    struct vel_stub stub;
    int rc = anchor.name && anchor.path ? 0 : vel_out_of_memory(err, path);

    /* whoever takes a free name before us has made what stands there */
    if (rc == 0 && !vel_fs_exists(fs, path)) {
        rc = vel_stub_make(fs, path, maker, &stub, err);
        rc = rc == VEL_EEXIST ? 0 : rc;
    }
    if (rc == 0)
        rc = vel_anchor_renew_at(fs, path, maker->launch, &anchor, err);
    if (rc < 0)
        vel_anchor_fini(&anchor);
    else
        *ret = anchor;
    return rc;
}

int vel_anchor_renew(struct vel_fs *fs, const struct vel_anchor *older,
                     const char *path, struct vel_anchor *anchor,
                     struct vel_anchor_hold *hold, bool *ret_renewed,
                     struct vel_err *err)
{
    bool is_same = older->inode == anchor->inode && older->is_stub == anchor->is_stub &&
                   older->mark == anchor->mark;
    char *copy = is_same ? strdup(path) : NULL;
    int rc = 0;

    if (is_same)
        rc = copy ? vel_anchor_look(fs, path, anchor, err)
                  : vel_out_of_memory(err, path);
    if (rc < 0) {
        free(copy);
        return rc;
    }
    if (is_same) {
        free(anchor->path);
        anchor->path = copy;
        vel_anchor_release(fs, hold);
        vel_anchor_hold(fs, anchor, hold);
    }
    *ret_renewed = is_same;
    return 0;
}

/* --- the record --- */

static int put_number(struct vel_node *node, const char *key, uint64_t value)
{
    uint8_t bytes[NUMBER_BYTES];

    for (size_t i = 0; i < NUMBER_BYTES; i++)
        bytes[i] = (uint8_t)(value >> (8 * (NUMBER_BYTES - 1 - i)));
    return vel_node_set_bytes(node, key, bytes, sizeof bytes);
}

static int get_number(const struct vel_node *node, const char *key, uint64_t *ret,
                      struct vel_err *err)
{
    uint8_t bytes[NUMBER_BYTES];
    int rc = vel_node_get_bytes(node, key, bytes, sizeof bytes, err);

    if (rc < 0)
        return rc;
    *ret = 0;
    for (size_t i = 0; i < NUMBER_BYTES; i++)
        *ret = *ret << 8 | bytes[i];
    return 0;
}

static struct vel_node *to_node(const struct vel_anchor *a)
{
    struct vel_node *node = vel_node_object();

    if (node && vel_node_set_name(node, "name", a->name) == 0 &&
        vel_node_set_name(node, "path", a->path) == 0 &&
        put_number(node, "inode", a->inode) == 0 &&
        vel_node_set_int(node, "size", (int64_t)a->size) == 0 &&
        vel_node_set_int(node, "mtime", a->mtime_s) == 0 &&
        vel_node_set_int(node, "mtime_ns", a->mtime_ns) == 0 &&
        (!a->is_stub || put_number(node, "mark", a->mark) == 0) &&
        (!a->is_patched || vel_node_set_bool(node, "patched", true) == 0))
        return node;
    vel_node_destroy(node);
    return NULL;
}

static int from_node(const struct vel_node *node, struct vel_anchor *a,
                     struct vel_err *err)
{
    int64_t size, ns;
    int rc;

    a->is_stub = vel_node_has(node, "mark");
    if ((rc = get_number(node, "inode", &a->inode, err)) < 0 ||
        (a->is_stub && (rc = get_number(node, "mark", &a->mark, err)) < 0) ||
        (vel_node_has(node, "patched") &&
         (rc = vel_node_get_bool(node, "patched", &a->is_patched, err)) < 0) ||
        (rc = vel_node_get_int(node, "size", 0, INT64_MAX, &size, err)) < 0 ||
        (rc = vel_node_get_int(node, "mtime", INT64_MIN, INT64_MAX, &a->mtime_s, err)) <
            0 ||
        (rc = vel_node_get_int(node, "mtime_ns", 0, 999999999, &ns, err)) < 0 ||
        (rc = vel_node_get_name(node, "name", &a->name, err)) < 0 ||
        (rc = vel_node_get_name(node, "path", &a->path, err)) < 0)
        return rc;
    a->size = (uint64_t)size;
    a->mtime_ns = (uint32_t)ns;
    char *same = vel_path_absolute("/", a->path);
    bool is_path = same && a->path[0] == '/' && strcmp(same, a->path) == 0;
    free(same);
    if (!vel_path_is_inner(a->name) || !is_path)
        return vel_fail(err, VEL_ECORRUPT, "'%s' is no place of a file '%s'", a->path,
                        a->name);
    return 0;
}

int vel_anchors_save(struct vel_fs *fs, const char *path, const struct vel_vec *anchors,
                     struct vel_err *err)
{
    struct vel_node *body = vel_node_object(), *list = vel_node_list();
    const struct vel_anchor *a = anchors->items;
    int rc = body && list ? 0 : VEL_ENOMEM;

    for (size_t i = 0; rc == 0 && i < anchors->n; i++)
        rc = vel_node_append(list, to_node(&a[i]));
    if (rc == 0) {
        rc = vel_node_adopt(body, "anchors", list);
        list = NULL;
    }
    rc = rc == 0 ? vel_record_save(fs, path, TYPE, FORMAT, body, err)
                 : vel_out_of_memory(err, path);
    vel_node_destroy(list);
    vel_node_destroy(body);
    return rc;
}

static int get_all(const struct vel_node *body, struct vel_vec *ret,
                   struct vel_err *err)
{
    const struct vel_node *list, *item;
    int rc = vel_node_get_list(body, "anchors", &list, err);

    for (size_t i = 0; rc == 0 && i < vel_node_count(list); i++) {
        struct vel_anchor *a = vel_vec_push(ret, NULL);

        if (!a)
            return vel_out_of_memory(err, "anchors");
        rc = vel_node_object_at(list, i, &item, err);
        if (rc == 0)
            rc = from_node(item, a, err);
    }
    return rc;
}

int vel_anchors_load(struct vel_fs *fs, const char *path, struct vel_vec *ret,
                     struct vel_err *err)
{
    struct vel_vec anchors;
    struct vel_node *body = NULL;
    int version, rc;

    vel_vec_init(&anchors, sizeof(struct vel_anchor));
    rc = vel_record_load(fs, path, TYPE, FORMAT, &version, &body, err);
    if (rc == 0) {
        rc = get_all(body, &anchors, err);
        if (rc < 0)
            rc = vel_wrap(err, rc, "%s", path);
    }
    vel_node_destroy(body);
    if (rc < 0)
        vel_anchors_fini(&anchors);
    else
        *ret = anchors;
    return rc;
}
