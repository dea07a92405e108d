/* SPDX-License-Identifier: BSD-3-Clause */
/* attend - what a session asks of its background (engine/background.h), asked of the
 * leader of this node: found, or led by this process itself when nobody leads
 * (doc/protocol.txt, 5; doc/life.txt, 15).
 */
#ifndef VEL_PROCESS_ATTEND_H
#define VEL_PROCESS_ATTEND_H

#include "engine/background.h"

/* The one of this process, to be offered to the engine. */
struct vel_background *vel_attend(void);

/* The launch of the session that it serves now, for files with the same prefix; NULL:
 * none. *ret_differs: but for its caches, which are others. */
const char *vel_attend_launch(const struct vel_background_of *of, bool *ret_differs);

/* Have both the same prefix and caches? Of both only prefix_id and homes count; that
 * their settings have other lines is warned of, when both are known. */
bool vel_attend_fits(const struct vel_background_of *a,
                     const struct vel_background_of *b, bool *ret_differs);

/* The process ends, and its session has not been closed. */
void vel_attend_end(bool is_in_order);

#endif
