/* SPDX-License-Identifier: BSD-3-Clause */
/* What a chair does until there is a view: it takes the others in, ends launches that
 * are over, asks what the nodes hold. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "brain/connector_in.h"

enum { HELD_MOST = 1 << 20, TOLD_LIMITS = 4 };

/* --- launches that may be over --- */

void vel_round_forget_others(struct vel_vec *others)
{
    for (size_t i = 0; i < others->n; i++) {
        struct vel_leader_other *other = vel_vec_at(others, i);

        free(other->launch);
        free(other->nodes);
        free(other->living);
    }
    vel_vec_fini(others);
    vel_vec_init(others, sizeof(struct vel_leader_other));
}

enum verdict { OVER, LIVES, PARTLY_OVER, UNDECIDED };

/* What those of its nodes say that have joined. One that never had a node has just
 * begun, or was killed then: its beat tells. */
static enum verdict judge(const struct vel_leader *leader,
                          const struct vel_leader_other *other)
{
    const char *nodes = other->nodes;
    bool is_missed = !*nodes, is_joined = false;
    char node[VEL_ROSTER_NAME];

    if (other->lives)
        return LIVES;
    if (other->is_left)
        return OVER;
    while (vel_words_next(&nodes, node)) {
        const struct vel_roster_member *member = vel_roster_get(&leader->roster, node);

        if (!member || !member->is_here)
            is_missed = true;
        else if (!vel_words_have(member->over, other->launch))
            return LIVES;
        else
            is_joined = true;
    }
    return !is_missed ? OVER : is_joined ? PARTLY_OVER : UNDECIDED;
}

static const struct vel_leader_other *find_other(const struct vel_vec *others,
                                                 const char *launch)
{
    for (size_t i = 0; i < others->n; i++) {
        const struct vel_leader_other *other = vel_vec_at(others, i);

        if (strcmp(other->launch, launch) == 0)
            return other;
    }
    return NULL;
}

/* Does the chair of that launch miss all that have not joined here? */
static bool are_missed(const struct vel_leader *leader,
                       const struct vel_leader_other *other)
{
    return !other->is_new && other->living &&
           vel_roster_has_all(&leader->roster, other->living);
}

/* The beat of a launch whose processes are gone may go on: agents flush what they made.
 * Where its nodes say so, or are gone for its chair as well, it is over: who waited for
 * them would restart from something older. */
static bool is_over(const struct vel_leader *leader,
                    const struct vel_leader_other *other)
{
    const struct vel_leader_other *first = find_other(&leader->others, other->launch);
    bool was_watched = leader->now - leader->claimed_at >= leader->conf.limit / 2;
    bool stands = first && was_watched && first->beat == other->beat;

    switch (judge(leader, other)) {
    case OVER:
        return true;
    case PARTLY_OVER:
        return stands || are_missed(leader, other);
    case UNDECIDED:
        return stands;
    case LIVES:
        break;
    }
    return false;
}

int vel_round_end_others(struct vel_leader *leader, struct vel_err *err)
{
    struct vel_vec others;

    vel_vec_init(&others, sizeof(struct vel_leader_other));
    int rc = leader->ops->others(leader->arg, &others, err);
    for (size_t i = 0; rc == 0 && i < others.n; i++) {
        const struct vel_leader_other *other = vel_vec_at(&others, i);

        if (is_over(leader, other))
            rc = leader->ops->end_other(leader->arg, other->launch, err);
    }
    vel_round_forget_others(&others);
    return rc;
}

/* --- taking in --- */

static void take_self(struct vel_leader *leader)
{
    struct vel_buf present, over;

    vel_buf_init(&present);
    vel_buf_init(&over);
    vel_leader_present(leader, &present);
    leader->ops->over(leader->arg, &over, NULL);
    if (!vel_roster_join(&leader->roster, leader->conf.node, vel_buf_text(&present),
                         vel_buf_text(&over)))
        vel_leader_fail(leader, "the roster");
    vel_buf_fini(&present);
    vel_buf_fini(&over);
}

void vel_round_open(struct vel_leader *leader)
{
    vel_roster_fini(&leader->roster);
    vel_roster_init(&leader->roster);
    take_self(leader);
    leader->ops->left(leader->arg, &leader->roster, leader->now);
    if (leader->has_view)
        return;
    vel_round_forget_others(&leader->others);
    leader->ops->others(leader->arg, &leader->others, NULL);
    vel_buf_clear(&leader->known);
    leader->has_roll = false;
    if (leader->view_since == 0)
        leader->view_since = leader->now;
    vel_leader_at(leader, VEL_TIMER_ROLL, leader->view_since + leader->conf.view_limit);
    vel_leader_at(leader, VEL_TIMER_SOON, leader->now + leader->conf.limit / 2);
}

void vel_round_joined(struct vel_leader *leader)
{
    const struct vel_msg_join *join = &leader->msg->u.join;
    struct vel_roster_member *member =
        vel_roster_join(&leader->roster, leader->from->node, join->present, join->over);

    if (!member) {
        vel_leader_fail(leader, "the roster");
        return;
    }
    if (*join->named)
        vel_buf_printf(&leader->known, " %s", join->named);
    vel_buf_clear(&member->held);
    member->parts = 0;
    vel_launch_event(leader, VEL_LAUNCH_ON_JOINED);
}

void vel_round_welcome(struct vel_leader *leader, bool is_late)
{
    const struct vel_roster_member *member =
        vel_roster_get(&leader->roster, leader->from->node);
    struct vel_msg msg = {.kind = VEL_MSG_WELCOME, .seq = leader->msg->seq};
    struct vel_buf parents;

    vel_buf_init(&parents);
    vel_roster_parents(&leader->roster, member->place, &parents);
    msg.u.welcome.term = (uint64_t)leader->term;
    msg.u.welcome.place = (uint64_t)member->place;
    msg.u.welcome.parents = vel_buf_text(&parents);
    vel_leader_send(leader, leader->from->number, &msg);
    vel_buf_fini(&parents);
    if (!is_late)
        return;
    if (leader->state != VEL_LAUNCH_VIEW) {
        struct vel_msg view = {.kind = VEL_MSG_VIEW,
                               .u.view.term = (uint64_t)leader->term};

        vel_leader_send(leader, leader->from->number, &view);
        vel_chair_joined(leader, leader->from->node);
    } else if (member->is_awaited) { /* it came back before it was missed */
        struct vel_msg gather = {.kind = VEL_MSG_GATHER,
                                 .u.gather.term = (uint64_t)leader->term};

        vel_leader_send(leader, leader->from->number, &gather);
    }
}

void vel_round_parted(struct vel_leader *leader)
{
    struct vel_roster_member *member =
        leader->is_chair ? vel_roster_get(&leader->roster, leader->from->node) : NULL;

    if (member && leader->msg->u.parted.how == 0 &&
        vel_parting_is_needed(leader, member->node)) {
        vel_leader_no(leader, leader->from->number, leader->msg->seq, VEL_EBUSY,
                      "a dataset has a part there that is not taken yet");
        return;
    }
    vel_leader_yes(leader, leader->from->number, leader->msg->seq, 0);
    if (!member)
        return;
    if (leader->msg->u.parted.how == 1)
        member->is_direct = false;
    else
        vel_round_gone(leader, member->node, false);
}

void vel_round_gone(struct vel_leader *leader, const char *node, bool is_lost)
{
    struct vel_roster_member *member = vel_roster_get(&leader->roster, node);

    if (!member || !member->is_here)
        return;
    member->is_here = member->is_direct = false;
    member->is_awaited = member->is_awaited && is_lost; /* another process may tell */
    member->has_left = member->has_left || !is_lost;
    member->gone_at = leader->now;
    vel_launch_event(leader, VEL_LAUNCH_ON_GONE);
    vel_expect_gone(leader, node);
    if (is_lost)
        vel_chair_gone(leader, node);
    else
        vel_chair_parted(leader, node);
}

/* --- the view --- */

static uint64_t settled_at(const struct vel_leader *leader)
{
    return leader->view_since + leader->conf.view_limit + 2 * leader->conf.limit;
}

/* Launches of which nodes say that they are over, and whose chairs still count on
 * others: those are lost, and a chair learns of it within its limit. Who did not wait
 * would restart from something older, so we do, beyond VIEW_WAIT, but not for ever. One
 * look is for all of them. */
static bool are_settled(struct vel_leader *leader)
{
    struct vel_vec others;
    bool are = true;

    if (leader->now >= settled_at(leader))
        return true;
    if (leader->now < leader->others_at)
        return false;
    leader->others_at = leader->now + leader->conf.limit / 8;
    vel_leader_at(leader, VEL_TIMER_SOON, leader->others_at);
    vel_vec_init(&others, sizeof(struct vel_leader_other));
    if (leader->ops->others(leader->arg, &others, NULL) < 0)
        are = false;
    for (size_t i = 0; are && i < others.n; i++) {
        const struct vel_leader_other *other = vel_vec_at(&others, i);

        are = judge(leader, other) != PARTLY_OVER || is_over(leader, other);
    }
    vel_round_forget_others(&others);
    return are;
}

/* Programs that are started at once see each other begin: one that had no node when it
 * was first seen has one moments later, lives, and has made nothing that we could miss.
 * It is looked for in steps that grow. */
static void look_who_begins(struct vel_leader *leader)
{
    uint64_t least = leader->conf.limit / 1000,
             pause = (leader->now - leader->claimed_at) / 2;
    struct vel_vec others;

    if (leader->now < leader->begun_at)
        return;
    leader->begun_at = leader->now + (pause > least ? pause : least);
    vel_leader_at(leader, VEL_TIMER_SOON, leader->begun_at);
    vel_vec_init(&others, sizeof(struct vel_leader_other));
    if (leader->ops->others(leader->arg, &others, NULL) == 0)
        for (size_t i = 0; i < leader->others.n; i++) {
            struct vel_leader_other *first = vel_vec_at(&leader->others, i);
            const struct vel_leader_other *other = find_other(&others, first->launch);

            first->lives = !*first->nodes && (!other || *other->nodes);
        }
    vel_round_forget_others(&others);
}

/* Have all come whose caches matter? To know who they are takes all seals of launches
 * before this one, which do not change with every node that joins; but a dataset may
 * come to the prefix meanwhile. */
static bool have_come(struct vel_leader *leader)
{
    const struct vel_roster *roster = &leader->roster;

    if (!leader->has_roll || leader->now >= leader->roll_at) {
        vel_buf_clear(&leader->roll);
        leader->has_roll = leader->ops->known(leader->arg, &leader->roll, NULL) == 0 &&
                           vel_buf_status(&leader->roll, NULL) == 0;
        leader->roll_at = leader->now + leader->conf.limit / 8;
    }
    if (leader->has_roll &&
        (leader->roll.len == 0 ||
         (vel_roster_has_all(roster, vel_buf_text(&leader->roll)) &&
          vel_roster_has_all(roster, vel_buf_text(&leader->known)) &&
          vel_roster_has_all(roster, leader->conf.named))))
        return true;
    vel_leader_at(leader, VEL_TIMER_SOON, leader->roll_at);
    return false;
}

/* Without inventories there is nothing to wait for but whether the other launches are
 * over: what one of them has made is nobody else's until it has an end. For that we
 * wait however short VIEW_WAIT is: of what a launch has made that is wrongly taken to
 * live nothing could be restored. */
bool vel_round_is_ready(struct vel_leader *leader)
{
    bool is_ready = leader->now >= leader->view_since + leader->conf.view_limit ||
                    have_come(leader);
    bool is_partly_over = false;

    for (size_t i = 0; is_ready && i < leader->others.n; i++) {
        enum verdict verdict = judge(leader, vel_vec_at(&leader->others, i));

        is_partly_over = is_partly_over || verdict == PARTLY_OVER;
        if (verdict != UNDECIDED)
            continue;
        is_ready = leader->now - leader->claimed_at >= leader->conf.limit / 2;
        if (!is_ready)
            look_who_begins(leader);
    }
    return is_ready && (!is_partly_over || are_settled(leader));
}

/* Of these nodes, those that have not come. */
static void put_missed(const struct vel_leader *leader, const char *nodes,
                       struct vel_buf *ret)
{
    char node[VEL_ROSTER_NAME];

    while (vel_words_next(&nodes, node))
        if (!vel_roster_has(&leader->roster, node) &&
            !vel_words_have(vel_buf_text(ret), node))
            vel_buf_printf(ret, " %s", node);
}

static void tell_not_come(const struct vel_leader *leader)
{
    struct vel_buf missed;

    vel_buf_init(&missed);
    put_missed(leader, vel_buf_text(&leader->roll), &missed);
    put_missed(leader, vel_buf_text(&leader->known), &missed);
    put_missed(leader, leader->conf.named, &missed);
    vel_leader_in_vain(
        leader, leader->view_since,
        "what nodes have in their caches (VIEW_WAIT):", vel_buf_text(&missed));
    vel_buf_fini(&missed);
}

void vel_round_tell_missed(struct vel_leader *leader)
{
    uint64_t since = leader->view_since;

    if (leader->now >= since + leader->conf.view_limit && !have_come(leader))
        tell_not_come(leader);
    for (size_t i = 0; i < leader->others.n; i++) {
        const struct vel_leader_other *other = vel_vec_at(&leader->others, i);
        enum verdict verdict = judge(leader, other);

        if (verdict == UNDECIDED)
            vel_leader_in_vain(leader, leader->claimed_at, "a sign of life of launch ",
                               other->launch);
        else if (verdict == PARTLY_OVER && leader->now >= settled_at(leader))
            vel_leader_in_vain(leader, since, "the lost nodes of launch ",
                               other->launch);
    }
}

void vel_round_gather(struct vel_leader *leader)
{
    struct vel_msg msg = {.kind = VEL_MSG_GATHER,
                          .u.gather.term = (uint64_t)leader->term};

    for (size_t i = 0; i < leader->roster.members.n; i++) {
        struct vel_roster_member *member = vel_roster_at(&leader->roster, i);

        member->is_awaited = member->is_here;
        member->parts = 0;
        vel_buf_clear(&member->held);
    }
    leader->asked_at = leader->now;
    vel_leader_at(leader, VEL_TIMER_TOLD,
                  leader->now + TOLD_LIMITS * leader->conf.limit);
    vel_tree_down(leader, &msg, 0);
    vel_part_start(leader, NULL, VEL_WORK_HOLD, 0, NULL);
}

void vel_round_held(struct vel_leader *leader, const void *bytes, size_t len)
{
    struct vel_roster_member *self =
        leader->is_chair ? vel_roster_get(&leader->roster, leader->conf.node) : NULL;
    const struct vel_leader_link *link = vel_leader_link_to(leader, leader->chair);
    size_t parts = len == 0 ? 1 : (len + HELD_MOST - 1) / HELD_MOST;

    if (leader->state != VEL_LAUNCH_VIEW)
        return;
    if (self && self->is_awaited) {
        vel_buf_append(&self->held, bytes, len);
        self->parts = 1;
        self->is_awaited = false;
    }
    for (size_t i = 0; !leader->is_chair && link && i < parts; i++) {
        struct vel_msg msg = {.kind = VEL_MSG_HELD, .seq = vel_leader_next_seq(leader)};
        size_t at = i * HELD_MOST;

        msg.u.held.term = (uint64_t)leader->term;
        msg.u.held.part = i;
        msg.u.held.parts = parts;
        msg.u.held.record.at = (const char *)bytes + at;
        msg.u.held.record.len = len - at < HELD_MOST ? len - at : HELD_MOST;
        vel_leader_send(leader, link->number, &msg);
    }
}

void vel_round_keep(struct vel_leader *leader)
{
    struct vel_roster_member *member =
        vel_roster_get(&leader->roster, leader->from->node);
    const struct vel_msg_held *held = &leader->msg->u.held;

    if (!member || !member->is_awaited || (int64_t)held->part != member->parts)
        return;
    vel_buf_append(&member->held, held->record.at, held->record.len);
    member->parts++;
    member->is_awaited = (uint64_t)member->parts < held->parts;
}

/* Who was lost before it has told is waited for like who has not come: without it what
 * only its cache has would be taken for lost, and that for good. */
bool vel_round_is_counted(const struct vel_leader *leader)
{
    uint64_t until = leader->view_since + leader->conf.view_limit;
    bool is = true;

    for (size_t i = 0; is && i < leader->roster.members.n; i++) {
        const struct vel_roster_member *member = vel_roster_at(&leader->roster, i);

        is = !member->is_awaited || (!member->is_here && leader->now >= until);
    }
    return is || leader->now >= leader->asked_at + TOLD_LIMITS * leader->conf.limit;
}

void vel_round_tell_silent(const struct vel_leader *leader)
{
    for (size_t i = 0; i < leader->roster.members.n; i++) {
        const struct vel_roster_member *member = vel_roster_at(&leader->roster, i);

        if (member->is_awaited)
            vel_leader_in_vain(leader, leader->asked_at,
                               "what a node has in its caches: ", member->node);
    }
}

int vel_round_make_view(struct vel_leader *leader, struct vel_err *err)
{
    struct vel_vec held;
    int rc = 0;

    vel_vec_init(&held, sizeof(struct vel_leader_held));
    for (size_t i = 0; rc == 0 && i < leader->roster.members.n; i++) {
        const struct vel_roster_member *member = vel_roster_at(&leader->roster, i);
        struct vel_leader_held one = {member->node, member->held.data,
                                      member->held.len};

        if (member->is_awaited || member->parts == 0)
            continue;
        rc = vel_buf_status(&member->held, err);
        if (rc == 0 && !vel_vec_push(&held, &one))
            rc = vel_out_of_memory(err, "the view");
    }
    if (rc == 0)
        rc = leader->ops->make_view(leader->arg, &held, err);
    vel_vec_fini(&held);
    return rc < 0 ? rc : leader->ops->load_view(leader->arg, err);
}

void vel_round_tell_view(struct vel_leader *leader)
{
    struct vel_msg msg = {.kind = VEL_MSG_VIEW, .u.view.term = (uint64_t)leader->term};

    for (size_t i = 0; i < leader->roster.members.n; i++)
        vel_buf_fini(&vel_roster_at(&leader->roster, i)->held);
    vel_tree_down(leader, &msg, 0);
}
