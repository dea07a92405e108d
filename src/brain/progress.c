/* SPDX-License-Identifier: BSD-3-Clause */
/* How far datasets are: for who asks, and for who waits until nothing is left. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>

#include "brain/connector_in.h"
#include "brain/progress_in.h"

bool vel_progress_is_deserted(const struct vel_leader *leader,
                              const struct vel_lead *lead)
{
    return lead->state == VEL_DATASET_ANNOUNCED && leader->has_served &&
           vel_leader_processes(leader) == 0 &&
           leader->now >= leader->left_at + leader->conf.limit;
}

uint64_t vel_progress_left(const struct vel_leader *leader, int64_t id)
{
    const struct vel_lead *lead = vel_lead_get(leader, id);
    uint64_t left = 0;

    if (id > 0)
        return lead && !vel_progress_is_deserted(leader, lead) ? vel_lead_left(lead)
                                                               : 0;
    if (!leader->is_ended)
        left += vel_generation_left(leader);
    for (size_t i = 0; i < leader->leads.n; i++) {
        lead = vel_lead_at(leader, i);
        if (!vel_connector_hands_back(leader, lead->id) &&
            !vel_progress_is_deserted(leader, lead))
            left += vel_lead_left(lead);
    }
    return left;
}

uint64_t vel_progress_moved(const struct vel_leader *leader)
{
    uint64_t moved = leader->moved_before;

    for (size_t i = 0; i < leader->leads.n; i++)
        moved += vel_lead_at(leader, i)->moved;
    return moved;
}

/* What owes no encoding may be flushed before anybody has told that it is encoded. */
static bool is_protected(const struct vel_lead *lead)
{
    return lead->seal.is_encoded || (lead->state == VEL_DATASET_FLUSHING &&
                                     !(lead->seal.what & VEL_OWED_ENCODE));
}

void vel_progress_answer(struct vel_leader *leader, uint64_t link, uint64_t seq,
                         int64_t id, int rc, const char *text)
{
    const struct vel_lead *lead = vel_lead_get(leader, id);
    struct vel_msg msg = {.kind = VEL_MSG_STATE, .seq = seq};

    msg.u.state.dataset = (uint64_t)id;
    msg.u.state.left = vel_progress_left(leader, id);
    msg.u.state.moved = lead ? lead->moved : vel_progress_moved(leader);
    if (lead) {
        msg.u.state.state = lead->state;
        msg.u.state.encoded = is_protected(lead);
        msg.u.state.status = (uint64_t)-lead->status;
        msg.u.state.text = lead->text;
    }
    if (rc < 0) {
        msg.u.state.status = (uint64_t)-rc;
        msg.u.state.text = text;
    }
    vel_leader_send(leader, link, &msg);
}

/* Of all that is owed the first that has failed; NULL: none has. */
static const struct vel_lead *find_failed(const struct vel_leader *leader, int64_t id)
{
    for (size_t i = 0; i < leader->leads.n; i++) {
        const struct vel_lead *lead = vel_lead_at(leader, i);

        if ((id == 0 || lead->id == id) && lead->status < 0 && lead->text &&
            vel_progress_left(leader, lead->id) > 0)
            return lead;
    }
    return NULL;
}

static void answer_stalled(struct vel_leader *leader,
                           const struct vel_leader_wait *wait)
{
    const struct vel_lead *failed = find_failed(leader, wait->id);
    char text[1024], span[32] = "FLUSH_STALL";

    if (wait->patience != leader->conf.stall)
        snprintf(span, sizeof span, "%" PRIu64 " s", wait->patience / VEL_CLOCK_S);
    snprintf(text, sizeof text,
             "%.800s%snothing has moved for %s; what is owed stays on record",
             failed ? failed->text : "", failed ? ": " : "", span);
    vel_progress_answer(leader, wait->link, wait->seq, wait->id, VEL_ETIMEOUT, text);
}

void vel_progress_once(struct vel_leader *leader, struct vel_leader_wait *wait)
{
    struct vel_lead *lead = vel_lead_get(leader, wait->id);

    wait->failures = lead ? lead->failures + 1 : 1;
    if (lead && lead->retry_at > leader->now)
        lead->retry_at = leader->now;
}

/* Others know of their own nodes, and not what has failed elsewhere. */
static bool may_answer(const struct vel_leader *leader,
                       const struct vel_leader_wait *wait)
{
    return wait->id == 0 || leader->is_chair;
}

static bool has_failed(const struct vel_leader *leader,
                       const struct vel_leader_wait *wait)
{
    const struct vel_lead *lead = vel_lead_get(leader, wait->id);

    return wait->failures > 0 && lead && lead->failures >= wait->failures;
}

/* Of a dataset that could not be looked for nobody knows whether anything is left. */
static void look_again(struct vel_leader *leader, struct vel_leader_wait *wait)
{
    if (wait->again_at > 0 && leader->now >= wait->again_at)
        wait->again_at = vel_lead_find(leader, VEL_LOOK_ONE, wait->id, NULL)
                             ? 0
                             : leader->now + leader->conf.limit / 4;
    if (wait->again_at > 0)
        vel_leader_at(leader, VEL_TIMER_SOON, wait->again_at);
}

static bool is_as_wanted(const struct vel_leader *leader,
                         const struct vel_leader_wait *wait)
{
    const struct vel_lead *lead = vel_lead_get(leader, wait->id);

    return wait->how == VEL_UNTIL_PROTECTED && lead && is_protected(lead);
}

bool vel_progress_drain(struct vel_leader *leader, struct vel_leader_wait *wait)
{
    uint64_t since = leader->moved_at > wait->since ? leader->moved_at : wait->since;

    look_again(leader, wait);
    if (may_answer(leader, wait) && wait->again_at == 0 &&
        (vel_progress_left(leader, wait->id) == 0 || has_failed(leader, wait) ||
         is_as_wanted(leader, wait))) {
        vel_progress_answer(leader, wait->link, wait->seq, wait->id, 0, NULL);
        return true;
    }
    if (leader->is_ended) {
        vel_progress_answer(leader, wait->link, wait->seq, wait->id, VEL_ECANCEL,
                            "the launch is over, it flushes nothing more");
        return true;
    }
    if (wait->passed_on) /* the chair hears of all */
        return false;
    if (leader->now < since + wait->patience) {
        vel_leader_at(leader, VEL_TIMER_SOON, since + wait->patience);
        return false;
    }
    answer_stalled(leader, wait);
    return true;
}
