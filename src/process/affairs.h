/* SPDX-License-Identifier: BSD-3-Clause */
/* affairs - what the launches of a user are doing on this machine, as h5veloc-agent
 * tells it: who leads them, what is left to do, and what was promised in its caches.
 */
#ifndef VEL_PROCESS_AFFAIRS_H
#define VEL_PROCESS_AFFAIRS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"
#include "conf/conf.h"
#include "sys/fs.h"
#include "sys/host.h"

enum vel_affair_leader { VEL_LED_BY_NOBODY, VEL_LED_BY_PROCESS, VEL_LED_BY_AGENT };

/* A launch that has a role here. */
struct vel_affair {
    char *launch, *node, *prefix, *endpoint;
    enum vel_affair_leader leader;
    bool has_processes;
    uint64_t left, moved; /* bytes */
    struct vel_err err;   /* why this is not known, or is not done; VEL_OK: nothing */
};

/* A dataset for which something was promised here. */
struct vel_affair_owed {
    int64_t dataset;
    char *node, *launch, *dir;
    bool is_encode, is_flush;
    bool is_led;         /* somebody here leads the launch to which it was promised */
    bool is_aside;       /* the last launch did not find all of the dataset */
    struct vel_err last; /* why it was not done yet; VEL_OK: nothing has failed */
};

struct vel_affairs {
    bool has_agent;
    struct vel_vec launches; /* struct vel_affair */
    struct vel_vec owed;     /* struct vel_affair_owed */
};

/* Each leader is given limit_ms to answer. Caches are those of the settings and those
 * of the launches. */
int vel_affairs_load(struct vel_fs *fs, const struct vel_host *host,
                     const struct vel_conf *conf, unsigned limit_ms,
                     struct vel_affairs *ret, struct vel_err *err);
void vel_affairs_fini(struct vel_affairs *affairs);

/* Wait until the leader of that launch has nothing left to do, or cannot go on: then
 * left is not 0, and err says why. VEL_ENOENT: its leader has ended meanwhile. */
void vel_affair_drain(struct vel_affair *affair, unsigned limit_ms);

#endif
