/* SPDX-License-Identifier: BSD-3-Clause */
/* linklab - sides of connections in one thread, with a clock that moves when told: each
 * remembers what its links told it. */
#ifndef TEST_TAP_LINKLAB_H
#define TEST_TAP_LINKLAB_H

#include "link/link.h"
#include "tap/manual_clock.h"

enum { LINKLAB_SIDES = 400, LINKLAB_T = 1000 }; /* T in ms */

struct linklab;

/* One process's links. */
struct linklab_side {
    struct linklab *lab;
    struct vel_links *links;
    struct vel_link *link;                   /* met last, or connecting; NULL: gone */
    bool is_frozen;                          /* linklab_turn() leaves it out */
    bool answers;                            /* every request with its usual answer */
    bool closes;                             /* every link as soon as it is met */
    void (*hook)(struct linklab_side *side); /* at every message */
    int met, gone, woken, messages;
    struct vel_err why;      /* of the last that is gone */
    enum vel_peer_role role; /* of the last met */
    int64_t rank, epoch;
    char node[201], launch[65];
    bool is_near;
    enum vel_msg_kind kind; /* of the last message */
    uint64_t seq, value;    /* value: its first number */
    size_t bytes;           /* of a `held` or `give` */
    uint64_t disorder;      /* `step`s whose owner did not follow the last one's */
};

struct linklab {
    struct vel_manual_clock clock;
    struct vel_key key;
    struct linklab_side *sides[LINKLAB_SIDES];
    int n;
};

void linklab_init(struct linklab *lab);
void linklab_fini(struct linklab *lab);

/* Who a side is, to be changed before linklab_add(): a leader of launch "L" on `node`
 * with the key of the lab. */
struct vel_links_me linklab_me(struct linklab *lab, const char *node);
struct linklab_side *linklab_add(struct linklab *lab, const struct vel_links_me *me);

/* Listen at "unix" or "tcp"; the endpoint is vel_links_endpoints(). */
void linklab_listen(struct linklab_side *side, const char *how);
void linklab_connect(struct linklab_side *side, const char *endpoints,
                     const char *node);

/* Turn everybody who is not frozen once. */
void linklab_turn(struct linklab *lab);

/* Until *what is `value` or more, or nothing has come of many turns. */
bool linklab_until(struct linklab *lab, const int *what, int value);

/* T passes in so many parts, everybody who is not frozen turning in each. */
void linklab_pass(struct linklab *lab, unsigned ms, int parts);

/* Two leaders on "a" (listens) and "b" (connects), met. */
void linklab_pair(struct linklab *lab, const char *how, struct linklab_side **ret_a,
                  struct linklab_side **ret_b);

/* One leader on "a" that listens, in a lab that is made for it. */
struct linklab_side *linklab_alone(struct linklab *lab, const char *how);

/* A connection to it that is nobody's yet. */
int linklab_knock(const struct linklab_side *side);

/* Does it still take in one of ours? */
bool linklab_is_well(struct linklab *lab, struct linklab_side *side);

/* Messages for tests. */
struct vel_msg linklab_step(uint64_t owner); /* no answer is wanted */
struct vel_msg linklab_ask(struct vel_link *link, uint64_t dataset);

#endif
