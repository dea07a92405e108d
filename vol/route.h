/* SPDX-License-Identifier: BSD-3-Clause */
/* Where a file is opened that the program names: the engine is asked, and the list of
 * access properties for the connector below is changed after its answer. */
#ifndef VEL_VOL_ROUTE_H
#define VEL_VOL_ROUTE_H

#include <stdbool.h>

#include <hdf5.h>

#include "info.h"
#include "process/files.h"
#include "vfd/driver.h"

struct vel_route {
    struct vel_file_answer answer;
    struct vel_placed placed;
    hid_t own_id; /* the program's list, which is that for the file at its own path */
    bool is_new;  /* it is created */
    bool is_read; /* and not written: nothing keeps it where it is */
    bool is_self; /* MPI-IO opens it for this process alone, where it is at its own path
                   */
};

/* `*fapl_id` is the program's list, and is replaced by one for the connector below when
 * that is to find the file elsewhere. To be ended, also after a failure, which leaves
 * an error on the stack. */
int vel_route_create(struct vel_route *route, const struct vel_info *info,
                     const char *name, unsigned flags, hid_t *fapl_id);
int vel_route_open(struct vel_route *route, const struct vel_info *info,
                   const char *name, unsigned flags, hid_t *fapl_id);
int vel_route_look(struct vel_route *route, const struct vel_info *info,
                   const char *name, hid_t *fapl_id);

/* The file is open now, or could not be opened. True: it is to be tried at its own
 * path, as without us: because it could not be made in the cache, which may be
 * full, or for the errors of HDF5 alone. */
bool vel_route_settle(struct vel_route *route, hid_t fapl_id, bool is_open);

/* It could not be opened: was it not where it was said to be? */
bool vel_route_is_stale(const struct vel_route *route);
void vel_route_end(struct vel_route *route, hid_t fapl_id);

/* It is going to be removed. *ret_is_gone: and is. */
int vel_route_remove(const struct vel_info *info, const char *name, hid_t fapl_id,
                     bool *ret_is_gone);

#endif
