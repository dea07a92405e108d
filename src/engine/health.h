/* SPDX-License-Identifier: BSD-3-Clause */
/* health - is the environment what a session needs? Collective; the status is the worst
 * of all ranks, its numbers are part of the API. *dir is for storage alone. */
#ifndef VEL_ENGINE_HEALTH_H
#define VEL_ENGINE_HEALTH_H

#include "engine/session.h"

enum vel_health_storage_status {
    VEL_STORAGE_GOOD = 0,
    VEL_STORAGE_NO_DIRECTORY = 1,
    VEL_STORAGE_NO_PERMISSION = 2,
    VEL_STORAGE_NO_SPACE = 3,
    VEL_STORAGE_OTHER = 4,
};

/* enum vel_topo_fault of topo/check.h */
int vel_health_configuration(struct vel_session *session, const char *dir,
                             int *ret_status, struct vel_err *err);

/* Local. Can a file be written there? */
int vel_health_try(const struct vel_session *session, const char *dir,
                   struct vel_err *err);

/* Can a file be written there, and is there room for the next dataset? */
int vel_health_storage(struct vel_session *session, const char *dir, int *ret_status,
                       struct vel_err *err);

/* Of background work: does a worker take a job, and can caches and prefix be listed?
 * Without leaders nobody listens, and nobody is dead. */
enum vel_health_listener_status {
    VEL_LISTENERS_ALIVE = 0,
    VEL_LISTENER_OF_CHECKPOINTS_DEAD = 1,
    VEL_LISTENER_OF_RESTARTS_DEAD = 2,
};
int vel_health_listeners(struct vel_session *session, const char *dir, int *ret_status,
                         struct vel_err *err);

/* How many nodes do not answer, of those that have not left, as the leaders know.
 * Without leaders all ranks have to be there for the answer to come: 0. */
int vel_health_nodes(struct vel_session *session, const char *dir, int *ret_status,
                     struct vel_err *err);

#endif
