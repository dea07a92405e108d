/* SPDX-License-Identifier: BSD-3-Clause */
/* mark_in - what programs say of datasets on the prefix (jobs/mark.h): the chair does
 * it, one after the other. Who does not wait is answered at once. */
#ifndef VEL_BRAIN_MARK_IN_H
#define VEL_BRAIN_MARK_IN_H

#include "brain/leader_in.h"

/* It begins to wait; NULL when out of memory. */
void vel_mark_hear(struct vel_leader *leader, struct vel_leader_wait *wait,
                   const struct vel_msg_mark *mark);

/* True: over. */
bool vel_mark_try(struct vel_leader *leader, struct vel_leader_wait *wait);

/* Is it this one's turn to be told to the chair? */
bool vel_mark_is_next(const struct vel_leader *leader,
                      const struct vel_leader_wait *wait);
void vel_mark_done(struct vel_leader *leader, uint64_t job, int rc, const char *text);

/* Is any not done yet? */
bool vel_mark_is_left(const struct vel_leader *leader);

#endif
