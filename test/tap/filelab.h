/* SPDX-License-Identifier: BSD-3-Clause */
/* filelab - a launch on virtual nodes in one process: a leader of each node at work on
 * real files, and clients that do what a program does with its files through them. */
#ifndef TEST_TAP_FILELAB_H
#define TEST_TAP_FILELAB_H

#include <stdbool.h>
#include <stdint.h>

#include "ident/role.h"
#include "link/client.h"
#include "meta/prefix.h"
#include "node/service.h"

enum { FILELAB_NODES = 4, FILELAB_RANKS = 8 };

struct filelab {
    char root[200], prefix[220], dir[240], cntl[220];
    int nodes, ranks; /* rank r is on node r * nodes / ranks */
    char launch[32], id[VEL_PREFIX_ID];
    struct vel_conf *conf;
    struct vel_fs *fs; /* of leaders; NULL: the real one */
    int guests;        /* so many nodes, the last ones, have no ranks, but an agent */
    struct vel_host host[FILELAB_NODES];
    char *home[FILELAB_NODES];
    struct vel_role *alive[FILELAB_NODES];
    struct vel_service *service[FILELAB_NODES];
    struct vel_client *client[FILELAB_RANKS];
};

/* Nothing is there yet: directories below tap_dir()/name, and settings of which `text`
 * has more lines. */
void filelab_init(struct filelab *lab, const char *name, int nodes, int ranks,
                  const char *text);
void filelab_fini(struct filelab *lab);

/* Other settings for the next launch. */
void filelab_set(struct filelab *lab, const char *text);

/* A launch begins: leaders lead, ranks are connected. And ends in good order, when all
 * is done that is owed. */
void filelab_begin(struct filelab *lab, const char *launch);
void filelab_end(struct filelab *lab);
/* The same in a thread that makes no checks: a node whose leader leaves something
 * undone, or -1. */
int filelab_leave(struct filelab *lab);

/* The leader of a node dies, and another one leads there. */
void filelab_lead_again(struct filelab *lab, int node);

/* Ranks and leader of one node alone end, in good order or by a power loss. */
void filelab_end_node(struct filelab *lab, int node, bool is_well);

/* One that ends with its processes: nobody does anything more. */
void filelab_drop(struct filelab *lab);

/* A node loses its cache. */
void filelab_lose(struct filelab *lab, int node);

/* "<prefix>/<name>"; the last 8 results stay good. */
const char *filelab_path(const struct filelab *lab, const char *name);

/* A rank creates a file at `name`: where. */
int filelab_create(struct filelab *lab, int rank, const char *name,
                   struct vel_place *ret, struct vel_err *err);
/* It writes `text` there, and closes it. */
int filelab_close(struct filelab *lab, int rank, const struct vel_place *place,
                  const char *text, struct vel_err *err);
/* Both. A status; the test ends when the file gets no place in the cache. */
int filelab_write(struct filelab *lab, int rank, const char *name, const char *text,
                  struct vel_err *err);

/* What a rank reads at `name`, pulled if need be: a new string. NULL: nothing, and
 * *err says why. */
char *filelab_read(struct filelab *lab, int rank, const char *name,
                   struct vel_err *err);
bool filelab_reads(struct filelab *lab, int rank, const char *name, const char *text);

/* Is that what stands on the prefix? */
bool filelab_stands(const struct filelab *lab, const char *name, const char *text);

/* All that is closed is sealed and done: waits for it. */
void filelab_drain(struct filelab *lab);

/* How many datasets are on the prefix, by the index? */
int filelab_published(const struct filelab *lab);

#endif
