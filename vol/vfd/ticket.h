/* SPDX-License-Identifier: BSD-3-Clause */
/* What the driver finds in a file access property list: which file is meant, where it
 * is, and how it is opened there. Lists are copied all the time, so it is shared. */
#ifndef VEL_VOL_VFD_TICKET_H
#define VEL_VOL_VFD_TICKET_H

#include <stdbool.h>

#include <hdf5.h>

#include "process/files.h"

struct vel_ticket {
    size_t uses;
    char *name; /* as the program calls it */
    enum vel_file_at at;
    char *path, *why;
    struct vel_file *file; /* NULL: it is read only */
    hid_t fapl_id;         /* the user's, with his driver */
    bool is_refused;       /* the last time, by the driver below */
};

struct vel_ticket *vel_ticket_create(hid_t fapl_id, const char *name,
                                     const struct vel_file_answer *answer);
struct vel_ticket *vel_ticket_share(struct vel_ticket *ticket);
void vel_ticket_release(struct vel_ticket *ticket);

#endif
