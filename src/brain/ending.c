/* SPDX-License-Identifier: BSD-3-Clause */
/* The end of a launch: what a leader without processes still waits for. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "brain/connector_in.h"
#include "brain/mark_in.h"
#include "brain/progress_in.h"

enum {
    AGAIN_PART = 50, /* of T: between looks whether a lost node is dead */
    TELL_AFTER = 2,  /* s: an end that takes longer is explained */
    PIECE = 1,       /* s, or less of T: between two pieces of a part that is pulled */
    LITTLE = 100000, /* bytes: what is left is not told as a number */
};

/* Files that are in no dataset yet wait for the others, as long as there is a chair. */
static bool has_unsealed(const struct vel_leader *leader)
{
    return vel_generation_left(leader) > 0 || vel_expect_owes(leader);
}

static bool has_tasks(const struct vel_leader *leader)
{
    for (size_t i = 0; i < leader->tasks.n; i++) {
        const struct vel_leader_task *task = vel_vec_at(&leader->tasks, i);

        if (!vel_connector_hands_back(leader, task->id))
            return true;
    }
    return false;
}

/* Others wait for what a node has in its caches, and whether it was here at all: one
 * whose ranks have made files tells that before it goes, and is no node that was lost.
 */
static bool has_not_told(const struct vel_leader *leader)
{
    return leader->connector->has_made && !leader->has_view && !leader->is_ended;
}

bool vel_ending_owes(const struct vel_leader *leader)
{
    for (size_t i = 0; i < leader->leads.n; i++) {
        const struct vel_lead *lead = vel_lead_at(leader, i);

        /* of what is published older ones are removed, which only a launch may */
        if (lead->state == VEL_DATASET_FLUSHED &&
            leader->ops->is_busy(leader->arg, lead->id))
            return true;
        if (vel_lead_is_over(lead) || vel_connector_hands_back(leader, lead->id))
            continue;
        if (lead->state == VEL_DATASET_ANNOUNCED
                ? !vel_progress_is_deserted(leader, lead)
                : lead->is_led || lead->owed || (leader->is_chair && lead->has_seal))
            return true;
    }
    /* what could not be read may be owed, too */
    return leader->unread || leader->waits.n > 0 || has_tasks(leader) ||
           has_unsealed(leader) || has_not_told(leader);
}

/* --- who might still come --- */

bool vel_ending_is_dead(struct vel_leader *leader, struct vel_roster_member *member)
{
    if (!member->is_dead && leader->now >= member->looked_at) {
        member->looked_at = leader->now + leader->conf.limit / AGAIN_PART;
        member->is_dead = leader->ops->is_gone(leader->arg, member->node);
    }
    if (!member->is_dead)
        vel_leader_at(leader, VEL_TIMER_SOON, member->looked_at);
    return member->is_dead;
}

/* A lost node that may come back with another leader, or NULL. */
static struct vel_roster_member *find_missed(struct vel_leader *leader)
{
    for (size_t i = 0; i < leader->roster.members.n; i++) {
        struct vel_roster_member *member = vel_roster_at(&leader->roster, i);

        if (!member->is_here && !member->has_left &&
            !vel_ending_is_dead(leader, member))
            return member;
    }
    return NULL;
}

static bool is_last(const struct vel_leader *leader)
{
    struct vel_buf other;

    vel_buf_init(&other);
    bool is = leader->ops->is_last(leader->arg, &other);
    vel_buf_fini(&other);
    return is;
}

/* Whoever was lost only now may be about to come back; whoever has an endpoint, to join
 * this chair, which is new: that of the chair before it may be one of them. */
bool vel_ending_is_alone(struct vel_leader *leader)
{
    const struct vel_roster_member *missed = find_missed(leader);

    if (vel_roster_here(&leader->roster) > 1 ||
        (missed && leader->now < missed->gone_at + 2 * leader->conf.limit))
        return false;
    if (leader->now >= leader->claimed_at + leader->conf.limit || is_last(leader))
        return true;
    vel_leader_at(leader, VEL_TIMER_SOON,
                  leader->now + leader->conf.limit / AGAIN_PART);
    return false;
}

/* Nodes that are waited for: " (no answer from node2, node3)", or nothing. */
static void print_missed(const struct vel_leader *leader, struct vel_buf *ret)
{
    size_t n = 0;

    for (size_t i = 0; leader->is_chair && i < leader->roster.members.n; i++) {
        const struct vel_roster_member *member = vel_roster_at(&leader->roster, i);

        if (!member->is_here && !member->has_left && !member->is_dead)
            vel_buf_printf(ret, "%s%s", n++ ? ", " : " (no answer from ", member->node);
    }
    vel_buf_puts(ret, n ? ")" : "");
}

/* The program whose end waits says what for, once. */
static void tell_left(struct vel_leader *leader)
{
    uint64_t at = leader->left_at + TELL_AFTER * UINT64_C(1000000000);
    uint64_t left = vel_progress_left(leader, 0);
    struct vel_buf missed;
    char what[32];

    if (leader->conf.is_agent || leader->conf.is_guest || leader->is_end_told)
        return;
    if (leader->now < at) {
        vel_leader_at(leader, VEL_TIMER_SOON, at);
        return;
    }
    leader->is_end_told = true;
    vel_buf_init(&missed);
    print_missed(leader, &missed);
    snprintf(what, sizeof what, "%.1f MB", (double)left / 1e6);
    if (left > 0)
        vel_log(VEL_LOG_WARN,
                "the program ends when %s are protected and on the prefix%s, or when "
                "nothing has moved for %.0f s (FLUSH_STALL)",
                left < LITTLE ? "its last files" : what, vel_buf_text(&missed),
                (double)leader->conf.stall / 1e9);
    else
        vel_log(VEL_LOG_WARN, "the program ends when its other nodes have ended%s",
                vel_buf_text(&missed));
    vel_buf_fini(&missed);
}

void vel_leader_asked(struct vel_leader *leader, uint64_t number)
{
    struct vel_leader_link *link = vel_leader_link(leader, number);

    if (link)
        link->asked_at = leader->now;
}

/* Who pulls a part from here asks for its pieces one after the other. */
static bool is_asked(struct vel_leader *leader)
{
    uint64_t part = leader->conf.limit / AGAIN_PART,
             most = PIECE * UINT64_C(1000000000);

    for (size_t i = 0; i < leader->links.n; i++) {
        const struct vel_leader_link *link = vel_vec_at(&leader->links, i);
        uint64_t until = link->asked_at + (part < most ? part : most);

        if (link->asked_at > 0 && leader->now < until) {
            vel_leader_at(leader, VEL_TIMER_SOON, until);
            return true;
        }
    }
    return false;
}

/* The last one ends the launch: a chair gives the others time to leave before it, and
 * who has no chair becomes one first. */
static bool is_drained(struct vel_leader *leader)
{
    uint64_t since =
        leader->moved_at > leader->left_at ? leader->moved_at : leader->left_at;
    uint64_t patience = 2 * leader->conf.limit;

    if (vel_leader_processes(leader) > 0)
        return false;
    if (leader->is_ended)
        return true;
    if (vel_ending_owes(leader) || vel_mark_is_left(leader)) {
        leader->idle_at = leader->now;
        return !(has_unsealed(leader) && (leader->is_chair || leader->is_welcome)) &&
               leader->now >= since + leader->conf.stall;
    }
    if (is_asked(leader)) {
        leader->idle_at = leader->now;
        return false;
    }
    if (leader->idle_at < leader->left_at)
        leader->idle_at = leader->left_at;
    if (leader->is_chair ? vel_ending_is_alone(leader) : leader->is_welcome)
        return true;
    return leader->now >= leader->idle_at + patience;
}

bool vel_ending_is_drained(struct vel_leader *leader)
{
    bool is = is_drained(leader);

    if (!is && vel_leader_processes(leader) == 0)
        tell_left(leader);
    return is;
}

/* --- what is said of it --- */

void vel_leader_in_vain(const struct vel_leader *leader, uint64_t since,
                        const char *whom, const char *which)
{
    vel_log_in_vain(leader->conf.launch, leader->now - since, whom, which);
}

/* Who may be about to join, to the end. */
static void tell_comers(const struct vel_leader *leader)
{
    struct vel_buf other;

    vel_buf_init(&other);
    if (!leader->ops->is_last(leader->arg, &other))
        vel_leader_in_vain(leader, leader->claimed_at,
                           "a node to join: ", vel_buf_text(&other));
    vel_buf_fini(&other);
}

static void tell_staying(const struct vel_leader *leader)
{
    for (size_t i = 0; i < leader->roster.members.n; i++) {
        const struct vel_roster_member *member = vel_roster_at(&leader->roster, i);

        if (member->is_here && strcmp(member->node, leader->conf.node) != 0)
            vel_leader_in_vain(leader, leader->idle_at,
                               "a node to leave: ", member->node);
    }
}

void vel_ending_tell_missed(struct vel_leader *leader)
{
    uint64_t limit = leader->conf.limit, last = leader->claimed_at + limit;
    const struct vel_roster_member *missed = NULL;

    if (leader->is_ended || leader->idle_at == 0) /* it has not waited */
        return;
    if (leader->is_chair)
        missed = find_missed(leader);
    if (missed && leader->idle_at < missed->gone_at + 2 * limit)
        vel_leader_in_vain(leader, missed->gone_at, "node ", missed->node);
    else if (leader->is_chair && vel_roster_here(&leader->roster) > 1)
        tell_staying(leader);
    else if (leader->is_chair && !missed && leader->idle_at < last &&
             leader->now >= last)
        tell_comers(leader);
    else if (!leader->is_chair && !leader->is_welcome &&
             leader->now >= leader->idle_at + 2 * limit)
        vel_leader_in_vain(leader, leader->idle_at, "a chair", "");
}
