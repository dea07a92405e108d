/* SPDX-License-Identifier: BSD-3-Clause */
/* guest - what an agent does for launches of a prefix that have no process on its node:
 * where rank 0 alone has files, their redundancy must be on other nodes. It makes the
 * directory of a role for itself, as a process would, and leads there
 * (doc/protocol.txt, 5).
 */
#ifndef VEL_PROCESS_GUEST_H
#define VEL_PROCESS_GUEST_H

#include "base/err.h"
#include "conf/conf.h"
#include "sys/fs.h"
#include "sys/host.h"

struct vel_guest;

/* Of the prefix that the settings name, else the working directory, whether it has
 * records yet or not. host and conf are borrowed. */
int vel_guest_create(const struct vel_host *host, const struct vel_conf *conf,
                     struct vel_guest **ret_guest, struct vel_err *err);
void vel_guest_destroy(struct vel_guest *guest);

/* Look for such launches. Of the thread that will ask always: it never waits long. */
void vel_guest_look(struct vel_guest *guest);

#endif
