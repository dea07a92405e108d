/* SPDX-License-Identifier: BSD-3-Clause */
/* What every node does for a dataset: encode, copy, rename, remove, tell, be told. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "brain/connector_in.h"

#define ALL_BUT_TAKE (~(1U << VEL_WORK_TAKE)) /* files must not stay in a batch */
/* nor temporary ones on the prefix: what is outdated may have to make room at once */
#define ALL_BUT_TIDY (ALL_BUT_TAKE & ~(1U << VEL_WORK_REMOVE_TEMPS))

static bool is_mine(const struct vel_leader *leader,
                    const struct vel_seal_member *member)
{
    return strcmp(member->node, leader->conf.node) == 0;
}

static bool is_member(const struct vel_leader *leader, const struct vel_lead *lead)
{
    return vel_map_has(lead->nodes, leader->conf.node);
}

bool vel_part_leads(const struct vel_leader *leader, const struct vel_lead *lead)
{
    return leader->is_chair && lead->is_led;
}

/* --- telling the chair --- */

struct vel_msg_done vel_part_done(const struct vel_leader *leader,
                                  const struct vel_lead *lead, unsigned step)
{
    return (struct vel_msg_done){.term = (uint64_t)leader->term,
                                 .dataset = (uint64_t)lead->id,
                                 .step = step,
                                 .attempt = (uint64_t)lead->seal.attempt,
                                 .nodes = leader->conf.node};
}

static void report_step(struct vel_leader *leader, struct vel_lead *lead,
                        enum vel_step_done step)
{
    struct vel_msg_done done = vel_part_done(leader, lead, step + 1);

    if (vel_part_leads(leader, lead))
        vel_chair_done(leader, lead, &done);
    else if (vel_tree_up(leader))
        vel_tree_add(leader, lead, &done);
}

void vel_part_fail(struct vel_leader *leader, struct vel_lead *lead, int rc,
                   const char *text)
{
    struct vel_msg_done done = vel_part_done(leader, lead, VEL_DONE_FAILED);

    done.status = (uint64_t)-rc;
    done.text = text;
    if (vel_part_leads(leader, lead)) {
        vel_chair_done(leader, lead, &done);
        return;
    }
    vel_lead_failed(leader, lead, rc, text);
    leader->msg = NULL;
    vel_lead_event(leader, lead, VEL_DATASET_ON_FAIL, 0);
}

static void tell_failed(struct vel_leader *leader, const struct vel_msg_done *done)
{
    const struct vel_leader_link *link = vel_tree_up(leader);
    struct vel_msg msg = {.kind = VEL_MSG_DONE, .seq = vel_leader_next_seq(leader)};

    msg.u.done = *done;
    if (link)
        vel_leader_send(leader, link->number, &msg);
}

/* What a child has said, or this node's own failure. */
static void pass_up(struct vel_leader *leader, struct vel_lead *lead)
{
    const struct vel_msg *msg = leader->msg;
    struct vel_msg_done own = vel_part_done(leader, lead, VEL_DONE_FAILED);

    if (!msg) {
        own.status = (uint64_t)-lead->status;
        own.text = lead->text;
        tell_failed(leader, &own);
    } else if (msg->kind == VEL_MSG_DONE && msg->u.done.step == VEL_DONE_FAILED) {
        tell_failed(leader, &msg->u.done);
    } else if (msg->kind == VEL_MSG_DONE) {
        vel_tree_add(leader, lead, &msg->u.done);
    }
}

void vel_part_report_all(struct vel_leader *leader)
{
    const struct vel_leader_link *link = vel_leader_link_to(leader, leader->chair);
    char step[32];

    for (size_t i = 0; link && i < leader->leads.n; i++) {
        const struct vel_lead *lead = vel_lead_at(leader, i);
        struct vel_msg msg = {.kind = VEL_MSG_REPORT};

        if (vel_lead_is_over(lead) || lead->state == VEL_DATASET_NONE)
            continue;
        snprintf(step, sizeof step, "%lld", (long long)lead->id);
        msg.seq = vel_leader_next_seq(leader);
        msg.u.report.term = (uint64_t)leader->term;
        msg.u.report.template = VEL_API_TEMPLATE;
        msg.u.report.step = step;
        vel_leader_send(leader, link->number, &msg);
    }
}

/* --- encoding --- */

/* This node's sets: all of them, or once it is encoded those that are formed again. */
static void list_sets(struct vel_leader *leader, struct vel_lead *lead)
{
    bool is_encoded = lead->seal.is_encoded || lead->state == VEL_DATASET_FLUSHING;

    lead->sets.n = 0;
    for (size_t i = 0; i < lead->seal.members.n; i++) {
        const struct vel_seal_member *member = vel_seal_member(&lead->seal, i);

        if (is_mine(leader, member) && !vel_vec_has_number(&lead->sets, member->set) &&
            (is_encoded ? vel_seal_is_again(&lead->seal, member->set)
                        : lead->seal.what & VEL_OWED_ENCODE) &&
            !vel_vec_push(&lead->sets, &member->set))
            vel_leader_fail(leader, "a dataset");
    }
}

void vel_part_learn(struct vel_leader *leader, struct vel_lead *lead,
                    struct vel_seal *seal)
{
    bool has_more = false;
    uint64_t bytes = 0;

    for (size_t i = 0; i < seal->members.n; i++) {
        const struct vel_seal_member *member = vel_seal_member(seal, i);
        const struct vel_seal_member *was = vel_seal_find(&lead->seal, member->rank);

        if (!is_mine(leader, member))
            continue;
        bytes += (uint64_t)member->bytes;
        has_more = has_more || (lead->has_seal && (!was || !is_mine(leader, was)));
    }
    if (has_more) {
        vel_part_stop(leader, lead->id, 1U << VEL_WORK_COPY);
        lead->did[VEL_DID_COPY] = lead->has_parts = false;
        lead->has_more = true;
    }
    if (!lead->has_seal)
        leader->moved_at = leader->now;
    vel_seal_fini(&lead->seal);
    lead->seal = *seal;
    vel_lead_sealed(leader, lead);
    lead->is_taken = lead->is_aside = false;
    lead->bytes = bytes;
}

bool vel_part_parts(struct vel_leader *leader, struct vel_lead *lead)
{
    bool has_key = lead->seal.template && *lead->seal.template;

    if (lead->has_parts || lead->is_removed || !has_key || !is_member(leader, lead))
        return true;
    lead->is_here = true;
    if (!vel_lead_is_over(lead))
        lead->owed |= lead->seal.what;
    if (vel_part_has(leader, lead->id, VEL_WORK_TAKE))
        return false;
    lead->has_more = false;
    vel_part_start(leader, lead, VEL_WORK_TAKE, 0, NULL);
    return false;
}

void vel_part_take(struct vel_leader *leader, struct vel_lead *lead)
{
    if (lead->attempt != lead->seal.attempt) /* nobody comes to the meetings of that */
        vel_part_stop(leader, lead->id, 1U << VEL_WORK_ENCODE);
    if (!vel_part_parts(leader, lead) || lead->is_taken)
        return;
    if (lead->attempt == lead->seal.attempt) {
        if (lead->did[VEL_DID_ENCODE])
            report_step(leader, lead, VEL_DID_ENCODE);
        return;
    }
    if (!vel_part_leads(leader, lead) && !leader->is_welcome)
        return; /* nobody would meet us; the next chair tells it again */
    list_sets(leader, lead);
    lead->attempt = lead->seal.attempt;
    lead->did[VEL_DID_ENCODE] = false;
    lead->sets_left = lead->sets.n;
    for (size_t i = 0; i < lead->sets.n; i++)
        vel_part_start(leader, lead, VEL_WORK_ENCODE,
                       *(int64_t *)vel_vec_at(&lead->sets, i), NULL);
}

/* --- copying --- */

void vel_part_copy(struct vel_leader *leader, struct vel_lead *lead)
{
    if (lead->is_staged || lead->is_taken)
        return;
    if (lead->seal.again.n == 0) { /* flushed instead of encoded, maybe */
        vel_part_stop(leader, lead->id, 1U << VEL_WORK_ENCODE);
        lead->sets_left = 0;
    }
    if (lead->attempt != lead->seal.attempt)
        vel_part_take(leader, lead);
    if (!vel_part_parts(leader, lead) || !is_member(leader, lead) ||
        lead->sets_left > 0)
        return; /* PART begins it */
    if (lead->copy_owner != lead->seal.owner) {
        vel_part_stop(leader, lead->id, 1U << VEL_WORK_COPY);
        lead->copy_owner = lead->seal.owner;
        lead->did[VEL_DID_COPY] = false;
        lead->moved = 0;
    }
    uint64_t job = vel_part_job(leader, lead->id, VEL_WORK_COPY);
    if (lead->did[VEL_DID_COPY])
        report_step(leader, lead, VEL_DID_COPY);
    else if (job)
        leader->ops->rate(leader->arg, job, lead->rate);
    else if (leader->place < lead->upto &&
             !vel_part_has(leader, lead->id, VEL_WORK_REMOVE_TEMPS))
        vel_part_start(leader, lead, VEL_WORK_COPY, 0, NULL);
}

void vel_part_rename(struct vel_leader *leader, struct vel_lead *lead)
{
    lead->is_staged = true;
    if (!is_member(leader, lead))
        return;
    if (lead->did[VEL_DID_RENAME])
        report_step(leader, lead, VEL_DID_RENAME);
    else if (!vel_part_job(leader, lead->id, VEL_WORK_RENAME))
        vel_part_start(leader, lead, VEL_WORK_RENAME, 0, NULL);
}

static void remove_temps(struct vel_leader *leader, struct vel_lead *lead)
{
    /* nor does a worker wait for others of a set who have heard of this */
    vel_part_stop(leader, lead->id,
                  1U << VEL_WORK_ENCODE | 1U << VEL_WORK_COPY | 1U << VEL_WORK_RENAME);
    lead->sets_left = 0;
    lead->attempt = -1;
    lead->did[VEL_DID_COPY] = false;
    lead->copy_owner = 0;
    lead->moved = 0;
    if (is_member(leader, lead))
        vel_part_start(leader, lead, VEL_WORK_REMOVE_TEMPS, 0, NULL);
}

/* --- promises --- */

void vel_part_forget(struct vel_leader *leader, struct vel_lead *lead, unsigned what)
{
    unsigned kept = lead->owed & what;

    if (kept && leader->ops->forget(leader->arg, lead->id, kept, NULL) == 0)
        lead->owed &= ~kept; /* else the next who finds it sees that it is kept */
    lead->owed &= ~what;
}

static void make_room(struct vel_leader *leader, struct vel_lead *lead)
{
    lead->seal.is_encoded = true;
    lead->status = 0; /* of attempts before */
    vel_part_forget(leader, lead, VEL_OWED_ENCODE);
    if (is_member(leader, lead) && lead->seal.what & VEL_OWED_ENCODE)
        vel_part_start(leader, lead, VEL_WORK_SETTLE_ENCODING, 0, NULL);
}

void vel_part_act(struct vel_leader *leader, struct vel_lead *lead, unsigned action)
{
    switch ((enum vel_dataset_action)action) {
    case VEL_DATASET_DO_REPORT:
        if (lead->state != VEL_DATASET_ANNOUNCED) /* else as its generation says */
            report_step(leader, lead, leader->did);
        break;
    case VEL_DATASET_DO_PASS_UP:
        pass_up(leader, lead);
        break;
    case VEL_DATASET_DO_TAKE_PARTS:
    case VEL_DATASET_DO_HOLD_NOTHING:
        vel_part_take(leader, lead);
        break;
    case VEL_DATASET_DO_MAKE_ROOM:
        make_room(leader, lead);
        break;
    case VEL_DATASET_DO_START_COPY:
        vel_part_copy(leader, lead);
        break;
    case VEL_DATASET_DO_RENAME:
        vel_part_rename(leader, lead);
        break;
    case VEL_DATASET_DO_REMOVE_TEMPS:
        if (lead->state == VEL_DATASET_SUPERSEDED) {
            vel_part_stop(leader, lead->id, ALL_BUT_TAKE);
            vel_part_forget(leader, lead, VEL_OWED_ENCODE | VEL_OWED_FLUSH);
        }
        remove_temps(leader, lead);
        break;
    case VEL_DATASET_DO_FORGET:
        vel_part_stop(leader, lead->id, ALL_BUT_TAKE);
        vel_part_forget(leader, lead, VEL_OWED_ENCODE | VEL_OWED_FLUSH);
        break;
    case VEL_DATASET_DO_REMOVE_PARTS:
        vel_part_stop(leader, lead->id, ALL_BUT_TIDY);
        vel_part_forget(leader, lead, VEL_OWED_ENCODE | VEL_OWED_FLUSH);
        lead->is_here = false;
        lead->is_removed = true;
        if (!vel_part_has(leader, lead->id, VEL_WORK_TAKE))
            vel_part_start(leader, lead, VEL_WORK_REMOVE_PARTS, 0, NULL);
        break;
    case VEL_DATASET_DO_RELEASE:
        vel_part_stop(leader, lead->id, ~0U);
        lead->is_led = false;
        break;
    default: /* answered by serve, counted by the chair, or nothing to do */
        break;
    }
}

/* --- what it is told --- */

/* A dataset of a launch before is told as well, by whoever flushes it: it may have the
 * template and the step of what is written now, but its generation is none of ours. */
static bool is_of_this_launch(struct vel_leader *leader, const struct vel_seal *seal)
{
    enum vel_verdict verdict;
    int64_t id;
    int rc;

    if (seal->verdict == VEL_VERDICT_VOID)
        return true;
    rc = leader->ops->sealed(leader->arg, seal->template, seal->step, seal->generation,
                             &id, &verdict, NULL);
    return rc == 0 ? id == seal->id : rc != VEL_ENOENT;
}

static void hear_sealed(struct vel_leader *leader, const struct vel_msg_sealed *sealed)
{
    struct vel_seal seal;
    struct vel_lead *lead;
    int rc = vel_seal_decode_for(sealed->record.at, sealed->record.len,
                                 leader->conf.node, &seal, NULL);

    if (rc == VEL_ENOMEM)
        vel_leader_fail(leader, "a seal");
    if (rc < 0)
        return;
    bool has_key = *seal.template;
    if (seal.verdict == VEL_VERDICT_VOID) {
        if (has_key)
            vel_generation_sealed(leader, &seal);
        vel_seal_fini(&seal);
        return;
    }
    bool is_ours = has_key && is_of_this_launch(leader, &seal);
    lead = vel_owe_rests(leader, seal.id) ? NULL
           : is_ours                      ? vel_generation_lead(leader, &seal)
                                          : vel_lead_make(leader, seal.id);
    if (!lead) {
        vel_seal_fini(&seal);
        return;
    }
    if (is_ours)
        vel_generation_sealed(leader, &seal);
    vel_part_learn(leader, lead, &seal);
    vel_lead_event(leader, lead, VEL_DATASET_ON_SEAL,
                   is_member(leader, lead) || has_key ? VEL_DATASET_IF(MEMBER) : 0);
    if (has_key && lead->state > VEL_DATASET_SEALED)
        vel_part_parts(leader, lead); /* what it has missed */
}

/* Whoever has taken it does all of it. */
void vel_part_taken(struct vel_leader *leader, struct vel_lead *lead)
{
    lead->is_led = false;
    lead->is_taken = true;
    vel_part_stop(leader, lead->id, 1U << VEL_WORK_ENCODE | 1U << VEL_WORK_COPY);
    leader->steps++;
}

static void hear_step(struct vel_leader *leader, const struct vel_msg_step *step)
{
    static const int events[] = {
        [VEL_TELL_ENCODED] = VEL_DATASET_ON_ENCODED,
        [VEL_TELL_FLUSH] = VEL_DATASET_ON_FLUSH,
        [VEL_TELL_PUBLISH] = VEL_DATASET_ON_PUBLISH,
        [VEL_TELL_FLUSHED] = VEL_DATASET_ON_FLUSHED,
        [VEL_TELL_RETREAT] = VEL_DATASET_ON_RETREAT,
        [VEL_TELL_SUPERSEDED] = VEL_DATASET_ON_NEWER,
        [VEL_TELL_EVICT] = VEL_DATASET_ON_EVICT,
    };
    struct vel_lead *lead = vel_lead_get(leader, (int64_t)step->dataset);

    if (!lead)
        return;
    lead->seal.owner = (int64_t)step->owner;
    if (step->step == VEL_TELL_FLUSH || step->step == VEL_TELL_SHARE) {
        lead->upto = (int64_t)step->upto;
        lead->rate = step->rate;
    }
    if (step->step == VEL_TELL_FLUSH)
        lead->is_staged = lead->is_retreat = false;
    else if (step->step == VEL_TELL_RETREAT)
        lead->is_retreat = true;
    if (step->step == VEL_TELL_TAKEN)
        vel_part_taken(leader, lead);
    else if (step->step != VEL_TELL_SHARE)
        vel_lead_event(leader, lead, (enum vel_dataset_event)events[step->step], 0);
    else if (lead->state == VEL_DATASET_FLUSHING && !lead->is_staged)
        vel_part_copy(leader, lead);
}

static void hear_done(struct vel_leader *leader, const struct vel_msg_done *done)
{
    struct vel_lead *lead = vel_lead_get(leader, (int64_t)done->dataset);

    if (!lead)
        return;
    if (vel_part_leads(leader, lead))
        vel_chair_done(leader, lead, done);
    else if (vel_tree_up(leader))
        vel_lead_event(leader, lead,
                       done->step == VEL_DONE_FAILED ? VEL_DATASET_ON_FAIL
                                                     : VEL_DATASET_ON_DONE,
                       0);
}

static void hear_report(struct vel_leader *leader, struct vel_leader_link *from,
                        const struct vel_msg_report *report)
{
    long long id = strtoll(report->step, NULL, 10);

    vel_leader_yes(leader, from->number, leader->msg->seq, 0);
    if (leader->is_chair && id > 0)
        vel_chair_report(leader, id, from->number);
}

void vel_part_hear(struct vel_leader *leader, struct vel_leader_link *from,
                   const struct vel_msg *msg)
{
    struct vel_msg down = *msg;

    leader->msg = msg;
    switch (msg->kind) {
    case VEL_MSG_REPORT:
        if (strcmp(msg->u.report.template, VEL_API_TEMPLATE) == 0)
            hear_report(leader, from, &msg->u.report);
        else
            vel_announce_hear(leader, from, msg);
        break;
    case VEL_MSG_SEALED:
        if (!leader->is_chair) {
            vel_tree_down(leader, &down, from->number);
            hear_sealed(leader, &msg->u.sealed);
        }
        break;
    case VEL_MSG_STEP:
        if (!leader->is_chair) {
            if (msg->u.step.step != VEL_TELL_SHARE)
                vel_tree_down(leader, &down, from->number);
            hear_step(leader, &msg->u.step);
        }
        break;
    case VEL_MSG_DONE:
        vel_leader_yes(leader, from->number, msg->seq, 0);
        hear_done(leader, &msg->u.done);
        break;
    default:
        break;
    }
    leader->msg = NULL;
}
