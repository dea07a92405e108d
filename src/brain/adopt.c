/* SPDX-License-Identifier: BSD-3-Clause */
/* A chair takes on the datasets of its launch, and those of the view. */
#include "config.h"

#include "brain/leader_in.h"

void vel_chair_lead(struct vel_leader *leader, struct vel_lead *lead)
{
    bool is_ours;

    if (lead->is_led || lead->is_taken || lead->is_aside || !lead->has_seal ||
        lead->seal.is_cut || leader->is_ended)
        return;
    lead->is_led = true;
    lead->is_told = lead->is_retreat = lead->is_introduced = false;
    lead->attempts = 0;
    lead->retry_at = lead->delay = 0;
    lead->since = leader->now;
    lead->seal.owner = 0;
    lead->seal.attempt = vel_leader_next_attempt(leader);
    if (vel_lead_is_over(lead)) {
        lead->is_told = true; /* whoever asks is told */
        leader->ops->owner(leader->arg, lead->id, &lead->seal.owner, &is_ours, NULL);
        return;
    }
    if (!vel_chair_own(leader, lead)) {
        lead->is_led = false; /* tried again at the next check */
        return;
    }
    lead->is_staged = false;
    /* claimed first, read then: the former owner may have gone on until now */
    vel_lead_find(leader, VEL_LOOK_ONE, lead->id);
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

void vel_chair_adopt(struct vel_leader *leader)
{
    for (size_t i = 0; i < leader->leads.n; i++)
        vel_lead_at(leader, i)->is_taken =
            false; /* by a chair before this one, maybe */
    vel_lead_find(leader, VEL_LOOK_SEALS, 0);
    vel_lead_find(leader, VEL_LOOK_VIEW, 0);
    for (size_t i = 0; i < leader->leads.n; i++)
        if (vel_lead_at(leader, i)->seal.is_cut)
            vel_lead_find(leader, VEL_LOOK_ONE, vel_lead_at(leader, i)->id);
    for (size_t i = 0; i < leader->leads.n; i++)
        if (!vel_lead_is_over(vel_lead_at(leader, i)) ||
            vel_lead_at(leader, i)->seal.what)
            vel_chair_lead(leader, vel_lead_at(leader, i));
}

void vel_chair_check(struct vel_leader *leader)
{
    for (size_t i = 0; leader->is_chair && leader->has_view && i < leader->leads.n; i++)
        if (!vel_lead_is_over(vel_lead_at(leader, i)))
            vel_chair_lead(leader, vel_lead_at(leader, i));
}
