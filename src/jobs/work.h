/* SPDX-License-Identifier: BSD-3-Clause */
/* work - the jobs of a leader: their order, and threads of low priority that do them.
 *
 * What others wait for goes first: pulls, then encoding, then copies; among these the
 * oldest dataset, and its lowest set. A worker that copies does what is more urgent in
 * between, so that a slow flush never delays protection. Promises are on disk
 * (jobs/promise.h); this is only an index of what can be done now.
 *
 * Jobs are begun, cancelled and collected by one thread, the leader's. In a forked
 * child nothing of it works, as sys/queue.h says.
 */
#ifndef VEL_JOBS_WORK_H
#define VEL_JOBS_WORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "xfer/throttle.h"
#include "xfer/watch.h"

struct vel_work;

enum { VEL_WORK_NICE = 10 };

/* the more urgent before the less urgent */
enum vel_urgency {
    VEL_URGENT_PULL,   /* somebody waits in a call */
    VEL_URGENT_LOOK,   /* inventories, removals: short, and others wait for them */
    VEL_URGENT_ENCODE, /* until then a lost node loses the dataset */
    VEL_URGENT_NAME,   /* renames: everything is copied */
    VEL_URGENT_COPY,
};

struct vel_work_order {
    enum vel_urgency urgency;
    int64_t dataset;
    int64_t set; /* 0 where there is none */
};

/* What a job is given to work with. */
struct vel_work_job {
    const struct vel_watch *watch; /* to be asked often: moves, cancels, and lets what
                                      is more urgent go first */
    const struct vel_watch *alone; /* the same while it has what others may wait for:
                                      nothing goes first, for it would wait for ever */
    struct vel_throttle *throttle; /* its own */
};

/* Runs on a worker, all signals blocked. */
typedef int vel_work_f(void *arg, const struct vel_work_job *job, struct vel_err *err);

/* For a job that waits for other nodes, who may wait for what is to be done here before
 * it: does one such job, which does not use the prefix. false: there is none. */
bool vel_work_let_earlier(const struct vel_work_job *how);

/* A job that is over. */
struct vel_work_result {
    uint64_t number;
    void *arg; /* the caller's again */
    int rc;    /* VEL_ECANCEL: before it began, or by its watch */
    struct vel_err err;
};

/* `wake` is called by workers when there is a result to take, or bytes have moved after
 * nobody had asked for some time; it must not call back. The clock is borrowed. */
int vel_work_create(unsigned workers, struct vel_clock *clock, void (*wake)(void *arg),
                    void *arg, struct vel_work **ret_work, struct vel_err *err);

/* Jobs that run are cancelled and waited for; what was not taken is void. */
void vel_work_destroy(struct vel_work *work);

/* Put a job in its place. rate: bytes per second, 0: no limit; percent: of a store's
 * speed (xfer/throttle.h), 0: no limit; uses_prefix: it may be in a call that does not
 * come back. *ret_number is never used again. */
struct vel_work_plan {
    struct vel_work_order order;
    uint64_t rate;
    double percent;
    bool uses_prefix;
};
int vel_work_submit(struct vel_work *work, const struct vel_work_plan *plan,
                    vel_work_f *run, void *arg, uint64_t *ret_number,
                    struct vel_err *err);

/* When all workers have been at jobs that use the prefix for so long (ns) without a
 * step of their watch, they hang: another one does what waits meanwhile; VEL_WORK_SPARE
 * at most, the last of them only what does not use the prefix. To be called often.
 * False: so many hang that no job that uses the prefix begins; or a job waits, and all
 * workers have been at one without a step for VEL_WORK_STILL times as long, as each may
 * be that waits for others who died. */
enum { VEL_WORK_STILL = 5 };
enum { VEL_WORK_SPARE = 8 };
bool vel_work_relieve(struct vel_work *work, uint64_t patience);

/* Another rate, at once, for a job that waits or runs. */
void vel_work_set_rate(struct vel_work *work, uint64_t number, uint64_t rate);

/* Stop it: its result is VEL_ECANCEL, or what it came to meanwhile. */
void vel_work_cancel(struct vel_work *work, uint64_t number);

/* The next result, in the order in which jobs ended; false: none now. */
bool vel_work_take(struct vel_work *work, struct vel_work_result *ret);

/* Bytes that a job has moved since this was last asked. */
uint64_t vel_work_moved(struct vel_work *work, uint64_t number);

#endif
