/* SPDX-License-Identifier: BSD-3-Clause */
/* The table. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "jobs/placeholders_in.h"

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

/* --- life --- */

struct vel_placeholders *vel_placeholders_create(struct vel_fs *fs,
                                                 struct vel_batches *const *ledgers,
                                                 size_t n_ledgers)
{
    struct vel_placeholders *all = calloc(1, sizeof *all);

    if (!all)
        return NULL;
    all->fs = fs;
    all->ledgers = ledgers;
    all->n_ledgers = n_ledgers;
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

/* With the lock, in the place of what the file has had; but behind all others when it
 * is closed now: then it is the newest. */
static int put_in_place(struct vel_placeholders *all,
                        const struct vel_placeholder_file *file,
                        struct vel_placeholder *item, struct vel_err *err)
{
    size_t at = vel_placeholder_find(all, file);
    bool is_known = at < all->items.n;
    bool was_said = is_known && !vel_placeholder_at(all, at)->is_open;
    int rc = !item            ? vel_out_of_memory(err, "an anchor")
             : !item->is_open ? vel_placeholder_say(all, item, false, err)
             : was_said       ? vel_placeholder_unsay(all, file, err)
                              : 0;

    if (rc == 0 && is_known && !was_said && !item->is_open) {
        vel_placeholder_drop(all, at);
        at = all->items.n;
    }
    if (rc == 0)
        return vel_placeholder_put(all, at, item, err);
    if (item)
        vel_placeholder_discard(all, item);
    return rc;
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
    rc = put_in_place(all, file, item, err);
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
    }
    pthread_mutex_unlock(&all->lock);
    return rc;
}

void vel_placeholder_remove(struct vel_placeholders *all, size_t at)
{
    struct vel_placeholder *item = vel_placeholder_at(all, at);
    const struct vel_placeholder_file file = {item->dir, item->rank, item->anchor.name};

    if (!item->is_open)
        vel_placeholder_unsay(all, &file, NULL);
    vel_placeholder_drop(all, at);
}

void vel_placeholders_forget(struct vel_placeholders *all, const char *dir,
                             int64_t rank)
{
    pthread_mutex_lock(&all->lock);
    for (size_t i = all->items.n; i-- > 0;)
        if (strcmp(vel_placeholder_at(all, i)->dir, dir) == 0 &&
            (rank < 0 || vel_placeholder_at(all, i)->rank == rank))
            vel_placeholder_remove(all, i);
    pthread_mutex_unlock(&all->lock);
}
