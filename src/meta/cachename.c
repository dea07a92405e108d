/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/path.h"
#include "meta/cachename.h"

static int join(const char *front, const char *back, char **ret, struct vel_err *err)
{
    struct vel_buf text;

    vel_buf_init(&text);
    vel_buf_puts(&text, front);
    vel_buf_puts(&text, back);
    *ret = vel_buf_take(&text, NULL);
    return *ret ? 0 : vel_out_of_memory(err, "the name of a file");
}

int vel_cachename_of(const char *prefix, const char *path, char **ret_name,
                     struct vel_err *err)
{
    const char *below = vel_path_below(prefix, path);
    char *name;
    int rc;

    if (below && !*below)
        return vel_fail(err, VEL_EINVAL,
                        "'%s' is the prefix itself, not a file below it", path);
    rc = !below ? join("@", path, &name, err)
                : join(*below == '@' ? "@./" : "", below, &name, err);
    if (rc < 0)
        return rc;
    if (!vel_path_is_inner(name)) {
        free(name);
        return vel_fail(
            err, VEL_EINVAL,
            "'%s' cannot be cached: a path has to be shorter than %d bytes and "
            "without control characters",
            path, VEL_PATH_MAX);
    }
    *ret_name = name;
    return 0;
}

int vel_cachename_path(const char *prefix, const char *name, char **ret_path,
                       struct vel_err *err)
{
    const char *below = name;

    /* "@./" is not normalised as a path goes, since "@." is a name like any other */
    if (vel_path_is_inner(name) && name[0] == '@') {
        if (name[1] == '/')
            return join("", name + 1, ret_path, err);
        below = strncmp(name, "@./@", 4) == 0 ? name + 3 : NULL;
    } else if (!vel_path_is_inner(name)) {
        below = NULL;
    }
    if (!below)
        return vel_fail(err, VEL_ECORRUPT, "'%s' is no name of a cached file", name);
    *ret_path = vel_path_join(prefix, below);
    return *ret_path ? 0 : vel_out_of_memory(err, "the path of a file");
}
