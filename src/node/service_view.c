/* SPDX-License-Identifier: BSD-3-Clause */
/* What can be restored: the view is made from what all nodes told, the seals that
 * count, and the index (doc/protocol-leader.txt, 6). */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "node/evidence.h"
#include "node/once.h"
#include "node/service_in.h"

/* Inventories as nodes have told them. One that cannot be read is as if it were lost.
 */
static int decode(const struct vel_vec *held, struct vel_vec *ret, struct vel_err *err)
{
    for (size_t i = 0; i < held->n; i++) {
        const struct vel_leader_held *told = vel_vec_at(held, i);
        struct vel_inventory inventory;
        struct vel_err why = {0};
        int rc = vel_inventory_decode(told->record, told->len, &inventory, &why);

        if (rc < 0) {
            vel_log(VEL_LOG_WARN, "what %s holds is not counted: %s", told->node,
                    why.text);
            continue;
        }
        if (!vel_vec_push(ret, &inventory)) {
            vel_inventory_fini(&inventory);
            return vel_out_of_memory(err, "the view");
        }
    }
    return 0;
}

/* What the prefix says, of launches that have an end. */
static int load_evidence(struct vel_service *service, struct vel_evidence *ret,
                         struct vel_err *err)
{
    struct vel_vec over;
    int rc;

    vel_vec_init(&over, sizeof(char *));
    rc = vel_service_ended(service, &over, err);
    if (rc == 0)
        return vel_evidence_load(service->fs, service->dir, &over, ret, err);
    vel_fs_names_fini(&over);
    return rc;
}

/* --- make --- */

static int save(struct vel_service *service, const struct vel_view *view,
                struct vel_err *err)
{
    char *path = vel_view_path(service->dir, service->launch);
    struct vel_node *body = path ? vel_view_to_node(view, err) : NULL;
    bool is_mine;
    int rc = body ? vel_once(service->fs, path, VEL_VIEW_TYPE, VEL_VIEW_FORMAT, body,
                             &is_mine, err)
                  : vel_out_of_memory(err, "the view");

    vel_node_destroy(body);
    free(path);
    return rc;
}

int vel_service_make_view(void *arg, const struct vel_vec *held, struct vel_err *err)
{
    struct vel_service *service = arg;
    struct vel_evidence evidence;
    struct vel_vec nodes;
    struct vel_view view;
    int rc;

    vel_vec_init(&nodes, sizeof(struct vel_inventory));
    rc = decode(held, &nodes, err);
    if (rc == 0)
        rc = load_evidence(service, &evidence, err);
    if (rc == 0) {
        struct vel_view_of of = vel_evidence_view(&evidence);

        of.launch = service->launch;
        of.nodes = nodes.items;
        of.n_nodes = nodes.n;
        rc = vel_view_make(&of, &view, err);
        vel_evidence_fini(&evidence);
    }
    if (rc == 0) {
        rc = save(service, &view, err);
        vel_view_fini(&view);
    }
    for (size_t i = 0; i < nodes.n; i++)
        vel_inventory_fini(vel_vec_at(&nodes, i));
    vel_vec_fini(&nodes);
    return rc;
}

int vel_service_load_view(void *arg, struct vel_err *err)
{
    struct vel_service *service = arg;
    char *path = vel_view_path(service->dir, service->launch);
    struct vel_view *view = calloc(1, sizeof *view);
    int rc = path && view ? vel_view_load(service->fs, path, view, err)
                          : vel_out_of_memory(err, "the view");

    if (rc == 0 && !service->view) {
        service->view = view;
        view = NULL;
    } else if (rc == 0) {
        vel_view_fini(view);
    }
    free(view);
    free(path);
    return rc;
}

/* --- whom to wait for --- */

/* Nodes that seals of other launches name whose datasets are in caches only. */
int vel_service_known(void *arg, struct vel_buf *ret, struct vel_err *err)
{
    struct vel_service *service = arg;
    struct vel_map *nodes = vel_map_create();
    struct vel_vec seals;
    int rc = nodes ? 0 : vel_out_of_memory(err, "nodes");

    vel_vec_init(&seals, sizeof(struct vel_seal));
    if (rc == 0)
        rc = vel_service_old_seals(service, &seals, err);
    for (size_t i = 0; rc == 0 && i < seals.n; i++) {
        const struct vel_seal *seal = vel_vec_at(&seals, i);

        for (size_t m = 0; rc == 0 && m < seal->members.n; m++) {
            const struct vel_seal_member *member = vel_vec_at(&seal->members, m);

            if (vel_map_has(nodes, member->node))
                continue;
            vel_buf_printf(ret, "%s%s", ret->len ? " " : "", member->node);
            rc = vel_map_set(nodes, member->node, nodes, NULL)
                     ? vel_out_of_memory(err, "nodes")
                     : 0;
        }
    }
    for (size_t i = 0; i < seals.n; i++)
        vel_seal_fini(vel_vec_at(&seals, i));
    vel_vec_fini(&seals);
    vel_map_destroy(nodes, NULL);
    return rc == 0 ? vel_buf_status(ret, err) : rc;
}
