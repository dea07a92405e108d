/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of a dataset that are written where they belong, past the cache.
 *
 * A list of them lies among the rank's files in the cache, under a name that no file of
 * a program has there: so it is protected, moved, rebuilt and removed as they are.
 * doc/engine.txt, 7. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/path.h"
#include "engine/session_in.h"
#include "meta/cachename.h"
#include "xfer/stands.h"

/* --- the list --- */

static int load(const struct vel_session *s, const char *dir, struct vel_vec *ret_files,
                struct vel_err *err)
{
    char *path = vel_path_join(dir, VEL_THROUGH_LIST);
    int rc;

    if (!path)
        return vel_out_of_memory(err, "a dataset");
    vel_vec_init(ret_files, sizeof(struct vel_listed));
    rc = vel_fs_exists(s->fs, path) ? vel_filelist_load_at(s->fs, path, ret_files, err)
                                    : 0;
    free(path);
    return rc;
}

int vel_session_save_through(const struct vel_session *s, const char *dir,
                             const struct vel_vec *files, struct vel_err *err)
{
    char *path = vel_path_join(dir, VEL_THROUGH_LIST);
    int rc = path ? vel_filelist_save_at(s->fs, path, files, err)
                  : vel_out_of_memory(err, "a dataset");

    free(path);
    return rc;
}

/* One file that was written, as it is now. */
static int record(const struct vel_session *s, const char *name, struct vel_vec *files,
                  struct vel_err *err)
{
    struct vel_listed file = {.rank = s->world->rank,
                              .name = strdup(name),
                              .container = -1,
                              .is_through = true};
    char *path = NULL;
    int rc = file.name ? vel_cachename_path(s->prefix, name, &path, err)
                       : vel_out_of_memory(err, "a dataset");

    if (rc == 0)
        rc = vel_stands_record(&s->crew, path, &file, err);
    if (rc == 0 && !vel_vec_push(files, &file))
        rc = vel_out_of_memory(err, "a dataset");
    if (rc < 0)
        vel_listed_fini(&file);
    free(path);
    return rc;
}

int vel_session_list_through(struct vel_session *s, struct vel_err *err)
{
    const struct vel_writing *w = &s->writing;
    struct vel_vec files;
    int rc = 0;

    if (vel_map_count(w->through) == 0)
        return 0;
    vel_vec_init(&files, sizeof(struct vel_listed));
    for (size_t i = 0; rc == 0 && i < vel_map_count(w->through); i++)
        rc = record(s, vel_map_key(w->through, i), &files, err);
    if (rc == 0)
        rc = vel_session_save_through(s, w->dir, &files, err);
    vel_filelist_fini(&files);
    return rc;
}

/* --- what is done with those of the list in a rank's directory --- */

typedef int through_f(struct vel_session *s, const char *path, struct vel_listed *file,
                      void *arg, struct vel_err *err);

static int for_each(struct vel_session *s, const char *dir, through_f *act, void *arg,
                    struct vel_err *err)
{
    struct vel_vec files;
    struct vel_listed *f;
    int rc = load(s, dir, &files, err);

    if (rc < 0)
        return rc;
    f = files.items;
    for (size_t i = 0; rc == 0 && i < files.n; i++) {
        char *path;

        rc = vel_cachename_path(s->prefix, f[i].name, &path, err);
        if (rc < 0)
            break;
        rc = act(s, path, &f[i], arg, err);
        free(path);
    }
    vel_filelist_fini(&files);
    return rc;
}

static int check(struct vel_session *s, const char *path, struct vel_listed *file,
                 void *arg, struct vel_err *err)
{
    int rc = vel_stands_check(&s->crew, path, file, err);

    (void)arg;
    return rc < 0 ? vel_wrap(err, rc, "a file that was written through") : 0;
}

int vel_session_check_through(struct vel_session *s, const struct vel_held *held,
                              struct vel_err *err)
{
    return held->dir ? for_each(s, held->dir, check, NULL, err) : 0;
}

struct sought {
    const char *name;
    char *path;
};

static int seek(struct vel_session *s, const char *path, struct vel_listed *file,
                void *arg, struct vel_err *err)
{
    struct sought *sought = arg;

    (void)s;
    if (sought->path || strcmp(file->name, sought->name) != 0)
        return 0;
    sought->path = strdup(path);
    return sought->path ? 0 : vel_out_of_memory(err, "routing a file");
}

int vel_session_find_through(struct vel_session *s, const struct vel_held *held,
                             const char *name, char **ret_path, struct vel_err *err)
{
    struct sought sought = {.name = name};
    int rc = for_each(s, held->dir, seek, &sought, err);

    if (rc == 0 && !sought.path)
        return VEL_ENOENT;
    if (rc == 0)
        *ret_path = sought.path;
    return rc;
}

/* --- when a dataset goes --- */

void vel_session_keep_through(struct vel_session *s, const struct vel_held *held,
                              struct vel_vec *ret_files)
{
    struct vel_err why = {0};

    if (!held->dir || load(s, held->dir, ret_files, &why) < 0) {
        vel_vec_init(ret_files, sizeof(struct vel_listed));
        if (why.text[0])
            vel_log(VEL_LOG_WARN, "files of dataset %" PRId64 " stay on the prefix: %s",
                    held->map.dataset.id, why.text);
    }
}

void vel_session_remove_through(struct vel_session *s, const struct vel_vec *files)
{
    const struct vel_listed *f = files->items;

    for (size_t i = 0; i < files->n; i++) {
        struct vel_err why = {0};
        char *path = NULL;
        int rc = vel_cachename_path(s->prefix, f[i].name, &path, &why);

        if (rc == 0)
            rc = vel_stands_remove(s->fs, path, &f[i], &why);
        if (rc < 0)
            vel_log(VEL_LOG_WARN, "a file of a dataset that is gone stays: %s",
                    why.text);
        free(path);
    }
}
