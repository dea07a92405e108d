/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of HDF5 in a program that calls VELOC_*, too: those that it makes between the
 * start and the end of a dataset of its session are that dataset's, as files that are
 * routed by hand; afterwards they are where the session has them (doc/engine.txt, 9).
 * No leader hears of them before the session tells of the whole dataset. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "conf/rules.h"
#include "engine/session.h"
#include "meta/cachename.h"
#include "process/files_in.h"
#include "xfer/copy.h"

static struct vel_session *session; /* NULL: none */
static char *prefix;                /* its, without links */

/* A file of this dataset could not be written. */
static int64_t broken_id;
static char *broken;

void vel_files_join(struct vel_session *of)
{
    session = of;
    free(prefix);
    free(broken);
    prefix = broken = NULL;
    broken_id = 0;
    if (of && vel_fs_real_path(vel_session_prefix(of), &prefix, NULL) < 0)
        prefix = strdup(vel_session_prefix(of));
}

/* The dataset that is being written; 0: none. */
static int64_t writing_id(void)
{
    return session && prefix ? vel_session_writing_id(session) : 0;
}

bool vel_files_has_session(void)
{
    return session != NULL;
}

/* As the session calls it; a new string, NULL when out of memory. */
static char *session_path(const struct vel_file_name *name)
{
    char *path = NULL;

    vel_cachename_path(vel_session_prefix(session), name->name, &path, NULL);
    return path;
}

/* Of a file at that path, without links. */
static void unroute(const char *path)
{
    struct vel_file_name name = {0};
    char *of = NULL;

    if (vel_cachename_of(prefix, path, &name.name, NULL) == 0)
        of = session_path(&name);
    if (of)
        vel_session_unroute(session, of);
    free(of);
    free(name.name);
}

/* --- between start and complete --- */

/* Why it is none of the dataset's; NULL: it is. */
static const char *why_not(const struct vel_file_name *name)
{
    struct vel_rule_fit fit;

    if (vel_rules_find(vel_session_conf(session), prefix, name->path, &fit) &&
        fit.rule->kind == VEL_KIND_NONE)
        return "its DATASET line says KIND=NONE";
    return NULL;
}

static int answer(const struct vel_file_name *name, char *path, bool is_new,
                  bool is_fresh, struct vel_file_answer *ret, struct vel_err *err)
{
    const struct vel_place place = {.path = path};
    struct vel_file *file = vel_file_add(name, &place, is_new);

    if (!file) {
        free(path);
        return vel_out_of_memory(err, name->path);
    }
    vel_file_is_of(file, writing_id(), is_fresh);
    *ret = (struct vel_file_answer){.at = VEL_FILE_CACHED, .path = path, .file = file};
    return 0;
}

/* Where its newest version is to be read; *ret_from NULL: nowhere. */
static int find_newest(const struct vel_files_of *of, const struct vel_file_name *name,
                       char **ret_from, struct vel_file_answer *ret,
                       struct vel_err *err)
{
    int rc = vel_files_open(of, name->path, false, ret, err);

    if (rc < 0)
        return rc;
    if (ret->at == VEL_FILE_CACHED) {
        *ret_from = ret->path;
        ret->path = NULL;
        return 0;
    }
    if (ret->at != VEL_FILE_OWN || !name->is_there)
        return 0;
    *ret_from = strdup(name->path);
    return *ret_from ? 0 : vel_out_of_memory(err, name->path);
}

static int copy(const char *from, const char *to, struct vel_err *err)
{
    const struct vel_copy_how how = {
        .fs = vel_fs_posix(), .keeps_metadata = true, .clock = vel_clock_system()};
    struct vel_xfer_copied copied;
    struct stat st;
    int rc = vel_fs_lstat(how.fs, from, &st, err);
    const struct vel_xfer_file file = {
        .from = from, .to = to, .size = rc == 0 ? (uint64_t)st.st_size : 0};

    return rc < 0 ? rc : vel_copy_file(&how, &file, &copied, err);
}

/* It begins as a copy of its newest version; where there is none HDF5 says so. */
static int open_it(const struct vel_files_of *of, const struct vel_file_name *name,
                   const char *path, struct vel_file_answer *ret, struct vel_err *err)
{
    char *from = NULL, *to = NULL;
    int rc = find_newest(of, name, &from, ret, err);

    if (rc < 0 || !from)
        return rc;
    rc = vel_session_route(session, path, &to, err);
    if (rc == 0)
        rc = copy(from, to, err);
    if (rc < 0 && to)
        vel_session_unroute(session, path);
    free(from);
    if (rc == 0)
        return answer(name, to, false, true, ret, err);
    free(to);
    return vel_wrap(err, rc, "%s cannot be opened to be written", name->path);
}

/* What is only in the caches is there all the same. */
static int check_new(const struct vel_files_of *of, const struct vel_file_name *name,
                     struct vel_file_answer *ret, struct vel_err *err)
{
    int rc = vel_files_look(of, name->path, ret, err);

    if (rc == 0 && (ret->at == VEL_FILE_CACHED || ret->at == VEL_FILE_AWAY)) {
        vel_file_answer_fini(ret);
        ret->at = VEL_FILE_TAKEN;
    } else if (rc == 0) {
        vel_file_answer_fini(ret);
    }
    return rc;
}

/* *ret stays as it is when the file is to be opened at its own path. */
static int write_it(const struct vel_files_of *of, const struct vel_file_name *name,
                    enum vel_create how, bool is_new, struct vel_file_answer *ret,
                    struct vel_err *err)
{
    struct vel_session_found found = {0};
    char *path = session_path(name), *place = NULL;
    int rc = path ? 0 : vel_out_of_memory(err, name->path);

    if (rc == 0 && is_new)
        rc = check_new(of, name, ret, err);
    if (rc < 0 || ret->at == VEL_FILE_TAKEN || (is_new && name->is_there)) {
        /* answered, or HDF5 refuses it as it would without us */
    } else if (vel_session_locate(session, path, &found, NULL) == 0 &&
               found.is_under_way && how == VEL_CREATE_OPEN) {
        rc = answer(name, found.path, false, false, ret, err);
        found.path = NULL;
    } else if (how == VEL_CREATE_OPEN) {
        rc = open_it(of, name, path, ret, err);
    } else {
        rc = vel_session_route(session, path, &place, err);
        if (rc == 0)
            rc = answer(name, place, true, !found.is_under_way, ret, err);
    }
    free(found.path);
    free(path);
    return rc;
}

int vel_files_session_write(const struct vel_files_of *of, const char *name,
                            enum vel_create how, bool is_new, bool *ret_is_taken,
                            struct vel_file_answer *ret, struct vel_err *err)
{
    struct vel_file_name n = {0};
    struct vel_file_answer found = {.at = VEL_FILE_OWN};
    const char *why;
    int rc = 0;

    *ret_is_taken = false;
    if (!writing_id())
        return 0;
    if (!vel_files_know(of) || !vel_files_resolve_below(prefix, name, true, &n))
        return 0;
    why = why_not(&n);
    *ret_is_taken = !why;
    if (!why && !vel_file_join(&n, &found))
        rc = write_it(of, &n, how, is_new, &found, err);
    vel_file_name_fini(&n);
    if (rc < 0)
        vel_file_answer_fini(&found);
    else if (!why)
        *ret = found;
    return rc;
}

int vel_files_session_close(const char *path, int64_t id, bool is_fresh,
                            enum vel_file_was was, struct vel_err *err)
{
    if (writing_id() != id)
        return vel_fail(err, VEL_ESTATE,
                        "%s is lost: dataset %" PRId64
                        ", of which it was to be a part, ended while it was open",
                        path, id);
    if (was == VEL_FILE_READ && is_fresh) {
        unroute(path);
    } else if (was == VEL_FILE_BROKEN) {
        free(broken);
        broken = strdup(path);
        broken_id = id;
    }
    return 0;
}

int vel_files_session_move(const char *path, int64_t id, struct vel_err *err)
{
    struct vel_file_name name = {0};
    char *of = NULL, *place = NULL;
    int rc = vel_cachename_of(prefix, path, &name.name, err);

    if (rc == 0 && writing_id() == id) {
        of = session_path(&name);
        rc = of ? 0 : vel_out_of_memory(err, path);
    }
    if (of) {
        vel_session_unroute(session, of);
        rc = vel_session_route_through(session, of, &place, err);
    }
    free(place);
    free(of);
    free(name.name);
    return rc;
}

int vel_files_settle(struct vel_err *err)
{
    int64_t id = writing_id();
    char *open = id ? vel_file_open_of(id) : NULL;
    int rc = 0;

    if (open)
        rc = vel_fail(err, VEL_EINVAL,
                      "%s is still open: close it, and all objects in it, before the "
                      "checkpoint that it belongs to is ended",
                      open);
    else if (id && broken_id == id)
        rc = vel_fail(err, VEL_EIO, "%s could not be written",
                      broken ? broken : "a file");
    free(open);
    return rc;
}

/* --- afterwards --- */

static bool is_newer(const struct vel_file_answer *known, int64_t dataset,
                     const struct vel_session_found *found)
{
    switch (known->at) {
    case VEL_FILE_OWN:
        return found->is_on_prefix;
    case VEL_FILE_CACHED:
    case VEL_FILE_AWAY: /* 0: it is part of none yet */
        return dataset == 0 || dataset >= found->id;
    default:
        return false;
    }
}

bool vel_files_session_find(const char *name, struct vel_session_found *ret)
{
    struct vel_file_name n = {0};
    char *path;
    bool is;

    if (!session || !prefix || !vel_files_resolve_below(prefix, name, false, &n))
        return false;
    path = session_path(&n);
    is = path && vel_session_locate(session, path, ret, NULL) == 0;
    free(path);
    vel_file_name_fini(&n);
    return is;
}

void vel_files_session_read(struct vel_session_found *found, int64_t dataset,
                            struct vel_file_answer *ret)
{
    if (!found->path ||
        (!found->is_under_way && (ret->file || is_newer(ret, dataset, found))))
        return;
    vel_file_answer_fini(ret);
    *ret = (struct vel_file_answer){.at = VEL_FILE_CACHED, .path = found->path};
    found->path = NULL;
}

bool vel_files_session_remove(const char *name)
{
    struct vel_session_found found = {0};
    struct vel_file_name n = {0};
    bool is = writing_id() && vel_files_session_find(name, &found) &&
              found.is_under_way && vel_files_resolve_below(prefix, name, false, &n);

    if (is) {
        unroute(n.path);
        vel_file_forget(n.path);
        is = !n.is_there;
    }
    vel_file_name_fini(&n);
    free(found.path);
    return is;
}
