/* SPDX-License-Identifier: BSD-3-Clause */
/* state - the one session of a process that VELOC_* works on, and how failures become
 * what a C program sees. */
#ifndef VEL_API_STATE_H
#define VEL_API_STATE_H

#include <stdbool.h>

#include "api/image.h"
#include "api/regions.h"
#include "base/err.h"
#include "base/map.h"
#include "engine/session.h"

struct vel_api {
    struct vel_session *session; /* NULL: none */
    struct vel_regions *regions;
    int rank;           /* in names of images */
    struct vel_err err; /* of the last call */
    char *name;         /* of the checkpoint or restart under way */
    int version;
    struct vel_map *writers; /* name of a region list -> struct vel_image_writer */
    struct vel_map *images;  /* the same -> struct vel_image */
    int64_t started;         /* version of VELOC_Start_checkpoint */
    int fault;               /* of settings that VELOC_Init has refused; 0: none */
    bool is_missing_told; /* that there is no session: once is enough for a program that
                             goes on without */
};

/* The process's one. Never NULL. */
struct vel_api *vel_api(void);

/* The same, with the sentence of the last call cleared: every function begins so. NULL,
 * and a sentence, when there is no session. */
struct vel_api *vel_api_enter(void);

/* VELOC_SUCCESS, or the failure told: by one rank when all know of it. */
int vel_api_leave(int rc);
int vel_api_leave_local(int rc);

/* Collective. What a local call has returned: VELOC_FAILURE on all ranks when it was on
 * any, with the sentence of the lowest of them. */
int vel_api_agree(int returned);

/* A failure of the caller. */
int vel_api_refuse(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Images that are open, closed: those being written are removed unless committed. */
int vel_api_commit(struct vel_api *api);
void vel_api_forget(struct vel_api *api);

#endif
