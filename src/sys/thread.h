/* SPDX-License-Identifier: BSD-3-Clause */
/* thread - threads of ours in programs of others. */
#ifndef VEL_SYS_THREAD_H
#define VEL_SYS_THREAD_H

#include <pthread.h>

/* As pthread_create(). Signals are for the program's own threads. */
int vel_thread_start(pthread_t *ret_thread, void *(*run)(void *arg), void *arg);

/* A condition whose waits end by CLOCK_MONOTONIC. */
void vel_cond_init(pthread_cond_t *cond);

#endif
