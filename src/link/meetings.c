/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "ident/launchid.h"
#include "link/meetings.h"
#include "sys/entropy.h"
#include "sys/host.h"
#include "sys/sock.h"

int vel_meeting_check_user(int fd, uid_t user, struct vel_err *err)
{
    uid_t peer = 0;
    int rc = vel_sock_peer_uid(fd, &peer, err);

    if (rc == 0 && peer != user)
        rc = vel_fail(err, VEL_EUNSAFE, "it belongs to user %ld, we to %ld", (long)peer,
                      (long)user);
    return rc;
}

enum vel_msg_kind vel_meeting_wants(enum conn_state state)
{
    switch (state) {
    case CONN_GREET:
        return VEL_MSG_GREET;
    case CONN_YES:
        return VEL_MSG_YES;
    case CONN_HELLO:
        return VEL_MSG_HELLO;
    case CONN_PROOF:
        return VEL_MSG_PROOF;
    case CONN_AGAIN:
    case CONN_CONNECTS:
    case CONN_MET:
    case CONN_LAST:
    case CONN_DEAD:
        break;
    }
    return VEL_MSG_NONE;
}

/* --- proofs --- */

static int prove(const struct conn *conn, enum vel_key_side side, uint8_t ret[PROOF],
                 struct vel_err *err)
{
    return vel_key_prove(&conn->links->key, side, conn->hello.data, conn->hello.len,
                         conn->nonce, ret, err);
}

/* What we say to prove it; nothing over a Unix socket. */
static int put_proof(const struct conn *conn, enum vel_key_side side,
                     uint8_t room[PROOF], struct vel_msg_bytes *ret,
                     struct vel_err *err)
{
    if (conn->is_near) {
        *ret = (struct vel_msg_bytes){room, 0};
        return 0;
    }
    *ret = (struct vel_msg_bytes){room, PROOF};
    return prove(conn, side, room, err);
}

static int check_proof(const struct conn *conn, enum vel_key_side side,
                       const struct vel_msg_bytes *got, struct vel_err *err)
{
    uint8_t want[PROOF];

    if (conn->is_near)
        return 0; /* the system has told */
    if (got->len != PROOF)
        return vel_fail(err, VEL_EUNSAFE, "it does not prove that it knows the key");
    int rc = prove(conn, side, want, err);
    return rc < 0 ? rc : vel_key_check(got->at, want, err);
}

/* --- who connects --- */

/* The bytes of hello are part of the proofs, so they are kept as they were sent. */
static int keep_hello(struct conn *conn, const struct vel_msg *msg, struct vel_err *err)
{
    vel_buf_clear(&conn->hello);
    return vel_msg_encode(msg, &conn->hello, err);
}

int vel_meeting_begin(struct conn *conn, struct vel_err *err)
{
    const struct vel_links_me *me = &conn->links->me;
    struct vel_msg msg = {.kind = VEL_MSG_HELLO};
    uint8_t nonce[NONCE];
    int rc;

    rc = vel_sock_connected(conn->fd, conn->endpoint, err);
    if (rc == 0 && conn->is_near)
        rc = vel_meeting_check_user(conn->fd, me->user, err);
    if (rc == 0)
        rc = vel_entropy(nonce, sizeof nonce, err);
    if (rc < 0)
        return rc;
    msg.u.hello.role = (uint64_t)me->role;
    msg.u.hello.epoch = (uint64_t)me->epoch;
    msg.u.hello.rank = (uint64_t)me->rank;
    msg.u.hello.launch = me->launch;
    msg.u.hello.node = me->node;
    msg.u.hello.nonce = (struct vel_msg_bytes){nonce, sizeof nonce};
    rc = keep_hello(conn, &msg, err);
    if (rc == 0)
        rc = vel_conn_say(conn, &msg, err);
    if (rc == 0)
        conn->state = CONN_GREET;
    return rc;
}

/* Another address of the same leader has greeted before: one is enough. */
static bool is_late(const struct conn *conn)
{
    const struct vel_vec *conns = &conn->links->conns;

    for (size_t i = 0; i < conns->n; i++) {
        const struct conn *other = *(struct conn **)vel_vec_at(conns, i);

        if (other != conn && other->link == conn->link && other->state == CONN_YES)
            return true;
    }
    return false;
}

static int hear_greet(struct conn *conn, const struct vel_msg_greet *greet,
                      struct vel_err *err)
{
    struct vel_msg msg = {.kind = VEL_MSG_PROOF};
    uint8_t proof[PROOF];
    int rc;

    memcpy(conn->nonce, greet->nonce.at, NONCE);
    rc = check_proof(conn, VEL_KEY_ACCEPTS, &greet->proof, err);
    if (rc < 0)
        return rc;
    if (!vel_host_is_name(greet->node))
        return vel_fail(err, VEL_ECORRUPT, "'%s' is no name of a node", greet->node);
    if (conn->link->want_node && strcmp(conn->link->want_node, greet->node) != 0)
        return vel_fail(err, VEL_ENOENT, "there is the leader of %s, not of %s",
                        greet->node, conn->link->want_node);
    if (is_late(conn))
        return vel_fail(err, VEL_ECANCEL, "it is connected already");
    rc = put_proof(conn, VEL_KEY_CONNECTS, proof, &msg.u.proof.proof, err);
    if (rc == 0)
        rc = vel_conn_say(conn, &msg, err);
    if (rc < 0)
        return rc;
    snprintf(conn->node, sizeof conn->node, "%s", greet->node);
    snprintf(conn->launch, sizeof conn->launch, "%s", conn->links->me.launch);
    conn->peer = (struct vel_peer){.role = VEL_PEER_LEADER,
                                   .epoch = (int64_t)greet->epoch,
                                   .rank = VEL_MSG_NO_RANK,
                                   .is_near = conn->is_near};
    conn->state = CONN_YES;
    return 0;
}

/* --- who is connected to --- */

static int hear_hello(struct conn *conn, const struct vel_msg *msg, struct vel_err *err)
{
    const struct vel_links_me *me = &conn->links->me;
    const struct vel_msg_hello *hello = &msg->u.hello;
    struct vel_msg greet = {.kind = VEL_MSG_GREET};
    uint8_t proof[PROOF];
    int rc;

    if (!vel_host_is_name(hello->node) || !vel_launch_is_name(hello->launch))
        return vel_fail(err, VEL_ECORRUPT, "its node or launch is no name");
    rc = keep_hello(conn, msg, err);
    if (rc == 0)
        rc = vel_entropy(conn->nonce, NONCE, err);
    greet.u.greet.epoch = (uint64_t)me->epoch;
    greet.u.greet.node = me->node;
    greet.u.greet.nonce = (struct vel_msg_bytes){conn->nonce, NONCE};
    if (rc == 0)
        rc = put_proof(conn, VEL_KEY_ACCEPTS, proof, &greet.u.greet.proof, err);
    if (rc == 0)
        rc = vel_conn_say(conn, &greet, err);
    if (rc < 0)
        return rc;
    snprintf(conn->node, sizeof conn->node, "%s", hello->node);
    snprintf(conn->launch, sizeof conn->launch, "%s", hello->launch);
    conn->peer = (struct vel_peer){.role = (enum vel_peer_role)hello->role,
                                   .epoch = (int64_t)hello->epoch,
                                   .rank = (int64_t)hello->rank,
                                   .is_near = conn->is_near};
    conn->state = CONN_PROOF;
    return 0;
}

/* Ours, but not here: it is told why, and that is all. */
static int refuse(struct conn *conn, struct vel_err *err)
{
    const struct vel_links_me *me = &conn->links->me;
    struct vel_msg no = {.kind = VEL_MSG_NO};
    struct vel_err text = {0};

    vel_fail(&text, VEL_ESTATE, "here is the leader of launch %s on node %s, not of %s",
             me->launch, me->node, conn->launch);
    no.u.no.status = (uint64_t)-VEL_ESTATE;
    no.u.no.term = (uint64_t)conn->links->term;
    no.u.no.text = text.text;
    int rc = vel_conn_say(conn, &no, err);
    if (rc == 0) {
        conn->state = CONN_LAST;
        conn->since = vel_links_now(conn->links);
        conn->links->count.sent_away++;
    }
    return rc;
}

static int hear_proof(struct conn *conn, const struct vel_msg_proof *proof,
                      struct vel_err *err)
{
    const struct vel_links_me *me = &conn->links->me;
    struct vel_msg yes = {.kind = VEL_MSG_YES};
    int rc = check_proof(conn, VEL_KEY_CONNECTS, &proof->proof, err);

    if (rc < 0)
        return rc;
    if (!me->serves_any && conn->peer.role != VEL_PEER_TOOL &&
        strcmp(conn->launch, me->launch) != 0)
        return refuse(conn, err);
    rc = vel_conn_say(conn, &yes, err);
    return rc < 0 ? rc : vel_links_meet(conn, err);
}

int vel_meeting_hear(struct conn *conn, const struct vel_msg *msg, struct vel_err *err)
{
    switch (msg->kind) {
    case VEL_MSG_HELLO:
        return hear_hello(conn, msg, err);
    case VEL_MSG_GREET:
        return hear_greet(conn, &msg->u.greet, err);
    case VEL_MSG_PROOF:
        return hear_proof(conn, &msg->u.proof, err);
    case VEL_MSG_NO:
        return vel_fail(err, VEL_EREMOTE, "it refuses: %s", msg->u.no.text);
    default:
        return vel_links_meet(conn, err); /* yes: it was waited for */
    }
}
