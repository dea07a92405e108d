/* SPDX-License-Identifier: BSD-3-Clause */
/* Looking: for a chair, a newer one, the end of the launch, tombstones. */
#include "config.h"

#include <string.h>

#include "brain/connector_in.h"

/* Of this node's one that has lost the lock since is gone. */
static bool is_vacant(const struct vel_leader *leader,
                      const struct vel_leader_chair *found)
{
    return found->term == 0 || strcmp(found->node, leader->conf.node) == 0 ||
           leader->ops->is_gone(leader->arg, found->node);
}

static void note_chair(struct vel_leader *leader, const struct vel_leader_chair *found)
{
    leader->term = found->term;
    vel_leader_text(leader, &leader->chair, found->node);
}

/* One that is newer, of a node that was asked in vain before, has no more time for it:
 * its claims may get no further than their titles. */
static void follow(struct vel_leader *leader, bool is_same)
{
    uint64_t free_at = leader->free_at, sought_at = leader->sought_at;

    vel_launch_event(leader, VEL_LAUNCH_ON_CHAIR);
    if (is_same && free_at < leader->free_at) {
        leader->free_at = free_at;
        leader->sought_at = sought_at;
    }
}

/* Who has left after it had ended the launch is no reason to begin anew. */
static void found_chair(struct vel_leader *leader, const struct vel_leader_chair *found)
{
    bool is_newer = found->term > leader->term, is_free = is_vacant(leader, found);
    bool is_same = leader->sought_at > 0 && strcmp(leader->chair, found->node) == 0;
    bool has_time = (is_newer && !is_same) || leader->now < leader->free_at;

    if (is_free && !vel_launch_may_tell(leader))
        return;
    if (is_newer) {
        note_chair(leader, found);
        vel_serve_lost_chair(leader);
    }
    if (is_free || !has_time) {
        if (!is_free && leader->sought_at > 0)
            vel_leader_in_vain(leader, leader->sought_at, "the chair on ", found->node);
        vel_launch_event(leader, VEL_LAUNCH_ON_FREE);
    } else if (is_newer) {
        follow(leader, is_same);
    } else {
        vel_launch_reach(leader);
    }
}

void vel_launch_look(struct vel_leader *leader)
{
    struct vel_leader_chair found = {0};

    if (leader->is_chair || leader->state == VEL_LAUNCH_NONE)
        return;
    if (!leader->has_view && leader->ops->load_view(leader->arg, NULL) == 0)
        vel_launch_event(leader, VEL_LAUNCH_ON_THERE);
    if (leader->is_welcome && leader->has_view)
        return;
    vel_leader_at(leader, VEL_TIMER_LOOK,
                  leader->now +
                      (leader->is_welcome ? leader->conf.limit / 4 : VEL_LOOK_EVERY));
    if (!leader->is_welcome && leader->ops->chair(leader->arg, &found, NULL) == 0)
        found_chair(leader, &found);
}

void vel_launch_newer(struct vel_leader *leader, int64_t term)
{
    if (term <= leader->term)
        return;
    leader->is_joined = leader->is_welcome = false;
    vel_leader_at(leader, leader->is_chair ? VEL_TIMER_BEAT : VEL_TIMER_LOOK,
                  leader->now);
}

/* It may not have heard of all nodes yet: most join while a launch begins. */
static bool is_new(const struct vel_leader *leader)
{
    return leader->now < leader->claimed_at + leader->conf.limit / 2;
}

/* Whoever meets in this launch waits until the beat has moved. */
static uint64_t beat_every(const struct vel_leader *leader)
{
    return leader->conf.limit / (is_new(leader) ? 60 : 4);
}

/* Nodes with processes that have not left. Whoever is gone has none for us. */
static void put_living(const struct vel_leader *leader, struct vel_buf *ret)
{
    for (size_t i = 0; i < leader->roster.members.n; i++) {
        const struct vel_roster_member *member = vel_roster_at(&leader->roster, i);
        bool is_self = strcmp(member->node, leader->conf.node) == 0;

        if (is_self ? !vel_present_has_left(leader)
                    : member->is_here && !member->has_left)
            vel_buf_printf(ret, "%s%s", ret->len > 0 ? " " : "", member->node);
    }
}

void vel_launch_beat(struct vel_leader *leader)
{
    struct vel_leader_chair found = {0};
    struct vel_buf living;

    if (!leader->is_chair)
        return;
    vel_leader_at(leader, VEL_TIMER_BEAT, leader->now + beat_every(leader));
    vel_buf_init(&living);
    put_living(leader, &living);
    leader->ops->beat(leader->arg, ++leader->beat, vel_buf_text(&living),
                      is_new(leader), NULL); /* again at the next */
    vel_buf_fini(&living);
    if (leader->ops->chair(leader->arg, &found, NULL) == 0 &&
        found.term > leader->term) {
        note_chair(leader, &found);
        vel_launch_event(leader, VEL_LAUNCH_ON_CHAIR);
    }
    vel_launch_may_tell(leader);
}

bool vel_launch_may_tell(struct vel_leader *leader)
{
    bool is_ended = false;

    if (!leader->is_ended) {
        if (leader->ops->is_ended(leader->arg, &is_ended, NULL) < 0)
            return false;
        if (is_ended)
            vel_launch_event(leader, VEL_LAUNCH_ON_ENDED);
    }
    return !leader->is_ended;
}

/* Promised, and its parts were removed before it was settled: by another program that
 * shares these caches. */
static bool is_gone(const struct vel_leader *leader, const struct vel_lead *lead)
{
    return lead->is_here && lead->state == VEL_DATASET_ANNOUNCED &&
           !leader->ops->is_held(leader->arg, lead->id);
}

/* Records that could not be read: the prefix may answer again. */
static void look_again(struct vel_leader *leader)
{
    unsigned unread = leader->unread;

    leader->unread = 0;
    if (unread & 1U << VEL_LOOK_OWED)
        vel_lead_find(leader, VEL_LOOK_OWED, 0, NULL);
    if (unread & (1U << VEL_LOOK_SEALS | 1U << VEL_LOOK_VIEW) && leader->is_chair &&
        leader->has_view)
        vel_chair_adopt(leader);
}

void vel_launch_check(struct vel_leader *leader)
{
    look_again(leader);
    vel_leader_at(leader, VEL_TIMER_CHECK, leader->now + leader->conf.limit);
    vel_launch_may_tell(leader);
    vel_chair_check(leader);
    for (size_t i = 0; i < leader->leads.n; i++) {
        struct vel_lead *lead = vel_lead_at(leader, i);
        bool is_dropped = false;

        if ((lead->is_here || lead->is_led) && lead->state != VEL_DATASET_LOST &&
            leader->ops->is_dropped(leader->arg, lead->id, &is_dropped, NULL) == 0 &&
            (is_dropped || is_gone(leader, lead)))
            vel_lead_event(leader, lead, VEL_DATASET_ON_DROP, 0);
    }
}
