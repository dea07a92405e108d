/* SPDX-License-Identifier: BSD-3-Clause */
/* service_room - what STORE and DATASET lines say of room: how many datasets of the
 * connector stay in a store, and whether there is room for another one. */
#ifndef VEL_NODE_SERVICE_ROOM_H
#define VEL_NODE_SERVICE_ROOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "node/service_in.h"

/* So many of a line (NULL: of none) stay in the store of a level: KEEP, else COUNT. */
int64_t vel_service_keep_of(const struct vel_service *service,
                            const struct vel_line *line, size_t level);
/* As the brain asks. */
int64_t vel_service_keep(void *arg, const struct vel_seal *seal, int64_t *ret_store,
                         bool *ret_has_line);

/* Is there room in `home`, the cache of a level here, for another part of so many
 * bytes? VEL_ENOSPC. */
int vel_service_check_room(const struct vel_service *service, size_t level,
                           const char *home, uint64_t bytes, struct vel_err *err);

#endif
