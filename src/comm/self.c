/* SPDX-License-Identifier: BSD-3-Clause */
/* self - the communicator of one member.
 *
 * Messages to oneself are kept as copies until they are received, so that a send is
 * done at once; a receive that nothing was sent for can only be waited for in vain,
 * which is said instead of waiting.
 */
#include "config.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "comm/comm.h"

struct vel_req {
    bool is_done;
    uint32_t tag;
    void *into; /* a receive's bytes, the caller's; NULL in a send */
    size_t len;
    struct vel_req *next; /* of the receives that wait */
};

struct note {
    struct note *next;
    uint32_t tag;
    size_t len;
    char bytes[];
};

struct self {
    struct vel_comm comm;
    struct note *notes;      /* sent and not received, oldest first */
    struct vel_req *waiting; /* receives without a message, oldest first */
    struct vel_err broken;
};

static int self_broken(const struct self *self, struct vel_err *err)
{
    return vel_fail(err, self->broken.status, "%s", self->broken.text);
}

static int self_break(struct self *self, struct vel_err *err, enum vel_status status,
                      uint32_t tag, size_t sent, size_t wanted)
{
    if (status == VEL_ESTATE)
        vel_fail(&self->broken, status,
                 "waiting for a message from rank 0 (tag %u): nobody has sent it", tag);
    else
        vel_fail(&self->broken, status,
                 "message from rank 0 (tag %u): %zu bytes came where %zu were expected",
                 tag, sent, wanted);
    return self_broken(self, err);
}

static int self_isend(struct vel_comm *comm, int to, uint32_t tag, const void *bytes,
                      size_t len, struct vel_req **ret_req, struct vel_err *err)
{
    (void)to;
    struct self *self = (struct self *)comm;
    if (self->broken.status < 0)
        return self_broken(self, err);
    struct vel_req **at = &self->waiting;
    while (*at != NULL && (*at)->tag != tag)
        at = &(*at)->next;
    struct vel_req *taker = *at;
    if (taker != NULL && taker->len != len)
        return self_break(self, err, VEL_ECORRUPT, tag, len, taker->len);

    struct vel_req *req = calloc(1, sizeof *req);
    struct note *note = taker == NULL ? malloc(sizeof *note + len) : NULL;
    if (req == NULL || (taker == NULL && note == NULL)) {
        free(req);
        free(note);
        return vel_out_of_memory(err, "a message");
    }
    if (taker != NULL) {
        if (len > 0)
            memcpy(taker->into, bytes, len);
        taker->is_done = true;
        *at = taker->next;
    } else {
        *note = (struct note){.tag = tag, .len = len};
        if (len > 0)
            memcpy(note->bytes, bytes, len);
        struct note **end = &self->notes;
        while (*end != NULL)
            end = &(*end)->next;
        *end = note;
    }
    req->is_done = true;
    *ret_req = req;
    return 0;
}

static int self_irecv(struct vel_comm *comm, int from, uint32_t tag, void *bytes,
                      size_t len, struct vel_req **ret_req, struct vel_err *err)
{
    (void)from;
    struct self *self = (struct self *)comm;
    if (self->broken.status < 0)
        return self_broken(self, err);
    struct note **at = &self->notes;
    while (*at != NULL && (*at)->tag != tag)
        at = &(*at)->next;
    struct note *note = *at;
    if (note != NULL && note->len != len)
        return self_break(self, err, VEL_ECORRUPT, tag, note->len, len);

    struct vel_req *req = calloc(1, sizeof *req);
    if (req == NULL)
        return vel_out_of_memory(err, "a message");
    *req = (struct vel_req){.tag = tag, .into = bytes, .len = len};
    if (note != NULL) {
        if (len > 0)
            memcpy(bytes, note->bytes, len);
        *at = note->next;
        free(note);
        req->is_done = true;
    } else {
        struct vel_req **end = &self->waiting;
        while (*end != NULL)
            end = &(*end)->next;
        *end = req;
    }
    *ret_req = req;
    return 0;
}

static int self_wait_any(struct vel_comm *comm, struct vel_req **reqs, size_t n,
                         size_t *ret_done, struct vel_err *err)
{
    struct self *self = (struct self *)comm;
    const struct vel_req *stuck = NULL;
    if (self->broken.status < 0)
        return self_broken(self, err);
    for (size_t i = 0; i < n; i++) {
        if (reqs[i] != NULL && reqs[i]->is_done) {
            free(reqs[i]);
            reqs[i] = NULL;
            *ret_done = i;
            return 0;
        }
        stuck = reqs[i] != NULL ? reqs[i] : stuck;
    }
    if (stuck != NULL)
        return self_break(self, err, VEL_ESTATE, stuck->tag, 0, stuck->len);
    *ret_done = n;
    return 0;
}

static void self_cancel(struct vel_comm *comm, struct vel_req *req)
{
    struct self *self = (struct self *)comm;
    struct vel_req **at = &self->waiting;
    while (*at != NULL && *at != req)
        at = &(*at)->next;
    if (*at != NULL)
        *at = req->next;
    free(req);
}

static int self_split(struct vel_comm *comm, int color, int key,
                      struct vel_comm **ret_comm, struct vel_err *err)
{
    struct self *self = (struct self *)comm;
    (void)key;
    if (self->broken.status < 0)
        return self_broken(self, err);
    if (color >= 0)
        return vel_comm_self(ret_comm, err);
    *ret_comm = NULL;
    return 0;
}

static void self_fail(struct vel_comm *comm, const struct vel_err *cause)
{
    struct self *self = (struct self *)comm;
    if (self->broken.status == 0)
        self->broken = *cause;
}

static void self_destroy(struct vel_comm *comm)
{
    struct self *self = (struct self *)comm;
    while (self->notes != NULL) {
        struct note *note = self->notes;
        self->notes = note->next;
        free(note);
    }
    free(self);
}

static const struct vel_comm_ops self_ops = {
    .name = "self",
    .isend = self_isend,
    .irecv = self_irecv,
    .wait_any = self_wait_any,
    .cancel = self_cancel,
    .split = self_split,
    .fail = self_fail,
    .destroy = self_destroy,
};

int vel_comm_self(struct vel_comm **ret_comm, struct vel_err *err)
{
    struct self *self = calloc(1, sizeof *self);
    if (self == NULL)
        return vel_out_of_memory(err, "a communicator");
    self->comm = (struct vel_comm){.ops = &self_ops, .rank = 0, .size = 1};
    *ret_comm = &self->comm;
    return 0;
}
