/* SPDX-License-Identifier: BSD-3-Clause */
/* bench - two ways of doing the same work, measured side by side in one run.
 *
 * Absolute times of one machine mean nothing elsewhere; a ratio of interleaved pairs
 * does. Each comparison prints one tab-separated row: the medians and the ratio b/a of
 * the speeds with its spread. A target is met when the whole spread is no lower, and
 * missed when the whole of it is.
 */
#ifndef TEST_BENCH_BENCH_H
#define TEST_BENCH_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Do the work once; the time of the call counts. Non-zero: it failed, and the program
 * ends. */
typedef int bench_work_f(void *arg);

struct bench_side {
    const char *name;
    bench_work_f *work;
    bench_work_f *prepare; /* before each call, not timed; may be NULL */
};

struct bench {
    const char *name;
    const char *params;
    uint64_t bytes;      /* moved by one call of either side */
    struct bench_side a; /* the yardstick */
    struct bench_side b; /* ours */
    double target;       /* the ratio speed b / speed a that is wanted; 0: none */
};

/* One warm-up of each side, then BENCH_PAIRS (7 or more) pairs a b, b a, a b, ...;
 * prints one row. Returns 1 when the target is missed, else 0. */
int bench_run(const struct bench *bench, void *arg);

/* The same where only a part of the work counts, which the work measures itself:
 * `seconds` tells how long that took in the last call. */
int bench_run_part(const struct bench *bench, double (*seconds)(void *arg), void *arg);

/* The same with another target: b may take so many seconds more than a. */
int bench_run_more(const struct bench *bench, double more, void *arg);

/* Is that part of a program to be measured? BENCH_PART names the only one. */
bool bench_is_wanted(const char *part);

/* Seconds from a clock that only goes forward. */
double bench_now(void);

/* A directory in memory for files that are to be measured without a disk: BENCH_DIR,
 * which run.sh makes and removes; else /dev/shm where there is one, else TMPDIR or
 * /tmp. */
const char *bench_ram_dir(void);

_Noreturn void bench_die(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
