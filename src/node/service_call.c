/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "node/service_call.h"

/* --- list; with the lock --- */

static struct vel_service_call *call_at(const struct vel_service *service, size_t i)
{
    return *(struct vel_service_call **)vel_vec_at(&service->calls, i);
}

static void finish(struct vel_service_call *call, int rc)
{
    call->rc = rc;
    call->is_done = true;
    pthread_cond_signal(call->done);
}

static void fail(struct vel_service_call *call, const struct vel_err *why)
{
    if (call->err)
        *call->err = *why;
    finish(call, why->status);
}

static void answer(struct vel_service_call *call, const struct vel_msg *msg)
{
    if (msg->kind == VEL_MSG_NO)
        finish(call, vel_fail(call->err, -(int)msg->u.no.status, "%s", msg->u.no.text));
    else
        finish(call, vel_msg_encode(msg, call->room, call->err));
}

/* --- a worker --- */

static void remove_call(struct vel_service *service,
                        const struct vel_service_call *call)
{
    for (size_t i = 0; i < service->calls.n; i++)
        if (call_at(service, i) == call) {
            vel_vec_remove(&service->calls, i);
            return;
        }
}

/* With the lock: until it is answered, or the job that asks is cancelled. What comes to
 * wait meanwhile, and goes before that job, is done: the others may be waiting for just
 * that. */
static void wait_for(struct vel_service *service, struct vel_service_call *call,
                     const struct vel_work_job *how)
{
    while (!call->is_done) {
        bool has_done, is_cancelled;

        call->is_woken = false;
        pthread_mutex_unlock(&service->lock);
        has_done = how && vel_work_let_earlier(how);
        is_cancelled = how && !vel_watch_step(how->alone, 0);
        pthread_mutex_lock(&service->lock);
        if (is_cancelled && !call->is_done)
            finish(call, vel_fail(call->err, VEL_ECANCEL, "told to stop"));
        else if (!has_done && !call->is_done && !call->is_woken)
            pthread_cond_wait(call->done, &service->lock);
    }
}

/* With the lock. */
static void begin(struct vel_service *service, struct vel_service_call *call)
{
    call->seq = VEL_SERVICE_CALL + ++service->last_call;
    if (service->is_closed)
        finish(call, vel_fail(call->err, VEL_ECANCEL, "the leader of %s ends",
                              service->host.node));
    else if (!vel_vec_push(&service->calls, &call))
        finish(call, vel_out_of_memory(call->err, "a question"));
    vel_links_wake(service->links);
}

int vel_service_call(struct vel_service *service, const struct vel_work_job *how,
                     const char *node, const struct vel_msg *ask, struct vel_msg *ret,
                     struct vel_buf *room, struct vel_err *err)
{
    pthread_cond_t done;
    struct vel_service_call call = {
        .node = node, .ask = ask, .room = room, .err = err, .done = &done};

    vel_buf_clear(room);
    pthread_cond_init(&done, NULL);
    pthread_mutex_lock(&service->lock);
    begin(service, &call);
    wait_for(service, &call, how);
    remove_call(service, &call);
    pthread_mutex_unlock(&service->lock);
    pthread_cond_destroy(&done);
    return call.rc == 0 ? vel_msg_decode(room->data, room->len, ret, err) : call.rc;
}

void vel_service_call_begin(struct vel_service *service, struct vel_service_call *call)
{
    pthread_mutex_lock(&service->lock);
    begin(service, call);
    pthread_mutex_unlock(&service->lock);
}

void vel_service_call_end(struct vel_service *service, struct vel_service_call *call)
{
    pthread_mutex_lock(&service->lock);
    remove_call(service, call);
    vel_links_wake(service->links); /* others may be sent now */
    pthread_mutex_unlock(&service->lock);
}

size_t vel_service_call_await(struct vel_service *service,
                              struct vel_service_call *const *calls, size_t n)
{
    size_t i = 0;

    pthread_mutex_lock(&service->lock);
    for (;;) {
        for (i = 0; i < n && !calls[i]->is_done; i++)
            ;
        if (i < n)
            break;
        pthread_cond_wait(calls[0]->done, &service->lock);
    }
    pthread_mutex_unlock(&service->lock);
    return i;
}

/* --- the loop --- */

void vel_service_calls_wake(struct vel_service *service)
{
    pthread_mutex_lock(&service->lock);
    for (size_t i = 0; i < service->calls.n; i++) {
        call_at(service, i)->is_woken = true;
        pthread_cond_signal(call_at(service, i)->done);
    }
    pthread_mutex_unlock(&service->lock);
}

/* To ourselves there is no link: the only question is for a meeting. */
static void ask_here(struct vel_service *service, const struct vel_service_call *call)
{
    struct vel_msg ask = *call->ask;

    ask.seq = call->seq;
    vel_muster_come(service->muster, 0, service->host.node, &ask,
                    vel_clock_monotonic(service->clock));
}

static uint64_t bytes_of(const struct vel_service_call *call)
{
    return call->ask->kind == VEL_MSG_WANT ? call->ask->u.want.len : 0;
}

/* Two nodes that have much to send to each other read nothing meanwhile (link.h), and a
 * link has few questions open: what all workers want of one node is less than that. */
static bool is_too_much(const struct vel_service *service,
                        const struct vel_service_call *call)
{
    uint64_t bytes = bytes_of(call);
    size_t n = 0;

    for (size_t i = 0; bytes > 0 && i < service->calls.n; i++) {
        const struct vel_service_call *other = call_at(service, i);

        if (!other->is_sent || other->is_done || bytes_of(other) == 0 ||
            strcmp(other->node, call->node) != 0)
            continue;
        bytes += bytes_of(other);
        n++;
    }
    return n > 0 && (bytes > VEL_LINK_UNREAD / 2 || n >= VEL_LINK_OPEN / 4);
}

static void send_call(struct vel_service *service, struct vel_service_call *call)
{
    struct vel_err why = {0};
    struct vel_service_link *peer = vel_service_reach(service, call->node, &why);
    struct vel_msg ask = *call->ask;

    if (!peer) {
        fail(call, &why);
        return;
    }
    call->link = peer->number;
    if (!vel_link_peer(peer->link))
        return; /* when it is met */
    ask.seq = call->seq;
    call->is_sent = true;
    if (vel_link_send(peer->link, &ask, &why) < 0)
        fail(call, &why);
}

/* The muster answers while it is called, and takes the lock for that. */
void vel_service_calls_send(struct vel_service *service)
{
    for (;;) {
        struct vel_service_call *here = NULL;

        pthread_mutex_lock(&service->lock);
        for (size_t i = 0; i < service->calls.n && !here; i++) {
            struct vel_service_call *call = call_at(service, i);

            if (call->is_done || call->is_sent || call->link)
                continue;
            if (strcmp(call->node, service->host.node) == 0)
                here = call;
            else if (!is_too_much(service, call))
                send_call(service, call);
        }
        if (here)
            here->is_sent = true;
        pthread_mutex_unlock(&service->lock);
        if (!here)
            return;
        ask_here(service, here);
    }
}

void vel_service_calls_met(struct vel_service *service,
                           const struct vel_service_link *to)
{
    pthread_mutex_lock(&service->lock);
    for (size_t i = 0; i < service->calls.n; i++) {
        struct vel_service_call *call = call_at(service, i);

        if (call->is_done || call->is_sent || call->link != to->number)
            continue;
        call->link = 0; /* or it is sent as soon as that may be */
        if (!is_too_much(service, call))
            send_call(service, call);
    }
    pthread_mutex_unlock(&service->lock);
}

bool vel_service_calls_answer(struct vel_service *service, const struct vel_msg *msg)
{
    const struct vel_msg_row *row = vel_msg_row(msg->kind);

    if (msg->seq < VEL_SERVICE_CALL || row->way != VEL_MSG_WAY_REPLY)
        return false;
    pthread_mutex_lock(&service->lock);
    for (size_t i = 0; i < service->calls.n; i++) {
        struct vel_service_call *call = call_at(service, i);

        if (call->seq == msg->seq && !call->is_done && msg->kind != VEL_MSG_MOVES)
            answer(call, msg);
    }
    pthread_mutex_unlock(&service->lock);
    return true;
}

void vel_service_calls_gone(struct vel_service *service,
                            const struct vel_service_link *link,
                            const struct vel_err *why)
{
    pthread_mutex_lock(&service->lock);
    for (size_t i = 0; i < service->calls.n; i++)
        if (!call_at(service, i)->is_done && call_at(service, i)->link == link->number)
            fail(call_at(service, i), why);
    pthread_mutex_unlock(&service->lock);
}

void vel_service_calls_end(struct vel_service *service)
{
    struct vel_err why = {0};

    vel_fail(&why, VEL_ECANCEL, "the leader of %s ends", service->host.node);
    pthread_mutex_lock(&service->lock);
    service->is_closed = true;
    for (size_t i = 0; i < service->calls.n; i++)
        if (!call_at(service, i)->is_done)
            fail(call_at(service, i), &why);
    pthread_mutex_unlock(&service->lock);
}

static void answer_here(void *arg, uint64_t link, const struct vel_msg *msg)
{
    if (link != 0)
        vel_service_send(arg, link, msg);
    else
        vel_service_calls_answer(arg, msg);
}

const struct vel_muster_ops vel_service_muster_ops = {.answer = answer_here};
