/* SPDX-License-Identifier: BSD-3-Clause */
/* Up and down the tree. A leader hears from the chair itself until it has told it that
 * it hears from its parent; who has lost its parent joins the chair again. So a step is
 * told twice at most, and never not at all. */
#include "config.h"

#include <string.h>

#include "brain/connector_in.h"

enum { NODES_MOST = 65535 };

static struct vel_leader_link *link_at(const struct vel_leader *leader, size_t i)
{
    return vel_vec_at(&leader->links, i);
}

/* Those below must look for another way up. */
static void dismiss(struct vel_leader *leader)
{
    for (size_t i = 0; i < leader->links.n; i++) {
        struct vel_leader_link *link = link_at(leader, i);

        if (link->is_child)
            vel_leader_no(leader, link->number, 0, VEL_ELOST,
                          "this leader is in no tree");
        link->is_child = false;
    }
}

static void clear(struct vel_lead_up *up)
{
    vel_buf_clear(&up->nodes);
    up->reports = 0;
}

void vel_tree_reset(struct vel_leader *leader)
{
    dismiss(leader);
    vel_announce_reset(leader);
    leader->is_attached = false;
    leader->tree_seq = 0;
    vel_leader_text(leader, &leader->parents, NULL);
    vel_leader_text(leader, &leader->parent, NULL);
    for (size_t i = 0; i < leader->leads.n; i++)
        for (size_t step = 0; step < VEL_DID_STEPS; step++)
            clear(&vel_lead_at(leader, i)->up[step]); /* told again to the next chair */
}

static void ask_parent(struct vel_leader *leader, const struct vel_leader_link *link)
{
    struct vel_msg msg = {.kind = VEL_MSG_JOIN, .seq = vel_leader_next_seq(leader)};

    leader->tree_seq = msg.seq;
    vel_leader_send(leader, link->number, &msg);
}

void vel_tree_attach(struct vel_leader *leader)
{
    const char *rest = leader->parents ? leader->parents : "";
    char node[VEL_ROSTER_NAME];

    leader->is_attached = false;
    leader->tree_seq = 0;
    if (!vel_words_next(&rest, node)) {
        vel_leader_text(leader, &leader->parent, NULL); /* the chair it is */
        return;
    }
    memmove(leader->parents, rest, strlen(rest) + 1);
    vel_leader_text(leader, &leader->parent, node);
    const struct vel_leader_link *link = vel_leader_link_to(leader, node);
    if (link)
        ask_parent(leader, link);
    else
        leader->ops->connect(leader->arg, node);
}

static bool is_parent(const struct vel_leader *leader, const char *node)
{
    return leader->parent && strcmp(leader->parent, node) == 0;
}

void vel_tree_met(struct vel_leader *leader, struct vel_leader_link *link)
{
    if (is_parent(leader, link->node) && !leader->is_attached && leader->tree_seq == 0)
        ask_parent(leader, link);
}

static void join_again(struct vel_leader *leader)
{
    vel_tree_reset(leader);
    leader->is_joined = leader->is_welcome = false;
    leader->free_at = leader->now + leader->conf.limit;
    vel_leader_at(leader, VEL_TIMER_LOOK, leader->now);
}

void vel_tree_gone(struct vel_leader *leader, const char *node)
{
    if (!is_parent(leader, node) || leader->is_chair)
        return;
    if (leader->is_attached)
        join_again(leader);
    else
        vel_tree_attach(leader);
}

/* Two that connect to each other at once have two connections. */
void vel_tree_cut(struct vel_leader *leader, const char *node)
{
    bool is_chair = leader->chair && strcmp(leader->chair, node) == 0;

    if (leader->is_chair || !leader->is_joined ||
        !(is_chair || is_parent(leader, node)))
        return;
    join_again(leader);
    vel_serve_lost_chair(leader);
    leader->is_cut = is_chair;
}

void vel_tree_joined(struct vel_leader *leader, struct vel_leader_link *link,
                     uint64_t seq)
{
    struct vel_msg msg = {.kind = VEL_MSG_WELCOME, .seq = seq};

    if (!leader->is_welcome) {
        vel_leader_no(leader, link->number, seq, VEL_ESTATE,
                      "this leader is not the chair, and in no tree");
        return;
    }
    link->is_child = true;
    msg.u.welcome.term = (uint64_t)leader->term;
    msg.u.welcome.place = (uint64_t)leader->place;
    vel_leader_send(leader, link->number, &msg);
}

void vel_tree_welcome(struct vel_leader *leader, const struct vel_msg_welcome *welcome)
{
    const struct vel_leader_link *chair = vel_leader_link_to(leader, leader->chair);
    struct vel_msg msg = {.kind = VEL_MSG_PARTED, .seq = vel_leader_next_seq(leader)};

    if (!leader->parent || leader->is_attached)
        return;
    if (!chair || (int64_t)welcome->term != leader->term) {
        vel_tree_attach(leader);
        return;
    }
    leader->is_attached = true;
    msg.u.parted.term = (uint64_t)leader->term;
    msg.u.parted.how = 1;
    vel_leader_send(leader, chair->number, &msg);
}

/* --- down --- */

static void down_from_chair(struct vel_leader *leader, struct vel_msg *msg)
{
    for (size_t i = 0; i < leader->roster.members.n; i++) {
        const struct vel_roster_member *member = vel_roster_at(&leader->roster, i);
        const struct vel_leader_link *link =
            member->is_here && member->is_direct && member->place > 0
                ? vel_leader_link_to(leader, member->node)
                : NULL;

        if (link)
            vel_leader_send(leader, link->number, msg);
    }
}

void vel_tree_down(struct vel_leader *leader, struct vel_msg *msg, uint64_t except)
{
    msg->seq = 0;
    if (leader->is_chair) {
        down_from_chair(leader, msg);
        return;
    }
    for (size_t i = 0; i < leader->links.n; i++) {
        const struct vel_leader_link *link = link_at(leader, i);

        if (link->is_child && link->number != except)
            vel_leader_send(leader, link->number, msg);
    }
}

/* --- up --- */

struct vel_leader_link *vel_tree_up(const struct vel_leader *leader)
{
    if (leader->is_chair || !leader->is_welcome)
        return NULL;
    return vel_leader_link_to(
        leader, leader->is_attached && leader->parent ? leader->parent : leader->chair);
}

void vel_tree_tell_soon(struct vel_leader *leader, unsigned reports)
{
    unsigned children = 0;

    for (size_t i = 0; i < leader->links.n; i++)
        children += link_at(leader, i)->is_child;
    vel_leader_at(leader, VEL_TIMER_UP,
                  reports > children ? leader->now
                                     : leader->now + leader->conf.limit / 100);
}

/* Is attempt `a` older than `b`? They are 16 bits of a number that grows. */
static bool is_older(uint64_t a, uint64_t b)
{
    return (int16_t)(a - b) < 0;
}

void vel_tree_add(struct vel_leader *leader, struct vel_lead *lead,
                  const struct vel_msg_done *done)
{
    struct vel_lead_up *up = &lead->up[done->step - 1];

    if (up->nodes.len > 0 && is_older(done->attempt, up->attempt))
        return;
    if (up->nodes.len > 0 && is_older(up->attempt, done->attempt))
        clear(up);
    vel_buf_printf(&up->nodes, "%s%s", up->nodes.len > 0 ? " " : "", done->nodes);
    up->attempt = done->attempt;
    vel_tree_tell_soon(leader, ++up->reports);
}

static void tell_up(struct vel_leader *leader, const struct vel_leader_link *link,
                    struct vel_lead *lead, enum vel_step_done step)
{
    struct vel_lead_up *up = &lead->up[step];
    char *rest = up->nodes.data;

    while (rest) { /* in pieces that fit */
        struct vel_msg msg = {.kind = VEL_MSG_DONE, .seq = vel_leader_next_seq(leader)};
        char *end = NULL;

        if (strlen(rest) > NODES_MOST)
            for (end = rest + NODES_MOST; *end != ' ';)
                end--;
        if (end)
            *end = '\0';
        msg.u.done.term = (uint64_t)leader->term;
        msg.u.done.dataset = (uint64_t)lead->id;
        msg.u.done.step = step + 1;
        msg.u.done.attempt = up->attempt;
        msg.u.done.nodes = rest;
        vel_leader_send(leader, link->number, &msg);
        rest = end ? end + 1 : NULL;
    }
    clear(up);
}

void vel_tree_flush(struct vel_leader *leader)
{
    const struct vel_leader_link *link = vel_tree_up(leader);

    for (size_t i = 0; link && i < leader->leads.n; i++)
        for (size_t step = 0; step < VEL_DID_STEPS; step++)
            if (vel_lead_at(leader, i)->up[step].nodes.len > 0)
                tell_up(leader, link, vel_lead_at(leader, i), step);
    vel_announce_flush(leader);
}
