/* SPDX-License-Identifier: BSD-3-Clause */
/* Placeholders as they are followed on the prefix: without the lock, since the prefix
 * may be slow, on a copy of the anchor with the descriptor of the table's. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "jobs/placeholders_in.h"

static void use_fini(struct vel_placeholder_use *use)
{
    vel_anchor_fini(&use->anchor);
    free(use->dir);
}

int vel_placeholder_use_item(struct vel_placeholder *item,
                             struct vel_placeholder_use *use, struct vel_err *err)
{
    *use = (struct vel_placeholder_use){.item = item,
                                        .dir = strdup(item->dir),
                                        .rank = item->rank,
                                        .anchor = item->anchor,
                                        .hold = item->hold};
    use->anchor.name = strdup(item->anchor.name);
    use->anchor.path = strdup(item->anchor.path);
    if (!use->dir || !use->anchor.name || !use->anchor.path) {
        use_fini(use);
        return vel_out_of_memory(err, "an anchor");
    }
    use->hold.anchor = &use->anchor;
    item->users++;
    return 0;
}

int vel_placeholder_begin_use(struct vel_placeholders *all,
                              const struct vel_placeholder_file *file,
                              struct vel_placeholder_use *use, struct vel_err *err)
{
    size_t at;
    int rc;

    pthread_mutex_lock(&all->lock);
    at = vel_placeholder_find(all, file);
    rc = at < all->items.n
             ? vel_placeholder_use_item(vel_placeholder_at(all, at), use, err)
             : vel_fail(err, VEL_ENOENT, "%s has no placeholder", file->name);
    pthread_mutex_unlock(&all->lock);
    return rc;
}

void vel_placeholder_end_use(struct vel_placeholders *all,
                             struct vel_placeholder_use *use)
{
    pthread_mutex_lock(&all->lock);
    vel_placeholder_leave(all, use->item);
    pthread_mutex_unlock(&all->lock);
    use_fini(use);
}

int vel_placeholders_follow(struct vel_placeholders *all,
                            const struct vel_placeholder_file *file,
                            enum vel_anchor_now *ret_now, char **ret_path,
                            struct vel_err *err)
{
    struct vel_placeholder_use use;
    int rc = vel_placeholder_begin_use(all, file, &use, err);

    if (rc < 0)
        return rc;
    rc = vel_anchor_follow(all->fs, &use.hold, ret_now, ret_path, err);
    vel_placeholder_end_use(all, &use);
    return rc;
}

static bool is_there(const struct vel_placeholders *all,
                     const struct vel_placeholder *item)
{
    size_t i = 0;

    while (i < all->items.n && vel_placeholder_at(all, i) != item)
        i++;
    return i < all->items.n;
}

/* The file gets an item of this anchor, which is that of item `like` (NULL: of none),
 * if it has none. *ret_is_stale: that has been replaced meanwhile. */
static int add(struct vel_placeholders *all, const struct vel_placeholder *like,
               const struct vel_placeholder_file *file, const struct vel_anchor *anchor,
               const char *path, bool *ret_is_stale, struct vel_err *err)
{
    struct vel_placeholder *item = vel_placeholder_make(all, file, anchor, path);
    int rc = 0;

    pthread_mutex_lock(&all->lock);
    *ret_is_stale = like && !is_there(all, like);
    if (item && (*ret_is_stale || vel_placeholder_find(all, file) < all->items.n)) {
        vel_placeholder_discard(all, item);
    } else {
        rc = item ? vel_placeholder_say(all, item, false, err)
                  : vel_out_of_memory(err, "an anchor");
        if (rc == 0)
            rc = vel_placeholder_put_beside(all, like, item, err);
        else if (item)
            vel_placeholder_discard(all, item);
    }
    pthread_mutex_unlock(&all->lock);
    return rc;
}

/* The file gets an item of this anchor: in the place of `old`, if that is still its
 * own. On the disk when this returns: it is said before, or after, a rename there. */
static int replace(struct vel_placeholders *all, const struct vel_placeholder *old,
                   const struct vel_placeholder_file *file,
                   const struct vel_anchor *anchor, const char *path,
                   struct vel_err *err)
{
    struct vel_placeholder *item = vel_placeholder_make(all, file, anchor, path);
    size_t at;
    int rc = 0;

    if (!item)
        return vel_out_of_memory(err, "an anchor");
    item->is_open = old->is_open;
    pthread_mutex_lock(&all->lock);
    at = vel_placeholder_find(all, file);
    if (at < all->items.n && vel_placeholder_at(all, at) == old) {
        rc = item->is_open ? 0 : vel_placeholder_say(all, item, true, err);
        if (rc == 0)
            rc = vel_placeholder_put(all, at, item, err);
        else
            vel_placeholder_discard(all, item);
    } else {
        vel_placeholder_discard(all, item);
    }
    pthread_mutex_unlock(&all->lock);
    return rc;
}

int vel_placeholders_share(struct vel_placeholders *all,
                           const struct vel_placeholder_file *from,
                           const struct vel_placeholder_file *to, const char *path,
                           struct vel_err *err)
{
    const struct vel_anchor published = {.inode = 0};
    bool is_stale = true;
    int rc = 0;

    while (rc == 0 && is_stale) {
        struct vel_placeholder_use use;

        rc = vel_placeholder_begin_use(all, from, &use, err);
        if (rc == VEL_ENOENT)
            return path ? add(all, NULL, to, &published, path, &is_stale, err) : 0;
        if (rc < 0)
            return rc;
        rc = add(all, use.item, to, &use.anchor, use.anchor.path, &is_stale, err);
        vel_placeholder_end_use(all, &use);
    }
    return rc;
}

/* --- published --- */

/* Where it stands now is where it will be published: whoever comes after a crash must
 * not look for it at its first path. */
static int note_path(struct vel_placeholders *all,
                     const struct vel_placeholder_file *file,
                     const struct vel_placeholder_use *use, struct vel_err *err)
{
    enum vel_anchor_now now;
    char *path = NULL;
    int rc = vel_anchor_follow(all->fs, &use->hold, &now, &path, err);

    if (rc == 0 && now == VEL_ANCHOR_STANDS && strcmp(path, use->anchor.path) != 0)
        rc = replace(all, use->item, file, &use->anchor, path, err);
    free(path);
    return rc;
}

bool vel_placeholder_find_other(struct vel_placeholders *all,
                                const struct vel_placeholder_use *of,
                                const struct vel_placeholder_file *file, size_t *next,
                                struct vel_placeholder_use *ret, bool *ret_older)
{
    bool is_found = false;
    size_t own;

    pthread_mutex_lock(&all->lock);
    own = vel_placeholder_find(all, file);
    for (; !is_found && *next < all->items.n; ++*next) {
        struct vel_placeholder *item = vel_placeholder_at(all, *next);

        *ret_older = *next < own && own < all->items.n && !item->is_open;
        is_found = *next != own &&
                   vel_placeholder_is_same(&item->anchor, &of->anchor) &&
                   vel_placeholder_use_item(item, ret, NULL) == 0;
    }
    pthread_mutex_unlock(&all->lock);
    return is_found;
}

static int renew_one(struct vel_placeholders *all,
                     const struct vel_placeholder_use *older,
                     struct vel_placeholder_use *newer, const char *path,
                     struct vel_err *err)
{
    const struct vel_placeholder_file file = {newer->dir, newer->rank,
                                              newer->anchor.name};
    struct vel_anchor_hold none = {.anchor = &newer->anchor, .fd = -1};
    bool is_renewed = false;
    int rc = vel_anchor_renew(all->fs, &older->anchor, path, &newer->anchor, &none,
                              &is_renewed, err);

    vel_anchor_release(all->fs, &none);
    return rc == 0 && is_renewed
               ? replace(all, newer->item, &file, &newer->anchor, path, err)
               : rc;
}

/* Its rank has had the file before, and has not been the last: it has no name any more.
 */
static int retire_one(struct vel_placeholders *all,
                      const struct vel_placeholder_use *older, const char *path,
                      struct vel_err *err)
{
    const struct vel_placeholder_file file = {older->dir, older->rank,
                                              older->anchor.name};
    const struct vel_anchor none = {.inode = 0};

    return replace(all, older->item, &file, &none, path, err);
}

/* The published file is what newer files of the name replace; also those of which
 * somebody has just looked what they replace, and who has to look again. */
static int renew(struct vel_placeholders *all, const struct vel_placeholder_use *use,
                 const struct vel_placeholder_file *file, const char *path,
                 struct vel_err *err)
{
    struct vel_placeholder_use other;
    bool is_older;
    size_t next = 0;
    int rc = 0;

    pthread_mutex_lock(&all->lock);
    all->changes++;
    pthread_mutex_unlock(&all->lock);
    while (rc == 0 &&
           vel_placeholder_find_other(all, use, file, &next, &other, &is_older)) {
        rc = is_older ? retire_one(all, &other, path, err)
                      : renew_one(all, use, &other, path, err);
        vel_placeholder_end_use(all, &other);
    }
    return rc;
}

int vel_placeholders_publish(struct vel_placeholders *all,
                             const struct vel_placeholder_file *file, int64_t id,
                             const char *temporary, enum vel_anchor_end *ret_end,
                             char **ret_path, struct vel_err *err)
{
    struct vel_err why = {0};
    struct vel_placeholder_use use;
    int rc = vel_placeholder_begin_use(all, file, &use, err);

    if (rc < 0)
        return rc;
    rc = note_path(all, file, &use, err);
    if (rc == 0)
        rc = vel_anchor_publish(all->fs, &use.hold, id, temporary, ret_end, ret_path,
                                err);
    if (rc == 0 && *ret_end == VEL_ANCHOR_PUBLISHED &&
        renew(all, &use, file, *ret_path, &why) < 0)
        vel_log(VEL_LOG_WARN, "a newer file of the name %s is not followed: %s",
                *ret_path, why.text);
    vel_placeholder_end_use(all, &use);
    return rc;
}

/* With the lock: all that have the placeholder of item `at`. */
static int mark_patched(struct vel_placeholders *all, size_t at, bool is_patched,
                        struct vel_err *err)
{
    const struct vel_placeholder *of = vel_placeholder_at(all, at);
    int rc = 0;

    all->changes++;
    for (size_t i = 0; rc == 0 && i < all->items.n; i++) {
        struct vel_placeholder *item = vel_placeholder_at(all, i);

        if (!vel_placeholder_is_same(&item->anchor, &of->anchor))
            continue;
        item->anchor.is_patched = is_patched;
        if (!item->is_open)
            rc = vel_placeholder_say(all, item, true, err);
    }
    return rc;
}

static int mark_file(struct vel_placeholders *all,
                     const struct vel_placeholder_file *file, bool is_patched,
                     struct vel_err *err)
{
    size_t at;
    int rc = 0;

    pthread_mutex_lock(&all->lock);
    at = vel_placeholder_find(all, file);
    if (at < all->items.n)
        rc = mark_patched(all, at, is_patched, err);
    pthread_mutex_unlock(&all->lock);
    return rc;
}

int vel_placeholders_patching(struct vel_placeholders *all,
                              const struct vel_placeholder_file *file,
                              struct vel_err *err)
{
    return mark_file(all, file, true, err);
}

int vel_placeholders_patched(struct vel_placeholders *all,
                             const struct vel_placeholder_file *file, const char *path,
                             struct vel_err *err)
{
    struct vel_placeholder_use use;
    int rc = path ? vel_placeholder_begin_use(all, file, &use, NULL) : 0;

    if (!path)
        return mark_file(all, file, false, err);
    if (rc < 0)
        return rc == VEL_ENOENT ? 0 : vel_out_of_memory(err, path);
    rc = renew(all, &use, file, path, err);
    vel_placeholder_end_use(all, &use);
    return rc;
}

char *vel_placeholders_recorded(struct vel_placeholders *all,
                                const struct vel_placeholder_file *file)
{
    char *path = NULL;
    size_t at;

    pthread_mutex_lock(&all->lock);
    at = vel_placeholder_find(all, file);
    if (at < all->items.n && vel_placeholder_at(all, at)->anchor.inode > 0)
        path = strdup(vel_placeholder_at(all, at)->anchor.path);
    pthread_mutex_unlock(&all->lock);
    return path;
}

/* --- whose --- */

/* What stands at a path, as an anchor knows it. */
static int identify(struct vel_placeholders *all, const char *path,
                    struct vel_anchor *ret, struct vel_err *err)
{
    struct vel_stub stub;
    struct stat st;
    int rc = vel_fs_lstat(all->fs, path, &st, err);

    if (rc < 0)
        return rc;
    *ret = (struct vel_anchor){.inode = st.st_ino,
                               .size = (uint64_t)st.st_size,
                               .mtime_s = st.st_mtim.tv_sec,
                               .mtime_ns = (uint32_t)st.st_mtim.tv_nsec};
    ret->is_stub = vel_stub_read(all->fs, path, &stub, NULL) == 0;
    ret->mark = ret->is_stub ? stub.mark : 0;
    return 0;
}

/* Of a stub the mark tells; of a version that it is untouched. */
static bool is_its(const struct vel_anchor *anchor, const struct vel_anchor *found)
{
    if (found->is_stub || anchor->is_stub)
        return found->is_stub && anchor->is_stub && anchor->mark == found->mark;
    return anchor->inode == found->inode &&
           (anchor->is_patched ||
            (anchor->size == found->size && anchor->mtime_s == found->mtime_s &&
             anchor->mtime_ns == found->mtime_ns));
}

typedef bool fits_f(const struct vel_anchor *anchor, const void *what);

static bool is_found(const struct vel_anchor *anchor, const void *found)
{
    return is_its(anchor, found);
}

static bool was_at(const struct vel_anchor *anchor, const void *path)
{
    return anchor->inode > 0 && strcmp(anchor->path, path) == 0;
}

/* The newest file whose anchor fits. */
static int find_last(struct vel_placeholders *all, const char *path, fits_f *fits,
                     const void *what, char **ret_dir, int64_t *ret_rank,
                     char **ret_name, struct vel_err *err)
{
    char *dir = NULL, *name = NULL;
    int64_t rank = 0;
    size_t i;

    pthread_mutex_lock(&all->lock);
    for (i = all->items.n;
         i > 0 && (vel_placeholder_at(all, i - 1)->is_open ||
                   !fits(&vel_placeholder_at(all, i - 1)->anchor, what));)
        i--;
    if (i > 0) {
        dir = strdup(vel_placeholder_at(all, i - 1)->dir);
        name = strdup(vel_placeholder_at(all, i - 1)->anchor.name);
        rank = vel_placeholder_at(all, i - 1)->rank;
    }
    pthread_mutex_unlock(&all->lock);
    if (i == 0)
        return vel_fail(err, VEL_ENOENT, "%s is no placeholder of this node", path);
    if (!dir || !name) {
        free(dir);
        free(name);
        return vel_out_of_memory(err, path);
    }
    *ret_dir = dir;
    *ret_rank = rank;
    *ret_name = name;
    return 0;
}

int vel_placeholders_whose(struct vel_placeholders *all, const char *path,
                           char **ret_dir, int64_t *ret_rank, char **ret_name,
                           struct vel_err *err)
{
    struct vel_anchor found;
    int rc = identify(all, path, &found, err);

    return rc < 0 ? rc
                  : find_last(all, path, is_found, &found, ret_dir, ret_rank, ret_name,
                              err);
}

int vel_placeholders_last_at(struct vel_placeholders *all, const char *path,
                             char **ret_dir, int64_t *ret_rank, char **ret_name,
                             struct vel_err *err)
{
    return find_last(all, path, was_at, path, ret_dir, ret_rank, ret_name, err);
}
