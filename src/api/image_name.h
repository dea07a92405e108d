/* SPDX-License-Identifier: BSD-3-Clause */
/* image_name - the file names of checkpoint images (doc/format-mem.txt, 1), made of
 * words that a user chose. */
#ifndef VEL_API_IMAGE_NAME_H
#define VEL_API_IMAGE_NAME_H

#include "base/err.h"

enum { VEL_IMAGE_NAME_MOST = 240 }; /* bytes of a whole file name */

/* Can `text` be part of a file name? VEL_EINVAL when it is NULL, empty, too long, or
 * has a slash or a control character. `what` is for the sentence: "the name of a
 * checkpoint". */
int vel_image_name_check(const char *what, const char *text, struct vel_err *err);

/* "NAME-RANK-VERSION.dat", with a region's name "NAME-REGION-RANK-VERSION.dat": a new
 * string without a directory, which the caller frees. `region` is NULL for the unnamed
 * regions; rank is 0 or more. VEL_EINVAL when a name cannot be part of a file name, all
 * together is too long, or version is negative.
 *
 * No two images of one checkpoint have the same name. Those of two checkpoints can:
 * region "b" of checkpoint "a" and the unnamed regions of checkpoint "a-b". */
int vel_image_name(const char *name, const char *region, int rank, int version,
                   char **ret_name, struct vel_err *err);

#endif
