/* SPDX-License-Identifier: BSD-3-Clause */
/* yield - a preload that makes MPICH's ranks polite, for tests only.
 *
 * MPICH over UCX polls without ever giving the core away: with more ranks than cores
 * every message costs time slices. So a rank whose progress call has found nothing for
 * a while sleeps a little, and longer while it goes on waiting: what a message can be
 * late by is a part of the time that it was waited for.
 *
 * With YIELD_FINALIZE=1 (set by the virtual cluster) it also works round a fault of
 * MPICH 4.0, mended upstream by pmodels/mpich 6596: over TCP between nodes,
 * MPI_Finalize closes its endpoints one by one and then waits in a barrier that makes
 * no UCX progress, so a peer whose last flush needs us waits for ever. There, closing
 * is left to the destruction of the worker, which comes after that barrier, and
 * barriers that do make progress come first, so that nobody still waits for a message.
 *
 * With YIELD_KEEP_LOADED=1 (set by launcher.sh in builds with a sanitizer) no library
 * is unloaded: UCX unloads transports while memory hangs on their variables, which then
 * looks like a leak of an unknown module that no suppression can name.
 *
 * Other devices of MPICH and other MPIs are not touched. Everything is looked up at run
 * time, because the preload also lands in the shells and tools that a rank starts.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <mpi.h>

enum {
    POLLS_BEFORE_SLEEP = 20,
    SLEEP_NS = 20000,
    LONG_NS = 1000000, /* for a wait of 10 ms; a longer sleep is for one of a second */
    LONGEST_NS = 10000000
};

/* UCX's, which need not be there when this is compiled */
unsigned ucp_worker_progress(void *worker);
void *ucp_disconnect_nb(void *endpoint);

/* dlsym gives a data pointer; C has no cast from it to a function */
static void next_symbol(const char *name, void *ret_function)
{
    void *address = dlsym(RTLD_NEXT, name);

    memcpy(ret_function, &address, sizeof address);
}

static int is_wished(const char *variable)
{
    const char *wish = getenv(variable);

    return wish && strcmp(wish, "1") == 0;
}

unsigned ucp_worker_progress(void *worker)
{
    static unsigned (*real)(void *);
    static __thread int idle_polls;
    static __thread long sleep_ns = SLEEP_NS;

    if (!real)
        next_symbol("ucp_worker_progress", &real);
    unsigned events = real(worker);
    if (events) {
        idle_polls = 0;
        sleep_ns = SLEEP_NS;
    } else if (++idle_polls > POLLS_BEFORE_SLEEP) {
        nanosleep(&(struct timespec){.tv_nsec = sleep_ns}, NULL);
        sleep_ns += sleep_ns / (sleep_ns < LONG_NS ? 8 : 100);
        if (sleep_ns > LONGEST_NS)
            sleep_ns = LONGEST_NS;
    }
    return events;
}

void *ucp_disconnect_nb(void *endpoint)
{
    static void *(*real)(void *);

    if (is_wished("YIELD_FINALIZE"))
        return NULL; /* UCS_OK: done at once */
    if (!real)
        next_symbol("ucp_disconnect_nb", &real);
    return real(endpoint);
}

int MPI_Finalize(void)
{
    int (*barrier)(MPI_Comm);
    int (*finalize)(void);

    next_symbol("PMPI_Barrier", &barrier);
    next_symbol("PMPI_Finalize", &finalize);
    /* the second says that everybody has left the first */
    for (int i = 0; i < 2 && is_wished("YIELD_FINALIZE"); i++)
        barrier(MPI_COMM_WORLD);
    return finalize();
}

int dlclose(void *library)
{
    int (*real)(void *);

    if (is_wished("YIELD_KEEP_LOADED"))
        return 0;
    next_symbol("dlclose", &real);
    return real(library);
}
