/* SPDX-License-Identifier: BSD-3-Clause */
/* temp - the name that a file has beside its destination while it is on its way there.
 */
#ifndef VEL_XFER_TEMP_H
#define VEL_XFER_TEMP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* ".<base>.h5v-<id>.tmp" in the directory of `dest`, as a new string. The same for the
 * same file and dataset, so that what a crash left behind is found again; a long base
 * is cut and told from its like by its checksum. VEL_EINVAL when dest names no file. */
int vel_xfer_temp_name(const char *dest, uint64_t dataset_id, char **ret_name,
                       struct vel_err *err);

/* The same for owner K of the dataset (doc/protocol.txt, 4), 0: none:
 * ".<base>.h5v-<id>[.<K>].tmp". */
int vel_xfer_temp_owned(const char *dest, uint64_t dataset_id, uint64_t owner,
                        char **ret_name, struct vel_err *err);

/* Is `name`, without directory, such a name of any kind, and of which dataset? ret_id
 * may be NULL.
 */
bool vel_xfer_temp_parse(const char *name, uint64_t *ret_id);

/* And of which owner; 0: none. */
bool vel_xfer_temp_parse_owned(const char *name, uint64_t *ret_id, uint64_t *ret_owner);

#endif
