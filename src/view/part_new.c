/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/path.h"
#include "ident/launchid.h"
#include "meta/cache.h"
#include "meta/dataset.h"
#include "meta/paths.h"
#include "record/record.h"
#include "sys/entropy.h"
#include "view/part_new_in.h"

enum { FORMAT = 1, ROUNDS = 20 };

/* --- memory --- */

void vel_new_key_fini(struct vel_new_key *key)
{
    free(key->launch);
    free(key->template);
    free(key->step);
    *key = (struct vel_new_key){0};
}

void vel_part_new_fini(struct vel_part_new *part)
{
    for (size_t i = 0; i < part->ranks.n; i++)
        vel_new_files_fini(
            &((struct vel_new_rank *)vel_vec_at(&part->ranks, i))->files);
    vel_vec_fini(&part->ranks);
    vel_new_key_fini(&part->key);
    free(part->dir);
    *part = (struct vel_part_new){0};
}

void vel_parts_new_fini(struct vel_vec *parts)
{
    for (size_t i = 0; i < parts->n; i++)
        vel_part_new_fini(vel_vec_at(parts, i));
    vel_vec_fini(parts);
}

/* --- paths --- */

char *vel_part_new_numbered(const char *dir, const char *what, int64_t number)
{
    struct vel_buf path;

    vel_buf_init(&path);
    vel_buf_printf(&path, "%s/%s.%" PRId64, dir, what, number);
    return vel_buf_take(&path, NULL);
}

char *vel_part_new_dir(const char *level, int64_t number)
{
    return vel_part_new_numbered(level, "new", number);
}

/* --- the key --- */

static int save_key(struct vel_fs *fs, const char *dir, const struct vel_new_key *key,
                    struct vel_err *err)
{
    struct vel_node *body = vel_node_object();
    char *path = vel_path_join(dir, "about");
    int rc = !body || !path || vel_node_set_text(body, "launch", key->launch) ||
                     vel_node_set_name(body, "template", key->template) ||
                     vel_node_set_text(body, "step", key->step) ||
                     vel_node_set_int(body, "generation", key->generation) ||
                     vel_node_set_bool(body, "alone", key->is_alone) ||
                     vel_node_set_bool(body, "late", key->is_late) ||
                     vel_node_set_int(body, "ranks", key->ranks) ||
                     vel_node_set_int(body, "above", key->above)
                 ? vel_out_of_memory(err, dir)
                 : vel_record_save(fs, path, "new", FORMAT, body, err);

    vel_node_destroy(body);
    free(path);
    return rc;
}

static int get_key(const struct vel_node *body, struct vel_new_key *ret,
                   struct vel_err *err)
{
    const char *launch = "", *step = "";
    int rc = vel_node_get_text(body, "launch", &launch, err);

    if (rc == 0 && !vel_launch_is_name(launch))
        rc = vel_fail(err, VEL_ECORRUPT, "'%s' is no name of a launch", launch);
    if (rc == 0)
        rc = vel_node_get_text(body, "step", &step, err);
    if (rc == 0)
        rc = vel_node_get_name(body, "template", &ret->template, err);
    if (rc == 0)
        rc = vel_node_get_int(body, "generation", 0, INT64_MAX, &ret->generation, err);
    if (rc == 0)
        rc = vel_node_get_bool(body, "alone", &ret->is_alone, err);
    if (rc == 0)
        rc = vel_node_get_bool(body, "late", &ret->is_late, err);
    if (rc == 0 && vel_node_has(body, "ranks"))
        rc = vel_node_get_int(body, "ranks", 0, VEL_RANKS_MAX, &ret->ranks, err);
    if (rc == 0 && vel_node_has(body, "above"))
        rc = vel_node_get_int(body, "above", 0, INT64_MAX, &ret->above, err);
    if (rc < 0)
        return rc;
    ret->launch = strdup(launch);
    ret->step = strdup(step);
    return ret->launch && ret->step ? 0 : vel_out_of_memory(err, "a new part");
}

static int load_key(struct vel_fs *fs, const char *dir, struct vel_new_key *ret,
                    struct vel_err *err)
{
    struct vel_new_key key = {0};
    struct vel_node *body = NULL;
    char *path = vel_path_join(dir, "about");
    int version,
        rc = path ? vel_record_load(fs, path, "new", FORMAT, &version, &body, err)
                  : vel_out_of_memory(err, dir);

    if (rc == 0)
        rc = get_key(body, &key, err);
    if (rc == 0)
        *ret = key;
    else
        vel_new_key_fini(&key);
    vel_node_destroy(body);
    free(path);
    return rc;
}

/* A directory of a number that nobody has had. */
static int make_dir(struct vel_fs *fs, const char *level, int64_t *ret_number,
                    char **ret_dir, struct vel_err *err)
{
    uint64_t number;
    int rc = vel_cache_make_dir(fs, level, err), made;

    if (rc == 0)
        rc = vel_entropy(&number, sizeof number, err);
    if (rc < 0)
        return rc;
    *ret_number = (int64_t)(number >> 2) + 1;
    *ret_dir = vel_part_new_dir(level, *ret_number);
    made = *ret_dir ? fs->ops->mkdir(fs, *ret_dir, 0700) : -ENOMEM;
    return made < 0 ? vel_fail_errno(err, -made, "cannot make %s/new.%" PRId64, level,
                                     *ret_number)
                    : 0;
}

/* One attempt. VEL_ENOENT: somebody has found it without a key, and swept it. The next
 * has another name: several launches make and sweep here, and what one gives up must
 * not be what another has just begun. */
static int make(struct vel_fs *fs, const char *level, const struct vel_new_key *key,
                int64_t *ret_number, struct vel_err *err)
{
    char *dir = NULL;
    int rc = make_dir(fs, level, ret_number, &dir, err);

    if (rc == 0) {
        rc = save_key(fs, dir, key, err);
        if (rc == 0)
            rc = vel_fs_sync_parent(fs, dir, err);
        if (rc < 0)
            vel_fs_remove_tree(fs, dir, NULL);
    }
    free(dir);
    return rc;
}

int vel_part_new_make(struct vel_fs *fs, const char *level,
                      const struct vel_new_key *key, int64_t *ret_number,
                      struct vel_err *err)
{
    int64_t number = 0;
    int rc = VEL_ENOENT;

    for (int round = 0; rc == VEL_ENOENT && round < ROUNDS; round++)
        rc = make(fs, level, key, &number, err);
    if (rc == 0)
        *ret_number = number;
    return rc;
}

int vel_part_new_renumber(struct vel_fs *fs, const char *dir,
                          const struct vel_new_key *key, struct vel_err *err)
{
    struct vel_new_key was = {0}, is = *key;
    int rc = load_key(fs, dir, &was, err);

    is.ranks = was.ranks;
    is.above = was.above;
    vel_new_key_fini(&was);
    return rc == 0 ? save_key(fs, dir, &is, err) : rc;
}

/* --- as it is found --- */

/* What is there is no record that we know, and will not be one the next time. */
static bool is_damaged(int rc)
{
    return rc == VEL_ECORRUPT || rc == VEL_EUNSUP;
}

static int add_rank(struct vel_fs *fs, struct vel_part_new *part, int64_t number,
                    struct vel_err *err)
{
    struct vel_new_rank rank = {.rank = number};
    struct vel_err why = {0};
    int rc = vel_part_new_files(fs, part->dir, number, &rank.files, &why);

    if (is_damaged(rc)) {
        vel_log(VEL_LOG_WARN, "what rank %" PRId64 " has written does not count: %s",
                number, why.text);
        return 0;
    }
    if (rc < 0)
        return vel_fail(err, (enum vel_status)rc, "%s", why.text);
    for (size_t i = 0; i < rank.files.n; i++) {
        struct vel_new_file *file = vel_vec_at(&rank.files, i);

        file->is_given = vel_part_new_is_given(fs, part->dir, number, file->name);
    }
    if (vel_vec_push(&part->ranks, &rank))
        return 0;
    vel_new_files_fini(&rank.files);
    return vel_out_of_memory(err, part->dir);
}

static int by_rank(const void *a, const void *b)
{
    const struct vel_new_rank *x = a, *y = b;

    return (x->rank > y->rank) - (x->rank < y->rank);
}

static int load_ranks(struct vel_fs *fs, struct vel_part_new *part, struct vel_err *err)
{
    struct vel_vec names;
    int64_t rank;
    int rc;

    vel_vec_init(&names, sizeof(char *));
    rc = vel_fs_list(fs, part->dir, &names, err);
    for (size_t i = 0; rc == 0 && i < names.n; i++)
        if (vel_number_behind(*(char **)vel_vec_at(&names, i), "closed.", &rank) &&
            rank < VEL_RANKS_MAX)
            rc = add_rank(fs, part, rank, err);
    vel_fs_names_fini(&names);
    if (rc == 0)
        vel_vec_sort(&part->ranks, by_rank);
    return rc;
}

int vel_part_new_load(struct vel_fs *fs, const char *dir, struct vel_part_new *ret,
                      struct vel_err *err)
{
    struct vel_part_new part = {.dir = strdup(dir)};
    int rc = part.dir && vel_number_behind(vel_path_base(dir), "new.", &part.number)
                 ? load_key(fs, dir, &part.key, err)
                 : vel_fail(err, VEL_EINVAL, "%s is no new part", dir);

    vel_vec_init(&part.ranks, sizeof(struct vel_new_rank));
    if (rc == 0)
        rc = load_ranks(fs, &part, err);
    if (rc == 0)
        *ret = part;
    else
        vel_part_new_fini(&part);
    return rc;
}

/* Without a key: who made or removed it did not come to the end, or is just at it. What
 * is no key yet goes, and the directory if nothing else is there; a maker begins again.
 * All other temporaries are of one that has made its key since it was looked for.
 */
static void sweep(struct vel_fs *fs, const char *dir)
{
    struct vel_vec names;

    vel_vec_init(&names, sizeof(char *));
    vel_fs_list(fs, dir, &names, NULL);
    for (size_t i = 0; i < names.n; i++) {
        const char *name = *(char **)vel_vec_at(&names, i);
        bool is_of_key = strncmp(name, ".about.", 7) == 0 && vel_fs_is_temporary(name);
        char *path = is_of_key ? vel_path_join(dir, name) : NULL;

        if (path)
            vel_fs_unlink(fs, path, NULL);
        free(path);
    }
    vel_fs_names_fini(&names);
    fs->ops->rmdir(fs, dir);
}

static int scan_one(struct vel_fs *fs, const char *dir, struct vel_vec *ret,
                    struct vel_err *err)
{
    struct vel_part_new part;
    struct vel_err why = {0};
    struct stat st;
    int rc = vel_fs_lstat(fs, dir, &st, &why);

    if (rc == 0 && !S_ISDIR(st.st_mode)) /* none of ours */
        return 0;
    if (rc == 0)
        rc = vel_part_new_load(fs, dir, &part, &why);
    if (rc == VEL_ENOENT) {
        sweep(fs, dir);
        return 0;
    }
    if (is_damaged(rc)) {
        vel_log(VEL_LOG_WARN, "what is in %s does not count: %s", dir, why.text);
        return 0;
    }
    if (rc < 0)
        return vel_fail(err, (enum vel_status)rc, "%s", why.text);
    if (vel_vec_push(ret, &part))
        return 0;
    vel_part_new_fini(&part);
    return vel_out_of_memory(err, dir);
}

static int scan_level(struct vel_fs *fs, const char *level, struct vel_vec *ret,
                      struct vel_err *err)
{
    struct vel_vec names;
    int64_t number;
    int rc;

    vel_vec_init(&names, sizeof(char *));
    rc = vel_fs_list(fs, level, &names, err);
    for (size_t i = 0; rc == 0 && i < names.n; i++) {
        const char *name = *(char **)vel_vec_at(&names, i);
        char *dir;

        if (!vel_number_behind(name, "new.", &number))
            continue;
        dir = vel_path_join(level, name);
        rc = dir ? scan_one(fs, dir, ret, err) : vel_out_of_memory(err, level);
        free(dir);
    }
    vel_fs_names_fini(&names);
    return rc;
}

int vel_parts_new_scan(struct vel_fs *fs, const char *home, struct vel_vec *ret,
                       struct vel_err *err)
{
    struct vel_vec names;
    int64_t index;
    int rc;

    vel_vec_init(&names, sizeof(char *));
    rc = vel_fs_list(fs, home, &names, err);
    for (size_t i = 0; rc == 0 && i < names.n; i++) {
        const char *name = *(char **)vel_vec_at(&names, i);
        char *level;

        if (!vel_number_behind(name, "index.", &index))
            continue;
        level = vel_path_join(home, name);
        rc = level ? scan_level(fs, level, ret, err) : vel_out_of_memory(err, home);
        free(level);
    }
    vel_fs_names_fini(&names);
    return rc == VEL_ENOENT ? 0 : rc;
}

/* The key goes last: by it the next one finds what a crash has left of this. */
int vel_part_new_remove(struct vel_fs *fs, const char *dir, struct vel_err *err)
{
    struct vel_vec names;
    int rc;

    vel_vec_init(&names, sizeof(char *));
    rc = vel_fs_list(fs, dir, &names, err);
    for (size_t i = 0; rc == 0 && i < names.n; i++) {
        const char *name = *(char **)vel_vec_at(&names, i);
        char *path = strcmp(name, "about") == 0 ? NULL : vel_path_join(dir, name);

        if (path)
            rc = vel_fs_remove_tree(fs, path, err);
        free(path);
    }
    vel_fs_names_fini(&names);
    return rc == 0 ? vel_fs_remove_tree(fs, dir, err) : rc == VEL_ENOENT ? 0 : rc;
}
