/* SPDX-License-Identifier: BSD-3-Clause */
/* log - sentences for operators: one event, one line, one rank.
 *
 *   error: we could not do what was asked     warn:  we could, in a worse way
 *   info:  the life of a dataset              debug: every object
 *
 * The sink is the one global of the engine. Without one, lines go to standard error.
 * Where lines go, and who speaks for an event that every rank sees, is decided by
 * whoever starts the engine.
 */
#ifndef VEL_BASE_LOG_H
#define VEL_BASE_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum vel_log_level {
    VEL_LOG_ERROR,
    VEL_LOG_WARN,
    VEL_LOG_INFO,
    VEL_LOG_DEBUG,
};

/* Takes one whole line with its newline, from any thread. */
typedef void vel_log_write_f(void *arg, enum vel_log_level level, const char *line,
                             size_t len);

struct vel_log_sink {
    enum vel_log_level level; /* what is less important is dropped */
    const char *who; /* "rank 3 on node7", put before the message; NULL: nothing */
    bool is_speaker; /* this process tells what all ranks see */
    vel_log_write_f *write; /* NULL: standard error */
    void *arg;
};

/* The write function that is used without a sink, for a sink whose own place fails. */
void vel_log_write_stderr(void *arg, enum vel_log_level level, const char *line,
                          size_t len);

/* Install a sink (copied, `who` too), or the first state again with NULL. */
void vel_log_open(const struct vel_log_sink *sink);

/* An event of this process alone. errno is kept. */
void vel_log(enum vel_log_level level, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* A wait has ended by its time limit, after so many ns: nobody has come, answered or
 * ended. Info, and always these words: campaigns count them. */
void vel_log_in_vain(const char *launch, uint64_t ns, const char *whom,
                     const char *which);

/* An event that every rank sees: only the speaker writes it. */
void vel_log_shared(enum vel_log_level level, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

#endif
