/* SPDX-License-Identifier: BSD-3-Clause */
/* logsink - LOG_LEVEL, DEBUG and LOG_FILE in force: where messages go, and how many. */
#ifndef VEL_ENGINE_LOGSINK_H
#define VEL_ENGINE_LOGSINK_H

#include "base/log.h"
#include "conf/conf.h"
#include "sys/fs.h"
#include "sys/logfile.h"

/* Install the sink of base/log.h that the settings ask for; `sink` gives who and
 * is_speaker. LOG_FILE may be a directory: then it is one file of each node there.
 * *ret_file: to be closed when another sink is installed; NULL: standard error. */
int vel_logsink_open(const struct vel_conf *conf, struct vel_fs *fs, const char *node,
                     const struct vel_log_sink *sink, struct vel_logfile **ret_file,
                     struct vel_err *err);

#endif
