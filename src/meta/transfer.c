/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "meta/dataset.h"
#include "meta/paths.h"
#include "meta/transfer.h"
#include "record/record.h"

#define TYPE "transfer"
enum { FORMAT = 1 };

static void file_fini(struct vel_transfer_file *file)
{
    free(file->from);
    free(file->name);
}

void vel_transfer_id_fini(struct vel_transfer_id *id)
{
    free(id->node);
    id->node = NULL;
}

void vel_transfer_record_init(struct vel_transfer_record *record)
{
    *record = (struct vel_transfer_record){0};
    vel_buf_init(&record->state);
    vel_vec_init(&record->files, sizeof(struct vel_transfer_file));
}

void vel_transfer_record_fini(struct vel_transfer_record *record)
{
    vel_transfer_id_fini(&record->id);
    free(record->service);
    free(record->store);
    vel_buf_fini(&record->state);
    for (size_t i = 0; i < record->files.n; i++)
        file_fini(vel_vec_at(&record->files, i));
    vel_vec_fini(&record->files);
}

/* --- its name ---------------------------------------------------------------------
 */

char *vel_transfer_name(const struct vel_transfer_id *id)
{
    struct vel_buf name;

    vel_buf_init(&name);
    vel_buf_printf(&name, "%s.%" PRId64 ".%d.%d", id->node, id->dataset, id->rank,
                   id->attempt);
    return vel_buf_take(&name, NULL);
}

/* The number behind the last dot of `name`, of which `len` bytes count; the dot is
 * where the rest ends. */
static bool take_number(const char *name, size_t *len, int64_t most, int64_t *ret)
{
    size_t dot = *len;
    char digits[32];

    while (dot > 0 && name[dot - 1] != '.')
        dot--;
    if (dot == 0 || *len - dot >= sizeof digits)
        return false;
    memcpy(digits, name + dot, *len - dot);
    digits[*len - dot] = 0;
    if (!vel_number_behind(digits, "", ret) || *ret > most)
        return false;
    *len = dot - 1;
    return true;
}

bool vel_transfer_name_parse(const char *name, struct vel_transfer_id *ret_id)
{
    size_t len = strlen(name);
    int64_t attempt, rank, dataset;

    if (!take_number(name, &len, INT32_MAX, &attempt) ||
        !take_number(name, &len, VEL_RANKS_MAX, &rank) ||
        !take_number(name, &len, INT64_MAX, &dataset) || len == 0 || dataset < 1)
        return false;
    *ret_id = (struct vel_transfer_id){.node = strndup(name, len),
                                       .dataset = dataset,
                                       .rank = (int)rank,
                                       .attempt = (int)attempt};
    return ret_id->node;
}

static char *path_of(const char *dir, const struct vel_transfer_id *id)
{
    char *all = vel_transfers_dir(dir), *name = vel_transfer_name(id);
    char *path = all && name ? vel_path_join(all, name) : NULL;

    free(name);
    free(all);
    return path;
}

/* --- its body ---------------------------------------------------------------------
 */

static struct vel_node *file_to_node(const struct vel_transfer_file *file)
{
    struct vel_node *node = vel_node_object();

    if (node && (vel_node_set_name(node, "from", file->from) ||
                 vel_node_set_name(node, "name", file->name) ||
                 vel_node_set_int(node, "size", (int64_t)file->size))) {
        vel_node_destroy(node);
        return NULL;
    }
    return node;
}

static int put_files(struct vel_node *body, const struct vel_vec *files)
{
    struct vel_node *list = vel_node_list();
    const struct vel_transfer_file *f = files->items;
    int rc = list ? 0 : VEL_ENOMEM;

    for (size_t i = 0; rc == 0 && i < files->n; i++)
        rc = vel_node_append(list, file_to_node(&f[i]));
    if (rc == 0)
        return vel_node_adopt(body, "files", list);
    vel_node_destroy(list);
    return rc;
}

static int put(struct vel_node *body, const struct vel_transfer_record *r)
{
    return vel_node_set_name(body, "node", r->id.node) ||
           vel_node_set_int(body, "dataset", r->id.dataset) ||
           vel_node_set_int(body, "rank", r->id.rank) ||
           vel_node_set_int(body, "attempt", r->id.attempt) ||
           (r->owner && vel_node_set_int(body, "owner", r->owner)) ||
           vel_node_set_name(body, "service", r->service) ||
           vel_node_set_name(body, "store", r->store) ||
           (r->has_state &&
            vel_node_set_bytes(body, "state", r->state.data, r->state.len)) ||
           put_files(body, &r->files);
}

static bool is_path(const char *path)
{
    char *plain = path[0] == '/' ? vel_path_absolute("/", path) : NULL;
    bool is_it = plain && strcmp(plain, path) == 0;

    free(plain);
    return is_it;
}

static int get_file(const struct vel_node *node, struct vel_transfer_file *f,
                    struct vel_err *err)
{
    int64_t size;
    int rc = vel_node_get_name(node, "from", &f->from, err);

    if (rc == 0)
        rc = vel_node_get_name(node, "name", &f->name, err);
    if (rc == 0)
        rc = vel_node_get_int(node, "size", 0, INT64_MAX / 2, &size, err);
    if (rc < 0)
        return rc;
    f->size = (uint64_t)size;
    if (!is_path(f->from))
        return vel_fail(err, VEL_ECORRUPT, "'%s' is no whole path of a file", f->from);
    if (!vel_path_is_inner(f->name))
        return vel_fail(err, VEL_ECORRUPT, "'%s' is no name of a cached file", f->name);
    return 0;
}

static int get_files(const struct vel_node *body, struct vel_vec *files,
                     struct vel_err *err)
{
    const struct vel_node *list, *node;
    int rc = vel_node_get_list(body, "files", &list, err);

    for (size_t i = 0; rc == 0 && i < vel_node_count(list); i++) {
        struct vel_transfer_file file = {0};

        rc = vel_node_object_at(list, i, &node, err);
        if (rc == 0)
            rc = get_file(node, &file, err);
        if (rc == 0 && !vel_vec_push(files, &file))
            rc = vel_out_of_memory(err, "a transfer");
        if (rc < 0)
            file_fini(&file);
    }
    return rc;
}

static int get(const struct vel_node *body, struct vel_transfer_record *r,
               struct vel_err *err)
{
    int64_t rank, attempt;
    int rc;

    if ((rc = vel_node_get_name(body, "node", &r->id.node, err)) < 0 ||
        (rc = vel_node_get_int(body, "dataset", 1, INT64_MAX, &r->id.dataset, err)) <
            0 ||
        (rc = vel_node_get_int(body, "rank", 0, VEL_RANKS_MAX, &rank, err)) < 0 ||
        (rc = vel_node_get_int(body, "attempt", 0, INT32_MAX, &attempt, err)) < 0 ||
        (vel_node_has(body, "owner") &&
         (rc = vel_node_get_int(body, "owner", 1, INT64_MAX, &r->owner, err)) < 0) ||
        (rc = vel_node_get_name(body, "service", &r->service, err)) < 0 ||
        (rc = vel_node_get_name(body, "store", &r->store, err)) < 0 ||
        (rc = get_files(body, &r->files, err)) < 0)
        return rc;
    r->id.rank = (int)rank;
    r->id.attempt = (int)attempt;
    r->has_state = vel_node_has(body, "state");
    return r->has_state ? vel_node_get_all_bytes(body, "state", &r->state, err) : 0;
}

/* --- the record -------------------------------------------------------------------
 */

int vel_transfer_record_encode(const struct vel_transfer_record *record,
                               struct vel_buf *ret, struct vel_err *err)
{
    struct vel_node *body = vel_node_object();
    int rc = !body || put(body, record)
                 ? vel_out_of_memory(err, "a transfer")
                 : vel_record_encode(TYPE, FORMAT, body, ret, err);

    vel_node_destroy(body);
    return rc;
}

/* Takes the body. */
static int from_body(struct vel_node *body, struct vel_transfer_record *ret,
                     struct vel_err *err)
{
    struct vel_transfer_record record;
    int rc;

    vel_transfer_record_init(&record);
    rc = get(body, &record, err);
    vel_node_destroy(body);
    if (rc < 0)
        vel_transfer_record_fini(&record);
    else
        *ret = record;
    return rc;
}

int vel_transfer_record_decode(const void *bytes, size_t len,
                               struct vel_transfer_record *ret, struct vel_err *err)
{
    struct vel_node *body = NULL;
    int version, rc;

    rc = vel_record_decode(bytes, len, TYPE, FORMAT, &version, &body, err);
    return rc < 0 ? rc : from_body(body, ret, err);
}

int vel_transfer_record_save(struct vel_fs *fs, const char *dir,
                             const struct vel_transfer_record *record,
                             struct vel_err *err)
{
    struct vel_node *body = vel_node_object();
    char *all = vel_transfers_dir(dir), *path = path_of(dir, &record->id);
    int rc = !body || !all || !path || put(body, record)
                 ? vel_out_of_memory(err, "a transfer")
                 : vel_fs_make_dirs(fs, all, 0777, err);

    if (rc == 0)
        rc = vel_record_save(fs, path, TYPE, FORMAT, body, err);
    free(path);
    free(all);
    vel_node_destroy(body);
    return rc;
}

static bool is_same(const struct vel_transfer_id *a, const struct vel_transfer_id *b)
{
    return strcmp(a->node, b->node) == 0 && a->dataset == b->dataset &&
           a->rank == b->rank && a->attempt == b->attempt;
}

int vel_transfer_record_load(struct vel_fs *fs, const char *dir,
                             const struct vel_transfer_id *id,
                             struct vel_transfer_record *ret, struct vel_err *err)
{
    struct vel_transfer_record record;
    struct vel_node *body = NULL;
    char *path = path_of(dir, id);
    int version, rc;

    if (!path)
        return vel_out_of_memory(err, "a transfer");
    vel_transfer_record_init(&record);
    rc = vel_record_load(fs, path, TYPE, FORMAT, &version, &body, err);
    if (rc == 0) {
        rc = from_body(body, &record, err);
        if (rc == 0 && !is_same(&record.id, id))
            rc = vel_fail(err, VEL_ECORRUPT, "it is the record of another transfer");
        if (rc < 0)
            rc = vel_wrap(err, rc, "%s", path);
    }
    free(path);
    if (rc < 0)
        vel_transfer_record_fini(&record);
    else
        *ret = record;
    return rc;
}

int vel_transfer_record_remove(struct vel_fs *fs, const char *dir,
                               const struct vel_transfer_id *id, struct vel_err *err)
{
    char *path = path_of(dir, id);
    int rc = path ? vel_fs_unlink(fs, path, err) : vel_out_of_memory(err, "a transfer");

    free(path);
    return rc;
}

/* Takes the name. */
static int sort_out(struct vel_fs *fs, const char *all, char *name,
                    struct vel_vec *names, struct vel_err *err)
{
    if (vel_fs_is_temporary(name)) {
        char *path = vel_path_join(all, name);

        if (path)
            vel_fs_unlink(fs, path, NULL);
        free(path);
        free(name);
        return 0;
    }
    if (vel_vec_push(names, &name))
        return 0;
    free(name);
    return vel_out_of_memory(err, "transfers");
}

int vel_transfer_list(struct vel_fs *fs, const char *dir, struct vel_vec *ret_names,
                      struct vel_err *err)
{
    struct vel_vec found = {0}, names;
    struct vel_err why = {0};
    char *all = vel_transfers_dir(dir);
    int rc =
        all ? vel_fs_list(fs, all, &found, &why) : vel_out_of_memory(&why, "transfers");

    vel_vec_init(&names, sizeof(char *));
    if (rc == VEL_ENOENT)
        rc = 0;
    else if (rc < 0)
        vel_fail(err, (enum vel_status)rc, "%s", why.text);
    for (size_t i = 0; rc == 0 && i < found.n; i++) {
        char **name = vel_vec_at(&found, i);

        rc = sort_out(fs, all, *name, &names, err);
        *name = NULL;
    }
    vel_fs_names_fini(&found);
    free(all);
    if (rc < 0)
        vel_fs_names_fini(&names);
    else
        *ret_names = names;
    return rc;
}
