/* SPDX-License-Identifier: BSD-3-Clause */
/* First every rank describes all levels by itself, from its settings alone; when all
 * ranks have described the same, the sets are made level by level. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/path.h"
#include "sys/user_dir.h"
#include "topo/check.h"
#include "topo/level.h"
#include "topo/reddesc.h"
#include "topo/reddesc_ring.h"
#include "topo/same.h"

/* A directory must leave room for names of files, and for itself in a record. */
enum { DIRECTORY_MAX = 1024 };

struct build {
    struct vel_comm *world;
    const struct vel_conf *conf;
    const struct vel_stores *stores;
    const struct vel_groups *groups;
    const struct vel_reddesc_owner *owner;
    struct vel_reddescs *descs;
    struct vel_buf lone; /* names of levels that nothing protects */
    enum vel_topo_fault fault;
    struct vel_err *err;
};

void vel_reddesc_init(struct vel_reddesc *desc)
{
    *desc = (struct vel_reddesc){.scheme = VEL_SINGLE};
}

void vel_reddesc_fini(struct vel_reddesc *desc)
{
    free(desc->store_name);
    free(desc->group_name);
    free(desc->base);
    free(desc->directory);
    free(desc->lhs.node);
    free(desc->rhs.node);
    vel_comm_destroy(desc->comm);
    vel_reddesc_init(desc);
}

/* --- what the settings say */

/* The store and group of a level, as they are now. */
static int find_parts(const struct build *b, const struct vel_ckpt *level,
                      struct vel_reddesc *desc)
{
    char name[VEL_LEVEL_NAME];

    desc->group = vel_groups_find(b->groups, level->group);
    desc->store = vel_stores_find(b->stores, level->store);
    if (!desc->group)
        return vel_fail(b->err, VEL_ECONFIG,
                        "%s: GROUP=%s is unknown, since no GROUPS line defines it",
                        vel_level_name(level, name), level->group);
    if (!desc->store)
        return vel_fail(b->err, VEL_ECONFIG, "%s: there is no store %s",
                        vel_level_name(level, name), level->store);
    return 0;
}

static int set_directory(const struct build *b, struct vel_reddesc *desc)
{
    char *own = vel_user_dir(b->owner->fs, desc->base, b->owner->user);
    char *home = own ? vel_path_join(own, b->owner->prefix_id) : NULL;

    desc->directory = home ? vel_path_level(home, desc->index) : NULL;
    free(own);
    free(home);
    if (!desc->directory)
        return vel_out_of_memory(b->err, "a level");
    if (strlen(desc->directory) > DIRECTORY_MAX ||
        !vel_path_is_inner(desc->directory + 1))
        return vel_fail(
            b->err, VEL_ECONFIG,
            "%.200s cannot be a directory for datasets: give a STORE of up to %d "
            "bytes, without control characters, that is not /",
            desc->directory, DIRECTORY_MAX / 2);
    return 0;
}

static int describe(const struct build *b, const struct vel_ckpt *level,
                    struct vel_reddesc *desc)
{
    desc->enabled = level->enabled;
    desc->interval = level->interval;
    desc->scheme = vel_level_scheme(level);
    desc->m = vel_level_losses(level);
    desc->set_size = (size_t)level->set_size;
    desc->hop_distance = (size_t)level->hop_distance;
    desc->is_output = level->output;
    desc->is_bypass = level->bypass;
    int rc = find_parts(b, level, desc);
    if (rc < 0)
        return rc;
    desc->store_name = strdup(desc->store->name);
    desc->group_name = strdup(desc->group->name);
    desc->base = strdup(desc->store->base);
    if (!desc->store_name || !desc->group_name || !desc->base)
        return vel_out_of_memory(b->err, "describing levels");
    return set_directory(b, desc);
}

static int check_owner(const struct vel_reddesc_owner *owner, struct vel_err *err)
{
    const char *const names[] = {owner->user, owner->prefix_id};

    for (size_t i = 0; i < 2; i++)
        if (!vel_host_is_name(names[i]))
            return vel_fail(err, VEL_ECONFIG,
                            "'%.200s' cannot be part of a cache path: give up to 200 "
                            "letters, digits, dots, dashes and underscores",
                            names[i]);
    return 0;
}

static int describe_all(struct build *b)
{
    size_t n = vel_level_count(b->conf);
    struct vel_ckpt level;

    b->fault = vel_topo_check(b->conf, b->err);
    if (b->fault != VEL_TOPO_VALID)
        return VEL_ECONFIG;
    int rc = check_owner(b->owner, b->err);
    if (rc < 0)
        return rc;
    b->descs = calloc(1, sizeof *b->descs);
    if (!b->descs)
        return vel_out_of_memory(b->err, "describing levels");
    b->descs->items = calloc(n, sizeof *b->descs->items);
    if (!b->descs->items)
        return vel_out_of_memory(b->err, "describing levels");
    for (size_t i = 0; rc == 0 && i < n; i++) {
        struct vel_reddesc *desc = &b->descs->items[b->descs->n++];

        vel_level_at(b->conf, i, &level);
        vel_reddesc_init(desc);
        desc->index = (uint32_t)i;
        rc = describe(b, &level, desc);
    }
    return rc;
}

/* Collective, and an agreement on rc. What must not differ between ranks; base and
 * directory do, from node to node. */
static int check_same(const struct build *b, int rc)
{
    struct vel_buf text;

    vel_buf_init(&text);
    for (size_t i = 0; rc == 0 && i < b->descs->n; i++) {
        const struct vel_reddesc *d = &b->descs->items[i];

        vel_buf_printf(&text,
                       "ENABLED=%d INTERVAL=%lld GROUP=%s STORE=%s TYPE=%s LOSSES=%zu "
                       "SET_SIZE=%zu HOP_DISTANCE=%zu OUTPUT=%d BYPASS=%d\n",
                       d->enabled, (long long)d->interval, d->group_name, d->store_name,
                       vel_scheme_name(d->scheme), d->m, d->set_size, d->hop_distance,
                       d->is_output, d->is_bypass);
    }
    rc = vel_topo_same(b->world, "levels", &text, rc, b->err);
    vel_buf_fini(&text);
    return rc;
}

/* --- sets */

static void place_alone(const struct build *b, struct vel_reddesc *desc)
{
    desc->scheme = VEL_SINGLE;
    desc->m = 0;
    desc->place = (struct vel_place){.set = (uint32_t)b->world->rank,
                                     .sets = (uint32_t)b->world->size,
                                     .rank = 0,
                                     .ranks = 1};
}

/* RS that was not told how many losses to bear: half of the set. */
static int bear_half(struct vel_reddesc *desc, struct vel_err *err)
{
    if (desc->place.ranks % 4 != 0)
        return vel_fail(err, VEL_ECONFIG,
                        "RS without SET_FAILURES bears the loss of half of a set, and "
                        "then sets must have a multiple of 4 members; this one has %u: "
                        "give SET_FAILURES",
                        desc->place.ranks);
    desc->m = desc->place.ranks / 2;
    return 0;
}

/* Collective. */
static int place_among_groups(struct build *b, struct vel_reddesc *desc)
{
    bool is_half = desc->scheme == VEL_RS && desc->m == 0;
    const struct vel_split_rule rule = {.least = desc->set_size,
                                        .hop = desc->hop_distance,
                                        .need = is_half ? 2 : desc->m + 1,
                                        .what = desc->group->name};
    struct vel_err cause = {0};
    int rc = vel_split(b->world, desc->group->value, &rule, &desc->place, &cause);

    /* A job that goes on with the nodes that are left must not fail for that. */
    if (rc == VEL_EINVAL) {
        vel_log_shared(VEL_LOG_WARN,
                       "%s: until then a single copy is kept, and every dataset is "
                       "flushed at once",
                       cause.text);
        place_alone(b, desc);
        desc->is_exposed = true;
        return 0;
    }
    if (rc < 0)
        return vel_fail(b->err, (enum vel_status)rc, "%s", cause.text);
    rc = vel_comm_agree(b->world, is_half ? bear_half(desc, b->err) : 0, b->err);
    if (rc == VEL_ECONFIG)
        b->fault = VEL_TOPO_RS_GROUP_SIZE;
    return rc;
}

/* Collective. */
static int make_set(struct build *b, struct vel_reddesc *desc)
{
    struct vel_ckpt level;
    char name[VEL_LEVEL_NAME];
    int rc = 0;

    vel_level_at(b->conf, desc->index, &level);
    vel_level_name(&level, name);
    if (desc->scheme == VEL_SINGLE) {
        place_alone(b, desc);
    } else if (desc->group->count == 1) {
        vel_buf_printf(&b->lone, "%s%s", b->lone.len ? ", " : "", name);
        if (b->groups->items[0].count > 1)
            vel_log_shared(VEL_LOG_WARN,
                           "%s: all nodes are in one group under GROUP=%s, so a single "
                           "copy is kept, without redundancy",
                           name, desc->group->name);
        place_alone(b, desc);
    } else {
        rc = place_among_groups(b, desc);
    }
    if (rc == 0)
        rc = vel_reddesc_connect(b->world, vel_groups_node(b->groups), desc, b->err);
    return rc < 0 ? vel_wrap(b->err, rc, "%s", name) : 0;
}

int vel_reddescs_create(struct vel_comm *world, const struct vel_conf *conf,
                        const struct vel_stores *stores,
                        const struct vel_groups *groups,
                        const struct vel_reddesc_owner *owner,
                        struct vel_reddescs **ret_descs, enum vel_topo_fault *ret_fault,
                        struct vel_err *err)
{
    struct build b = {.world = world,
                      .conf = conf,
                      .stores = stores,
                      .groups = groups,
                      .owner = owner,
                      .err = err};

    vel_buf_init(&b.lone);
    int rc = check_same(&b, describe_all(&b));
    for (size_t i = 0; rc == 0 && i < b.descs->n; i++)
        if (b.descs->items[i].enabled)
            rc = make_set(&b, &b.descs->items[i]);
    if (rc == 0 && b.lone.len > 0 && groups->items[0].count == 1)
        vel_log_shared(VEL_LOG_INFO,
                       "all ranks run on node %s: a single copy is kept, without "
                       "redundancy (%s)",
                       vel_groups_node(groups), vel_buf_text(&b.lone));
    vel_buf_fini(&b.lone);
    if (rc == VEL_ECONFIG && ret_fault)
        *ret_fault = b.fault == VEL_TOPO_VALID ? VEL_TOPO_OTHER : b.fault;
    if (rc < 0)
        vel_reddescs_destroy(b.descs);
    else
        *ret_descs = b.descs;
    return rc;
}

void vel_reddescs_destroy(struct vel_reddescs *descs)
{
    if (!descs)
        return;
    for (size_t i = 0; i < descs->n; i++)
        vel_reddesc_fini(&descs->items[i]);
    free(descs->items);
    free(descs);
}

/* --- which one */

static bool is_due(const struct vel_reddesc *desc, const double *seconds_since)
{
    return desc->interval < 0 && seconds_since &&
           seconds_since[desc->index] >= (double)-desc->interval;
}

const struct vel_reddesc *vel_reddesc_choose(const struct vel_reddescs *descs,
                                             const struct vel_reddesc_use *use)
{
    const struct vel_reddesc *by_time = NULL, *by_count = NULL;

    for (size_t i = 0; i < descs->n; i++) {
        const struct vel_reddesc *d = &descs->items[i];

        if (!d->enabled)
            continue;
        if (use->is_output && d->is_output)
            return d;
        if (is_due(d, use->seconds_since) &&
            (!by_time || d->interval < by_time->interval))
            by_time = d;
        if (d->interval > 0 && use->id % d->interval == 0 &&
            (!by_count || d->interval > by_count->interval))
            by_count = d;
    }
    return by_time ? by_time : by_count;
}

int vel_reddesc_home(const struct vel_node *node, const struct vel_stores *stores,
                     const struct vel_store **ret, struct vel_err *err)
{
    struct vel_reddesc desc;
    const struct vel_store *store;
    int rc = vel_reddesc_from_node(node, &desc, err);

    if (rc < 0)
        return rc;
    store = vel_stores_find(stores, desc.store_name);
    vel_reddesc_fini(&desc);
    for (size_t i = 0; !store && i < stores->n; i++)
        if (stores->items[i].enabled && stores->items[i].type != VEL_STORE_PFS)
            store = &stores->items[i];
    if (!store)
        return vel_fail(err, VEL_ECONFIG, "there is no store to restore it into");
    *ret = store;
    return 0;
}
