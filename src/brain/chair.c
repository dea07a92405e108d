/* SPDX-License-Identifier: BSD-3-Clause */
/* What whoever leads a dataset hears of the nodes, and what is due then. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "brain/connector_in.h"
#include "brain/expect_in.h"

void vel_chair_resign(struct vel_leader *leader)
{
    leader->is_chair = false;
    vel_expect_reset(leader);
    for (size_t i = 0; i < leader->leads.n; i++) {
        struct vel_lead *lead = vel_lead_at(leader, i);

        lead->is_led = false;
        for (size_t step = 0; step < VEL_DID_STEPS; step++)
            vel_chair_clear(leader, lead, step);
    }
    vel_round_forget_others(&leader->others);
    vel_vec_fini(&leader->asks);
    vel_buf_fini(&leader->known);
    vel_buf_fini(&leader->roll);
    vel_roster_fini(&leader->roster);
    vel_roster_init(&leader->roster);
}

int vel_chair_settle(struct vel_leader *leader, int64_t id, const void *record,
                     size_t len, struct vel_err *err)
{
    struct vel_lead *lead = vel_lead_get(leader, id);
    struct vel_seal seal;
    int rc;

    if (lead && lead->state > VEL_DATASET_ANNOUNCED)
        return 0; /* asked again */
    rc = vel_seal_decode_settled(id, record, len, &seal, err);
    leader->seal_rc = 0;
    if (rc < 0)
        return rc;
    lead = vel_lead_make(leader, id);
    if (!lead) {
        vel_seal_fini(&seal);
        return vel_out_of_memory(err, "a dataset");
    }
    vel_part_learn(leader, lead, &seal);
    if (vel_lead_event(leader, lead, VEL_DATASET_ON_REPORT,
                       VEL_DATASET_IF(WHOLE) | VEL_DATASET_IF(CHAIR)))
        return lead->state > VEL_DATASET_ANNOUNCED
                   ? 0
                   : vel_fail(err, VEL_ECANCEL, "dataset %lld: the launch was ended",
                              (long long)id);
    return vel_fail(err, leader->seal_rc == VEL_ETIMEOUT ? VEL_ETIMEOUT : VEL_EIO,
                    "dataset %lld: its seal cannot be written", (long long)id);
}

/* --- what nodes say --- */

bool vel_chair_is_whole(const struct vel_lead *lead)
{
    enum vel_step_done step = lead->state == VEL_DATASET_SEALED ? VEL_DID_ENCODE
                              : lead->is_staged                 ? VEL_DID_RENAME
                                                                : VEL_DID_COPY;

    if (lead->state == VEL_DATASET_SEALED &&
        (lead->seal.is_encoded || !(lead->seal.what & VEL_OWED_ENCODE)))
        return true;
    for (size_t i = 0; i < vel_map_count(lead->nodes); i++)
        if (!vel_map_has(lead->done[step], vel_map_key(lead->nodes, i)))
            return false;
    return true;
}

/* A part that is empty can be anywhere: whoever left before it could have one is not
 * waited for. */
static void reseat(struct vel_leader *leader, struct vel_lead *lead)
{
    struct vel_seal seal;
    bool has_moved = false;

    if (vel_seal_copy(&lead->seal, &seal, NULL) < 0) {
        vel_leader_fail(leader, "a seal");
        return;
    }
    for (size_t i = 0; i < seal.members.n; i++) {
        struct vel_seal_member *member = vel_vec_at(&seal.members, i);

        if (!vel_flush_may_move(leader, lead, member))
            continue;
        vel_flush_move(leader, lead, member);
        has_moved = true;
    }
    if (has_moved && !leader->failure.status) {
        vel_part_learn(leader, lead, &seal);
        leader->steps++;
    } else {
        vel_seal_fini(&seal);
    }
}

/* Is nobody of it away who may come back? */
static bool is_all_that_comes(const struct vel_leader *leader,
                              const struct vel_lead *lead)
{
    for (size_t i = 0; i < vel_map_count(lead->nodes); i++) {
        const struct vel_roster_member *member =
            vel_roster_get(&leader->roster, vel_map_key(lead->nodes, i));

        if (!member || !(member->is_here || member->has_left))
            return false;
    }
    return true;
}

/* What is damaged, and cannot be made again from what all nodes have, stays so: nobody
 * waits for it. What is not protected yet is tried without protection first. */
/* Of what a launch before has staged something is not there any more, or another's. */
static bool is_past_naming(struct vel_leader *leader, const struct vel_lead *lead,
                           int rc)
{
    return lead->is_staged && (rc == VEL_ECORRUPT || rc == VEL_ENOENT) &&
           leader->ops->is_before(leader->arg, lead->id);
}

static void hear_failed(struct vel_leader *leader, struct vel_lead *lead, int rc,
                        const char *text)
{
    bool is_hopeless = lead->state == VEL_DATASET_FLUSHING &&
                       (is_past_naming(leader, lead, rc) ||
                        ((rc == VEL_ECORRUPT || rc == VEL_EINVAL || rc == VEL_EUNSUP) &&
                         !lead->is_staged && is_all_that_comes(leader, lead)));

    if (vel_lead_is_broken(lead, rc)) {
        if (!lead->is_broken)
            vel_chair_later(leader, lead);
        lead->is_broken = true; /* a member is lost, or was: formed again */
        vel_lead_event(leader, lead, VEL_DATASET_ON_GONE, 0);
        return;
    }
    if (rc == VEL_ESTATE && !vel_chair_is_owner(leader, lead))
        return; /* a newer one goes on with it: nothing has failed */
    vel_lead_failed(leader, lead, rc, text);
    if (!vel_lead_event(leader, lead, VEL_DATASET_ON_FAIL, 0) &&
        lead->state == VEL_DATASET_FLUSHING) {
        lead->is_told = false; /* a full prefix: not even that can be recorded */
        vel_chair_later(leader, lead);
    }
    if (!is_hopeless)
        return;
    vel_part_taken(leader, lead); /* the next launch may have more luck */
    lead->is_told = false;
}

void vel_chair_done(struct vel_leader *leader, struct vel_lead *lead,
                    const struct vel_msg_done *done)
{
    const char *nodes = done->nodes;
    char node[VEL_ROSTER_NAME];

    if (!lead->is_led || (int64_t)done->attempt != lead->seal.attempt)
        return; /* of an attempt that has been given up: it is said again */
    if (done->step == VEL_DONE_FAILED) {
        hear_failed(leader, lead, done->status ? -(int)done->status : VEL_EIO,
                    done->text);
        return;
    }
    leader->moved_at = leader->now;
    while (vel_words_next(&nodes, node))
        if (vel_map_has(lead->nodes, node) &&
            vel_map_set(lead->done[done->step - 1], node, leader, NULL) < 0)
            vel_leader_fail(leader, "a dataset");
    vel_lead_event(leader, lead, VEL_DATASET_ON_DONE, 0);
    if (lead->state == VEL_DATASET_FLUSHING && !lead->is_staged && lead->is_told)
        vel_flush_share(leader, lead);
    leader->steps++; /* it may be whole */
}

bool vel_chair_is_all_here(const struct vel_leader *leader, const struct vel_lead *lead)
{
    for (size_t i = 0; i < vel_map_count(lead->nodes); i++)
        if (!vel_roster_has(&leader->roster, vel_map_key(lead->nodes, i)))
            return false;
    return true;
}

/* At the next check. */
static void ask_again(struct vel_leader *leader, int64_t id, uint64_t link)
{
    const struct vel_leader_ask ask = {id, link};

    for (size_t i = 0; i < leader->asks.n; i++) {
        const struct vel_leader_ask *known = vel_vec_at(&leader->asks, i);

        if (known->id == id && known->link == link)
            return;
    }
    if (!vel_vec_push(&leader->asks, &ask))
        vel_leader_fail(leader, "a report");
}

void vel_chair_report(struct vel_leader *leader, int64_t id, uint64_t link)
{
    struct vel_lead *lead = vel_lead_get(leader, id);

    if (!lead || !lead->has_seal || lead->seal.is_cut) {
        if (!vel_lead_find(leader, VEL_LOOK_ONE, id, NULL))
            ask_again(leader, id, link);
        lead = vel_lead_get(leader, id);
    }
    if (lead)
        vel_chair_lead(leader, lead);
    if (lead && lead->is_taken)
        lead->is_told = false; /* so the asker is told, with all others */
    /* else it is not sealed yet, or cannot be claimed now */
    if (lead && lead->is_led) {
        leader->asker = link;
        vel_lead_event(leader, lead, VEL_DATASET_ON_REPORT, 0);
        leader->asker = 0;
    }
    lead = link == 0 ? vel_lead_get(leader, id) : NULL;
    if (lead && lead->has_seal) {
        vel_generation_sealed(leader, &lead->seal);
        vel_part_parts(leader, lead);
    }
}

void vel_chair_joined(struct vel_leader *leader, const char *node)
{
    const struct vel_leader_link *link = vel_leader_link_to(leader, node);

    for (size_t i = 0; link && i < leader->leads.n; i++) {
        const struct vel_lead *lead = vel_lead_at(leader, i);

        if (lead->is_led && !vel_lead_is_over(lead))
            vel_chair_report(leader, lead->id, link->number);
    }
}

void vel_chair_gone(struct vel_leader *leader, const char *node)
{
    for (size_t i = 0; i < leader->leads.n; i++) {
        struct vel_lead *lead = vel_lead_at(leader, i);
        bool is_member = vel_map_has(lead->nodes, node);

        if (!lead->is_led || vel_lead_is_over(lead))
            continue;
        if (lead->state == VEL_DATASET_SEALED && is_member) {
            vel_map_remove(lead->done[VEL_DID_ENCODE], node);
            lead->is_broken = true;
        }
        if (lead->state == VEL_DATASET_FLUSHING)
            is_member =
                is_member &&
                !vel_map_has(
                    lead->done[lead->is_staged ? VEL_DID_RENAME : VEL_DID_COPY], node);
        vel_lead_event(leader, lead, VEL_DATASET_ON_GONE,
                       is_member ? 0 : VEL_DATASET_IF(SPARE));
    }
}

void vel_chair_parted(struct vel_leader *leader, const char *node)
{
    for (size_t i = 0; i < leader->leads.n; i++) {
        struct vel_lead *lead = vel_lead_at(leader, i);

        if (lead->is_led && lead->state == VEL_DATASET_SEALED &&
            vel_map_has(lead->nodes, node) &&
            !vel_map_has(lead->done[VEL_DID_ENCODE], node))
            lead->is_broken = true; /* told of too late */
    }
}

/* --- what is due --- */

static void advance_one(struct vel_leader *leader, struct vel_lead *lead)
{
    if (!lead->is_told && lead->state > VEL_DATASET_ANNOUNCED) {
        vel_chair_tell(leader, lead);
        leader->steps += lead->is_told;
    } else if (lead->state == VEL_DATASET_SEALED) {
        if (lead->is_broken && !vel_chair_is_all_here(leader, lead))
            reseat(leader, lead);
        else if (lead->is_broken)
            vel_lead_event(leader, lead, VEL_DATASET_ON_REPORT, VEL_DATASET_IF(WHOLE));
        else if (!lead->is_broken && vel_chair_is_whole(lead))
            vel_lead_event(leader, lead, VEL_DATASET_ON_DONE, VEL_DATASET_IF(WHOLE));
    } else if (lead->state > VEL_DATASET_FLUSHING || !vel_chair_knows_all(leader)) {
        return; /* another one of the same names may be on its way */
    } else if (lead->state == VEL_DATASET_ENCODED) {
        vel_flush_begin(leader, lead);
    } else if (lead->state == VEL_DATASET_FLUSHING) {
        if (!vel_chair_is_whole(lead))
            vel_flush_rebuild(leader, lead);
        else if (lead->is_staged || !vel_flush_is_outdated(leader, lead))
            vel_lead_event(leader, lead, VEL_DATASET_ON_DONE, VEL_DATASET_IF(WHOLE));
        else
            vel_lead_event(leader, lead, VEL_DATASET_ON_NEWER, 0);
    }
}

/* Can a node that has left still come back? For T another program may start on it, as
 * long as not all ranks have been here and somebody is left to wait. */
static bool may_come_back(struct vel_leader *leader,
                          const struct vel_roster_member *node)
{
    return leader->state != VEL_LAUNCH_ENDING &&
           leader->now < node->gone_at + leader->conf.limit &&
           !vel_census_have_all_come(leader);
}

static bool has_done(const struct vel_lead *lead, const char *node)
{
    bool is_sealed = lead->state == VEL_DATASET_SEALED;

    return vel_map_has(lead->done[is_sealed ? VEL_DID_ENCODE : VEL_DID_COPY], node);
}

/* Do the parts of a set that are here make up for those that are not? None do while it
 * is being formed. */
static bool is_borne(const struct vel_leader *leader, const struct vel_lead *lead,
                     int64_t set)
{
    bool is_formed = lead->seal.is_encoded && !vel_seal_is_again(&lead->seal, set);
    int64_t away = 0, failures = 0;

    for (size_t i = 0; i < lead->seal.members.n; i++) {
        const struct vel_seal_member *member = vel_seal_member(&lead->seal, i);

        if (member->set != set)
            continue;
        failures = is_formed ? member->failures : 0;
        away += member->files > 0 && !has_done(lead, member->node) &&
                !vel_roster_has(&leader->roster, member->node);
    }
    return away <= failures;
}

/* The node of a part that has left in good order and is missed, or NULL. */
static const struct vel_roster_member *left_with(const struct vel_leader *leader,
                                                 const struct vel_lead *lead,
                                                 const struct vel_seal_member *member)
{
    const struct vel_roster_member *node =
        vel_roster_get(&leader->roster, member->node);

    return member->files > 0 && node && !node->is_here && node->has_left &&
                   !has_done(lead, member->node) && !is_borne(leader, lead, member->set)
               ? node
               : NULL;
}

static bool is_before(struct vel_leader *leader, const struct vel_lead *lead)
{
    return leader->ops->is_before(leader->arg, lead->id);
}

bool vel_chair_has_left(struct vel_leader *leader, const struct vel_lead *lead,
                        int64_t set)
{
    for (size_t i = 0; i < lead->seal.members.n; i++) {
        const struct vel_seal_member *member = vel_seal_member(&lead->seal, i);

        if (member->set == set && left_with(leader, lead, member))
            return is_before(leader, lead);
    }
    return false;
}

/* One that is missed, and does not come back. */
static const char *find_left(struct vel_leader *leader, const struct vel_lead *lead)
{
    for (size_t i = 0; i < lead->seal.members.n; i++) {
        const struct vel_roster_member *node =
            left_with(leader, lead, vel_seal_member(&lead->seal, i));

        if (node && !may_come_back(leader, node))
            return node->node;
    }
    return NULL;
}

/* Who only reads does not stay for what launches before have left: where others would,
 * they wait for its part in vain. The next launch has that on record. */
static bool leave_behind(struct vel_leader *leader, struct vel_lead *lead)
{
    bool is_waiting = lead->state == VEL_DATASET_SEALED ||
                      (lead->state == VEL_DATASET_FLUSHING && !lead->is_staged) ||
                      (lead->state == VEL_DATASET_ENCODED && lead->seal.again.n > 0);
    const char *node = is_waiting && !vel_chair_is_all_here(leader, lead)
                           ? find_left(leader, lead)
                           : NULL;
    char why[VEL_ERR_TEXT];

    if (!node || !is_before(leader, lead))
        return false;
    snprintf(why, sizeof why,
             "the processes of node %s, which has a part of it, have ended; the next "
             "program goes on with it",
             node);
    /* who leaves, or only reads, has nothing to say of it */
    if (leader->state != VEL_LAUNCH_ENDING && leader->connector->has_work)
        vel_lead_failed(leader, lead, VEL_EBUSY, why);
    vel_part_taken(leader, lead);
    lead->is_told = false;
    return true;
}

void vel_chair_advance(struct vel_leader *leader)
{
    if (!leader->is_chair || leader->is_ended || !leader->has_view)
        return;
    for (size_t i = 0; i < leader->leads.n; i++) {
        struct vel_lead *lead = vel_lead_at(leader, i);

        if (lead->is_led && leader->now >= lead->retry_at &&
            !leave_behind(leader, lead))
            advance_one(leader, lead);
        else if (lead->is_taken && !lead->is_told)
            vel_chair_tell_taken(leader, lead);
    }
    vel_expect_evict(leader);
}
