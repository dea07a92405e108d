/* SPDX-License-Identifier: BSD-3-Clause */
/* What the ledger of one launch says of its datasets, read on as it grows. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "meta/index_in.h"

/* Bytes of lines of launches that are over, which are kept: to look at each in its
 * ledger takes longer than all else when there are many. */
static const size_t KEPT_MOST = 32 << 20;

static void forget_spots(struct vel_index_launch *launch)
{
    if (launch->half)
        launch->half->kept -= launch->kept;
    launch->kept = 0;
    launch->told = 0;
    vel_vec_fini(&launch->spots);
    vel_vec_init(&launch->spots, sizeof(struct vel_index_spot));
    vel_fs_names_fini(&launch->lines);
    vel_vec_init(&launch->lines, sizeof(char *));
    vel_fs_names_fini(&launch->sealed);
    vel_vec_init(&launch->sealed, sizeof(char *));
    launch->has_sealed = false;
    vel_ranges_fini(&launch->gone);
    vel_ranges_init(&launch->gone);
    launch->last = 0;
}

void vel_index_forget_said(struct vel_index_launch *launch)
{
    forget_spots(launch);
    launch->is_done = launch->is_doubtful = launch->follow.has_term = false;
}

void vel_index_launch_free(void *arg)
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

static bool has_room(const struct vel_index_launch *launch,
                     const struct vel_ledger_line *line)
{
    return launch->half->kept + line->len < KEPT_MOST;
}

static int push_line(struct vel_index_launch *launch, struct vel_vec *lines,
                     const struct vel_ledger_line *line, struct vel_err *err)
{
    char *copy = malloc(line->len + 1);

    if (!copy || !vel_vec_push(lines, &copy)) {
        free(copy);
        return vel_out_of_memory(err, "the index");
    }
    memcpy(copy, line->text, line->len);
    copy[line->len] = '\0';
    launch->kept += line->len;
    launch->half->kept += line->len;
    return 0;
}

static int keep_line(struct vel_index_launch *launch,
                     const struct vel_ledger_line *line, struct vel_index_spot *spot,
                     struct vel_err *err)
{
    spot->at = launch->lines.n;
    spot->is_kept = true;
    return push_line(launch, &launch->lines, line, err);
}

static int keep_sealed(struct vel_index_launch *launch,
                       const struct vel_ledger_line *line, struct vel_err *err)
{
    launch->has_sealed = launch->has_sealed && has_room(launch, line);
    return launch->has_sealed ? push_line(launch, &launch->sealed, line, err) : 0;
}

/* Where a term is damaged a line may be another's: then its text is kept. */
static int place(struct vel_index_launch *launch, const struct vel_follow_text *read,
                 const struct vel_ledger_line *line, struct vel_index_spot *spot,
                 struct vel_err *err)
{
    const struct vel_vec *all = &read->text->bytes;

    if (all->n != 1 || (launch->is_done && has_room(launch, line)))
        return keep_line(launch, line, spot, err);
    spot->at = read->from +
               (uint64_t)(line->text - ((struct vel_buf *)vel_vec_at(all, 0))->data);
    return 0;
}

static void note_id(struct vel_index_launch *launch, int64_t id)
{
    if (id > launch->last)
        launch->last = id;
}

/* False: it is no entry. */
static bool get_spot(const struct vel_ledger_line *line, struct vel_index_spot *ret)
{
    struct vel_fields fields;

    if (!vel_line_is(line, "entry", &fields))
        return false;
    *ret = (struct vel_index_spot){.len = (unsigned)line->len};
    ret->id = vel_fields_int(&fields);
    ret->count = (uint32_t)vel_fields_int(&fields);
    ret->has_text = line->len < 2 || memcmp(line->text + line->len - 2, " %", 2) != 0;
    return vel_fields_are_right(&fields);
}

static int take_entry(struct vel_index_launch *launch,
                      const struct vel_follow_text *read,
                      const struct vel_ledger_fact *fact, struct vel_index_spot *spot,
                      struct vel_err *err)
{
    int rc;

    spot->is_doubtful = read->text->wrong > 0 && fact->of.term != read->text->name.term;
    note_id(launch, spot->id);
    rc = vel_terms_fold_gone(&fact->line, &launch->gone, err);
    if (rc == 0)
        rc = place(launch, read, &fact->line, spot, err);
    return rc == 0 ? keep_spot(launch, spot, err) : rc;
}

static int take_line(struct vel_index_launch *launch,
                     const struct vel_follow_text *read,
                     const struct vel_ledger_fact *fact, struct vel_err *err)
{
    struct vel_index_spot spot;
    struct vel_fields fields;
    struct vel_buf key;

    if (get_spot(&fact->line, &spot))
        return take_entry(launch, read, fact, &spot, err);
    if (!vel_line_is(&fact->line, "sealed", &fields))
        return vel_terms_fold_gone(&fact->line, &launch->gone, err);
    vel_buf_init(&key);
    vel_fields_text(&fields, &key);
    note_id(launch, vel_fields_int(&fields));
    vel_buf_fini(&key);
    return keep_sealed(launch, &fact->line, err);
}

static int take(void *arg, const struct vel_follow_text *read, struct vel_err *err)
{
    struct vel_index_launch *launch = arg;
    bool was_done = launch->is_done;
    int rc = 0;

    launch->told = 0;
    if (read->is_anew)
        vel_index_forget_said(launch);
    launch->is_done = launch->is_done || vel_terms_has_done(read->text);
    launch->is_doubtful = launch->is_doubtful || vel_said_is_doubtful(read->text);
    launch->has_sealed = launch->is_done && !launch->is_doubtful &&
                         (read->is_anew || (was_done && launch->has_sealed));
    for (size_t i = 0; rc == 0 && i < read->text->facts.n; i++)
        rc = take_line(launch, read, vel_vec_at(&read->text->facts, i), err);
    return rc;
}

bool vel_index_put_back(struct vel_index_launch *launch,
                        const struct vel_ledger_line *line)
{
    struct vel_index_spot spot;

    if (line->len == 0 || memchr(line->text, '\0', line->len) ||
        memchr(line->text, '\n', line->len) || !has_room(launch, line))
        return false;
    if (!get_spot(line, &spot))
        return vel_terms_fold_gone(line, &launch->gone, NULL) == 0;
    return keep_line(launch, line, &spot, NULL) == 0 &&
           keep_spot(launch, &spot, NULL) == 0;
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
    if (rc == 0 && !vel_said_get(&line, ret))
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
        if (launch)
            launch->half = half;
        rc = launch ? vel_follow_init(&launch->follow, index->fs, index->dir, name, err)
                    : vel_out_of_memory(err, "the index");
        if (rc == 0 && vel_map_set(half->launches, name, launch, NULL) < 0)
            rc = vel_out_of_memory(err, "the index");
        if (rc < 0 && launch)
            vel_index_launch_free(launch);
    }
    *ret = rc == 0 ? launch : NULL;
    return rc;
}

void vel_index_forget_launch(struct vel_index_half *half, const char *name)
{
    struct vel_index_launch *launch = vel_map_remove(half->launches, name);

    if (launch)
        vel_index_launch_free(launch);
}

/* --- is it as it was read? --- */

bool vel_index_is_still(const struct vel_index_half *half)
{
    return half->still > 0 && pthread_equal(half->stiller, pthread_self());
}

static bool has_looked(const struct vel_index_launch *launch)
{
    return vel_index_is_still(launch->half) && launch->looked == launch->half->stills;
}

void vel_index_stand_still(struct vel_index *index)
{
    struct vel_index_half *half = vel_index_lock_half(index);

    if (vel_index_is_still(half)) {
        half->still++;
    } else if (half->still == 0) { /* else others go on as they do */
        half->still = 1;
        half->stiller = pthread_self();
        half->stills++;
    }
    vel_index_unlock_half(half);
}

void vel_index_go_on(struct vel_index *index)
{
    struct vel_index_half *half = vel_index_lock_half(index);

    if (vel_index_is_still(half))
        half->still--;
    vel_index_unlock_half(half);
}

/* Of what is over each word is in a term of its own. Of a launch that is marked little
 * more is said, so its directory is not listed. */
static bool is_as_read(const struct vel_index_launch *launch)
{
    return launch->is_done &&
           (has_looked(launch) ||
            (vel_follow_is_as_read(&launch->follow) &&
             (launch->is_past || vel_follow_is_last(&launch->follow))));
}

/* VEL_ENOENT: it has no directory. */
int vel_index_read_launch(struct vel_index *index, struct vel_index_half *half,
                          const char *name, struct vel_index_launch **ret,
                          struct vel_err *err)
{
    int rc = vel_index_get_launch(index, half, name, ret, err);

    if (rc == 0 && !is_as_read(*ret)) {
        if ((*ret)->follow.salt == 0) /* it was put back */
            vel_index_forget_said(*ret);
        rc = vel_follow_read(&(*ret)->follow, take, *ret, err);
    }
    if (rc == 0 && vel_index_is_still(half))
        (*ret)->looked = half->stills;
    if (rc == VEL_ENOENT) { /* another one may get its name */
        vel_index_forget_launch(half, name);
        pthread_mutex_lock(&index->over_lock);
        vel_map_remove(index->over, name);
        pthread_mutex_unlock(&index->over_lock);
    }
    return rc;
}

int vel_index_sealed(struct vel_index *index, const char *launch, uint64_t *ret_size,
                     vel_index_sealed_f *each, void *arg, struct vel_err *err)
{
    struct vel_index_half *half = vel_index_lock_half(index);
    struct vel_index_launch *of;
    bool has =
        vel_index_read_launch(index, half, launch, &of, NULL) == 0 && of->has_sealed;
    int rc = 0;

    for (size_t i = 0; has && rc == 0 && i < of->sealed.n; i++) {
        const char *text = *(char **)vel_vec_at(&of->sealed, i);
        const struct vel_ledger_line line = {text, strlen(text)};

        rc = each(arg, &line, err);
    }
    *ret_size = has ? (uint64_t)of->follow.stamp.size : 0;
    vel_index_unlock_half(half);
    return rc < 0 ? rc : has;
}
