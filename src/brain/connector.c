/* SPDX-License-Identifier: BSD-3-Clause */
/* The connector's part of a leader as a whole: it begins, advances and ends; processes
 * come and go. */
#include "config.h"

#include <stdlib.h>

#include "brain/connector_in.h"

struct vel_connector *vel_connector_create(size_t many)
{
    size_t most = many ? many : VEL_NAMES_MOST;
    struct vel_connector *connector = calloc(1, sizeof *connector);

    if (!connector)
        return NULL;
    vel_vec_init(&connector->generations, sizeof(struct vel_generation *));
    vel_vec_init(&connector->gone, sizeof(struct vel_rank_gone));
    vel_vec_init(&connector->reports, sizeof(struct vel_leader_report));
    vel_vec_init(&connector->expects, sizeof(struct vel_expect *));
    connector->check_at = VEL_NEVER;
    connector->many = VEL_GENERATIONS_MANY;
    vel_names_init(&connector->counts, most);
    vel_names_init(&connector->in_turn, most);
    connector->families = vel_map_create();
    if (connector->families)
        return connector;
    vel_connector_destroy(connector);
    return NULL;
}

static void destroy_family(void *family)
{
    free(((struct vel_leader_family *)family)->steps);
    free(family);
}

/* What it keeps as the chair, and what is to be told, is gone already. */
void vel_connector_destroy(struct vel_connector *connector)
{
    if (!connector)
        return;
    for (size_t i = 0; i < connector->generations.n; i++)
        vel_generation_destroy(
            *(struct vel_generation **)vel_vec_at(&connector->generations, i));
    vel_vec_fini(&connector->generations);
    vel_vec_fini(&connector->gone);
    vel_vec_fini(&connector->reports);
    vel_vec_fini(&connector->expects);
    vel_names_fini(&connector->counts);
    vel_names_fini(&connector->in_turn);
    vel_map_destroy(connector->families, destroy_family);
    free(connector->present_told);
    free(connector);
}

/* A process that does not leave in good order stays expected. */
void vel_connector_gone(struct vel_leader *leader, const struct vel_leader_link *link)
{
    struct vel_vec *ranks = &leader->connector->gone;
    struct vel_rank_gone gone = {link->rank, link->leaving};

    for (size_t i = ranks->n; i > 0; i--)
        if (((struct vel_rank_gone *)vel_vec_at(ranks, i - 1))->rank == gone.rank)
            vel_vec_remove(ranks, i - 1);
    leader->has_new = leader->has_new || gone.how != VEL_LEAVES;
    if (gone.rank != VEL_MSG_NO_RANK && !vel_vec_push(ranks, &gone))
        vel_leader_fail(leader, "a rank");
    vel_file_gone(leader, link->number);
}

bool vel_connector_hands_back(const struct vel_leader *leader, int64_t id)
{
    return !leader->connector->has_work && !leader->conf.is_agent &&
           !leader->conf.is_guest && vel_leader_processes(leader) == 0 && id > 0 &&
           leader->ops->is_before(leader->arg, id);
}

void vel_connector_advance(struct vel_leader *leader)
{
    vel_generation_advance(leader);
    vel_announce_advance(leader);
    vel_expect_advance(leader);
}

static bool is_unflushed(const struct vel_lead *lead)
{
    if (lead->is_aside || lead->is_taken || !lead->has_seal || !lead->seal.template[0])
        return false;
    return lead->state >= VEL_DATASET_ANNOUNCED && lead->state < VEL_DATASET_FLUSHED;
}

static bool is_pending(const struct vel_leader *leader)
{
    for (size_t i = 0; i < leader->connector->generations.n; i++)
        if (!vel_generation_at(leader, i)->is_taken)
            return true;
    for (size_t i = 0; i < leader->leads.n; i++)
        if (is_unflushed(vel_lead_at(leader, i)))
            return true;
    return false;
}

bool vel_file_is_in_turn(const struct vel_leader *leader, const char *name)
{
    const int64_t *is = vel_names_number(&leader->connector->in_turn, name);

    return is && *is;
}

void vel_file_set_in_turn(struct vel_leader *leader, const char *name)
{
    int64_t *is = vel_names_number(&leader->connector->in_turn, name);

    if (is)
        *is = true;
    else
        vel_leader_fail(leader, "a name");
}

enum vel_leader_others vel_leader_others(const struct vel_leader *leader,
                                         const char *name)
{
    struct vel_leader_rule rule = {0};
    bool is_shared, is_there = leader->ops->rule(leader->arg, name, &rule, NULL) == 0;

    is_shared = rule.is_alone && !rule.is_live;
    free(rule.template);
    free(rule.step);
    if (!is_there || rule.is_native)
        return VEL_OTHERS_NONE;
    if (is_shared || vel_file_is_in_turn(leader, name))
        return VEL_OTHERS_ALSO;
    return is_pending(leader) ? VEL_OTHERS_ELSE : VEL_OTHERS_NONE;
}
