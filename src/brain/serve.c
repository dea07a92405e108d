/* SPDX-License-Identifier: BSD-3-Clause */
/* What processes and tools ask for, and what is answered later. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "brain/connector_in.h"
#include "brain/mark_in.h"
#include "brain/progress_in.h"

static struct vel_leader_wait *wait_at(const struct vel_leader *leader, size_t i)
{
    return vel_vec_at(&leader->waits, i);
}

static void end_wait(struct vel_leader *leader, struct vel_leader_wait *wait)
{
    free(wait->record);
    vel_vec_remove(&leader->waits,
                   (size_t)(wait - (struct vel_leader_wait *)leader->waits.items));
    leader->steps++;
}

static struct vel_leader_wait *begin_wait(struct vel_leader *leader,
                                          const struct vel_leader_link *from,
                                          const struct vel_msg *msg, int64_t id)
{
    struct vel_leader_wait wait = {.link = from->number,
                                   .seq = msg->seq,
                                   .kind = msg->kind,
                                   .id = id,
                                   .since = leader->now,
                                   .moves_at = leader->now + leader->conf.limit / 4};
    struct vel_leader_wait *made = vel_vec_push(&leader->waits, &wait);

    if (!made)
        vel_leader_fail(leader, "a request");
    return made;
}

static void hear_drain(struct vel_leader *leader, struct vel_leader_link *from,
                       const struct vel_msg *msg)
{
    int64_t id = (int64_t)msg->u.drain.dataset;
    struct vel_leader_wait *wait;
    bool is_read = id == 0 || vel_lead_get(leader, id) ||
                   vel_lead_find(leader, VEL_LOOK_ONE, id, NULL);

    if (id == 0 && from->leaving == VEL_STAYS)
        from->leaving = VEL_DRAINS;
    wait = begin_wait(leader, from, msg, id);

    if (!wait)
        return;
    wait->again_at = is_read ? 0 : leader->now + leader->conf.limit / 4;
    wait->patience =
        msg->u.drain.patience > 0 && msg->u.drain.patience < VEL_NEVER / VEL_CLOCK_S
            ? msg->u.drain.patience * VEL_CLOCK_S
            : leader->conf.stall;
    wait->how = (int)msg->u.drain.until;
    if (wait->how ==
        VEL_UNTIL_PROTECTED) /* the prefix may hang, and it is not needed */
        wait->patience = leader->conf.limit;
    if (wait->how == VEL_UNTIL_TRIED)
        vel_progress_once(leader, wait);
}

/* --- requests --- */

/* A process has not only read. */
static void note_work(struct vel_leader *leader)
{
    leader->connector->has_work = true;
}

static void hear_owe(struct vel_leader *leader, const struct vel_leader_link *from,
                     const struct vel_msg *msg)
{
    struct vel_leader_wait *wait =
        begin_wait(leader, from, msg, (int64_t)msg->u.owe.dataset);

    if (!wait)
        return;
    if (msg->u.owe.what & (VEL_OWED_ENCODE | VEL_OWED_FLUSH))
        note_work(leader);
    wait->owe = msg->u.owe;
    wait->record = strdup(msg->u.owe.dir);
    wait->owe.dir = wait->record;
    if (!wait->record)
        vel_leader_fail(leader, "a request");
}

static void hear_settle(struct vel_leader *leader, const struct vel_leader_link *from,
                        const struct vel_msg *msg)
{
    const struct vel_msg_bytes *record = &msg->u.settle.record;
    struct vel_leader_wait *wait =
        begin_wait(leader, from, msg, (int64_t)msg->u.settle.dataset);

    if (!wait)
        return;
    note_work(leader);
    wait->record = malloc(record->len);
    wait->len = record->len;
    if (wait->record)
        memcpy(wait->record, record->at, record->len);
    else
        vel_leader_fail(leader, "a request");
}

static void hear_ping(struct vel_leader *leader, const struct vel_leader_link *from,
                      const struct vel_msg *msg)
{
    struct vel_msg pong = {.kind = VEL_MSG_PONG, .seq = msg->seq};

    if (msg->u.ping.what == 3) {
        begin_wait(leader, from, msg, 0);
        return;
    }
    if (msg->u.ping.what > 0)
        pong.u.pong.value =
            (uint64_t)-leader->ops->health(leader->arg, (int)msg->u.ping.what);
    vel_leader_send(leader, from->number, &pong);
}

/* Who asks names the leader that it has met: one that came since stays. */
static void hear_resign(struct vel_leader *leader, const struct vel_leader_link *from,
                        const struct vel_msg *msg)
{
    if ((int64_t)msg->u.resign.epoch != leader->ops->epoch(leader->arg)) {
        vel_leader_no(leader, from->number, msg->seq, VEL_ESTATE,
                      "another leader has the role now");
        return;
    }
    vel_leader_yes(leader, from->number, msg->seq, 0);
    leader->ops->resign(leader->arg);
}

static void hear_name(struct vel_leader *leader, struct vel_leader_link *from,
                      const struct vel_msg *msg)
{
    struct vel_leader_wait *wait = begin_wait(leader, from, msg, 0);
    const char *name = "";

    if (!wait)
        return;
    wait->rank = from->rank == VEL_MSG_NO_RANK ? 0 : from->rank;
    if (msg->kind != VEL_MSG_LOOK)
        note_work(leader);
    switch (msg->kind) {
    case VEL_MSG_CREATE:
        name = msg->u.create.name;
        wait->how = (int)msg->u.create.how;
        wait->count = msg->u.create.count > 0 ? (int64_t)msg->u.create.count : 1;
        from->leaving = VEL_STAYS;
        break;
    case VEL_MSG_CLOSE:
        wait->how = (int)msg->u.close.how;
        wait->file = msg->u.close.file;
        wait->size = msg->u.close.size;
        break;
    case VEL_MSG_LOOK:
        name = msg->u.look.name;
        wait->how = (int)msg->u.look.how;
        break;
    default:
        name = msg->u.remove.name;
        break;
    }
    wait->record = strdup(name);
    if (!wait->record)
        vel_leader_fail(leader, "a request");
}

static void hear_mark(struct vel_leader *leader, const struct vel_leader_link *from,
                      const struct vel_msg *msg)
{
    struct vel_leader_wait *wait =
        begin_wait(leader, from, msg, (int64_t)msg->u.mark.dataset);

    if (!wait)
        return;
    note_work(leader);
    vel_mark_hear(leader, wait, &msg->u.mark);
}

/* What a leader hands on to the chair. */
static void hear_handed_on(struct vel_leader *leader, struct vel_leader_link *from,
                           const struct vel_msg *msg)
{
    if (msg->kind == VEL_MSG_SETTLE)
        hear_settle(leader, from, msg);
    else if (msg->kind == VEL_MSG_DRAIN)
        hear_drain(leader, from, msg);
    else
        hear_mark(leader, from, msg);
}

void vel_serve_hear(struct vel_leader *leader, struct vel_leader_link *from,
                    const struct vel_msg *msg)
{
    bool is_leader = from->role == VEL_ROLE_LEADER;

    switch (msg->kind) {
    case VEL_MSG_PING:
        hear_ping(leader, from, msg);
        return;
    case VEL_MSG_SETTLE:
    case VEL_MSG_DRAIN:
    case VEL_MSG_MARK:
        if (is_leader && !leader->is_chair)
            vel_leader_no(leader, from->number, msg->seq, VEL_ESTATE,
                          "this leader is not the chair");
        else
            hear_handed_on(leader, from, msg);
        return;
    default:
        break;
    }
    if (is_leader)
        return;
    switch (msg->kind) {
    case VEL_MSG_OWE:
        hear_owe(leader, from, msg);
        break;
    case VEL_MSG_ASK:
        if (msg->u.ask.dataset > 0 &&
            !vel_lead_get(leader, (int64_t)msg->u.ask.dataset))
            vel_lead_find(leader, VEL_LOOK_ONE, (int64_t)msg->u.ask.dataset, NULL);
        vel_progress_answer(leader, from->number, msg->seq, (int64_t)msg->u.ask.dataset,
                            0, NULL);
        break;
    case VEL_MSG_LEAVE:
        from->leaving = msg->u.leave.how == VEL_LEAVE_FAILING ? VEL_FAILS : VEL_LEAVES;
        if (msg->u.leave.how == VEL_LEAVE_LAST)
            leader->connector->has_last = true;
        vel_leader_yes(leader, from->number, msg->seq, 0);
        break;
    case VEL_MSG_CREATE:
    case VEL_MSG_CLOSE:
    case VEL_MSG_LOOK:
    case VEL_MSG_REMOVE:
        hear_name(leader, from, msg);
        break;
    case VEL_MSG_RESIGN:
        hear_resign(leader, from, msg);
        break;
    default:
        vel_leader_no(leader, from->number, msg->seq, VEL_EUNSUP,
                      "this leader does not take such a request");
        break;
    }
}

struct vel_leader_wait *vel_serve_wait_of(struct vel_leader *leader, uint64_t job)
{
    for (size_t i = 0; job && i < leader->waits.n; i++)
        if (wait_at(leader, i)->job == job)
            return wait_at(leader, i);
    return NULL;
}

void vel_serve_end(struct vel_leader *leader, struct vel_leader_wait *wait)
{
    end_wait(leader, wait);
}

/* The chair answers what was passed on. */
void vel_serve_answer(struct vel_leader *leader, const struct vel_msg *msg)
{
    for (size_t i = 0; msg->seq > 0 && i < leader->waits.n; i++) {
        struct vel_leader_wait *wait = wait_at(leader, i);
        struct vel_msg reply = *msg;

        if (wait->passed_on != msg->seq || msg->kind == VEL_MSG_MOVES)
            continue;
        if (wait->kind == VEL_MSG_CLOSE) { /* several may wait for one report */
            vel_sync_answered(leader, wait, msg);
            continue;
        }
        if (msg->kind == VEL_MSG_NO && msg->u.no.status == -VEL_ESTATE) {
            wait->passed_on = 0; /* the next chair is asked */
            return;
        }
        if (wait->kind == VEL_MSG_CREATE) {
            vel_announce_answered(leader, wait, msg);
            return;
        }
        reply.seq = wait->seq;
        if (wait->link)
            vel_leader_send(leader, wait->link, &reply);
        end_wait(leader, wait);
        return;
    }
}

void vel_serve_gone(struct vel_leader *leader, uint64_t link)
{
    for (size_t i = leader->waits.n; i > 0; i--)
        if (wait_at(leader, i - 1)->link == link)
            end_wait(leader, wait_at(leader, i - 1));
}

void vel_serve_lost_chair(struct vel_leader *leader)
{
    for (size_t i = 0; i < leader->waits.n; i++)
        if (wait_at(leader, i)->kind != VEL_MSG_CLOSE) /* all is reported again */
            wait_at(leader, i)->passed_on = 0;
}

/* --- what is answered later --- */

/* A term needs no chair: the next one finds the seal, and tells it. */
static int seal_alone(struct vel_leader *leader, const struct vel_leader_wait *wait,
                      struct vel_err *err)
{
    struct vel_lead *lead = vel_lead_make(leader, wait->id);
    struct vel_seal seal;

    vel_seal_init(&seal);
    int rc =
        lead ? vel_seal_decode_settled(wait->id, wait->record, wait->len, &seal, err)
             : vel_out_of_memory(err, "a dataset");
    if (rc == 0)
        rc = leader->ops->seal(leader->arg, &seal, err);
    seal.owner = 0; /* a chair claims it */
    if (rc == 0 && !vel_launch_may_tell(leader))
        rc = vel_fail(err, VEL_ECANCEL, "the launch is over");
    if (rc < 0) {
        vel_seal_fini(&seal);
        return rc;
    }
    vel_part_learn(leader, lead, &seal);
    vel_lead_event(leader, lead, VEL_DATASET_ON_SEAL, VEL_DATASET_IF(MEMBER));
    return 0;
}

/* True: answered. */
static bool try_settle(struct vel_leader *leader, struct vel_leader_wait *wait)
{
    const struct vel_lead *lead = vel_lead_get(leader, wait->id);
    struct vel_err err = {0};
    int rc = 0;

    if (leader->is_ended)
        rc = vel_fail(&err, VEL_ECANCEL, "the launch is over");
    else if (lead && lead->state == VEL_DATASET_LOST)
        rc = vel_fail(&err, VEL_ECANCEL, "dataset %lld was dropped, or sealed too late",
                      (long long)wait->id);
    else if (lead && lead->state > VEL_DATASET_ANNOUNCED &&
             (!lead->is_led || lead->is_told))
        rc = 0;
    else if (!leader->has_view || wait->since > leader->now)
        return false;
    else if (leader->is_chair) {
        rc = vel_chair_settle(leader, wait->id, wait->record, wait->len, &err);
        lead = vel_lead_get(leader, wait->id);
        if (rc == 0 && lead && lead->is_led && !lead->is_told && !leader->is_ended)
            rc = vel_fail(&err, VEL_ETIMEOUT,
                          "dataset %lld is sealed, and whether that still counts "
                          "cannot be seen: the prefix does not answer",
                          (long long)wait->id);
        if (rc == 0 && leader->is_ended)
            rc = vel_fail(&err, VEL_ECANCEL, "the launch is over");
    } else if (!leader->is_welcome && leader->now >= wait->since + leader->conf.limit) {
        vel_leader_in_vain(leader, wait->since, "a chair", "");
        rc = seal_alone(leader, wait, &err);
    } else
        return false;
    if (rc == VEL_ETIMEOUT && leader->now < wait->since + leader->conf.stall)
        return false; /* the prefix does not answer now */
    if (rc == 0)
        vel_leader_yes(leader, wait->link, wait->seq, 0);
    else
        vel_leader_no(leader, wait->link, wait->seq, rc, err.text);
    return true;
}

static void pass_on(struct vel_leader *leader, struct vel_leader_wait *wait)
{
    const struct vel_leader_link *link = vel_leader_link_to(leader, leader->chair);
    struct vel_msg msg = {.kind = wait->kind, .seq = vel_leader_next_seq(leader)};

    if (leader->is_chair || !leader->is_welcome || !link || wait->passed_on)
        return;
    if (wait->kind == VEL_MSG_SETTLE) {
        msg.u.settle.dataset = (uint64_t)wait->id;
        msg.u.settle.record = (struct vel_msg_bytes){wait->record, wait->len};
    } else if (wait->kind == VEL_MSG_MARK) {
        if (!vel_mark_is_next(leader, wait))
            return;
        msg.u.mark.dataset = (uint64_t)wait->id;
        msg.u.mark.what = (uint64_t)wait->how;
        msg.u.mark.waits = true; /* it is told to the next chair, else */
        msg.u.mark.record = (struct vel_msg_bytes){wait->record, wait->len};
    } else if (wait->kind == VEL_MSG_DRAIN) {
        msg.u.drain.dataset = (uint64_t)wait->id;
        msg.u.drain.patience = wait->patience / VEL_CLOCK_S;
        msg.u.drain.until = (uint64_t)wait->how;
    } else {
        msg.u.ping.what = 3;
    }
    wait->passed_on = msg.seq;
    vel_leader_send(leader, link->number, &msg);
}

/* A node that left has nothing to answer for. */
static size_t count_silent(const struct vel_roster *roster)
{
    size_t n = 0;

    for (size_t i = 0; i < roster->members.n; i++) {
        const struct vel_roster_member *member = vel_roster_at(roster, i);

        n += !member->is_here && !member->has_left;
    }
    return n;
}

static bool try_ping(struct vel_leader *leader, const struct vel_leader_wait *wait)
{
    struct vel_msg msg = {.kind = VEL_MSG_PONG, .seq = wait->seq};

    if (!leader->is_chair)
        return false;
    msg.u.pong.value = count_silent(&leader->roster);
    vel_leader_send(leader, wait->link, &msg);
    return true;
}

static bool try_one(struct vel_leader *leader, struct vel_leader_wait *wait)
{
    if (wait->kind == VEL_MSG_OWE)
        return vel_owe_try(leader, wait);
    if (wait->kind == VEL_MSG_CREATE)
        return vel_create_try(leader, wait);
    if (wait->kind == VEL_MSG_CLOSE)
        return vel_close_try(leader, wait);
    if (wait->kind == VEL_MSG_LOOK || wait->kind == VEL_MSG_REMOVE)
        return vel_look_try(leader, wait);
    if (wait->kind == VEL_MSG_DRAIN    ? vel_progress_drain(leader, wait)
        : wait->kind == VEL_MSG_SETTLE ? try_settle(leader, wait)
        : wait->kind == VEL_MSG_MARK   ? vel_mark_try(leader, wait)
                                       : try_ping(leader, wait))
        return true;
    if (wait->kind != VEL_MSG_DRAIN || wait->id > 0)
        pass_on(leader, wait);
    return false;
}

static void sign_of_life(struct vel_leader *leader, struct vel_leader_wait *wait)
{
    struct vel_msg msg = {.kind = VEL_MSG_MOVES, .seq = wait->seq};

    if (leader->now < wait->moves_at)
        return;
    wait->moves_at = leader->now + leader->conf.limit / 4;
    msg.u.moves.bytes = vel_progress_moved(leader);
    if (wait->link)
        vel_leader_send(leader, wait->link, &msg);
}

void vel_serve_advance(struct vel_leader *leader)
{
    for (size_t i = leader->waits.n; i > 0; i--) {
        if (try_one(leader, wait_at(leader, i - 1)))
            end_wait(leader, wait_at(leader, i - 1));
        else
            sign_of_life(leader, wait_at(leader, i - 1));
    }
}

uint64_t vel_serve_due(const struct vel_leader *leader)
{
    uint64_t due = VEL_NEVER;

    for (size_t i = 0; i < leader->waits.n; i++)
        if (wait_at(leader, i)->moves_at < due)
            due = wait_at(leader, i)->moves_at;
    return due;
}
