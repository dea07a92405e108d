/* SPDX-License-Identifier: BSD-3-Clause */
/* file - what a file of settings means. */
#ifndef VEL_CONF_FILE_H
#define VEL_CONF_FILE_H

#include "conf/conf.h"
#include "conf/lex.h"
#include "sys/fs.h"

/* Take over the settings of a file whose bytes are at hand. The first fault ends it
 * with a sentence "FILE:LINE: ..."; the settings are of no use then. */
int vel_conf_parse(struct vel_conf *conf, enum vel_layer layer, const char *file,
                   const char *bytes, size_t len, vel_variable_f *variable, void *arg,
                   struct vel_err *err);

#endif
