/* SPDX-License-Identifier: BSD-3-Clause */
/* What needs no arithmetic: taking the protection off, or what is old of it, and
 * telling what is protected. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "red/redfile.h"
#include "red/set.h"

int vel_red_unapply(const struct vel_red_set *set, struct vel_err *err)
{
    struct vel_vec found;
    int rc = vel_redfile_scan(set->fs, set->dir, set->label, set->rank, &found, err);

    if (rc == 0) {
        for (size_t i = 0; rc == 0 && i < found.n; i++)
            rc = vel_fs_unlink(set->fs, vel_redfile_at(&found, i)->path, err);
        vel_redfiles_fini(&found);
        vel_redfile_sweep(set->fs, set->dir, set->label, set->rank);
    }
    rc = vel_comm_agree(set->comm, rc, err);
    return rc < 0 ? vel_wrap(err, rc, "taking the protection off %s", set->dir) : 0;
}

/* The redundancy file of set->id among those found; NULL when there is none. */
static const struct vel_redfile *given(const struct vel_red_set *set,
                                       const struct vel_vec *found)
{
    for (size_t i = 0; i < found->n; i++) {
        const struct vel_redfile *redfile = vel_redfile_at(found, i);

        if (memcmp(redfile->header.id, set->id, sizeof redfile->header.id) == 0)
            return redfile;
    }
    return NULL;
}

int vel_red_holds(const struct vel_red_set *set, bool *ret_holds, struct vel_err *err)
{
    struct vel_vec found;
    int rc = vel_redfile_scan(set->fs, set->dir, set->label, set->rank, &found, err);

    if (rc < 0)
        return rc;
    const struct vel_redfile *mine = given(set, &found);
    *ret_holds =
        mine && vel_redfile_check_files(set->fs, set->dir, &mine->header, NULL) == 0;
    vel_redfiles_fini(&found);
    return 0;
}

int vel_red_drop_older(const struct vel_red_set *set, struct vel_err *err)
{
    struct vel_vec found;
    int rc = vel_redfile_scan(set->fs, set->dir, set->label, set->rank, &found, err);

    if (rc < 0)
        return rc;
    const struct vel_redfile *mine = given(set, &found);
    if (!mine)
        rc = vel_fail(err, VEL_ENOENT,
                      "%s: rank %u has no redundancy file of the encoding that is to "
                      "replace the earlier ones; they stay",
                      set->dir, set->rank);
    for (size_t i = 0; rc == 0 && i < found.n; i++) {
        const struct vel_redfile *redfile = vel_redfile_at(&found, i);

        /* one that is newer is on its way, and one of the same number has failed */
        if (redfile != mine && redfile->header.sequence <= mine->header.sequence)
            rc = vel_fs_unlink(set->fs, redfile->path, err);
    }
    vel_redfiles_fini(&found);
    return rc;
}

static int add_name(struct vel_vec *names, const char *name, struct vel_err *err)
{
    char *copy = strdup(name);

    if (copy && vel_vec_push(names, &copy))
        return 0;
    free(copy);
    return vel_out_of_memory(err, "listing protected files");
}

int vel_red_list(const struct vel_red_set *set, struct vel_vec *ret_names,
                 struct vel_err *err)
{
    struct vel_vec found, names;
    int rc = vel_redfile_scan(set->fs, set->dir, set->label, set->rank, &found, err);

    if (rc < 0)
        return rc;
    vel_vec_init(&names, sizeof(char *));
    if (found.n == 0)
        rc = vel_fail(err, VEL_ENOENT, "%s: no redundancy file named %s.* of rank %u",
                      set->dir, set->label, set->rank);
    else {
        const struct vel_redfile *newest = vel_redfile_at(&found, 0);

        for (size_t i = 0; rc == 0 && i < newest->header.list[0].files.n; i++)
            rc = add_name(&names, vel_manifest_file(&newest->header.list[0], i)->name,
                          err);
        if (rc == 0)
            rc = add_name(&names, strrchr(newest->path, '/') + 1, err);
    }
    vel_redfiles_fini(&found);
    if (rc < 0)
        vel_fs_names_fini(&names);
    else
        *ret_names = names;
    return rc;
}
