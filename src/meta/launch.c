/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/path.h"
#include "meta/launch.h"
#include "meta/terms.h"
#include "sys/host.h"

static const char head[] = "launch.";

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

int vel_launch_list(struct vel_fs *fs, const char *dir, struct vel_vec *ret,
                    struct vel_err *err)
{
    struct vel_vec names;
    int rc;

    vel_vec_init(&names, sizeof(char *));
    rc = vel_fs_list(fs, dir, &names, err);
    for (size_t i = 0; rc == 0 && i < names.n; i++) {
        const char *launch = vel_launch_of(*(char **)vel_vec_at(&names, i));
        char *copy = launch ? strdup(launch) : NULL;

        if (launch && (!copy || !vel_vec_push(ret, &copy))) {
            free(copy);
            rc = vel_out_of_memory(err, "launches");
        }
    }
    vel_fs_names_fini(&names);
    return rc;
}

static int find_dir(struct vel_fs *fs, const char *of, bool *ret_is,
                    struct vel_err *err)
{
    struct vel_err why = {0};
    struct stat st;
    int rc = vel_fs_lstat(fs, of, &st, &why);

    *ret_is = rc == 0;
    return rc < 0 && rc != VEL_ENOENT
               ? vel_fail(err, (enum vel_status)rc, "%s", why.text)
               : 0;
}

int vel_launch_fate(struct vel_fs *fs, const char *dir, const char *launch,
                    enum vel_launch_fate *ret, struct vel_err *err)
{
    char *of = vel_launch_dir(dir, launch);
    bool is_there = false, is_over = false;
    struct vel_err why = {0};
    int rc = of ? find_dir(fs, of, &is_there, err) : vel_out_of_memory(err, "a launch");

    if (rc == 0 && is_there) {
        rc = vel_terms_are_over(fs, of, &is_over, &why);
        if (rc < 0 && find_dir(fs, of, &is_there, NULL) == 0 && !is_there)
            rc = 0; /* it was removed meanwhile */
        if (rc < 0)
            vel_fail(err, (enum vel_status)rc, "%s", why.text);
    }
    free(of);
    if (rc == 0)
        *ret = !is_there ? VEL_LAUNCH_GONE
               : is_over ? VEL_LAUNCH_ENDED
                         : VEL_LAUNCH_OPEN;
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
