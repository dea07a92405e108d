/* SPDX-License-Identifier: BSD-3-Clause */
/* What a dataset's leader writes and tells: it writes, looks for the end of the launch,
 * tells. */
#include "config.h"

#include <string.h>

#include "brain/connector_in.h"

enum { RETRY_PART = 4 }; /* of FLUSH_STALL, after which nobody waits any more */

void vel_chair_clear(struct vel_leader *leader, struct vel_lead *lead,
                     enum vel_step_done step)
{
    struct vel_map *fresh = vel_map_create();

    if (!fresh) {
        vel_leader_fail(leader, "a dataset");
        return;
    }
    vel_map_destroy(lead->done[step], NULL);
    lead->done[step] = fresh;
}

/* --- records --- */

/* A claim takes the dataset from whoever has it: not when the launch was ended. */
bool vel_chair_own(struct vel_leader *leader, struct vel_lead *lead)
{
    return lead->seal.owner > 0 ||
           (vel_launch_may_tell(leader) &&
            leader->ops->claim_owner(leader->arg, lead->id, &lead->seal.owner, NULL) ==
                0);
}

/* A newer owner of another launch has the dataset now. One of this launch was a chair
 * that did not know yet that it is none any more, unless we are that. */
bool vel_chair_is_owner(struct vel_leader *leader, struct vel_lead *lead)
{
    int64_t newest = 0;
    bool is_ours = false;

    if (leader->ops->owner(leader->arg, lead->id, &newest, &is_ours, NULL) < 0)
        return false;
    if (newest <= lead->seal.owner)
        return lead->is_led;
    if (is_ours)
        vel_launch_beat(leader);
    lead->seal.owner = 0; /* to be claimed again */
    lead->is_told = false;
    if (!is_ours) {
        vel_part_taken(leader, lead);
        /* who takes it from another launch has ended that */
        vel_leader_at(leader, VEL_TIMER_CHECK, leader->now);
    }
    leader->steps++;
    return false;
}

bool vel_chair_entry(struct vel_leader *leader, struct vel_lead *lead,
                     enum vel_place_on_prefix place)
{
    return vel_chair_own(leader, lead) && vel_chair_is_owner(leader, lead) &&
           leader->ops->entry(leader->arg, &lead->seal, place, lead->by, NULL) == 0;
}

bool vel_chair_go_on(struct vel_leader *leader, struct vel_lead *lead)
{
    if (!lead->is_staged)
        return vel_chair_entry(leader, lead, VEL_ON_FLUSHING);
    if (!vel_chair_own(leader, lead) || !vel_chair_is_owner(leader, lead))
        return false;
    if (leader->ops->go_on(leader->arg, &lead->seal, NULL) == 0)
        return true;
    /* nodes would remove what is staged under an older number: claimed again, later */
    lead->seal.owner = 0;
    return false;
}

/* What the record says counts, be it another's. */
static bool make_seal(struct vel_leader *leader, struct vel_lead *lead)
{
    leader->seal_rc = leader->ops->seal(leader->arg, &lead->seal, NULL);
    if (leader->seal_rc < 0)
        return false;
    lead->id = lead->seal.id;
    vel_lead_sealed(leader, lead);
    lead->is_led = true;
    if (lead->seal.verdict == VEL_VERDICT_VOID)
        return true; /* nobody owns it */
    if (!vel_launch_may_tell(leader))
        lead->seal.owner = 0;
    lead->seal.attempt = vel_leader_next_attempt(leader);
    vel_chair_own(leader, lead); /* now, or before the first entry */
    return true;
}

/* Where there is nothing to encode the seal has said so; but what owners before us have
 * staged, and is owed anew, is not staged any more. */
static bool write_encoded(struct vel_leader *leader, struct vel_lead *lead)
{
    bool was_encoded = lead->seal.is_encoded;

    if (!(lead->seal.what & VEL_OWED_ENCODE) && lead->seal.owner == 1) {
        lead->seal.is_encoded = true;
        return true;
    }
    lead->seal.is_encoded = true; /* as the entry says; or it stays as it was */
    if (vel_chair_entry(leader, lead,
                        lead->seal.what & VEL_OWED_FLUSH ? VEL_ON_FLUSHING
                                                         : VEL_ON_CACHE))
        return true;
    lead->seal.is_encoded = was_encoded;
    return false;
}

/* The entry, or the seal of what has nothing to encode, says that it owes a flush. A
 * later owner says so again, before it touches what the one before has copied: an entry
 * of that one may come late. */
static bool is_said(const struct vel_lead *lead)
{
    return lead->seal.owner == 1 && lead->seal.is_encoded;
}

bool vel_chair_record(struct vel_leader *leader, struct vel_lead *lead, unsigned record)
{
    switch ((enum vel_dataset_record)record) {
    case VEL_DATASET_RECORD_SEAL:
        return make_seal(leader, lead);
    case VEL_DATASET_RECORD_VOID:
        lead->seal.verdict = VEL_VERDICT_VOID;
        return make_seal(leader, lead);
    case VEL_DATASET_RECORD_ENTRY:
        return write_encoded(leader, lead);
    case VEL_DATASET_RECORD_FLUSHING:
        return is_said(lead) || vel_chair_entry(leader, lead, VEL_ON_FLUSHING);
    case VEL_DATASET_RECORD_STAGED:
        lead->is_staged = vel_chair_entry(leader, lead, VEL_ON_STAGED);
        return lead->is_staged;
    case VEL_DATASET_RECORD_PREFIX:
        return vel_chair_entry(leader, lead, VEL_ON_PREFIX);
    case VEL_DATASET_RECORD_REPLACED:
        return vel_chair_entry(leader, lead,
                               lead->state == VEL_DATASET_FLUSHED ? VEL_ON_PREFIX
                                                                  : VEL_ON_CACHE);
    default: /* on this node, by who has done the work */
        return true;
    }
}

/* --- telling --- */

static void tell(struct vel_leader *leader, uint64_t link, struct vel_msg *msg)
{
    if (link)
        vel_leader_send(leader, link, msg);
    else
        vel_tree_down(leader, msg, 0);
}

static void tell_sealed(struct vel_leader *leader, struct vel_lead *lead, uint64_t link)
{
    struct vel_msg msg = {.kind = VEL_MSG_SEALED};
    struct vel_err why = {0};
    struct vel_buf record;

    if (!vel_chair_has_whole(leader, lead, &why))
        return; /* whoever has asked for it is told again */
    size_t again = lead->seal.again.n;
    vel_buf_init(&record);
    /* sets are formed again for a flush, when all can come: else nobody begins */
    if (lead->state != VEL_DATASET_FLUSHING || !vel_chair_is_all_here(leader, lead))
        lead->seal.again.n = 0;
    if (vel_seal_encode(&lead->seal, &record, NULL) == 0) {
        msg.u.sealed.term = (uint64_t)leader->term;
        msg.u.sealed.record.at = record.data;
        msg.u.sealed.record.len = record.len;
        tell(leader, link, &msg);
    }
    lead->seal.again.n = again;
    vel_buf_fini(&record);
}

void vel_chair_tell_seal(struct vel_leader *leader, struct vel_lead *lead,
                         uint64_t link)
{
    if (vel_launch_may_tell(leader))
        tell_sealed(leader, lead, link);
}

static void tell_step(struct vel_leader *leader, struct vel_lead *lead, uint64_t link,
                      enum vel_step_told step)
{
    struct vel_msg msg = {.kind = VEL_MSG_STEP};

    msg.u.step.term = (uint64_t)leader->term;
    msg.u.step.dataset = (uint64_t)lead->id;
    msg.u.step.owner = (uint64_t)lead->seal.owner;
    msg.u.step.step = step;
    msg.u.step.upto = (uint64_t)lead->upto;
    msg.u.step.rate = lead->rate;
    tell(leader, link, &msg);
}

/* A node that has missed something hears all that led to where we are. */
static void tell_state(struct vel_leader *leader, struct vel_lead *lead, uint64_t link)
{
    if (!lead->has_seal || (lead->state == VEL_DATASET_SEALED && !lead->is_told))
        return;
    tell_sealed(leader, lead, link);
    switch (lead->state) {
    case VEL_DATASET_ENCODED:
        tell_step(leader, lead, link, VEL_TELL_ENCODED);
        break;
    case VEL_DATASET_FLUSHING:
        if (lead->seal.is_encoded)
            tell_step(leader, lead, link, VEL_TELL_ENCODED);
        if (!lead->is_staged)
            tell_step(leader, lead, link, VEL_TELL_FLUSH);
        else if (lead->is_told)
            tell_step(leader, lead, link, VEL_TELL_PUBLISH);
        break;
    case VEL_DATASET_FLUSHED:
        tell_step(leader, lead, link, VEL_TELL_FLUSHED);
        break;
    case VEL_DATASET_SUPERSEDED:
        tell_step(leader, lead, link, VEL_TELL_SUPERSEDED);
        break;
    default:
        break;
    }
}

static bool is_renaming(const struct vel_leader *leader, const struct vel_lead *lead,
                        const char *node)
{
    for (size_t i = 0; i < leader->tasks.n; i++) {
        const struct vel_leader_task *task = vel_vec_at(&leader->tasks, i);

        if (task->id == lead->id && task->work == VEL_WORK_RENAME && task->node &&
            strcmp(task->node, node) == 0)
            return true;
    }
    return false;
}

void vel_chair_rename_for(struct vel_leader *leader, struct vel_lead *lead,
                          bool is_for_all)
{
    struct vel_seal_nodes nodes;

    if (vel_seal_nodes(&lead->seal, &nodes, NULL) < 0)
        vel_leader_fail(leader, "the nodes of a dataset");
    for (size_t i = 0; i < nodes.n; i++) {
        const char *node = nodes.names[i];

        if (strcmp(node, leader->conf.node) != 0 &&
            (is_for_all || !vel_roster_has(&leader->roster, node)) &&
            !vel_map_has(lead->done[VEL_DID_RENAME], node) &&
            !is_renaming(leader, lead, node))
            vel_part_start(leader, lead, VEL_WORK_RENAME, 0, node);
    }
    vel_seal_nodes_fini(&nodes);
}

static bool tell_publish(struct vel_leader *leader, struct vel_lead *lead)
{
    if (!vel_flush_may_publish(leader, lead) || !vel_chair_is_owner(leader, lead))
        return false;
    tell_step(leader, lead, 0, VEL_TELL_PUBLISH);
    vel_part_rename(leader, lead);
    vel_chair_rename_for(leader, lead, false);
    return true;
}

static bool tell_flush(struct vel_leader *leader, struct vel_lead *lead)
{
    if (lead->seal.again.n > 0) { /* parts that could not be rebuilt before */
        vel_chair_next_attempt(leader, lead);
        tell_sealed(leader, lead, 0);
        vel_part_take(leader, lead);
    }
    lead->upto = vel_flush_upto(leader, lead, &lead->copying);
    lead->rate = vel_flush_rate(leader, lead->copying);
    tell_step(leader, lead, 0, VEL_TELL_FLUSH);
    vel_part_copy(leader, lead);
    return true;
}

/* The state that its record says, to all, and this node's part in it. */
static bool tell_all(struct vel_leader *leader, struct vel_lead *lead)
{
    if (!lead->is_introduced && lead->state != VEL_DATASET_SEALED) {
        tell_sealed(leader, lead, 0); /* some may never have heard of it */
        if (lead->seal.is_encoded && lead->state != VEL_DATASET_ENCODED)
            tell_step(leader, lead, 0, VEL_TELL_ENCODED);
    }
    lead->is_introduced = true;
    switch (lead->state) {
    case VEL_DATASET_SEALED:
        tell_sealed(leader, lead, 0);
        vel_part_take(leader, lead);
        return true;
    case VEL_DATASET_ENCODED:
        tell_step(leader, lead, 0,
                  lead->is_retreat ? VEL_TELL_RETREAT : VEL_TELL_ENCODED);
        vel_part_act(leader, lead,
                     lead->is_retreat ? VEL_DATASET_DO_REMOVE_TEMPS
                                      : VEL_DATASET_DO_MAKE_ROOM);
        return true;
    case VEL_DATASET_FLUSHING:
        return lead->is_staged ? tell_publish(leader, lead) : tell_flush(leader, lead);
    case VEL_DATASET_FLUSHED:
        tell_step(leader, lead, 0, VEL_TELL_FLUSHED);
        vel_part_act(leader, lead, VEL_DATASET_DO_FORGET);
        return true;
    case VEL_DATASET_SUPERSEDED:
        tell_step(leader, lead, 0, VEL_TELL_SUPERSEDED);
        vel_part_act(leader, lead, VEL_DATASET_DO_REMOVE_TEMPS);
        return true;
    default:
        return true;
    }
}

/* A claim that was made again needs its entry. */
static bool has_claim(struct vel_leader *leader, struct vel_lead *lead)
{
    if (lead->seal.owner > 0)
        return true;
    if (lead->state == VEL_DATASET_FLUSHING)
        return vel_chair_go_on(leader, lead);
    return vel_chair_own(leader, lead);
}

/* Newer ones that wait for it to be published may go on. */
static void let_newer(struct vel_leader *leader, const struct vel_lead *lead)
{
    for (size_t i = 0; i < leader->leads.n; i++) {
        struct vel_lead *newer = vel_lead_at(leader, i);

        if (newer->id <= lead->id || !newer->is_led || newer->is_told ||
            newer->state != VEL_DATASET_FLUSHING || !newer->is_staged)
            continue;
        newer->retry_at = leader->now;
        leader->steps++;
    }
}

void vel_chair_tell(struct vel_leader *leader, struct vel_lead *lead)
{
    lead->is_told = false;
    if (lead->is_led && vel_launch_may_tell(leader) && has_claim(leader, lead) &&
        lead->is_led)
        lead->is_told = tell_all(leader, lead);
    if (lead->is_told && lead->state >= VEL_DATASET_FLUSHED)
        let_newer(leader, lead);
    if (!lead->is_told)
        lead->retry_at = leader->now + leader->conf.limit / 4;
    else
        leader->connector->may_evict = true;
}

void vel_chair_evict(struct vel_leader *leader, struct vel_lead *lead)
{
    if (!vel_launch_may_tell(leader))
        return;
    lead->is_evicted = true;
    tell_step(leader, lead, 0, VEL_TELL_EVICT);
    vel_lead_event(leader, lead, VEL_DATASET_ON_EVICT, 0);
}

void vel_chair_tell_taken(struct vel_leader *leader, struct vel_lead *lead)
{
    tell_step(leader, lead, 0, VEL_TELL_TAKEN);
    lead->is_told = true;
}

void vel_chair_tell_moved(struct vel_leader *leader, struct vel_lead *lead)
{
    lead->upto = vel_flush_upto(leader, lead, &lead->copying);
    lead->rate = vel_flush_rate(leader, lead->copying);
    tell_sealed(leader, lead, 0);
    tell_step(leader, lead, 0, VEL_TELL_FLUSH);
    vel_part_take(leader, lead);
    vel_part_copy(leader, lead);
}

void vel_chair_later(struct vel_leader *leader, struct vel_lead *lead)
{
    lead->delay = lead->delay ? 2 * lead->delay : leader->conf.limit / 4;
    if (lead->delay > leader->conf.stall / RETRY_PART)
        lead->delay = leader->conf.stall / RETRY_PART;
    lead->retry_at = leader->now + lead->delay;
}

void vel_chair_next_attempt(struct vel_leader *leader, struct vel_lead *lead)
{
    lead->attempts++;
    lead->seal.attempt = vel_leader_next_attempt(leader);
}

static void encode_again(struct vel_leader *leader, struct vel_lead *lead)
{
    if (!lead->is_broken)
        return;
    if (lead->attempts >= VEL_ATTEMPTS) {
        vel_lead_failed(leader, lead, VEL_EIO,
                        "its sets of nodes broke again and again: it is flushed "
                        "instead of protected");
        vel_lead_event(leader, lead, VEL_DATASET_ON_FAIL, 0);
        return;
    }
    lead->is_broken = false;
    vel_chair_next_attempt(leader, lead);
    vel_chair_clear(leader, lead, VEL_DID_ENCODE);
    vel_chair_tell(leader, lead);
}

void vel_chair_act(struct vel_leader *leader, struct vel_lead *lead, unsigned action)
{
    switch ((enum vel_dataset_action)action) {
    case VEL_DATASET_DO_TELL_STATE:
        if (lead->is_led && leader->asker)
            tell_state(leader, lead, leader->asker);
        break;
    case VEL_DATASET_DO_ENCODE_AGAIN:
        encode_again(leader, lead);
        break;
    case VEL_DATASET_DO_RETRY:
        lead->is_told = false;
        vel_chair_later(leader, lead);
        break;
    case VEL_DATASET_DO_REBUILD: /* when it has not come back in time */
        if (lead->is_staged)
            lead->is_told = false;
        break;
    case VEL_DATASET_DO_TELL_FLUSH:
        vel_chair_clear(leader, lead, VEL_DID_COPY);
        lead->is_retreat = lead->is_staged = false;
        vel_chair_tell(leader, lead);
        break;
    case VEL_DATASET_DO_TELL_RETREAT:
        lead->is_retreat = true;
        vel_chair_tell(leader, lead);
        vel_chair_later(leader, lead);
        break;
    case VEL_DATASET_DO_TELL_PUBLISH:
        lead->seal.again.n = 0;
        vel_chair_tell(leader, lead);
        break;
    case VEL_DATASET_DO_TELL_FLUSHED:
        lead->status = 0;
        vel_chair_tell(leader, lead);
        break;
    default:
        if (lead->seal.verdict == VEL_VERDICT_VOID)
            vel_chair_tell_seal(leader, lead, 0);
        else
            vel_chair_tell(leader, lead);
        break;
    }
}
