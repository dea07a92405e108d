/* SPDX-License-Identifier: BSD-3-Clause */
/* comm - the operations of a communicator, as functions.
 *
 * Checks what a caller passes and hands it to the implementation; knows nothing of how
 * bytes travel.
 */
#include "config.h"

#include "comm/comm.h"
#include "comm/tags.h"

static int address_check(const struct vel_comm *comm, const char *verb, int peer,
                         uint32_t tag, struct vel_err *err)
{
    if (peer < 0 || peer >= comm->size)
        return vel_fail(err, VEL_EINVAL, "%s rank %d: the ranks are 0 to %d", verb,
                        peer, comm->size - 1);
    if (tag >= VEL_TAG_END)
        return vel_fail(err, VEL_EINVAL, "%s rank %d: tag %u: tags are below %d", verb,
                        peer, tag, VEL_TAG_USER_END);
    return 0;
}

int vel_comm_isend(struct vel_comm *comm, int to, uint32_t tag, const void *bytes,
                   size_t len, struct vel_req **ret_req, struct vel_err *err)
{
    int rc = address_check(comm, "sending to", to, tag, err);
    if (rc < 0)
        return rc;
    return comm->ops->isend(comm, to, tag, bytes, len, ret_req, err);
}

int vel_comm_irecv(struct vel_comm *comm, int from, uint32_t tag, void *bytes,
                   size_t len, struct vel_req **ret_req, struct vel_err *err)
{
    int rc = address_check(comm, "receiving from", from, tag, err);
    if (rc < 0)
        return rc;
    return comm->ops->irecv(comm, from, tag, bytes, len, ret_req, err);
}

int vel_comm_wait_any(struct vel_comm *comm, struct vel_req **reqs, size_t n,
                      size_t *ret_done, struct vel_err *err)
{
    return comm->ops->wait_any(comm, reqs, n, ret_done, err);
}

int vel_comm_wait_all(struct vel_comm *comm, struct vel_req **reqs, size_t n,
                      struct vel_err *err)
{
    size_t done = 0;
    while (done < n) {
        int rc = comm->ops->wait_any(comm, reqs, n, &done, err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

void vel_comm_cancel_all(struct vel_comm *comm, struct vel_req **reqs, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (reqs[i] != NULL)
            comm->ops->cancel(comm, reqs[i]);
        reqs[i] = NULL;
    }
}

int vel_comm_split(struct vel_comm *comm, int color, int key,
                   struct vel_comm **ret_comm, struct vel_err *err)
{
    return comm->ops->split(comm, color, key, ret_comm, err);
}

/* Wait for the one request; it is given up when the wait fails. */
static int one_wait(struct vel_comm *comm, struct vel_req *req, struct vel_err *err)
{
    int rc = vel_comm_wait_all(comm, &req, 1, err);
    vel_comm_cancel_all(comm, &req, 1);
    return rc;
}

int vel_comm_send(struct vel_comm *comm, int to, uint32_t tag, const void *bytes,
                  size_t len, struct vel_err *err)
{
    struct vel_req *req = NULL;
    int rc = vel_comm_isend(comm, to, tag, bytes, len, &req, err);
    return rc < 0 ? rc : one_wait(comm, req, err);
}

int vel_comm_recv(struct vel_comm *comm, int from, uint32_t tag, void *bytes,
                  size_t len, struct vel_err *err)
{
    struct vel_req *req = NULL;
    int rc = vel_comm_irecv(comm, from, tag, bytes, len, &req, err);
    return rc < 0 ? rc : one_wait(comm, req, err);
}

void vel_comm_fail(struct vel_comm *comm, const struct vel_err *cause)
{
    comm->ops->fail(comm, cause);
}

void vel_comm_destroy(struct vel_comm *comm)
{
    if (comm != NULL)
        comm->ops->destroy(comm);
}
