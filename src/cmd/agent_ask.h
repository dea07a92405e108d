/* SPDX-License-Identifier: BSD-3-Clause */
/* agent_ask - what h5veloc-agent tells and does for a person, beside serving. */
#ifndef VEL_CMD_AGENT_ASK_H
#define VEL_CMD_AGENT_ASK_H

#include <stdbool.h>

#include "conf/conf.h"
#include "sys/host.h"

/* Wait until nothing is left to do; lead the launches whose programs are gone, when no
 * agent does. Tells what is left. Returns the exit code. */
int vel_cmd_agent_drain(const struct vel_conf *conf, const struct vel_host *host);

/* End the agent. */
int vel_cmd_agent_stop(const struct vel_conf *conf, const struct vel_host *host);

/* Print who leads what, and what is left. */
int vel_cmd_agent_status(const struct vel_conf *conf, const struct vel_host *host,
                         bool json);

#endif
