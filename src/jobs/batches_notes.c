/* SPDX-License-Identifier: BSD-3-Clause */
/* Facts of files that are no facts of batches: of each subject the last one, in this
 * ledger or in one that it goes on with. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "jobs/batches_in.h"

/* --- what is kept --- */

static const enum vel_fact_kind kinds[] = {VEL_FACT_STANDS, VEL_FACT_COPYING,
                                           VEL_FACT_OWES};

enum { KINDS = sizeof kinds / sizeof *kinds };

/* The number behind the subject, by which facts are newer. */
static int64_t *count_of(struct vel_fact *fact)
{
    const struct vel_fact_field *field =
        vel_fact_field(fact->kind, vel_fact_row(fact->kind)->subject);

    return (int64_t *)(void *)((char *)fact + field->at);
}

int vel_batches_hear_notes(struct vel_batches *batches,
                           const struct vel_catalog *catalog, struct vel_err *err)
{
    int rc = vel_catalog_copy(batches->heard, catalog, VEL_FACT_OWES, err);

    for (size_t k = 0; k < KINDS; k++)
        for (size_t i = 0; rc == 0 && i < vel_catalog_count(catalog, kinds[k]); i++) {
            struct vel_fact fact;

            rc = vel_catalog_at(catalog, kinds[k], i, &fact, err);
            if (rc < 0)
                break;
            if (batches->said < *count_of(&fact))
                batches->said = *count_of(&fact);
            vel_fact_fini(&fact);
        }
    return rc;
}

int vel_batches_learn_notes(struct vel_batches *batches,
                            const struct vel_catalog *catalog, struct vel_err *err)
{
    int rc = vel_batches_hear_notes(batches, catalog, err);

    for (size_t i = 0; rc == 0 && i < KINDS; i++)
        rc = vel_catalog_copy(batches->notes, catalog, kinds[i], err);
    return rc;
}

/* What is in the cache. */
struct there {
    const struct vel_batches *batches;
    const struct vel_vec *levels;
    char *dir;
    bool is_gone; /* that one, which is that of most that follow */
};

/* Where the directory of a file is gone, so is the file. */
static bool has_dir(struct there *there, const char *dir)
{
    char *path;

    if (there->dir && strcmp(there->dir, dir) == 0)
        return !there->is_gone;
    free(there->dir);
    there->dir = strdup(dir);
    path = vel_path_join(there->batches->of.home, dir);
    there->is_gone = path && vel_batch_is_gone(there->batches->of.fs, path);
    free(path);
    return !there->is_gone;
}

static bool has_file(void *arg, const struct vel_fact *fact)
{
    return has_dir(arg, fact->u.stands.dir);
}

static bool has_parts(void *arg, const struct vel_fact *fact)
{
    return has_dir(arg, fact->u.owes.dir);
}

static bool has_dataset(void *arg, const struct vel_fact *fact)
{
    const struct there *there = arg;

    return vel_batches_have_dataset(there->batches, there->levels, fact->u.copying.id);
}

void vel_batches_prune_notes(struct vel_batches *batches, const struct vel_vec *levels)
{
    struct there there = {.batches = batches, .levels = levels};

    vel_catalog_keep(batches->notes, VEL_FACT_STANDS, has_file, &there, NULL);
    vel_catalog_keep(batches->notes, VEL_FACT_OWES, has_parts, &there, NULL);
    vel_catalog_keep(batches->heard, VEL_FACT_OWES, has_parts, &there, NULL);
    vel_catalog_keep(batches->notes, VEL_FACT_COPYING, has_dataset, &there, NULL);
    free(there.dir);
}

/* --- what is said --- */

static int learn(struct vel_batches *batches, const struct vel_fact *fact,
                 struct vel_err *err)
{
    struct vel_buf text;
    int rc;

    vel_buf_init(&text);
    rc = vel_fact_put(fact, &text, err);
    if (rc == 0) {
        const struct vel_ledger_line line = {vel_buf_text(&text), text.len};

        rc = vel_catalog_fold(batches->notes, &line, err);
    }
    vel_buf_fini(&text);
    return rc;
}

static int write_down(struct vel_batches *batches, const struct vel_fact *fact,
                      bool is_synced, struct vel_err *err)
{
    struct vel_buf text;
    int rc = vel_batches_need(batches, err);

    vel_buf_init(&text);
    if (rc == 0)
        rc = vel_batches_put_fact(fact, &text, err);
    if (rc == 0)
        rc = is_synced ? vel_batches_tell(batches, &text, err)
                       : vel_ledger_append(batches->ledger, vel_buf_text(&text),
                                           text.len, err);
    vel_buf_fini(&text);
    return rc;
}

static int say(struct vel_batches *batches, struct vel_fact *fact, bool is_synced,
               struct vel_err *err)
{
    int rc;

    *count_of(fact) = ++batches->said;
    rc = write_down(batches, fact, is_synced, err);
    return rc == 0 ? learn(batches, fact, err) : rc;
}

int vel_batches_note(struct vel_batches *batches, struct vel_fact fact, bool is_synced,
                     struct vel_err *err)
{
    int rc;

    pthread_mutex_lock(&batches->lock);
    rc = say(batches, &fact, is_synced, err);
    vel_batches_unlock(batches);
    return rc;
}

/* A begin has put it down when it could not be appended. */
static int say_later(struct vel_batches *batches, struct vel_fact *fact,
                     struct vel_err *err)
{
    struct vel_err why = {0};
    int rc;

    *count_of(fact) = ++batches->said;
    rc = write_down(batches, fact, false, &why);
    return rc == VEL_ECANCEL ? vel_fail(err, VEL_ECANCEL, "%s", why.text)
                             : learn(batches, fact, err);
}

/* With the lock. */
static int find_owed(struct vel_batches *batches, const struct vel_fact *subject,
                     struct vel_fact *ret, struct vel_err *err)
{
    struct vel_fact heard;
    int rc = batches->is_unread
                 ? vel_fail(err, VEL_EBUSY, "what is owed in %s could not be read",
                            batches->of.home)
                 : vel_catalog_find(batches->notes, subject, ret, err);

    if ((rc < 0 && rc != VEL_ENOENT) ||
        vel_catalog_find(batches->heard, subject, &heard, NULL) < 0)
        return rc;
    if (rc == VEL_ENOENT || *count_of(&heard) > *count_of(ret)) {
        if (rc == 0)
            vel_fact_fini(ret);
        *ret = heard;
        return 0;
    }
    vel_fact_fini(&heard);
    return rc;
}

int vel_batches_note_anew(struct vel_batches *batches, const struct vel_fact *subject,
                          vel_batches_change_f *change, void *arg, struct vel_err *err)
{
    enum vel_batches_say how = VEL_BATCHES_SAY_NOTHING;
    struct vel_fact fact = *subject;
    bool is_known = false;
    int rc = vel_batches_read_before(batches, err);

    if (rc < 0)
        return rc;
    pthread_mutex_lock(&batches->lock);
    rc = find_owed(batches, subject, &fact, err);
    is_known = rc == 0;
    rc = rc == VEL_ENOENT ? 0 : rc;
    if (rc == 0) {
        struct vel_fact next = fact;

        rc = change(arg, is_known, &next, &how, err);
        if (rc == 0 && how == VEL_BATCHES_SAY_SYNCED)
            rc = say(batches, &next, true, err);
        else if (rc == 0 && how == VEL_BATCHES_SAY_LATER)
            rc = say_later(batches, &next, err);
    }
    vel_batches_unlock(batches);
    if (is_known)
        vel_fact_fini(&fact);
    return rc;
}

int vel_batches_owed(struct vel_batches *batches, const struct vel_fact *subject,
                     struct vel_fact *ret, struct vel_err *err)
{
    int rc = vel_batches_read_before(batches, err);

    if (rc < 0)
        return rc;
    pthread_mutex_lock(&batches->lock);
    rc = find_owed(batches, subject, ret, err);
    vel_batches_unlock(batches);
    return rc;
}

int vel_batches_each_owed(struct vel_batches *batches, vel_batches_note_f *each,
                          void *arg, struct vel_err *err)
{
    struct vel_catalog *all = vel_catalog_create();
    int rc = all ? vel_batches_read_before(batches, err)
                 : vel_out_of_memory(err, "what is owed");

    pthread_mutex_lock(&batches->lock);
    if (rc == 0)
        rc = vel_catalog_copy(all, batches->heard, VEL_FACT_OWES, err);
    if (rc == 0)
        rc = vel_catalog_copy(all, batches->notes, VEL_FACT_OWES, err);
    vel_batches_unlock(batches);
    for (size_t i = 0; rc == 0 && i < vel_catalog_count(all, VEL_FACT_OWES); i++) {
        struct vel_fact fact;

        rc = vel_catalog_at(all, VEL_FACT_OWES, i, &fact, err);
        if (rc < 0)
            break;
        rc = each(arg, &fact, err);
        vel_fact_fini(&fact);
    }
    vel_catalog_destroy(all);
    return rc;
}

int vel_batches_hear(struct vel_batches *batches, struct vel_err *err)
{
    struct vel_catalog *all;
    int rc = vel_batches_read_catalog(batches->of.fs, batches->of.home, &all, err);

    if (rc < 0)
        return rc;
    pthread_mutex_lock(&batches->lock);
    rc = vel_batches_hear_notes(batches, all, err);
    vel_batches_unlock(batches);
    vel_catalog_destroy(all);
    return rc;
}

int vel_batches_noted(struct vel_batches *batches, const struct vel_fact *subject,
                      bool with_others, struct vel_fact *ret, struct vel_err *err)
{
    struct vel_catalog *all;
    int rc;

    if (with_others) {
        rc = vel_batches_read_catalog(batches->of.fs, batches->of.home, &all, err);
        if (rc < 0)
            return rc;
        rc = vel_catalog_find(all, subject, ret, err);
        vel_catalog_destroy(all);
        return rc;
    }
    pthread_mutex_lock(&batches->lock);
    rc = vel_catalog_find(batches->notes, subject, ret, err);
    vel_batches_unlock(batches);
    return rc;
}
