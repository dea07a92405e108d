/* SPDX-License-Identifier: BSD-3-Clause */
/* encodelab - nodes that encode sets of datasets with each other, each a thread or a
 * process, and one loop that is the leader of all of them when they meet. */
#ifndef TEST_TAP_ENCODELAB_H
#define TEST_TAP_ENCODELAB_H

#include <stdbool.h>
#include <stdint.h>

#include "jobs/encode.h"
#include "red/header.h"

enum { ENCODELAB_NODES = 16, ENCODELAB_SETS = 32 };

#define ENCODELAB_LABEL "part"

/* A set: ranks by place, and on which nodes they are. */
struct encodelab_set {
    int64_t dataset;
    uint32_t number;
    size_t n;
    uint32_t rank[ENCODELAB_NODES];
    size_t node[ENCODELAB_NODES];
    bool is_empty[ENCODELAB_NODES];
};

struct encodelab {
    const char *root;
    enum vel_scheme scheme;
    size_t m;
    uint64_t seed;
    size_t most; /* bytes of a file */
    const char *listen;
    unsigned limit_ms, busy_ms;
    struct encodelab_set sets[ENCODELAB_SETS]; /* those of one dataset side by side */
    size_t n_sets;
    unsigned workers; /* of each node, at most 4; 0: one */
};

/* One set of `ranks`/`nodes` members for each rank that a node has: rank r is on node
 * r % nodes, in set r / nodes. */
void encodelab_plain(struct encodelab *lab, int64_t dataset, size_t nodes,
                     size_t ranks);

/* The directory of a part; fresh memory. */
char *encodelab_dir(const struct encodelab *lab, int64_t dataset, uint32_t rank);

/* Make the files of every part and give each a redundancy file of scheme SINGLE, as the
 * commit of a dataset in the background does. Removes what is there. */
void encodelab_commit(const struct encodelab *lab);

/* The same of one part, with the files that are there. */
void encodelab_commit_again(const struct encodelab *lab,
                            const struct encodelab_set *set, size_t place);

/* A checksum over names, bytes, modes and times of the program's files of all parts,
 * and of everything. */
uint64_t encodelab_files(const struct encodelab *lab);
uint64_t encodelab_all(const struct encodelab *lab);

/* Redundancy files of this encoding, and of others, in all parts. */
size_t encodelab_count(const struct encodelab *lab, const uint8_t *id, bool is_other);

/* What a node is told: itself, its worker, and how to meet. */
struct encodelab_node {
    const struct encodelab *lab;
    size_t node;
    unsigned worker;
    int fd;
    struct vel_fs *fs; /* the lab's, until the test says otherwise */
};

/* Run a set as this node sees it. */
int encodelab_encode(struct encodelab_node *node, const struct encodelab_set *set,
                     const uint8_t *id, unsigned attempt,
                     enum vel_encode_outcome *ret_outcome, struct vel_err *err);
int encodelab_settle(struct encodelab_node *node, const struct encodelab_set *set,
                     const uint8_t *id, struct vel_err *err);

/* Is a part of it on that node? */
bool encodelab_has(const struct encodelab_set *set, size_t node);

/* Every worker of every node calls this, in a thread of its own or in a process of its
 * own. Returns how many returned non-zero or died. It must not use ok(). */
int encodelab_run(const struct encodelab *lab, size_t nodes, bool are_processes,
                  int (*worker)(struct encodelab_node *node, void *arg), void *arg);

/* How encoding is to end, and who is different. */
struct encodelab_task {
    const uint8_t *id;
    unsigned attempt;
    int want; /* a status */
    enum vel_encode_outcome outcome;
    const char *name; /* of a node, in every sentence of a failure */
    size_t special;   /* the node that is different */
    uint64_t at;      /* its n-th operation of `kinds` fails */
    unsigned kinds;
    bool is_slow;         /* its disk */
    const uint8_t *other; /* it was told this identity */
};

/* Workers: all sets of this node, the least first; each is tried again while members
 * are missing that have not come yet. */
int encodelab_encode_all(struct encodelab_node *node, void *task);
int encodelab_settle_all(struct encodelab_node *node, void *task);

#endif
