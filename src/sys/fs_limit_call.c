/* SPDX-License-Identifier: BSD-3-Clause */
/* The thread that does calls, and who waits for it. Calls work on copies: who has asked
 * may be gone when one is done. */
#include "config.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "sys/clock.h"
#include "sys/fs_limit_in.h"
#include "sys/thread.h"

enum { LOOK_NS = 30000 };

struct vel_fs_asked {
    struct vel_fs_call call; /* all that it points to is its own */
    struct vel_vec names;
    ssize_t rc;
    uint64_t begun;
    bool is_done, is_left; /* nobody waits for it any more */
    struct vel_fs_asked *next;
};

static uint64_t now(void)
{
    return vel_clock_monotonic(vel_clock_system());
}

static void drop(struct vel_fs_asked *asked)
{
    if (!asked)
        return;
    vel_fs_names_fini(&asked->names);
    free((char *)asked->call.path);
    free((char *)asked->call.from_path);
    free((void *)asked->call.bytes);
    free(asked->call.ret);
    free(asked);
}

static void *copy_bytes(const void *bytes, size_t len)
{
    void *copy = malloc(len + 1);

    if (copy && len > 0)
        memcpy(copy, bytes, len);
    return copy;
}

static struct vel_fs_asked *make(const struct vel_fs_call *call)
{
    struct vel_fs_asked *asked = calloc(1, sizeof *asked);

    if (!asked)
        return NULL;
    asked->call = *call;
    vel_vec_init(&asked->names, sizeof(char *));
    asked->call.names = call->names ? &asked->names : NULL;
    asked->call.path = call->path ? strdup(call->path) : NULL;
    asked->call.from_path = call->from_path ? strdup(call->from_path) : NULL;
    asked->call.bytes = call->bytes ? copy_bytes(call->bytes, call->len) : NULL;
    asked->call.ret = call->ret ? calloc(1, call->len + 1) : NULL;
    if ((!call->path || asked->call.path) &&
        (!call->from_path || asked->call.from_path) &&
        (!call->bytes || asked->call.bytes) && (!call->ret || asked->call.ret))
        return asked;
    drop(asked);
    return NULL;
}

/* Most calls take less than to fall asleep and be woken, which costs twice a call. So
 * each side looks for a moment before it sleeps. With the lock, but not meanwhile. */
static void look(struct vel_fs_limit *l, atomic_uint *count, unsigned seen)
{
    uint64_t until;

    if (!l->spins || atomic_load(count) != seen)
        return;
    pthread_mutex_unlock(&l->lock);
    until = now() + LOOK_NS;
    while (atomic_load(count) == seen && now() < until)
        sched_yield(); /* to whom it is waited for, when there are more than cores */
    pthread_mutex_lock(&l->lock);
}

/* --- the thread --- */

void vel_fs_limit_leave(struct vel_fs_limit *l)
{
    bool is_last = --l->users == 0;

    pthread_mutex_unlock(&l->lock);
    if (!is_last)
        return;
    pthread_cond_destroy(&l->asked);
    pthread_cond_destroy(&l->done);
    pthread_mutex_destroy(&l->lock);
    free(l->below);
    free(l);
}

/* With the lock, but not while it runs. */
static void run(struct vel_fs_limit *l, struct vel_fs_asked *asked)
{
    ssize_t rc;

    pthread_mutex_unlock(&l->lock);
    rc = vel_fs_call_run(l->twin.under, &asked->call);
    pthread_mutex_lock(&l->lock);
    asked->rc = rc;
}

/* What nobody has heard of nobody will close. */
static void end_left(struct vel_fs_limit *l, struct vel_fs_asked *asked)
{
    double seconds = (double)(now() - asked->begun) / (double)VEL_CLOCK_S;

    pthread_mutex_unlock(&l->lock);
    if (asked->call.op == VEL_FS_OP_OPEN && asked->rc >= 0)
        l->twin.under->ops->close(l->twin.under, (int)asked->rc);
    drop(asked);
    vel_log(VEL_LOG_WARN, "the file system of %s answers again, after %.1f s", l->below,
            seconds);
    pthread_mutex_lock(&l->lock);
}

static void *do_calls(void *arg)
{
    struct vel_fs_limit *l = arg;
    bool has_looked = false;

    pthread_mutex_lock(&l->lock);
    for (;;) {
        struct vel_fs_asked *asked = l->closes;

        if (asked) {
            l->closes = asked->next;
            run(l, asked);
            drop(asked);
        } else if (l->call) {
            asked = l->call;
            run(l, asked);
            l->call = NULL;
            has_looked = false;
            asked->is_done = true;
            atomic_fetch_add(&l->n_done, 1);
            if (asked->is_left)
                end_left(l, asked);
            else
                pthread_cond_signal(&l->done);
        } else if (l->is_over) {
            break;
        } else if (!has_looked) {
            look(l, &l->n_asked, atomic_load(&l->n_asked));
            has_looked = true;
        } else {
            pthread_cond_wait(&l->asked, &l->lock);
        }
    }
    vel_fs_limit_leave(l);
    return NULL;
}

/* Signals are for the program's own threads. With the lock. */
static bool has_thread(struct vel_fs_limit *l)
{
    pthread_t thread;

    if (l->has_thread)
        return true;
    l->has_thread = vel_thread_start(&thread, do_calls, l) == 0;
    if (l->has_thread) {
        pthread_detach(thread);
        l->users++;
    }
    return l->has_thread;
}

/* --- who asks --- */

/* True: it is done. */
static bool wait_for(struct vel_fs_limit *l, const struct vel_fs_asked *asked)
{
    uint64_t until = asked->begun + l->limit;
    const struct timespec at = {.tv_sec = (time_t)(until / VEL_CLOCK_S),
                                .tv_nsec = (long)(until % VEL_CLOCK_S)};

    look(l, &l->n_done, atomic_load(&l->n_done));
    while (!asked->is_done &&
           pthread_cond_timedwait(&l->done, &l->lock, &at) != ETIMEDOUT)
        ;
    return asked->is_done;
}

static void take_results(const struct vel_fs_call *call, struct vel_fs_asked *asked)
{
    size_t len = asked->rc > 0 ? (size_t)asked->rc : call->len;
    size_t before = call->names ? call->names->n : 0;

    if (asked->rc >= 0 && call->ret)
        memcpy(call->ret, asked->call.ret, len);
    for (size_t i = 0; asked->rc >= 0 && call->names && i < asked->names.n; i++)
        if (!vel_vec_push(call->names, vel_vec_at(&asked->names, i))) {
            call->names->n = before; /* they are dropped with the call */
            asked->rc = -ENOMEM;
        }
    if (asked->rc >= 0)
        asked->names.n = 0;
}

static void tell_late(const struct vel_fs_limit *l)
{
    vel_log(VEL_LOG_WARN,
            "the file system of %s has not answered for %.1f s: what needs it waits, "
            "all else goes on",
            l->below, (double)l->limit / (double)VEL_CLOCK_S);
}

ssize_t vel_fs_limit_ask(struct vel_fs_limit *l, const struct vel_fs_call *call)
{
    struct vel_fs_asked *asked = make(call);
    bool is_late = false, is_queued = false;
    ssize_t rc = -ETIMEDOUT;

    if (!asked)
        return -ENOMEM;
    pthread_mutex_lock(&l->lock);
    if (!has_thread(l)) {
        rc = -EAGAIN;
    } else if (!l->call) {
        l->call = asked;
        asked->begun = now();
        atomic_fetch_add(&l->n_asked, 1);
        pthread_cond_signal(&l->asked);
        is_late = asked->is_left = !wait_for(l, asked);
        if (!is_late) {
            take_results(call, asked);
            rc = asked->rc;
        }
    } else if (call->op == VEL_FS_OP_CLOSE) {
        asked->next = l->closes;
        l->closes = asked;
        is_queued = true;
    }
    pthread_mutex_unlock(&l->lock);
    if (is_late)
        tell_late(l);
    else if (!is_queued)
        drop(asked);
    return rc;
}
