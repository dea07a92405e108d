/* SPDX-License-Identifier: BSD-3-Clause */
/* agent_led - one launch of an agent's: a thread takes its role, has it led until it is
 * over, and removes its directory.
 */
#ifndef VEL_NODE_AGENT_LED_H
#define VEL_NODE_AGENT_LED_H

#include <stdbool.h>

#include "base/err.h"
#include "conf/conf.h"
#include "sys/fs.h"
#include "sys/host.h"

struct vel_led;

struct vel_led_of {
    struct vel_fs *fs;
    const struct vel_host *host;
    const struct vel_conf *conf; /* the agent's: PEER_TIMEOUT */
    bool only_deserted;          /* not while a process of it lives here */
    void (*done)(void *arg);     /* its thread is about to end; from there */
    void *arg;
};

/* Begin with the launch whose role has the directory `dir`; all but dir is borrowed. */
int vel_led_start(const struct vel_led_of *of, const char *dir,
                  struct vel_led **ret_led, struct vel_err *err);

const char *vel_led_dir(const struct vel_led *led);

/* Has its thread nothing more to do? *ret_rc: 0, or why the launch was not led. */
bool vel_led_is_done(const struct vel_led *led, int *ret_rc);

/* Ask it to give the role back; destroy waits for that. */
void vel_led_ask_end(struct vel_led *led);
void vel_led_destroy(struct vel_led *led);

#endif
