/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* dladdr */
#include "config.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "process/orderly.h"

static struct vel_orderly_mpi mpi;
static atomic_int status; /* of exit(); 0: none that is known */

#ifdef HAVE_ON_EXIT

static void note_status(int code, void *arg)
{
    (void)arg;
    atomic_store(&status, code);
}

static void watch_status(void)
{
    on_exit(note_status, NULL);
}

#else

static void watch_status(void)
{
}

#endif

void vel_orderly_watch(const struct vel_orderly_mpi *of)
{
    mpi = *of;
    watch_status();
}

/* What a program has loaded later may have been unloaded, and MPI with it. */
static bool is_loaded(int (*function)(int *))
{
    union {
        int (*function)(int *);
        void *address;
    } it = {function};
    Dl_info info;

    return function && dladdr(it.address, &info);
}

bool vel_orderly_is(void)
{
    int is_up = 0, is_down = 1;

    if (is_loaded(mpi.initialized) && is_loaded(mpi.finalized)) {
        mpi.initialized(&is_up);
        mpi.finalized(&is_down);
    }
    return (!is_up || is_down) && atomic_load(&status) == 0;
}
