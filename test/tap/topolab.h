/* SPDX-License-Identifier: BSD-3-Clause */
/* topolab - groups, stores and descriptors from the text of a configuration. */
#ifndef TEST_TAP_TOPOLAB_H
#define TEST_TAP_TOPOLAB_H

#include <stdbool.h>

#include "comm/comm.h"
#include "conf/conf.h"
#include "topo/reddesc.h"

/* The settings that a file with this text gives; settings that are no good end the
 * program. */
struct vel_conf *topolab_conf(const char *text);

/* The text on one line, for that of a check; belongs to topolab. */
const char *topolab_line(const char *text);

/* "<name><i>": the node of this rank when there are n of them. The result stays good
 * until the next call. */
const char *topolab_node(const struct vel_comm *comm, const char *name, int n);

struct topolab {
    struct vel_conf *conf;
    struct vel_groups *groups;
    struct vel_stores *stores;
    struct vel_reddescs *descs;
    struct vel_err err; /* of the first step that failed; what follows is NULL */
};

/* Collective over world, as whoever `user` with prefix "uuid": all of it for a rank on
 * that node. Returns a status. */
int topolab_open(struct vel_comm *world, const char *text, const char *node,
                 struct topolab *ret);
void topolab_close(struct topolab *lab);

/* Collective over the set. Is it in the order of its places, and a ring of neighbours?
 * Nodes are those that topolab_node() gives. */
bool topolab_is_ring(const struct vel_comm *world, const struct vel_reddesc *desc,
                     const char *name, int n);

/* The log from here on: lines are counted, and the last one is kept. This process
 * speaks for all if it is told to. NULL ends it. */
struct topolab_log {
    int infos, warnings;
    char last[512];
};
void topolab_listen(struct topolab_log *log, bool is_speaker);

#endif
