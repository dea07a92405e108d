/* SPDX-License-Identifier: BSD-3-Clause */
/* takelab - launches, each of some processes, that are killed while a vendor's service
 * moves their files; the services are stand-ins that live on (test/sdk). */
#ifndef TEST_TAP_TAKELAB_H
#define TEST_TAP_TAKELAB_H

#include "tap/seslab.h"

enum { TAKELAB_RANKS = 4, TAKELAB_PATH = 1200 };

/* What a launch does: restart from the newest, compare every byte, and go on. */
struct takelab_play {
    const struct seslab *lab;
    int64_t first, last; /* checkpoints; none when `last` is lower */
    int victim;          /* who alone may be killed; -1: anybody */
    uint64_t fault;      /* the operation on records that fails; 0: none */
    bool is_fatal;       /* it kills its process */
};

/* What came of the last one, told by its ranks. */
struct takelab_told {
    int64_t newest;
    bool is_over; /* rank 0 came to its end */
    bool has_fault;
    char why[TAKELAB_RANKS][VEL_ERR_TEXT];
};

extern struct takelab_told *takelab_told;

/* A lab whose files are moved by the stand-in for "bbapi" or "datawarp". */
void takelab_init(struct seslab *lab, const char *service);

/* A launch of so many ranks: did it end by itself, and well? */
bool takelab_run(const struct takelab_play *play, int ranks);
bool takelab_plays(const struct seslab *lab, int ranks, int64_t first, int64_t last);

/* A lab whose one rank has saved versions 1 and 2, and died while 2 was on its way. */
void takelab_die(struct seslab *lab, const char *service);

/* How the service is asked how far it is, told to begin, and stopped; and how many of
 * these calls there were. */
const char *takelab_ask(const char *service);
const char *takelab_start(const char *service);
const char *takelab_stop(const char *service);
int takelab_said(const char *service);

/* How many files lie where the records do, and the path of one (may be NULL). */
int takelab_records(char ret_path[TAKELAB_PATH]);

/* Lines of the log with these words; forget what is in it; show it. */
int takelab_lines(const char *words);
void takelab_forget(void);
void takelab_show(void);

/* Nothing but datasets: no temporary, no record. */
bool takelab_is_clean(const struct seslab *lab);

/* With nothing but the prefix: every byte of the newest is there, which is that one. */
bool takelab_is_on_prefix(const struct seslab *lab, int ranks, int64_t version);

#endif
