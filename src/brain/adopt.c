/* SPDX-License-Identifier: BSD-3-Clause */
/* A chair takes on the datasets of its launch, and those of the view. */
#include "config.h"

#include "base/log.h"
#include "brain/leader_in.h"

enum { NEW_LIMITS = 2 }; /* times T that a record may not be seen everywhere */

bool vel_chair_has_whole(struct vel_leader *leader, struct vel_lead *lead,
                         struct vel_err *err)
{
    bool is_read =
        !lead->seal.is_cut || vel_lead_find(leader, VEL_LOOK_ONE, lead->id, err);

    if (is_read && lead->seal.is_cut && !err->status)
        vel_fail(err, VEL_ENOENT, "dataset %lld: its seal is not on the prefix",
                 (long long)lead->id);
    return !lead->seal.is_cut;
}

/* A seal that is not there, or that nobody can read, is for the next launch, as what is
 * damaged; but what was made a moment ago may not be seen by all nodes yet. */
static bool get_whole(struct vel_leader *leader, struct vel_lead *lead)
{
    struct vel_err why = {0};

    if (vel_chair_has_whole(leader, lead, &why) || lead->is_aside)
        return !lead->is_aside;
    vel_log(VEL_LOG_DEBUG, "dataset %lld is not led yet: %s", (long long)lead->id,
            why.text);
    if (leader->now < leader->claimed_at + NEW_LIMITS * leader->conf.limit)
        return false;
    vel_lead_failed(leader, lead, (int)why.status, why.text);
    if (vel_status_is_final((int)why.status)) {
        vel_part_taken(leader, lead);
        lead->is_told = false;
    }
    return false;
}

/* Claimed first, read then: the former owner may have gone on until now. */
static bool claim(struct vel_leader *leader, struct vel_lead *lead)
{
    int64_t owner = lead->seal.owner;
    bool was_staged = lead->is_staged;

    lead->seal.owner = 0;
    if (vel_chair_own(leader, lead)) {
        lead->is_staged = false;
        if (vel_lead_find(leader, VEL_LOOK_ONE, lead->id, NULL))
            return true;
    }
    lead->seal.owner = owner; /* what this node does goes on as it was told to */
    lead->is_staged = was_staged;
    return false;
}

void vel_chair_lead(struct vel_leader *leader, struct vel_lead *lead)
{
    int64_t attempt = lead->seal.attempt;
    bool is_ours;

    if (lead->is_led || lead->is_taken || lead->is_aside || !lead->has_seal ||
        leader->is_ended)
        return;
    lead->is_led = true;
    lead->is_told = lead->is_retreat = lead->is_introduced = false;
    lead->attempts = 0;
    lead->retry_at = lead->delay = 0;
    lead->since = leader->now;
    lead->seal.attempt = vel_leader_next_attempt(leader);
    if (vel_lead_is_over(lead)) {
        lead->is_told = true; /* whoever asks is told */
        lead->seal.owner = 0;
        leader->ops->owner(leader->arg, lead->id, &lead->seal.owner, &is_ours, NULL);
        return;
    }
    if (!get_whole(leader, lead) || !claim(leader, lead)) {
        lead->is_led = false; /* tried again at the next check */
        lead->seal.attempt = attempt;
        return;
    }
    /* sets are formed anew, and it is told then; or it only lacks its entry */
    lead->is_told =
        lead->state == VEL_DATASET_SEALED && lead->seal.what & VEL_OWED_ENCODE;
    lead->is_broken = lead->is_told && !lead->seal.is_encoded;
    if (lead->is_staged)
        lead->seal.again.n = 0; /* every part is on the prefix */
    else if (lead->state == VEL_DATASET_FLUSHING && lead->seal.is_encoded &&
             lead->seal.again.n > 0)
        lead->state = VEL_DATASET_ENCODED; /* it begins anew, when all can come */
    if (lead->state == VEL_DATASET_FLUSHING)
        vel_chair_go_on(leader, lead);
}

bool vel_chair_knows_all(const struct vel_leader *leader)
{
    for (size_t i = 0; i < leader->leads.n; i++) {
        const struct vel_lead *lead = vel_lead_at(leader, i);

        if (lead->has_seal && !lead->is_led && !lead->is_taken && !lead->is_aside &&
            lead->state >= VEL_DATASET_SEALED && lead->state < VEL_DATASET_FLUSHED)
            return false;
    }
    return !(leader->unread & (1U << VEL_LOOK_SEALS | 1U << VEL_LOOK_VIEW));
}

static void lead_all(struct vel_leader *leader)
{
    for (size_t i = 0; i < leader->leads.n; i++)
        if (!vel_lead_is_over(vel_lead_at(leader, i)) ||
            vel_lead_at(leader, i)->seal.what)
            vel_chair_lead(leader, vel_lead_at(leader, i));
}

void vel_chair_adopt(struct vel_leader *leader)
{
    for (size_t i = 0; i < leader->leads.n; i++)
        vel_lead_at(leader, i)->is_taken =
            false; /* by a chair before this one, maybe */
    vel_lead_find(leader, VEL_LOOK_SEALS, 0, NULL);
    vel_lead_find(leader, VEL_LOOK_VIEW, 0, NULL);
    lead_all(leader);
}

/* Who has asked in vain is told now, if he is still there. */
static void answer_again(struct vel_leader *leader)
{
    struct vel_vec asks = leader->asks;

    vel_vec_init(&leader->asks, sizeof(struct vel_leader_ask));
    for (size_t i = 0; i < asks.n; i++) {
        const struct vel_leader_ask *ask = vel_vec_at(&asks, i);

        if (ask->link == 0 || vel_leader_link(leader, ask->link))
            vel_chair_report(leader, ask->id, ask->link);
    }
    vel_vec_fini(&asks);
}

void vel_chair_check(struct vel_leader *leader)
{
    answer_again(leader);
    if (leader->is_chair && leader->has_view)
        lead_all(leader);
}
