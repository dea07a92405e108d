/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdlib.h>

#include "meta/owner.h"
#include "meta/paths.h"

static int by_number(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

int vel_owners_load(struct vel_fs *fs, const char *dir, int64_t id, struct vel_vec *ret,
                    struct vel_err *err)
{
    char *path = vel_dataset_dir(dir, id);
    struct vel_vec names = {0}, owners;
    struct vel_err why = {0};
    int64_t k = 1; /* it leaves no name */
    int rc = path ? vel_fs_list(fs, path, &names, &why)
                  : vel_out_of_memory(&why, "the owners of a dataset");

    free(path);
    if (rc < 0 && rc != VEL_ENOENT)
        return vel_fail(err, (enum vel_status)rc, "%s", why.text);
    vel_vec_init(&owners, sizeof k);
    rc = rc == 0 && !vel_vec_push(&owners, &k)
             ? vel_out_of_memory(err, "the owners of a dataset")
             : 0;
    for (size_t i = 0; rc == 0 && i < names.n; i++)
        if (vel_number_behind(((char **)names.items)[i], "owner.", &k) && k > 1 &&
            !vel_vec_push(&owners, &k))
            rc = vel_out_of_memory(err, "the owners of a dataset");
    vel_fs_names_fini(&names);
    if (rc < 0) {
        vel_vec_fini(&owners);
        return rc;
    }
    vel_vec_sort(&owners, by_number);
    *ret = owners;
    return 0;
}
