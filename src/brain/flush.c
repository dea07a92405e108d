/* SPDX-License-Identifier: BSD-3-Clause */
/* In which order datasets are flushed, how many nodes copy at a time, and how fast. */
#include "config.h"

#include <string.h>

#include "brain/ending_in.h"

#define REBUILD_LIMITS 2 /* times T that a lost node has to come back */

/* --- width and rate --- */

/* Has it something to copy, or does it keep its share until it is surely gone? */
static bool is_copying(const struct vel_leader *leader, const struct vel_lead *lead,
                       const struct vel_roster_member *member)
{
    return vel_map_has(lead->nodes, member->node) &&
           !vel_map_has(lead->done[VEL_DID_COPY], member->node) &&
           (member->is_here || leader->now < member->gone_at + leader->conf.limit);
}

int64_t vel_flush_upto(const struct vel_leader *leader, const struct vel_lead *lead,
                       int64_t *ret_copying)
{
    int64_t copying = 0;

    for (size_t i = 0; i < leader->roster.members.n; i++) {
        const struct vel_roster_member *member = vel_roster_at(&leader->roster, i);

        if (!is_copying(leader, lead, member))
            continue;
        if (leader->conf.flush_width > 0 && copying == leader->conf.flush_width) {
            *ret_copying = copying;
            return member->place;
        }
        copying++;
    }
    *ret_copying = copying;
    return VEL_RANKS_MAX;
}

uint64_t vel_flush_rate(const struct vel_leader *leader, int64_t copying)
{
    uint64_t rate = leader->conf.flush_bandwidth;

    if (rate == 0 || copying <= 1)
        return rate;
    return rate / (uint64_t)copying > 0 ? rate / (uint64_t)copying : 1;
}

static void tell_share(struct vel_leader *leader, struct vel_lead *lead,
                       const char *node)
{
    const struct vel_leader_link *link = vel_leader_link_to(leader, node);
    struct vel_msg msg = {.kind = VEL_MSG_STEP};

    if (strcmp(node, leader->conf.node) == 0)
        vel_part_copy(leader, lead);
    if (!link)
        return;
    msg.u.step.term = (uint64_t)leader->term;
    msg.u.step.dataset = (uint64_t)lead->id;
    msg.u.step.owner = (uint64_t)lead->seal.owner;
    msg.u.step.step = VEL_TELL_SHARE;
    msg.u.step.upto = (uint64_t)lead->upto;
    msg.u.step.rate = lead->rate;
    vel_leader_send(leader, link->number, &msg);
}

/* Whoever may begin now is told; the others only when their share has doubled, so that
 * what one node hears does not grow with their number. */
void vel_flush_share(struct vel_leader *leader, struct vel_lead *lead)
{
    int64_t before = lead->upto, copying = 0;
    int64_t upto = vel_flush_upto(leader, lead, &copying);
    bool is_for_all = leader->conf.flush_bandwidth > 0 && copying <= lead->copying / 2;

    if (upto <= before && !is_for_all)
        return;
    lead->upto = upto > before ? upto : before;
    if (is_for_all)
        lead->copying = copying;
    lead->rate = vel_flush_rate(leader, lead->copying);
    for (size_t i = 0; i < leader->roster.members.n; i++) {
        const struct vel_roster_member *member = vel_roster_at(&leader->roster, i);

        if (member->place < lead->upto && is_copying(leader, lead, member) &&
            (member->place >= before || is_for_all))
            tell_share(leader, lead, member->node);
    }
}

/* --- order --- */

/* Is it on its way, and does anything of it move? */
static bool is_active(const struct vel_leader *leader, const struct vel_lead *lead)
{
    return lead->is_led && lead->state == VEL_DATASET_FLUSHING &&
           leader->now >= lead->retry_at &&
           (lead->is_staged || vel_chair_is_all_here(leader, lead));
}

static int64_t files_of(const struct vel_lead *lead)
{
    int64_t files = 0;

    for (size_t i = 0; i < lead->seal.members.n; i++)
        files += vel_seal_member(&lead->seal, i)->files;
    return files;
}

/* Has a newer one of the connector, which shares a name with an older one, all of its
 * files, by their number? What it lacks would never come to the prefix. The only file
 * of the older one is the one that they share, whichever rank wrote it. */
static bool covers(const struct vel_lead *newer, const struct vel_lead *older)
{
    size_t k = 0;

    if (!older->seal.template || !*older->seal.template || files_of(older) == 1)
        return true;
    for (size_t i = 0; i < older->seal.members.n; i++) {
        const struct vel_seal_member *member = vel_seal_member(&older->seal, i);

        while (k < newer->seal.members.n &&
               vel_seal_member(&newer->seal, k)->rank < member->rank)
            k++;
        if (member->files > 0 &&
            (k == newer->seal.members.n ||
             vel_seal_member(&newer->seal, k)->rank != member->rank ||
             vel_seal_member(&newer->seal, k)->files < member->files))
            return false;
    }
    return true;
}

bool vel_flush_is_outdated(struct vel_leader *leader, struct vel_lead *lead)
{
    bool is_listed = lead->state == VEL_DATASET_FLUSHING && vel_chair_is_whole(lead);

    for (size_t i = 0; i < leader->leads.n; i++) {
        const struct vel_lead *newer = vel_lead_at(leader, i);
        bool is_published = newer->state == VEL_DATASET_FLUSHED ||
                            (newer->state == VEL_DATASET_FLUSHING && newer->is_staged &&
                             (newer->is_told || covers(newer, lead)));

        if (newer->id > lead->id && is_published &&
            leader->ops->shares(leader->arg, &lead->seal, &newer->seal, is_listed)) {
            lead->by = newer->id;
            return true;
        }
    }
    return false;
}

/* It will be flushed when it is encoded. */
static bool is_to_come(const struct vel_leader *leader, const struct vel_lead *lead)
{
    return lead->state == VEL_DATASET_SEALED && vel_chair_is_all_here(leader, lead);
}

/* Then they share names, whatever this node has of them. */
static bool is_of_key(const struct vel_lead *a, const struct vel_lead *b)
{
    return a->seal.template && *a->seal.template && b->seal.template &&
           strcmp(a->seal.template, b->seal.template) == 0 &&
           strcmp(a->seal.step, b->seal.step) == 0;
}

bool vel_flush_may_publish(struct vel_leader *leader, struct vel_lead *lead)
{
    bool may = vel_chair_knows_all(leader);

    for (size_t i = 0; i < leader->leads.n; i++) {
        struct vel_lead *older = vel_lead_at(leader, i);
        bool is_under_way =
            older->is_led && older->id < lead->id &&
            (older->state == VEL_DATASET_FLUSHING ||
             ((older->state == VEL_DATASET_ENCODED || is_to_come(leader, older)) &&
              older->seal.what & VEL_OWED_FLUSH));

        bool shares =
            is_under_way && leader->ops->shares(leader->arg, &older->seal, &lead->seal,
                                                older->is_staged && lead->is_staged);

        if (!shares && !(is_under_way && is_of_key(older, lead)))
            continue;
        if (!covers(lead, older)) {
            may = false; /* it is published first */
            continue;
        }
        if (shares && !older->is_staged && older->state != VEL_DATASET_SEALED) {
            older->by = lead->id;
            vel_lead_event(leader, older, VEL_DATASET_ON_NEWER, 0);
        }
        may = may && !(shares && older->state == VEL_DATASET_FLUSHING);
    }
    return may;
}

/* --- parts of lost nodes --- */

static bool is_lost_for_good(struct vel_leader *leader, const char *node)
{
    struct vel_roster_member *member = vel_roster_get(&leader->roster, node);
    uint64_t since = member ? member->gone_at : leader->claimed_at;

    if (member && member->is_here)
        return false;
    return leader->now >= since + REBUILD_LIMITS * leader->conf.limit ||
           (member && vel_ending_is_dead(leader, member));
}

static size_t count(const struct vel_vec *nodes, const char *node)
{
    size_t n = 0;

    for (size_t i = 0; i < nodes->n; i++)
        n += strcmp(*(const char **)vel_vec_at(nodes, i), node) == 0;
    return n;
}

/* The node that is here and has fewest members of the set. */
static const char *heir_of(struct vel_leader *leader, const struct vel_lead *lead,
                           int64_t set)
{
    const char *best = NULL;
    size_t least = SIZE_MAX;
    struct vel_vec nodes; /* of its members: few of them all */

    vel_vec_init(&nodes, sizeof(char *));
    for (size_t i = 0; i < lead->seal.members.n; i++)
        if (vel_seal_member(&lead->seal, i)->set == set &&
            !vel_vec_push(&nodes, &vel_seal_member(&lead->seal, i)->node))
            vel_leader_fail(leader, "the nodes of a set");
    for (size_t i = 0; i < leader->roster.members.n; i++) {
        const struct vel_roster_member *member = vel_roster_at(&leader->roster, i);
        size_t n = member->is_here ? count(&nodes, member->node) : SIZE_MAX;

        if (n < least) {
            best = member->node;
            least = n;
        }
    }
    vel_vec_fini(&nodes);
    return best;
}

/* Of late files a part has what the dataset before has of its rank. A node that left
 * before it heard of the seal has never taken that; and it stands where it was. */
bool vel_flush_may_move(struct vel_leader *leader, const struct vel_lead *lead,
                        const struct vel_seal_member *member)
{
    const struct vel_roster_member *node =
        vel_roster_get(&leader->roster, member->node);
    bool has_left = node && !node->is_here && node->has_left;
    bool is_only_before = lead->seal.after > 0 && member->upto == 0;

    return lead->seal.template && *lead->seal.template &&
           (member->files == 0 ? has_left || is_lost_for_good(leader, member->node)
                               : has_left && is_only_before && !lead->seal.is_encoded);
}

void vel_flush_move(struct vel_leader *leader, const struct vel_lead *lead,
                    struct vel_seal_member *member)
{
    member->files = member->bytes = 0;
    vel_leader_text(leader, &member->node, heir_of(leader, lead, member->set));
}

static bool move_parts(struct vel_leader *leader, struct vel_lead *lead,
                       struct vel_seal *seal)
{
    bool has_moved = false;

    for (size_t i = 0; i < seal->members.n; i++) {
        struct vel_seal_member *member = vel_vec_at(&seal->members, i);
        bool is_empty = vel_flush_may_move(leader, lead, member);
        bool is_away = is_empty || (lead->seal.is_encoded &&
                                    is_lost_for_good(leader, member->node) &&
                                    !vel_chair_has_left(leader, lead, member->set));

        if (!is_away || vel_map_has(lead->done[VEL_DID_COPY], member->node))
            continue;
        const char *node = heir_of(leader, lead, member->set);
        if (!node)
            continue;
        if (is_empty)
            vel_flush_move(leader, lead, member);
        else
            vel_leader_text(leader, &member->node, node);
        if (!is_empty && vel_seal_form_again(seal, member->set, NULL) < 0)
            vel_leader_fail(leader, "a seal");
        has_moved = true;
    }
    return has_moved && !leader->failure.status;
}

void vel_flush_rebuild(struct vel_leader *leader, struct vel_lead *lead)
{
    struct vel_seal seal;

    if (lead->is_staged) /* nobody copies any more */
        return;
    vel_flush_share(leader, lead);
    if (vel_chair_is_all_here(leader, lead))
        return;
    if (vel_seal_copy(&lead->seal, &seal, NULL) < 0) {
        vel_leader_fail(leader, "a seal");
        return;
    }
    if (!move_parts(leader, lead, &seal)) {
        vel_seal_fini(&seal);
        return;
    }
    /* a lost node that thaws still writes and removes files under the old number */
    lead->seal.owner = 0;
    if (!vel_chair_entry(leader, lead, VEL_ON_FLUSHING)) {
        vel_seal_fini(&seal);
        vel_chair_later(leader, lead);
        return;
    }
    seal.owner = lead->seal.owner;
    vel_chair_clear(leader, lead, VEL_DID_COPY);
    vel_part_learn(leader, lead, &seal);
    vel_chair_next_attempt(leader, lead);
    vel_chair_tell_moved(leader, lead);
    leader->steps++;
}

/* --- beginning --- */

/* A set that is formed again needs all of its nodes: who does not come back is
 * replaced, and the flush claimed anew. */
static void give_heirs(struct vel_leader *leader, struct vel_lead *lead)
{
    struct vel_seal seal;

    vel_chair_clear(leader, lead, VEL_DID_COPY);
    if (vel_seal_copy(&lead->seal, &seal, NULL) < 0) {
        vel_leader_fail(leader, "a seal");
    } else if (move_parts(leader, lead, &seal)) {
        seal.owner = 0;
        vel_part_learn(leader, lead, &seal);
        leader->steps++;
    } else {
        vel_seal_fini(&seal);
    }
}

void vel_flush_begin(struct vel_leader *leader, struct vel_lead *lead)
{
    if (!(lead->seal.what & VEL_OWED_FLUSH))
        return;
    if (vel_flush_is_outdated(leader, lead)) {
        vel_lead_event(leader, lead, VEL_DATASET_ON_NEWER, 0);
        return;
    }
    for (size_t i = 0; i < leader->leads.n; i++) {
        const struct vel_lead *other = vel_lead_at(leader, i);
        bool waits = other->id > lead->id && other->is_staged && !covers(other, lead) &&
                     leader->ops->shares(leader->arg, &lead->seal, &other->seal, false);

        if (is_active(leader, other) && !waits)
            return;
    }
    if (lead->seal.again.n == 0 || vel_chair_is_all_here(leader, lead))
        vel_lead_event(leader, lead, VEL_DATASET_ON_FLUSH, 0);
    else
        give_heirs(leader, lead);
}
