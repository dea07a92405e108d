/* SPDX-License-Identifier: BSD-3-Clause */
/* A name as the program gives it: whole, without links, and whether it is one of ours.
 */
#include "config.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/path.h"
#include "conf/rules.h"
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
    if (absolute && vel_fs_real_path(absolute, &path, NULL) < 0)
        path = NULL;
    free(cwd);
    free(absolute);
    return path;
}

void vel_files_tell_outside(const char *name)
{
    static atomic_flag is_told = ATOMIC_FLAG_INIT;
    const char *prefix = vel_files_prefix();
    char *path = vel_files_real_path(name);
    struct stat st;

    if (path && !vel_path_below(prefix, path)) {
        bool is_there = vel_fs_lstat(vel_fs_posix(), prefix, &st, NULL) == 0;

        vel_log(VEL_LOG_INFO,
                "%s is written where it belongs: it is not below the prefix %s", path,
                prefix);
        if (!is_there && !atomic_flag_test_and_set(&is_told))
            vel_log(VEL_LOG_WARN,
                    "HDF5 files are not protected: the prefix %s is not there; make "
                    "it, or name the directory that they are below with VELOC_PREFIX",
                    prefix);
    }
    free(path);
}

void vel_files_tell_native(const struct vel_files_of *of, const char *name,
                           const char *why)
{
    static atomic_flag is_told = ATOMIC_FLAG_INIT;
    struct vel_rule_fit fit;
    bool speaks = vel_files_know(of) && vel_files_launcher()->rank == 0;
    char *path = speaks ? vel_files_real_path(name) : NULL;
    bool is_wanted = path && vel_path_below(vel_files_prefix(), path) &&
                     vel_rules_find(vel_files_conf(), vel_files_prefix(), path, &fit) &&
                     fit.rule->kind != VEL_KIND_NONE;

    if (is_wanted && !atomic_flag_test_and_set(&is_told))
        vel_log(
            VEL_LOG_WARN,
            "%s is written to its own path, and is not protected, though DATASET=%s "
            "has it: %s",
            path, fit.line->name, why);
    else
        vel_log(VEL_LOG_INFO, "%s is written where it belongs: %s", name, why);
    free(path);
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
