/* SPDX-License-Identifier: BSD-3-Clause */
/* dataset - what a dataset is: the same on all its ranks, and part of every record that
 * speaks of it. */
#ifndef VEL_META_DATASET_H
#define VEL_META_DATASET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "record/node.h"

/* what a dataset is for; one or both */
enum vel_use {
    VEL_USE_CHECKPOINT = 1,
    VEL_USE_OUTPUT = 2,
};

enum { VEL_DATASET_NAME_MAX = 255, VEL_RANKS_MAX = 1 << 30 };

struct vel_dataset {
    int64_t id; /* > 0, never used again */
    char *name;
    int64_t version;    /* the program's number of it */
    int64_t checkpoint; /* which checkpoint it is, from 1; 0 for an output */
    unsigned use;       /* bits of enum vel_use */
    int ranks;
    int nodes;
    int64_t files; /* of all ranks; known when it is complete, as is bytes */
    int64_t bytes;
    int64_t created; /* when its id was given, in seconds since 1970, by the clock of
                        the prefix, if that could be written: who finds a file there
                        knows which is older */
    int created_ns;  /* and nanoseconds */
    bool is_leaders; /* leaders made it, of HDF5 files: no checkpoint of a session */
};

void vel_dataset_fini(struct vel_dataset *dataset);
int vel_dataset_copy(const struct vel_dataset *dataset, struct vel_dataset *ret,
                     struct vel_err *err);

/* A name that may stand in records and in names of files: 1 to 255 bytes of printable
 * UTF-8 without a slash, not beginning with a dot. */
bool vel_dataset_is_name(const char *name);

/* The form in records; *ret is a new object, or NULL when out of memory. */
struct vel_node *vel_dataset_to_node(const struct vel_dataset *dataset);
int vel_dataset_from_node(const struct vel_node *node, struct vel_dataset *ret,
                          struct vel_err *err);

#endif
