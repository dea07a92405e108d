/* SPDX-License-Identifier: BSD-3-Clause */
/* apilab - launches of a program that calls veloc.h, one after the other in one MPI
 * job: a case has a prefix, caches of virtual nodes and a file of settings of its own,
 * and may lose nodes between two launches.
 *
 * Collective over MPI_COMM_WORLD unless it says "Local."
 */
#ifndef TEST_TAP_APILAB_H
#define TEST_TAP_APILAB_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* The tests of a program, each in the modes that matter to it: calls encode (SYNC),
 * threads do so behind the program (ASYNC), or an agent does (AGENT). A launch
 * that ends in the other modes waits for what is owed, as SYNC has done. */
enum apilab_mode {
    APILAB_SYNC = 1,
    APILAB_ASYNC = 2,
    APILAB_AGENT = 4,
    APILAB_ALL = APILAB_SYNC | APILAB_ASYNC | APILAB_AGENT
};

struct apilab_test {
    void (*run)(void);
    unsigned modes;
};

void apilab_run(const struct apilab_test *tests, size_t n);
/* In one of the other two. Local. */
bool apilab_is_behind(void);

/* An agent for the launches with CNTL_BASE=cntl; it ends well when it is told. 0 and
 * true on all ranks but one. */
pid_t apilab_agent_start(const char *cntl);
bool apilab_agent_end(pid_t agent);

/* A new case with fresh directories, and the settings of its launches: lines below
 * PREFIX=<case>/prefix and CACHE_BASE=<case>/cache. `$` in them is the directory of the
 * case. So many virtual nodes. */
void apilab_case(const char *name, int nodes, const char *settings);

/* Other settings for the launches to come; every line is taken as it is, "$" excepted.
 */
void apilab_settings(const char *settings);
void apilab_file(const char *text); /* the whole file */

/* A path in the directory of the case; the last 16 results stay good. Local. */
const char *apilab_at(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* All that was saved is protected, and flushed where that is due. */
bool apilab_wait(void);

/* VELOC_Init and VELOC_Finalize, with a note when they fail; collective over comm. */
bool apilab_begin_on(MPI_Comm comm);
bool apilab_begin(void);
bool apilab_end(int cleanup);
/* End without cleanup, and begin. */
bool apilab_again(void);

/* VELOC_Error() has these words. Local. */
bool apilab_says(const char *words);

/* A checkpoint of one file per rank, "<name>.<version>.<rank>", whose text tells as
 * much: VELOC_SUCCESS when all went well. Collective over the communicator of the
 * session. */
int apilab_save(const char *name, int version);

/* The same checkpoint restored: the text is right on this rank. */
bool apilab_restores(const char *name, int version);

/* What a rank's file of such a checkpoint holds. Local. */
const char *apilab_text(const char *name, int version, int rank);

/* A node, or all of them, with what they had in their caches; or what fits the pattern
 * in another store. */
void apilab_lose(int node);
void apilab_lose_all(void);
void apilab_lose_in(const char *store, const char *pattern);

/* How many regular files lie below that directory of the case whose names fit the
 * pattern, without what is in ".veloc"; after all ranks have come here. */
int apilab_files(const char *dir, const char *pattern);

/* How many lines of that file of the case have the words; after all came. */
int apilab_lines(const char *file, const char *words);

#endif
