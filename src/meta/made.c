/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "meta/made.h"

void vel_made_fini(struct vel_made *made)
{
    vel_dataset_fini(&made->dataset);
    for (size_t i = 0; i < made->n_nodes; i++)
        free(made->nodes[i]);
    free(made->nodes);
    memset(made, 0, sizeof *made);
}

static struct vel_node *list_nodes(const struct vel_made *made)
{
    struct vel_node *list = vel_node_list();

    for (size_t i = 0; list && i < made->n_nodes; i++)
        if (vel_node_append_text(list, made->nodes[i]) < 0) {
            vel_node_destroy(list);
            return NULL;
        }
    return list;
}

int vel_made_put(struct vel_node *body, const struct vel_made *made)
{
    return vel_node_adopt(body, "dataset", vel_dataset_to_node(&made->dataset)) ||
                   vel_node_set_bool(body, "flushed", made->is_flushed) ||
                   vel_node_adopt(body, "nodes", list_nodes(made))
               ? VEL_ENOMEM
               : 0;
}

static int get_nodes(const struct vel_node *body, struct vel_made *made,
                     struct vel_err *err)
{
    const struct vel_node *list;
    int rc = vel_node_get_list(body, "nodes", &list, err);
    size_t n = rc == 0 ? vel_node_count(list) : 0;

    if (rc == 0 && (n == 0 || n > (size_t)made->dataset.ranks))
        return vel_fail(err, VEL_ECORRUPT, "nodes: %zu of %d ranks", n,
                        made->dataset.ranks);
    made->nodes = calloc(n + 1, sizeof *made->nodes);
    if (rc == 0 && !made->nodes)
        rc = vel_out_of_memory(err, "a dataset");
    for (size_t i = 0; rc == 0 && i < n; i++) {
        const char *name;

        rc = vel_node_text_at(list, i, &name, err);
        if (rc == 0 && !(made->nodes[i] = strdup(name)))
            rc = vel_out_of_memory(err, "a dataset");
        made->n_nodes = i + 1;
    }
    return rc;
}

int vel_made_get(const struct vel_node *body, struct vel_made *ret, struct vel_err *err)
{
    struct vel_made made = {0};
    const struct vel_node *dataset;
    int rc = vel_node_get_object(body, "dataset", &dataset, err);

    if (rc == 0)
        rc = vel_dataset_from_node(dataset, &made.dataset, err);
    if (rc == 0)
        rc = vel_node_get_bool(body, "flushed", &made.is_flushed, err);
    if (rc == 0)
        rc = get_nodes(body, &made, err);
    if (rc < 0)
        vel_made_fini(&made);
    else
        *ret = made;
    return rc;
}
