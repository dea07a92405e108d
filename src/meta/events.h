/* SPDX-License-Identifier: BSD-3-Clause */
/* events - the history of a prefix: one JSON line per event, appended
 * (doc/format-events.txt).
 *
 * For people, reports and scripts: nothing is decided by it, nothing is lost with it,
 * and it may be removed at any time. A line is appended in one piece by one process; a
 * line that a killed writer left unfinished spoils no other. Lines are not synced.
 */
#ifndef VEL_META_EVENTS_H
#define VEL_META_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "meta/dataset.h"
#include "sys/clock.h"
#include "sys/fs.h"

#define VEL_EVENT_FILE "events"
#define VEL_EVENT_PAST "events.1" /* those before, when there were too many */
#define VEL_EVENT_FILE_MOST (16 << 20)

enum { VEL_EVENT_LINE_MOST = 65536 };

/* kind, its word in the file; in the order of a life */
#define VEL_EVENT_MAP(X)                                                               \
    X(RUN_START, "run_start")                                                          \
    X(INIT, "init")                                                                    \
    X(FETCH, "fetch")                                                                  \
    X(REBUILD, "rebuild")                                                              \
    X(RESTART, "restart")                                                              \
    X(COMPUTE, "compute")                                                              \
    X(CHECKPOINT_START, "checkpoint_start")                                            \
    X(CHECKPOINT, "checkpoint")                                                        \
    X(OUTPUT_START, "output_start")                                                    \
    X(OUTPUT, "output")                                                                \
    X(ENCODE, "encode")                                                                \
    X(ENCODE_DELTA, "encode_delta")                                                    \
    X(FLUSH_START, "flush_start")                                                      \
    X(FLUSH, "flush")                                                                  \
    X(DELTA, "delta")                                                                  \
    X(DROP, "drop")                                                                    \
    X(HALT, "halt")                                                                    \
    X(NODE_FAIL, "node_fail")                                                          \
    X(SCAVENGE, "scavenge")                                                            \
    X(RUN_END, "run_end")

enum vel_event_kind {
    VEL_EVENT_OTHER, /* none of ours: a reader found it */
#define X(name, word) VEL_EVENT_##name,
    VEL_EVENT_MAP(X)
#undef X
};

enum vel_event_result {
    VEL_EVENT_OPEN, /* it has none, or not yet */
    VEL_EVENT_OK,
    VEL_EVENT_FAILED,
};

/* What is not above 0, or NULL, is not in the line. */
struct vel_event {
    enum vel_event_kind kind;
    enum vel_event_result result;
    int64_t id;       /* of the dataset */
    const char *name; /* of the dataset */
    int64_t files;
    int64_t bytes;
    double seconds;   /* that it took */
    const char *text; /* a sentence: why, from where to where */
    int64_t ranks;
    int64_t nodes;
    int64_t compared; /* bytes of files of which an older version was there, */
    int64_t cloned;   /* those of them that were not written, or sent to be encoded, */
    int64_t written;  /* and what was, of all files; or of redundancy */

    double time; /* wall clock of the writer, seconds since 1970; 0: now */

    /* filled by the log when written */
    const char *word; /* of the kind */
    const char *job;
    const char *user;
};

/* Where a process writes its events, and what it puts into every line. */
struct vel_event_log {
    struct vel_fs *fs;
    struct vel_clock *clock;
    char *path; /* NULL: nothing is recorded */
    char *job;
    char *user;
};

/* `dir` is the directory .veloc of the prefix; with NULL (LOG_ENABLE=0) events go
 * nowhere. `job` and `user` may be NULL. All are copied; fs and clock must outlive the
 * log. */
int vel_event_log_init(struct vel_event_log *log, struct vel_fs *fs,
                       struct vel_clock *clock, const char *dir, const char *job,
                       const char *user, struct vel_err *err);
void vel_event_log_fini(struct vel_event_log *log);

/* What the event does not say of its dataset. */
void vel_event_about(struct vel_event *event, const struct vel_dataset *dataset);

/* The time, for an event that is written later. */
double vel_event_now(struct vel_clock *clock);

/* Append one event. Its last three members are not looked at. A failure is no reason
 * for anything else to fail: say it once and go on. */
int vel_event_log_add(const struct vel_event_log *log, const struct vel_event *event,
                      struct vel_err *err);

#endif
