/* SPDX-License-Identifier: BSD-3-Clause */
/* joined - who has joined a launch that may be ours. */
#ifndef VEL_IDENT_JOINED_H
#define VEL_IDENT_JOINED_H

#include <stdbool.h>

#include "base/err.h"
#include "ident/launchid.h"
#include "sys/fs.h"

struct vel_joined {
    bool has_any, has_rank; /* ours */
    bool has_lost;          /* one, without a word: the program was killed */
    bool is_left;           /* those whom it had are gone in good order; of a launch
                               whose name was given others may come */
    bool is_alive;          /* one, as the locks of this machine tell; */
    bool is_dead;           /* or none, and nobody has joined elsewhere */
};

/* `dir` is the launch's. Who leaves meanwhile is alive, or has left, and is not dead.
 */
int vel_joined_find(struct vel_fs *fs, const struct vel_launch_self *self,
                    const char *launch, const char *dir, struct vel_joined *ret,
                    struct vel_err *err);

#endif
