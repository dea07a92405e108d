/* SPDX-License-Identifier: BSD-3-Clause */
/* shiftlab - launches of the program test/fault/shift over real node leaders, the agent
 * beside them, and what they leave on the prefix. Everything lies below tap_dir(); what
 * programs and agents say goes to the file "said" there. */
#ifndef TEST_TAP_SHIFTLAB_H
#define TEST_TAP_SHIFTLAB_H

#include <signal.h>

#include "tap/board.h"

enum {
    SHIFTLAB_TEXT = 1200,
    SHIFTLAB_PEER_SECONDS = 3,
    SHIFTLAB_PEER_MOST = 24, /* on a machine that has no time for the test */
    SHIFTLAB_LIMIT = 40,     /* of these: that a launch, or a drain, may take */
    SHIFTLAB_VERSION = 3,    /* more seconds for each checkpoint of a launch */
};

struct shiftlab {
    struct board *board;
    int events;  /* FIFO of bytes; see shift.c */
    int program; /* several may share a prefix */
    int ranks;
    uint64_t seed;
    const char *flush, *scheme; /* settings */
    const char *base;           /* name of the CNTL_BASE below tap_dir() */
    int peer_seconds;           /* PEER_TIMEOUT and VIEW_WAIT */
    bool has_same_names;
    pid_t agent;             /* 0: none runs */
    char why[SHIFTLAB_TEXT]; /* the first that was wrong; "": all is well */
};

/* A lab with a board and a FIFO; it keeps the defaults until they are set. */
void shiftlab_open(struct shiftlab *lab, int program);

/* Nothing is on the prefix, in the caches, in CNTL_BASE. */
void shiftlab_fresh(void);

/* Something was wrong; false. */
bool shiftlab_bad(struct shiftlab *lab, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

void shiftlab_pause(uint64_t ms);

/* A new board: checkpoints first to last, in that mode; nobody dies. */
void shiftlab_order(struct shiftlab *lab, const char *mode, int64_t first,
                    int64_t last);

/* Run what the board says. The others outlive one that dies, where the launcher can.
 * shiftlab_wait() returns the status when the launcher has ended and all ranks are
 * gone; 124: it took too long. */
pid_t shiftlab_start(struct shiftlab *lab, bool outlives);
int shiftlab_wait(struct shiftlab *lab, pid_t job);
bool shiftlab_have_ended(struct shiftlab *lab);
void shiftlab_kill_ranks(const struct shiftlab *lab);

/* The lowest that a rank of the board has. */
int64_t shiftlab_lowest(const struct shiftlab *lab, const int64_t *of);

/* All ranks that came so far have found the same version, that or a newer one. */
bool shiftlab_found(struct shiftlab *lab, int64_t least);

/* A rank was not answered within PEER_TIMEOUT: it ends, as one that is killed, and what
 * was told holds as ever. The next launch has twice the time; false: that is the most
 * already, the leader hangs. */
bool shiftlab_was_slow(const struct shiftlab *lab);
bool shiftlab_slow_down(struct shiftlab *lab);

/* What went wrong in a launch that nobody has killed. */
bool shiftlab_went_well(struct shiftlab *lab, int status);

void shiftlab_start_agent(struct shiftlab *lab);
void shiftlab_end_agent(struct shiftlab *lab, int signal);
/* h5veloc-agent --drain: what is owed here is done by the agent that runs. */
bool shiftlab_drain(struct shiftlab *lab);

/* -1: no file of that rank is on the prefix, 0: other bytes, 1: those of the version.
 */
int shiftlab_is_on_prefix(const struct shiftlab *lab, int rank, int64_t version);
/* How many ranks have it; -1: one has something else there. */
int shiftlab_count_on_prefix(const struct shiftlab *lab, int64_t version);
/* All ranks or none have that version on the prefix. */
bool shiftlab_is_whole(struct shiftlab *lab, int64_t version, bool must_be_there);
/* No temporary file is among what users see, and no sanitizer has reported anything. */
bool shiftlab_is_clean(struct shiftlab *lab);

/* The cache of a virtual node is lost. */
void shiftlab_lose_node(int node);

/* Copy what is there to "kept.SEED", before the next seed replaces it. */
void shiftlab_keep(const struct shiftlab *lab);

#endif
