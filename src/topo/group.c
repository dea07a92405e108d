/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "topo/group.h"
#include "topo/group_lines.h"
#include "topo/rankstr.h"

int vel_node_name(const struct vel_conf *conf, const struct vel_host *host, int rank,
                  int size, char **ret_name, struct vel_err *err)
{
    struct vel_buf buf;
    size_t len;

    vel_buf_init(&buf);
    vel_buf_puts(&buf, host->node);
    if (conf->virtual_nodes > 0)
        vel_buf_printf(&buf, ".v%lld", (long long)(rank * conf->virtual_nodes / size));
    int rc = vel_buf_status(&buf, err);
    if (rc == 0 && !vel_host_is_name(vel_buf_text(&buf)))
        rc = vel_fail(err, VEL_EINVAL,
                      "%s is too long for the name of a node: without VIRTUAL_NODES it "
                      "fits",
                      vel_buf_text(&buf));
    if (rc == 0)
        *ret_name = vel_buf_take(&buf, &len);
    vel_buf_fini(&buf);
    return rc;
}

/* Collective. This rank's group among those of one name. */
static int add_group(struct vel_comm *world, struct vel_groups *groups,
                     const char *name, const char *value, struct vel_err *err)
{
    struct vel_group *group = &groups->items[groups->n];
    struct vel_rankstr found;

    *group = (struct vel_group){
        .name = strdup(name), .index = (uint32_t)groups->n, .value = strdup(value)};
    groups->n++;
    int rc =
        group->name && group->value ? 0 : vel_out_of_memory(err, "describing groups");
    rc = vel_comm_agree(world, rc, err);
    if (rc == 0)
        rc = vel_rankstr(world, value, &found, err);
    if (rc < 0)
        return vel_wrap(err, rc, "group %s", name);
    group->id = found.group;
    group->count = found.groups;
    rc = vel_comm_split(world, (int)found.group, world->rank, &group->comm, err);
    return vel_comm_agree(world, rc, err);
}

/* Collective. Room for `more` groups behind those that are there. */
static int make_room(struct vel_comm *world, struct vel_groups *groups, size_t more,
                     struct vel_err *err)
{
    struct vel_group *items =
        realloc(groups->items, (groups->n + more) * sizeof *items);

    if (items)
        groups->items = items;
    return vel_comm_agree(world,
                          items ? 0 : vel_out_of_memory(err, "describing groups"), err);
}

static int make(struct vel_comm *world, const struct vel_conf *conf, const char *node,
                bool is_alone, struct vel_groups **ret_groups, struct vel_err *err)
{
    struct vel_groups *groups = calloc(1, sizeof *groups);
    struct vel_vec pairs;

    vel_vec_init(&pairs, sizeof(struct vel_group_pair));
    int rc = groups ? 0 : vel_out_of_memory(err, "describing groups");
    rc = vel_comm_agree(world, rc, err);
    if (rc == 0)
        rc = make_room(world, groups, 2, err);
    if (rc == 0)
        rc = add_group(world, groups, "NODE", node, err);
    if (rc == 0)
        rc = add_group(world, groups, "WORLD", "WORLD", err);
    if (rc == 0)
        rc = is_alone ? vel_group_lines_alone(conf, node, &pairs, err)
                      : vel_group_lines(world, conf, &groups->items[0], &pairs, err);
    if (rc == 0 && pairs.n > 0)
        rc = make_room(world, groups, pairs.n, err);
    for (size_t i = 0; rc == 0 && i < pairs.n; i++) {
        const struct vel_group_pair *pair = vel_vec_at(&pairs, i);

        rc = add_group(world, groups, pair->name, pair->value, err);
    }
    vel_group_lines_fini(&pairs);
    if (rc < 0)
        vel_groups_destroy(groups);
    else
        *ret_groups = groups;
    return rc;
}

int vel_groups_create(struct vel_comm *world, const struct vel_conf *conf,
                      const char *node, struct vel_groups **ret_groups,
                      struct vel_err *err)
{
    return make(world, conf, node, false, ret_groups, err);
}

int vel_groups_alone(struct vel_comm *self, const struct vel_conf *conf,
                     const char *node, struct vel_groups **ret_groups,
                     struct vel_err *err)
{
    return make(self, conf, node, true, ret_groups, err);
}

void vel_groups_destroy(struct vel_groups *groups)
{
    if (!groups)
        return;
    for (size_t i = 0; i < groups->n; i++) {
        free(groups->items[i].name);
        free(groups->items[i].value);
        vel_comm_destroy(groups->items[i].comm);
    }
    free(groups->items);
    free(groups);
}

const struct vel_group *vel_groups_find(const struct vel_groups *groups,
                                        const char *name)
{
    for (size_t i = 0; i < groups->n; i++)
        if (strcmp(groups->items[i].name, name) == 0)
            return &groups->items[i];
    return NULL;
}

const char *vel_groups_node(const struct vel_groups *groups)
{
    return groups->items[0].value;
}
