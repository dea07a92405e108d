/* SPDX-License-Identifier: BSD-3-Clause */
/* halt - the conditions under which a program should stop, and what its runs have noted
 * about them (doc/format-meta.txt, 9 and 10).
 *
 * Two records, so that none has two writers: "halt" is the operator's, written by
 * h5veloc-halt; "halt-run" is written by rank 0 of a run: how many of the allowed
 * checkpoints are done, and that the program has ended well. A count belongs to one
 * asking: asking again begins anew.
 *
 * The library never ends a program: it answers, the program or h5veloc-run acts. Wall
 * clocks are compared here and nowhere else, because operators and schedulers give
 * times of day: by rank 0 alone, whose answer everyone gets.
 */
#ifndef VEL_META_HALT_H
#define VEL_META_HALT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "sys/fs.h"

enum { VEL_HALT_ID = 17, VEL_HALT_TEXT = 320 };

struct vel_halt {
    /* asked for by the operator */
    int64_t checkpoints;       /* stop when so many more are complete; -1: not asked */
    char request[VEL_HALT_ID]; /* the asking for `checkpoints` */
    int64_t before;  /* stop in time before, seconds since 1970; 0: not asked */
    int64_t after;   /* stop once it is past; 0: not asked */
    int64_t seconds; /* stop so long before the end; -1: as HALT_SECONDS says */
    char *reason;    /* stop now, and why; NULL: not asked */

    /* noted by runs */
    char counted[VEL_HALT_ID]; /* the asking that `done` belongs to */
    int64_t done;              /* checkpoints since */
    char *finished;            /* how the last run ended well; NULL: it did not */
};

/* Nothing asked for, nothing noted. */
void vel_halt_init(struct vel_halt *halt);
void vel_halt_fini(struct vel_halt *halt);

/* Ask in memory; -1, 0, 0, -1 and NULL take it back. VEL_EINVAL for what makes no
 * sense, and nothing has changed. */
int vel_halt_set_checkpoints(struct vel_halt *halt, int64_t checkpoints,
                             struct vel_err *err);
int vel_halt_set_before(struct vel_halt *halt, int64_t time, struct vel_err *err);
int vel_halt_set_after(struct vel_halt *halt, int64_t time, struct vel_err *err);
int vel_halt_set_seconds(struct vel_halt *halt, int64_t seconds, struct vel_err *err);
int vel_halt_set_reason(struct vel_halt *halt, const char *reason, struct vel_err *err);

/* The operator's record. `dir` is the directory .veloc of the prefix. Without a file
 * nothing is asked for, and when nothing is asked for the file is removed. On failure
 * the struct is as before. Two operators at once take turns by a lock of their own. */
int vel_halt_load(struct vel_fs *fs, const char *dir, struct vel_halt *halt,
                  struct vel_err *err);
int vel_halt_save(struct vel_fs *fs, const char *dir, const struct vel_halt *halt,
                  struct vel_err *err);

/* The run's record, the same way. */
int vel_halt_load_run(struct vel_fs *fs, const char *dir, struct vel_halt *halt,
                      struct vel_err *err);

/* A run begins: it has not ended well yet (Init). */
int vel_halt_begin(struct vel_fs *fs, const char *dir, struct vel_halt *halt,
                   struct vel_err *err);

/* One more checkpoint is complete. Nothing is written when nobody counts. When writing
 * fails this struct has counted all the same. */
int vel_halt_count(struct vel_fs *fs, const char *dir, struct vel_halt *halt,
                   struct vel_err *err);

/* The program has ended well (Finalize): `reason` ends the restarts of h5veloc-run, and
 * nothing else. */
int vel_halt_finish(struct vel_fs *fs, const char *dir, struct vel_halt *halt,
                    const char *reason, struct vel_err *err);

/* Checkpoints that are left of those allowed; -1 when nobody counts. */
int64_t vel_halt_left(const struct vel_halt *halt);

/* Who asks whether to stop: a running program, or who is about to launch it again. */
enum vel_halt_asker { VEL_HALT_PROGRAM, VEL_HALT_LAUNCH };

enum vel_halt_why {
    VEL_HALT_NONE, /* go on */
    VEL_HALT_ASKED,
    VEL_HALT_CHECKPOINTS,
    VEL_HALT_BEFORE,
    VEL_HALT_AFTER,
    VEL_HALT_END,
    VEL_HALT_FINISHED, /* for a launch only */
};

/* What rank 0 knows when it asks. */
struct vel_halt_now {
    double wall;    /* seconds since 1970 */
    double end;     /* of the allocation, the same way; 0: unknown */
    double seconds; /* HALT_SECONDS: what ending takes; 0: the end does not matter */
    double cost;    /* seconds that one more checkpoint takes */
};

struct vel_halt_verdict {
    enum vel_halt_why why;
    char text[VEL_HALT_TEXT]; /* a sentence; "" for NONE */
};

/* Pure. Time is short when less is left than ending and one more checkpoint take, so
 * that the last checkpoint can still be made. */
void vel_halt_test(const struct vel_halt *halt, enum vel_halt_asker asker,
                   const struct vel_halt_now *now, struct vel_halt_verdict *ret);

#endif
