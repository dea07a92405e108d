/* SPDX-License-Identifier: BSD-3-Clause */
/* client_in - a request and its answer: what client.c (threads that wait),
 * client_turn.c (finding the leader, asking again) and client_calls.c (the messages)
 * have in common.
 */
#ifndef VEL_LINK_CLIENT_IN_H
#define VEL_LINK_CLIENT_IN_H

#include <pthread.h>

#include "brain/names.h"
#include "base/buf.h"
#include "base/vec.h"
#include "link/client.h"

enum call_state { CALL_QUEUED, CALL_SENT, CALL_DONE };

struct call {
    struct vel_msg msg; /* its texts are the caller's, who waits */
    uint64_t handle;    /* of a close: msg.u.close.file is put in when it is sent */
    bool ends_by_loss;  /* the leader's end is as good as its yes */

    /* of client.c, under its lock */
    enum call_state state;
    uint64_t seq, sent, deadline;
    unsigned lost; /* leaders that ended meanwhile */
    int rc;        /* when it is done, with err */
    struct vel_err err;
    struct vel_buf bytes; /* of the answer */
};

/* A file that has a place in the cache. */
struct open_file {
    uint64_t handle;
    uint64_t file; /* the leader's number for it */
    char *name;
    uint64_t asked;  /* seq of the question that tells a new leader of it; 0: none */
    bool is_unknown; /* to the present leader */
};

enum target { TO_AGENT, TO_LEADER, TO_LEAD };

struct vel_client {
    struct vel_client_conf conf;
    char *launch, *node, *agent, *leader;
    struct vel_client_ops ops;
    pid_t pid;

    pthread_mutex_t lock; /* guards from here */
    pthread_cond_t changed;
    bool is_turned;       /* a thread turns the links */
    struct vel_vec calls; /* struct call * */
    struct vel_vec files; /* struct open_file */
    uint64_t handles;
    struct vel_names made; /* how often a name was made, or changed */
    bool is_silent;        /* has let a call wait for T, and said nothing since */
    bool is_refused;       /* by is_silent: the connection is to be begun anew */
    bool is_met;
    bool is_agent;
    int64_t epoch;
    struct vel_err why; /* of the last loss */
    uint64_t heard;     /* to here */

    struct vel_links *links; /* of the thread that turns, from here */
    struct vel_link *link;
    enum target target; /* of link, or of the next */
    uint64_t begun, not_before;
    bool has_led; /* just now */
};

/* --- client.c --- */

/* Ask and wait. *ret points into call->bytes, which is freed by vel_call_fini(), also
 * after a failure. An answer `no` is its status. */
int vel_client_call(struct vel_client *client, struct call *call, struct vel_msg *ret,
                    struct vel_err *err);
void vel_call_fini(struct call *call);

/* A file that was given a place is closed, or was not made or changed after all. */
void vel_client_forget_file(struct vel_client *client, uint64_t handle,
                            bool is_not_made);

/* Under the lock: the call has its result. */
void vel_call_done(struct vel_client *client, struct call *call, int rc,
                   const struct vel_err *why);

/* --- client_turn.c --- */

extern const struct vel_links_ops vel_client_links_ops;

uint64_t vel_client_now(void);
uint64_t vel_client_limit(const struct vel_client *client); /* T in ns */

/* Look for the leader, send what is to be sent, hear what comes, until then at the
 * latest. By one thread at a time, without the lock. */
void vel_client_turn(struct vel_client *client, uint64_t until);

#endif
