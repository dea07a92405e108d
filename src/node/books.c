/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "conf/load.h"
#include "meta/halt_watch.h"
#include "meta/nodes.h"
#include "node/books.h"
#include "sys/thread.h"

enum { WAITING_MOST = 1000 };  /* events */
#define BEGINS VEL_EVENT_OTHER /* no event: vel_books_begin() */

struct entry {
    struct vel_event event;
    char *name, *text; /* of it */
    struct entry *next;
};

struct vel_books {
    struct vel_fs *fs;
    struct vel_clock *clock;
    char *dir;
    struct vel_event_log log;
    struct vel_host host;     /* of who holds the lock of halts */
    struct vel_halt_now kept; /* what the settings say of the end */
    uint64_t period;          /* between two looks for a halt, at most */
    bool is_begun;            /* by the loop's thread */

    struct vel_halt_watch halt; /* the thread's, and what follows */
    bool has_sealed, has_counted, is_halt_told;

    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t asked, idle;
    pthread_t thread;
    struct entry *first, **end;
    size_t n;
    int64_t nodes; /* to be written; 0: is */
    bool has_thread, is_busy;
    bool is_over; /* nothing more comes */
    bool is_left; /* nor does anybody wait: the thread frees it */
    bool is_deaf; /* what was to be written last could not be */
};

/* --- life --- */

static void entry_destroy(struct entry *entry)
{
    free(entry->name);
    free(entry->text);
    free(entry);
}

static void destroy(struct vel_books *b)
{
    for (struct entry *next; b->first; b->first = next) {
        next = b->first->next;
        entry_destroy(b->first);
    }
    pthread_cond_destroy(&b->asked);
    pthread_cond_destroy(&b->idle);
    pthread_mutex_destroy(&b->lock);
    vel_event_log_fini(&b->log);
    vel_halt_watch_fini(&b->halt);
    vel_host_fini(&b->host);
    free(b->dir);
    free(b);
}

/* The environment of an agent is not that of the programs. */
int vel_books_open(const struct vel_service_of *of, struct vel_books **ret_books,
                   struct vel_err *err)
{
    const char *job = of->is_agent ? of->conf->job_id : vel_conf_job_id(of->conf);
    struct vel_books *b = calloc(1, sizeof *b);
    int rc;

    if (!b)
        return vel_out_of_memory(err, "the log of events");
    b->fs = of->fs;
    b->clock = of->clock;
    b->end = &b->first;
    b->dir = strdup(of->dir);
    pthread_mutex_init(&b->lock, NULL);
    vel_cond_init(&b->asked);
    vel_cond_init(&b->idle);
    b->host = (struct vel_host){strdup(of->host->node), strdup(of->host->user)};
    b->kept.seconds = of->conf->halt_seconds;
    b->kept.end =
        (double)(of->is_agent ? of->conf->end_time : vel_conf_end_time(of->conf));
    b->period = (uint64_t)(of->conf->peer_timeout * VEL_CLOCK_S);
    rc = b->dir && b->host.node && b->host.user
             ? vel_halt_watch_init(&b->halt, of->fs, of->clock, &b->host, of->dir, err)
             : vel_out_of_memory(err, "the log of events");
    if (rc == 0)
        rc = vel_event_log_init(&b->log, of->fs, of->clock,
                                of->conf->log_enable ? of->dir : NULL, job,
                                of->host->user, err);
    if (rc == 0)
        *ret_books = b;
    else
        destroy(b);
    return rc;
}

static struct timespec time_after(uint64_t ns)
{
    uint64_t at = vel_clock_monotonic(vel_clock_system()) + ns;

    return (struct timespec){.tv_sec = (time_t)(at / VEL_CLOCK_S),
                             .tv_nsec = (long)(at % VEL_CLOCK_S)};
}

void vel_books_close(struct vel_books *b, uint64_t patience)
{
    const struct timespec at = time_after(patience);

    if (!b)
        return;
    pthread_mutex_lock(&b->lock);
    b->is_over = true;
    pthread_cond_signal(&b->asked);
    while ((b->first || b->nodes || b->is_busy) &&
           pthread_cond_timedwait(&b->idle, &b->lock, &at) != ETIMEDOUT)
        ;
    bool is_left = b->is_left = b->first || b->nodes || b->is_busy;
    bool has_thread = b->has_thread;
    pthread_t thread = b->thread;
    pthread_mutex_unlock(&b->lock);
    if (is_left) {
        pthread_detach(thread);
        return;
    }
    if (has_thread)
        pthread_join(thread, NULL);
    destroy(b);
}

/* --- the thread --- */

static void tell_deaf(struct vel_books *b, int rc, const struct vel_err *why)
{
    if (rc < 0)
        vel_log(b->is_deaf ? VEL_LOG_DEBUG : VEL_LOG_WARN, "%s", why->text);
    b->is_deaf = rc < 0;
}

static void write_event(struct vel_books *b, const struct vel_event *event)
{
    struct vel_err why = {0};

    tell_deaf(b, vel_event_log_add(&b->log, event, &why), &why);
}

/* A program that asks nobody whether to end is not to surprise who has asked it to. */
static void look_for_halt(struct vel_books *b)
{
    struct vel_halt_now now = b->kept;
    struct vel_halt_verdict verdict;

    now.wall = vel_event_now(b->clock);
    vel_halt_test(vel_halt_watch_look(&b->halt), VEL_HALT_PROGRAM, &now, &verdict);
    if (verdict.why != VEL_HALT_NONE && !b->is_halt_told) {
        vel_log(VEL_LOG_INFO, "the program is asked to end: %s", verdict.text);
        write_event(b,
                    &(struct vel_event){.kind = VEL_EVENT_HALT, .text = verdict.text});
    }
    b->is_halt_told = verdict.why != VEL_HALT_NONE;
}

/* What an event means for a halt; of a session's datasets rank 0 sees to that. */
static void mind_halt(struct vel_books *b, const struct vel_event *event)
{
    bool is_checkpoint = event->kind == VEL_EVENT_CHECKPOINT;

    b->has_sealed |= is_checkpoint || event->kind == VEL_EVENT_OUTPUT;
    b->has_counted |= is_checkpoint;
    if (is_checkpoint)
        vel_halt_watch_count(&b->halt);
    if (is_checkpoint || event->kind == VEL_EVENT_RUN_START)
        look_for_halt(b);
    if (event->kind == VEL_EVENT_RUN_END && event->text && b->has_sealed)
        vel_halt_watch_finish(&b->halt, event->text);
}

static void write_entry(struct vel_books *b, struct entry *entry)
{
    if (entry->event.kind == BEGINS) {
        vel_halt_watch_begin(&b->halt);
        return;
    }
    write_event(b, &entry->event);
    mind_halt(b, &entry->event);
}

static void write_nodes(struct vel_books *b, int64_t nodes)
{
    struct vel_err why = {0};
    int64_t before = 0;
    int rc = 0;

    if (vel_nodes_load(b->fs, b->dir, &before, NULL) < 0 || before != nodes)
        rc = vel_nodes_save(b->fs, b->dir, nodes, &why);
    if (rc == VEL_ENOENT || rc == VEL_EEXIST) /* another run records its own just now */
        rc = 0;
    tell_deaf(b, rc < 0 ? vel_wrap(&why, rc, "recording the number of nodes") : 0,
              &why);
}

/* One thing that waits, without the lock while it is written; false: there is none. */
static bool write_next(struct vel_books *b)
{
    struct entry *entry = b->first;
    int64_t nodes = b->nodes;

    if (!entry && !nodes)
        return false;
    if (entry) {
        b->first = entry->next;
        b->end = b->first ? b->end : &b->first;
        b->n--;
    } else {
        b->nodes = 0;
    }
    b->is_busy = true;
    pthread_mutex_unlock(&b->lock);
    if (entry) {
        write_entry(b, entry);
        entry_destroy(entry);
    } else {
        write_nodes(b, nodes);
    }
    pthread_mutex_lock(&b->lock);
    b->is_busy = false;
    return true;
}

/* Time passes, and an operator may ask at any time, also between checkpoints. */
static void wait_for_more(struct vel_books *b)
{
    const struct timespec until = time_after(b->period);

    if (!b->has_counted) {
        pthread_cond_wait(&b->asked, &b->lock);
    } else if (pthread_cond_timedwait(&b->asked, &b->lock, &until) == ETIMEDOUT) {
        b->is_busy = true;
        pthread_mutex_unlock(&b->lock);
        look_for_halt(b);
        pthread_mutex_lock(&b->lock);
        b->is_busy = false;
    }
}

static void *write_all(void *arg)
{
    struct vel_books *b = arg;

    pthread_mutex_lock(&b->lock);
    for (;;) {
        while (!b->is_left && write_next(b))
            ;
        pthread_cond_signal(&b->idle);
        if (b->is_over)
            break;
        wait_for_more(b);
    }
    bool is_left = b->is_left;
    pthread_mutex_unlock(&b->lock);
    if (is_left)
        destroy(b);
    return NULL;
}

/* Signals are for the program's own threads. With the lock. */
static bool has_thread(struct vel_books *b)
{
    b->has_thread = b->has_thread || vel_thread_start(&b->thread, write_all, b) == 0;
    return b->has_thread;
}

/* --- what is to be written --- */

static struct entry *copy(const struct vel_event *event)
{
    struct entry *entry = calloc(1, sizeof *entry);

    if (!entry)
        return NULL;
    entry->event = *event;
    entry->name = event->name ? strdup(event->name) : NULL;
    entry->text = event->text ? strdup(event->text) : NULL;
    entry->event.name = entry->name;
    entry->event.text = entry->text;
    return entry;
}

/* It happened now, however late it is written. */
void vel_books_tell(struct vel_books *b, const struct vel_event *event)
{
    struct entry *entry = copy(event);

    if (!entry)
        return;
    entry->event.time = vel_event_now(b->clock);
    pthread_mutex_lock(&b->lock);
    if (b->n >= WAITING_MOST || !has_thread(b)) {
        entry_destroy(entry);
    } else {
        *b->end = entry;
        b->end = &entry->next;
        b->n++;
        pthread_cond_signal(&b->asked);
    }
    pthread_mutex_unlock(&b->lock);
}

void vel_books_begin(struct vel_books *b)
{
    if (!b || b->is_begun)
        return;
    b->is_begun = true;
    vel_books_tell(b, &(struct vel_event){.kind = BEGINS});
}

void vel_books_nodes(struct vel_books *b, int64_t nodes)
{
    pthread_mutex_lock(&b->lock);
    if (has_thread(b)) {
        b->nodes = nodes;
        pthread_cond_signal(&b->asked);
    }
    pthread_mutex_unlock(&b->lock);
}
