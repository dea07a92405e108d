/* SPDX-License-Identifier: BSD-3-Clause */
/* sock_keep - a thread that speaks for a member while it works.
 *
 * Whoever computes, reads, or waits for its disk does not call its communicator, and
 * says nothing. The thread then says what a member that waits would say, that it lives,
 * and sends on what is queued, so that its word is not behind half a message. It reads
 * nothing, decides nothing and finds no failure: that is for the member when it comes
 * back. It sees one thing: that the member does not come back for too long. A disk that
 * hangs must not hold all others for ever, so it breaks the mesh then and says why.
 *
 * One lock is for the member and the thread. The member holds it whenever it is inside
 * the communicator, also while it waits there: then it speaks for itself. */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "comm/sock_mesh.h"
#include "sys/thread.h"

struct sock_keeper {
    struct sock_mesh *mesh;
    pthread_t thread;
    pthread_mutex_t lock; /* for the mesh and what follows */
    pthread_cond_t woken;
    unsigned busy_ms;
    uint64_t left; /* when the member was last inside */
    bool is_over;
};

static uint64_t now(void)
{
    return vel_clock_monotonic(vel_clock_system());
}

void vel_mesh_enter(struct sock_mesh *mesh)
{
    if (mesh->keeper)
        pthread_mutex_lock(&mesh->keeper->lock);
}

void vel_mesh_leave(struct sock_mesh *mesh)
{
    if (!mesh->keeper)
        return;
    mesh->keeper->left = now();
    pthread_mutex_unlock(&mesh->keeper->lock);
}

static void speak(struct sock_keeper *k)
{
    struct sock_mesh *mesh = k->mesh;
    char why[120];

    if (mesh->broken.status != 0)
        return;
    if (now() - k->left >= k->busy_ms * VEL_CLOCK_MS) {
        snprintf(why, sizeof why,
                 "it has done something else for %u ms: its storage or its processor "
                 "does not come back",
                 k->busy_ms);
        vel_mesh_blame(mesh, mesh->rank, VEL_ETIMEOUT, why, NULL);
        return;
    }
    vel_mesh_say_alive(mesh);
    for (int i = 0; i < mesh->size; i++)
        vel_mesh_write(mesh, i);
}

/* Wait until it is over, for an eighth of the limit at most. */
static void rest(struct sock_keeper *k)
{
    uint64_t end = now() + k->mesh->limit_ms * VEL_CLOCK_MS / 8 + VEL_CLOCK_MS;
    struct timespec until = {.tv_sec = (time_t)(end / VEL_CLOCK_S),
                             .tv_nsec = (long)(end % VEL_CLOCK_S)};
    int rc = 0;

    while (!k->is_over && rc != ETIMEDOUT)
        rc = pthread_cond_timedwait(&k->woken, &k->lock, &until);
}

static void *keep(void *arg)
{
    struct sock_keeper *k = arg;

    pthread_mutex_lock(&k->lock);
    while (!k->is_over) {
        speak(k);
        rest(k);
    }
    pthread_mutex_unlock(&k->lock);
    return NULL;
}

int vel_mesh_keep(struct sock_mesh *mesh, unsigned busy_ms, struct vel_err *err)
{
    struct sock_keeper *k = calloc(1, sizeof *k);

    if (!k)
        return vel_out_of_memory(err, "connections");
    *k = (struct sock_keeper){.mesh = mesh, .busy_ms = busy_ms, .left = now()};
    pthread_mutex_init(&k->lock, NULL);
    vel_cond_init(&k->woken);
    int rc = vel_thread_start(&k->thread, keep, k);
    if (rc != 0) {
        pthread_cond_destroy(&k->woken);
        pthread_mutex_destroy(&k->lock);
        free(k);
        return vel_fail_errno(err, rc, "starting a thread for the connections");
    }
    mesh->keeper = k;
    return 0;
}

void vel_mesh_keep_end(struct sock_mesh *mesh)
{
    struct sock_keeper *k = mesh->keeper;

    if (!k)
        return;
    pthread_mutex_lock(&k->lock);
    k->is_over = true;
    pthread_cond_signal(&k->woken);
    pthread_mutex_unlock(&k->lock);
    pthread_join(k->thread, NULL);
    pthread_cond_destroy(&k->woken);
    pthread_mutex_destroy(&k->lock);
    free(k);
    mesh->keeper = NULL;
}
