/* SPDX-License-Identifier: BSD-3-Clause */
/* All sets of all labels. Several encodings of one label are there when a crash came
 * between two of them, or while sets were encoded one by one: the newest that can be
 * made whole in all its sets is taken, as in recover_all.c. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "red/rebuild_in.h"

static void make_whole(struct rebuild *r, size_t begin, size_t end)
{
    struct vel_rebuilt_set *set = r->set;

    for (size_t first = begin, next; first < end; first = next) {
        struct vel_err err = {0};

        for (next = first + 1;
             next < end && vel_found_same_encoding(vel_shelf_at(&r->shelf, first),
                                                   vel_shelf_at(&r->shelf, next));)
            next++;
        set->rc = vel_rebuild_try(r, first, next, &err);
        if (first == begin || set->rc == 0)
            set->err = err; /* the newest one's failure is what counts */
        if (set->rc != VEL_EINVAL)
            return;
    }
}

void vel_rebuilt_fini(struct vel_vec *sets)
{
    for (size_t i = 0; i < sets->n; i++) {
        struct vel_rebuilt_set *set = vel_vec_at(sets, i);

        vel_rebuilt_forget(set);
        vel_vec_fini(&set->members);
        free(set->label);
    }
    vel_vec_fini(sets);
}

static size_t set_end(const struct rebuild *r, size_t begin, size_t end)
{
    size_t i = begin + 1;

    while (i < end && vel_found_same_set(vel_shelf_at(&r->shelf, begin),
                                         vel_shelf_at(&r->shelf, i)))
        i++;
    return i;
}

/* The members of one encoding among those of a set, which lie side by side; *ret_end is
 * *ret_begin when there are none. */
static void narrow(const struct rebuild *r, const struct vel_found *encoding,
                   size_t *begin, size_t *end)
{
    const uint8_t *id = vel_found_header(encoding)->id;

    while (*begin < *end &&
           memcmp(vel_found_header(vel_shelf_at(&r->shelf, *begin))->id, id,
                  VEL_ENCODING_ID) != 0)
        ++*begin;
    while (*end > *begin &&
           memcmp(vel_found_header(vel_shelf_at(&r->shelf, *end - 1))->id, id,
                  VEL_ENCODING_ID) != 0)
        --*end;
}

/* Could all sets of this encoding be made whole? Nothing is written. */
static bool stands(struct rebuild *r, size_t begin, size_t end,
                   const struct vel_found *encoding)
{
    const struct vel_rebuild_options *options = r->options;
    const struct vel_rebuild_options dry = {.dry_run = true, .memory = options->memory};
    struct vel_rebuilt_set scratch = {.label = encoding->label};
    int rc = 0;

    vel_vec_init(&scratch.members, sizeof(struct vel_rebuilt_member));
    r->options = &dry;
    r->set = &scratch;
    for (size_t next; rc == 0 && begin < end; begin = next) {
        size_t first = begin, last = next = set_end(r, begin, end);

        narrow(r, encoding, &first, &last);
        if (first < last)
            rc = vel_rebuild_try(r, first, last, NULL);
    }
    vel_rebuilt_forget(&scratch);
    vel_vec_fini(&scratch.members);
    r->options = options;
    return rc == 0;
}

/* The newest encoding that can be made whole in all its sets, when there are several;
 * NULL: there is no such, and each set may take its own newest. */
static int choose(struct rebuild *r, size_t begin, size_t end,
                  const struct vel_found **ret_encoding, struct vel_err *err)
{
    struct vel_vec encodings;
    size_t all;
    int rc = vel_shelf_encodings(&r->shelf, begin, end, &encodings, &all, err);

    *ret_encoding = NULL;
    if (rc < 0)
        return rc;
    for (size_t i = 0; all > 1 && !*ret_encoding && i < encodings.n; i++) {
        const struct vel_found *one = ((const struct vel_found **)encodings.items)[i];

        if (stands(r, begin, end, one))
            *ret_encoding = one;
    }
    vel_vec_fini(&encodings);
    return 0;
}

static int one_set(struct rebuild *r, size_t begin, size_t end, struct vel_vec *sets,
                   struct vel_err *err)
{
    const struct vel_found *first = vel_shelf_at(&r->shelf, begin);

    r->set = vel_vec_push(sets, NULL);
    if (!r->set)
        return vel_out_of_memory(err, "rebuilding");
    vel_vec_init(&r->set->members, sizeof(struct vel_rebuilt_member));
    r->set->set = vel_found_header(first)->set;
    r->set->sets = vel_found_header(first)->sets;
    r->set->label = strdup(first->label);
    if (!r->set->label)
        return vel_out_of_memory(err, "rebuilding");
    make_whole(r, begin, end);
    return 0;
}

static int each_set(struct rebuild *r, size_t begin, size_t end, struct vel_vec *sets,
                    struct vel_err *err)
{
    const struct vel_found *encoding;
    int rc = choose(r, begin, end, &encoding, err);

    for (size_t next; rc == 0 && begin < end; begin = next) {
        size_t first = begin, last = next = set_end(r, begin, end);

        if (encoding)
            narrow(r, encoding, &first, &last);
        if (first < last)
            rc = one_set(r, first, last, sets, err);
    }
    return rc;
}

static int each_label(struct rebuild *r, struct vel_vec *sets, struct vel_err *err)
{
    const struct vel_shelf *shelf = &r->shelf;
    int rc = 0;

    for (size_t begin = 0, end; rc == 0 && begin < shelf->found.n; begin = end) {
        const char *label = vel_shelf_at(shelf, begin)->label;

        for (end = begin + 1; end < shelf->found.n &&
                              strcmp(vel_shelf_at(shelf, end)->label, label) == 0;)
            end++;
        rc = each_set(r, begin, end, sets, err);
    }
    return rc;
}

int vel_rebuild(struct vel_fs *fs, char *const *dirs, size_t n_dirs,
                const struct vel_rebuild_options *options, struct vel_vec *ret_sets,
                struct vel_err *err)
{
    struct rebuild r = {.fs = fs, .options = options};
    struct vel_vec sets;
    int rc;

    r.into = options->into ? options->into : dirs[0];
    rc = vel_shelf_fill(&r.shelf, fs, dirs, n_dirs, err);
    if (rc < 0)
        return rc;
    vel_vec_init(&sets, sizeof(struct vel_rebuilt_set));
    r.seats = calloc(VEL_SET_MAX, sizeof *r.seats);
    if (!r.seats)
        rc = vel_out_of_memory(err, "rebuilding");
    else if (r.shelf.found.n == 0)
        rc = vel_fail(err, VEL_ENOENT,
                      "%s%s: no redundancy file (*%s) is there: name the directories "
                      "that members have them in",
                      dirs[0], n_dirs > 1 ? " and the others" : "", VEL_RED_SUFFIX);
    else
        rc = each_label(&r, &sets, err);
    vel_shelf_fini(&r.shelf);
    for (size_t i = 0; r.seats && i < VEL_SET_MAX; i++)
        free(r.seats[i].dir);
    free(r.seats);
    if (rc < 0)
        vel_rebuilt_fini(&sets);
    else
        *ret_sets = sets;
    return rc;
}
