/* SPDX-License-Identifier: BSD-3-Clause */
/* Where a file of the program is to be written or read. Local: no rank asks another. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/path.h"
#include "engine/session_in.h"
#include "meta/cachename.h"

static int make_parent(struct vel_session *s, const char *path, mode_t mode,
                       struct vel_err *err)
{
    char *parent = vel_path_dir(path);
    int rc = parent ? vel_fs_make_dirs(s->fs, parent, mode, err)
                    : vel_out_of_memory(err, "routing a file");

    free(parent);
    return rc;
}

/* The file becomes part of the dataset under way. */
static int route_written(struct vel_session *s, const char *name, bool is_through,
                         char **ret_path, struct vel_err *err)
{
    struct vel_writing *w = &s->writing;
    bool is_in_place = is_through || w->is_bypass;
    struct vel_map *to = is_through ? w->through : w->routed;
    char *path = NULL;
    int rc;

    if (vel_map_get(to == w->routed ? w->through : w->routed, name))
        rc = vel_fail(err, VEL_EINVAL,
                      "'%s' was routed the other way before: route a file either into "
                      "the cache or through it",
                      name);
    else if (is_through)
        rc = vel_cachename_path(s->prefix, name, &path, err);
    else
        rc = vel_session_place(s, name, &path, err);
    if (rc == 0)
        rc = make_parent(s, path, is_in_place ? 0777 : 0700, err);
    if (rc == 0 && is_through && !w->takes_names)
        w->takes_names = vel_fs_exists(s->fs, path);
    if (rc == 0 && vel_map_set(to, name, w, NULL) < 0)
        rc = vel_out_of_memory(err, "routing a file");
    if (rc < 0)
        free(path);
    else
        *ret_path = path;
    return rc;
}

/* Today's VELOC has one file per rank and checkpoint, whatever a program calls it when
 * it reads: where there is only one, it is meant. */
static int only_file(struct vel_session *s, const struct vel_held *held,
                     char **ret_path)
{
    struct vel_vec files;
    struct vel_flush_file *f;
    int rc = VEL_ENOENT;

    if (vel_session_files(s, held, &files, NULL) < 0)
        return rc;
    f = files.items;
    if (files.n == 1) {
        *ret_path = f[0].from;
        f[0].from = NULL;
        rc = *ret_path ? 0 : VEL_ENOMEM;
    }
    vel_flush_files_fini(&files);
    return rc;
}

/* In this rank's part of a dataset, or where it was published; one of other ranks that
 * nobody has made readable is in neither place. */
static int find_in(struct vel_session *s, const struct vel_held *held, const char *name,
                   char **ret_path, struct vel_err *err)
{
    char *path = NULL;
    int rc = 0;

    if (!held->dir && !held->is_read_in_place)
        return VEL_ENOENT;
    if (held->dir && !held->is_read_in_place)
        path = vel_path_join(held->dir, name);
    else
        rc = vel_cachename_path(s->prefix, name, &path, err);
    if (rc == 0 && !path)
        rc = vel_out_of_memory(err, "routing a file");
    if (rc == 0 && !vel_fs_exists(s->fs, path))
        rc = VEL_ENOENT;
    if (rc < 0)
        free(path);
    else
        *ret_path = path;
    return rc == VEL_ENOENT && held->dir
               ? vel_session_find_through(s, held, name, ret_path, err)
               : rc;
}

static int route_read(struct vel_session *s, const char *asked, const char *name,
                      char **ret_path, struct vel_err *err)
{
    const struct vel_held *held = vel_session_held(s, s->reading);
    const struct vel_dataset *d = &held->map.dataset;
    int rc = find_in(s, held, name, ret_path, err);

    if (rc != VEL_ENOENT)
        return rc;
    if (held->dir && !held->is_read_in_place && only_file(s, held, ret_path) == 0) {
        vel_log(VEL_LOG_INFO,
                "'%s' is not in dataset %" PRId64 ": its only file %s is meant", asked,
                d->id, vel_path_base(*ret_path));
        return 0;
    }
    return vel_fail(err, VEL_ENOENT,
                    "'%s' is not in dataset %" PRId64 " (%s %" PRId64 ") for this rank",
                    asked, d->id, d->name, d->version);
}

/* Nothing is under way: the newest that there is. */
static int route_any(struct vel_session *s, const char *asked, const char *absolute,
                     const char *name, char **ret_path, struct vel_err *err)
{
    for (size_t i = s->held.n; i-- > 0;)
        if (find_in(s, vel_session_held(s, i), name, ret_path, err) == 0)
            return 0;
    if (!vel_fs_exists(s->fs, absolute))
        return vel_fail(err, VEL_ENOENT,
                        "'%s' is neither in the cache nor on the prefix", asked);
    *ret_path = strdup(absolute);
    return *ret_path ? 0 : vel_out_of_memory(err, "routing a file");
}

static int route(struct vel_session *s, const char *path, bool is_through,
                 char **ret_path, struct vel_err *err)
{
    char *cwd = NULL, *absolute = NULL, *name = NULL;
    int rc = 0;

    if (!*path)
        return vel_fail(err, VEL_EINVAL, "a file needs a name to be routed");
    if (*path != '/')
        rc = vel_fs_working_dir(&cwd, err);
    if (rc == 0 && !(absolute = vel_path_absolute(cwd ? cwd : "/", path)))
        rc = vel_out_of_memory(err, "routing a file");
    if (rc == 0)
        rc = vel_cachename_of(s->prefix, absolute, &name, err);
    if (rc == 0 && s->state == VEL_WRITING)
        rc = route_written(s, name, is_through, ret_path, err);
    else if (rc == 0 && s->state == VEL_READING)
        rc = route_read(s, path, name, ret_path, err);
    else if (rc == 0)
        rc = route_any(s, path, absolute, name, ret_path, err);
    free(name);
    free(absolute);
    free(cwd);
    return rc;
}

int vel_session_route(struct vel_session *session, const char *path, char **ret_path,
                      struct vel_err *err)
{
    return route(session, path, false, ret_path, err);
}

int vel_session_route_through(struct vel_session *session, const char *path,
                              char **ret_path, struct vel_err *err)
{
    return route(session, path, true, ret_path, err);
}
