/* SPDX-License-Identifier: BSD-3-Clause */
/* Entries as the ledgers of launches tell them: each is read on as it grows. */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "facts/facts.h"
#include "meta/ids.h"
#include "meta/index_in.h"
#include "meta/launch.h"
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

/* What a line says; false: it is no such fact. */
static bool get_said(const struct vel_ledger_line *line, struct vel_said *ret)
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

        if (!get_said(&fact->line, &said))
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

/* --- a launch --- */

static void forget_spots(struct vel_index_launch *launch)
{
    vel_vec_fini(&launch->spots);
    vel_vec_init(&launch->spots, sizeof(struct vel_index_spot));
    vel_fs_names_fini(&launch->lines);
    vel_vec_init(&launch->lines, sizeof(char *));
    vel_ranges_fini(&launch->gone);
    vel_ranges_init(&launch->gone);
    launch->last = 0;
}

static void launch_free(void *arg)
{
    struct vel_index_launch *launch = arg;

    forget_spots(launch);
    vel_follow_fini(&launch->follow);
    free(launch);
}

static int by_id(const void *a, const void *b)
{
    const struct vel_index_spot *x = a, *y = b;

    return (x->id > y->id) - (x->id < y->id);
}

const struct vel_index_spot *vel_index_find_spot(const struct vel_index_launch *launch,
                                                 int64_t id)
{
    const struct vel_index_spot key = {.id = id};
    bool is_there;
    size_t at = vel_vec_place(&launch->spots, &key, by_id, &is_there);

    return is_there ? vel_vec_at(&launch->spots, at) : NULL;
}

/* The last word counts. */
static int keep_spot(struct vel_index_launch *launch, const struct vel_index_spot *spot,
                     struct vel_err *err)
{
    bool is_there;
    size_t at = vel_vec_place(&launch->spots, spot, by_id, &is_there);
    struct vel_index_spot *old = is_there ? vel_vec_at(&launch->spots, at) : NULL;

    if (old && spot->count > old->count)
        *old = *spot;
    return old || vel_vec_insert(&launch->spots, at, spot)
               ? 0
               : vel_out_of_memory(err, "the index");
}

/* Where a term is damaged a line may be another's: then its text is kept. */
static int place(struct vel_index_launch *launch, const struct vel_follow_text *read,
                 const struct vel_ledger_line *line, struct vel_index_spot *spot,
                 struct vel_err *err)
{
    const struct vel_vec *all = &read->text->bytes;
    char *copy;

    if (all->n == 1) {
        spot->at =
            read->from +
            (uint64_t)(line->text - ((struct vel_buf *)vel_vec_at(all, 0))->data);
        return 0;
    }
    spot->at = launch->lines.n;
    spot->is_kept = true;
    copy = strndup(line->text, line->len);
    if (copy && vel_vec_push(&launch->lines, &copy))
        return 0;
    free(copy);
    return vel_out_of_memory(err, "the index");
}

static void note_id(struct vel_index_launch *launch, int64_t id)
{
    if (id > launch->last)
        launch->last = id;
}

static int take_entry(struct vel_index_launch *launch,
                      const struct vel_follow_text *read,
                      const struct vel_ledger_fact *fact, struct vel_fields fields,
                      struct vel_err *err)
{
    const struct vel_ledger_line *line = &fact->line;
    const struct vel_ledger_text *text = read->text;
    struct vel_index_spot spot = {.len = (unsigned)line->len};
    int rc;

    spot.id = vel_fields_int(&fields);
    spot.count = (uint32_t)vel_fields_int(&fields);
    spot.has_text = line->len < 2 || memcmp(line->text + line->len - 2, " %", 2) != 0;
    spot.is_doubtful = text->wrong > 0 && fact->of.term != text->name.term;
    if (!vel_fields_are_right(&fields))
        return 0;
    note_id(launch, spot.id);
    rc = vel_terms_fold_gone(line, &launch->gone, err);
    if (rc == 0)
        rc = place(launch, read, line, &spot, err);
    return rc == 0 ? keep_spot(launch, &spot, err) : rc;
}

static int take_line(struct vel_index_launch *launch,
                     const struct vel_follow_text *read,
                     const struct vel_ledger_fact *fact, struct vel_err *err)
{
    struct vel_fields fields;
    struct vel_buf key;

    if (vel_line_is(&fact->line, "entry", &fields))
        return take_entry(launch, read, fact, fields, err);
    if (!vel_line_is(&fact->line, "sealed", &fields))
        return vel_terms_fold_gone(&fact->line, &launch->gone, err);
    vel_buf_init(&key);
    vel_fields_text(&fields, &key);
    note_id(launch, vel_fields_int(&fields));
    vel_buf_fini(&key);
    return 0;
}

static int take(void *arg, const struct vel_follow_text *read, struct vel_err *err)
{
    struct vel_index_launch *launch = arg;
    int rc = 0;

    if (read->is_anew) {
        forget_spots(launch);
        launch->is_done = false;
        launch->is_doubtful = false;
    }
    launch->is_done = launch->is_done || vel_terms_has_done(read->text);
    launch->is_doubtful = launch->is_doubtful || vel_said_is_doubtful(read->text);
    for (size_t i = 0; rc == 0 && i < read->text->facts.n; i++)
        rc = take_line(launch, read, vel_vec_at(&read->text->facts, i), err);
    return rc;
}

int vel_index_load_spot(const struct vel_index_launch *launch,
                        const struct vel_index_spot *spot, struct vel_said *ret,
                        struct vel_err *err)
{
    const struct vel_follow *of = &launch->follow;
    const struct vel_ledger_dir dir = {.fs = of->fs, .path = of->launch_dir};
    const struct vel_ledger_spot where = {
        .name = of->name, .salt = of->salt, .at = spot->at, .len = spot->len};
    struct vel_ledger_line line = {.len = spot->len};
    struct vel_buf text;
    int rc = 0;

    vel_buf_init(&text);
    if (spot->is_kept) {
        line.text = *(char **)vel_vec_at(&launch->lines, spot->at);
    } else {
        rc = vel_ledger_load_line(&dir, &where, &text, err);
        line = (struct vel_ledger_line){text.data, text.len};
    }
    if (rc == VEL_ENOENT)
        rc = vel_fail(err, VEL_EBUSY, "the ledger in %s changes", of->launch_dir);
    if (rc == 0 && !get_said(&line, ret))
        rc = vel_fail(err, VEL_ECORRUPT, "the ledger in %s has a wrong entry",
                      of->launch_dir);
    vel_buf_fini(&text);
    return rc;
}

int vel_index_get_launch(struct vel_index *index, struct vel_index_half *half,
                         const char *name, struct vel_index_launch **ret,
                         struct vel_err *err)
{
    struct vel_index_launch *launch = vel_map_get(half->launches, name);
    int rc = 0;

    if (!launch) {
        launch = calloc(1, sizeof *launch);
        if (launch)
            forget_spots(launch);
        rc = launch ? vel_follow_init(&launch->follow, index->fs, index->dir, name, err)
                    : vel_out_of_memory(err, "the index");
        if (rc == 0 && vel_map_set(half->launches, name, launch, NULL) < 0)
            rc = vel_out_of_memory(err, "the index");
        if (rc < 0 && launch)
            launch_free(launch);
    }
    *ret = rc == 0 ? launch : NULL;
    return rc;
}

void vel_index_forget_launch(struct vel_index_half *half, const char *name)
{
    struct vel_index_launch *launch = vel_map_remove(half->launches, name);

    if (launch)
        launch_free(launch);
}

/* VEL_ENOENT: it has no directory. */
int vel_index_read_launch(struct vel_index *index, struct vel_index_half *half,
                          const char *name, struct vel_index_launch **ret,
                          struct vel_err *err)
{
    int rc = vel_index_get_launch(index, half, name, ret, err);

    /* of what is over each word is in a term of its own */
    if (rc == 0 && !((*ret)->is_done && vel_follow_is_last(&(*ret)->follow)))
        rc = vel_follow_read(&(*ret)->follow, take, *ret, err);
    if (rc == VEL_ENOENT)
        vel_index_forget_launch(half, name);
    return rc;
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
        vel_map_destroy(index->halves[i].launches, launch_free);
        vel_ids_list_fini(&index->halves[i].blocks);
        pthread_mutex_destroy(&index->halves[i].lock);
    }
    vel_ledger_close(index->term);
    pthread_cond_destroy(&index->term_free);
    pthread_mutex_destroy(&index->term_lock);
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
