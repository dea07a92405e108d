/* SPDX-License-Identifier: BSD-3-Clause */
/* The files of a rank in new.N: its directory, and the record that says which count. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "meta/paths.h"
#include "record/record.h"
#include "view/part_new_in.h"
#include "view/point.h"

enum { FORMAT = 1 };

void vel_new_files_fini(struct vel_vec *files)
{
    for (size_t i = 0; i < files->n; i++)
        free(((struct vel_new_file *)vel_vec_at(files, i))->name);
    vel_vec_fini(files);
}

static int path_in(const char *dir, const char *what, int64_t rank, const char *name,
                   char **ret_path, struct vel_err *err)
{
    char *of_rank;

    if (!vel_path_is_inner(name))
        return vel_fail(err, VEL_EINVAL, "'%s' is no name of a file in a cache", name);
    of_rank = vel_part_new_numbered(dir, what, rank);
    *ret_path = of_rank ? vel_path_join(of_rank, name) : NULL;
    free(of_rank);
    return *ret_path ? 0 : vel_out_of_memory(err, name);
}

int vel_part_new_path(const char *dir, int64_t rank, const char *name, char **ret_path,
                      struct vel_err *err)
{
    return path_in(dir, "rank", rank, name, ret_path, err);
}

static int get_file(const struct vel_node *list, size_t i, struct vel_new_file *ret,
                    struct vel_err *err)
{
    const struct vel_node *item;
    int rc = vel_node_object_at(list, i, &item, err);

    if (rc == 0)
        rc = vel_node_get_int(item, "size", 0, INT64_MAX, &ret->size, err);
    if (rc == 0)
        rc = vel_node_get_int(item, "order", 0, INT64_MAX, &ret->order, err);
    if (rc == 0)
        rc = vel_node_get_name(item, "name", &ret->name, err);
    if (rc == 0 && !vel_path_is_inner(ret->name))
        rc = vel_fail(err, VEL_ECORRUPT, "'%s' is no name of a file in a cache",
                      ret->name);
    return rc;
}

static int get_files(const struct vel_node *body, struct vel_vec *ret,
                     struct vel_err *err)
{
    const struct vel_node *list;
    int rc = vel_node_get_list(body, "files", &list, err);

    for (size_t i = 0; rc == 0 && i < vel_node_count(list); i++) {
        struct vel_new_file file = {0};

        rc = get_file(list, i, &file, err);
        if (rc == 0 && vel_vec_push(ret, &file))
            continue;
        rc = rc < 0 ? rc : vel_out_of_memory(err, "closed files");
        free(file.name);
    }
    return rc;
}

int vel_part_new_files(struct vel_fs *fs, const char *dir, int64_t rank,
                       struct vel_vec *ret, struct vel_err *err)
{
    struct vel_node *body = NULL;
    char *path = vel_part_new_numbered(dir, "closed", rank);
    struct vel_err why = {0};
    struct vel_vec files;
    int version,
        rc = path ? vel_record_load(fs, path, "closed", FORMAT, &version, &body, &why)
                  : vel_out_of_memory(&why, dir);

    vel_vec_init(&files, sizeof(struct vel_new_file));
    if (rc == 0)
        rc = get_files(body, &files, &why);
    vel_node_destroy(body);
    free(path);
    if (rc == 0 || rc == VEL_ENOENT) {
        *ret = files;
        return 0;
    }
    vel_new_files_fini(&files);
    return vel_fail(err, (enum vel_status)rc, "%s", why.text);
}

static int save_files(struct vel_fs *fs, const char *dir, int64_t rank,
                      const struct vel_vec *files, struct vel_err *err)
{
    struct vel_node *body = vel_node_object(), *list = vel_node_list();
    char *path = vel_part_new_numbered(dir, "closed", rank);
    int rc = body && list && path ? 0 : VEL_ENOMEM;

    for (size_t i = 0; rc == 0 && i < files->n; i++) {
        const struct vel_new_file *file = vel_vec_at(files, i);
        struct vel_node *item = vel_node_object();

        if (item && (vel_node_set_name(item, "name", file->name) ||
                     vel_node_set_int(item, "size", file->size) ||
                     vel_node_set_int(item, "order", file->order))) {
            vel_node_destroy(item);
            item = NULL;
        }
        rc = vel_node_append(list, item);
    }
    if (rc == 0) {
        rc = vel_node_adopt(body, "files", list);
        list = NULL;
    }
    rc = rc < 0 ? vel_out_of_memory(err, dir)
                : vel_record_save(fs, path, "closed", FORMAT, body, err);
    vel_node_destroy(list);
    vel_node_destroy(body);
    free(path);
    return rc;
}

static size_t find(const struct vel_vec *files, const char *name)
{
    size_t i = 0;

    while (i < files->n &&
           strcmp(((struct vel_new_file *)vel_vec_at(files, i))->name, name) != 0)
        i++;
    return i;
}

static int set_file(struct vel_vec *files, const struct vel_new_file *file,
                    struct vel_err *err)
{
    size_t at = find(files, file->name);
    struct vel_new_file copy = *file;

    if (at < files->n) {
        struct vel_new_file *known = vel_vec_at(files, at);

        known->size = file->size;
        known->order = file->order;
        return 0;
    }
    copy.name = strdup(file->name);
    if (copy.name && vel_vec_push(files, &copy))
        return 0;
    free(copy.name);
    return vel_out_of_memory(err, file->name);
}

int vel_part_new_close(struct vel_fs *fs, const char *dir, int64_t rank,
                       const struct vel_new_file *file, struct vel_err *err)
{
    struct vel_vec files;
    int rc = vel_part_new_files(fs, dir, rank, &files, err);

    if (rc < 0)
        return rc;
    rc = set_file(&files, file, err);
    if (rc == 0)
        rc = save_files(fs, dir, rank, &files, err);
    vel_new_files_fini(&files);
    return rc;
}

/* --- given --- */

static int make_above(struct vel_fs *fs, const char *path, struct vel_err *err)
{
    char *above = vel_path_dir(path);
    int rc =
        above ? vel_fs_make_dirs(fs, above, 0700, err) : vel_out_of_memory(err, path);

    free(above);
    return rc;
}

bool vel_part_new_is_given(struct vel_fs *fs, const char *dir, int64_t rank,
                           const char *name)
{
    char *path = NULL;
    bool is =
        path_in(dir, "given", rank, name, &path, NULL) == 0 && vel_fs_exists(fs, path);

    free(path);
    return is;
}

/* No line of closed.R: that is the worker's who is at the rank's files. */
int vel_part_new_give(struct vel_fs *fs, const char *dir, int64_t rank,
                      const char *name, struct vel_err *err)
{
    char *path = NULL;
    int rc = path_in(dir, "given", rank, name, &path, err);

    if (rc == 0)
        rc = make_above(fs, path, err);
    if (rc == 0)
        rc = vel_fs_replace(fs, path, "", 0, 0600, err);
    free(path);
    return rc;
}

static int take_back(struct vel_fs *fs, const char *dir, int64_t rank, const char *name,
                     struct vel_err *err)
{
    char *path = NULL;
    int rc = path_in(dir, "given", rank, name, &path, err);

    if (rc == 0)
        rc = vel_fs_unlink(fs, path, err);
    free(path);
    return rc;
}

/* --- open, given up --- */

int vel_part_new_open(struct vel_fs *fs, const char *dir, int64_t rank,
                      const char *name, char **ret_path, struct vel_err *err)
{
    const struct vel_new_file file = {.name = (char *)(uintptr_t)name};
    char *path = NULL;
    int rc = vel_part_new_path(dir, rank, name, &path, err);

    if (rc == 0)
        rc = make_above(fs, path, err);
    if (rc == 0)
        rc = vel_point_remove(fs, dir, rank, name, err);
    if (rc == 0)
        rc = take_back(fs, dir, rank, name, err);
    if (rc == 0)
        rc = vel_part_new_close(fs, dir, rank, &file, err);
    if (rc == 0)
        *ret_path = path;
    else
        free(path);
    return rc;
}

int vel_part_new_give_up(struct vel_fs *fs, const char *dir, int64_t rank,
                         const char *name, struct vel_err *err)
{
    struct vel_vec files;
    char *path = NULL;
    size_t at;
    int rc = vel_part_new_files(fs, dir, rank, &files, err);

    if (rc < 0)
        return rc;
    rc = vel_part_new_path(dir, rank, name, &path, err);
    at = find(&files, name);
    if (rc == 0 && at < files.n) {
        free(((struct vel_new_file *)vel_vec_at(&files, at))->name);
        vel_vec_remove(&files, at);
        rc = save_files(fs, dir, rank, &files, err);
    }
    if (rc == 0)
        rc = vel_fs_unlink(fs, path, err);
    if (rc == 0)
        rc = take_back(fs, dir, rank, name, err);
    free(path);
    vel_new_files_fini(&files);
    return rc;
}

/* --- going --- */

static int remove_record(struct vel_fs *fs, const char *dir, const char *what,
                         int64_t rank, struct vel_err *err)
{
    char *path = vel_part_new_numbered(dir, what, rank);
    int rc = path ? vel_fs_unlink(fs, path, err) : vel_out_of_memory(err, dir);

    free(path);
    return rc;
}

/* When that cannot be seen: yes. */
static bool has_files(struct vel_fs *fs, const char *dir)
{
    struct vel_vec names;
    int64_t rank;
    bool has = false;
    int rc;

    vel_vec_init(&names, sizeof(char *));
    rc = vel_fs_list(fs, dir, &names, NULL);
    if (rc < 0)
        return rc != VEL_ENOENT;
    for (size_t i = 0; !has && i < names.n; i++)
        has = vel_number_behind(*(char **)vel_vec_at(&names, i), "closed.", &rank);
    vel_fs_names_fini(&names);
    return has;
}

static int unlink_file(struct vel_fs *fs, const char *dir, int64_t rank,
                       const char *name, struct vel_err *err)
{
    char *path = NULL;
    int rc = vel_part_new_path(dir, rank, name, &path, err);

    if (rc == 0)
        rc = vel_fs_unlink(fs, path, err);
    free(path);
    return rc;
}

int vel_part_new_leave(struct vel_fs *fs, const char *dir, int64_t rank, int64_t upto,
                       struct vel_err *err)
{
    struct vel_vec files;
    int rc = vel_part_new_files(fs, dir, rank, &files, err);

    if (rc < 0)
        return rc;
    for (size_t i = files.n; rc == 0 && i-- > 0;) {
        struct vel_new_file *file = vel_vec_at(&files, i);

        if (file->order == 0 || file->order > upto)
            continue;
        rc = unlink_file(fs, dir, rank, file->name, err);
        if (rc == 0)
            rc = take_back(fs, dir, rank, file->name, err);
        free(file->name);
        vel_vec_remove(&files, i);
    }
    if (rc == 0 && files.n > 0)
        rc = save_files(fs, dir, rank, &files, err);
    else if (rc == 0)
        rc = remove_record(fs, dir, "closed", rank, err);
    if (rc == 0 && files.n == 0)
        rc = remove_record(fs, dir, "anchors", rank, err);
    vel_new_files_fini(&files);
    return rc == 0 && !has_files(fs, dir) ? vel_part_new_remove(fs, dir, err) : rc;
}
