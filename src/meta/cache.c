/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/log.h"
#include "base/path.h"
#include "meta/cache.h"
#include "meta/dataset.h"
#include "meta/paths.h"
#include "sys/user_dir.h"

char *vel_cache_home(struct vel_fs *fs, const char *store, const char *user,
                     const char *prefix_id)
{
    char *dir = vel_user_dir(fs, store, user);
    char *home = dir ? vel_path_join(dir, prefix_id) : NULL;

    free(dir);
    return home;
}

/* Whoever may write in the directory above could put another one in the place of ours.
 */
static int check_above(struct vel_fs *fs, const char *dir, struct vel_err *err)
{
    char *above = vel_path_dir(dir);
    struct stat st;
    int rc = above ? vel_fs_lstat(fs, above, &st, err)
                   : vel_out_of_memory(err, "a directory of the cache");

    /* as below /tmp, where everybody can only exchange what is his */
    if (rc == 0 && !(S_ISDIR(st.st_mode) && st.st_mode & S_ISVTX && st.st_uid == 0))
        rc = vel_fs_check_private_dir(fs, above, err);
    free(above);
    return rc;
}

static int check_dir(struct vel_fs *fs, const char *dir, struct vel_err *err)
{
    int rc = vel_fs_check_private_dir(fs, dir, err);

    return rc < 0 ? rc : check_above(fs, dir, err);
}

int vel_cache_make_dir(struct vel_fs *fs, const char *dir, struct vel_err *err)
{
    int rc = vel_fs_make_dirs(fs, dir, 0700, err);

    return rc < 0 ? rc : check_dir(fs, dir, err);
}

int vel_cache_make_home(struct vel_fs *fs, const char *store, const char *user,
                        const char *prefix_id, char **ret_home, struct vel_err *err)
{
    char *dir = NULL, *home = NULL;
    int rc = vel_user_dir_make(fs, store, user, &dir, err);

    if (rc == 0) {
        home = vel_path_join(dir, prefix_id);
        rc = home ? vel_fs_make_own_dir(fs, home, 0700, err)
                  : vel_out_of_memory(err, "a cache");
        if (rc == 0)
            rc = check_dir(fs, home, err);
    }
    free(dir);
    if (rc < 0)
        free(home);
    else
        *ret_home = home;
    return rc;
}

void vel_parts_fini(struct vel_vec *parts)
{
    struct vel_part *p = parts->items;

    for (size_t i = 0; i < parts->n; i++)
        free(p[i].level);
    vel_vec_fini(parts);
}

/* Names in a directory that vanishes under our eyes are none. */
static int list(struct vel_fs *fs, const char *dir, struct vel_vec *ret,
                struct vel_err *err)
{
    struct vel_err why = {0};
    int rc = vel_fs_list(fs, dir, ret, &why);

    if (rc == VEL_ENOENT) {
        vel_vec_init(ret, sizeof(char *));
        return 0;
    }
    if (rc < 0)
        vel_fail(err, (enum vel_status)rc, "%s", why.text);
    return rc;
}

static int scan_dataset(struct vel_fs *fs, const char *level, int64_t id,
                        struct vel_vec *ret, struct vel_err *err)
{
    char *dir = vel_cache_dataset_dir(level, id);
    struct vel_vec names = {0};
    bool is_aside = false;
    int rc = dir ? list(fs, dir, &names, err) : vel_out_of_memory(err, "the cache");

    for (size_t i = 0; rc == 0 && i < names.n; i++) {
        const char *name = ((char **)names.items)[i];
        int64_t rank;
        struct vel_part part = {.id = id};

        is_aside |=
            strcmp(name, "aside") == 0; /* before all others, which are sorted */
        if (!vel_number_behind(name, "rank.", &rank) || rank > VEL_RANKS_MAX)
            continue;
        part.rank = (int)rank;
        part.is_aside = is_aside;
        part.level = strdup(level);
        if (!part.level || !vel_vec_push(ret, &part)) {
            free(part.level);
            rc = vel_out_of_memory(err, "the cache");
        }
    }
    vel_fs_names_fini(&names);
    free(dir);
    return rc;
}

static int scan_level(struct vel_fs *fs, const char *level, struct vel_vec *ret,
                      struct vel_err *err)
{
    struct vel_vec names = {0};
    int64_t id;
    int rc = list(fs, level, &names, err);

    for (size_t i = 0; rc == 0 && i < names.n; i++)
        if (vel_number_behind(((char **)names.items)[i], "dataset.", &id) && id > 0)
            rc = scan_dataset(fs, level, id, ret, err);
    vel_fs_names_fini(&names);
    return rc;
}

int vel_cache_scan(struct vel_fs *fs, const char *home, struct vel_vec *ret,
                   struct vel_err *err)
{
    struct vel_vec names = {0};
    struct vel_err why = {0};
    int64_t index;
    int rc = vel_fs_check_private_dir(fs, home, &why);

    if (rc < 0) {
        if (rc != VEL_ENOENT)
            vel_log(VEL_LOG_WARN, "cache left alone: %s", why.text);
        return 0;
    }
    rc = list(fs, home, &names, err);
    for (size_t i = 0; rc == 0 && i < names.n; i++) {
        const char *name = ((char **)names.items)[i];
        char *level;

        if (!vel_number_behind(name, "index.", &index))
            continue;
        level = vel_path_join(home, name);
        rc = level ? scan_level(fs, level, ret, err)
                   : vel_out_of_memory(err, "the cache");
        free(level);
    }
    vel_fs_names_fini(&names);
    return rc;
}

static bool is_redundancy(const char *name)
{
    size_t len = strlen(name);

    return len >= 5 && strcmp(name + len - 5, ".h5vr") == 0;
}

/* A file of a program. One that is taken just now has two names for a while. */
struct counted {
    dev_t dev;
    ino_t ino;
    uint64_t bytes;
};

static int compare_counted(const void *a, const void *b)
{
    const struct counted *x = a, *y = b;

    if (x->dev != y->dev)
        return x->dev < y->dev ? -1 : 1;
    return x->ino < y->ino ? -1 : x->ino > y->ino;
}

static int add_counted(void *arg, enum vel_fs_visit what, const char *below,
                       const struct stat *st, struct vel_err *err)
{
    const struct counted file = {st->st_dev, st->st_ino, (uint64_t)st->st_size};

    if (what != VEL_FS_FILE || !strstr(below, "/rank.") || is_redundancy(below))
        return 0;
    return vel_vec_push(arg, &file) ? 0 : vel_out_of_memory(err, "the cache");
}

/* Of all datasets, or of all else. */
static int add_below(struct vel_fs *fs, const char *home, bool of_datasets,
                     struct vel_vec *files, struct vel_err *err)
{
    struct vel_vec names = {0};
    int64_t index;
    int rc = vel_fs_list(fs, home, &names, err);

    for (size_t i = 0; rc == 0 && i < names.n; i++) {
        const char *name = ((char **)names.items)[i];
        char *path = vel_path_join(home, name);

        if (!path)
            rc = vel_out_of_memory(err, "the cache");
        else if (vel_number_behind(name, "index.", &index) == of_datasets)
            rc = vel_fs_walk(fs, path, add_counted, files, err);
        free(path);
        rc = rc == VEL_ENOENT ? 0 : rc; /* gone since it was listed */
    }
    vel_fs_names_fini(&names);
    return rc == VEL_ENOENT ? 0 : rc; /* a home that is not there holds none */
}

/* Who takes a file makes its name in a dataset before that in its batch goes: what is
 * in no batch any more is in a dataset that is listed afterwards. */
int vel_cache_bytes(struct vel_fs *fs, const char *home, uint64_t *ret,
                    struct vel_err *err)
{
    struct vel_vec files;
    int rc;

    *ret = 0;
    vel_vec_init(&files, sizeof(struct counted));
    rc = add_below(fs, home, false, &files, err);
    if (rc == 0)
        rc = add_below(fs, home, true, &files, err);
    vel_vec_sort(&files, compare_counted);
    for (size_t i = 0; i < files.n; i++) {
        const struct counted *file = vel_vec_at(&files, i);

        if (i == 0 || compare_counted(file - 1, file) != 0)
            *ret += file->bytes;
    }
    vel_vec_fini(&files);
    return rc;
}

static bool is_half_done(const char *name)
{
    size_t len = strlen(name), suffix = strlen(VEL_CACHE_NEW);

    return strncmp(name, "rank.", 5) == 0 && len > suffix &&
           strcmp(name + len - suffix, VEL_CACHE_NEW) == 0;
}

/* The directory of a dataset goes when nothing of any rank is left in it but what a
 * crash left half written. */
static void remove_empty(struct vel_fs *fs, const char *level, int64_t id)
{
    char *dir = vel_cache_dataset_dir(level, id);
    struct vel_vec names = {0};
    bool is_empty = dir && vel_fs_list(fs, dir, &names, NULL) == 0;

    for (size_t i = 0; is_empty && i < names.n; i++) {
        const char *name = ((char **)names.items)[i];

        is_empty = strcmp(name, "aside") == 0 || vel_fs_is_temporary(name);
    }
    for (size_t i = 0; is_empty && i < names.n; i++) {
        char *path = vel_path_join(dir, ((char **)names.items)[i]);

        if (path)
            vel_fs_remove_tree(fs, path, NULL);
        free(path);
    }
    if (is_empty)
        fs->ops->rmdir(fs, dir);
    vel_fs_names_fini(&names);
    free(dir);
}

static void sweep_dataset(struct vel_fs *fs, const char *level, int64_t id)
{
    char *dir = vel_cache_dataset_dir(level, id);
    struct vel_vec names = {0};

    if (dir && vel_fs_list(fs, dir, &names, NULL) == 0) {
        for (size_t i = 0; i < names.n; i++) {
            const char *name = ((char **)names.items)[i];
            char *path = is_half_done(name) ? vel_path_join(dir, name) : NULL;

            if (path)
                vel_fs_remove_tree(fs, path, NULL);
            free(path);
        }
        vel_fs_names_fini(&names);
        remove_empty(fs, level, id);
    }
    free(dir);
}

static void sweep_level(struct vel_fs *fs, const char *level,
                        const struct vel_cache_others *others)
{
    struct vel_vec names = {0};
    int64_t id;

    if (vel_fs_list(fs, level, &names, NULL) < 0)
        return;
    for (size_t i = 0; i < names.n; i++)
        if (vel_number_behind(((char **)names.items)[i], "dataset.", &id) && id > 0 &&
            !(others->is_anothers && others->is_anothers(others->arg, id)))
            sweep_dataset(fs, level, id);
    vel_fs_names_fini(&names);
}

void vel_cache_sweep(struct vel_fs *fs, const char *home,
                     const struct vel_cache_others *others)
{
    struct vel_vec names = {0};
    int64_t index;

    if (vel_fs_check_private_dir(fs, home, NULL) < 0 ||
        vel_fs_list(fs, home, &names, NULL) < 0)
        return;
    for (size_t i = 0; i < names.n; i++) {
        const char *name = ((char **)names.items)[i];
        char *level = vel_number_behind(name, "index.", &index)
                          ? vel_path_join(home, name)
                          : NULL;

        if (level)
            sweep_level(fs, level, others);
        free(level);
    }
    vel_fs_names_fini(&names);
}

int vel_cache_remove_part(struct vel_fs *fs, const char *level, int64_t id, int rank,
                          struct vel_err *err)
{
    char *dir = vel_cache_rank_dir(level, id, rank);
    struct vel_vec names = {0};
    int rc = dir ? list(fs, dir, &names, err)
                 : vel_out_of_memory(err, "removing from the cache");

    for (size_t i = 0; rc == 0 && i < names.n; i++) {
        const char *name = ((char **)names.items)[i];
        char *path;

        if (!is_redundancy(name))
            continue;
        path = vel_path_join(dir, name);
        rc = path ? vel_fs_unlink(fs, path, err)
                  : vel_out_of_memory(err, "removing from the cache");
        free(path);
    }
    vel_fs_names_fini(&names);
    if (rc == 0)
        rc = vel_fs_remove_tree(fs, dir, err);
    if (rc == 0)
        remove_empty(fs, level, id);
    free(dir);
    return rc;
}

int vel_cache_set_aside(struct vel_fs *fs, const char *level, int64_t id, bool aside,
                        struct vel_err *err)
{
    char *path = vel_cache_aside_path(level, id);
    int rc, fd;

    if (!path)
        return vel_out_of_memory(err, "setting a dataset aside");
    if (!aside) {
        /* what is not there needs no cache that can be written */
        rc = vel_fs_exists(fs, path) ? vel_fs_unlink(fs, path, err) : 0;
    } else {
        rc = vel_fs_open(fs, path, O_WRONLY | O_CREAT | O_NOFOLLOW, 0600, &fd, err);
        if (rc == 0)
            rc = vel_fs_close(fs, fd, path, err);
    }
    free(path);
    return rc;
}
