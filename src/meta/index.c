/* SPDX-License-Identifier: BSD-3-Clause */
/* Entries as the ledgers of launches tell them: each is read on as it grows. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "facts/facts.h"
#include "meta/ids.h"
#include "meta/index_in.h"
#include "sys/clock.h"
#include "sys/thread.h"

/* --- what one line says --- */

void vel_said_fini(struct vel_said *said)
{
    free(said->launch);
    free(said->node);
    free(said->text);
    *said = (struct vel_said){0};
}

bool vel_said_get(const struct vel_ledger_line *line, struct vel_said *ret)
{
    struct vel_fields fields;
    struct vel_fact fact;

    if (!vel_line_is(line, "entry", &fields) || vel_fact_get(line, &fact, NULL) < 0)
        return false;
    *ret = (struct vel_said){.id = fact.u.entry.id,
                             .count = fact.u.entry.count,
                             .owner = fact.u.entry.owner,
                             .launch = fact.u.entry.launch,
                             .node = fact.u.entry.node,
                             .text = fact.u.entry.entry};
    return true; /* the strings are the caller's */
}

bool vel_said_find(const struct vel_ledger_text *text, int64_t id, struct vel_said *ret)
{
    bool is = false;

    for (size_t i = 0; text && i < text->facts.n; i++) {
        const struct vel_ledger_fact *fact = vel_vec_at(&text->facts, i);
        struct vel_said said;

        if (!vel_said_get(&fact->line, &said))
            continue;
        if (said.id == id && (!is || said.count > ret->count)) {
            if (is)
                vel_said_fini(ret);
            *ret = said;
            is = true;
        } else {
            vel_said_fini(&said);
        }
    }
    return is;
}

bool vel_said_is_doubtful(const struct vel_ledger_text *text)
{
    struct vel_fields fields;
    bool is = text->wrong > 0;

    for (size_t i = 0; !is && i < text->facts.n; i++)
        is = vel_line_is(&((struct vel_ledger_fact *)vel_vec_at(&text->facts, i))->line,
                         "doubt", &fields);
    return is;
}

/* --- the index --- */

bool vel_index_is_bound(const struct vel_index *index)
{
    return index->has_bound && pthread_equal(index->bound, pthread_self());
}

struct vel_index_half *vel_index_lock_half(struct vel_index *index)
{
    struct vel_index_half *half = &index->halves[vel_index_is_bound(index)];

    pthread_mutex_lock(&half->lock);
    return half;
}

void vel_index_unlock_half(struct vel_index_half *half)
{
    pthread_mutex_unlock(&half->lock);
}

int vel_index_open(struct vel_fs *fs, const char *dir, struct vel_index **ret,
                   struct vel_err *err)
{
    struct vel_index *index = calloc(1, sizeof *index);
    bool is_good = index;

    if (!index)
        return vel_out_of_memory(err, "the index");
    index->fs = fs;
    index->dir = strdup(dir);
    is_good = index->dir;
    index->over = vel_map_create();
    is_good = is_good && index->over;
    pthread_mutex_init(&index->over_lock, NULL);
    pthread_mutex_init(&index->term_lock, NULL);
    vel_cond_init(&index->term_free);
    for (int i = 0; i < 2; i++) {
        struct vel_index_half *half = &index->halves[i];

        pthread_mutex_init(&half->lock, NULL);
        half->launches = vel_map_create();
        vel_vec_init(&half->blocks, sizeof(struct vel_ids_block));
        is_good = is_good && half->launches;
    }
    if (!is_good) {
        vel_index_close(index);
        return vel_out_of_memory(err, "the index");
    }
    *ret = index;
    return 0;
}

void vel_index_close(struct vel_index *index)
{
    if (!index)
        return;
    for (int i = 0; i < 2; i++) {
        vel_map_destroy(index->halves[i].launches, vel_index_launch_free);
        vel_ids_list_fini(&index->halves[i].blocks);
        pthread_mutex_destroy(&index->halves[i].lock);
    }
    vel_ledger_close(index->term);
    pthread_cond_destroy(&index->term_free);
    pthread_mutex_destroy(&index->term_lock);
    pthread_mutex_destroy(&index->over_lock);
    if (index->over)
        vel_map_destroy(index->over, NULL);
    free(index->launch);
    free(index->node);
    free(index->dir);
    free(index);
}

struct vel_fs *vel_index_fs(const struct vel_index *index)
{
    return index->fs;
}

const char *vel_index_dir(const struct vel_index *index)
{
    return index->dir;
}

void vel_index_bind(struct vel_index *index, uint64_t limit)
{
    index->bound = pthread_self();
    index->limit = limit;
    index->has_bound = true;
}

/* --- the chair's term --- */

int vel_index_sign(struct vel_index *index, const char *launch, const char *node,
                   vel_index_keep_f *keep, void *arg, struct vel_err *err)
{
    index->launch = strdup(launch);
    index->node = strdup(node);
    index->keep = keep;
    index->arg = arg;
    return index->launch && index->node ? 0 : vel_out_of_memory(err, "the index");
}

/* Once it has waited in vain it does not wait again before it has had it. */
static bool is_free_in_time(struct vel_index *index)
{
    uint64_t until = vel_clock_deadline(vel_clock_system(), index->limit);
    const struct timespec at = {.tv_sec = (time_t)(until / VEL_CLOCK_S),
                                .tv_nsec = (long)(until % VEL_CLOCK_S)};
    int rc = index->is_busy ? ETIMEDOUT : 0;

    while (index->is_held && rc == 0)
        rc = pthread_cond_timedwait(&index->term_free, &index->term_lock, &at);
    return !index->is_held;
}

int vel_index_hold(struct vel_index *index, struct vel_err *err)
{
    bool is_bound = vel_index_is_bound(index), is_free = true;

    pthread_mutex_lock(&index->term_lock);
    if (is_bound)
        is_free = is_free_in_time(index);
    else
        while (index->is_held)
            pthread_cond_wait(&index->term_free, &index->term_lock);
    if (is_bound)
        index->is_busy = !is_free;
    index->is_held = true;
    pthread_mutex_unlock(&index->term_lock);
    return is_free ? 0
                   : vel_fail(err, VEL_EBUSY, "another writes the ledger of launch %s",
                              index->launch);
}

struct vel_ledger **vel_index_term(struct vel_index *index)
{
    return &index->term;
}

void vel_index_release(struct vel_index *index)
{
    pthread_mutex_lock(&index->term_lock);
    index->is_held = false;
    pthread_cond_broadcast(&index->term_free);
    pthread_mutex_unlock(&index->term_lock);
}

int vel_index_sync(struct vel_index *index)
{
    int rc = vel_index_hold(index, NULL);

    if (rc < 0)
        return rc;
    if (index->term && vel_ledger_is_good(index->term))
        rc = vel_ledger_sync(index->term, NULL);
    vel_index_release(index);
    return rc;
}
