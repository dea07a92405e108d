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

/* Without links above the file itself: so the connector knows files, and the prefix is
 * known. What is not there yet has none. A new string, `path` on failure. */
static char *without_links(const char *path)
{
    char *above = vel_path_dir(path), *real = NULL, *whole = NULL;

    while (above && vel_fs_real_path(above, &real, NULL) < 0 && above[1]) {
        char *next = vel_path_dir(above);

        free(above);
        above = next;
    }
    if (above && real)
        whole = vel_path_join(real, path + strlen(above) + (above[1] != '\0'));
    free(real);
    free(above);
    return whole ? whole : strdup(path);
}

/* What the program calls `path`, as a whole path and as it is called in the cache. */
static int name_it(struct vel_session *s, const char *path, char **ret_absolute,
                   char **ret_name, struct vel_err *err)
{
    char *cwd = NULL;
    int rc = 0;

    if (!*path)
        return vel_fail(err, VEL_EINVAL, "a file needs a name to be routed");
    if (*path != '/')
        rc = vel_fs_working_dir(&cwd, err);
    if (rc == 0) {
        char *plain = vel_path_absolute(cwd ? cwd : "/", path);

        *ret_absolute = plain ? without_links(plain) : NULL;
        rc = *ret_absolute ? 0 : vel_out_of_memory(err, "routing a file");
        free(plain);
    }
    free(cwd);
    return rc < 0 ? rc : vel_cachename_of(s->prefix, *ret_absolute, ret_name, err);
}

static int route(struct vel_session *s, const char *path, bool is_through,
                 char **ret_path, struct vel_err *err)
{
    char *absolute = NULL, *name = NULL;
    int rc = name_it(s, path, &absolute, &name, err);

    if (rc == 0 && s->state == VEL_WRITING)
        rc = route_written(s, name, is_through, ret_path, err);
    else if (rc == 0 && s->state == VEL_READING)
        rc = route_read(s, path, name, ret_path, err);
    else if (rc == 0)
        rc = route_any(s, path, absolute, name, ret_path, err);
    free(name);
    free(absolute);
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

/* --- found, taken back --- */

/* Those of the dataset under way are where they were routed to. */
static int find_written(struct vel_session *s, const char *name,
                        struct vel_session_found *ret, struct vel_err *err)
{
    const struct vel_writing *w = &s->writing;

    if (!vel_map_has(w->routed, name) && !vel_map_has(w->through, name))
        return VEL_ENOENT;
    ret->id = w->map.dataset.id;
    ret->is_under_way = true;
    return vel_session_place(s, name, &ret->path, err);
}

static int find_held(struct vel_session *s, size_t i, const char *name,
                     struct vel_session_found *ret, struct vel_err *err)
{
    const struct vel_held *held = vel_session_held(s, i);
    struct vel_index_where now;
    int rc = find_in(s, held, name, &ret->path, err);

    if (rc < 0)
        return rc;
    ret->id = held->map.dataset.id;
    ret->is_on_prefix = held->is_read_in_place;
    /* what the background has done since, or what has taken its names */
    if (vel_index_where(s->index, ret->id, &now, NULL) == 0)
        ret->is_on_prefix |= now.place == VEL_ON_PREFIX || now.is_replaced;
    return 0;
}

int vel_session_locate(struct vel_session *session, const char *path,
                       struct vel_session_found *ret, struct vel_err *err)
{
    struct vel_session *s = session;
    struct vel_session_found found = {0};
    char *absolute = NULL, *name = NULL;
    int rc = name_it(s, path, &absolute, &name, err);

    if (rc == 0)
        rc = s->state == VEL_WRITING ? find_written(s, name, &found, err) : VEL_ENOENT;
    if (rc == VEL_ENOENT && s->state == VEL_READING) {
        rc = find_held(s, s->reading, name, &found, err);
        found.is_under_way = rc == 0;
    }
    for (size_t i = s->held.n; rc == VEL_ENOENT && i-- > 0;)
        rc = find_held(s, i, name, &found, err);
    if (rc == 0)
        *ret = found;
    free(name);
    free(absolute);
    return rc;
}

void vel_session_unroute(struct vel_session *session, const char *path)
{
    struct vel_session *s = session;
    char *absolute = NULL, *name = NULL, *place = NULL;
    struct vel_err why = {0};

    if (s->state == VEL_WRITING && name_it(s, path, &absolute, &name, &why) == 0 &&
        vel_map_has(s->writing.routed, name) &&
        vel_session_place(s, name, &place, &why) == 0) {
        vel_map_remove(s->writing.routed, name);
        vel_fs_unlink(s->fs, place, &why);
    }
    free(place);
    free(name);
    free(absolute);
}
