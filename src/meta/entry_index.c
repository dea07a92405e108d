/* SPDX-License-Identifier: BSD-3-Clause */
/* The index: entries by dataset and owner. Who looks may meet an owner that takes over:
 * its entry comes, and those before it are swept away. So what was listed and is gone
 * when it is read is looked for again. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/path.h"
#include "meta/entry_in.h"
#include "meta/owner.h"
#include "meta/paths.h"

enum { LOOKS = 16 }; /* how often an owner may change while one entry is read */

/* an entry's name */
struct spot {
    int64_t id, owner;
};

/* Newest dataset first, and of one the highest owner. */
static int by_age(const void *a, const void *b)
{
    const struct spot *x = a, *y = b;

    if (x->id != y->id)
        return x->id < y->id ? 1 : -1;
    return (x->owner < y->owner) - (x->owner > y->owner);
}

/* All names in the index. */
static int list_names(struct vel_fs *fs, const char *dir, struct vel_vec *ret_names,
                      struct vel_err *err)
{
    char *index = vel_path_join(dir, "index");
    struct vel_err why = {0};
    int rc;

    if (!index)
        return vel_out_of_memory(err, "the index");
    rc = vel_fs_list(fs, index, ret_names, &why);
    free(index);
    if (rc < 0 && rc != VEL_ENOENT)
        return vel_fail(err, (enum vel_status)rc, "%s", why.text);
    return 0;
}

/* Those of a dataset, 0: of all; sorted. */
static int list_spots(struct vel_fs *fs, const char *dir, int64_t id,
                      struct vel_vec *ret, struct vel_err *err)
{
    struct vel_vec names = {0};
    struct spot spot;
    int rc = list_names(fs, dir, &names, err);

    vel_vec_init(ret, sizeof spot);
    for (size_t i = 0; rc == 0 && i < names.n; i++)
        if (vel_entry_parse(((char **)names.items)[i], &spot.id, &spot.owner) &&
            (!id || spot.id == id) && !vel_vec_push(ret, &spot))
            rc = vel_out_of_memory(err, "the index");
    vel_fs_names_fini(&names);
    if (rc < 0)
        vel_vec_fini(ret);
    else
        vel_vec_sort(ret, by_age);
    return rc;
}

/* Those who claimed it are in its directory, which is short; one that nobody claims is
 * a session's. VEL_ENOENT: none of them has written one. *ret_last: who claimed last,
 * 0: nobody, as far as can be told. */
static int load_claimed(struct vel_fs *fs, const char *dir, int64_t id,
                        int64_t *ret_last, struct vel_entry *ret, struct vel_err *err)
{
    struct vel_vec owners;
    int rc = VEL_ENOENT;

    *ret_last = 0;
    if (vel_owners_load(fs, dir, id, &owners, NULL) < 0)
        return VEL_ENOENT;
    for (size_t i = owners.n; rc == VEL_ENOENT && i-- > 0;)
        rc = vel_entry_load_of(fs, dir, id, ((int64_t *)owners.items)[i], ret, err);
    if (owners.n > 0)
        *ret_last = ((int64_t *)owners.items)[owners.n - 1];
    vel_vec_fini(&owners);
    return rc == VEL_ENOENT && *ret_last ? vel_entry_load_of(fs, dir, id, 0, ret, err)
                                         : rc;
}

/* The directory of the dataset is gone, or is none of a leader. */
static int load_listed(struct vel_fs *fs, const char *dir, int64_t id,
                       int64_t *ret_last, struct vel_entry *ret, struct vel_err *err)
{
    struct vel_vec spots;
    int rc = list_spots(fs, dir, id, &spots, err);

    *ret_last = 0;
    if (rc < 0)
        return rc;
    if (spots.n)
        *ret_last = ((struct spot *)spots.items)->owner;
    vel_vec_fini(&spots);
    return vel_entry_load_of(fs, dir, id, *ret_last, ret, err);
}

int vel_entry_load(struct vel_fs *fs, const char *dir, int64_t id,
                   struct vel_entry *ret, struct vel_err *err)
{
    int64_t last = -1;

    for (int i = 0; i < LOOKS; i++) {
        int64_t top;
        int rc = load_claimed(fs, dir, id, &top, ret, err);

        if (rc == VEL_ENOENT && top == 0)
            rc = load_listed(fs, dir, id, &top, ret, err);
        if (rc != VEL_ENOENT || top == last) /* it is not there twice */
            return rc;
        last = top;
    }
    return VEL_ENOENT;
}

int vel_entry_remove(struct vel_fs *fs, const char *dir, int64_t id,
                     struct vel_err *err)
{
    struct vel_vec spots;
    int rc = list_spots(fs, dir, id, &spots, err);

    if (rc < 0)
        return rc;
    for (size_t i = spots.n; rc == 0 && i-- > 0;) {
        char *path = vel_entry_path(dir, id, ((struct spot *)spots.items)[i].owner);

        rc = path ? vel_fs_unlink(fs, path, err)
                  : vel_out_of_memory(err, "an index entry");
        free(path);
    }
    vel_vec_fini(&spots);
    return rc;
}

void vel_index_fini(struct vel_vec *entries)
{
    struct vel_entry *e = entries->items;

    for (size_t i = 0; i < entries->n; i++)
        vel_entry_fini(&e[i]);
    vel_vec_fini(entries);
}

/* *ret_is_there: it can be read. */
static int load_spot(struct vel_fs *fs, const char *dir, const struct spot *spot,
                     struct vel_entry *ret, bool *ret_is_there, struct vel_err *err)
{
    struct vel_err why = {0};
    int rc = vel_entry_load_of(fs, dir, spot->id, spot->owner, ret, &why);

    if (rc == VEL_ENOENT)
        rc = vel_entry_load(fs, dir, spot->id, ret, &why);
    *ret_is_there = rc == 0;
    if (rc == VEL_ENOMEM)
        return vel_out_of_memory(err, "the index");
    if (rc < 0 && rc != VEL_ENOENT)
        vel_log(VEL_LOG_WARN, "index entry left out: %s", why.text);
    return 0;
}

/* Of each dataset the first, which is of its highest owner. */
static void keep_highest(struct vel_vec *spots)
{
    struct spot *s = spots->items;
    size_t n = 0;

    for (size_t i = 0; i < spots->n; i++)
        if (n == 0 || s[i].id != s[n - 1].id)
            s[n++] = s[i];
    spots->n = n;
}

static int forget_others(struct vel_over *over, const struct vel_vec *spots,
                         struct vel_err *err)
{
    const struct spot *s = spots->items;
    int64_t *ids = malloc((spots->n + 1) * sizeof *ids);

    if (!ids)
        return vel_out_of_memory(err, "the index");
    for (size_t i = 0; i < spots->n; i++)
        ids[i] = s[i].id;
    vel_over_keep(over, ids, spots->n);
    free(ids);
    return 0;
}

int vel_index_each(struct vel_fs *fs, const char *dir,
                   const struct vel_index_range *range, vel_index_f *each, void *arg,
                   struct vel_err *err)
{
    struct vel_vec spots;
    int rc = list_spots(fs, dir, 0, &spots, err);

    if (rc < 0)
        return rc;
    keep_highest(&spots);
    if (range->over)
        rc = forget_others(range->over, &spots, err);
    for (size_t i = 0; rc == 0 && i < spots.n; i++) {
        const struct spot *s = vel_vec_at(&spots, i);
        struct vel_entry entry;
        bool is_there = false;

        if (s->id <= range->above || s->id >= range->below ||
            (range->over && s->id < range->over_below &&
             vel_over_has(range->over, s->id)))
            continue;
        rc = load_spot(fs, dir, s, &entry, &is_there, err);
        if (is_there)
            rc = each(arg, &entry, err);
    }
    vel_vec_fini(&spots);
    return rc;
}

static int keep_entry(void *arg, struct vel_entry *entry, struct vel_err *err)
{
    if (vel_vec_push(arg, entry))
        return 0;
    vel_entry_fini(entry);
    return vel_out_of_memory(err, "the index");
}

int vel_index_load(struct vel_fs *fs, const char *dir, struct vel_vec *ret,
                   struct vel_err *err)
{
    const struct vel_index_range all = {.above = INT64_MIN, .below = INT64_MAX};
    struct vel_vec entries;
    int rc;

    vel_vec_init(&entries, sizeof(struct vel_entry));
    rc = vel_index_each(fs, dir, &all, keep_entry, &entries, err);
    if (rc < 0)
        vel_index_fini(&entries);
    else
        *ret = entries;
    return rc;
}

int vel_index_last(struct vel_fs *fs, const char *dir, int64_t *ret_id,
                   struct vel_err *err)
{
    struct vel_vec spots;
    int rc = list_spots(fs, dir, 0, &spots, err);

    if (rc < 0)
        return rc;
    *ret_id = spots.n ? ((struct spot *)spots.items)->id : 0;
    vel_vec_fini(&spots);
    return 0;
}

/* --- what nobody reads --- */

/* The entry that a temporary is to become, as sys/fs names it: ".NAME" and an ending
 * without a dot before that of its own. */
static bool parse_temporary(const char *name, struct spot *ret)
{
    char entry[64];
    const char *end = strrchr(name, '.');

    if (!vel_fs_is_temporary(name) || !end || end <= name + 1 ||
        (size_t)(end - name - 1) >= sizeof entry)
        return false;
    memcpy(entry, name + 1, (size_t)(end - name - 1));
    entry[end - name - 1] = '\0';
    return vel_entry_parse(entry, &ret->id, &ret->owner);
}

/* Nobody but a session writes unnumbered ones. */
static bool is_past(const struct vel_vec *spots, const char *name,
                    vel_index_busy_f *is_busy, void *arg)
{
    struct spot spot;
    bool is_temporary = vel_fs_is_temporary(name);

    if (is_temporary ? !parse_temporary(name, &spot)
                     : !vel_entry_parse(name, &spot.id, &spot.owner))
        return is_temporary;
    if (is_temporary && spot.owner == 0)
        return !is_busy(arg, spot.id);
    for (size_t i = 0; i < spots->n; i++) {
        const struct spot *s = vel_vec_at(spots, i);

        if (s->id == spot.id)
            return s->owner > spot.owner; /* the first is the highest */
    }
    return false;
}

void vel_index_sweep(struct vel_fs *fs, const char *dir, vel_index_busy_f *is_busy,
                     void *arg)
{
    char *index = vel_path_join(dir, "index");
    struct vel_vec names = {0}, spots = {0};

    if (index && list_spots(fs, dir, 0, &spots, NULL) == 0 &&
        list_names(fs, dir, &names, NULL) == 0)
        for (size_t i = 0; i < names.n; i++) {
            const char *name = ((char **)names.items)[i];
            char *path =
                is_past(&spots, name, is_busy, arg) ? vel_path_join(index, name) : NULL;

            if (path)
                vel_fs_unlink(fs, path, NULL);
            free(path);
        }
    vel_fs_names_fini(&names);
    vel_vec_fini(&spots);
    free(index);
}
