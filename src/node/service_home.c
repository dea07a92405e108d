/* SPDX-License-Identifier: BSD-3-Clause */
/* Where datasets are in this node's caches. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "meta/paths.h"
#include "node/service_in.h"

bool vel_service_is_ours(const struct vel_service *service, const char *dir)
{
    for (size_t i = 0; i < service->n_homes; i++) {
        const char *below = vel_path_below(service->homes[i], dir);

        if (below && vel_path_is_inner(below))
            return true;
    }
    return false;
}

/* The directory of dataset `id` in one of this node's caches. */
char *vel_service_home_of(const struct vel_service *service, int64_t id)
{
    for (size_t i = 0; i < service->n_homes; i++) {
        struct vel_vec levels;
        char *found = NULL;

        vel_vec_init(&levels, sizeof(char *));
        if (vel_fs_list(service->fs, service->homes[i], &levels, NULL) < 0)
            levels.n = 0;
        for (size_t k = 0; k < levels.n && !found; k++) {
            const char *name = *(char **)vel_vec_at(&levels, k);
            char *level = strncmp(name, "index.", 6) == 0
                              ? vel_path_join(service->homes[i], name)
                              : NULL;

            found = level ? vel_cache_dataset_dir(level, id) : NULL;
            if (found && !vel_fs_exists(service->fs, found)) {
                free(found);
                found = NULL;
            }
            free(level);
        }
        vel_fs_names_fini(&levels);
        if (found)
            return found;
    }
    return NULL;
}
