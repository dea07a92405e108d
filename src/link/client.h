/* SPDX-License-Identifier: BSD-3-Clause */
/* client - what a process or a tool calls to have something done by its node's leader:
 * one function for each message of way `ask` (doc/protocol.txt, 5 and 7).
 *
 * Any thread may call; calls of several threads are under way together. Every call
 * ends: with its answer; with the `no` of the leader, its status and sentence; or with
 * VEL_ETIMEOUT when nothing came for T. When the leader ends meanwhile, the next one is
 * looked for, told which files are open here, and asked again. A leader that has let a
 * call wait for T is not waited for again: until it speaks, calls fail at once.
 *
 * A forked child is nobody's process: there every call is VEL_ESTATE, and
 * vel_client_abandon() closes what was inherited.
 */
#ifndef VEL_LINK_CLIENT_H
#define VEL_LINK_CLIENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "link/link.h"
#include "view/inventory.h"

struct vel_client;

struct vel_client_ops {
    /* Nobody leads here: lead, if you can. 0: we do, and listen; VEL_EBUSY: another has
     * the lock. NULL: a tool, which never leads. */
    int (*lead)(void *arg, struct vel_err *err);
    /* Connected; is_agent: to the agent. Called outside of any lock. May be NULL. */
    void (*met)(void *arg, const struct vel_peer *leader, bool is_agent);
};

struct vel_client_conf {
    enum vel_peer_role role; /* a process or a tool */
    int64_t rank;            /* VEL_MSG_NO_RANK: none */
    const char *launch, *node;
    const char *agent;  /* endpoint, asked first; NULL: none */
    const char *leader; /* endpoint; NULL: only the agent */
    uid_t user;
    unsigned limit_ms;                /* T */
    const struct vel_key *key;        /* copied: then leaders over TCP, too; or NULL */
    const struct vel_client_ops *ops; /* may be NULL */
    void *arg;
};

/* Find the leader, or begin to lead: within T. Texts are copied. */
int vel_client_open(const struct vel_client_conf *conf, struct vel_client **ret_client,
                    struct vel_err *err);

/* The same as a tool of this user, which never leads: VEL_ENOENT when the leader that
 * was there has ended. role, user and ops are not looked at. */
int vel_client_open_tool(const struct vel_client_conf *conf,
                         struct vel_client **ret_client, struct vel_err *err);

/* No call may be under way. Says nothing: call vel_client_leave() before, or what is
 * open is never complete. Accepts NULL. */
void vel_client_close(struct vel_client *client);

/* In a forked child. Accepts NULL. */
void vel_client_abandon(struct vel_client *client);

/* Where a file is; the texts are the caller's to free. */
struct vel_place {
    unsigned where; /* 0 not there, 1 in the cache: path, 2 at its own path, 3 lost:
                       why, 4 there, but not on this node, 5 live: at its own path, and
                       what caches have of it is none any more */
    uint64_t file;  /* for vel_client_file_close(); of this client, for ever */
    int64_t dataset;
    uint64_t size;
    char *path, *why;
};
void vel_place_fini(struct vel_place *place);

/* create; VEL_CREATE_NEW or _OPEN: where shall it be written. A file given a place in
 * the cache is open until it is closed; after a hand-over the next leader is told. */
int vel_client_file_create(struct vel_client *client, enum vel_create how,
                           const char *name, struct vel_place *ret,
                           struct vel_err *err);

/* close; VEL_CLOSE_VERSION: a version point, and still open. VEL_ESTATE: the leader
 * that came meanwhile does not know the file. After a failure it is still open.
 * *ret_dataset (may be NULL), of VEL_CLOSE_COMPLETE: the one that is whole by that, as
 * far as its leader waits for it (MODE=SYNC); 0: none, VEL_MSG_ANY_NUMBER: it cannot be
 * sealed now. */
int vel_client_file_close(struct vel_client *client, uint64_t file, enum vel_close how,
                          uint64_t size, int64_t *ret_dataset, struct vel_err *err);

/* look. */
int vel_client_file_look(struct vel_client *client, enum vel_look how, const char *name,
                         struct vel_place *ret, struct vel_err *err);
int vel_client_file_remove(struct vel_client *client, const char *name,
                           struct vel_err *err);

/* What a dataset has come to. */
struct vel_progress {
    int64_t dataset;
    unsigned state;       /* enum vel_dataset_state */
    bool is_encoded;      /* also while it is flushed */
    uint64_t left, moved; /* bytes */
    int status;           /* of the work in the background: 0 or a vel_status */
    char text[1024];
};

/* owe; *ret_before: what was owed of it until now. */
int vel_client_owe(struct vel_client *client, int64_t dataset, int64_t rank,
                   unsigned what, const char *dir, unsigned *ret_before,
                   struct vel_err *err);
int vel_client_settle(struct vel_client *client, int64_t dataset, const void *record,
                      size_t len, struct vel_err *err);
int vel_client_mark(struct vel_client *client, int64_t dataset, unsigned what,
                    bool waits, const void *record, size_t len, struct vel_err *err);
int vel_client_ask(struct vel_client *client, int64_t dataset, struct vel_progress *ret,
                   struct vel_err *err);

/* Returns when nothing is left; waits as long as something moves, and `patience`
 * seconds while nothing does (0: FLUSH_STALL; VEL_DRAIN_ONCE: the same, and not when it
 * has failed once; VEL_DRAIN_PROTECTED: the same, and not for its flush). */
#define VEL_DRAIN_ONCE UINT64_MAX
#define VEL_DRAIN_PROTECTED (UINT64_MAX - 1)
int vel_client_drain(struct vel_client *client, int64_t dataset, uint64_t patience,
                     struct vel_progress *ret, struct vel_err *err);

/* ping; what as in the table. */
int vel_client_ping(struct vel_client *client, unsigned what, uint64_t *ret_value,
                    struct vel_err *err);

/* stock: what the caches of its node hold. VEL_ECORRUPT: they changed meanwhile. */
int vel_client_stock(struct vel_client *client, struct vel_inventory *ret,
                     struct vel_err *err);

/* A leader that is gone meanwhile has nothing against it. */
int vel_client_leave(struct vel_client *client, enum vel_leave how,
                     struct vel_err *err);

/* An agent to a leader of that epoch: give the role back. Also 0 when it is gone. */
int vel_client_resign(struct vel_client *client, int64_t epoch, struct vel_err *err);

/* Who leads now, as far as we know; false when nobody is connected. */
bool vel_client_leader(struct vel_client *client, int64_t *ret_epoch,
                       bool *ret_is_agent);

#endif
