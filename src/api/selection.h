/* SPDX-License-Identifier: BSD-3-Clause */
/* selection - which regions a call means: all, some by their ids, or the rest. */
#ifndef VEL_API_SELECTION_H
#define VEL_API_SELECTION_H

#include <stdbool.h>

#include "base/err.h"
#include "base/vec.h"

/* The values of VELOC_CKPT_ALL, _SOME, _REST and of VELOC_RECOVER_ALL, _SOME, _REST. */
enum vel_select {
    VEL_SELECT_ALL = 0,  /* every region; ids are ignored */
    VEL_SELECT_SOME = 1, /* those of the ids */
    VEL_SELECT_REST = 2, /* all but those of the ids */
};

struct vel_selection {
    enum vel_select mode;
    struct vel_vec ids; /* int, rising */
};

/* From what a program handed in: VEL_EINVAL when there is no such mode, when n is
 * negative, when ids is NULL though n is not 0, or when an id is there twice. The ids
 * are copied. Whether they are known is for those to say who have regions. */
int vel_selection_init(struct vel_selection *selection, int mode, const int *ids, int n,
                       struct vel_err *err);
void vel_selection_fini(struct vel_selection *selection);

bool vel_selection_takes(const struct vel_selection *selection, int id);

#endif
