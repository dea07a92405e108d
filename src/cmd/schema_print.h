/* SPDX-License-Identifier: BSD-3-Clause */
/* schema_print - settings for people, for scripts and for the manual. */
#ifndef VEL_CMD_SCHEMA_PRINT_H
#define VEL_CMD_SCHEMA_PRINT_H

#include "conf/conf.h"
#include "record/json.h"

void vel_schema_print(const struct vel_conf *conf);

/* NULL when out of memory. */
json_t *vel_schema_json(const struct vel_conf *conf);

/* The SETTINGS section of veloc.conf(5) in roff. */
void vel_schema_print_man(void);

#endif
