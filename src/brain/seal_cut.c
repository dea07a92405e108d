/* SPDX-License-Identifier: BSD-3-Clause */
/* What of a seal concerns one node: of 160,000 ranks all nodes would have 18 MB of it.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "brain/seal.h"

bool vel_seal_has_node(const struct vel_seal *seal, const char *node)
{
    for (size_t i = 0; i < seal->members.n; i++)
        if (strcmp(vel_seal_member(seal, i)->node, node) == 0)
            return true;
    return false;
}

int64_t vel_seal_sets(const struct vel_seal *seal)
{
    int64_t sets = seal->sets;

    for (size_t i = 0; i < seal->members.n; i++)
        if (vel_seal_member(seal, i)->set >= sets)
            sets = vel_seal_member(seal, i)->set + 1;
    return sets;
}

/* Number of a node, which is a new one when it is not known. */
static int number_of(struct vel_map *numbers, const char *node,
                     struct vel_seal_nodes *nodes, size_t *ret)
{
    const char **known = vel_map_get(numbers, node);
    int rc = 0;

    if (!known) {
        known = &nodes->names[nodes->n++];
        *known = node;
        rc = vel_map_set(numbers, node, known, NULL);
    }
    *ret = (size_t)(known - nodes->names);
    return rc;
}

int vel_seal_nodes(const struct vel_seal *seal, struct vel_seal_nodes *ret,
                   struct vel_err *err)
{
    struct vel_map *numbers = vel_map_create();
    size_t n = seal->members.n + seal->n_nodes, of;
    const char *name = seal->nodes.data;
    int rc = 0;

    *ret = (struct vel_seal_nodes){.names = calloc(n + 1, sizeof *ret->names),
                                   .of = calloc(n + 1, sizeof *ret->of)};
    if (!numbers || !ret->names || !ret->of)
        rc = VEL_ENOMEM;
    for (size_t i = 0; rc == 0 && i < seal->n_nodes; i++, name += strlen(name) + 1)
        rc = number_of(numbers, name, ret, &of);
    for (size_t i = 0; rc == 0 && i < seal->members.n; i++)
        rc = number_of(numbers, vel_seal_member(seal, i)->node, ret, &ret->of[i]);
    vel_map_destroy(numbers, NULL);
    if (rc == 0)
        return 0;
    vel_seal_nodes_fini(ret);
    return vel_out_of_memory(err, "the nodes of a dataset");
}

void vel_seal_nodes_fini(struct vel_seal_nodes *nodes)
{
    free(nodes->names);
    free(nodes->of);
    *nodes = (struct vel_seal_nodes){0};
}

/* --- cut --- */

static int compare(const void *a, const void *b)
{
    const int64_t *left = a, *right = b;

    return (*left > *right) - (*left < *right);
}

static int list_sets(const struct vel_seal *seal, const char *node, struct vel_vec *ret)
{
    for (size_t i = 0; i < seal->members.n; i++) {
        const struct vel_seal_member *member = vel_seal_member(seal, i);

        if (strcmp(member->node, node) == 0 && !vel_vec_push(ret, &member->set))
            return VEL_ENOMEM;
    }
    vel_vec_sort(ret, compare);
    return 0;
}

static int list_nodes(const struct vel_seal *seal, struct vel_buf *ret, size_t *ret_n)
{
    struct vel_seal_nodes nodes;
    int rc = vel_seal_nodes(seal, &nodes, NULL);

    *ret_n = nodes.n;
    for (size_t i = 0; i < nodes.n; i++)
        vel_buf_append(ret, nodes.names[i], strlen(nodes.names[i]) + 1);
    vel_seal_nodes_fini(&nodes);
    return rc < 0 ? rc : vel_buf_status(ret, NULL);
}

int vel_seal_cut(struct vel_seal *seal, const char *node, struct vel_err *err)
{
    struct vel_vec sets, kept;
    struct vel_buf nodes;
    size_t n_nodes = 0;
    bool is_own;

    vel_vec_init(&sets, sizeof(int64_t));
    vel_vec_init(&kept, sizeof(struct vel_seal_member));
    vel_buf_init(&nodes);
    int rc = list_sets(seal, node, &sets);
    if (rc == 0)
        rc = list_nodes(seal, &nodes, &n_nodes);
    for (size_t i = 0; rc == 0 && i < seal->members.n; i++) {
        const struct vel_seal_member *member = vel_seal_member(seal, i);

        vel_vec_place(&sets, &member->set, compare, &is_own);
        if (is_own && !vel_vec_push(&kept, member))
            rc = VEL_ENOMEM;
    }
    for (size_t i = 0; rc == 0 && i < seal->members.n; i++) {
        struct vel_seal_member *member = vel_vec_at(&seal->members, i);

        vel_vec_place(&sets, &member->set, compare, &is_own);
        if (!is_own)
            free(member->node);
    }
    if (rc == 0) {
        seal->sets = vel_seal_sets(seal);
        vel_vec_fini(&seal->members);
        vel_buf_fini(&seal->nodes);
        seal->members = kept;
        seal->nodes = nodes;
        seal->n_nodes = n_nodes;
        seal->is_cut = true;
    } else {
        vel_vec_fini(&kept);
        vel_buf_fini(&nodes);
    }
    vel_vec_fini(&sets);
    return rc < 0 ? vel_out_of_memory(err, "a seal") : 0;
}
