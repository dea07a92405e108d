/* SPDX-License-Identifier: BSD-3-Clause */
/* Turns of a leader's ledger in a cache: which one it claims, and what that begins
 * with. */
#include "config.h"

#include <string.h>
#include <unistd.h>

#include "jobs/batches_in.h"

static struct vel_ledger_self self_of(const struct vel_batches *batches)
{
    return (struct vel_ledger_self){batches->of.node, batches->self, getpid()};
}

static int out(struct vel_batches *batches, struct vel_err *err)
{
    batches->is_out = true;
    return vel_fail(err, VEL_ECANCEL, "another leader of launch %s writes in %s",
                    batches->of.launch, batches->path);
}

/* A claim that failed may have been made all the same. */
static bool is_ours(const struct vel_batches *batches, int64_t turn)
{
    struct vel_ledger_text text;
    bool is = false;

    if (vel_ledger_load(&batches->dir, (struct vel_ledger_name){batches->number, turn},
                        &text, NULL) == 0) {
        is = strcmp(text.address, batches->self) == 0;
        vel_ledger_text_fini(&text);
    }
    return is;
}

/* Whoever goes on after a turn of his own has seen nobody after it. */
int vel_batches_check(struct vel_batches *batches, struct vel_err *err)
{
    struct vel_vec list;
    int64_t highest;
    int rc;

    if (batches->is_out)
        return out(batches, err);
    if (batches->claimed < 0)
        return 0;
    rc = vel_ledger_list(&batches->dir, &list, err);
    if (rc < 0)
        return rc;
    highest = vel_ledger_highest(&list, batches->number);
    vel_vec_fini(&list);
    return highest == batches->claimed || is_ours(batches, highest) ? 0
                                                                    : out(batches, err);
}

static int claim(struct vel_batches *batches, struct vel_err *err)
{
    const struct vel_ledger_self self = self_of(batches);
    int rc = vel_fs_make_own_dir(batches->of.fs, batches->path, 0700, err);

    if (rc == 0)
        rc = vel_batches_check(batches, err);
    if (rc == 0)
        rc = batches->number > 0
                 ? vel_ledger_next(&batches->dir, batches->number, &self,
                                   &batches->ledger, err)
                 : vel_ledger_number(&batches->dir, &self, &batches->ledger, err);
    if (rc == 0 && batches->number > 0) /* else it takes another number next time */
        batches->claimed = vel_ledger_name(batches->ledger).term;
    return rc;
}

/* --- what it knows --- */

static void forget_from(struct vel_vec *all, size_t n)
{
    while (all->n > n) {
        vel_batch_fini(vel_vec_at(all, all->n - 1));
        vel_vec_remove(all, all->n - 1);
    }
}

static bool is_known(const struct vel_batches *batches,
                     const struct vel_ledger_text *text)
{
    return text->name.launch == batches->known.launch &&
           text->name.term == batches->known.term;
}

/* Has another turn been after the last one of ours, be it one that failed late? */
static bool is_behind(const struct vel_batches *batches, const struct vel_carry *carry)
{
    bool is = false;

    for (size_t i = 0; !is && i < carry->texts.n; i++) {
        const struct vel_ledger_text *text = vel_vec_at(&carry->texts, i);

        is = text->name.launch == batches->known.launch && !is_known(batches, text);
    }
    return is;
}

/* What we know is newer than what an older ledger says. */
static void drop_known(struct vel_vec *all, size_t known)
{
    for (size_t i = all->n; i-- > known;) {
        struct vel_batch *batch = vel_vec_at(all, i);
        bool is = false;

        for (size_t k = 0; !is && k < known; k++)
            is = strcmp(((struct vel_batch *)vel_vec_at(all, k))->dir, batch->dir) == 0;
        if (!is)
            continue;
        vel_batch_fini(batch);
        vel_vec_remove(all, i);
    }
}

/* Into `all`, but for what is known already. */
static int learn(struct vel_batches *batches, const struct vel_carry *carry,
                 struct vel_err *err)
{
    struct vel_catalog *catalog = vel_catalog_create();
    size_t known;
    int rc = catalog ? 0 : vel_out_of_memory(err, "batches");

    if (is_behind(batches, carry)) {
        forget_from(&batches->all, 0);
        batches->known = (struct vel_ledger_name){0, -1};
    }
    known = batches->all.n;
    for (size_t i = 0; rc == 0 && i < carry->texts.n; i++)
        if (!is_known(batches, vel_vec_at(&carry->texts, i)))
            rc = vel_batches_fold_text(catalog, vel_vec_at(&carry->texts, i), err);
    if (rc == 0)
        rc = vel_batches_fold(catalog, batches->of.home, vel_batches_boot(batches),
                              &batches->all, err);
    if (rc == 0)
        rc = vel_batches_learn_notes(batches, catalog, err);
    batches->is_unread = batches->is_unread && rc < 0;
    drop_known(&batches->all, known);
    vel_batches_prune(batches, known);
    for (size_t i = 0; i < batches->all.n; i++) {
        const struct vel_batch *batch = vel_vec_at(&batches->all, i);

        if (batch->id.launch == carry->own.launch && batch->line > batches->last_line)
            batches->last_line = batch->line;
    }
    vel_catalog_destroy(catalog);
    return rc;
}

/* --- a turn --- */

static int begin(struct vel_batches *batches, struct vel_carry *carry,
                 const struct vel_vec *ends, struct vel_buf *text, struct vel_err *err)
{
    const struct vel_ledger_self self = self_of(batches);
    int rc = carry->own.term > 0 ? vel_carry_own(carry, err) : 0;

    for (size_t i = 0; rc == 0 && ends && i < ends->n; i++)
        rc = vel_carry_launch(carry, &self, *(int64_t *)vel_vec_at(ends, i), err);
    if (rc == 0 && batches->is_bare)
        rc = vel_batches_put_own(batches, carry->own.launch, text, err);
    else if (rc == 0)
        rc = learn(batches, carry, err);
    if (rc == 0 && !batches->is_bare)
        rc = vel_batches_put_all(batches, carry->own.launch, text, err);
    return rc == 0 ? vel_ledger_begin(batches->ledger, carry, vel_buf_text(text),
                                      text->len, err)
                   : rc;
}

/* Not again at once: each attempt makes a ledger. */
static int fail(struct vel_batches *batches, const struct vel_err *why,
                struct vel_err *err)
{
    vel_ledger_close(batches->ledger);
    batches->ledger = NULL;
    batches->failed_at = vel_clock_monotonic(batches->of.clock);
    batches->why = *why;
    batches->is_out =
        batches->is_out || (why->status == VEL_ECANCEL && batches->number > 0);
    return vel_fail(err, why->status, "%s", why->text);
}

int vel_batches_begin(struct vel_batches *batches, const struct vel_vec *ends,
                      struct vel_err *err)
{
    struct vel_err why = {0};
    struct vel_carry carry;
    struct vel_buf text;
    int rc;

    vel_ledger_close(batches->ledger);
    batches->ledger = NULL;
    vel_batches_prune(batches, 0);
    rc = claim(batches, &why);
    if (rc < 0)
        return fail(batches, &why, err);
    vel_buf_init(&text);
    vel_carry_init(&carry, &batches->dir, vel_ledger_name(batches->ledger));
    rc = begin(batches, &carry, ends, &text, &why);
    if (rc < 0) {
        rc = fail(batches, &why, err);
    } else {
        batches->number = carry.own.launch;
        batches->claimed = carry.own.term;
        if (!batches->is_bare)
            batches->known = carry.own;
        batches->failed_at = 0;
        vel_carry_remove(&carry, NULL); /* else the next begin does */
        vel_batches_sweep(batches, &carry);
    }
    vel_carry_fini(&carry);
    vel_buf_fini(&text);
    return rc;
}

int vel_batches_check_failed(const struct vel_batches *batches, struct vel_err *err)
{
    uint64_t now = vel_clock_monotonic(batches->of.clock);

    return batches->failed_at > 0 && now < batches->failed_at + batches->of.limit
               ? vel_fail(err, batches->why.status, "%s", batches->why.text)
               : 0;
}

/* Has a person removed the cache, with all ledgers? Then it has no other leader either,
 * and is as one that never was. */
static bool is_removed(struct vel_batches *batches)
{
    struct vel_vec list;
    bool is;

    if (vel_fs_make_own_dir(batches->of.fs, batches->path, 0700, NULL) < 0 ||
        vel_ledger_list(&batches->dir, &list, NULL) < 0)
        return false;
    is = list.n == 0;
    vel_vec_fini(&list);
    if (!is)
        return false;
    forget_from(&batches->all, 0);
    batches->known = (struct vel_ledger_name){0, -1};
    batches->number = 0;
    batches->claimed = -1;
    batches->failed_at = 0;
    return true;
}

int vel_batches_need(struct vel_batches *batches, struct vel_err *err)
{
    int rc;

    batches->is_out = batches->is_out && !is_removed(batches);
    if (batches->is_out)
        return out(batches, err);
    if (batches->ledger && vel_ledger_is_good(batches->ledger) &&
        !vel_ledger_is_long(batches->ledger))
        return 0;
    rc = vel_batches_check_failed(batches, err);
    return rc == 0 ? vel_batches_begin(batches, NULL, err) : rc;
}
