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

/* Which of this node's caches is that of the store of level `store`, for another part
 * of so many bytes of `level`? VEL_ENOENT: it has none; VEL_ENOSPC: there is no room.
 */
int vel_service_find_room(const struct vel_service *service, size_t level, size_t store,
                          uint64_t bytes, size_t *ret_home, struct vel_err *err);

/* The cache for parts of a dataset of `level` that are not on this node yet: that of
 * its store, or of the next one with room; where none has any the first of them. */
const char *vel_service_home_for(const struct vel_service *service, size_t level,
                                 uint64_t bytes);

/* A file of `level` goes to the store of level `store`. Told once: why it is not its
 * own; and with the first file which stores of other levels are not used. */
void vel_service_tell_spill(struct vel_service *service, size_t level, size_t store,
                            const struct vel_err *why);
void vel_service_tell_unused_stores(const struct vel_service *service, size_t level,
                                    size_t store);

#endif
