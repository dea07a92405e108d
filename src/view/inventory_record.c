/* SPDX-License-Identifier: BSD-3-Clause */
/* The record of an inventory, and the pieces in which it travels. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "record/record.h"
#include "sys/host.h"
#include "view/inventory.h"

#define TYPE "held"
enum { FORMAT = 1 };

/* --- out --- */

/* Names and sizes as two lists side by side, which is half the text of a list of
 * objects. */
static int put_list(struct vel_node *lists, const struct vel_stock_list *from)
{
    struct vel_node *node = vel_node_object(), *names = vel_node_list();
    struct vel_node *sizes = vel_node_list();
    const struct vel_stock_file *f = from->files.items;
    int rc = node && names && sizes ? 0 : VEL_ENOMEM;

    for (size_t i = 0; rc == 0 && i < from->files.n; i++) {
        rc = vel_node_append_name(names, f[i].name);
        if (rc == 0)
            rc = vel_node_append_int(sizes, (int64_t)f[i].size);
    }
    if (rc < 0 || vel_node_set_int(node, "rank", from->rank)) {
        vel_node_destroy(names);
        vel_node_destroy(sizes);
        vel_node_destroy(node);
        return VEL_ENOMEM;
    }
    rc = vel_node_adopt(node, "names", names);
    rc = vel_node_adopt(node, "sizes", sizes) || rc ? VEL_ENOMEM : 0;
    if (rc == 0)
        return vel_node_append(lists, node);
    vel_node_destroy(node);
    return rc;
}

static int put_encoding(struct vel_node *encodings,
                        const struct vel_stock_encoding *from)
{
    struct vel_node *node = vel_node_object(), *lists = vel_node_list();
    const struct vel_stock_list *l = from->lists.items;
    int rc = node && lists ? 0 : VEL_ENOMEM;

    for (size_t i = 0; rc == 0 && i < from->lists.n; i++)
        rc = put_list(lists, &l[i]);
    if (rc < 0 || vel_node_set_bytes(node, "id", from->id, sizeof from->id) ||
        vel_node_set_int(node, "sequence", (int64_t)from->sequence) ||
        vel_node_set_text(node, "scheme", vel_scheme_name(from->scheme)) ||
        vel_node_set_int(node, "members", from->n) ||
        vel_node_set_int(node, "failures", from->m) ||
        vel_node_set_int(node, "member", from->member) ||
        vel_node_set_int(node, "set", from->set) ||
        vel_node_set_int(node, "sets", from->sets) ||
        vel_node_set_bool(node, "whole", from->is_whole)) {
        vel_node_destroy(lists);
        vel_node_destroy(node);
        return VEL_ENOMEM;
    }
    rc = vel_node_adopt(node, "lists", lists);
    if (rc == 0)
        return vel_node_append(encodings, node);
    vel_node_destroy(node);
    return rc;
}

static int put_held(struct vel_node *parts, const struct vel_stock *from)
{
    struct vel_node *node = vel_node_object(), *encodings = vel_node_list();
    const struct vel_stock_encoding *e = from->encodings.items;
    int rc = node && encodings ? 0 : VEL_ENOMEM;

    for (size_t i = 0; rc == 0 && i < from->encodings.n; i++)
        rc = put_encoding(encodings, &e[i]);
    if (rc < 0 || vel_node_set_int(node, "dataset", from->id) ||
        vel_node_set_int(node, "rank", from->rank) ||
        vel_node_set_int(node, "index", from->index) ||
        vel_node_set_bool(node, "aside", from->is_aside) ||
        (from->has_about &&
         vel_node_adopt(node, "about", vel_dataset_to_node(&from->about)))) {
        vel_node_destroy(encodings);
        vel_node_destroy(node);
        return VEL_ENOMEM;
    }
    rc = vel_node_adopt(node, "encodings", encodings);
    if (rc == 0)
        return vel_node_append(parts, node);
    vel_node_destroy(node);
    return rc;
}

static int put_left(struct vel_node *body, const struct vel_vec *left)
{
    struct vel_node *list = vel_node_list();
    int rc = list ? 0 : VEL_ENOMEM;

    for (size_t i = 0; rc == 0 && i < left->n; i++)
        rc = vel_node_append(list, vel_left_to_node(vel_vec_at(left, i)));
    if (rc == 0)
        return vel_node_adopt(body, "left", list);
    vel_node_destroy(list);
    return rc;
}

int vel_inventory_encode(const struct vel_inventory *inventory, struct vel_buf *ret,
                         struct vel_err *err)
{
    struct vel_node *body = vel_node_object(), *parts = vel_node_list();
    const struct vel_stock *h = inventory->held.items;
    int rc = body && parts ? 0 : VEL_ENOMEM;

    for (size_t i = 0; rc == 0 && i < inventory->held.n; i++)
        rc = put_held(parts, &h[i]);
    if (rc == 0)
        rc = vel_node_set_text(body, "node", inventory->node);
    if (rc == 0) {
        rc = vel_node_adopt(body, "parts", parts);
        parts = NULL;
    }
    if (rc == 0 && inventory->left.n > 0)
        rc = put_left(body, &inventory->left);
    if (rc < 0)
        rc = vel_out_of_memory(err, "an inventory");
    else
        rc = vel_record_encode(TYPE, FORMAT, body, ret, err);
    vel_node_destroy(parts);
    vel_node_destroy(body);
    return rc;
}

/* --- in --- */

static int get_file(const struct vel_node *names, const struct vel_node *sizes,
                    size_t i, struct vel_stock_list *ret, struct vel_err *err)
{
    struct vel_stock_file file = {0};
    int64_t size;
    int rc = vel_node_name_at(names, i, &file.name, err);

    if (rc < 0)
        return rc;
    rc = vel_node_int_at(sizes, i, 0, INT64_MAX / 2, &size, err);
    if (rc == 0 && !vel_path_is_inner(file.name))
        rc = vel_fail(err, VEL_ECORRUPT, "'%s' is no name of a cached file", file.name);
    file.size = rc == 0 ? (uint64_t)size : 0;
    if (rc == 0 && !vel_vec_push(&ret->files, &file))
        rc = vel_out_of_memory(err, "an inventory");
    if (rc < 0)
        free(file.name);
    return rc;
}

static int get_list(const struct vel_node *node, struct vel_stock_list *ret,
                    struct vel_err *err)
{
    const struct vel_node *names, *sizes;
    int64_t rank;
    int rc;

    if ((rc = vel_node_get_int(node, "rank", 0, VEL_RANKS_MAX, &rank, err)) < 0 ||
        (rc = vel_node_get_list(node, "names", &names, err)) < 0 ||
        (rc = vel_node_get_list(node, "sizes", &sizes, err)) < 0)
        return rc;
    ret->rank = (int)rank;
    if (vel_node_count(names) != vel_node_count(sizes))
        return vel_fail(err, VEL_ECORRUPT, "there are not as many sizes as names");
    for (size_t i = 0; rc == 0 && i < vel_node_count(names); i++)
        rc = get_file(names, sizes, i, ret, err);
    return rc;
}

/* Numbers of a set that cannot be are refused here, so that nobody counts with them. */
static int get_place(const struct vel_node *node, struct vel_stock_encoding *ret,
                     struct vel_err *err)
{
    int64_t n, m, member, set, sets;
    const char *scheme;
    int rc;

    if ((rc = vel_node_get_text(node, "scheme", &scheme, err)) < 0 ||
        (rc = vel_scheme_parse(scheme, &ret->scheme, err)) < 0 ||
        (rc = vel_node_get_int(node, "members", 1, VEL_SET_MAX, &n, err)) < 0 ||
        (rc = vel_node_get_int(node, "failures", 0, n - 1, &m, err)) < 0 ||
        (rc = vel_node_get_int(node, "member", 0, n - 1, &member, err)) < 0 ||
        (rc = vel_node_get_int(node, "sets", 1, VEL_RANKS_MAX, &sets, err)) < 0 ||
        (rc = vel_node_get_int(node, "set", 0, sets - 1, &set, err)) < 0)
        return rc == VEL_EINVAL
                   ? vel_fail(err, VEL_ECORRUPT, "'%s' is no scheme", scheme)
                   : rc;
    if ((ret->scheme == VEL_SINGLE) != (m == 0))
        return vel_fail(err, VEL_ECORRUPT, "a set that loses %lld of %s", (long long)m,
                        scheme);
    ret->n = (uint32_t)n;
    ret->m = (uint32_t)m;
    ret->member = (uint32_t)member;
    ret->set = (uint32_t)set;
    ret->sets = (uint32_t)sets;
    return 0;
}

static int get_encoding(const struct vel_node *node, struct vel_stock_encoding *ret,
                        struct vel_err *err)
{
    const struct vel_node *lists, *item;
    int64_t sequence;
    int rc;

    vel_vec_init(&ret->lists, sizeof(struct vel_stock_list));
    if ((rc = vel_node_get_bytes(node, "id", ret->id, sizeof ret->id, err)) < 0 ||
        (rc = vel_node_get_int(node, "sequence", 0, INT64_MAX, &sequence, err)) < 0 ||
        (rc = vel_node_get_bool(node, "whole", &ret->is_whole, err)) < 0 ||
        (rc = get_place(node, ret, err)) < 0 ||
        (rc = vel_node_get_list(node, "lists", &lists, err)) < 0)
        return rc;
    ret->sequence = (uint64_t)sequence;
    if (vel_node_count(lists) != (size_t)ret->m + 1)
        return vel_fail(err, VEL_ECORRUPT, "%zu lists where a member keeps %u",
                        vel_node_count(lists), (unsigned)ret->m + 1);
    for (size_t i = 0; rc == 0 && i < vel_node_count(lists); i++) {
        struct vel_stock_list *list = vel_vec_push(&ret->lists, NULL);

        if (!list)
            return vel_out_of_memory(err, "an inventory");
        vel_vec_init(&list->files, sizeof(struct vel_stock_file));
        rc = vel_node_object_at(lists, i, &item, err);
        if (rc == 0)
            rc = get_list(item, list, err);
    }
    return rc;
}

static int get_held(const struct vel_node *node, struct vel_stock *ret,
                    struct vel_err *err)
{
    const struct vel_node *encodings, *item;
    int64_t rank;
    int rc;

    vel_vec_init(&ret->encodings, sizeof(struct vel_stock_encoding));
    if ((rc = vel_node_get_int(node, "dataset", 1, INT64_MAX - 1, &ret->id, err)) < 0 ||
        (rc = vel_node_get_int(node, "rank", 0, VEL_RANKS_MAX, &rank, err)) < 0 ||
        (rc = vel_node_get_int(node, "index", 0, INT64_MAX, &ret->index, err)) < 0 ||
        (rc = vel_node_get_bool(node, "aside", &ret->is_aside, err)) < 0 ||
        (rc = vel_node_get_list(node, "encodings", &encodings, err)) < 0)
        return rc;
    ret->rank = (int)rank;
    if (vel_node_has(node, "about")) {
        rc = vel_node_get_object(node, "about", &item, err);
        if (rc == 0)
            rc = vel_dataset_from_node(item, &ret->about, err);
        ret->has_about = rc == 0;
        if (rc == 0 && ret->about.id != ret->id)
            rc = vel_fail(err, VEL_ECORRUPT, "a part tells of another dataset");
    }
    for (size_t i = 0; rc == 0 && i < vel_node_count(encodings); i++) {
        struct vel_stock_encoding *e = vel_vec_push(&ret->encodings, NULL);

        if (!e)
            return vel_out_of_memory(err, "an inventory");
        rc = vel_node_object_at(encodings, i, &item, err);
        if (rc == 0)
            rc = get_encoding(item, e, err);
        if (rc == 0 && ((struct vel_stock_list *)e->lists.items)->rank != ret->rank)
            rc = vel_fail(err, VEL_ECORRUPT, "a part of another rank");
    }
    return rc;
}

static int get_all(const struct vel_node *body, struct vel_inventory *ret,
                   struct vel_err *err)
{
    const struct vel_node *parts, *item;
    int rc = vel_node_get_list(body, "parts", &parts, err);

    for (size_t i = 0; rc == 0 && i < vel_node_count(parts); i++) {
        struct vel_stock *held = vel_vec_push(&ret->held, NULL);

        if (!held)
            return vel_out_of_memory(err, "an inventory");
        rc = vel_node_object_at(parts, i, &item, err);
        if (rc == 0)
            rc = get_held(item, held, err);
    }
    return rc;
}

static int get_left(const struct vel_node *body, struct vel_vec *ret,
                    struct vel_err *err)
{
    const struct vel_node *list, *item;
    int rc = vel_node_get_list(body, "left", &list, err);

    for (size_t i = 0; rc == 0 && i < vel_node_count(list); i++) {
        struct vel_left *left = vel_vec_push(ret, NULL);

        if (!left)
            return vel_out_of_memory(err, "an inventory");
        vel_left_init(left);
        rc = vel_node_object_at(list, i, &item, err);
        if (rc == 0)
            rc = vel_left_from_node(item, left, err);
    }
    return rc;
}

int vel_inventory_decode(const void *bytes, size_t len, struct vel_inventory *ret,
                         struct vel_err *err)
{
    struct vel_inventory inventory = {0};
    struct vel_node *body = NULL;
    const char *node;
    int version, rc;

    rc = vel_record_decode(bytes, len, TYPE, FORMAT, &version, &body, err);
    if (rc == 0)
        rc = vel_node_get_text(body, "node", &node, err);
    if (rc == 0 && !vel_host_is_name(node))
        rc = vel_fail(err, VEL_ECORRUPT, "'%s' is no name of a node", node);
    if (rc == 0)
        rc = vel_inventory_init(&inventory, node, err);
    if (rc == 0)
        rc = get_all(body, &inventory, err);
    if (rc == 0 && vel_node_has(body, "left"))
        rc = get_left(body, &inventory.left, err);
    vel_node_destroy(body);
    if (rc < 0) {
        vel_inventory_fini(&inventory);
        return vel_wrap(err, rc, "reading an inventory");
    }
    *ret = inventory;
    return 0;
}
