/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdlib.h>

#include "base/log.h"
#include "comm/comm.h"
#include "meta/cache.h"
#include "process/homes.h"
#include "topo/store.h"

void vel_homes_fini(struct vel_homes *homes)
{
    for (size_t i = 0; i < homes->n; i++)
        free(homes->items[i]);
    free(homes->items);
    *homes = (struct vel_homes){0};
}

static int make_all(struct vel_fs *fs, const struct vel_stores *stores,
                    const struct vel_host *host, const char *prefix_id,
                    struct vel_homes *ret, struct vel_err *err)
{
    struct vel_err why = {0};

    ret->items = calloc(stores->n + 1, sizeof *ret->items);
    if (!ret->items)
        return vel_out_of_memory(err, "the caches");
    for (size_t i = 0; i < stores->n; i++) {
        const struct vel_store *store = &stores->items[i];

        if (vel_store_check(store, fs, &why) == 0 &&
            vel_cache_make_home(fs, store->base, host->user, prefix_id,
                                &ret->items[ret->n], &why) == 0)
            ret->n++;
        else if (stores->n > 1) /* whoever leads tells it when there is a file */
            vel_log(VEL_LOG_INFO, "store %s is not used: %s", store->name, why.text);
    }
    return ret->n > 0 ? 0
                      : vel_fail(err, VEL_ENOENT,
                                 "there is no cache that can be used: %s", why.text);
}

int vel_homes_make(struct vel_fs *fs, const struct vel_conf *conf,
                   const struct vel_host *host, const char *prefix_id,
                   struct vel_homes *ret, struct vel_err *err)
{
    struct vel_comm *self = NULL;
    struct vel_groups *groups = NULL;
    struct vel_stores *stores = NULL;
    int rc = vel_comm_self(&self, err);

    if (rc == 0)
        rc = vel_groups_alone(self, conf, host->node, &groups, err);
    if (rc == 0)
        rc = vel_stores_create(self, conf, groups, &stores, err);
    if (rc == 0)
        rc = make_all(fs, stores, host, prefix_id, ret, err);
    vel_stores_destroy(stores);
    vel_groups_destroy(groups);
    vel_comm_destroy(self);
    if (rc < 0)
        vel_homes_fini(ret);
    return rc;
}
