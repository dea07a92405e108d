/* SPDX-License-Identifier: BSD-3-Clause */
/* A name as the program gives it: whole, without links, and whether it is one of ours.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "meta/cachename.h"
#include "meta/paths.h"
#include "process/files_in.h"

void vel_file_name_fini(struct vel_file_name *name)
{
    free(name->path);
    free(name->name);
    *name = (struct vel_file_name){0};
}

/* What can be no file there, or may not be replaced by one, is HDF5's to refuse. */
static bool is_fit(const char *path, bool writes, bool *ret_is_there)
{
    struct stat st;
    char *dir = vel_path_dir(path);
    bool is_there = vel_fs_lstat(vel_fs_posix(), path, &st, NULL) == 0;
    bool is_fit = dir && (!writes || vel_fs_is_allowed(dir, true));

    free(dir);
    if (is_there)
        is_fit = is_fit && S_ISREG(st.st_mode) && vel_fs_is_allowed(path, writes);
    *ret_is_there = is_there;
    return is_fit;
}

char *vel_files_real_path(const char *name)
{
    char *cwd = NULL, *absolute = NULL, *path = NULL;

    if (!*name || (*name != '/' && vel_fs_working_dir(&cwd, NULL) < 0))
        return NULL;
    absolute = *name == '/' ? strdup(name) : vel_path_join(cwd, name);
    free(cwd); /* which has no links in it */
    if (absolute && !strchr(name, '/') && vel_fs_ends_without_link(absolute))
        return absolute;
    if (absolute && vel_fs_real_path(absolute, &path, NULL) < 0)
        path = NULL;
    free(absolute);
    return path;
}

bool vel_files_resolve(const char *name, bool writes, struct vel_file_name *ret)
{
    return vel_files_resolve_below(vel_files_prefix(), name, writes, ret);
}

bool vel_files_resolve_below(const char *prefix, const char *name, bool writes,
                             struct vel_file_name *ret)
{
    char *veloc = vel_veloc_dir(prefix);
    struct vel_file_name found = {0};

    found.path = vel_files_real_path(name);
    bool is_ours = veloc && found.path && vel_path_below(prefix, found.path) &&
                   !vel_path_below(veloc, found.path) &&
                   is_fit(found.path, writes, &found.is_there) &&
                   vel_cachename_of(prefix, found.path, &found.name, NULL) == 0;
    free(veloc);
    if (is_ours)
        *ret = found;
    else
        vel_file_name_fini(&found);
    return is_ours;
}
