/* SPDX-License-Identifier: BSD-3-Clause */
/* role_in - what role.c (one's own role) and role_away.c (roles of which nobody may be
 * there) have in common. */
#ifndef VEL_IDENT_ROLE_IN_H
#define VEL_IDENT_ROLE_IN_H

#include "ident/role.h"
#include "sys/lock.h"

struct vel_role {
    struct vel_fs *fs;
    const struct vel_host *host;
    char *launch; /* NULL: the agent's */
    char *dir, *lock_path, *alive_path, *mark_path, *endpoint;
    struct vel_lock *lock;
    int alive; /* descriptor, -1: not locked */
};

enum { VEL_ROLE_RETRY_MS = 10 };

/* What the directory of each launch's role is called, before its number. */
#define VEL_ROLE_PREFIX "leader."

/* Without making it; launch NULL: it is not known, or an agent's. NULL: no memory. */
struct vel_role *vel_role_alloc(struct vel_fs *fs, const struct vel_host *host,
                                const char *launch, const char *dir);

/* The file that those who live share. */
int vel_role_open_alive(struct vel_role *role, int flags, int *ret_fd,
                        struct vel_err *err);

#endif
