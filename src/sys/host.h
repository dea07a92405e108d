/* SPDX-License-Identifier: BSD-3-Clause */
/* host - who we are on which node.
 *
 * The node's name is the machine's unless it is set: virtual nodes on one machine have
 * names of their own, and everything that asks which ranks die together asks here. The
 * names become parts of paths, so they have nothing in them that a path could trip
 * over.
 */
#ifndef VEL_SYS_HOST_H
#define VEL_SYS_HOST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "sys/fs.h"

struct vel_host {
    char *node; /* belongs to the struct */
    char *user; /* the effective user's name, "uid1234" when he has none here */
};

int vel_host_init(struct vel_host *ret_host, struct vel_err *err);
void vel_host_fini(struct vel_host *host);

/* Another name for the node; VEL_EINVAL when vel_host_is_name() says no. */
int vel_host_set_node(struct vel_host *host, const char *node, struct vel_err *err);

/* The same for the user. */
int vel_host_set_user(struct vel_host *host, const char *user, struct vel_err *err);

/* Are two nodes the same, or virtual ones (HOST.vN) of one machine? */
bool vel_host_is_beside(const char *node, const char *other);

/* 1 to 200 letters, digits, and "._-", not beginning with a dot or a dash. */
bool vel_host_is_name(const char *name);

/* Of this machine since it was started: text, and zeros behind it. */
enum { VEL_HOST_BOOT = 40 };
int vel_host_boot(struct vel_fs *fs, char ret[VEL_HOST_BOOT], struct vel_err *err);
/* The same as a number; 0: it is not known. */
int64_t vel_host_boot_number(struct vel_fs *fs);

/* A process of this machine, as the system tells of it. VEL_ENOENT: there is none. */
struct vel_process {
    char name[32];
    int64_t parent;
    uint64_t start;  /* since the machine was */
    uint64_t worked; /* ticks of the processor, for all its threads */
};
int vel_host_process(struct vel_fs *fs, int64_t pid, struct vel_process *ret,
                     struct vel_err *err);

/* Is that process an ancestor of this one? */
enum { VEL_HOST_ABOVE = 32 }; /* so many are looked at */
bool vel_host_is_above(struct vel_fs *fs, int64_t pid);

#endif
