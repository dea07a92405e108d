/* SPDX-License-Identifier: BSD-3-Clause */
/* pull_links - other nodes as a tool reads them: over connections of its own to their
 * leaders, where a leader is in no hand of the tool's (an agent may lead its node).
 */
#ifndef VEL_PULL_PULL_LINKS_H
#define VEL_PULL_PULL_LINKS_H

#include "pull/pull.h"
#include "sys/clock.h"

/* fs and clock are borrowed, texts until it is created. */
struct vel_pull_links_of {
    struct vel_fs *fs;
    struct vel_clock *clock;
    const char *dir;    /* PREFIX/.veloc */
    const char *launch; /* whose leaders are asked, by their records */
    const char *node;   /* this one */
    unsigned limit_ms;  /* T: who is silent for it is gone */
};

/* A source of one thread, to be destroyed when no pull uses it; accepts NULL. */
int vel_pull_links_create(const struct vel_pull_links_of *of,
                          struct vel_pull_source **ret_source, struct vel_err *err);
void vel_pull_links_destroy(struct vel_pull_source *source);

#endif
