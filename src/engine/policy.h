/* SPDX-License-Identifier: BSD-3-Clause */
/* policy - when a checkpoint, a flush or an encoding is due, and when to stop.
 *
 * The decisions are pure functions of the settings and of a few numbers; struct
 * vel_policy keeps those numbers on a clock. Durations are monotonic time of one
 * process: rank 0 keeps the books and decides, and whoever calls gives its answer to
 * everyone.
 *
 * A checkpoint is due when any rule that is set says so:
 *
 *   halt      the program is to stop: its last state should be kept
 *   INTERVAL  so many asks have passed: the n-th, 2n-th, ... ask of a launch
 *   SECONDS   so much time has passed since the last checkpoint
 *   OVERHEAD  checkpoints have cost less than this share of computing, and one more
 *             costs less than this share of the computing since the last: computing
 *             without asks saves up no right to a burst of them
 *   OPTIMAL   the interval has passed that makes the time lost by checkpoints and
 *             failures least, by what checkpoints cost and how often something fails
 *
 * OVERHEAD and OPTIMAL need to know what a checkpoint costs, so the first one of a
 * launch is due at once. When no rule is set, or the one that is set has nothing to go
 * by (OPTIMAL without failure rates), every ask is answered with yes, as SCR does: the
 * program checkpoints where it would have without asking, and nobody is left without
 * checkpoints because of a setting that is missing.
 */
#ifndef VEL_ENGINE_POLICY_H
#define VEL_ENGINE_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "conf/conf.h"
#include "meta/halt.h"
#include "sys/clock.h"

enum { VEL_POLICY_TEXT = 400 };

enum vel_policy_why {
    VEL_POLICY_NOT_DUE,
    VEL_POLICY_HALT,
    VEL_POLICY_INTERVAL,
    VEL_POLICY_SECONDS,
    VEL_POLICY_OVERHEAD,
    VEL_POLICY_OPTIMAL,
    VEL_POLICY_MEASURE, /* the first one, to know its cost */
    VEL_POLICY_NO_RULE,
};

struct vel_policy_verdict {
    enum vel_policy_why why; /* due unless it is NOT_DUE */
    char text[VEL_POLICY_TEXT];
};

/* What is known when rank 0 is asked. */
struct vel_policy_facts {
    uint64_t asks;        /* in this launch, this one included */
    double since;         /* seconds since the last checkpoint, or since the start */
    double compute;       /* seconds of this launch outside of checkpoints */
    double checkpointing; /* and inside */
    double cost;          /* of one checkpoint, smoothed; below 0: none was made yet */
    double failure_rate;  /* of the whole job, per second; 0: unknown */
};

/* Pure. `halt` is what vel_policy_exit() said. */
void vel_policy_need(const struct vel_conf *conf, const struct vel_policy_facts *facts,
                     const struct vel_halt_verdict *halt,
                     struct vel_policy_verdict *ret);

/* The best time to compute between two checkpoints of that cost, in seconds, when
 * failures come at that rate per second; both > 0. Young (1974): sqrt(2 C M) with
 * M = 1 / rate. Daly (2006), higher order: sqrt(2 C M) (1 + sqrt(C / 2M) / 3 +
 * C / 18M) - C where C < 2M, else M. */
double vel_policy_young(double cost, double failure_rate);
double vel_policy_daly(double cost, double failure_rate);

/* How many groups of that name (NODE, SWITCH, WORLD, ...) the job has. */
typedef size_t vel_policy_groups_f(void *arg, const char *group);

/* Failures per second of all that may fail: over the STORE lines in use, the number of
 * groups that share such a store divided by MTBF; and over the GROUPS lines with MTBF
 * the number of such groups. 0 when no line has one. */
double vel_policy_failure_rate(const struct vel_conf *conf, vel_policy_groups_f *groups,
                               void *arg);

/* What is known when a dataset is complete. Numbers of checkpoints go on over launches.
 */
struct vel_policy_flush {
    int kind;           /* enum vel_kind */
    int64_t checkpoint; /* its number; > 0 */
    int64_t flushed;    /* that of the last one that was flushed; 0: none */
    double since;       /* seconds since then; below 0: none in this launch */
    bool is_last;       /* nothing will follow: the program ends, or is to halt */
};

/* Is a flush due? Outputs always. Checkpoints once their number has reached or passed a
 * multiple of FLUSH since the last flush, and FLUSH_SECONDS are over; the last one
 * without waiting for either, unless they are never to be flushed. */
bool vel_policy_flush_due(const struct vel_conf *conf,
                          const struct vel_policy_flush *facts);

/* Is an encoding due, `since` seconds after the last (below 0: none in this launch)? */
bool vel_policy_encode_due(const struct vel_conf *conf, double since);

/* The books of rank 0. Used by one thread at a time. */
struct vel_policy {
    struct vel_clock *clock;
    double failure_rate;
    uint64_t asks;
    bool is_checkpointing;
    uint64_t section; /* when the present section began: computing or not */
    uint64_t last;    /* when the last checkpoint ended, or the launch began */
    uint64_t compute; /* ns of the sections that have ended */
    uint64_t checkpointing;
    double cost;          /* seconds, smoothed; below 0: unknown */
    int64_t flushed;      /* number of the last checkpoint flushed */
    uint64_t flush_time;  /* and when; UINT64_MAX: not in this launch */
    uint64_t encode_time; /* of the last one; the same way */
};

/* A launch begins, computing. `newest` is the number of the newest checkpoint so far, 0
 * for none: the next flush is counted from there. The clock must outlive the books. */
void vel_policy_init(struct vel_policy *policy, struct vel_clock *clock,
                     double failure_rate, int64_t newest);

/* The program asks. */
void vel_policy_ask(struct vel_policy *policy);

/* A checkpoint begins, or is over; they take turns. Each returns the seconds of the
 * section that ends, for the log of events. Outputs that are no checkpoints count as
 * computing. Only a complete one tells what a checkpoint costs; one that failed begins
 * the time to the next one all the same, so that what fails is not tried on every ask.
 */
double vel_policy_begin_checkpoint(struct vel_policy *policy);
double vel_policy_end_checkpoint(struct vel_policy *policy, bool is_complete);

/* A flush or an encoding was begun. */
void vel_policy_note_flush(struct vel_policy *policy, int64_t checkpoint);
void vel_policy_note_encode(struct vel_policy *policy);

/* The numbers for the decisions above, now. */
void vel_policy_get_facts(const struct vel_policy *policy,
                          struct vel_policy_facts *ret);
void vel_policy_get_flush(const struct vel_policy *policy, int kind, int64_t checkpoint,
                          bool is_last, struct vel_policy_flush *ret);
double vel_policy_since_encode(const struct vel_policy *policy);

/* Should the program end now, and so checkpoint once more before? `end` is the end of
 * the allocation in seconds since 1970, 0 when nobody knows. */
void vel_policy_exit(const struct vel_policy *policy, const struct vel_conf *conf,
                     const struct vel_halt *halt, int64_t end,
                     struct vel_halt_verdict *ret);

#endif
