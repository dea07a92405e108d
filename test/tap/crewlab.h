/* SPDX-License-Identifier: BSD-3-Clause */
/* crewlab - ranks on a few nodes that move datasets between a cache and a prefix: the
 * crew of a session without a session. Every byte of a file follows from its dataset,
 * rank and number. */
#ifndef TEST_TAP_CREWLAB_H
#define TEST_TAP_CREWLAB_H

#include "sys/clock.h"
#include "xfer/flush.h"

enum { CREWLAB_FILES = 4, CREWLAB_MOST = 3000 };

/* What all ranks know; nothing in it changes while they run. */
struct crewlab {
    char prefix[512], dir[600], cache[512]; /* dir: PREFIX/.veloc */
    int nodes;
    int fetch_width;
    bool packs; /* into a container of each rank */
    bool ignores_crc;
    uint64_t rate;           /* bytes per second of each rank; 0: no limit */
    struct vel_clock *clock; /* NULL: the system's */
    bool has_same_names;     /* in every dataset */
};

/* An empty prefix with an identity and an empty cache, below the test's directory. */
void crewlab_init(struct crewlab *lab, int nodes);

/* A rank's part in it. */
struct crewlab_rank {
    const struct crewlab *lab;
    struct vel_crew crew;
    struct vel_throttle throttle;
    struct vel_err err;
};

/* Collective over comm, which is used. */
int crewlab_join(const struct crewlab *lab, struct vel_comm *comm, struct vel_fs *fs,
                 struct crewlab_rank *ret);
void crewlab_leave(struct crewlab_rank *rank);

/* Where file `file` of a rank's part of a dataset is: in the cache, and on the prefix
 * when it is plain. The last 8 results of a thread stay good. */
const char *crewlab_cached(const struct crewlab *lab, int64_t id, int rank, int file);
const char *crewlab_flushed(const struct crewlab *lab, int64_t id, int rank, int file);

/* Is that file there, whole, as dataset `id` has it? */
bool crewlab_is_file(const char *path, int64_t id, int rank, int file);

/* Local. Write this rank's files into the cache, and list them to be flushed. */
void crewlab_write(struct crewlab_rank *rank, int64_t id, struct vel_vec *ret_files);

/* Collective. Flush, as leaders do; packs: what a rank has is in one container. */
int crewlab_move(struct crewlab_rank *rank, struct vel_vec *files,
                 struct vel_entry *entry);
/* Collective. Write, and flush; *entry is to be freed. */
int crewlab_flush(struct crewlab_rank *rank, int64_t id, struct vel_entry *entry);

#endif
