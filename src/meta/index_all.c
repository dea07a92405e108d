/* SPDX-License-Identifier: BSD-3-Clause */
/* All entries of a prefix, or of a launch. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "meta/digest.h"
#include "meta/ids.h"
#include "meta/index_in.h"
#include "meta/launch.h"

/* All that is read at once. */
struct reading {
    struct vel_vec names;    /* in PREFIX/.veloc */
    struct vel_vec launches; /* const char *: in those */
    struct vel_vec all;      /* struct vel_said: what is wanted */
    struct vel_vec ids;      /* int64_t: of all */
};

static int newest_first(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x < y) - (x > y);
}

static int by_id(const void *a, const void *b)
{
    return newest_first(&((const struct vel_said *)a)->id,
                        &((const struct vel_said *)b)->id);
}

static void reading_fini(struct reading *reading)
{
    for (size_t i = 0; i < reading->all.n; i++)
        vel_said_fini(vel_vec_at(&reading->all, i));
    vel_vec_fini(&reading->all);
    vel_vec_fini(&reading->ids);
    vel_vec_fini(&reading->launches);
    vel_fs_names_fini(&reading->names);
}

static int list_names(struct vel_index *index, struct reading *ret, struct vel_err *err)
{
    struct vel_err why = {0};
    int rc;

    vel_vec_init(&ret->all, sizeof(struct vel_said));
    vel_vec_init(&ret->ids, sizeof(int64_t));
    vel_vec_init(&ret->launches, sizeof(char *));
    vel_vec_init(&ret->names, sizeof(char *));
    rc = vel_fs_list(index->fs, index->dir, &ret->names, &why);
    return rc < 0 && rc != VEL_ENOENT
               ? vel_fail(err, (enum vel_status)rc, "%s", why.text)
               : 0;
}

/* In order: a launch comes before its mark. */
static int note_name(struct vel_index *index, struct vel_index_half *half,
                     const char *name, struct reading *ret, struct vel_err *err)
{
    const char *launch = vel_launch_of(name), *past = vel_launch_past_of(name);
    struct vel_index_launch *of;
    int rc = 0;

    if (launch && !vel_vec_push(&ret->launches, &launch))
        rc = vel_out_of_memory(err, "the index");
    if (launch && rc == 0)
        rc = vel_index_get_launch(index, half, launch, &of, err);
    if (launch && rc == 0)
        of->is_past = false;
    of = past ? vel_map_get(half->launches, past) : NULL;
    if (of)
        of->is_past = true;
    return rc;
}

static void forget_over(struct vel_index *index, const struct vel_map *there)
{
    pthread_mutex_lock(&index->over_lock);
    for (size_t i = vel_map_count(index->over); i-- > 0;)
        if (!vel_map_has(there, vel_map_key(index->over, i)))
            vel_map_remove(index->over, vel_map_key(index->over, i));
    pthread_mutex_unlock(&index->over_lock);
}

/* Launches that are gone need not be known any more; and one of their name may live. */
static int forget_others(struct vel_index *index, struct vel_index_half *half,
                         const struct reading *reading)
{
    struct vel_map *there = vel_map_create();
    int rc = there ? 0 : VEL_ENOMEM;

    for (size_t i = 0; rc == 0 && i < reading->launches.n; i++)
        rc = vel_map_set(there, *(char **)vel_vec_at(&reading->launches, i), there,
                         NULL);
    for (size_t i = vel_map_count(half->launches); rc == 0 && i-- > 0;)
        if (!vel_map_has(there, vel_map_key(half->launches, i)))
            vel_index_forget_launch(half, vel_map_key(half->launches, i));
    if (rc == 0)
        forget_over(index, there);
    vel_map_destroy(there, NULL);
    return rc;
}

/* Which launches there are, and what the digest says of them. */
static int look_around(struct vel_index *index, struct vel_index_half *half,
                       struct reading *ret, struct vel_err *err)
{
    int rc = list_names(index, ret, err);

    for (size_t i = 0; rc == 0 && i < ret->names.n; i++)
        rc = note_name(index, half, *(char **)vel_vec_at(&ret->names, i), ret, err);
    if (rc == 0 && forget_others(index, half, ret) < 0)
        rc = vel_out_of_memory(err, "the index");
    if (rc == 0)
        vel_digest_load(index, half);
    return rc;
}

/* --- a launch --- */

static bool is_over(const struct vel_index_range *range, int64_t id)
{
    return range->over && id < range->over_below && vel_over_has(range->over, id);
}

static bool is_wanted(const struct vel_index_spot *spot,
                      const struct vel_index_range *range)
{
    return spot->id > range->above && spot->id < range->below &&
           !is_over(range, spot->id);
}

static int collect(const struct vel_index_launch *of,
                   const struct vel_index_range *range, struct reading *reading,
                   struct vel_err *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < of->spots.n; i++) {
        const struct vel_index_spot *spot = vel_vec_at(&of->spots, i);
        struct vel_said said;

        if (!spot->has_text || spot->is_doubtful || vel_ranges_has(&of->gone, spot->id))
            continue;
        if (!vel_vec_push(&reading->ids, &spot->id))
            rc = vel_out_of_memory(err, "the index");
        if (rc < 0 || !is_wanted(spot, range))
            continue;
        rc = vel_index_load_spot(of, spot, &said, err);
        if (rc == 0 && !vel_vec_push(&reading->all, &said)) {
            vel_said_fini(&said);
            rc = vel_out_of_memory(err, "the index");
        }
    }
    return rc;
}

static void forget_from(struct reading *reading, size_t n_all, size_t n_ids)
{
    for (size_t i = n_all; i < reading->all.n; i++)
        vel_said_fini(vel_vec_at(&reading->all, i));
    reading->all.n = n_all;
    reading->ids.n = n_ids;
}

/* In vain: it is damaged for good, or cannot be read now. */
static int miss_launch(const struct vel_index *index, const char *name,
                       const struct vel_index_range *range, const struct vel_err *why,
                       struct vel_err *err)
{
    if (!vel_status_is_final(why->status) && !range->left_out)
        return vel_launch_fail_unread(index->dir, name, why, err);
    vel_log(VEL_LOG_WARN, "datasets of launch %s are left out: %s", name, why->text);
    if (range->left_out)
        ++*range->left_out;
    return 0;
}

/* One that has no directory any more has none. */
static int collect_launch(struct vel_index *index, struct vel_index_half *half,
                          const char *name, const struct vel_index_range *range,
                          struct reading *reading, struct vel_err *err)
{
    size_t n_all = reading->all.n, n_ids = reading->ids.n;
    struct vel_err why = {0};
    int rc = VEL_EBUSY;

    for (int round = 0; rc == VEL_EBUSY && round < VEL_INDEX_ROUNDS; round++) {
        struct vel_index_launch *of;

        forget_from(reading, n_all, n_ids);
        rc = vel_index_read_launch(index, half, name, &of, &why);
        if (rc == 0)
            rc = collect(of, range, reading, &why);
        if (rc == VEL_EBUSY && of)
            of->looked = 0;
    }
    if (rc < 0)
        forget_from(reading, n_all, n_ids);
    if (rc == VEL_ENOMEM)
        return vel_out_of_memory(err, "the index");
    return rc < 0 && rc != VEL_ENOENT ? miss_launch(index, name, range, &why, err) : 0;
}

int vel_index_has(struct vel_index *index, const char *launch, bool *ret_has,
                  struct vel_err *err)
{
    struct vel_index_half *half = vel_index_lock_half(index);
    struct vel_index_launch *of;
    int rc = vel_index_read_launch(index, half, launch, &of, err);

    *ret_has = rc == 0 && of->is_doubtful;
    for (size_t i = 0; rc == 0 && !*ret_has && i < of->spots.n; i++)
        *ret_has = !vel_ranges_has(
            &of->gone, ((const struct vel_index_spot *)vel_vec_at(&of->spots, i))->id);
    vel_index_unlock_half(half);
    return rc;
}

/* --- all --- */

static int read_all(struct vel_index *index, const struct vel_index_range *range,
                    struct reading *ret, struct vel_err *err)
{
    struct vel_index_half *half = vel_index_lock_half(index);
    int rc = look_around(index, half, ret, err);

    for (size_t i = 0; rc == 0 && i < ret->launches.n; i++) {
        const char *launch = *(char **)vel_vec_at(&ret->launches, i);

        if (!range->launch || strcmp(launch, range->launch) == 0)
            rc = collect_launch(index, half, launch, range, ret, err);
    }
    vel_index_unlock_half(half);
    if (rc == 0 && range->over) {
        vel_vec_sort(&ret->ids, newest_first);
        vel_over_keep(range->over, ret->ids.items, ret->ids.n);
    }
    vel_vec_sort(&ret->all, by_id);
    return rc;
}

int vel_index_each(struct vel_index *index, const struct vel_index_range *range,
                   vel_index_f *each, void *arg, struct vel_err *err)
{
    struct reading reading;
    int rc = read_all(index, range, &reading, err);

    for (size_t i = 0; rc == 0 && i < reading.all.n; i++) {
        struct vel_entry entry;
        struct vel_err why = {0};
        int got = vel_said_decode(vel_vec_at(&reading.all, i), &entry, &why);

        if (got == 0)
            rc = each(arg, &entry, err);
        else if (got == VEL_ENOMEM)
            rc = vel_out_of_memory(err, "the index");
        else
            vel_log(VEL_LOG_WARN, "%s", why.text);
    }
    reading_fini(&reading);
    return rc;
}

static int keep_blocks(struct vel_index_half *half, const struct vel_vec *all)
{
    struct vel_vec kept;

    vel_vec_init(&kept, sizeof(struct vel_ids_block));
    for (size_t i = 0; i < all->n; i++) {
        struct vel_ids_block block = *(struct vel_ids_block *)vel_vec_at(all, i);

        if (!block.launch)
            continue;
        block.launch = strdup(block.launch);
        if (!block.launch || !vel_vec_push(&kept, &block)) {
            free(block.launch);
            vel_ids_list_fini(&kept);
            return VEL_ENOMEM;
        }
    }
    vel_ids_list_fini(&half->blocks);
    half->blocks = kept;
    return 0;
}

void vel_index_look_once(struct vel_index *index, struct vel_index_half *half)
{
    struct reading reading;

    if (half->has_digest)
        return;
    look_around(index, half, &reading, NULL);
    reading_fini(&reading);
}

int vel_index_blocks(struct vel_index *index, struct vel_vec *ret, struct vel_err *err)
{
    struct vel_index_half *half = vel_index_lock_half(index);
    int rc;

    vel_index_look_once(index, half);
    rc = vel_ids_list(index->fs, index->dir, &half->blocks, ret, err);
    if (rc == 0)
        keep_blocks(half, ret); /* else they are read again */
    vel_index_unlock_half(half);
    return rc;
}

void vel_index_digest(struct vel_index *index)
{
    struct vel_index_half *half = vel_index_lock_half(index);

    vel_digest_save(index, half);
    vel_index_unlock_half(half);
}

static bool knows_over(struct vel_index *index, const char *launch)
{
    bool knows;

    pthread_mutex_lock(&index->over_lock);
    knows = vel_map_has(index->over, launch);
    pthread_mutex_unlock(&index->over_lock);
    return knows;
}

/* Without memory it is asked again. */
static void note_over(struct vel_index *index, const char *launch)
{
    pthread_mutex_lock(&index->over_lock);
    vel_map_set(index->over, launch, index, NULL);
    pthread_mutex_unlock(&index->over_lock);
}

int vel_index_is_over(struct vel_index *index, const char *launch, bool *ret_is_over,
                      struct vel_err *err)
{
    enum vel_launch_fate fate = VEL_LAUNCH_ENDED;
    const struct vel_index_launch *of;
    struct vel_index_half *half;
    struct vel_err why = {0};
    bool is_known = knows_over(index, launch);
    int rc = 0;

    if (!is_known) {
        half = vel_index_lock_half(index);
        of = vel_map_get(half->launches, launch);
        is_known = of && of->is_past;
        vel_index_unlock_half(half);
    }
    if (!is_known) {
        fate = VEL_LAUNCH_OPEN;
        rc = vel_launch_fate(index->fs, index->dir, launch, &fate, &why);
    }
    if (rc == 0 && !is_known && fate == VEL_LAUNCH_ENDED)
        note_over(index, launch); /* the mark may be that of one of its name before */
    *ret_is_over = fate != VEL_LAUNCH_OPEN;
    return rc < 0 ? vel_launch_fail_unread(index->dir, launch, &why, err) : 0;
}

static int keep_entry(void *arg, struct vel_entry *entry, struct vel_err *err)
{
    if (vel_vec_push(arg, entry))
        return 0;
    vel_entry_fini(entry);
    return vel_out_of_memory(err, "the index");
}

int vel_index_load(struct vel_index *index, size_t *left_out, struct vel_vec *ret,
                   struct vel_err *err)
{
    const struct vel_index_range all = {
        .above = INT64_MIN, .below = INT64_MAX, .left_out = left_out};
    struct vel_vec entries;
    int rc;

    vel_vec_init(&entries, sizeof(struct vel_entry));
    rc = vel_index_each(index, &all, keep_entry, &entries, err);
    if (rc < 0)
        vel_index_fini(&entries);
    else
        *ret = entries;
    return rc;
}

void vel_index_fini(struct vel_vec *entries)
{
    struct vel_entry *e = entries->items;

    for (size_t i = 0; i < entries->n; i++)
        vel_entry_fini(&e[i]);
    vel_vec_fini(entries);
}

int vel_index_load_gone(struct vel_index *index, struct vel_ranges *ret,
                        struct vel_err *err)
{
    struct vel_index_half *half = vel_index_lock_half(index);
    int rc = 0;

    for (size_t i = 0; i < vel_map_count(half->launches); i++) {
        const struct vel_index_launch *of = vel_map_value(half->launches, i);

        for (size_t k = 0; rc == 0 && k < of->gone.of.n; k++)
            rc = vel_ranges_add_range(ret, vel_vec_at(&of->gone.of, k), err);
    }
    vel_index_unlock_half(half);
    return rc;
}
