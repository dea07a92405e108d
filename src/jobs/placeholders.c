/* SPDX-License-Identifier: BSD-3-Clause */
/* The table, and the records on disk that say the same. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/path.h"
#include "jobs/placeholders_in.h"
#include "meta/paths.h"
#include "view/batch.h"

/* --- items --- */

void vel_placeholder_discard(struct vel_placeholders *all, struct vel_placeholder *item)
{
    vel_anchor_release(all->fs, &item->hold);
    vel_anchor_fini(&item->anchor);
    free(item->dir);
    free(item);
}

struct vel_placeholder *vel_placeholder_make(struct vel_placeholders *all,
                                             const struct vel_placeholder_file *file,
                                             const struct vel_anchor *anchor,
                                             const char *path)
{
    struct vel_placeholder *item = calloc(1, sizeof *item);

    if (!item)
        return NULL;
    *item = (struct vel_placeholder){.dir = strdup(file->dir),
                                     .rank = file->rank,
                                     .anchor = *anchor,
                                     .hold = {.anchor = &item->anchor, .fd = -1}};
    item->anchor.name = strdup(file->name);
    item->anchor.path = strdup(path);
    if (!item->dir || !item->anchor.name || !item->anchor.path) {
        vel_placeholder_discard(all, item);
        return NULL;
    }
    if (all->held < VEL_HOLDS_MOST) /* about so many */
        vel_anchor_hold(all->fs, &item->anchor, &item->hold);
    return item;
}

struct vel_placeholder *vel_placeholder_at(const struct vel_placeholders *all, size_t i)
{
    return *(struct vel_placeholder **)vel_vec_at(&all->items, i);
}

static bool is_of(const struct vel_placeholder *item, const char *dir, int64_t rank)
{
    return item->rank == rank && strcmp(item->dir, dir) == 0;
}

size_t vel_placeholder_find(const struct vel_placeholders *all,
                            const struct vel_placeholder_file *file)
{
    size_t i = 0;

    while (i < all->items.n &&
           !(is_of(vel_placeholder_at(all, i), file->dir, file->rank) &&
             strcmp(vel_placeholder_at(all, i)->anchor.name, file->name) == 0))
        i++;
    return i;
}

void vel_placeholder_leave(struct vel_placeholders *all, struct vel_placeholder *item)
{
    if (--item->users > 0)
        return;
    all->held -= item->hold.fd >= 0;
    vel_placeholder_discard(all, item);
}

int vel_placeholder_put(struct vel_placeholders *all, size_t at,
                        struct vel_placeholder *item, struct vel_err *err)
{
    if (!item)
        return vel_out_of_memory(err, "an anchor");
    if (at < all->items.n) {
        struct vel_placeholder **place = vel_vec_at(&all->items, at);

        vel_placeholder_leave(all, *place);
        *place = item;
    } else if (!vel_vec_push(&all->items, &item)) {
        vel_placeholder_discard(all, item);
        return vel_out_of_memory(err, "an anchor");
    }
    item->users = 1;
    all->held += item->hold.fd >= 0;
    return 0;
}

int vel_placeholder_put_beside(struct vel_placeholders *all,
                               const struct vel_placeholder *like,
                               struct vel_placeholder *item, struct vel_err *err)
{
    size_t at = 0;

    while (at < all->items.n && vel_placeholder_at(all, at) != like)
        at++;
    at = at < all->items.n ? at + 1 : at;
    if (!item || !vel_vec_insert(&all->items, at, &item)) {
        if (item)
            vel_placeholder_discard(all, item);
        return vel_out_of_memory(err, "an anchor");
    }
    item->users = 1;
    all->held += item->hold.fd >= 0;
    return 0;
}

void vel_placeholder_drop(struct vel_placeholders *all, size_t at)
{
    struct vel_placeholder *item = vel_placeholder_at(all, at);

    vel_vec_remove(&all->items, at);
    vel_placeholder_leave(all, item);
}

bool vel_placeholder_is_same(const struct vel_anchor *a, const struct vel_anchor *b)
{
    return a->inode == b->inode && a->is_stub == b->is_stub && a->mark == b->mark;
}

/* --- records --- */

static char *record_path(const char *dir, int64_t rank)
{
    struct vel_buf path;

    vel_buf_init(&path);
    vel_buf_printf(&path, "%s/anchors.%" PRId64, dir, rank);
    return vel_buf_take(&path, NULL);
}

int vel_placeholder_save(struct vel_placeholders *all, const char *dir, int64_t rank,
                         struct vel_err *err)
{
    char *path = record_path(dir, rank);
    struct vel_vec anchors;
    int rc = path ? 0 : vel_out_of_memory(err, "anchors");

    vel_vec_init(&anchors, sizeof(struct vel_anchor));
    for (size_t i = 0; rc == 0 && i < all->items.n; i++)
        if (is_of(vel_placeholder_at(all, i), dir, rank) &&
            !vel_placeholder_at(all, i)->is_open &&
            !vel_vec_push(&anchors, &vel_placeholder_at(all, i)->anchor))
            rc = vel_out_of_memory(err, "anchors");
    if (rc == 0 && anchors.n > 0)
        rc = vel_anchors_save(all->fs, path, &anchors, err);
    else if (rc == 0 && vel_fs_exists(all->fs, dir))
        rc = vel_fs_unlink(all->fs, path, err);
    vel_vec_fini(&anchors); /* of the items */
    free(path);
    return rc;
}

/* --- life --- */

struct vel_placeholders *vel_placeholders_create(struct vel_fs *fs)
{
    struct vel_placeholders *all = calloc(1, sizeof *all);

    if (!all)
        return NULL;
    all->fs = fs;
    pthread_mutex_init(&all->lock, NULL);
    vel_vec_init(&all->items, sizeof(struct vel_placeholder *));
    return all;
}

void vel_placeholders_destroy(struct vel_placeholders *all)
{
    if (!all)
        return;
    while (all->items.n > 0)
        vel_placeholder_drop(all, all->items.n - 1);
    vel_vec_fini(&all->items);
    pthread_mutex_destroy(&all->lock);
    free(all);
}

/* --- found --- */

static int load_one(struct vel_placeholders *all, const char *dir, int64_t rank,
                    const struct vel_anchor *anchor, struct vel_err *err)
{
    const struct vel_placeholder_file file = {dir, rank, anchor->name};

    if (vel_placeholder_find(all, &file) < all->items.n)
        return 0;
    return vel_placeholder_put(
        all, all->items.n, vel_placeholder_make(all, &file, anchor, anchor->path), err);
}

static int load_record(struct vel_placeholders *all, const char *dir, int64_t rank,
                       struct vel_err *err)
{
    char *path = record_path(dir, rank);
    struct vel_vec anchors;
    struct vel_err why = {0};
    int rc;

    vel_vec_init(&anchors, sizeof(struct vel_anchor));
    rc = path ? vel_anchors_load(all->fs, path, &anchors, &why)
              : vel_out_of_memory(&why, "anchors");
    for (size_t i = 0; rc == 0 && i < anchors.n; i++)
        rc = load_one(all, dir, rank, vel_vec_at(&anchors, i), &why);
    vel_anchors_fini(&anchors);
    free(path);
    if (rc == VEL_ECORRUPT || rc == VEL_EUNSUP) {
        vel_log(VEL_LOG_WARN, "names that files of %s have on the prefix: %s", dir,
                why.text);
        return 0;
    }
    return rc < 0 ? vel_fail(err, (enum vel_status)rc, "%s", why.text) : 0;
}

/* What is in a directory, each with its path or number. */
struct visit {
    const char *word; /* what it is called, with a number behind; NULL: the directory of
                         a turn's batches */
    int (*each)(struct vel_placeholders *all, const char *dir, const char *path,
                int64_t number, struct vel_err *err);
};

static int visit_one(struct vel_placeholders *all, const char *dir, const char *name,
                     const struct visit *visit, struct vel_err *err)
{
    int64_t number, turn;
    char *path;
    int rc;

    if (visit->word ? !vel_number_behind(name, visit->word, &number)
                    : !vel_batch_is_turn(name, &number, &turn))
        return 0;
    path = vel_path_join(dir, name);
    rc = path ? visit->each(all, dir, path, number, err)
              : vel_out_of_memory(err, "anchors");
    free(path);
    return rc;
}

static int visit_all(struct vel_placeholders *all, const char *dir,
                     const struct visit *visits, size_t n, struct vel_err *err)
{
    struct vel_err why = {0};
    struct vel_vec names;
    int rc;

    vel_vec_init(&names, sizeof(char *));
    rc = vel_fs_list(all->fs, dir, &names, &why);
    if (rc < 0)
        return rc == VEL_ENOENT ? 0
                                : vel_fail(err, (enum vel_status)rc, "%s", why.text);
    for (size_t i = 0; rc == 0 && i < names.n; i++)
        for (size_t k = 0; rc == 0 && k < n; k++)
            rc = visit_one(all, dir, *(char **)vel_vec_at(&names, i), &visits[k], err);
    vel_fs_names_fini(&names);
    return rc;
}

static int on_record(struct vel_placeholders *all, const char *dir, const char *path,
                     int64_t number, struct vel_err *err)
{
    (void)path;
    return load_record(all, dir, number, err);
}

static int on_dataset(struct vel_placeholders *all, const char *dir, const char *path,
                      int64_t number, struct vel_err *err)
{
    static const struct visit records = {"anchors.", on_record};

    (void)dir, (void)number;
    return visit_all(all, path, &records, 1, err);
}

static int on_level(struct vel_placeholders *all, const char *dir, const char *path,
                    int64_t number, struct vel_err *err)
{
    static const struct visit datasets = {"dataset.", on_dataset};

    (void)dir, (void)number;
    return visit_all(all, path, &datasets, 1, err);
}

static int on_turn(struct vel_placeholders *all, const char *dir, const char *path,
                   int64_t number, struct vel_err *err)
{
    static const struct visit batches = {"", on_dataset};

    (void)dir, (void)number;
    return visit_all(all, path, &batches, 1, err);
}

/* Datasets are in the order of their ids, and batches behind all of them: what is in
 * those was closed later. */
static int compare_ages(const void *a, const void *b)
{
    int64_t x = INT64_MAX, y = INT64_MAX;

    vel_number_behind(vel_path_base((*(struct vel_placeholder *const *)a)->dir),
                      "dataset.", &x);
    vel_number_behind(vel_path_base((*(struct vel_placeholder *const *)b)->dir),
                      "dataset.", &y);
    return (x > y) - (x < y);
}

int vel_placeholders_load(struct vel_placeholders *all, char *const *homes,
                          size_t n_homes, struct vel_err *err)
{
    static const struct visit dirs[] = {{"index.", on_level}, {NULL, on_turn}};
    int rc = 0;

    pthread_mutex_lock(&all->lock);
    for (size_t i = 0; rc == 0 && i < n_homes; i++)
        rc = visit_all(all, homes[i], dirs, 2, err);
    vel_vec_sort(&all->items, compare_ages);
    pthread_mutex_unlock(&all->lock);
    return rc;
}

/* --- set, moved, forgotten --- */

void vel_placeholder_inherit(const struct vel_placeholders *all,
                             struct vel_placeholder *item)
{
    for (size_t i = 0; item && i < all->items.n; i++) {
        const struct vel_anchor *other = &vel_placeholder_at(all, i)->anchor;

        if (other->is_patched && vel_placeholder_is_same(other, &item->anchor))
            item->anchor.is_patched = true;
    }
}

/* *ret_is_stale: a version has come to a path meanwhile. maker NULL: it is open. */
static int set_once(struct vel_placeholders *all,
                    const struct vel_placeholder_file *file, const char *path,
                    const struct vel_stub_maker *maker, bool *ret_is_stale,
                    struct vel_err *err)
{
    struct vel_placeholder *item;
    struct vel_anchor anchor = {0};
    unsigned changes;
    int rc;

    pthread_mutex_lock(&all->lock);
    changes = all->changes;
    pthread_mutex_unlock(&all->lock);
    rc = maker ? vel_anchor_set(all->fs, path, file->name, maker, &anchor, err)
               : vel_anchor_look(all->fs, path, &anchor, err);
    if (rc < 0)
        return rc;
    item = vel_placeholder_make(all, file, &anchor, path);
    vel_anchor_fini(&anchor);
    pthread_mutex_lock(&all->lock);
    vel_placeholder_inherit(all, item);
    if (item)
        item->is_open = !maker;
    if (item && item->is_open && all->held >= VEL_HOLDS_OPEN)
        vel_anchor_release(all->fs, &item->hold);
    rc = vel_placeholder_put(all, vel_placeholder_find(all, file), item, err);
    if (rc == 0)
        rc = vel_placeholder_save(all, file->dir, file->rank, err);
    *ret_is_stale = all->changes != changes;
    pthread_mutex_unlock(&all->lock);
    return rc;
}

int vel_placeholders_set(struct vel_placeholders *all,
                         const struct vel_placeholder_file *file, const char *path,
                         const struct vel_stub_maker *maker, struct vel_err *err)
{
    bool is_stale = true;
    int rc = 0;

    while (rc == 0 && is_stale)
        rc = set_once(all, file, path, maker, &is_stale, err);
    return rc;
}

int vel_placeholders_open(struct vel_placeholders *all,
                          const struct vel_placeholder_file *file, const char *path,
                          struct vel_err *err)
{
    struct vel_err why = {0};
    bool is_stale = true;
    int rc = 0;

    while (rc == 0 && is_stale)
        rc = set_once(all, file, path, NULL, &is_stale, &why);
    return rc == 0 || rc == VEL_ENOENT
               ? 0
               : vel_fail(err, (enum vel_status)rc, "%s", why.text);
}

/* The file of this anchor in another directory; items.n: none. With the lock. */
static size_t find_same(const struct vel_placeholders *all, const char *dir,
                        const struct vel_placeholder *of)
{
    size_t i = 0;

    while (i < all->items.n &&
           !(is_of(vel_placeholder_at(all, i), dir, of->rank) &&
             vel_placeholder_is_same(&vel_placeholder_at(all, i)->anchor, &of->anchor)))
        i++;
    return i;
}

/* With the lock. Item `at` becomes that of item `same`, which goes: it is held since
 * the file was closed, whatever became of its name. */
static int take_place(struct vel_placeholders *all, size_t at, size_t same,
                      struct vel_err *err)
{
    struct vel_placeholder *item = vel_placeholder_at(all, at),
                           *other = vel_placeholder_at(all, same);
    char *dir = strdup(other->dir), *name = strdup(other->anchor.name);

    if (!dir || !name) {
        free(dir);
        free(name);
        return vel_out_of_memory(err, "an anchor");
    }
    free(item->dir);
    free(item->anchor.name);
    item->dir = dir;
    item->anchor.name = name;
    vel_placeholder_drop(all, same);
    return 0;
}

int vel_placeholders_hand_over(struct vel_placeholders *all,
                               const struct vel_placeholder_file *from,
                               const char *to_dir, struct vel_err *err)
{
    size_t at, same;
    int rc = 0;

    pthread_mutex_lock(&all->lock);
    at = vel_placeholder_find(all, from);
    if (at < all->items.n) {
        same = find_same(all, to_dir, vel_placeholder_at(all, at));
        if (same < all->items.n)
            rc = take_place(all, at, same, err);
        else
            vel_placeholder_drop(all, at);
        if (rc == 0)
            rc = vel_placeholder_save(all, to_dir, from->rank, err);
        if (rc == 0)
            rc = vel_placeholder_save(all, from->dir, from->rank, err);
    }
    pthread_mutex_unlock(&all->lock);
    return rc;
}

int vel_placeholders_forget(struct vel_placeholders *all, const char *dir, int64_t rank,
                            struct vel_err *err)
{
    int rc = 0;

    pthread_mutex_lock(&all->lock);
    for (size_t i = all->items.n; rc == 0 && i-- > 0;) {
        int64_t whose = vel_placeholder_at(all, i)->rank;

        if (strcmp(vel_placeholder_at(all, i)->dir, dir) != 0 ||
            (rank >= 0 && whose != rank))
            continue;
        vel_placeholder_drop(all, i);
        rc = vel_placeholder_save(all, dir, whose, err);
    }
    pthread_mutex_unlock(&all->lock);
    return rc;
}
