/* SPDX-License-Identifier: BSD-3-Clause */
/* memory - where the images of a checkpoint are. */
#ifndef VEL_API_MEMORY_H
#define VEL_API_MEMORY_H

#include "api/state.h"

/* The path of the image of a region list (NULL: the unnamed one) of the checkpoint or
 * restart under way, in the cache or wherever it is; a new string. */
int vel_api_image_path(struct vel_api *api, const char *region, char **ret_path,
                       struct vel_err *err);

#endif
