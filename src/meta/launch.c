/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/map.h"
#include "base/path.h"
#include "meta/launch.h"
#include "meta/terms.h"
#include "sys/host.h"

static const char head[] = "launch.", past_head[] = "past.";

bool vel_launch_is_name(const char *launch)
{
    return strlen(launch) <= VEL_LAUNCH_MOST && vel_host_is_name(launch);
}

const char *vel_launch_of(const char *name)
{
    if (strncmp(name, head, strlen(head)) != 0)
        return NULL;
    name += strlen(head);
    return vel_launch_is_name(name) ? name : NULL;
}

const char *vel_launch_past_of(const char *name)
{
    if (strncmp(name, past_head, strlen(past_head)) != 0)
        return NULL;
    name += strlen(past_head);
    return vel_launch_is_name(name) ? name : NULL;
}

char *vel_launch_past_path(const char *dir, const char *launch)
{
    struct vel_buf path;

    vel_buf_init(&path);
    vel_buf_printf(&path, "%s/%s%s", dir, past_head, launch);
    return vel_buf_take(&path, NULL);
}

char *vel_launch_dir(const char *dir, const char *launch)
{
    struct vel_buf path;

    vel_buf_init(&path);
    vel_buf_printf(&path, "%s/%s%s", dir, head, launch);
    return vel_buf_take(&path, NULL);
}

char *vel_launch_path(const char *dir, const char *launch, const char *name)
{
    char *of = vel_launch_dir(dir, launch);
    char *path = of ? vel_path_join(of, name) : NULL;

    free(of);
    return path;
}

int vel_launch_fail_unread(const char *dir, const char *launch,
                           const struct vel_err *why, struct vel_err *err)
{
    if (why->status == VEL_EBUSY || why->status == VEL_ETIMEOUT) /* it may live */
        return vel_fail(err, why->status,
                        "what launch %s has saved is not known now (%s): try again",
                        launch, why->text);
    return vel_fail(err, why->status,
                    "what launch %s has saved is not known (%s): try again when that "
                    "can be read, or move %s/launch.%s away to go on without it",
                    launch, why->text, dir, launch);
}

static int find_past(const struct vel_vec *names, struct vel_map *ret)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < names->n; i++) {
        const char *launch = vel_launch_past_of(*(char **)vel_vec_at(names, i));

        if (launch)
            rc = vel_map_set(ret, launch, ret, NULL);
    }
    return rc;
}

int vel_launch_list(struct vel_fs *fs, const char *dir, struct vel_vec *ret,
                    struct vel_err *err)
{
    struct vel_map *past = vel_map_create();
    struct vel_vec names;
    int rc;

    vel_vec_init(&names, sizeof(char *));
    rc = past ? vel_fs_list(fs, dir, &names, err) : vel_out_of_memory(err, "launches");
    if (rc == 0 && find_past(&names, past) < 0)
        rc = vel_out_of_memory(err, "launches");
    for (size_t i = 0; rc == 0 && i < names.n; i++) {
        const char *launch = vel_launch_of(*(char **)vel_vec_at(&names, i));
        char *copy = NULL;

        if (!launch || vel_map_has(past, launch))
            continue;
        copy = strdup(launch);
        if (!copy || !vel_vec_push(ret, &copy)) {
            free(copy);
            rc = vel_out_of_memory(err, "launches");
        }
    }
    vel_fs_names_fini(&names);
    if (past)
        vel_map_destroy(past, NULL);
    return rc;
}

static int find(struct vel_fs *fs, const char *path, bool *ret_is, struct vel_err *err)
{
    struct vel_err why = {0};
    struct stat st;
    int rc =
        path ? vel_fs_lstat(fs, path, &st, &why) : vel_out_of_memory(&why, "a launch");

    *ret_is = rc == 0;
    return rc < 0 && rc != VEL_ENOENT
               ? vel_fail(err, (enum vel_status)rc, "%s", why.text)
               : 0;
}

int vel_launch_is_gone(struct vel_fs *fs, const char *dir, const char *launch,
                       bool *ret_is, struct vel_err *err)
{
    char *of = vel_launch_dir(dir, launch), *past = vel_launch_past_path(dir, launch);
    bool is_past = false, is_there = false;
    int rc = find(fs, past, &is_past, err);

    if (rc == 0 && !is_past)
        rc = find(fs, of, &is_there, err);
    free(past);
    free(of);
    *ret_is = rc == 0 && !is_there;
    return rc;
}

int vel_launch_fate(struct vel_fs *fs, const char *dir, const char *launch,
                    enum vel_launch_fate *ret, struct vel_err *err)
{
    char *of = vel_launch_dir(dir, launch);
    bool is_gone = false, is_over = false;
    struct vel_err why = {0};
    int rc = of ? vel_launch_is_gone(fs, dir, launch, &is_gone, err)
                : vel_out_of_memory(err, "a launch");

    if (rc == 0 && !is_gone) {
        rc = vel_terms_are_over(fs, of, &is_over, &why);
        if (rc < 0 && vel_launch_is_gone(fs, dir, launch, &is_gone, NULL) == 0 &&
            is_gone)
            rc = 0; /* it was removed meanwhile */
        if (rc < 0)
            vel_fail(err, (enum vel_status)rc, "%s", why.text);
    }
    free(of);
    if (rc == 0)
        *ret = is_gone ? VEL_LAUNCH_GONE : is_over ? VEL_LAUNCH_ENDED : VEL_LAUNCH_OPEN;
    return rc;
}

int vel_launch_is_over(struct vel_fs *fs, const char *dir, const char *launch,
                       bool *ret_is_over, struct vel_err *err)
{
    enum vel_launch_fate fate = VEL_LAUNCH_OPEN;
    int rc = vel_launch_fate(fs, dir, launch, &fate, err);

    *ret_is_over = fate != VEL_LAUNCH_OPEN;
    return rc;
}
