/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "brain/seal.h"

void vel_seal_init(struct vel_seal *seal)
{
    *seal = (struct vel_seal){.verdict = VEL_VERDICT_SEALED};
    vel_vec_init(&seal->members, sizeof(struct vel_seal_member));
    vel_vec_init(&seal->again, sizeof(int64_t));
    vel_buf_init(&seal->nodes);
}

void vel_seal_fini(struct vel_seal *seal)
{
    for (size_t i = 0; i < seal->members.n; i++)
        free(((struct vel_seal_member *)vel_vec_at(&seal->members, i))->node);
    vel_vec_fini(&seal->members);
    vel_vec_fini(&seal->again);
    vel_buf_fini(&seal->nodes);
    free(seal->template);
    free(seal->step);
    vel_dataset_fini(&seal->about);
    vel_seal_init(seal);
}

const struct vel_seal_member *vel_seal_member(const struct vel_seal *seal, size_t i)
{
    return vel_vec_at(&seal->members, i);
}

static int compare_ranks(const void *a, const void *b)
{
    const struct vel_seal_member *left = a, *right = b;

    return (left->rank > right->rank) - (left->rank < right->rank);
}

const struct vel_seal_member *vel_seal_find(const struct vel_seal *seal, int64_t rank)
{
    const struct vel_seal_member key = {.rank = rank};
    bool is_there = false;
    size_t at = vel_vec_place(&seal->members, &key, compare_ranks, &is_there);

    return is_there ? vel_seal_member(seal, at) : NULL;
}

int vel_seal_add(struct vel_seal *seal, const struct vel_seal_member *member,
                 struct vel_err *err)
{
    size_t n = seal->members.n, at = n;
    struct vel_seal_member copy = *member;
    bool is_there = false;

    if (n > 0 && vel_seal_member(seal, n - 1)->rank >= member->rank)
        at = vel_vec_place(&seal->members, member, compare_ranks, &is_there);
    if (is_there)
        return vel_fail(err, VEL_EINVAL, "a seal names rank %lld twice",
                        (long long)member->rank);
    copy.node = strdup(member->node);
    if (copy.node && vel_vec_insert(&seal->members, at, &copy))
        return 0;
    free(copy.node);
    return vel_out_of_memory(err, "a seal");
}

int64_t vel_seal_expected(const struct vel_seal_member *member)
{
    return member->files > 0 ? member->files : member->upto > 0;
}

int vel_seal_copy(const struct vel_seal *seal, struct vel_seal *ret,
                  struct vel_err *err)
{
    struct vel_seal copy = *seal;
    int rc = 0;

    vel_vec_init(&copy.members, sizeof(struct vel_seal_member));
    vel_vec_init(&copy.again, sizeof(int64_t));
    vel_buf_init(&copy.nodes);
    copy.about = (struct vel_dataset){0};
    copy.template = strdup(seal->template ? seal->template : "");
    copy.step = strdup(seal->step ? seal->step : "");
    if (seal->nodes.len > 0)
        vel_buf_append(&copy.nodes, seal->nodes.data, seal->nodes.len);
    if (!copy.template || !copy.step || vel_buf_status(&copy.nodes, NULL) < 0)
        rc = vel_out_of_memory(err, "a seal");
    if (rc == 0 && seal->about.name)
        rc = vel_dataset_copy(&seal->about, &copy.about, err);
    for (size_t i = 0; rc == 0 && i < seal->members.n; i++)
        rc = vel_seal_add(&copy, vel_vec_at(&seal->members, i), err);
    for (size_t i = 0; rc == 0 && i < seal->again.n; i++)
        rc = vel_seal_form_again(&copy, *(int64_t *)vel_vec_at(&seal->again, i), err);
    if (rc == 0)
        *ret = copy;
    else
        vel_seal_fini(&copy);
    return rc;
}

bool vel_seal_gives_way(const struct vel_seal *seal)
{
    return seal->verdict == VEL_VERDICT_PARTIAL && !(seal->what & VEL_OWED_FLUSH);
}

/* --- nodes, also of one that is cut --- */

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
    return vel_vec_has_number(&seal->again, set);
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
