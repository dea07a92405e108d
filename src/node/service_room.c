/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/log.h"
#include "meta/cache.h"
#include "node/service_room.h"
#include "topo/level.h"
#include "topo/seats.h"
#include "topo/store.h"

enum { ROOM_LEAST = 1 << 20 };

/* --- what stays --- */

int64_t vel_service_keep_of(const struct vel_service *service,
                            const struct vel_line *line, size_t level)
{
    int64_t keep = line ? ((const struct vel_dataset_rule *)line->data)->keep : -1;

    return keep >= 0 ? keep : vel_seats_count(service->conf, level);
}

int64_t vel_service_keep(void *arg, const struct vel_seal *seal, int64_t *ret_store,
                         bool *ret_has_line)
{
    const struct vel_service *service = arg;
    const struct vel_line *line = vel_service_line(service, seal->template);
    size_t level = (size_t)vel_seal_level(seal);

    *ret_has_line = line != NULL;
    *ret_store = (int64_t)vel_seats_store_level(service->conf, level);
    return vel_service_keep_of(service, line, level);
}

/* --- what there is room for --- */

/* A little more than the bytes, since what is written grows. */
static uint64_t more_than(uint64_t bytes)
{
    return bytes + bytes / 16;
}

/* With the redundancy of the level that it has, or that others in the store have. */
static uint64_t with_redundancy(const struct vel_service *service, size_t level,
                                size_t store, uint64_t bytes)
{
    uint64_t own = vel_seats_protected(service->conf, level, bytes),
             others = vel_seats_protected(service->conf, store, bytes);

    return own > others ? own : others;
}

/* Not more than BYTES: with the redundancy that all will have, so that nodes with the
 * same files say the same however far they are. */
static int check_limit(const struct vel_service *service, size_t level, size_t store,
                       const char *home, uint64_t need, struct vel_err *err)
{
    uint64_t limit = vel_seats_limit(service->conf, store), bytes = 0;
    int rc = limit ? vel_cache_bytes(service->fs, home, &bytes, err) : 0;

    if (!limit || rc < 0)
        return rc;
    bytes = with_redundancy(service, level, store, bytes);
    return bytes + need <= limit
               ? 0
               : vel_fail(err, VEL_ENOSPC,
                          "%s has no room for another dataset: BYTES of its store is "
                          "%" PRIu64 ", and what is there takes %" PRIu64,
                          home, limit, bytes);
}

/* The store of a level, as the settings call it. */
static const char *dir_of(const struct vel_service *service, size_t level)
{
    struct vel_ckpt ckpt;

    return vel_level_at(service->conf, level, &ckpt) ? ckpt.store : "";
}

/* VEL_ENOENT, with the reason, which is as it was when the caches were made. */
static int lack_home(const struct vel_service *service, size_t store,
                     struct vel_err *err)
{
    const char *dir = dir_of(service, store);
    const struct vel_store of = {.name = (char *)(uintptr_t)dir,
                                 .can_mkdir =
                                     !vel_seats_foreign_store(service->conf, store)};
    char *base = vel_store_base(service->conf, dir, service->host.node), *home = NULL;
    struct vel_err why = {0};
    int rc = base ? vel_store_check(&of, service->fs, &why)
                  : vel_fail(&why, VEL_ENOENT, "no GROUPS line has this node");

    if (rc == 0)
        rc = vel_cache_make_home(service->fs, base, service->host.user,
                                 service->prefix_id, &home, &why);
    free(home);
    free(base);
    return vel_fail(err, VEL_ENOENT, "store %s is not used: %s", dir,
                    rc < 0 ? why.text : "it could not be when the program began");
}

int vel_service_find_room(const struct vel_service *service, size_t level, size_t store,
                          uint64_t bytes, size_t *ret_home, struct vel_err *err)
{
    const char *foreign = vel_seats_foreign_store(service->conf, store);
    size_t at = vel_seats_home(service->conf, store, service->homes, service->n_homes);
    uint64_t need = with_redundancy(service, level, store, more_than(bytes)), room = 0;
    const char *home;
    int rc;

    if (at == service->n_homes)
        return lack_home(service, store, err);
    home = service->homes[at];
    if (foreign && !vel_fs_exists(service->fs, foreign))
        return vel_fail(err, VEL_ENOSPC, "the store %s is not there", foreign);
    if (vel_fs_space(service->fs, home, &room, NULL) == 0 && room < need + ROOM_LEAST)
        return vel_fail(err, VEL_ENOSPC, "%s has no room for another dataset", home);
    rc = check_limit(service, level, store, home, need, err);
    if (rc == 0)
        *ret_home = at;
    return rc;
}

const char *vel_service_home_for(const struct vel_service *service, size_t level,
                                 uint64_t bytes)
{
    const char *first = NULL;
    size_t store, home;

    if (level >= vel_level_count(service->conf)) /* of other settings */
        level = 0;
    for (size_t k = 0; vel_seats_spill(service->conf, level, k, &store); k++) {
        home = vel_seats_home(service->conf, store, service->homes, service->n_homes);
        if (home == service->n_homes)
            continue;
        first = first ? first : service->homes[home];
        if (vel_service_find_room(service, level, store, bytes, &home, NULL) == 0)
            return service->homes[home];
    }
    return first ? first : service->homes[0];
}

/* --- what is told of stores --- */

static void tell(const struct vel_service *service, enum vel_log_level how,
                 const struct vel_err *why, size_t store)
{
    vel_log(how, "%s; files go to %s", why->text, dir_of(service, store));
}

void vel_service_tell_spill(struct vel_service *service, size_t level, size_t store,
                            const struct vel_err *why)
{
    uint64_t bit = level < 64 ? UINT64_C(1) << level : 0;

    tell(service, bit & ~service->told_spills ? VEL_LOG_WARN : VEL_LOG_DEBUG, why,
         store);
    service->told_spills |= bit;
}

void vel_service_tell_unused_stores(const struct vel_service *service, size_t level,
                                    size_t store)
{
    struct vel_err why = {0};
    size_t other;

    for (size_t k = 1; vel_seats_spill(service->conf, level, k, &other); k++)
        if (vel_seats_home(service->conf, other, service->homes, service->n_homes) ==
            service->n_homes) {
            lack_home(service, other, &why);
            tell(service, VEL_LOG_WARN, &why, store);
        }
}
