/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "jobs/hashes.h"
#include "meta/paths.h"
#include "record/record.h"

#define TYPE "hashes"
enum { FORMAT = 1 };

size_t vel_hashed_blocks(uint64_t size)
{
    return (size_t)(size / VEL_HASHES_BLOCK + (size % VEL_HASHES_BLOCK > 0));
}

void vel_hashed_fini(struct vel_hashed *hashed)
{
    free(hashed->name);
    free(hashed->hash);
    hashed->name = NULL;
    hashed->hash = NULL;
}

void vel_hashes_fini(struct vel_vec *hashes)
{
    for (size_t i = 0; i < hashes->n; i++)
        vel_hashed_fini(vel_vec_at(hashes, i));
    vel_vec_fini(hashes);
}

/* --- to a record --- */

static int put(struct vel_node *node, const struct vel_hashed *h)
{
    return vel_node_set_name(node, "name", h->name) ||
           vel_node_set_int(node, "inode", (int64_t)h->inode) ||
           vel_node_set_int(node, "size", (int64_t)h->size) ||
           vel_node_set_int(node, "mtime", h->mtime_s) ||
           vel_node_set_int(node, "mtime_ns", h->mtime_ns) ||
           vel_node_set_bytes(node, "key", h->key, sizeof h->key) ||
           vel_node_set_bytes(node, "hashes", h->hash,
                              vel_hashed_blocks(h->size) * VEL_SIPHASH_LEN);
}

static struct vel_node *to_body(const struct vel_vec *hashes, struct vel_err *err)
{
    struct vel_node *body = vel_node_object(), *list = vel_node_list();
    int rc =
        body && list ? vel_node_set_int(body, "block", VEL_HASHES_BLOCK) : VEL_ENOMEM;

    for (size_t i = 0; rc == 0 && i < hashes->n; i++) {
        struct vel_node *node = vel_node_object();

        rc = node ? put(node, vel_vec_at(hashes, i)) : VEL_ENOMEM;
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
    vel_out_of_memory(err, "hashes of files");
    vel_node_destroy(list);
    vel_node_destroy(body);
    return NULL;
}

int vel_hashes_save(struct vel_fs *fs, const char *dir, int64_t id, int list,
                    const struct vel_vec *hashes, struct vel_err *err)
{
    char *path = vel_hashes_path(dir, id, list);
    struct vel_node *body = path ? to_body(hashes, err) : NULL;
    int rc = VEL_ENOMEM;

    if (!path)
        vel_out_of_memory(err, "hashes of files");
    if (body)
        rc = vel_record_save(fs, path, TYPE, FORMAT, body, err);
    vel_node_destroy(body);
    free(path);
    return rc;
}

/* --- from a record --- */

/* As many as the text has, which must be those of the size: before room is made for as
 * many as a damaged size asks for. */
static int get_hashes(const struct vel_node *node, struct vel_hashed *h,
                      struct vel_err *err)
{
    size_t n = vel_hashed_blocks(h->size) * VEL_SIPHASH_LEN;
    const char *text;
    int rc = vel_node_get_text(node, "hashes", &text, err);

    if (rc < 0)
        return rc;
    if (strlen(text) != 2 * n)
        return vel_fail(err, VEL_ECORRUPT, "hashes: not those of %llu bytes",
                        (unsigned long long)h->size);
    h->hash = malloc(n + 1);
    return h->hash ? vel_node_get_bytes(node, "hashes", h->hash, n, err)
                   : vel_out_of_memory(err, "hashes of a file");
}

static int get(const struct vel_node *node, struct vel_hashed *h, struct vel_err *err)
{
    int64_t inode, size, ns;
    int rc;

    if ((rc = vel_node_get_int(node, "inode", INT64_MIN, INT64_MAX, &inode, err)) < 0 ||
        (rc = vel_node_get_int(node, "size", 0, INT64_MAX / 2, &size, err)) < 0 ||
        (rc = vel_node_get_int(node, "mtime", INT64_MIN, INT64_MAX, &h->mtime_s, err)) <
            0 ||
        (rc = vel_node_get_int(node, "mtime_ns", 0, 999999999, &ns, err)) < 0 ||
        (rc = vel_node_get_bytes(node, "key", h->key, sizeof h->key, err)) < 0 ||
        (rc = vel_node_get_name(node, "name", &h->name, err)) < 0)
        return rc;
    h->inode = (uint64_t)inode;
    h->size = (uint64_t)size;
    h->mtime_ns = (uint32_t)ns;
    return get_hashes(node, h, err);
}

static int from_body(const struct vel_node *body, struct vel_vec *ret,
                     struct vel_err *err)
{
    const struct vel_node *list, *node;
    int64_t block;
    int rc = vel_node_get_int(body, "block", VEL_HASHES_BLOCK, VEL_HASHES_BLOCK, &block,
                              err);

    if (rc == 0)
        rc = vel_node_get_list(body, "files", &list, err);
    for (size_t i = 0; rc == 0 && i < vel_node_count(list); i++) {
        struct vel_hashed h = {0};

        rc = vel_node_object_at(list, i, &node, err);
        if (rc == 0)
            rc = get(node, &h, err);
        if (rc == 0 && !vel_vec_push(ret, &h))
            rc = vel_out_of_memory(err, "hashes of files");
        if (rc < 0)
            vel_hashed_fini(&h);
    }
    return rc;
}

int vel_hashes_load(struct vel_fs *fs, const char *dir, int64_t id, int list,
                    struct vel_vec *ret, struct vel_err *err)
{
    char *path = vel_hashes_path(dir, id, list);
    struct vel_node *body = NULL;
    struct vel_vec hashes;
    int version, rc;

    vel_vec_init(&hashes, sizeof(struct vel_hashed));
    rc = path ? vel_record_load(fs, path, TYPE, FORMAT, &version, &body, err)
              : vel_out_of_memory(err, "hashes of files");
    if (rc == 0) {
        rc = from_body(body, &hashes, err);
        if (rc < 0)
            rc = vel_wrap(err, rc, "%s", path);
    }
    vel_node_destroy(body);
    free(path);
    if (rc < 0)
        vel_hashes_fini(&hashes);
    else
        *ret = hashes;
    return rc;
}
