/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "meta/dataset.h"

void vel_dataset_fini(struct vel_dataset *dataset)
{
    free(dataset->name);
    dataset->name = NULL;
}

int vel_dataset_copy(const struct vel_dataset *dataset, struct vel_dataset *ret,
                     struct vel_err *err)
{
    char *name = strdup(dataset->name);

    if (!name)
        return vel_out_of_memory(err, "a dataset");
    *ret = *dataset;
    ret->name = name;
    return 0;
}

bool vel_dataset_is_name(const char *name)
{
    size_t len = strlen(name);

    if (len < 1 || len > VEL_DATASET_NAME_MAX || name[0] == '.')
        return false;
    for (const unsigned char *c = (const unsigned char *)name; *c; c++)
        if (*c < 0x20 || *c == 0x7f || *c == '/')
            return false;
    return true;
}

struct vel_node *vel_dataset_to_node(const struct vel_dataset *dataset)
{
    struct vel_node *node = vel_node_object();

    if (!node)
        return NULL;
    if (vel_node_set_int(node, "id", dataset->id) ||
        vel_node_set_name(node, "name", dataset->name) ||
        vel_node_set_int(node, "version", dataset->version) ||
        vel_node_set_int(node, "checkpoint", dataset->checkpoint) ||
        vel_node_set_int(node, "use", dataset->use) ||
        vel_node_set_int(node, "ranks", dataset->ranks) ||
        vel_node_set_int(node, "nodes", dataset->nodes) ||
        vel_node_set_int(node, "files", dataset->files) ||
        vel_node_set_int(node, "bytes", dataset->bytes) ||
        vel_node_set_int(node, "created", dataset->created) ||
        (dataset->created_ns > 0 &&
         vel_node_set_int(node, "created_ns", dataset->created_ns)) ||
        (dataset->is_leaders && vel_node_set_bool(node, "leaders", true))) {
        vel_node_destroy(node);
        return NULL;
    }
    return node;
}

int vel_dataset_from_node(const struct vel_node *node, struct vel_dataset *ret,
                          struct vel_err *err)
{
    struct vel_dataset d = {0};
    int64_t use, ranks, nodes, ns = 0;
    int rc;

    if ((rc = vel_node_get_int(node, "id", 1, INT64_MAX - 1, &d.id, err)) < 0 ||
        (rc = vel_node_get_int(node, "version", INT32_MIN, INT64_MAX, &d.version,
                               err)) < 0 ||
        (rc = vel_node_get_int(node, "checkpoint", 0, INT64_MAX - 1, &d.checkpoint,
                               err)) < 0 ||
        (rc = vel_node_get_int(node, "use", 1, VEL_USE_CHECKPOINT | VEL_USE_OUTPUT,
                               &use, err)) < 0 ||
        (rc = vel_node_get_int(node, "ranks", 1, VEL_RANKS_MAX, &ranks, err)) < 0 ||
        (rc = vel_node_get_int(node, "nodes", 1, VEL_RANKS_MAX, &nodes, err)) < 0 ||
        (rc = vel_node_get_int(node, "files", 0, INT64_MAX, &d.files, err)) < 0 ||
        (rc = vel_node_get_int(node, "bytes", 0, INT64_MAX, &d.bytes, err)) < 0 ||
        (rc = vel_node_get_int(node, "created", INT64_MIN, INT64_MAX, &d.created,
                               err)) < 0 ||
        (vel_node_has(node, "created_ns") &&
         (rc = vel_node_get_int(node, "created_ns", 0, 999999999, &ns, err)) < 0) ||
        (vel_node_has(node, "leaders") &&
         (rc = vel_node_get_bool(node, "leaders", &d.is_leaders, err)) < 0) ||
        (rc = vel_node_get_name(node, "name", &d.name, err)) < 0)
        return rc;
    if (!vel_dataset_is_name(d.name)) {
        rc = vel_fail(err, VEL_ECORRUPT, "'%s' is no name of a dataset", d.name);
        free(d.name);
        return rc;
    }
    d.use = (unsigned)use;
    d.ranks = (int)ranks;
    d.nodes = (int)nodes;
    d.created_ns = (int)ns;
    *ret = d;
    return 0;
}
