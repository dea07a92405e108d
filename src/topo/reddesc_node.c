/* SPDX-License-Identifier: BSD-3-Clause */
/* The persisted form of a descriptor (doc/format-descriptor.txt). */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "sys/host.h"
#include "topo/reddesc.h"

enum {
    INDEX_MAX = 1000000,
    INTERVAL_MAX = 1000000000,
    HOP_MAX = 65536,
};

/* --- to a node */

static struct vel_node *neighbour_to_node(const struct vel_neighbour *neighbour)
{
    struct vel_node *node = vel_node_object();

    if (!node || vel_node_set_int(node, "RANK", neighbour->rank) < 0 ||
        vel_node_set_text(node, "NODE", neighbour->node) < 0) {
        vel_node_destroy(node);
        return NULL;
    }
    return node;
}

static int set_level(struct vel_node *node, const struct vel_reddesc *desc)
{
    return vel_node_set_bool(node, "ENABLED", desc->enabled) < 0 ||
                   vel_node_set_int(node, "INDEX", desc->index) < 0 ||
                   vel_node_set_int(node, "INTERVAL", desc->interval) < 0 ||
                   vel_node_set_name(node, "STORE", desc->store_name) < 0 ||
                   vel_node_set_name(node, "GROUP", desc->group_name) < 0 ||
                   vel_node_set_name(node, "BASE", desc->base) < 0 ||
                   vel_node_set_name(node, "DIRECTORY", desc->directory) < 0 ||
                   vel_node_set_text(node, "TYPE", vel_scheme_name(desc->scheme)) < 0 ||
                   vel_node_set_int(node, "LOSSES", (int64_t)desc->m) < 0 ||
                   vel_node_set_int(node, "SET_SIZE", (int64_t)desc->set_size) < 0 ||
                   vel_node_set_int(node, "HOP_DISTANCE", (int64_t)desc->hop_distance) <
                       0 ||
                   vel_node_set_bool(node, "OUTPUT", desc->is_output) < 0 ||
                   vel_node_set_bool(node, "BYPASS", desc->is_bypass) < 0
               ? VEL_ENOMEM
               : 0;
}

static int set_place(struct vel_node *node, const struct vel_reddesc *desc)
{
    const struct vel_place *place = &desc->place;

    return vel_node_set_int(node, "GROUPS", place->sets) < 0 ||
                   vel_node_set_int(node, "GROUP_ID", place->set) < 0 ||
                   vel_node_set_int(node, "GROUP_SIZE", place->ranks) < 0 ||
                   vel_node_set_int(node, "GROUP_RANK", place->rank) < 0 ||
                   vel_node_adopt(node, "LEFT", neighbour_to_node(&desc->lhs)) < 0 ||
                   vel_node_adopt(node, "RIGHT", neighbour_to_node(&desc->rhs)) < 0
               ? VEL_ENOMEM
               : 0;
}

struct vel_node *vel_reddesc_to_node(const struct vel_reddesc *desc)
{
    struct vel_node *node = vel_node_object();

    if (!node || set_level(node, desc) < 0 ||
        (desc->place.sets > 0 && set_place(node, desc) < 0)) {
        vel_node_destroy(node);
        return NULL;
    }
    return node;
}

/* --- from a node, which is input */

static int get_size(const struct vel_node *node, const char *key, int64_t least,
                    int64_t most, size_t *ret, struct vel_err *err)
{
    int64_t value;
    int rc = vel_node_get_int(node, key, least, most, &value, err);

    if (rc == 0)
        *ret = (size_t)value;
    return rc;
}

static int get_u32(const struct vel_node *node, const char *key, int64_t least,
                   int64_t most, uint32_t *ret, struct vel_err *err)
{
    int64_t value;
    int rc = vel_node_get_int(node, key, least, most, &value, err);

    if (rc == 0)
        *ret = (uint32_t)value;
    return rc;
}

/* A directory with its whole path, as we write it. */
static int get_dir(const struct vel_node *node, const char *key, char **ret,
                   struct vel_err *err)
{
    int rc = vel_node_get_name(node, key, ret, err);

    if (rc == 0 && ((*ret)[0] != '/' || !vel_path_is_inner(*ret + 1)))
        rc = vel_fail(err, VEL_ECORRUPT, "%s: this is no directory with its whole path",
                      key);
    return rc;
}

static int check_below(const char *key, const char *dir, const char *path,
                       struct vel_err *err)
{
    return vel_path_below(dir, path)
               ? 0
               : vel_fail(err, VEL_ECORRUPT, "%s: '%.200s' does not lie in '%.200s'",
                          key, path, dir);
}

static int get_paths(const struct vel_node *node, struct vel_reddesc *desc,
                     struct vel_err *err)
{
    int rc = get_dir(node, "STORE", &desc->store_name, err);

    if (rc == 0)
        rc = get_dir(node, "BASE", &desc->base, err);
    if (rc == 0)
        rc = get_dir(node, "DIRECTORY", &desc->directory, err);
    if (rc == 0)
        rc = check_below("BASE", desc->store_name, desc->base, err);
    if (rc == 0)
        rc = check_below("DIRECTORY", desc->base, desc->directory, err);
    return rc;
}

static int get_scheme(const struct vel_node *node, struct vel_reddesc *desc,
                      struct vel_err *err)
{
    const char *text;
    int rc = vel_node_get_text(node, "TYPE", &text, err);

    if (rc == 0 && vel_scheme_parse(text, &desc->scheme, err) < 0)
        rc = vel_fail(err, VEL_ECORRUPT, "TYPE: '%.40s' is no scheme", text);
    if (rc == 0)
        rc = get_size(node, "LOSSES", 0, VEL_SET_MAX - 1, &desc->m, err);
    return rc;
}

static int get_level(const struct vel_node *node, struct vel_reddesc *desc,
                     struct vel_err *err)
{
    int rc = vel_node_get_bool(node, "ENABLED", &desc->enabled, err);

    if (rc == 0)
        rc = get_u32(node, "INDEX", 0, INDEX_MAX, &desc->index, err);
    if (rc == 0)
        rc = vel_node_get_int(node, "INTERVAL", -INTERVAL_MAX, INTERVAL_MAX,
                              &desc->interval, err);
    if (rc == 0 && desc->interval == 0)
        rc = vel_fail(err, VEL_ECORRUPT, "INTERVAL: 0 is neither a count nor a time");
    if (rc == 0)
        rc = vel_node_get_name(node, "GROUP", &desc->group_name, err);
    if (rc == 0)
        rc = get_scheme(node, desc, err);
    if (rc == 0)
        rc = get_size(node, "SET_SIZE", 1, VEL_SET_MAX, &desc->set_size, err);
    if (rc == 0)
        rc = get_size(node, "HOP_DISTANCE", 1, HOP_MAX, &desc->hop_distance, err);
    if (rc == 0)
        rc = vel_node_get_bool(node, "OUTPUT", &desc->is_output, err);
    if (rc == 0)
        rc = vel_node_get_bool(node, "BYPASS", &desc->is_bypass, err);
    return rc;
}

static int get_neighbour(const struct vel_node *node, const char *key,
                         struct vel_neighbour *ret, struct vel_err *err)
{
    const struct vel_node *child;
    const char *name;
    uint32_t rank = 0;
    int rc = vel_node_get_object(node, key, &child, err);

    if (rc == 0)
        rc = get_u32(child, "RANK", 0, INT32_MAX - 1, &rank, err);
    if (rc == 0)
        rc = vel_node_get_text(child, "NODE", &name, err);
    if (rc == 0 && !vel_host_is_name(name))
        rc = vel_fail(err, VEL_ECORRUPT, "NODE: '%.200s' is no name of a node", name);
    if (rc < 0)
        return vel_wrap(err, rc, "%s", key);
    ret->rank = (int)rank;
    ret->node = strdup(name);
    return ret->node ? 0 : vel_out_of_memory(err, "reading a descriptor");
}

/* Does the set bear what the scheme promises? */
static int check_losses(const struct vel_reddesc *desc, struct vel_err *err)
{
    bool fits = desc->m >= 1 && desc->m < desc->place.ranks;

    if (desc->scheme == VEL_SINGLE)
        fits = desc->m == 0;
    if (desc->scheme == VEL_XOR)
        fits = fits && desc->m == 1;
    return fits ? 0
                : vel_fail(err, VEL_ECORRUPT,
                           "LOSSES: %zu is impossible for %s in a set of %u", desc->m,
                           vel_scheme_name(desc->scheme), desc->place.ranks);
}

static int get_place(const struct vel_node *node, struct vel_reddesc *desc,
                     struct vel_err *err)
{
    struct vel_place *place = &desc->place;
    int rc = get_u32(node, "GROUPS", 1, INT32_MAX - 1, &place->sets, err);

    if (rc == 0)
        rc = get_u32(node, "GROUP_ID", 0, (int64_t)place->sets - 1, &place->set, err);
    if (rc == 0)
        rc = get_u32(node, "GROUP_SIZE", 1, VEL_SET_MAX, &place->ranks, err);
    if (rc == 0)
        rc = get_u32(node, "GROUP_RANK", 0, (int64_t)place->ranks - 1, &place->rank,
                     err);
    if (rc == 0)
        rc = check_losses(desc, err);
    if (rc == 0)
        rc = get_neighbour(node, "LEFT", &desc->lhs, err);
    if (rc == 0)
        rc = get_neighbour(node, "RIGHT", &desc->rhs, err);
    if (rc == 0) {
        desc->lhs.place = (place->rank + place->ranks - 1) % place->ranks;
        desc->rhs.place = (place->rank + 1) % place->ranks;
    }
    return rc;
}

int vel_reddesc_from_node(const struct vel_node *node, struct vel_reddesc *ret_desc,
                          struct vel_err *err)
{
    struct vel_reddesc desc;

    vel_reddesc_init(&desc);
    int rc = get_level(node, &desc, err);
    if (rc == 0)
        rc = get_paths(node, &desc, err);
    /* only a level that is not enabled has no sets */
    if (rc == 0 && (desc.enabled || vel_node_has(node, "GROUPS")))
        rc = get_place(node, &desc, err);
    if (rc < 0) {
        vel_reddesc_fini(&desc);
        return vel_wrap(err, rc, "redundancy descriptor");
    }
    *ret_desc = desc;
    return 0;
}
