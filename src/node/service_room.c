/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <inttypes.h>

#include "meta/cache.h"
#include "node/service_room.h"
#include "topo/seats.h"

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
    size_t level = seal->members.n > 0 ? (size_t)vel_seal_at(seal, 0)->level : 0;

    *ret_has_line = line != NULL;
    *ret_store = (int64_t)vel_seats_store_level(service->conf, level);
    return vel_service_keep_of(service, line, level);
}

/* --- what there is room for --- */

/* A little more, since what is written grows, with its redundancy. */
static uint64_t need_of(const struct vel_service *service, size_t level, uint64_t bytes)
{
    return vel_seats_protected(service->conf, level, bytes + bytes / 16);
}

/* Not more than BYTES: with the redundancy that all will have, so that nodes with the
 * same files say the same however far they are. */
static int check_limit(const struct vel_service *service, size_t level,
                       const char *home, uint64_t need, struct vel_err *err)
{
    uint64_t limit = vel_seats_limit(service->conf, level), bytes = 0;

    if (!limit || vel_cache_bytes(service->fs, home, &bytes, NULL) < 0)
        return 0;
    bytes = vel_seats_protected(service->conf, level, bytes);
    return bytes + need <= limit
               ? 0
               : vel_fail(err, VEL_ENOSPC,
                          "%s has no room for another dataset: BYTES of its store is "
                          "%" PRIu64 ", and what is there takes %" PRIu64,
                          home, limit, bytes);
}

int vel_service_check_room(const struct vel_service *service, size_t level,
                           const char *home, uint64_t bytes, struct vel_err *err)
{
    const char *store = vel_seats_foreign_store(service->conf, level);
    uint64_t need = need_of(service, level, bytes);
    uint64_t room = 0;

    if (store && !vel_fs_exists(service->fs, store))
        return vel_fail(err, VEL_ENOSPC, "the store %s is not there", store);
    if (vel_fs_space(service->fs, home, &room, NULL) == 0 && room < need + ROOM_LEAST)
        return vel_fail(err, VEL_ENOSPC, "%s has no room for another dataset", home);
    return check_limit(service, level, home, need, err);
}
