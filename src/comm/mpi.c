/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi - messages between members by MPI, on a communicator of our own.
 *
 * A long message travels in pieces: as many full ones as fit and a last one that is
 * shorter, maybe empty, so that two messages of different lengths never consist of the
 * same pieces, and a wrong length always shows.
 *
 * Waiting polls, for MPI has no call that sleeps; an idle member sleeps between the
 * polls and leaves the core to the others.
 *
 * A member that breaks the comm sends an alarm to all; everyone has a receive for it
 * open, which every wait looks at. MPI may give the number of a freed communicator to a
 * new one: an alarm carries the identity of its comm and is ignored by another, and a
 * broken communicator, in which messages may be left, is never freed.
 */
#include "config.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm/mpi.h"
#include "comm/tags.h"
#include "sys/clock.h"
#include "sys/entropy.h"

#ifndef VEL_COMM_MPI_PIECE /* tests have smaller ones */
#define VEL_COMM_MPI_PIECE ((size_t)1 << 30)
#endif

enum {
    TAG_ALARM = VEL_TAG_END,
    POLLS_AWAKE = 50,          /* before an idle member sleeps */
    SLEEP_NS = 30000,          /* between two polls */
    SEND_SLEEPS = 1000,        /* MPI cannot take a send back: a moment to complete */
    CANCEL_SLEEPS = 10 * 20000 /* a message that has begun arrives or not: about 10 s */
};

struct alarm {
    uint64_t id; /* of the comm it is for */
    int32_t from;
    int32_t status;
    char text[VEL_ERR_TEXT];
};

struct vel_req {
    bool is_recv;
    int peer;
    uint32_t tag;
    size_t len;
    size_t n;    /* pieces */
    size_t open; /* those not done */
    MPI_Request pieces[];
};

struct mpi {
    struct vel_comm comm;
    MPI_Comm mpi;
    uint64_t id;
    struct vel_err broken;
    MPI_Request alarm_req;
    struct alarm alarm; /* received */
};

static int mpi_broken(const struct mpi *m, struct vel_err *err)
{
    return vel_fail(err, m->broken.status, "%s", m->broken.text);
}

/* The alarm is small enough that MPI takes it at once; where it does not, the bytes are
 * left to it for good. */
static void alarm_send(struct mpi *m)
{
    struct alarm *alarm = calloc(1, sizeof *alarm);
    if (alarm == NULL)
        return;
    *alarm =
        (struct alarm){.id = m->id, .from = m->comm.rank, .status = m->broken.status};
    snprintf(alarm->text, sizeof alarm->text, "%s", m->broken.text);
    bool is_ours = true;
    for (int to = 0; to < m->comm.size; to++) {
        MPI_Request req = MPI_REQUEST_NULL;
        int done = 1;
        if (to == m->comm.rank || MPI_Isend(alarm, sizeof *alarm, MPI_BYTE, to,
                                            TAG_ALARM, m->mpi, &req) != MPI_SUCCESS)
            continue;
        MPI_Test(&req, &done, MPI_STATUS_IGNORE);
        if (!done) {
            is_ours = false;
            MPI_Request_free(&req);
        }
    }
    if (is_ours)
        free(alarm);
}

static void mpi_fail(struct vel_comm *comm, const struct vel_err *cause)
{
    struct mpi *m = (struct mpi *)comm;
    if (m->broken.status < 0)
        return;
    vel_fail(&m->broken, cause->status < 0 ? cause->status : VEL_EREMOTE, "%s",
             cause->text);
    alarm_send(m);
}

static int alarm_listen(struct mpi *m)
{
    return MPI_Irecv(&m->alarm, sizeof m->alarm, MPI_BYTE, MPI_ANY_SOURCE, TAG_ALARM,
                     m->mpi, &m->alarm_req);
}

/* An alarm came: the comm is broken, unless it was for another one before us. */
static int alarm_take(struct mpi *m, struct vel_err *err)
{
    struct alarm *alarm = &m->alarm;
    if (alarm->id != m->id) {
        alarm_listen(m);
        return 0;
    }
    alarm->text[sizeof alarm->text - 1] = '\0';
    enum vel_status status = alarm->status < 0 ? alarm->status : VEL_EREMOTE;
    vel_fail(&m->broken, status, "rank %d: %s", alarm->from, alarm->text);
    return mpi_broken(m, err);
}

/* MPI says no: the comm is broken. */
static int mpi_error(struct mpi *m, int code, const char *what, int peer, uint32_t tag,
                     struct vel_err *err)
{
    char reason[MPI_MAX_ERROR_STRING] = "unknown error";
    struct vel_err cause = {0};
    int class = MPI_ERR_OTHER, len = 0;

    MPI_Error_class(code, &class);
    MPI_Error_string(code, reason, &len);
    enum vel_status status = class == MPI_ERR_TRUNCATE ? VEL_ECORRUPT
                             : class == MPI_ERR_NO_MEM ? VEL_ENOMEM
                                                       : VEL_ELOST;
    if (class == MPI_ERR_TRUNCATE)
        vel_fail(&cause, status, "%s rank %d (tag %u): the message is too long", what,
                 peer, tag);
    else
        vel_fail(&cause, status, "%s rank %d (tag %u): MPI: %s", what, peer, tag,
                 reason);
    mpi_fail(&m->comm, &cause);
    return mpi_broken(m, err);
}

static size_t piece_len(size_t len, size_t i)
{
    size_t before = i * VEL_COMM_MPI_PIECE;
    return len - before < VEL_COMM_MPI_PIECE ? len - before : VEL_COMM_MPI_PIECE;
}

/* MPI_Test and its relatives hand the failure of a message to the error handler of
 * MPI_COMM_WORLD, not to that of its communicator (MPICH 4.0 then aborts the program).
 * So the program's handler is put aside while we look, and returned. */
static void handler_borrow(MPI_Errhandler *ret_handler)
{
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, ret_handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
}

static void handler_return(MPI_Errhandler *handler)
{
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, *handler);
    MPI_Errhandler_free(handler);
}

static void mpi_cancel(struct vel_comm *comm, struct vel_req *req)
{
    MPI_Errhandler handler;

    (void)comm;
    handler_borrow(&handler);
    for (size_t i = 0; i < req->n; i++) {
        if (req->pieces[i] != MPI_REQUEST_NULL && req->is_recv)
            MPI_Cancel(&req->pieces[i]);
    }
    /* what has begun to move is waited for, within limits: its buffer is in use */
    for (int sleeps = 0; sleeps < CANCEL_SLEEPS; sleeps++) {
        size_t open = 0;
        for (size_t i = 0; i < req->n; i++) {
            int done = 1;
            MPI_Test(&req->pieces[i], &done, MPI_STATUS_IGNORE);
            open += !done;
        }
        if (open == 0 || (!req->is_recv && sleeps >= SEND_SLEEPS))
            break;
        vel_clock_sleep(vel_clock_system(), SLEEP_NS);
    }
    for (size_t i = 0; i < req->n; i++) {
        if (req->pieces[i] != MPI_REQUEST_NULL)
            MPI_Request_free(&req->pieces[i]);
    }
    handler_return(&handler);
    free(req);
}

static int req_start(struct mpi *m, const struct vel_req *init, void *bytes,
                     struct vel_req **ret_req, struct vel_err *err)
{
    if (m->broken.status < 0)
        return mpi_broken(m, err);
    size_t n = init->len / VEL_COMM_MPI_PIECE + 1;
    struct vel_req *req = malloc(sizeof *req + n * sizeof req->pieces[0]);
    if (req == NULL)
        return vel_out_of_memory(err, "a message");
    *req = *init;
    req->n = n;
    for (size_t i = 0; i < req->n; i++)
        req->pieces[i] = MPI_REQUEST_NULL;
    for (; req->open < req->n; req->open++) {
        char *at = req->len > 0 ? (char *)bytes + req->open * VEL_COMM_MPI_PIECE : NULL;
        int len = (int)piece_len(req->len, req->open), code;
        MPI_Request *piece = &req->pieces[req->open];
        if (req->is_recv)
            code =
                MPI_Irecv(at, len, MPI_BYTE, req->peer, (int)req->tag, m->mpi, piece);
        else
            code =
                MPI_Isend(at, len, MPI_BYTE, req->peer, (int)req->tag, m->mpi, piece);
        if (code != MPI_SUCCESS) {
            int rc = mpi_error(m, code, req->is_recv ? "receiving from" : "sending to",
                               req->peer, req->tag, err);
            mpi_cancel(&m->comm, req);
            return rc;
        }
    }
    *ret_req = req;
    return 0;
}

static int mpi_isend(struct vel_comm *comm, int to, uint32_t tag, const void *bytes,
                     size_t len, struct vel_req **ret_req, struct vel_err *err)
{
    struct vel_req init = {.peer = to, .tag = tag, .len = len};
    return req_start((struct mpi *)comm, &init, (void *)bytes, ret_req, err);
}

static int mpi_irecv(struct vel_comm *comm, int from, uint32_t tag, void *bytes,
                     size_t len, struct vel_req **ret_req, struct vel_err *err)
{
    struct vel_req init = {.is_recv = true, .peer = from, .tag = tag, .len = len};
    return req_start((struct mpi *)comm, &init, bytes, ret_req, err);
}

/* One piece is done: is it what was asked for? */
static int piece_check(struct mpi *m, const struct vel_req *req, size_t i,
                       const MPI_Status *status, int code, struct vel_err *err)
{
    size_t want = piece_len(req->len, i);
    int count = 0;

    if (code != MPI_SUCCESS)
        return mpi_error(m, code, req->is_recv ? "receiving from" : "sending to",
                         req->peer, req->tag, err);
    if (!req->is_recv)
        return 0;
    MPI_Get_count(status, MPI_BYTE, &count);
    if ((size_t)count == want)
        return 0;
    struct vel_err cause = {0};
    vel_fail(&cause, VEL_ECORRUPT,
             "receiving from rank %d (tag %u): %d bytes came where %zu were expected",
             req->peer, req->tag, count, want);
    mpi_fail(&m->comm, &cause);
    return mpi_broken(m, err);
}

/* Look once at the pieces of a request. They are done in their order, so that the first
 * one not done tells enough. */
static int req_test(struct mpi *m, struct vel_req *req, struct vel_err *err)
{
    while (req->open > 0) {
        size_t i = req->n - req->open;
        MPI_Status status;
        int done = 0, code = MPI_Test(&req->pieces[i], &done, &status);
        if (code == MPI_SUCCESS && !done)
            return 0;
        req->open--;
        int rc = piece_check(m, req, i, &status, code, err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* Look once at everything. */
static int reqs_test(struct mpi *m, struct vel_req **reqs, size_t n,
                     struct vel_err *err)
{
    int is_alarm = 0, rc = 0;
    for (size_t i = 0; rc == 0 && i < n; i++) {
        if (reqs[i] != NULL)
            rc = req_test(m, reqs[i], err);
    }
    if (rc == 0 &&
        MPI_Test(&m->alarm_req, &is_alarm, MPI_STATUS_IGNORE) == MPI_SUCCESS &&
        is_alarm)
        rc = alarm_take(m, err);
    return rc;
}

/* The first request that is done is freed; false when there is none. */
static bool done_take(struct vel_req **reqs, size_t n, size_t *ret_done)
{
    bool is_empty = true;
    for (size_t i = 0; i < n; i++) {
        if (reqs[i] == NULL)
            continue;
        is_empty = false;
        if (reqs[i]->open == 0) {
            free(reqs[i]);
            reqs[i] = NULL;
            *ret_done = i;
            return true;
        }
    }
    if (is_empty)
        *ret_done = n;
    return is_empty;
}

static int mpi_wait_any(struct vel_comm *comm, struct vel_req **reqs, size_t n,
                        size_t *ret_done, struct vel_err *err)
{
    struct mpi *m = (struct mpi *)comm;

    if (m->broken.status < 0)
        return mpi_broken(m, err);
    if (done_take(reqs, n, ret_done))
        return 0;
    MPI_Errhandler handler;
    unsigned polls = 0;
    handler_borrow(&handler);
    int rc = reqs_test(m, reqs, n, err);
    while (rc == 0 && !done_take(reqs, n, ret_done)) {
        if (polls++ >= POLLS_AWAKE)
            vel_clock_sleep(vel_clock_system(), SLEEP_NS);
        rc = reqs_test(m, reqs, n, err);
    }
    handler_return(&handler);
    return rc;
}

static void mpi_destroy(struct vel_comm *comm)
{
    struct mpi *m = (struct mpi *)comm;
    int is_over = 0;

    MPI_Finalized(&is_over);
    if (!is_over && m->alarm_req != MPI_REQUEST_NULL) {
        MPI_Cancel(&m->alarm_req);
        MPI_Wait(&m->alarm_req, MPI_STATUS_IGNORE);
    }
    if (!is_over && m->mpi != MPI_COMM_NULL && m->broken.status == 0)
        MPI_Comm_free(&m->mpi);
    free(m);
}

/* What every member needs before the comm can be used; fails on this one alone. */
static int mpi_prepare(struct mpi *m, uint64_t *ret_id, struct vel_err *err)
{
    int *highest = NULL, is_set = 0;
    /* Only this one is promised to have it: Open MPI 5 gives its copies none. */
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &highest, &is_set);
    if (!is_set || *highest < TAG_ALARM)
        return vel_fail(err, VEL_EUNSUP,
                        "this MPI has tags up to %d, and we need them up to %d",
                        is_set ? *highest : 0, TAG_ALARM);
    int rc = vel_entropy(ret_id, sizeof *ret_id, err);
    if (rc == 0 && alarm_listen(m) != MPI_SUCCESS)
        rc = vel_fail(err, VEL_EIO, "MPI does not take a receive");
    return rc;
}

/* Collective over `fresh`, which is taken. m == NULL: no memory on this member. */
static int mpi_adopt(struct mpi *m, const struct vel_comm_ops *ops, MPI_Comm fresh,
                     struct vel_comm **ret_comm, struct vel_err *err)
{
    struct vel_err cause = {0};
    int rc = m != NULL ? 0 : vel_out_of_memory(&cause, "a communicator"), worst = 0;
    uint64_t id = 0;

    MPI_Comm_set_errhandler(fresh, MPI_ERRORS_RETURN);
    if (m != NULL) {
        m->comm.ops = ops;
        m->mpi = fresh;
        m->alarm_req = MPI_REQUEST_NULL;
        MPI_Comm_rank(fresh, &m->comm.rank);
        MPI_Comm_size(fresh, &m->comm.size);
        rc = mpi_prepare(m, &id, &cause);
    }
    int code = MPI_Allreduce(&rc, &worst, 1, MPI_INT, MPI_MIN, fresh);
    if (code == MPI_SUCCESS && worst == 0)
        code = MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, fresh);
    if (code == MPI_SUCCESS && worst == 0) {
        m->id = id;
        *ret_comm = &m->comm;
        return 0;
    }
    if (m != NULL)
        mpi_destroy(&m->comm);
    else
        MPI_Comm_free(&fresh);
    if (code != MPI_SUCCESS)
        return vel_fail(err, VEL_EIO, "MPI cannot connect the members");
    if (rc == 0)
        return vel_fail(err, worst, "making a communicator failed on another rank");
    return vel_fail(err, rc, "%s", cause.text);
}

static int mpi_split(struct vel_comm *comm, int color, int key,
                     struct vel_comm **ret_comm, struct vel_err *err)
{
    struct mpi *parent = (struct mpi *)comm;
    MPI_Comm fresh = MPI_COMM_NULL;

    /* MPI would wait for a member that failed; this does not */
    int rc = vel_comm_barrier(comm, err);
    if (rc < 0)
        return rc;
    int code =
        MPI_Comm_split(parent->mpi, color < 0 ? MPI_UNDEFINED : color, key, &fresh);
    if (code != MPI_SUCCESS)
        return mpi_error(parent, code, "splitting as", comm->rank, 0, err);
    struct vel_comm *child = NULL;
    if (fresh != MPI_COMM_NULL)
        rc = mpi_adopt(calloc(1, sizeof(struct mpi)), comm->ops, fresh, &child, err);
    if (rc == 0)
        *ret_comm = child;
    return rc;
}

static const struct vel_comm_ops mpi_ops = {
    .name = "mpi",
    .isend = mpi_isend,
    .irecv = mpi_irecv,
    .wait_any = mpi_wait_any,
    .cancel = mpi_cancel,
    .split = mpi_split,
    .fail = mpi_fail,
    .destroy = mpi_destroy,
};

int vel_comm_mpi(MPI_Comm mpi, struct vel_comm **ret_comm, struct vel_err *err)
{
    MPI_Comm fresh = MPI_COMM_NULL;
    int code = MPI_Comm_dup(mpi, &fresh);
    if (code != MPI_SUCCESS)
        return vel_fail(err, VEL_EIO, "MPI cannot duplicate the communicator");
    return mpi_adopt(calloc(1, sizeof(struct mpi)), &mpi_ops, fresh, ret_comm, err);
}
