/* SPDX-License-Identifier: BSD-3-Clause */
/* presence - this process in a launch: it says that it lives here, and reaches the
 * leader of this node, or leads itself when nobody does (doc/protocol.txt, 5).
 *
 * A process may be in a launch more than once, as by a session and by files that HDF5
 * writes: each is a presence of its own, and one of them leads at most.
 */
#ifndef VEL_PROCESS_PRESENCE_H
#define VEL_PROCESS_PRESENCE_H

#include <stdbool.h>

#include "engine/background.h"
#include "link/client.h"

struct vel_presence;

/* `of` is copied, what it points to must outlive the presence; of->fresh is the name of
 * the launch. */
int vel_presence_open(const struct vel_background_of *of,
                      struct vel_presence **ret_presence, struct vel_err *err);

/* Until it is decided what can be restored. */
int vel_presence_wait_for_view(struct vel_presence *presence, struct vel_err *err);

/* To ask the leader; belongs to the presence. */
struct vel_client *vel_presence_client(struct vel_presence *presence);

/* Does what is owed go on when all processes of the launch have ended (an agent)? */
bool vel_presence_outlives(const struct vel_presence *presence);

enum vel_presence_end {
    VEL_PRESENCE_BREAKS,   /* without a word, as after a failure of ours */
    VEL_PRESENCE_GOES,     /* it needs us no more; */
    VEL_PRESENCE_ENDS,     /* with the program, in good order; */
    VEL_PRESENCE_ENDS_MPI, /* after MPI_Finalize: no rank begins any more; */
    VEL_PRESENCE_FAILS,    /* with the program, not in good order */
};

/* The presence is gone. When it leads and no other process does, its leader goes on:
 * until all is done, while bytes move at the program's end, else for T at most. Accepts
 * NULL. */
int vel_presence_leave(struct vel_presence *presence, enum vel_presence_end how,
                       struct vel_err *err);

/* In a forked child: none of it is the child's. Accepts NULL. */
void vel_presence_abandon(struct vel_presence *presence);

#endif
