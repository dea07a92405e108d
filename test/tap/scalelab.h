/* SPDX-License-Identifier: BSD-3-Clause */
/* scalelab - a world for very many leaders (brain/leader.h), to count what each of them
 * sends, hears, computes and keeps. Messages are encoded and decoded as on a link; jobs
 * end soon and well; time is virtual and chance seeded, so that a run repeats exactly.
 * What may go wrong between leaders is leaderlab's subject, not this one's.
 *
 * Ranks are on nodes in blocks; a set has one rank of each of SCALE_SET nodes. A step
 * of the program is one file of each rank, of one DATASET line.
 */
#ifndef TEST_TAP_SCALELAB_H
#define TEST_TAP_SCALELAB_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "tap/rng.h"
#include "base/vec.h"
#include "brain/leader.h"

enum {
    SCALE_SET = 8,
    SCALE_HELD = 2000, /* bytes that a node tells of what it holds */
    SCALE_STEPS = 16,
};

#define SCALE_MS UINT64_C(1000000)
#define SCALE_LATENCY (SCALE_MS / 20)
#define SCALE_T UINT64_C(30000000000) /* PEER_TIMEOUT as by default */

/* Of one leader: between leaders, not with its processes. */
struct scale_count {
    uint64_t sent, heard, sent_bytes, heard_bytes;
    uint64_t largest; /* bytes of one message that it heard */
    double seconds;   /* in the brain, with what its ops do */
};

struct scale_leader {
    struct scale *world;
    struct vel_leader *leader; /* NULL: there is none */
    uint64_t wakes;            /* at the latest; 0: at no time */
    bool has_endpoint, has_left;
    int64_t parts;
    int64_t heap; /* bytes, if the program counts them */
    struct scale_count count;
};

struct scale_link {
    int ends[2]; /* a node; the second may be a rank: -1 - rank */
    bool is_open;
};

/* What ranks do, all of them. */
enum scale_act {
    SCALE_WRITE, /* create and close a file of the next step */
    SCALE_LOOK,  /* for the file of the last step */
    SCALE_LEAVE,
};

struct scale_rank {
    int link; /* 0: none */
    bool is_done;
};

struct scale_dataset {
    int launch;
    char step[16];
    bool is_encoded, is_flushed;
    int64_t owner;
    struct vel_buf seal; /* none: it was never sealed */
};

struct scale {
    int nodes, per_node, launch;
    struct scale_leader *leaders; /* by node: of this launch */
    struct scale_rank *ranks;
    struct vel_vec links;  /* struct scale_link; its number is its place + 1 */
    struct vel_vec events; /* struct scale_event, a heap */
    struct scale_frame *last;
    struct vel_rng rng;
    uint64_t now, order;
    uint64_t messages; /* delivered, all of them */
    struct vel_leader_conf conf;
    struct vel_leader_ops ops;
    bool has_view, is_ended;
    int64_t view;          /* the newest dataset that it has */
    struct vel_vec chairs; /* int: nodes, by terms from 1 */
    struct scale_dataset datasets[SCALE_STEPS];
    int64_t last_id;
    enum scale_act act;
    int step, left_to_do;
    int seals_read; /* records, by any leader */
};

/* Whose bytes are counted now; NULL: nobody's. A program that counts puts its own
 * malloc and free in the place of the system's. */
extern int64_t *scale_heap;

void scale_create(struct scale *world, int nodes, int per_node, uint64_t seed);
void scale_destroy(struct scale *world);

/* A launch on all nodes; ranks and leaders begin within `spread`. */
void scale_launch(struct scale *world, uint64_t spread);

/* All ranks do that, each after `spread` at most. */
void scale_do(struct scale *world, enum scale_act act, uint64_t spread);

/* Power loss: others see it when it has been silent for T. */
void scale_kill_node(struct scale *world, int node);

/* Let time pass until that is so, and then a while, for what is still under way. false:
 * it is not within `limit`. */
bool scale_run(struct scale *world, bool (*is_so)(const struct scale *),
               uint64_t limit);

/* What has been counted, to zero. */
void scale_clear(struct scale *world);

/* --- to look at --- */

int scale_chair(const struct scale *world);         /* its node; -1: none */
bool scale_is_running(const struct scale *world);   /* all leaders, with one chair */
bool scale_is_done(const struct scale *world);      /* all ranks with what they do */
bool scale_is_seen(const struct scale *world);      /* who is lost */
bool scale_is_published(const struct scale *world); /* the last dataset, for all */
bool scale_is_over(const struct scale *world);      /* no leader is left */

/* --- between the lab's own files --- */

enum scale_event_kind {
    SCALE_DELIVER,
    SCALE_GONE,
    SCALE_MET,
    SCALE_CONNECT,
    SCALE_JOB,
    SCALE_WAKE,
    SCALE_BEGIN,
    SCALE_COME, /* a rank connects */
    SCALE_ACT,
};

struct scale_frame { /* a message on its way, on one link or many */
    unsigned refs;
    size_t len;
    uint8_t bytes[];
};

struct scale_event {
    uint64_t at, order;
    enum scale_event_kind kind;
    int node, link, end; /* what of these it needs; node: or a rank */
    int launch;
    uint64_t job;
    enum vel_leader_work work;
    struct scale_frame *frame;
};

void scale_record_ops(struct vel_leader_ops *ret);
void scale_file_ops(struct vel_leader_ops *ret);
void scale_post(struct scale *world, const struct scale_event *event, uint64_t delay);
uint64_t scale_chance(struct scale *world, uint64_t most);
void scale_let_go(struct scale_frame *frame);
struct scale_link *scale_link_at(const struct scale *world, int number);
bool scale_is_between_leaders(const struct scale_link *link);
int scale_make_link(struct scale *world, int one, int other);
void scale_happen(struct scale *world, const struct scale_event *event);
void scale_send(struct scale *world, int link, int end, const struct vel_msg *msg);
int scale_node_of(const char *name);
void scale_node_name(int node, char ret[16]);
void scale_file_name(int step, int rank, char ret[48]);
/* Is a dataset in the way of the launch: its own, or of its view? */
bool scale_has(const struct scale *world, int64_t id);

#endif
