/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/path.h"
#include "meta/nodes.h"
#include "record/record.h"

enum { FORMAT = 1 };

static const char type[] = "nodes";

int vel_nodes_save(struct vel_fs *fs, const char *dir, int64_t nodes,
                   struct vel_err *err)
{
    char *path = vel_path_join(dir, type);
    struct vel_node *body = vel_node_object();
    int rc;

    if (nodes < 1 || nodes > VEL_NODES_MOST)
        rc = vel_fail(err, VEL_EINVAL, "a run of %" PRId64 " nodes: 1 to %d can be",
                      nodes, VEL_NODES_MOST);
    else if (!path || !body || vel_node_set_int(body, "nodes", nodes) < 0)
        rc = vel_out_of_memory(err, "number of nodes");
    else
        rc = vel_record_save(fs, path, type, FORMAT, body, err);
    vel_node_destroy(body);
    free(path);
    return rc;
}

int vel_nodes_load(struct vel_fs *fs, const char *dir, int64_t *ret_nodes,
                   struct vel_err *err)
{
    char *path = vel_path_join(dir, type);
    struct vel_node *body = NULL;
    int version;
    int rc = path ? vel_record_load(fs, path, type, FORMAT, &version, &body, err)
                  : vel_out_of_memory(err, "number of nodes");

    if (rc < 0)
        goto out;
    rc = vel_node_get_int(body, "nodes", 1, VEL_NODES_MOST, ret_nodes, err);
    if (rc < 0)
        rc = vel_wrap(err, rc, "%s", path);
out:
    vel_node_destroy(body);
    free(path);
    return rc;
}
