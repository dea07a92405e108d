/* SPDX-License-Identifier: BSD-3-Clause */
/* What leaders before this one have left in a cache: of this launch, and of those that
 * are over. */
#include "config.h"

#include <string.h>

#include "jobs/batches_in.h"

/* The name of the launch whose ledger it is; "": nobody knows. Its notes are older than
 * ours from now on. */
static int read_launch(struct vel_batches *batches, const struct vel_ledger_text *text,
                       struct vel_buf *ret, struct vel_err *err)
{
    const struct vel_fact subject = {.kind = VEL_FACT_LAUNCH,
                                     .u.launch = {.number = text->name.launch}};
    struct vel_catalog *catalog = vel_catalog_create();
    struct vel_fact fact;
    int rc = catalog ? vel_batches_fold_text(catalog, text, err)
                     : vel_out_of_memory(err, "batches");

    ret->len = 0;
    if (rc == 0) {
        pthread_mutex_lock(&batches->lock);
        rc = vel_batches_hear_notes(batches, catalog, err);
        pthread_mutex_unlock(&batches->lock);
    }
    if (rc == 0 && vel_catalog_find(catalog, &subject, &fact, NULL) == 0) {
        vel_buf_puts(ret, fact.u.launch.name);
        vel_fact_fini(&fact);
    }
    vel_catalog_destroy(catalog);
    return rc < 0 ? rc : vel_buf_status(ret, err);
}

static int read_all(struct vel_batches *batches, struct vel_vec *ret,
                    struct vel_err *err)
{
    return vel_batches_read_ledgers(&batches->dir, ret, err);
}

static int compare_launches(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x < y) - (x > y);
}

/* Whose are those of this cache? */
struct found {
    struct vel_vec own;  /* int64_t: numbers of this launch, */
    struct vel_vec over; /* and of those that are over, the highest first */
};

static int note(struct vel_vec *numbers, int64_t number, struct vel_err *err)
{
    return vel_vec_push(numbers, &number) ? 0 : vel_out_of_memory(err, "batches");
}

/* In a cache of several nodes each has its own. */
static int look_at(struct vel_batches *batches, const struct vel_ledger_text *text,
                   vel_batches_over_f *is_over, void *arg, struct found *found,
                   struct vel_err *err)
{
    bool is_here = strcmp(text->node, batches->of.node) == 0, is = false;
    struct vel_buf name;
    int rc;

    if (!is_here && batches->of.is_shared)
        return 0;
    vel_buf_init(&name);
    rc = read_launch(batches, text, &name, err);
    if (rc == 0 && strcmp(vel_buf_text(&name), batches->of.launch) == 0)
        rc = is_here ? note(&found->own, text->name.launch, err) : 0;
    else if (rc == 0 && name.len > 0 && is_over)
        rc = is_over(arg, vel_buf_text(&name), &is, err);
    if (rc == 0 && is)
        rc = note(&found->over, text->name.launch, err);
    vel_buf_fini(&name);
    return rc;
}

static int look(struct vel_batches *batches, vel_batches_over_f *is_over, void *arg,
                struct found *ret, struct vel_err *err)
{
    struct vel_vec texts;
    int rc = read_all(batches, &texts, err);

    vel_vec_init(&ret->own, sizeof(int64_t));
    vel_vec_init(&ret->over, sizeof(int64_t));
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < texts.n; i++) { /* all, for what others owe */
        struct vel_err why = {0};
        int found = look_at(batches, vel_vec_at(&texts, i), is_over, arg, ret, &why);

        if (found < 0 && rc == 0)
            rc = vel_fail(err, (enum vel_status)found, "%s", why.text);
    }
    vel_vec_sort(&ret->own, compare_launches);
    vel_vec_sort(&ret->over, compare_launches);
    vel_ledger_texts_fini(&texts);
    return rc;
}

static void found_fini(struct found *found)
{
    vel_vec_fini(&found->own);
    vel_vec_fini(&found->over);
}

static void forget_turns(struct vel_batches *batches)
{
    batches->number = 0;
    batches->claimed = -1;
}

int vel_batches_adopt(struct vel_batches *batches, struct vel_err *err)
{
    struct found found;
    int rc = look(batches, NULL, NULL, &found, err);

    pthread_mutex_lock(&batches->lock);
    batches->is_unread = rc < 0 || found.own.n > 0; /* until it has learned */
    if (rc == 0 && found.own.n > 0) {
        batches->number = *(int64_t *)vel_vec_at(&found.own, 0);
        vel_vec_remove(&found.own, 0); /* others: it was about to be ended by this */
        rc = vel_batches_begin(batches, &found.own, err);
        if (rc == VEL_ECANCEL) { /* that was an earlier launch of this name */
            forget_turns(batches);
            batches->is_out = batches->is_unread = false;
            batches->failed_at = 0;
            rc = 0;
        }
    }
    vel_batches_unlock(batches);
    found_fini(&found);
    return rc;
}

int vel_batches_read_before(struct vel_batches *batches, struct vel_err *err)
{
    bool is_unread;
    int rc = 0;

    pthread_mutex_lock(&batches->lock);
    is_unread = batches->is_unread;
    if (is_unread)
        rc = vel_batches_check_failed(batches, err);
    pthread_mutex_unlock(&batches->lock);
    return rc == 0 && is_unread ? vel_batches_adopt(batches, err) : rc;
}

/* A ledger ends others with lower numbers; what it is the heir of it says in its next
 * turn. So it must have begun, that it can be told whose it is when it comes to no end.
 */
static int begin_above(struct vel_batches *batches, int64_t highest,
                       struct vel_err *err)
{
    int64_t number = batches->number, claimed = batches->claimed;
    int rc = vel_batches_check(batches, err);

    if (rc < 0)
        return rc;
    if (number > highest)
        return vel_batches_need(batches, err);
    forget_turns(batches);
    batches->is_bare = true; /* else two ledgers would say the same */
    rc = vel_batches_begin(batches, NULL, err);
    batches->is_bare = false;
    if (rc < 0) {
        batches->number = number;
        batches->claimed = claimed;
    }
    return rc;
}

int vel_batches_take_over(struct vel_batches *batches, vel_batches_over_f *is_over,
                          void *arg, struct vel_err *err)
{
    struct found found;
    int rc = look(batches, is_over, arg, &found, err);

    pthread_mutex_lock(&batches->lock);
    if (rc == 0 && found.over.n > 0)
        rc = begin_above(batches, *(int64_t *)vel_vec_at(&found.over, 0), err);
    for (size_t i = 0; rc == 0 && i < found.own.n; i++)
        if (*(int64_t *)vel_vec_at(&found.own, i) < batches->number)
            rc = note(&found.over, *(int64_t *)vel_vec_at(&found.own, i), err);
    vel_vec_sort(&found.over, compare_launches);
    if (rc == 0 && found.over.n > 0)
        rc = vel_batches_begin(batches, &found.over, err);
    vel_batches_unlock(batches);
    found_fini(&found);
    return rc;
}
