/* SPDX-License-Identifier: BSD-3-Clause */
/* behindlab - launches of four ranks on four nodes, threads of this process, with a
 * stand-in for the leaders of their nodes. */
#ifndef TEST_TAP_BEHINDLAB_H
#define TEST_TAP_BEHINDLAB_H

#include "tap/seslab.h"
#include "tap/standin.h"

enum { BEHINDLAB_RANKS = 4, BEHINDLAB_NOTES = 16 };

/* A launch, and what each of its ranks notes. */
struct behindlab {
    struct seslab lab;
    struct standin *standin; /* NULL: each launch has one of its own */
    const char *reason;      /* of its end */
    int64_t note[BEHINDLAB_RANKS][BEHINDLAB_NOTES];
    char why[VEL_ERR_TEXT]; /* rank 0's */
    void *arg;
};

/* What a rank does. */
typedef int behindlab_f(struct behindlab *l, struct vel_session *s, int rank,
                        struct vel_err *err);

/* An empty prefix, empty caches; XOR over four nodes, nothing is flushed. */
void behindlab_init(struct behindlab *l);
bool behindlab_run(struct behindlab *l, behindlab_f *play);

/* All ranks noted that; else a note. */
bool behindlab_all(const struct behindlab *l, int what, int64_t value);

/* Collective. Rank 0 does something while the others wait. */
int behindlab_alone(struct behindlab *l, struct vel_session *s,
                    void (*act)(struct standin *standin));
void behindlab_hold(struct standin *standin);
void behindlab_let_go(struct standin *standin);

/* Collective. The scheme of this rank's redundancy files of a version; 0: there is
 * none, -1: there are several. */
int behindlab_scheme(const struct behindlab *l, struct vel_session *s, int64_t version);

/* The same, of the newest dataset, though nobody has entered it on the prefix. */
int behindlab_last_scheme(const struct behindlab *l, struct vel_session *s);

#endif
