/* SPDX-License-Identifier: BSD-3-Clause */
/* store - the storage that holds cached datasets: which directory, who shares it, how
 * much it may hold. */
#ifndef VEL_TOPO_STORE_H
#define VEL_TOPO_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "comm/comm.h"
#include "conf/conf.h"
#include "sys/fs.h"
#include "topo/group.h"

/* FLUSH_PLUGIN does, where no line says otherwise. */
enum { VEL_STORE_PLUGIN = -1 };

struct vel_store {
    char *name; /* its directory, which is its key */
    char *base; /* where this rank's node keeps its things: name, or a directory of each
                   node's own below it while nodes are virtual */
    bool enabled;
    uint32_t index;                /* in the list */
    const struct vel_group *group; /* which ranks share it */
    struct vel_comm *comm;         /* those that share this rank's, by rank */
    int64_t count;                 /* complete datasets it may hold */
    int type;                      /* enum vel_store_type */
    int flush;                     /* who moves bytes from it: enum vel_flush_type, or
                                      VEL_STORE_PLUGIN */
    int64_t bytes;                 /* it may hold; 0: what is free */
    int64_t bandwidth;             /* bytes per second; 0: not told */
    double mtbf;                   /* seconds; 0: not told */
    bool can_mkdir;                /* its own directory is made when it is not there */
};

struct vel_stores {
    struct vel_store *items; /* sorted by name */
    size_t n;
};

/* The directory in a store where a node keeps its things, as struct vel_store has it; a
 * new string. NULL: out of memory, or the node is in no group that shares it. */
char *vel_store_base(const struct vel_conf *conf, const char *dir, const char *node);

/* Collective over world; the same failure on all ranks. The STORE lines, and a store
 * for CACHE_BASE and for each CKPT's STORE that has no line: shared by a node, with the
 * defaults. VEL_ECONFIG: a store's GROUP is not there, or the ranks were told different
 * stores. The groups must live as long as the stores. */
int vel_stores_create(struct vel_comm *world, const struct vel_conf *conf,
                      const struct vel_groups *groups, struct vel_stores **ret_stores,
                      struct vel_err *err);

/* Collective, as vel_comm_destroy() may be. NULL is nothing. */
void vel_stores_destroy(struct vel_stores *stores);

/* By directory; NULL when there is none. */
const struct vel_store *vel_stores_find(const struct vel_stores *stores,
                                        const char *name);

/* The bytes that a store may hold, by its STORE line, else by CACHEDIR; 0: what is
 * free. */
int64_t vel_store_limit(const struct vel_conf *conf, const char *dir);

/* Local. Of one whose directory others make (MKDIR=0): is it there? VEL_ENOENT. To be
 * asked before anything is made below it. */
int vel_store_check(const struct vel_store *store, struct vel_fs *fs,
                    struct vel_err *err);

/* Local. The same of CNTL_BASE, which may have a STORE line, too. */
int vel_store_check_control(const struct vel_conf *conf, struct vel_fs *fs,
                            struct vel_err *err);

#endif
