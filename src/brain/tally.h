/* SPDX-License-Identifier: BSD-3-Clause */
/* tally - who has closed what of one key: what nodes report, and what the chair keeps
 * of it. A node says what there is, not what has changed: its newest word counts.
 *
 * Pure. In reports a node is a line: its name, how many of its files are open, and for
 * each rank that has a file "rank:open:files:upto:bytes"; open is 2 for has_given.
 */
#ifndef VEL_BRAIN_TALLY_H
#define VEL_BRAIN_TALLY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/map.h"
#include "base/vec.h"

struct vel_tally_rank {
    int64_t rank;
    bool is_open; /* it has a file that is not closed */
    bool
        has_given; /* or none, and one that another rank has closed since, who has it */
    int64_t files; /* that are closed */
    int64_t upto;  /* order of closing of the last of them */
    int64_t bytes;
};

struct vel_tally_node {
    char *node;
    int64_t open;         /* files that somebody holds open */
    struct vel_vec ranks; /* struct vel_tally_rank */
};

struct vel_tally {
    struct vel_vec nodes;    /* struct vel_tally_node */
    struct vel_map *numbers; /* node: its number among them, from 1; NULL: none */
};

void vel_tally_init(struct vel_tally *tally);
void vel_tally_fini(struct vel_tally *tally);

/* Append the line of a node. */
void vel_tally_print(const char *node, int64_t open, const struct vel_vec *ranks,
                     struct vel_buf *ret);

/* Lines of nodes, each instead of what it had said before. VEL_ECORRUPT for what is no
 * line, and all before it counts. */
int vel_tally_hear(struct vel_tally *tally, const char *lines);

/* It is away, and may not know any more what it has had: until it says so, nothing of
 * its ranks is closed. */
void vel_tally_doubt(struct vel_tally *tally, const char *node);

int64_t vel_tally_files(const struct vel_tally *tally);
/* How often has a rank of a node closed what it has? */
size_t vel_tally_closed(const struct vel_tally *tally);

/* Has the rank a file that is closed? */
bool vel_tally_has(const struct vel_tally *tally, int64_t rank);

/* A rank that has a file, and its node; that is good as long as the tally is left
 * alone.
 */
struct vel_tally_one {
    struct vel_tally_rank rank;
    const char *node;
};

/* Append all of them (struct vel_tally_one), by rank. */
int vel_tally_collect(const struct vel_tally *tally, struct vel_vec *ret);

/* Of those: NULL: it has no file. */
const struct vel_tally_one *vel_tally_find(const struct vel_vec *ones, int64_t rank);

/* Has it closed so many, or given one away, and none open? */
bool vel_tally_has_closed(const struct vel_vec *ones, int64_t rank, int64_t files);

#endif
