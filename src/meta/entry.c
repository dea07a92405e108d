/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "meta/entry.h"
#include "meta/filelist.h"
#include "meta/paths.h"
#include "record/record.h"

enum { FORMAT = 1 };

static const char *const places[] = {"CACHE", "FLUSHING", "REMOVING", "STAGED",
                                     "PREFIX"};

void vel_entry_fini(struct vel_entry *entry)
{
    vel_dataset_fini(&entry->dataset);
}

bool vel_entry_is_fetchable(const struct vel_entry *entry)
{
    return (entry->place == VEL_ON_PREFIX || entry->place == VEL_ON_STAGED) &&
           !entry->failed && !entry->refused && !entry->replaced;
}

/* What is not so is left out. */
static int put_mark(struct vel_node *body, const char *key, int64_t value)
{
    return value ? vel_node_set_int(body, key, value) : 0;
}

static int put(struct vel_node *body, const struct vel_entry *entry)
{
    return vel_node_adopt(body, "dataset", vel_dataset_to_node(&entry->dataset)) ||
           vel_node_set_text(body, "place", places[entry->place]) ||
           vel_node_set_int(body, "lists", entry->lists) ||
           vel_node_set_int(body, "flushed", entry->flushed) ||
           vel_node_set_int(body, "fetched", entry->fetched) ||
           vel_node_set_int(body, "failed", entry->failed) ||
           put_mark(body, "refused", entry->refused) ||
           put_mark(body, "replaced", entry->replaced) ||
           put_mark(body, "encoded", entry->is_encoded) ||
           put_mark(body, "owner", entry->owner);
}

static int get_place(const struct vel_node *body, enum vel_place_on_prefix *ret,
                     struct vel_err *err)
{
    const char *text;
    int rc = vel_node_get_text(body, "place", &text, err);

    if (rc < 0)
        return rc;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (strcmp(text, places[i]) == 0) {
            *ret = (enum vel_place_on_prefix)i;
            return 0;
        }
    return vel_fail(err, VEL_ECORRUPT, "place: '%s' is none", text);
}

static int get_mark(const struct vel_node *body, const char *key, int64_t least,
                    int64_t most, int64_t *ret, struct vel_err *err)
{
    return vel_node_has(body, key) ? vel_node_get_int(body, key, least, most, ret, err)
                                   : 0;
}

static int get(const struct vel_node *body, struct vel_entry *e, struct vel_err *err)
{
    const struct vel_node *dataset;
    int64_t lists, encoded = 0;
    int rc;

    if ((rc = get_place(body, &e->place, err)) < 0 ||
        (rc = vel_node_get_int(body, "lists", 0, VEL_RANKS_MAX, &lists, err)) < 0 ||
        (rc = vel_node_get_int(body, "flushed", INT64_MIN, INT64_MAX, &e->flushed,
                               err)) < 0 ||
        (rc = vel_node_get_int(body, "fetched", INT64_MIN, INT64_MAX, &e->fetched,
                               err)) < 0 ||
        (rc = vel_node_get_int(body, "failed", INT64_MIN, INT64_MAX, &e->failed, err)) <
            0 ||
        (rc = get_mark(body, "refused", INT64_MIN, INT64_MAX, &e->refused, err)) < 0 ||
        (rc = get_mark(body, "replaced", 1, INT64_MAX, &e->replaced, err)) < 0 ||
        (rc = get_mark(body, "encoded", 0, 1, &encoded, err)) < 0 ||
        (rc = get_mark(body, "owner", 1, INT64_MAX, &e->owner, err)) < 0 ||
        (rc = vel_node_get_object(body, "dataset", &dataset, err)) < 0 ||
        (rc = vel_dataset_from_node(dataset, &e->dataset, err)) < 0)
        return rc;
    e->lists = (int)lists;
    e->is_encoded = encoded;
    return 0;
}

int vel_entry_encode(const struct vel_entry *entry, struct vel_buf *ret,
                     struct vel_err *err)
{
    return vel_entry_encode_lists(entry, NULL, "", ret, err);
}

int vel_entry_decode(const void *bytes, size_t len, struct vel_entry *ret,
                     struct vel_err *err)
{
    struct vel_entry entry = {0};
    struct vel_node *body = NULL;
    int rc = vel_node_parse(bytes, len, &body, err);

    if (rc == 0)
        rc = get(body, &entry, err);
    vel_node_destroy(body);
    if (rc < 0)
        vel_entry_fini(&entry);
    else
        *ret = entry;
    return rc;
}

/* --- short lists of its files --- */

void vel_entry_lists_fini(struct vel_vec *lists)
{
    for (size_t i = 0; i < lists->n; i++)
        vel_filelist_fini(&((struct vel_entry_list *)vel_vec_at(lists, i))->files);
    vel_vec_fini(lists);
}

static int put_lists(struct vel_node *body, const struct vel_vec *lists,
                     struct vel_err *err)
{
    struct vel_node *all = vel_node_list();
    int rc = all ? 0 : VEL_ENOMEM;

    for (size_t i = 0; rc == 0 && i < lists->n; i++) {
        const struct vel_entry_list *list = vel_vec_at(lists, i);
        struct vel_node *one = vel_filelist_to_node(&list->files, err);

        rc = one ? vel_node_set_int(one, "list", list->list) : VEL_ENOMEM;
        if (rc == 0)
            rc = vel_node_append(all, one);
        else
            vel_node_destroy(one);
    }
    if (rc == 0)
        return vel_node_adopt(body, "listed", all);
    vel_node_destroy(all);
    return rc;
}

static int keep_lists(struct vel_node *body, const char *before, struct vel_err *err)
{
    const struct vel_node *all;
    struct vel_node *old = NULL;
    int rc = vel_node_parse(before, strlen(before), &old, err);

    if (rc == 0 && vel_node_has(old, "listed") &&
        vel_node_get_list(old, "listed", &all, NULL) == 0)
        rc = vel_node_adopt(body, "listed", vel_node_copy(all));
    vel_node_destroy(old);
    return rc == VEL_ECORRUPT ? 0 : rc;
}

int vel_entry_encode_lists(const struct vel_entry *entry, const struct vel_vec *lists,
                           const char *before, struct vel_buf *ret, struct vel_err *err)
{
    struct vel_node *body = vel_node_object();
    int rc = !body || put(body, entry) ? VEL_ENOMEM : 0;

    if (rc == 0 && lists && lists->n > 0)
        rc = put_lists(body, lists, err);
    else if (rc == 0 && !lists && *before && entry->place != VEL_ON_CACHE)
        rc = keep_lists(body, before, err);
    if (rc == 0)
        vel_node_print(body, ret);
    vel_node_destroy(body);
    return rc < 0 ? vel_out_of_memory(err, "an entry") : vel_buf_status(ret, err);
}

int vel_entry_decode_list(const char *text, int list, struct vel_vec *ret,
                          struct vel_err *err)
{
    const struct vel_node *all, *one;
    struct vel_node *body = NULL;
    struct vel_vec files;
    int64_t number = -1;
    int rc = vel_node_parse(text, strlen(text), &body, err);

    vel_vec_init(&files, sizeof(struct vel_listed));
    if (rc == 0 && !vel_node_has(body, "listed"))
        rc = VEL_ENOENT;
    if (rc == 0)
        rc = vel_node_get_list(body, "listed", &all, err);
    for (size_t i = 0; rc == 0 && number != list; i++) {
        rc = i < vel_node_count(all) ? vel_node_object_at(all, i, &one, err)
                                     : VEL_ENOENT;
        if (rc == 0)
            rc = vel_node_get_int(one, "list", 0, VEL_RANKS_MAX, &number, err);
        if (rc == 0 && number == list)
            rc = vel_filelist_from_node(one, &files, err);
    }
    vel_node_destroy(body);
    if (rc < 0)
        vel_filelist_fini(&files);
    else
        *ret = files;
    return rc;
}

int vel_dropped_save(struct vel_fs *fs, const char *dir, int64_t id,
                     struct vel_err *err)
{
    struct vel_node *body = vel_node_object();
    char *path = vel_dropped_path(dir, id);
    int rc = !body || !path || vel_node_set_int(body, "dataset", id)
                 ? vel_out_of_memory(err, "a tombstone")
                 : vel_record_save(fs, path, "dropped", FORMAT, body, err);

    free(path);
    vel_node_destroy(body);
    return rc;
}

int vel_dropped_load(struct vel_fs *fs, const char *dir, struct vel_vec *ret_ids,
                     struct vel_err *err)
{
    struct vel_vec names = {0}, ids;
    struct vel_err why = {0};
    int64_t id;
    int rc = vel_fs_list(fs, dir, &names, &why);

    if (rc < 0 && rc != VEL_ENOENT)
        return vel_fail(err, (enum vel_status)rc, "%s", why.text);
    rc = 0;
    vel_vec_init(&ids, sizeof id);
    for (size_t i = 0; rc == 0 && i < names.n; i++)
        if (vel_number_behind(((char **)names.items)[i], "dropped.", &id) &&
            !vel_vec_push(&ids, &id))
            rc = vel_out_of_memory(err, "tombstones");
    vel_fs_names_fini(&names);
    if (rc < 0)
        vel_vec_fini(&ids);
    else
        *ret_ids = ids;
    return rc;
}
