/* SPDX-License-Identifier: BSD-3-Clause */
/* leaderlab's writers: processes that create, close, look for and remove files. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "tap/leaderlab.h"
#include "tap/tap.h"

enum lab_phase {
    NOBODY,
    CREATE,
    WRITE,
    CLOSE,
    AWAIT, /* MODE=SYNC: the dataset that it has made whole */
    AGAIN,
    LOOK,
    REMOVE,
    PAUSE,
    DRAIN,
    GONE
};
enum { SEQ = 1 << 20, TAKE_BACK = 1 }; /* of these requests, and of how=2 */

static struct lab_process *writer_at(struct lab *lab, int i)
{
    return vel_vec_at(&lab->processes, (size_t)i);
}

static void later(struct lab *lab, int i, uint64_t time)
{
    struct lab_event event = {.kind = LAB_WRITER, .leader = i};

    lab_post(lab, &event, lab_chance(lab, LAB_MS, time > LAB_MS ? time : LAB_MS));
}

/* The name of a step before this one. */
static void name_of(const struct lab *lab, int i, int back, char *ret)
{
    const struct lab_process *writer = vel_vec_at(&lab->processes, (size_t)i);

    ret[0] = '\0';
    if (writer->step - back >= 0)
        lab->script->name(writer->node, writer->step - back, writer->nth, ret,
                          LAB_NAME);
}

static void ask(struct lab *lab, int i)
{
    struct lab_process *writer = writer_at(lab, i);
    struct vel_msg msg = {.seq = SEQ + 2 * (uint64_t)writer->phase};
    char old[LAB_NAME];

    writer->is_asking = true;
    switch (writer->phase) {
    case CREATE:
        msg.kind = VEL_MSG_CREATE;
        msg.u.create.name = writer->name;
        break;
    case CLOSE:
        msg.kind = VEL_MSG_CLOSE;
        msg.u.close.file = writer->file;
        msg.u.close.size = (uint64_t)writer->stamp;
        break;
    case AWAIT:
        msg.kind = VEL_MSG_DRAIN;
        msg.u.drain.dataset = (uint64_t)writer->awaits;
        break;
    case LOOK:
        msg.kind = VEL_MSG_LOOK;
        msg.u.look.name = writer->name;
        break;
    case REMOVE:
        msg.kind = VEL_MSG_REMOVE;
        name_of(lab, i, lab->removes, old);
        msg.u.remove.name = old;
        break;
    default:
        msg.kind = VEL_MSG_DRAIN;
        if (lab->failing & LAB_BIT(writer->node)) {
            msg.kind = VEL_MSG_LEAVE;
            msg.u.leave.how = VEL_LEAVE_FAILING;
        }
        break;
    }
    if (writer->is_met && !writer->is_telling)
        lab_send(lab, writer->link, -1 - i, &msg);
}

static void go(struct lab *lab, int i, int phase)
{
    writer_at(lab, i)->phase = phase;
    ask(lab, i);
}

static void wait(struct lab *lab, int i, int phase, uint64_t time)
{
    writer_at(lab, i)->phase = phase;
    writer_at(lab, i)->is_asking = false;
    later(lab, i, time);
}

static bool all_have_written(const struct lab *lab, int launch)
{
    for (size_t i = 0; i < lab->processes.n; i++) {
        const struct lab_process *writer = vel_vec_at(&lab->processes, i);

        if (writer->is_alive && writer->launch == launch &&
            writer->step < lab->script->steps)
            return false;
    }
    return true;
}

/* The next file that this rank has, or the end. */
static void next(struct lab *lab, int i)
{
    struct lab_process *writer = writer_at(lab, i);
    const struct lab_script *script = lab->script;

    for (; writer->step < script->steps; writer->step++, writer->nth = 0)
        for (; writer->nth < script->most; writer->nth++)
            if (script->name(writer->node, writer->step, writer->nth, writer->name,
                             sizeof writer->name)) {
                go(lab, i, CREATE);
                return;
            }
    if (script->is_together && !all_have_written(lab, writer->launch))
        wait(lab, i, PAUSE, LAB_T / 10);
    else
        go(lab, i, DRAIN);
}

void lab_writer_event(struct lab *lab, int i)
{
    struct lab_process *writer = writer_at(lab, i);

    if (!writer->is_alive)
        return;
    if (writer->phase == WRITE)
        go(lab, i, CLOSE);
    else if (writer->phase == AGAIN)
        go(lab, i, AWAIT);
    else if (writer->phase == PAUSE)
        next(lab, i);
}

void lab_write(struct lab *lab, int launch, const struct lab_script *script)
{
    lab->program = launch;
    lab->script = script;
    lab->what = VEL_OWED_ENCODE | VEL_OWED_FLUSH;
    for (size_t i = 0; i < lab->processes.n; i++)
        if (writer_at(lab, (int)i)->is_alive &&
            writer_at(lab, (int)i)->phase == NOBODY &&
            writer_at(lab, (int)i)->launch == launch)
            wait(lab, (int)i, PAUSE, script->pause);
}

static void write_natively(struct lab *lab, const struct lab_process *writer)
{
    struct lab_name *name = lab_name(lab, writer->name);

    name->stamp = name->closed = ++lab->stamps;
    name->is_native = true;
}

static void over_with(struct lab *lab, int i)
{
    char old[LAB_NAME] = "";

    if (lab->removes)
        name_of(lab, i, lab->removes, old);
    if (old[0]) {
        go(lab, i, REMOVE);
        return;
    }
    writer_at(lab, i)->nth++;
    wait(lab, i, PAUSE, lab->script->pause);
}

static void is_closed(struct lab *lab, int i, bool is_done, uint64_t dataset)
{
    struct lab_process *writer = writer_at(lab, i);
    struct lab_name *name = lab_name(lab, writer->name);

    writer->file = 0;
    lab->refusals += !is_done && writer->stamp > 0;
    if (!is_done || writer->stamp == 0) { /* it copies it to its own path */
        write_natively(lab, writer);
    } else {
        name->closed = writer->stamp;
    }
    lab->unsealed += dataset == VEL_MSG_ANY_NUMBER;
    if (dataset == 0 || dataset == VEL_MSG_ANY_NUMBER) {
        go(lab, i, LOOK);
        return;
    }
    writer->awaits = (int64_t)dataset;
    lab->datasets[dataset].is_awaited = true;
    go(lab, i, AWAIT);
}

/* A leader that has come meanwhile may know nothing yet. */
static void is_drained(struct lab *lab, int i, const struct vel_msg *msg)
{
    const struct lab_process *writer = vel_vec_at(&lab->processes, (size_t)i);
    const struct vel_msg_state *state = &msg->u.state;
    const struct lab_entry *entry = lab_entry(lab, writer->awaits);

    if (msg->kind == VEL_MSG_STATE && state->left == 0 &&
        state->state < VEL_DATASET_ENCODED) {
        wait(lab, i, AGAIN, LAB_T / 10);
        return;
    }
    if (msg->kind == VEL_MSG_STATE && state->left == 0 && !entry->is_encoded &&
        entry->place != VEL_ON_PREFIX && entry->by == 0)
        lab_is_wrong(lab, "%s waited in vain: dataset %lld is not encoded",
                     writer->name, (long long)writer->awaits);
    go(lab, i, LOOK);
}

static void is_placed(struct lab *lab, int i, const struct vel_msg_place *place)
{
    struct lab_process *writer = writer_at(lab, i);

    if (writer->phase == LOOK) {
        if (place->where == VEL_PLACE_NOWHERE || place->where == VEL_PLACE_LOST)
            lab_is_wrong(lab, "%s was closed, and %s is not there", writer->name,
                         writer->name);
        over_with(lab, i);
        return;
    }
    writer->file = place->file;
    writer->stamp = place->where == VEL_PLACE_CACHE ? (int64_t)place->size : 0;
    if (writer->stamp == 0) {
        is_closed(lab, i, false, 0);
        return;
    }
    wait(lab, i, WRITE, lab->script->write);
}

static void is_removed(struct lab *lab, int i)
{
    struct lab_process *writer = writer_at(lab, i);
    char old[LAB_NAME];

    name_of(lab, i, lab->removes, old);
    struct lab_name *name = lab_name(lab, old);
    name->removed = name->closed;
    name->stamp = 0;
    writer->nth++;
    wait(lab, i, PAUSE, lab->script->pause);
}

static void is_back(struct lab *lab, int i, const struct vel_msg *msg)
{
    struct lab_process *writer = writer_at(lab, i);

    writer->is_telling = false;
    if (msg->kind == VEL_MSG_PLACE) {
        writer->file = msg->u.place.file;
        if (msg->u.place.size != (uint64_t)writer->stamp)
            lab_is_wrong(lab, "%s comes back as another file", writer->name);
        if (writer->is_asking)
            ask(lab, i);
    } else if (writer->phase == CLOSE) {
        is_closed(lab, i, false, 0);
    } else {
        writer->stamp = 0; /* it will be copied */
    }
}

bool lab_writer_hear(struct lab *lab, int i, const struct vel_msg *msg)
{
    struct lab_process *writer = writer_at(lab, i);

    if (writer->phase == NOBODY || msg->seq < SEQ)
        return writer->phase != NOBODY;
    if (!writer->is_alive || msg->kind == VEL_MSG_MOVES)
        return true;
    if (msg->seq & TAKE_BACK) {
        is_back(lab, i, msg);
        return true;
    }
    if (!writer->is_asking || msg->seq != SEQ + 2 * (uint64_t)writer->phase)
        return true;
    if (writer->phase == DRAIN) {
        writer->phase = GONE;
        lab_leave_one(lab, i);
    } else if (writer->phase == CLOSE) {
        is_closed(lab, i, msg->kind == VEL_MSG_YES,
                  msg->kind == VEL_MSG_YES ? msg->u.yes.value : 0);
    } else if (writer->phase == AWAIT) {
        is_drained(lab, i, msg);
    } else if (writer->phase == REMOVE) {
        is_removed(lab, i);
    } else if (msg->kind == VEL_MSG_PLACE) {
        is_placed(lab, i, &msg->u.place);
    } else {
        over_with(lab, i); /* nobody knows where it is */
    }
    return true;
}

/* A new leader is told of what is open, then asked again. */
void lab_writer_met(struct lab *lab, int i)
{
    struct lab_process *writer = writer_at(lab, i);
    struct vel_msg msg = {.kind = VEL_MSG_CREATE, .seq = SEQ + TAKE_BACK};

    writer->is_met = true;
    writer->is_telling = false;
    if (writer->phase == NOBODY || writer->phase == GONE)
        return;
    if (writer->file && writer->stamp) {
        msg.u.create.how = VEL_CREATE_IS_OPEN;
        msg.u.create.name = writer->name;
        writer->is_telling = true;
        lab_send(lab, writer->link, -1 - i, &msg);
    } else if (writer->is_asking) {
        ask(lab, i);
    }
}
