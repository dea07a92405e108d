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

/* --- proofs, over TCP --- */

/* The words begin with where one is connected to. */
static int begin_words(struct conn *conn, struct vel_err *err)
{
    char place[VEL_SOCK_PLACE];
    int rc = vel_sock_place(conn->fd, !conn->endpoint, place, err);

    if (rc < 0)
        return rc;
    vel_buf_clear(&conn->words);
    vel_buf_append(&conn->words, place, strlen(place) + 1);
    return vel_buf_status(&conn->words, err);
}

/* The message, in which its own proof is left out, are the next words; NULL: none. */
static int prove(struct conn *conn, enum vel_proof_side side, const struct vel_msg *msg,
                 uint8_t ret[VEL_PROOF], struct vel_err *err)
{
    int rc = msg ? vel_msg_encode(msg, &conn->words, err) : 0;

    if (rc == 0)
        vel_proof_make(conn->links->key.bytes, side, conn->words.data, conn->words.len,
                       ret);
    return rc;
}

static int put_proof(struct conn *conn, enum vel_proof_side side,
                     const struct vel_msg *msg, uint8_t room[VEL_PROOF],
                     struct vel_msg_bytes *ret, struct vel_err *err)
{
    if (conn->is_near)
        return 0; /* the system tells */
    int rc = prove(conn, side, msg, room, err);
    *ret = (struct vel_msg_bytes){room, VEL_PROOF};
    return rc;
}

/* *proof, of a copy of the message: it is taken out. */
static int check_proof(struct conn *conn, enum vel_proof_side side, struct vel_msg *msg,
                       struct vel_msg_bytes *proof, struct vel_err *err)
{
    uint8_t want[VEL_PROOF];
    const struct vel_msg_bytes got = *proof;

    if (conn->is_near)
        return 0;
    if (got.len != VEL_PROOF)
        return vel_fail(err, VEL_EUNSAFE, "it does not prove that it knows the key");
    proof->len = 0;
    int rc = prove(conn, side, msg, want, err);
    return rc < 0 ? rc : vel_proof_check(got.at, want, err);
}

/* Both have proved it, or who connects is about to: with what follows comes a mac. */
static void begin_macs(struct conn *conn)
{
    if (conn->is_near)
        return;
    vel_mac_begin(&conn->says, &conn->hears, conn->links->key.bytes,
                  conn->endpoint ? VEL_PROOF_CONNECTS : VEL_PROOF_ACCEPTS,
                  conn->words.data, conn->words.len);
    conn->is_proved = true;
    vel_buf_fini(&conn->words);
}

/* --- who connects --- */

int vel_meeting_begin(struct conn *conn, struct vel_err *err)
{
    const struct vel_links_me *me = &conn->links->me;
    struct vel_msg msg = {.kind = VEL_MSG_HELLO};
    struct vel_msg_hello *hello = &msg.u.hello;
    uint8_t proof[VEL_PROOF];
    int rc;

    rc = vel_sock_connected(conn->fd, conn->endpoint, err);
    if (rc == 0)
        rc = conn->is_near ? vel_meeting_check_user(conn->fd, me->user, err)
                           : begin_words(conn, err);
    if (rc == 0)
        rc = vel_entropy(conn->nonce, VEL_NONCE, err);
    if (rc < 0)
        return rc;
    hello->role = (uint64_t)me->role;
    hello->epoch = (uint64_t)me->epoch;
    hello->rank = (uint64_t)me->rank;
    hello->launch = me->launch;
    hello->node = me->node;
    hello->nonce = (struct vel_msg_bytes){conn->nonce, VEL_NONCE};
    rc = put_proof(conn, VEL_PROOF_KNOCKS, &msg, proof, &hello->proof, err);
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

static int hear_greet(struct conn *conn, const struct vel_msg *heard,
                      struct vel_err *err)
{
    struct vel_msg copy = *heard, msg = {.kind = VEL_MSG_PROOF};
    const struct vel_msg_greet *greet = &copy.u.greet;
    uint8_t proof[VEL_PROOF];
    int rc = check_proof(conn, VEL_PROOF_ACCEPTS, &copy, &copy.u.greet.proof, err);

    if (rc < 0)
        return rc;
    if (!vel_host_is_name(greet->node))
        return vel_fail(err, VEL_ECORRUPT, "'%s' is no name of a node", greet->node);
    if (conn->link->want_node && strcmp(conn->link->want_node, greet->node) != 0)
        return vel_fail(err, VEL_ENOENT, "there is the leader of %s, not of %s",
                        greet->node, conn->link->want_node);
    if (is_late(conn))
        return vel_fail(err, VEL_ECANCEL, "it is connected already");
    rc = put_proof(conn, VEL_PROOF_CONNECTS, NULL, proof, &msg.u.proof.proof, err);
    if (rc == 0)
        rc = vel_conn_say(conn, &msg, err);
    if (rc < 0)
        return rc;
    begin_macs(conn);
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

/* Who overhears one, and says it again, must not have a place for each time. */
static bool is_old_hello(const struct conn *conn)
{
    const struct vel_vec *conns = &conn->links->conns;

    for (size_t i = 0; i < conns->n; i++) {
        const struct conn *other = *(struct conn **)vel_vec_at(conns, i);

        if (other != conn && !other->endpoint && other->state != CONN_DEAD &&
            memcmp(other->nonce, conn->nonce, VEL_NONCE) == 0)
            return true;
    }
    return false;
}

static int check_hello(struct conn *conn, const struct vel_msg *msg,
                       struct vel_err *err)
{
    struct vel_msg copy = *msg;

    if (!vel_host_is_name(copy.u.hello.node) ||
        !vel_launch_is_name(copy.u.hello.launch))
        return vel_fail(err, VEL_ECORRUPT, "its node or launch is no name");
    if (conn->is_near)
        return 0;
    int rc = begin_words(conn, err);
    if (rc == 0)
        rc = check_proof(conn, VEL_PROOF_KNOCKS, &copy, &copy.u.hello.proof, err);
    memcpy(conn->nonce, copy.u.hello.nonce.at, VEL_NONCE);
    if (rc == 0 && is_old_hello(conn))
        rc = vel_fail(err, VEL_EUNSAFE, "its first words are somebody else's");
    return rc;
}

static int hear_hello(struct conn *conn, const struct vel_msg *msg, struct vel_err *err)
{
    const struct vel_links_me *me = &conn->links->me;
    const struct vel_msg_hello *hello = &msg->u.hello;
    struct vel_msg msg_greet = {.kind = VEL_MSG_GREET};
    struct vel_msg_greet *greet = &msg_greet.u.greet;
    uint8_t nonce[VEL_NONCE], proof[VEL_PROOF];
    int rc = check_hello(conn, msg, err);

    if (rc == 0)
        rc = vel_entropy(nonce, VEL_NONCE, err);
    greet->epoch = (uint64_t)me->epoch;
    greet->node = me->node;
    greet->nonce = (struct vel_msg_bytes){nonce, VEL_NONCE};
    if (rc == 0)
        rc = put_proof(conn, VEL_PROOF_ACCEPTS, &msg_greet, proof, &greet->proof, err);
    if (rc == 0)
        rc = vel_conn_say(conn, &msg_greet, err);
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
    no.u.no.text = text.text;
    int rc = vel_conn_say(conn, &no, err);
    if (rc == 0) {
        conn->state = CONN_LAST;
        conn->since = vel_links_now(conn->links);
        conn->links->count.sent_away++;
    }
    return rc;
}

static int hear_proof(struct conn *conn, const struct vel_msg *msg, struct vel_err *err)
{
    const struct vel_links_me *me = &conn->links->me;
    struct vel_msg yes = {.kind = VEL_MSG_YES};
    struct vel_msg_bytes proof = msg->u.proof.proof;
    int rc = check_proof(conn, VEL_PROOF_CONNECTS, NULL, &proof, err);

    if (rc < 0)
        return rc;
    begin_macs(conn);
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
        return hear_greet(conn, msg, err);
    case VEL_MSG_PROOF:
        return hear_proof(conn, msg, err);
    case VEL_MSG_NO:
        return vel_fail(err, VEL_EREMOTE, "it refuses: %s", msg->u.no.text);
    default:
        return vel_links_meet(conn, err); /* yes: it was waited for */
    }
}
