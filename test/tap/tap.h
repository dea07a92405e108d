/* SPDX-License-Identifier: BSD-3-Clause */
/* tap - what a test program says to Automake's TAP driver.
 *
 * The text of an ok states a behaviour that a user relies on ("a torn last record is
 * ignored"). For programs under MPI see tap/mtap.h.
 */
#ifndef TEST_TAP_TAP_H
#define TEST_TAP_TAP_H

#include <stdbool.h>

/* One check. Returns cond, so that what follows can depend on it. */
#define ok(cond, ...) tap_ok((cond), __FILE__, __LINE__, #cond, __VA_ARGS__)

/* The same for values, which are shown when they differ. */
#define is_int(got, want, ...)                                                         \
    tap_is_int((got), (want), __FILE__, __LINE__, __VA_ARGS__)
#define is_str(got, want, ...)                                                         \
    tap_is_str((got), (want), __FILE__, __LINE__, __VA_ARGS__)

bool tap_ok(bool cond, const char *file, int line, const char *code, const char *fmt,
            ...) __attribute__((format(printf, 5, 6)));
bool tap_is_int(long long got, long long want, const char *file, int line,
                const char *fmt, ...) __attribute__((format(printf, 5, 6)));
bool tap_is_str(const char *got, const char *want, const char *file, int line,
                const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/* The bare line of a check; whoever calls this explains a failure (tap/mtap.c). */
void tap_line(bool pass, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* A line for the reader of the log. */
void note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* `count` checks that cannot be made here, and why. */
void skip(int count, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Nothing of this program can run here: says why and exits. */
_Noreturn void skip_all(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The test itself cannot go on (no memory, no directory): says why and exits. */
_Noreturn void bail_out(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Print the plan; return this from main. */
int done_testing(void);

/* A fresh directory, removed with all that is in it when the program ends well; kept,
 * and named in a note, when a check failed. Belongs to tap. */
const char *tap_dir(void);

/* "<tap_dir>/<name>"; the last 8 results stay good. */
const char *tap_path(const char *name);

/* The number of descriptors that this process has open. */
int tap_open_fds(void);

#endif
