/* SPDX-License-Identifier: BSD-3-Clause */
/* What needs no arithmetic: taking the protection off, and telling what is protected.
 */
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
