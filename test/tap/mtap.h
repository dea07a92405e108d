/* SPDX-License-Identifier: BSD-3-Clause */
/* mtap - tap for a program of many ranks: one check, one line, however many ranks.
 *
 * Every function here is collective over MPI_COMM_WORLD unless it says otherwise, and
 * rank 0 alone prints. A check passes when it holds on every rank; when it does not,
 * the ranks on which it fails are named. Do not mix it with ok() of tap.h, which every
 * rank would print.
 *
 * A rank that has left (exit, crash) leaves the others waiting in the next check; the
 * time limit of mpirun.sh ends them and shows where they stood.
 */
#ifndef TEST_TAP_MTAP_H
#define TEST_TAP_MTAP_H

#include <stdbool.h>

/* One check on all ranks. Returns the same on all: whether it holds everywhere. Ranks
 * that stand at different checks are themselves a failure. */
#define mok(cond, ...) mtap_ok((cond), __FILE__, __LINE__, #cond, __VA_ARGS__)

/* The same for numbers, which are shown for the ranks where they differ. */
#define mis_int(got, want, ...)                                                        \
    mtap_is_int((got), (want), __FILE__, __LINE__, __VA_ARGS__)

bool mtap_ok(bool cond, const char *file, int line, const char *code, const char *fmt,
             ...) __attribute__((format(printf, 5, 6)));
bool mtap_is_int(long long got, long long want, const char *file, int line,
                 const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/* MPI_Init, and who we are. Call it first. */
void mtap_init(int *argc, char ***argv);

/* Rank and size in MPI_COMM_WORLD. Not collective. */
int mtap_rank(void);
int mtap_size(void);

/* The plan and MPI_Finalize. Returns what main should return, the same on all ranks. */
int mtap_done(void);

/* Nothing of this program can run here: rank 0 says why, and all exit. */
_Noreturn void mtap_skip_all(const char *fmt, ...)
    __attribute__((format(printf, 1, 2)));

/* A line of one rank for the reader of the log. Not collective. */
void mtap_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* A fresh directory that all ranks see, kept and removed like tap_dir(). Belongs to
 * mtap. */
const char *mtap_dir(void);

#endif
