/* SPDX-License-Identifier: BSD-3-Clause */
/* watch - whoever waits for a transfer: told how it goes on, asked whether it should.
 */
#ifndef VEL_XFER_WATCH_H
#define VEL_XFER_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vel_watch {
    /* `bytes` more have moved since the last call, often 0. false: stop, the transfer
     * fails with VEL_ECANCEL. Called many times a second by the thread that moves. */
    bool (*step)(void *arg, uint64_t bytes);
    void *arg;
};

/* Nobody watches: go on. */
static inline bool vel_watch_step(const struct vel_watch *watch, uint64_t bytes)
{
    return !watch || watch->step(watch->arg, bytes);
}

#endif
