/* SPDX-License-Identifier: BSD-3-Clause */
/* bosslab - a leader that follows a script, in a thread of its own, and clients of it.
 */
#ifndef TEST_TAP_BOSSLAB_H
#define TEST_TAP_BOSSLAB_H

#include <pthread.h>
#include <stdatomic.h>

#include "link/client.h"

enum { BOSS_T = 2000, BOSS_SHORT_T = 400, BOSS_HELD = 8 }; /* ms; answers */

struct boss {
    /* the script */
    enum vel_msg_kind dies_at; /* instead of an answer */
    enum vel_msg_kind deaf_to; /* no answer, but it lives */
    bool knows_nothing;        /* of files that are open */
    bool reverses;             /* answers `ask` in turned order, BOSS_HELD at a time */
    bool changes;              /* its inventory, between two pieces */
    atomic_bool is_frozen;

    /* what came of it */
    atomic_int told, met; /* files by create with how=2; clients */

    /* its own */
    int64_t epoch;
    struct vel_links *links;
    pthread_t thread;
    atomic_bool stops, is_dead;
    uint64_t files;
    struct vel_link *mover; /* who gets `moves`, and how often still */
    uint64_t moving, next_move;
    int moves;
    struct vel_link *held_link[BOSS_HELD];
    uint64_t held[BOSS_HELD];
    int n_held;
};

/* A leader on node n1 of launch L at that endpoint; *boss holds its script. What it
 * gives as a file has the epoch in its thousands; a pull moves for longer than
 * BOSS_SHORT_T; there is nothing to remove. */
void boss_start(struct boss *boss, const char *endpoint, int64_t epoch);
void boss_end(struct boss *boss);
void boss_join(struct boss *boss); /* until it dies */

/* Leaders that come one after the other at one endpoint, begun by whoever finds nobody.
 */
enum { HEIRS = 8 };
struct heirs {
    struct boss boss[HEIRS];
    int n, most;
    int rc; /* what lead() says when there are no more; 0: VEL_EBUSY */
};
struct vel_client *heirs_open(struct heirs *heirs, unsigned limit_ms);
void heirs_end(struct heirs *heirs);

/* Where leaders and agents are, below the test's directory; good for ever. */
const char *boss_leader_at(void);
const char *boss_agent_at(void);

/* A process of rank 3 that looks for a leader there. */
struct vel_client_conf boss_client(unsigned limit_ms);
struct vel_client *boss_open_client(const struct vel_client_conf *conf);

#endif
