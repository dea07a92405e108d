/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that are complete, and files that will not be: what becomes of their
 * placeholders. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "jobs/placeholders_in.h"

/* --- closed --- */

/* What it is known by from now on, and where it is: the same file, wherever it was
 * moved to and whoever has touched it; or gone for good. *ret_path NULL: neither, so
 * what stands at its path now is to be looked at. */
static int catch_up(struct vel_placeholders *all, const struct vel_placeholder_use *use,
                    const char *launch, struct vel_anchor *ret, char **ret_path,
                    struct vel_err *err)
{
    bool is_held = use->hold.fd >= 0;
    enum vel_anchor_now now;
    char *path = NULL;
    int rc = vel_anchor_follow(all->fs, &use->hold, &now, &path, err);

    *ret = use->anchor;
    if (rc == 0 && (now == VEL_ANCHOR_STANDS || (now == VEL_ANCHOR_FOREIGN && is_held)))
        rc = vel_anchor_renew_at(all->fs, path, launch, ret, err);
    else if (rc == 0) {
        free(path);
        path = NULL;
        if (is_held &&
            (now == VEL_ANCHOR_HIDDEN || !vel_fs_exists(all->fs, use->anchor.path))) {
            ret->inode = now == VEL_ANCHOR_HIDDEN ? ret->inode : 0;
            path = strdup(use->anchor.path);
            rc = path ? 0 : vel_out_of_memory(err, "an anchor");
        }
    }
    if (rc < 0) {
        free(path);
        return rc;
    }
    *ret_path = path;
    return 0;
}

/* Behind all others, for it is the newest that is closed. *ret_is_stale: it has become
 * another one, or a version has come to a path meanwhile. */
static int put_closed(struct vel_placeholders *all,
                      const struct vel_placeholder_use *use,
                      const struct vel_placeholder_file *file, unsigned changes,
                      struct vel_placeholder *item, bool *ret_is_stale,
                      struct vel_err *err)
{
    size_t at;
    int rc = 0;

    if (!item)
        return vel_out_of_memory(err, "an anchor");
    pthread_mutex_lock(&all->lock);
    at = vel_placeholder_find(all, file);
    *ret_is_stale = at == all->items.n || vel_placeholder_at(all, at) != use->item ||
                    all->changes != changes;
    if (*ret_is_stale) {
        vel_placeholder_discard(all, item);
    } else {
        vel_placeholder_inherit(all, item);
        vel_placeholder_drop(all, at);
        rc = vel_placeholder_put(all, all->items.n, item, err);
        if (rc == 0)
            rc = vel_placeholder_say(all, item, false, err);
    }
    pthread_mutex_unlock(&all->lock);
    return rc;
}

int vel_placeholders_close(struct vel_placeholders *all,
                           const struct vel_placeholder_file *file, const char *path,
                           const struct vel_stub_maker *maker, struct vel_err *err)
{
    bool is_stale = true, is_lost = false;
    int rc = 0;

    while (rc == 0 && is_stale && !is_lost) {
        struct vel_placeholder_use use;
        struct vel_anchor anchor;
        char *at = NULL;
        unsigned changes;

        pthread_mutex_lock(&all->lock);
        changes = all->changes;
        pthread_mutex_unlock(&all->lock);
        if (vel_placeholder_begin_use(all, file, &use, NULL) < 0)
            break;
        rc = catch_up(all, &use, maker->launch, &anchor, &at, err);
        is_lost = rc == 0 && !at;
        if (at)
            rc = put_closed(all, &use, file, changes,
                            vel_placeholder_make(all, file, &anchor, at), &is_stale,
                            err);
        free(at);
        vel_placeholder_end_use(all, &use);
    }
    return rc < 0 || !is_stale ? rc : vel_placeholders_set(all, file, path, maker, err);
}

/* --- given up --- */

static int unlink_stub(struct vel_placeholders *all,
                       const struct vel_placeholder_file *file,
                       const struct vel_placeholder_use *use, struct vel_err *err)
{
    enum vel_anchor_now now;
    struct vel_placeholder_use other;
    bool is_older;
    char *path = NULL;
    size_t next = 0;
    int rc;

    if (!use->anchor.is_stub)
        return 0;
    if (vel_placeholder_find_other(all, use, file, &next, &other, &is_older)) {
        vel_placeholder_end_use(all, &other);
        return 0;
    }
    rc = vel_anchor_follow(all->fs, &use->hold, &now, &path, err);
    if (rc == 0 && now == VEL_ANCHOR_STANDS)
        rc = vel_fs_unlink(all->fs, path, err);
    free(path);
    return rc;
}

int vel_placeholders_give_up(struct vel_placeholders *all,
                             const struct vel_placeholder_file *file, bool unlinks,
                             struct vel_err *err)
{
    struct vel_placeholder_use use;
    size_t at;
    int rc = vel_placeholder_begin_use(all, file, &use, err);

    if (rc < 0)
        return rc == VEL_ENOENT ? 0 : rc;
    if (unlinks && !use.item->is_open)
        rc = unlink_stub(all, file, &use, err);
    pthread_mutex_lock(&all->lock);
    at = vel_placeholder_find(all, file);
    if (rc == 0 && at < all->items.n)
        vel_placeholder_remove(all, at);
    pthread_mutex_unlock(&all->lock);
    vel_placeholder_end_use(all, &use);
    return rc;
}

/* Any file of a dataset, in use; false: there is none. */
static bool find_of(struct vel_placeholders *all, const char *dir,
                    struct vel_placeholder_use *ret)
{
    bool is_found = false;

    pthread_mutex_lock(&all->lock);
    for (size_t i = 0; !is_found && i < all->items.n; i++)
        is_found = strcmp(vel_placeholder_at(all, i)->dir, dir) == 0 &&
                   vel_placeholder_use_item(vel_placeholder_at(all, i), ret, NULL) == 0;
    pthread_mutex_unlock(&all->lock);
    return is_found;
}

int vel_placeholders_lose(struct vel_placeholders *all, const char *dir,
                          struct vel_err *err)
{
    struct vel_placeholder_use use;
    int rc = 0;

    while (rc == 0 && find_of(all, dir, &use)) {
        const struct vel_placeholder_file file = {dir, use.rank, use.anchor.name};

        rc = vel_placeholders_give_up(all, &file, true, err);
        vel_placeholder_end_use(all, &use);
    }
    return rc;
}
