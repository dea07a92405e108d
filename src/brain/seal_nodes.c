/* SPDX-License-Identifier: BSD-3-Clause */
/* Nodes and sets of a seal, also of one that is cut. */
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

int64_t vel_seal_level(const struct vel_seal *seal)
{
    return seal->is_cut || seal->members.n == 0 ? seal->level
                                                : vel_seal_member(seal, 0)->level;
}

bool vel_seal_is_again(const struct vel_seal *seal, int64_t set)
{
    for (size_t i = 0; i < seal->again.n; i++)
        if (*(int64_t *)vel_vec_at(&seal->again, i) == set)
            return true;
    return false;
}

int vel_seal_form_again(struct vel_seal *seal, int64_t set, struct vel_err *err)
{
    return vel_seal_is_again(seal, set) || vel_vec_push(&seal->again, &set)
               ? 0
               : vel_out_of_memory(err, "a seal");
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
