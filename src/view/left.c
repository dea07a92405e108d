/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "ident/launchid.h"
#include "meta/dataset.h"
#include "view/left.h"

void vel_left_init(struct vel_left *left)
{
    *left = (struct vel_left){0};
    vel_vec_init(&left->points, sizeof(int64_t));
}

void vel_left_fini(struct vel_left *left)
{
    vel_batch_key_fini(&left->key);
    vel_vec_fini(&left->points);
}

void vel_lefts_fini(struct vel_vec *lefts)
{
    for (size_t i = 0; i < lefts->n; i++)
        vel_left_fini(vel_vec_at(lefts, i));
    vel_vec_fini(lefts);
}

struct vel_node *vel_left_to_node(const struct vel_left *left)
{
    struct vel_node *node = vel_node_object(), *points = vel_node_list();
    const struct vel_batch_key *key = &left->key;
    int rc = node && points ? 0 : VEL_ENOMEM;

    for (size_t i = 0; rc == 0 && i < left->points.n; i++)
        rc = vel_node_append_int(points, *(int64_t *)vel_vec_at(&left->points, i));
    if (rc < 0 || vel_node_set_text(node, "launch", key->launch) ||
        vel_node_set_name(node, "template", key->template) ||
        vel_node_set_text(node, "step", key->step) ||
        vel_node_set_int(node, "generation", key->generation) ||
        vel_node_set_bool(node, "alone", key->is_alone) ||
        vel_node_set_bool(node, "late", key->is_late) ||
        vel_node_set_int(node, "ranks", key->ranks) ||
        vel_node_set_int(node, "above", key->above) ||
        vel_node_set_int(node, "rank", left->rank) ||
        vel_node_set_int(node, "closed", left->closed) ||
        vel_node_set_int(node, "open", left->open) ||
        vel_node_set_int(node, "bytes", left->bytes) ||
        vel_node_set_int(node, "order", left->order)) {
        vel_node_destroy(points);
        vel_node_destroy(node);
        return NULL;
    }
    if (vel_node_adopt(node, "points", points) == 0)
        return node;
    vel_node_destroy(node);
    return NULL;
}

static int get_key(const struct vel_node *node, struct vel_batch_key *ret,
                   struct vel_err *err)
{
    const char *launch, *step;
    int rc;

    if ((rc = vel_node_get_text(node, "launch", &launch, err)) < 0 ||
        (rc = vel_node_get_text(node, "step", &step, err)) < 0 ||
        (rc = vel_node_get_name(node, "template", &ret->template, err)) < 0 ||
        (rc = vel_node_get_int(node, "generation", 0, INT64_MAX, &ret->generation,
                               err)) < 0 ||
        (rc = vel_node_get_bool(node, "alone", &ret->is_alone, err)) < 0 ||
        (rc = vel_node_get_bool(node, "late", &ret->is_late, err)) < 0 ||
        (rc = vel_node_get_int(node, "ranks", 0, VEL_RANKS_MAX, &ret->ranks, err)) <
            0 ||
        (rc = vel_node_get_int(node, "above", 0, INT64_MAX, &ret->above, err)) < 0)
        return rc;
    if (!vel_launch_is_name(launch))
        return vel_fail(err, VEL_ECORRUPT, "'%s' is no name of a launch", launch);
    ret->launch = strdup(launch);
    ret->step = strdup(step);
    return ret->launch && ret->step ? 0 : vel_out_of_memory(err, "what is left");
}

static int get_all(const struct vel_node *node, struct vel_left *ret,
                   struct vel_err *err)
{
    const struct vel_node *points;
    int rc = get_key(node, &ret->key, err);

    if (rc < 0 ||
        (rc = vel_node_get_int(node, "rank", 0, VEL_RANKS_MAX - 1, &ret->rank, err)) <
            0 ||
        (rc = vel_node_get_int(node, "closed", 0, INT32_MAX, &ret->closed, err)) < 0 ||
        (rc = vel_node_get_int(node, "open", 0, INT32_MAX, &ret->open, err)) < 0 ||
        (rc = vel_node_get_int(node, "bytes", 0, INT64_MAX, &ret->bytes, err)) < 0 ||
        (rc = vel_node_get_int(node, "order", 0, INT64_MAX, &ret->order, err)) < 0 ||
        (rc = vel_node_get_list(node, "points", &points, err)) < 0)
        return rc;
    for (size_t i = 0; rc == 0 && i < vel_node_count(points); i++) {
        int64_t number;

        rc = vel_node_int_at(points, i, 1, INT64_MAX, &number, err);
        if (rc == 0 && !vel_vec_push(&ret->points, &number))
            rc = vel_out_of_memory(err, "what is left");
    }
    return rc;
}

int vel_left_from_node(const struct vel_node *node, struct vel_left *ret,
                       struct vel_err *err)
{
    struct vel_left left;
    int rc;

    vel_left_init(&left);
    rc = get_all(node, &left, err);
    if (rc == 0)
        *ret = left;
    else
        vel_left_fini(&left);
    return rc;
}
