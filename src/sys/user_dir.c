/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/log.h"
#include "sys/user_dir.h"

enum {
    NAMES = 8,
    ROUNDS = 100, /* in each of which somebody has taken a name that was free */
};

static char *name_of(const char *base, const char *user, int i)
{
    struct vel_buf text;

    vel_buf_init(&text);
    vel_buf_printf(&text, "%s/%s", base, user);
    if (i > 0)
        vel_buf_printf(&text, ".%d", i);
    return vel_buf_take(&text, NULL);
}

static int fail_taken(const char *base, const char *user, struct vel_err *err)
{
    return vel_fail(err, VEL_EUNSAFE,
                    "%s/%s, and %s.1 to %s.%d in its place, belong to others or are no "
                    "private directories of ours: name another place",
                    base, user, user, user, NAMES - 1);
}

/* The first that is ours, else the first that is free. */
static int choose(struct vel_fs *fs, const char *base, const char *user, char **ret_dir,
                  bool *ret_is_ours, struct vel_err *err)
{
    char *vacant = NULL;

    for (int i = 0; i < NAMES; i++) {
        struct vel_err why = {0};
        char *dir = name_of(base, user, i);
        int rc = dir ? vel_fs_check_private_dir(fs, dir, &why)
                     : vel_out_of_memory(&why, base);

        *ret_is_ours = rc == 0;
        if (rc == 0) {
            free(vacant);
            *ret_dir = dir;
            return 0;
        }
        if (rc == VEL_ENOENT && !vacant)
            vacant = dir;
        else
            free(dir);
        if (rc != VEL_ENOENT && rc != VEL_EUNSAFE) {
            free(vacant);
            return vel_fail(err, (enum vel_status)rc, "%s", why.text);
        }
    }
    *ret_dir = vacant;
    return vacant ? 0 : fail_taken(base, user, err);
}

char *vel_user_dir(struct vel_fs *fs, const char *base, const char *user)
{
    char *dir = NULL;
    bool is_ours;
    int rc = choose(fs, base, user, &dir, &is_ours, NULL);

    return rc < 0 ? name_of(base, user, 0) : dir;
}

static void tell_other(struct vel_fs *fs, const char *base, const char *user,
                       const char *dir)
{
    char *first = name_of(base, user, 0);
    struct vel_err why = {0};

    if (first && strcmp(first, dir) != 0 &&
        vel_fs_check_private_dir(fs, first, &why) < 0)
        vel_log(VEL_LOG_WARN, "%s is used in the place of %s: %s", dir, first,
                why.text);
    free(first);
}

int vel_user_dir_make(struct vel_fs *fs, const char *base, const char *user,
                      char **ret_dir, struct vel_err *err)
{
    bool is_made = false, is_ours;
    char *dir = NULL;

    for (int round = 0; round < ROUNDS; round++) {
        int rc = choose(fs, base, user, &dir, &is_ours, err);

        if (rc < 0)
            return rc;
        if (is_ours) {
            if (is_made)
                tell_other(fs, base, user, dir);
            *ret_dir = dir;
            return 0;
        }
        rc = vel_fs_make_dirs(fs, dir, 0700, err);
        is_made = rc == 0;
        bool is_vacant = vel_fs_check_private_dir(fs, dir, NULL) == VEL_ENOENT;
        free(dir);
        if (rc < 0 && is_vacant)
            return rc;
    }
    return fail_taken(base, user, err);
}
