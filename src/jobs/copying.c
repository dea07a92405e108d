/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdlib.h>

#include "jobs/copying.h"
#include "jobs/promise.h"
#include "record/record.h"

enum { FORMAT = 1, RANK_MOST = 1 << 30 };

void vel_copying_init(struct vel_copying *copying)
{
    *copying = (struct vel_copying){0};
    vel_buf_init(&copying->transfer);
}

void vel_copying_fini(struct vel_copying *copying)
{
    free(copying->name);
    vel_buf_fini(&copying->transfer);
}

int vel_copying_save(struct vel_fs *fs, const char *home, const char *node,
                     const struct vel_copying *c, struct vel_err *err)
{
    struct vel_node *body = vel_node_object();
    char *path = NULL;
    int rc = vel_promise_path(home, "copying", node, &path, err);

    if (rc == 0 &&
        (!body || vel_node_set_int(body, "dataset", c->id) ||
         vel_node_set_int(body, "owner", c->owner) ||
         (c->name && (vel_node_set_int(body, "rank", c->rank) ||
                      vel_node_set_name(body, "name", c->name) ||
                      vel_node_set_int(body, "offset", (int64_t)c->offset) ||
                      vel_node_set_int(body, "crc", c->crc))) ||
         (c->transfer.len &&
          vel_node_set_bytes(body, "transfer", c->transfer.data, c->transfer.len))))
        rc = vel_out_of_memory(err, "a note of a copy");
    else if (rc == 0)
        rc = vel_record_save(fs, path, "copying", FORMAT, body, err);
    free(path);
    vel_node_destroy(body);
    return rc;
}

static int get_copying(const struct vel_node *body, struct vel_copying *c,
                       struct vel_err *err)
{
    int64_t rank = 0, offset = 0, crc = 0;
    int rc;

    if ((rc = vel_node_get_int(body, "dataset", 1, INT64_MAX - 1, &c->id, err)) < 0 ||
        (rc = vel_node_get_int(body, "owner", 1, INT64_MAX, &c->owner, err)) < 0 ||
        (vel_node_has(body, "transfer") &&
         (rc = vel_node_get_all_bytes(body, "transfer", &c->transfer, err)) < 0))
        return rc;
    if (vel_node_has(body, "name") &&
        ((rc = vel_node_get_name(body, "name", &c->name, err)) < 0 ||
         (rc = vel_node_get_int(body, "rank", 0, RANK_MOST, &rank, err)) < 0 ||
         (rc = vel_node_get_int(body, "offset", 0, INT64_MAX / 2, &offset, err)) < 0 ||
         (rc = vel_node_get_int(body, "crc", 0, UINT32_MAX, &crc, err)) < 0))
        return rc;
    c->rank = (int)rank;
    c->offset = (uint64_t)offset;
    c->crc = (uint32_t)crc;
    return 0;
}

int vel_copying_load(struct vel_fs *fs, const char *home, const char *node,
                     struct vel_copying *ret, struct vel_err *err)
{
    struct vel_copying c;
    struct vel_node *body = NULL;
    char *path = NULL;
    int version, rc = home ? vel_promise_path(home, "copying", node, &path, err)
                           : vel_fail(err, VEL_ENOENT, "no cache has it any more");

    if (rc < 0)
        return rc;
    vel_copying_init(&c);
    rc = vel_record_load(fs, path, "copying", FORMAT, &version, &body, err);
    if (rc == 0)
        rc = get_copying(body, &c, err);
    if (rc < 0)
        vel_copying_fini(&c);
    else
        *ret = c;
    vel_node_destroy(body);
    free(path);
    return rc;
}

int vel_copying_remove(struct vel_fs *fs, const char *home, const char *node,
                       struct vel_err *err)
{
    return home ? vel_promise_remove(fs, home, "copying", node, err) : 0;
}
