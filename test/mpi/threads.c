/* SPDX-License-Identifier: BSD-3-Clause */
/* No thread of ours calls MPI: every function of MPI that the libraries need stands
 * here in front of it, and notes which thread calls. The program says MPI_Init, and
 * nothing of threads; checkpoints are encoded and flushed beside it, by a thread of its
 * own, and by an agent. */
#define _GNU_SOURCE /* dladdr */
#include "config.h"

#include <dlfcn.h>
#include <glob.h>
#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tap/apilab.h"
#include "tap/files.h"
#include "tap/mtap.h"
#include "veloc.h"

enum { NODES = 4 };

static atomic_long calls, strays; /* by others than the first thread */
static const char *stray;

static void note_caller(const char *name)
{
    atomic_fetch_add(&calls, 1);
    if (syscall(SYS_gettid) != getpid() && atomic_fetch_add(&strays, 1) == 0)
        stray = name;
}

/* --- MPI --- */

/* X(name, parameters, arguments) */
#define PROBED(X)                                                                      \
    X(Allreduce,                                                                       \
      (const void *from, void *to, int n, MPI_Datatype type, MPI_Op op, MPI_Comm c),   \
      (from, to, n, type, op, c))                                                      \
    X(Barrier, (MPI_Comm c), (c))                                                      \
    X(Bcast, (void *bytes, int n, MPI_Datatype type, int root, MPI_Comm c),            \
      (bytes, n, type, root, c))                                                       \
    X(Cancel, (MPI_Request * r), (r))                                                  \
    X(Comm_dup, (MPI_Comm c, MPI_Comm * ret), (c, ret))                                \
    X(Comm_free, (MPI_Comm * c), (c))                                                  \
    X(Comm_get_attr, (MPI_Comm c, int key, void *value, int *flag),                    \
      (c, key, value, flag))                                                           \
    X(Comm_get_errhandler, (MPI_Comm c, MPI_Errhandler * ret), (c, ret))               \
    X(Comm_group, (MPI_Comm c, MPI_Group * ret), (c, ret))                             \
    X(Comm_rank, (MPI_Comm c, int *ret), (c, ret))                                     \
    X(Comm_set_errhandler, (MPI_Comm c, MPI_Errhandler h), (c, h))                     \
    X(Comm_size, (MPI_Comm c, int *ret), (c, ret))                                     \
    X(Comm_split, (MPI_Comm c, int color, int key, MPI_Comm *ret),                     \
      (c, color, key, ret))                                                            \
    X(Comm_test_inter, (MPI_Comm c, int *ret), (c, ret))                               \
    X(Errhandler_free, (MPI_Errhandler * h), (h))                                      \
    X(Error_class, (int code, int *ret), (code, ret))                                  \
    X(Error_string, (int code, char *text, int *len), (code, text, len))               \
    X(Finalized, (int *ret), (ret))                                                    \
    X(Get_count, (const MPI_Status *s, MPI_Datatype type, int *ret), (s, type, ret))   \
    X(Group_free, (MPI_Group * g), (g))                                                \
    X(Group_translate_ranks,                                                           \
      (MPI_Group a, int n, const int *ranks, MPI_Group b, int *ret),                   \
      (a, n, ranks, b, ret))                                                           \
    X(Initialized, (int *ret), (ret))                                                  \
    X(Irecv,                                                                           \
      (void *bytes, int n, MPI_Datatype type, int from, int tag, MPI_Comm c,           \
       MPI_Request *ret),                                                              \
      (bytes, n, type, from, tag, c, ret))                                             \
    X(Isend,                                                                           \
      (const void *bytes, int n, MPI_Datatype type, int to, int tag, MPI_Comm c,       \
       MPI_Request *ret),                                                              \
      (bytes, n, type, to, tag, c, ret))                                               \
    X(Request_free, (MPI_Request * r), (r))                                            \
    X(Test, (MPI_Request * r, int *flag, MPI_Status *s), (r, flag, s))                 \
    X(Wait, (MPI_Request * r, MPI_Status * s), (r, s))

#define X(name, parameters, arguments)                                                 \
    int MPI_##name parameters                                                          \
    {                                                                                  \
        note_caller("MPI_" #name);                                                     \
        return PMPI_##name arguments;                                                  \
    }
PROBED(X)
#undef X

#define X(name, parameters, arguments) "MPI_" #name,
static const char *const probed[] = {PROBED(X)};
#undef X

static bool is_probed(const char *name)
{
    for (size_t i = 0; i < sizeof probed / sizeof probed[0]; i++)
        if (strcmp(probed[i], name) == 0)
            return true;
    return false;
}

/* A function of MPI that a library needs and that would pass us by; else NULL. */
static const char *unprobed(const char *library)
{
    static char name[256];
    char command[1200];
    const char *missing = "what nm lists";
    FILE *list;

    snprintf(command, sizeof command, "nm -D --undefined-only '%s'", library);
    if (!(list = popen(command, "r")))
        return missing;
    while (fscanf(list, "%255s", name) == 1)
        if (strncmp(name, "MPI_", 4) == 0) {
            missing = is_probed(name) ? NULL : name;
            if (missing)
                break;
        }
    pclose(list);
    return missing;
}

/* The library of the calls; the core beside it has no MPI. */
static const char *missing_probe(void)
{
    Dl_info info;
    const char *missing = NULL;

    if (mtap_rank() == 0)
        missing = dladdr((void *)(uintptr_t)VELOC_Init, &info)
                      ? unprobed(info.dli_fname)
                      : "VELOC_Init";
    if (missing)
        mtap_note("%s passes us by", missing);
    return missing;
}

/* MPI says of this one that any thread may call it. */
static void *call_mpi(void *arg)
{
    int is_up;

    (void)arg;
    MPI_Initialized(&is_up);
    return NULL;
}

static void another_thread_is_seen(void)
{
    pthread_t thread;

    mok(pthread_create(&thread, NULL, call_mpi, NULL) == 0 &&
            pthread_join(thread, NULL) == 0 && strays == 1,
        "a call of another thread is seen");
    strays = 0;
}

/* --- launches --- */

/* Nodes that an agent leads: it leaves a mark beside the socket. */
static int led_by_agent(void)
{
    glob_t found = {0};
    int n = 0;

    if (glob(apilab_at("cntl/*/leader.*/agent"), 0, NULL, &found) == 0)
        n = (int)found.gl_pathc;
    globfree(&found);
    return n;
}

/* Everything that asks the leader, and everything that it does. */
static void run(int agents)
{
    int status = 0;

    mok(apilab_begin(), "the session begins");
    mis_int(led_by_agent(), agents, "so many of its nodes are led by an agent");
    for (int i = 1; i <= 3; i++)
        mok(apilab_save("t", i) == VELOC_SUCCESS, "checkpoint %d is complete", i);
    mok(VELOC_Check_Backend_Aliveness(&status) == VELOC_SUCCESS, "the leader is well");
    mok(VELOC_Checkpoint_wait() == VELOC_SUCCESS, "the background has done its work");
    mok(apilab_files("prefix", "t.3.*") == mtap_size(), "the last one is flushed");
    mok(apilab_files("cache", "*XOR*") >= mtap_size(), "and encoded");
    mok(apilab_restores("t", 3), "it can be restored");
    mok(apilab_end(1), "the session ends");
    apilab_lose(1);
    mok(apilab_begin() && apilab_restores("t", 3), "so it can when a node was lost");
    mok(apilab_end(1), "that session ends, too");
}

static void nobody_strayed(void)
{
    mok(calls > 0, "calls of MPI are seen");
    if (strays > 0)
        mtap_note("%ld calls of others, the first: %s", (long)strays, stray);
    mok(strays == 0, "all by the first thread");
}

/* --- */

static const char settings[] =
    "CNTL_BASE=$/cntl\nMODE=%s\nCOPY_TYPE=XOR\nSET_SIZE=4\nFLUSH=1\n";

static void begin_case(const char *mode)
{
    char text[256];

    snprintf(text, sizeof text, settings, mode);
    apilab_case(mode, NODES, text);
}

static void by_threads(void)
{
    begin_case("ASYNC");
    run(0);
    nobody_strayed();
}

static void by_an_agent(void)
{
    pid_t agent;

    begin_case("AGENT");
    agent = apilab_agent_start(apilab_at("cntl"));
    mok(agent >= 0, "an agent is started");
    run(NODES);
    nobody_strayed();
    mok(apilab_agent_end(agent), "it ends when it is told");
}

int main(int argc, char **argv)
{
    int level = -1;

    mtap_init(&argc, &argv);
    MPI_Query_thread(&level);
    mtap_note("the program says MPI_Init; MPI gives level %d", level);
    mok(!missing_probe(), "every function of MPI that is needed is watched");
    another_thread_is_seen();
    by_threads();
    by_an_agent();
    return mtap_done();
}
