/* SPDX-License-Identifier: BSD-3-Clause */
/* load - all layers of settings together: system file, user file, environment. */
#ifndef VEL_CONF_LOAD_H
#define VEL_CONF_LOAD_H

#include <stdbool.h>

#include "conf/conf.h"
#include "sys/fs.h"

struct vel_conf_layers {
    const char *system_file; /* NULL: VELOC_SYSTEM_FILE, else SYSCONFDIR/h5veloc.conf if
                                there */
    const char *user_file;   /* NULL: VELOC_CONF_FILE or SCR_CONF_FILE, else
                                PREFIX/.velocconf or   .scrconf if there */
    const char *unlisted, *dataset; /* in the connector's information: UNLISTED=, and
                                       lines without DATASET=; NULL: not there */
    bool no_environment;            /* for tests */
};

/* Read what there is onto `conf`, which may hold what the program gave, and finish it.
 * A file that was named must be there. Variables that look like ours and are none are
 * told in one warning. */
int vel_conf_load(struct vel_conf *conf, struct vel_fs *fs,
                  const struct vel_conf_layers *layers, struct vel_err *err);

/* The two halves of it, between which one process may tell all others what it has read
 * (conf/texts.h): the files as they are, and what they mean. */
int vel_conf_gather(const struct vel_conf *conf, struct vel_fs *fs,
                    const struct vel_conf_layers *layers, struct vel_vec *texts,
                    struct vel_err *err);
int vel_conf_apply(struct vel_conf *conf, const struct vel_vec *texts,
                   const struct vel_conf_layers *layers, struct vel_err *err);

/* Take over the variables of the environment VELOC_* and SCR_*, and the lines in
 * VELOC_DATASET or SCR_DATASET; the names of those that are unknown are appended to
 * *unknown, with the nearest known ones. */
int vel_conf_environment(struct vel_conf *conf, struct vel_buf *unknown,
                         struct vel_err *err);

/* A variable of the environment, or NULL: the one door. `arg` is not used. */
const char *vel_conf_variable(void *arg, const char *name);

/* The id of the allocation that this process is in: recorded, and nothing else. */
const char *vel_conf_job_id(const struct vel_conf *conf);

/* When it ends, seconds since 1970, as told, else as the scheduler says; 0: unknown. */
int64_t vel_conf_end_time(const struct vel_conf *conf);

#endif
