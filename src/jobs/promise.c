/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/path.h"
#include "jobs/promise.h"
#include "meta/paths.h"

enum { RANK_MOST = INT32_MAX };

void vel_promise_fini(struct vel_promise *promise)
{
    free(promise->home);
    free(promise->node);
    free(promise->launch);
    vel_ranges_fini(&promise->encode);
    vel_ranges_fini(&promise->flush);
}

unsigned vel_promise_what(const struct vel_promise *promise)
{
    return (promise->encode.of.n > 0 ? VEL_PROMISE_ENCODE : 0) |
           (promise->flush.of.n > 0 ? VEL_PROMISE_FLUSH : 0);
}

unsigned vel_promise_for(const struct vel_promise *promise, int64_t rank)
{
    return (vel_ranges_has(&promise->encode, rank) ? VEL_PROMISE_ENCODE : 0) |
           (vel_ranges_has(&promise->flush, rank) ? VEL_PROMISE_FLUSH : 0);
}

/* --- facts --- */

static char no_text[] = "";

/* The texts are borrowed. VEL_EINVAL: it is in another cache. */
static int subject_of(const struct vel_batches *ledger, const char *home,
                      struct vel_fact *ret, struct vel_err *err)
{
    const char *dir = vel_path_below(vel_batches_home(ledger), home);

    if (!dir)
        return vel_fail(err, VEL_EINVAL, "%s is not in %s", home,
                        vel_batches_home(ledger));
    *ret = (struct vel_fact){
        .kind = VEL_FACT_OWES,
        .u.owes = {.dir = (char *)(uintptr_t)dir,
                   .node = (char *)(uintptr_t)vel_batches_node(ledger),
                   .launch = no_text,
                   .encode = no_text,
                   .flush = no_text,
                   .text = no_text}};
    return 0;
}

int vel_promise_make(struct vel_batches *ledger, const char *home, const char *launch,
                     const struct vel_ranges *ranks, unsigned what, bool is_synced,
                     struct vel_err *err)
{
    struct vel_fact fact;
    struct vel_buf text;
    int rc = subject_of(ledger, home, &fact, err);
    char *of;

    vel_buf_init(&text);
    vel_ranges_put(ranks, &text);
    of = (char *)(uintptr_t)vel_buf_text(&text);
    if (rc == 0)
        rc = vel_buf_status(&text, err);
    if (rc == 0) {
        fact.u.owes.launch = (char *)(uintptr_t)launch;
        fact.u.owes.encode = what & VEL_PROMISE_ENCODE ? of : no_text;
        fact.u.owes.flush = what & VEL_PROMISE_FLUSH ? of : no_text;
        rc = vel_batches_note(ledger, fact, is_synced, err);
    }
    vel_buf_fini(&text);
    return rc;
}

/* "index.I/dataset.D" */
static bool find_id(const char *dir, int64_t *ret)
{
    char *level = vel_path_dir(dir);
    int64_t index;
    bool is = level && vel_number_behind(level, "index.", &index) &&
              vel_number_behind(vel_path_base(dir), "dataset.", ret);

    free(level);
    return is;
}

static int get(const struct vel_fact_owes *fact, const char *cache,
               struct vel_promise *ret, struct vel_err *err)
{
    struct vel_promise p = {0};
    int rc;

    vel_ranges_init(&p.encode);
    vel_ranges_init(&p.flush);
    if (!find_id(fact->dir, &p.id))
        return vel_fail(err, VEL_ECORRUPT, "%s: '%s' is no directory of a dataset",
                        cache, fact->dir);
    rc = vel_ranges_parse(fact->encode, RANK_MOST, &p.encode, err);
    if (rc == 0)
        rc = vel_ranges_parse(fact->flush, RANK_MOST, &p.flush, err);
    p.home = vel_path_join(cache, fact->dir);
    p.node = strdup(fact->node);
    p.launch = strdup(fact->launch);
    if (rc == 0 && (!p.home || !p.node || !p.launch))
        rc = vel_out_of_memory(err, "a promise");
    if (rc < 0) {
        vel_promise_fini(&p);
        return rc;
    }
    if (fact->status > 0)
        vel_fail(&p.last, (enum vel_status)(-fact->status), "%s", fact->text);
    *ret = p;
    return 0;
}

int vel_promise_find(struct vel_batches *ledger, const char *home,
                     struct vel_promise *ret, struct vel_err *err)
{
    struct vel_fact subject, fact;
    int rc = subject_of(ledger, home, &subject, err);

    if (rc == 0)
        rc = vel_batches_owed(ledger, &subject, &fact, err);
    if (rc < 0)
        return rc;
    rc = get(&fact.u.owes, vel_batches_home(ledger), ret, err);
    vel_fact_fini(&fact);
    if (rc == 0 && vel_promise_what(ret) == 0) {
        vel_promise_fini(ret);
        rc = vel_fail(err, VEL_ENOENT, "nothing is owed in %s", home);
    }
    return rc;
}

/* --- what is owed --- */

/* A change of a promise; what the texts of the next fact are in. */
struct change {
    const char *cache, *launch;
    int64_t rank;
    unsigned what;
    const struct vel_err *why;
    bool is_new;
    struct vel_buf encode, flush;
};

static int put_ranks(struct change *change, const struct vel_promise *promise,
                     struct vel_fact_owes *next, struct vel_err *err)
{
    int rc;

    vel_ranges_put(&promise->encode, &change->encode);
    vel_ranges_put(&promise->flush, &change->flush);
    next->encode = (char *)(uintptr_t)vel_buf_text(&change->encode);
    next->flush = (char *)(uintptr_t)vel_buf_text(&change->flush);
    rc = vel_buf_status(&change->encode, err);
    return rc == 0 ? vel_buf_status(&change->flush, err) : rc;
}

static int add(struct change *change, struct vel_promise *promise,
               struct vel_fact_owes *next, enum vel_batches_say *ret,
               struct vel_err *err)
{
    unsigned more = change->what & ~vel_promise_for(promise, change->rank);
    int rc = 0;

    if (!more && strcmp(promise->launch, change->launch) == 0)
        return 0;
    if (more & VEL_PROMISE_ENCODE)
        rc = vel_ranges_add(&promise->encode, change->rank, err);
    if (rc == 0 && more & VEL_PROMISE_FLUSH)
        rc = vel_ranges_add(&promise->flush, change->rank, err);
    next->launch = (char *)(uintptr_t)change->launch;
    *ret = VEL_BATCHES_SAY_SYNCED;
    return rc == 0 ? put_ranks(change, promise, next, err) : rc;
}

static int drop(const struct change *change, unsigned what, struct vel_ranges *ranges,
                struct vel_err *err)
{
    if (!(change->what & what))
        return 0;
    if (change->rank >= 0)
        return vel_ranges_remove(ranges, change->rank, err);
    ranges->of.n = 0;
    return 0;
}

/* What it is kept again for by the next leader, if this one is lost, does no harm. */
static int take_off(struct change *change, struct vel_promise *promise,
                    struct vel_fact_owes *next, enum vel_batches_say *ret,
                    struct vel_err *err)
{
    unsigned owed = change->rank < 0 ? vel_promise_what(promise)
                                     : vel_promise_for(promise, change->rank);
    int rc;

    if (!(owed & change->what))
        return 0;
    rc = drop(change, VEL_PROMISE_ENCODE, &promise->encode, err);
    if (rc == 0)
        rc = drop(change, VEL_PROMISE_FLUSH, &promise->flush, err);
    if (vel_promise_what(promise) == 0) {
        next->status = 0;
        next->text = no_text;
    }
    *ret = VEL_BATCHES_SAY_LATER;
    return rc == 0 ? put_ranks(change, promise, next, err) : rc;
}

static int blame(struct change *change, struct vel_promise *promise,
                 struct vel_fact_owes *next, enum vel_batches_say *ret,
                 struct vel_err *err)
{
    const struct vel_err *why = change->why;

    if (vel_promise_what(promise) == 0)
        return vel_fail(err, VEL_ENOENT, "nothing is owed in %s", promise->home);
    change->is_new = promise->last.status != why->status ||
                     strcmp(promise->last.text, why->text) != 0;
    next->status = -(int64_t)why->status;
    next->text = (char *)(uintptr_t)why->text;
    *ret = change->is_new ? VEL_BATCHES_SAY_LATER : VEL_BATCHES_SAY_NOTHING;
    return 0;
}

typedef int change_f(struct change *change, struct vel_promise *promise,
                     struct vel_fact_owes *next, enum vel_batches_say *ret,
                     struct vel_err *err);

/* A promise that cannot be read is none. */
static int change_with(struct change *change, change_f *how, bool is_known,
                       struct vel_fact *next, enum vel_batches_say *ret,
                       struct vel_err *err)
{
    struct vel_fact_owes nothing = next->u.owes;
    struct vel_promise promise;
    int rc = is_known ? get(&next->u.owes, change->cache, &promise, err) : VEL_ECORRUPT;

    if (rc == VEL_ECORRUPT) {
        nothing.launch = nothing.encode = nothing.flush = nothing.text = no_text;
        nothing.status = 0;
        next->u.owes = nothing;
        rc = get(&nothing, change->cache, &promise, err);
    }
    if (rc < 0)
        return rc;
    rc = how(change, &promise, &next->u.owes, ret, err);
    vel_promise_fini(&promise);
    return rc;
}

static int owe_more(void *arg, bool is_known, struct vel_fact *next,
                    enum vel_batches_say *ret, struct vel_err *err)
{
    return change_with(arg, add, is_known, next, ret, err);
}

static int owe_less(void *arg, bool is_known, struct vel_fact *next,
                    enum vel_batches_say *ret, struct vel_err *err)
{
    return change_with(arg, take_off, is_known, next, ret, err);
}

static int has_failed(void *arg, bool is_known, struct vel_fact *next,
                      enum vel_batches_say *ret, struct vel_err *err)
{
    return change_with(arg, blame, is_known, next, ret, err);
}

static int note(struct vel_batches *ledger, const char *home, vel_batches_change_f *how,
                struct change *change, struct vel_err *err)
{
    struct vel_fact subject;
    int rc = subject_of(ledger, home, &subject, err);

    change->cache = vel_batches_home(ledger);
    vel_buf_init(&change->encode);
    vel_buf_init(&change->flush);
    if (rc == 0)
        rc = vel_batches_note_anew(ledger, &subject, how, change, err);
    vel_buf_fini(&change->encode);
    vel_buf_fini(&change->flush);
    return rc;
}

/* One that was made to another launch is taken over: what its leader has said of it
 * since is older. */
int vel_promise_owe(struct vel_batches *ledger, const char *home, const char *launch,
                    int64_t rank, unsigned what, struct vel_err *err)
{
    struct change change = {.launch = launch, .rank = rank, .what = what};
    struct vel_promise promise;
    int rc = vel_promise_find(ledger, home, &promise, err);

    if (rc == 0) {
        if (strcmp(promise.launch, launch) != 0)
            rc = vel_batches_hear(ledger, err);
        vel_promise_fini(&promise);
    }
    if (rc < 0 && rc != VEL_ENOENT && rc != VEL_ECORRUPT)
        return rc;
    rc = note(ledger, home, owe_more, &change, err);
    /* the ledger is gone: with the cache, as it turns out, or to another */
    return rc == VEL_ECANCEL ? note(ledger, home, owe_more, &change, err) : rc;
}

int vel_promise_keep(struct vel_batches *ledger, const char *home, int64_t rank,
                     unsigned what, struct vel_err *err)
{
    struct change change = {.rank = rank, .what = what};

    return note(ledger, home, owe_less, &change, err);
}

int vel_promise_failed(struct vel_batches *ledger, const char *home,
                       const struct vel_err *why, bool *ret_is_new, struct vel_err *err)
{
    struct change change = {.why = why};
    int rc = note(ledger, home, has_failed, &change, err);

    if (rc == 0)
        *ret_is_new = change.is_new;
    return rc;
}

/* --- all of them --- */

struct listing {
    struct vel_fs *fs;
    const char *cache, *node;
    struct vel_vec *ret;
};

static int list_one(void *arg, const struct vel_fact *fact, struct vel_err *err)
{
    const struct listing *list = arg;
    struct vel_promise promise;
    struct vel_err why = {0};
    int rc;

    if (list->node && strcmp(fact->u.owes.node, list->node) != 0)
        return 0;
    rc = get(&fact->u.owes, list->cache, &promise, &why);
    if (rc == VEL_ENOMEM)
        return vel_out_of_memory(err, "promises");
    if (rc < 0) {
        vel_log(VEL_LOG_WARN, "a promise left out: %s", why.text);
        return 0;
    }
    if (vel_promise_what(&promise) == 0 || vel_batch_is_gone(list->fs, promise.home)) {
        vel_promise_fini(&promise);
        return 0;
    }
    if (vel_vec_push(list->ret, &promise))
        return 0;
    vel_promise_fini(&promise);
    return vel_out_of_memory(err, "promises");
}

static int by_dataset(const void *a, const void *b)
{
    const struct vel_promise *x = a, *y = b;

    if (x->id != y->id)
        return x->id < y->id ? -1 : 1;
    return strcmp(x->home, y->home);
}

int vel_promises_list(struct vel_batches *ledger, struct vel_vec *ret,
                      struct vel_err *err)
{
    struct listing list = {vel_batches_fs(ledger), vel_batches_home(ledger),
                           vel_batches_node(ledger), ret};
    int rc = vel_batches_each_owed(ledger, list_one, &list, err);

    vel_vec_sort(ret, by_dataset);
    return rc;
}

int vel_promises_scan(struct vel_fs *fs, const char *cache, const char *node,
                      struct vel_vec *ret, struct vel_err *err)
{
    struct listing list = {fs, cache, node, ret};
    struct vel_catalog *catalog;
    int rc = vel_batches_read_catalog(fs, cache, &catalog, err);

    if (rc < 0)
        return rc;
    for (size_t i = 0; rc == 0 && i < vel_catalog_count(catalog, VEL_FACT_OWES); i++) {
        struct vel_fact fact;

        rc = vel_catalog_at(catalog, VEL_FACT_OWES, i, &fact, err);
        if (rc < 0)
            break;
        rc = list_one(&list, &fact, err);
        vel_fact_fini(&fact);
    }
    vel_catalog_destroy(catalog);
    vel_vec_sort(ret, by_dataset);
    return rc;
}

void vel_promises_fini(struct vel_vec *promises)
{
    for (size_t i = 0; i < promises->n; i++)
        vel_promise_fini(vel_vec_at(promises, i));
    vel_vec_fini(promises);
}
