/* SPDX-License-Identifier: BSD-3-Clause */
/* compose - a dataset of the connector's files gets what one of the API has from its
 * session: a name and numbers, a level, and its sets (doc/life.txt, 8).
 *
 * Pure: whoever seals knows which rank has files on which node, and the settings.
 */
#ifndef VEL_JOBS_COMPOSE_H
#define VEL_JOBS_COMPOSE_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/err.h"
#include "brain/seal.h"
#include "conf/conf.h"

struct vel_compose {
    const struct vel_conf *conf;
    const struct vel_line *line; /* DATASET; NULL: no rule has its files */
    int64_t id, checkpoint;      /* the number that it has if it is one */
    struct timespec created;     /* when its id was given */
    const double *seconds_since; /* each level was used last; NULL: those by time are
                                    not due */
};

/* The DATASET line that a template is of; NULL: of none. */
const struct vel_line *vel_compose_line(const struct vel_conf *conf,
                                        const char *template);

/* The name of a template: that of the rule, or the template in readable form. New
 * string; NULL when out of memory. */
char *vel_compose_name(const struct vel_line *line, const char *template);

/* The step when it is a number that a version can be. */
int64_t vel_compose_version(const char *step, int64_t otherwise);

/* The level in whose store its files are written, before anything but their names is
 * known. VEL_ECONFIG: none. */
int vel_compose_first_level(const struct vel_conf *conf,
                            const struct vel_dataset_rule *rule, size_t *ret_level,
                            struct vel_err *err);

/* Complete a seal, of which the key, the verdict and a member with node, files and
 * bytes for each rank are there: id, about, what, and of its members set, place, level,
 * scheme and failures. *ret_why is a sentence when it has no redundancy though its
 * level has some. */
int vel_compose(const struct vel_compose *of, struct vel_seal *seal,
                struct vel_err *ret_why, struct vel_err *err);

#endif
