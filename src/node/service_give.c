/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "node/service_give.h"
#include "node/service_mover.h"
#include "sys/queue.h"

enum { READERS = 2 };

struct wanted {
    uint64_t link; /* who has asked */
    struct vel_msg want;
    char *name;   /* in it */
    bool is_read; /* by a reader, now: it stays in the list meanwhile */
};

struct given {
    uint64_t link;
    struct vel_msg answer;
    void *room; /* that it lies in; NULL: there was no memory */
};

struct vel_givers {
    struct vel_service *service;
    struct vel_paced paced; /* the files, as fast as their stores may be read */
    struct vel_watch watch;
    atomic_bool is_closed;
    struct vel_queue *queue; /* NULL: nobody has wanted anything yet */
    pthread_mutex_t lock;    /* guards what follows */
    struct vel_vec wanted;   /* struct wanted that have no answer yet */
    struct vel_vec given;    /* struct given */
    uint64_t moves_at;       /* the loop's: whose question waits is told so then */
};

/* Who waits for a slow store does not keep its leader from ending. */
static bool goes_on(void *arg, uint64_t bytes)
{
    (void)bytes;
    return !atomic_load(&((struct vel_givers *)arg)->is_closed);
}

int vel_givers_create(struct vel_service *service, struct vel_givers **ret,
                      struct vel_err *err)
{
    struct vel_givers *g = calloc(1, sizeof *g);

    if (!g)
        return vel_out_of_memory(err, "a leader");
    g->service = service;
    g->watch = (struct vel_watch){goes_on, g};
    vel_service_pace(service, &g->watch, &g->paced);
    pthread_mutex_init(&g->lock, NULL);
    vel_vec_init(&g->wanted, sizeof(struct wanted));
    vel_vec_init(&g->given, sizeof(struct given));
    *ret = g;
    return 0;
}

/* The first of a list; false when it is empty. */
static bool take(struct vel_givers *g, struct vel_vec *list, void *ret)
{
    bool is_there;

    pthread_mutex_lock(&g->lock);
    is_there = list->n > 0;
    if (is_there) {
        memcpy(ret, vel_vec_at(list, 0), list->item_size);
        vel_vec_remove(list, 0);
    }
    pthread_mutex_unlock(&g->lock);
    return is_there;
}

static bool put(struct vel_givers *g, struct vel_vec *list, const void *item)
{
    bool is_there;

    pthread_mutex_lock(&g->lock);
    is_there = vel_vec_push(list, item);
    pthread_mutex_unlock(&g->lock);
    return is_there;
}

void vel_givers_destroy(struct vel_givers *givers)
{
    struct wanted wanted;
    struct given given;

    if (!givers)
        return;
    atomic_store(&givers->is_closed, true);
    vel_queue_destroy(givers->queue);
    vel_paced_fini(&givers->paced);
    while (take(givers, &givers->wanted, &wanted))
        free(wanted.name);
    while (take(givers, &givers->given, &given))
        free(given.room);
    vel_vec_fini(&givers->wanted);
    vel_vec_fini(&givers->given);
    pthread_mutex_destroy(&givers->lock);
    free(givers);
}

/* --- a reader --- */

/* The first that nobody reads; false: there is none. */
static bool begin_wanted(struct vel_givers *g, struct wanted *ret)
{
    bool is_there = false;

    pthread_mutex_lock(&g->lock);
    for (size_t i = 0; !is_there && i < g->wanted.n; i++) {
        struct wanted *wanted = vel_vec_at(&g->wanted, i);

        is_there = !wanted->is_read;
        wanted->is_read = true;
        *ret = *wanted;
    }
    pthread_mutex_unlock(&g->lock);
    return is_there;
}

/* It is answered, or will never be. */
static void end_wanted(struct vel_givers *g, char *name)
{
    pthread_mutex_lock(&g->lock);
    for (size_t i = 0; i < g->wanted.n; i++)
        if (((struct wanted *)vel_vec_at(&g->wanted, i))->name == name) {
            vel_vec_remove(&g->wanted, i);
            break;
        }
    pthread_mutex_unlock(&g->lock);
    free(name);
}

static void give_one(struct vel_givers *g, struct vel_fs *fs)
{
    const struct vel_giver giver = {
        .fs = fs, .homes = g->service->homes, .n_homes = g->service->n_homes};
    struct wanted wanted;
    struct given given;

    if (!begin_wanted(g, &wanted))
        return;
    given = (struct given){.link = wanted.link, .room = malloc(VEL_WANT_MOST)};
    wanted.want.u.want.name = wanted.name;
    if (given.room)
        vel_give_answer(&giver, &wanted.want, given.room, &given.answer);
    given.answer.seq = wanted.want.seq;
    end_wanted(g, wanted.name);
    if (!put(g, &g->given, &given))
        free(given.room); /* the asker waits as long as for a node that is silent */
    vel_links_wake(g->service->links);
}

static void give_next(void *arg)
{
    struct vel_givers *g = arg;

    if (!atomic_load(&g->is_closed))
        give_one(g, &g->paced.twin.fs);
}

/* --- the loop --- */

void vel_givers_want(struct vel_givers *givers, uint64_t link,
                     const struct vel_msg *want)
{
    const struct wanted wanted = {
        .link = link, .want = *want, .name = strdup(want->u.want.name)};

    if (!wanted.name || !put(givers, &givers->wanted, &wanted)) {
        free(wanted.name);
        vel_service_close(givers->service, link);
        return;
    }
    if ((!givers->queue && vel_queue_create(READERS, &givers->queue, NULL) < 0) ||
        vel_queue_submit(givers->queue, give_next, givers, NULL) < 0)
        give_one(givers, givers->service->fs); /* the loop waits for no throttle */
}

/* A disk that is slow is not silent: who waits for it, or behind others, is told so. */
static void tell_moves(struct vel_givers *g)
{
    struct vel_service *service = g->service;
    uint64_t now = vel_clock_monotonic(service->clock);
    struct vel_vec waiting;

    if (now < g->moves_at)
        return;
    g->moves_at = now + service->limit_ms * VEL_CLOCK_MS / 4;
    vel_vec_init(&waiting, sizeof(struct wanted));
    pthread_mutex_lock(&g->lock);
    for (size_t i = 0; i < g->wanted.n; i++)
        vel_vec_push(&waiting, vel_vec_at(&g->wanted, i)); /* one that lacks waits on */
    pthread_mutex_unlock(&g->lock);
    for (size_t i = 0; i < waiting.n; i++) {
        const struct wanted *wanted = vel_vec_at(&waiting, i);
        const struct vel_msg moves = {.kind = VEL_MSG_MOVES, .seq = wanted->want.seq};

        vel_service_send(service, wanted->link, &moves);
    }
    vel_vec_fini(&waiting);
}

/* Has it taken in most of what was sent? One that is gone has nothing waiting. */
static bool takes_more(struct vel_service *service, uint64_t link)
{
    const struct vel_service_link *peer = vel_service_peer(service, link);

    return !peer || vel_link_waiting(peer->link) <= VEL_LINK_UNREAD / 2;
}

void vel_givers_send(struct vel_givers *givers)
{
    struct vel_vec later;
    struct given given;

    vel_vec_init(&later, sizeof given);
    while (take(givers, &givers->given, &given)) {
        if (given.room && !takes_more(givers->service, given.link) &&
            vel_vec_push(&later, &given))
            continue;
        if (given.room)
            vel_service_send(givers->service, given.link, &given.answer);
        else
            vel_service_close(givers->service, given.link);
        free(given.room);
    }
    for (size_t i = 0; i < later.n; i++)
        if (!put(givers, &givers->given, vel_vec_at(&later, i)))
            free(((struct given *)vel_vec_at(&later, i))->room);
    vel_vec_fini(&later);
    tell_moves(givers);
}
