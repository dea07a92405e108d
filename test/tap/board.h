/* SPDX-License-Identifier: BSD-3-Clause */
/* board - what a launch of the program shift is told to do and how it dies, and what
 * it tells of itself: a file that the campaign and all ranks map. A kill loses nothing
 * of it. */
#ifndef TEST_TAP_BOARD_H
#define TEST_TAP_BOARD_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

enum { BOARD_RANKS = 8, BOARD_NODES = 4, BOARD_TEXT = 600, BOARD_FILE_MOST = 30000 };

/* Who dies when the operation comes. */
enum board_death {
    BOARD_NOBODY,
    BOARD_ALL,    /* every rank; counted are all operations of the victim */
    BOARD_AGENT,  /* the same, and the agent */
    BOARD_LEADER, /* the process that leads: counted are those of its background */
    BOARD_FROZEN, /* the same, but it is stopped */
};

struct board {
    /* the launch's orders */
    uint64_t seed;
    int program; /* tells those that share a prefix */
    int ranks;
    int64_t first, last; /* checkpoints after the restart; none when last < first */
    uint64_t waits;      /* bit n: for the n-th of them */
    bool has_same_names;
    bool has_no_locks; /* flock on the prefix says yes to everybody */
    bool is_idle;      /* between checkpoints it computes for some milliseconds */
    enum board_death death;
    int victim; /* a rank; of LEADER and FROZEN a node */
    uint64_t at;
    pid_t agent;

    /* what it tells */
    pid_t pid[BOARD_RANKS];
    int64_t reported[BOARD_RANKS]; /* newest version whose end was a success */
    int64_t waited[BOARD_RANKS];   /* and which was waited for */
    int64_t found[BOARD_RANKS];    /* by the restart; -1: it did not come so far */
    bool is_done[BOARD_RANKS];     /* all went well to the end */
    bool has_died;
    pid_t frozen;
    uint64_t operations[BOARD_RANKS], background[BOARD_NODES];
    char why[BOARD_RANKS][BOARD_TEXT];
};

static inline uint64_t board_mix(uint64_t x)
{
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9u;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* The bytes of a rank's file in a version. With the same names the sizes are the same,
 * too. */
static inline size_t board_content(const struct board *board, int rank, int64_t version,
                                   unsigned char bytes[BOARD_FILE_MOST])
{
    uint64_t who = board_mix(board->seed * 64 + (uint64_t)rank);
    uint64_t x = board_mix(who + (uint64_t)version);
    size_t len = board_mix(board->has_same_names ? who : x + 1) % BOARD_FILE_MOST;

    for (size_t i = 0; i < len; i++) {
        if (i % 8 == 0)
            x = board_mix(x + 0x9e3779b97f4a7c15u);
        bytes[i] = (unsigned char)(x >> i % 8 * 8);
    }
    return len;
}

/* Relative to the prefix. */
static inline void board_name(const struct board *board, int rank, int64_t version,
                              char name[64])
{
    snprintf(name, 64, "out%d/v%" PRId64 "/r%d.dat", board->program,
             board->has_same_names ? 0 : version, rank);
}

#endif
