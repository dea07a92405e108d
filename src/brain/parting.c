/* SPDX-License-Identifier: BSD-3-Clause */
/* A node that has nothing to do any more asks the chair before it leaves: that may just
 * have sealed a dataset with files that this node is to link from an older one. */
#include "config.h"

#include <string.h>

#include "brain/connector_in.h"

enum { AGAIN_PART = 8 }; /* of T: between two attempts */

static struct vel_leader_link *link_up(const struct vel_leader *leader)
{
    return !leader->is_chair && leader->is_welcome
               ? vel_leader_link_to(leader, leader->chair)
               : NULL;
}

static uint64_t say(struct vel_leader *leader, const struct vel_leader_link *link)
{
    struct vel_msg msg = {.kind = VEL_MSG_PARTED, .seq = vel_leader_next_seq(leader)};

    msg.u.parted.term = (uint64_t)leader->term;
    vel_leader_send(leader, link->number, &msg);
    return msg.seq;
}

bool vel_parting_may(struct vel_leader *leader)
{
    struct vel_parting *parting = &leader->parting;
    const struct vel_leader_link *link = link_up(leader);

    if (!link || leader->is_ended || parting->is_let)
        return true;
    if (parting->since == 0)
        parting->since = leader->now;
    if (leader->now >= parting->since + leader->conf.limit) {
        vel_leader_in_vain(leader, parting->since, "leave to go of the chair on ",
                           leader->chair);
        return true;
    }
    if (parting->link != link->number || leader->now >= parting->again_at) {
        parting->link = link->number;
        parting->seq = say(leader, link);
        parting->again_at = leader->now + leader->conf.limit / AGAIN_PART;
    }
    vel_leader_at(leader, VEL_TIMER_SOON, parting->again_at);
    return false;
}

void vel_parting_stays(struct vel_leader *leader)
{
    bool was_asked = leader->parting.link != 0; /* the answer may be on its way */

    leader->parting = (struct vel_parting){0};
    if (!was_asked || leader->is_chair)
        return;
    leader->is_joined = leader->is_welcome = false;
    vel_leader_at(leader, VEL_TIMER_LOOK, leader->now);
}

void vel_parting_let(struct vel_leader *leader, const struct vel_leader_link *from,
                     uint64_t seq)
{
    struct vel_parting *parting = &leader->parting;

    parting->is_let =
        parting->is_let || (seq == parting->seq && from->number == parting->link);
}

void vel_parting_tell(struct vel_leader *leader)
{
    const struct vel_leader_link *link = link_up(leader);

    if (link && !leader->parting.is_let)
        say(leader, link);
}

bool vel_parting_is_needed(const struct vel_leader *leader, const char *node)
{
    for (size_t i = 0; i < leader->leads.n; i++) {
        const struct vel_lead *lead = vel_lead_at(leader, i);

        if (lead->is_led && lead->state == VEL_DATASET_SEALED &&
            vel_map_has(lead->nodes, node) &&
            !vel_map_has(lead->done[VEL_DID_ENCODE], node) &&
            !leader->ops->is_before(leader->arg, lead->id)) /* readers do not wait */
            return true;
    }
    return false;
}
