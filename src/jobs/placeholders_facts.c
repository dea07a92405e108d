/* SPDX-License-Identifier: BSD-3-Clause */
/* What the table says in the ledgers of the caches, and what leaders before have said
 * there (fact `stands`). */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/path.h"
#include "jobs/placeholders_in.h"
#include "meta/paths.h"
#include "view/batch.h"

enum { IS_STUB = 1, IS_PATCHED = 2 }; /* field `kind` */

/* --- to say --- */

/* The ledger of the cache where a directory is, and what that is called there; NULL:
 * it is in no cache of this node. */
static struct vel_batches *ledger_of(const struct vel_placeholders *all,
                                     const char *dir, const char **ret_below)
{
    for (size_t i = 0; i < all->n_ledgers; i++) {
        *ret_below = vel_path_below(vel_batches_home(all->ledgers[i]), dir);
        if (*ret_below)
            return all->ledgers[i];
    }
    return NULL;
}

static int say(const struct vel_placeholders *all,
               const struct vel_placeholder_file *file, struct vel_fact_stands stands,
               bool is_synced, struct vel_err *err)
{
    const char *below = NULL;
    struct vel_batches *ledger = ledger_of(all, file->dir, &below);
    struct vel_fact fact = {.kind = VEL_FACT_STANDS, .u.stands = stands};

    fact.u.stands.dir = (char *)(uintptr_t)below;
    fact.u.stands.rank = file->rank;
    fact.u.stands.name = (char *)(uintptr_t)file->name;
    return ledger ? vel_batches_note(ledger, fact, is_synced, err) : 0;
}

int vel_placeholder_say(struct vel_placeholders *all,
                        const struct vel_placeholder *item, bool is_synced,
                        struct vel_err *err)
{
    const struct vel_anchor *a = &item->anchor;
    const struct vel_placeholder_file file = {item->dir, item->rank, a->name};
    const struct vel_fact_stands stands = {.path = a->path,
                                           .kind = (a->is_stub ? IS_STUB : 0) |
                                                   (a->is_patched ? IS_PATCHED : 0),
                                           .mark = (int64_t)a->mark,
                                           .inode = (int64_t)a->inode,
                                           .size = (int64_t)a->size,
                                           .seconds = a->mtime_s,
                                           .nanoseconds = a->mtime_ns};

    return say(all, &file, stands, is_synced, err);
}

int vel_placeholder_unsay(struct vel_placeholders *all,
                          const struct vel_placeholder_file *file, struct vel_err *err)
{
    const struct vel_fact_stands nothing = {0};

    return vel_batch_is_gone(all->fs, file->dir) ? 0
                                                 : say(all, file, nothing, false, err);
}

/* --- what was said --- */

static bool is_place(const struct vel_fact_stands *stands)
{
    char *same = vel_path_absolute("/", stands->path);
    bool is = same && *stands->path == '/' && strcmp(same, stands->path) == 0 &&
              vel_path_is_inner(stands->dir) && vel_path_is_inner(stands->name);

    free(same);
    return is;
}

static int add(struct vel_placeholders *all, const char *dir,
               const struct vel_fact_stands *stands, struct vel_err *err)
{
    const struct vel_placeholder_file file = {dir, stands->rank, stands->name};
    const struct vel_anchor anchor = {.is_stub = stands->kind & IS_STUB,
                                      .is_patched = stands->kind & IS_PATCHED,
                                      .mark = (uint64_t)stands->mark,
                                      .inode = (uint64_t)stands->inode,
                                      .size = (uint64_t)stands->size,
                                      .mtime_s = stands->seconds,
                                      .mtime_ns = (uint32_t)stands->nanoseconds};
    struct vel_placeholder *item =
        vel_placeholder_make(all, &file, &anchor, stands->path);

    if (item)
        item->said = stands->count;
    return vel_placeholder_put(all, all->items.n, item, err);
}

/* What a ledger says, and of what files. */
struct told {
    const char *home;
    struct vel_catalog *catalog;
    struct vel_vec batches;
};

/* A file of a batch which is one of datasets by now is in theirs. */
static bool is_left(const struct told *told, const char *dir,
                    const struct vel_fact_stands *stands)
{
    for (size_t i = 0; i < told->batches.n; i++) {
        const struct vel_batch *batch = vel_vec_at(&told->batches, i);
        const struct vel_batch_rank *rank;
        const struct vel_batch_file *file;

        if (strcmp(batch->dir, dir) != 0)
            continue;
        rank = vel_batch_rank(batch, stands->rank);
        file = rank ? vel_batch_file(rank, stands->name) : NULL;
        return file && vel_batch_is_left(rank, file) &&
               !vel_batch_is_given_before(file);
    }
    return false;
}

static int load_one(struct vel_placeholders *all, const struct told *told,
                    const struct vel_fact_stands *stands, struct vel_err *err)
{
    char *dir;
    int rc;

    if (!*stands->path)
        return 0;
    if (!is_place(stands)) {
        vel_log(VEL_LOG_WARN, "%s: '%s' is no place of a file '%s' in %s", told->home,
                stands->path, stands->name, stands->dir);
        return 0;
    }
    dir = vel_path_join(told->home, stands->dir);
    rc = dir ? 0 : vel_out_of_memory(err, "an anchor");
    if (rc == 0 && (vel_batch_is_dir(dir) ? is_left(told, dir, stands)
                                          : !vel_batch_is_gone(all->fs, dir)))
        rc = add(all, dir, stands, err);
    free(dir);
    return rc;
}

static int load_all(struct vel_placeholders *all, const struct told *told,
                    struct vel_err *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < vel_catalog_count(told->catalog, VEL_FACT_STANDS);
         i++) {
        struct vel_fact fact;

        rc = vel_catalog_at(told->catalog, VEL_FACT_STANDS, i, &fact, err);
        if (rc < 0)
            break;
        rc = load_one(all, told, &fact.u.stands, err);
        vel_fact_fini(&fact);
    }
    return rc;
}

static int load(struct vel_placeholders *all, const char *home, struct vel_err *err)
{
    struct told told = {.home = home};
    int rc = vel_batches_read_catalog(all->fs, home, &told.catalog, err);

    if (rc < 0)
        return rc;
    vel_vec_init(&told.batches, sizeof(struct vel_batch));
    rc = vel_batches_fold(told.catalog, home, 0, &told.batches, err);
    if (rc == 0)
        rc = load_all(all, &told, err);
    vel_batch_list_fini(&told.batches);
    vel_catalog_destroy(told.catalog);
    return rc;
}

/* Datasets are in the order of their ids, and batches behind all of them: what is in
 * those was closed later. */
static int compare_ages(const void *a, const void *b)
{
    const struct vel_placeholder *of_a = *(struct vel_placeholder *const *)a,
                                 *of_b = *(struct vel_placeholder *const *)b;
    int64_t x = INT64_MAX, y = INT64_MAX;

    vel_number_behind(vel_path_base(of_a->dir), "dataset.", &x);
    vel_number_behind(vel_path_base(of_b->dir), "dataset.", &y);
    return x != y ? (x > y) - (x < y)
                  : (of_a->said > of_b->said) - (of_a->said < of_b->said);
}

int vel_placeholders_load(struct vel_placeholders *all, struct vel_err *err)
{
    int rc = 0;

    pthread_mutex_lock(&all->lock);
    for (size_t i = 0; rc == 0 && i < all->n_ledgers; i++)
        rc = load(all, vel_batches_home(all->ledgers[i]), err);
    vel_vec_sort(&all->items, compare_ages);
    pthread_mutex_unlock(&all->lock);
    return rc;
}
