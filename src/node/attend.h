/* SPDX-License-Identifier: BSD-3-Clause */
/* attend - what a session asks of its background (engine/background.h), asked of the
 * leader of this node: found, or led by this process itself when nobody leads
 * (doc/protocol-leader.txt, 4 and 11).
 */
#ifndef VEL_NODE_ATTEND_H
#define VEL_NODE_ATTEND_H

#include "engine/background.h"

/* The one of this process, to be offered to the engine. */
struct vel_background *vel_attend(void);

/* The launch of the session that it serves now; NULL: none. */
const char *vel_attend_launch(void);

#endif
