/* SPDX-License-Identifier: BSD-3-Clause */
/* Which ranks are on a node, have left it or have vanished: told to the chair. */
#include "config.h"

#include <inttypes.h>
#include <string.h>

#include "brain/connector_in.h"

static bool has_rank(const struct vel_leader *leader, int64_t rank)
{
    for (size_t i = 0; i < leader->processes.n; i++) {
        const struct vel_leader_link *link = vel_leader_process(leader, i);

        if (link->rank == rank)
            return true;
    }
    return false;
}

static void put_rank(struct vel_buf *ret, int64_t rank, const char *mark)
{
    vel_buf_printf(ret, "%s%" PRId64 "%s", ret->len > 0 ? " " : "", rank, mark);
}

/* Of a process that is here: what it waits for at its end ends well, for now. */
static const char *mark_of(enum vel_leaving leaving)
{
    if (leaving == VEL_FAILS)
        return "!";
    return leaving == VEL_STAYS ? "" : "-";
}

void vel_present_print(const struct vel_leader *leader, struct vel_buf *ret)
{
    const struct vel_vec *ranks = &leader->connector->gone;

    for (size_t i = 0; i < leader->processes.n; i++) {
        const struct vel_leader_link *link = vel_leader_process(leader, i);

        if (link->rank != VEL_MSG_NO_RANK)
            put_rank(ret, link->rank, mark_of(link->leaving));
    }
    for (size_t i = 0; i < ranks->n; i++) {
        const struct vel_rank_gone *gone = vel_vec_at(ranks, i);

        if (!has_rank(leader, gone->rank))
            put_rank(ret, gone->rank, gone->how == VEL_LEAVES ? "-" : "!");
    }
}

bool vel_leader_has_lost(const struct vel_leader *leader)
{
    const struct vel_vec *ranks = &leader->connector->gone;

    for (size_t i = 0; i < ranks->n; i++) {
        const struct vel_rank_gone *gone = vel_vec_at(ranks, i);
        bool has_spoken = gone->how == VEL_LEAVES || gone->how == VEL_FAILS;

        if (!has_spoken && !has_rank(leader, gone->rank))
            return true;
    }
    return false;
}

int64_t vel_leader_nodes(const struct vel_leader *leader)
{
    int64_t n = 0;

    for (size_t i = 0; i < leader->roster.members.n; i++) {
        const struct vel_roster_member *member = vel_roster_at(&leader->roster, i);

        n += member->present && *member->present;
    }
    return n > 0 ? n : 1; /* a process without a rank */
}

bool vel_present_has_left(const struct vel_leader *leader)
{
    for (size_t i = 0; i < leader->processes.n; i++) {
        const struct vel_leader_link *link = vel_leader_process(leader, i);

        if (link->leaving == VEL_STAYS)
            return false;
    }
    return leader->has_served || leader->conf.is_guest;
}

void vel_present_tell(struct vel_leader *leader)
{
    const struct vel_leader_link *chair = vel_leader_link_to(leader, leader->chair);
    struct vel_connector *connector = leader->connector;
    struct vel_msg msg = {.kind = VEL_MSG_PRESENT};
    struct vel_buf ranks;

    if (!leader->is_chair && (!leader->is_welcome || !chair))
        return;
    vel_buf_init(&ranks);
    vel_present_print(leader, &ranks);
    msg.u.present.left = vel_present_has_left(leader);
    msg.u.present.ranks = vel_buf_text(&ranks);
    if (!connector->present_told || (msg.u.present.left != 0) != connector->left_told ||
        strcmp(connector->present_told, msg.u.present.ranks) != 0) {
        msg.seq = vel_leader_next_seq(leader);
        msg.u.present.term = (uint64_t)leader->term;
        if (leader->is_chair) {
            connector->has_changed = true;
        } else {
            vel_announce_flush(leader);
            vel_leader_send(leader, chair->number, &msg);
        }
        connector->left_told = msg.u.present.left != 0;
        vel_leader_text(leader, &connector->present_told, msg.u.present.ranks);
    }
    vel_buf_fini(&ranks);
}

void vel_present_hear(struct vel_leader *leader, const struct vel_leader_link *from,
                      const struct vel_msg_present *present)
{
    struct vel_roster_member *member =
        leader->is_chair ? vel_roster_get(&leader->roster, from->node) : NULL;

    if (!member)
        return;
    if (!vel_roster_tell(member, present->ranks))
        vel_leader_fail(leader, "the roster");
    member->has_left = present->left != 0;
    leader->connector->present_at = leader->now;
    leader->connector->has_changed = true;
    leader->steps++;
}
