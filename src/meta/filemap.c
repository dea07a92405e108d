/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <string.h>

#include "meta/filemap.h"
#include "record/record.h"

#define TYPE "filemap"
enum { FORMAT = 1 };

void vel_filemap_fini(struct vel_filemap *map)
{
    vel_dataset_fini(&map->dataset);
    vel_node_destroy(map->descriptor);
    memset(map, 0, sizeof *map);
}

static struct vel_node *to_body(const struct vel_filemap *map, struct vel_err *err)
{
    struct vel_node *body = vel_node_object();

    if (!body || vel_node_set_int(body, "rank", map->rank) ||
        vel_node_adopt(body, "dataset", vel_dataset_to_node(&map->dataset)) ||
        vel_node_adopt(body, "descriptor", vel_node_copy(map->descriptor))) {
        vel_out_of_memory(err, "a file map");
        vel_node_destroy(body);
        return NULL;
    }
    return body;
}

/* Takes the body. */
static int from_body(struct vel_node *body, struct vel_filemap *ret,
                     struct vel_err *err)
{
    struct vel_filemap map = {0};
    const struct vel_node *dataset, *descriptor;
    int64_t rank;
    int rc;

    if ((rc = vel_node_get_int(body, "rank", 0, VEL_RANKS_MAX, &rank, err)) < 0 ||
        (rc = vel_node_get_object(body, "descriptor", &descriptor, err)) < 0 ||
        (rc = vel_node_get_object(body, "dataset", &dataset, err)) < 0 ||
        (rc = vel_dataset_from_node(dataset, &map.dataset, err)) < 0)
        goto out;
    map.rank = (int)rank;
    map.descriptor = vel_node_copy(descriptor);
    if (!map.descriptor)
        rc = vel_out_of_memory(err, "a file map");
out:
    vel_node_destroy(body);
    if (rc < 0)
        vel_filemap_fini(&map);
    else
        *ret = map;
    return rc;
}

int vel_filemap_encode(const struct vel_filemap *map, struct vel_buf *ret,
                       struct vel_err *err)
{
    struct vel_node *body = to_body(map, err);
    int rc = body ? vel_record_encode(TYPE, FORMAT, body, ret, err) : VEL_ENOMEM;

    vel_node_destroy(body);
    return rc;
}

int vel_filemap_decode(const void *bytes, size_t len, struct vel_filemap *ret,
                       struct vel_err *err)
{
    struct vel_node *body = NULL;
    int version, rc;

    rc = vel_record_decode(bytes, len, TYPE, FORMAT, &version, &body, err);
    if (rc == 0)
        rc = from_body(body, ret, err);
    return rc < 0 ? vel_wrap(err, rc, "reading file map") : 0;
}

int vel_filemap_share(struct vel_comm *comm, struct vel_filemap *map, bool *has,
                      struct vel_err *err)
{
    int64_t root = *has ? comm->rank : comm->size;
    struct vel_buf bytes;
    int rc = vel_comm_allreduce(comm, VEL_COMM_MIN, &root, 1, err);

    if (rc < 0 || root == comm->size)
        return rc;
    vel_buf_init(&bytes);
    if (root == comm->rank)
        rc = vel_filemap_encode(map, &bytes, err);
    rc = vel_comm_agree(comm, rc, err);
    if (rc == 0)
        rc = vel_comm_bcast(comm, (int)root, &bytes, err);
    if (rc == 0 && !*has) {
        rc = vel_filemap_decode(bytes.data, bytes.len, map, err);
        *has = rc == 0;
    }
    vel_buf_fini(&bytes);
    return vel_comm_agree(comm, rc, err);
}
