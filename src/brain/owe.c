/* SPDX-License-Identifier: BSD-3-Clause */
/* What a process owes for a part: promised, or taken back, or resting while the process
 * changes the part itself. What rests is forgotten here, as by a leader that has just
 * come: when something is owed again the records tell how far it was. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "brain/leader_in.h"

enum { NOTHING = 0, REST = 4, ALL_WORKS = ~0U };

/* --- what rests --- */

static size_t place_of(const struct vel_leader *leader, int64_t id)
{
    const int64_t *ids = leader->resting.items;
    size_t i = 0;

    while (i < leader->resting.n && ids[i] != id)
        i++;
    return i;
}

bool vel_owe_rests(const struct vel_leader *leader, int64_t id)
{
    return place_of(leader, id) < leader->resting.n;
}

static void set_resting(struct vel_leader *leader, int64_t id, bool rests)
{
    size_t i = place_of(leader, id);

    if (!rests && i < leader->resting.n)
        vel_vec_remove(&leader->resting, i);
    else if (rests && i == leader->resting.n && !vel_vec_push(&leader->resting, &id))
        vel_leader_fail(leader, "a dataset that rests");
}

/* What has all its bytes on the prefix, and some names, gets the others first. */
static bool is_publishing(const struct vel_leader *leader, const struct vel_lead *lead)
{
    return lead->state == VEL_DATASET_FLUSHING && lead->is_staged && lead->is_led &&
           leader->is_chair && !leader->is_ended;
}

static void forget(struct vel_leader *leader, int64_t id)
{
    struct vel_lead *lead = vel_lead_get(leader, id);

    if (!lead)
        return;
    vel_part_stop(leader, id, ALL_WORKS);
    vel_lead_remove(leader, lead);
}

/* --- requests --- */

/* A promise; said again it changes nothing. One that is more than what was sealed, or
 * of what rested or another launch has taken, is as of a new dataset: `settle` follows,
 * or it was settled already.
 */
static int promise(struct vel_leader *leader, const struct vel_leader_wait *wait,
                   unsigned *ret_before, struct vel_err *err)
{
    struct vel_lead *lead = vel_lead_get(leader, wait->id);
    unsigned what = (unsigned)wait->owe.what;
    bool rested = vel_owe_rests(leader, wait->id);
    int rc;

    if (leader->is_ended)
        return vel_fail(err, VEL_ECANCEL, "the launch is over");
    rc = leader->ops->owe(leader->arg, &wait->owe, ret_before, err);
    if (rc < 0)
        return rc;
    if (lead && lead->has_seal && (what & ~lead->owed || lead->is_taken) &&
        !is_publishing(leader, lead))
        forget(leader, wait->id);
    set_resting(leader, wait->id, false);
    lead = vel_lead_make(leader, wait->id);
    if (!lead)
        return VEL_ENOMEM;
    lead->is_here = true;
    lead->owed |= what;
    vel_lead_event(leader, lead, VEL_DATASET_ON_CREATE, VEL_DATASET_IF(ROOM));
    if (rested)
        vel_lead_find(leader, VEL_LOOK_ONE, wait->id, NULL);
    return 0;
}

/* True: answered. Taking back waits for what runs. */
static bool take_back(struct vel_leader *leader, const struct vel_leader_wait *wait,
                      unsigned *ret_before, int *ret_rc, struct vel_err *err)
{
    struct vel_lead *lead = vel_lead_get(leader, wait->id);

    if (lead && is_publishing(leader, lead)) {
        /* where it rests already nobody hears of it any more */
        if (lead->is_told && leader->now >= wait->since + leader->conf.limit / 4)
            vel_chair_rename_for(leader, lead, true);
        return false;
    }
    set_resting(leader, wait->id, true);
    forget(leader, wait->id);
    if (leader->ops->is_busy(leader->arg, wait->id))
        return false;
    *ret_rc = leader->ops->owe(leader->arg, &wait->owe, ret_before, err);
    return true;
}

bool vel_owe_try(struct vel_leader *leader, const struct vel_leader_wait *wait)
{
    unsigned before = 0;
    struct vel_err err = {0};
    int rc = 0;

    if (wait->owe.what != NOTHING && wait->owe.what != REST)
        rc = promise(leader, wait, &before, &err);
    else if (!take_back(leader, wait, &before, &rc, &err))
        return false;
    if (rc == 0)
        vel_leader_yes(leader, wait->link, wait->seq, before);
    else
        vel_leader_no(leader, wait->link, wait->seq, rc, err.text);
    return true;
}
