/* SPDX-License-Identifier: BSD-3-Clause */
/* gather - everyone's bytes at one member, or at all.
 *
 * A binomial tree: the bytes of a subtree travel together, after a message that tells
 * how long the part of each of its members is.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "comm/coll.h"
#include "comm/tags.h"

/* The parts of the subtree that begins at this member, in the order of their places,
 * which count from the root. */
struct parts {
    struct vel_buf bytes;
    uint64_t *lens; /* room for all members */
    size_t n;
};

static int parts_init(struct parts *parts, struct vel_comm *comm, const void *bytes,
                      size_t len, struct vel_err *err)
{
    vel_buf_init(&parts->bytes);
    parts->lens = calloc((size_t)comm->size, sizeof *parts->lens);
    parts->n = 1;
    if (parts->lens == NULL)
        return vel_out_of_memory(err, "the lengths of a gather");
    parts->lens[0] = len;
    if (len > 0)
        vel_buf_append(&parts->bytes, bytes, len);
    return vel_buf_status(&parts->bytes, err);
}

static void parts_fini(struct parts *parts)
{
    vel_buf_fini(&parts->bytes);
    free(parts->lens);
}

/* `n` more parts, from the member at the head of their subtree. */
static int parts_recv(struct parts *parts, struct vel_comm *comm, int from, size_t n,
                      struct vel_err *err)
{
    uint64_t *lens = parts->lens + parts->n, sum = 0;
    int rc = vel_comm_recv(comm, from, VEL_TAG_GATHER, lens, n * sizeof *lens, err);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < n; i++) {
        if (lens[i] > SIZE_MAX / 2 - sum)
            return vel_fail(err, VEL_ECORRUPT,
                            "gathering: rank %d sends too many bytes", from);
        sum += lens[i];
    }
    parts->n += n;
    if (sum == 0)
        return 0;
    if (vel_buf_reserve(&parts->bytes, (size_t)sum) < 0)
        return vel_out_of_memory(err, "the bytes of a gather");
    rc = vel_comm_recv(comm, from, VEL_TAG_GATHER, parts->bytes.data + parts->bytes.len,
                       (size_t)sum, err);
    if (rc < 0)
        return rc;
    parts->bytes.len += (size_t)sum;
    parts->bytes.data[parts->bytes.len] = '\0';
    return 0;
}

static int parts_send(const struct parts *parts, struct vel_comm *comm, int to,
                      struct vel_err *err)
{
    int rc = vel_comm_send(comm, to, VEL_TAG_GATHER, parts->lens,
                           parts->n * sizeof *parts->lens, err);
    if (rc == 0 && parts->bytes.len > 0)
        rc = vel_comm_send(comm, to, VEL_TAG_GATHER, parts->bytes.data,
                           parts->bytes.len, err);
    return rc;
}

static int parts_collect(struct parts *parts, struct vel_comm *comm, int root,
                         struct vel_err *err)
{
    int64_t size = comm->size, place = (comm->rank - root + size) % size;
    for (int64_t d = 1; d < size; d *= 2) {
        if ((place & d) != 0)
            return parts_send(parts, comm, (int)((place - d + root) % size), err);
        int64_t head = place + d;
        if (head < size) {
            int64_t n = size - head < d ? size - head : d;
            int rc =
                parts_recv(parts, comm, (int)((head + root) % size), (size_t)n, err);
            if (rc < 0)
                return rc;
        }
    }
    return 0;
}

/* From the order of places to the order of ranks: the places from size - root on are
 * the ranks from 0 on. */
static int parts_to_ranks(const struct parts *parts, size_t root, struct vel_buf *ret,
                          size_t **ret_lens, struct vel_err *err)
{
    struct vel_buf sorted;
    size_t n = parts->n, *lens = calloc(n, sizeof *lens), front = 0;
    vel_buf_init(&sorted);
    if (lens == NULL)
        return vel_out_of_memory(err, "the lengths of a gather");
    for (size_t place = 0; place < n; place++) {
        lens[(place + root) % n] = (size_t)parts->lens[place];
        if (place < n - root)
            front += (size_t)parts->lens[place];
    }
    if (parts->bytes.len > 0) {
        vel_buf_reserve(&sorted, parts->bytes.len);
        vel_buf_append(&sorted, parts->bytes.data + front, parts->bytes.len - front);
        vel_buf_append(&sorted, parts->bytes.data, front);
    }
    int rc = vel_buf_status(&sorted, err);
    if (rc < 0) {
        vel_buf_fini(&sorted);
        free(lens);
        return rc;
    }
    vel_buf_fini(ret);
    *ret = sorted;
    *ret_lens = lens;
    return 0;
}

int vel_comm_gather(struct vel_comm *comm, int root, const void *bytes, size_t len,
                    struct vel_buf *ret, size_t **ret_lens, struct vel_err *err)
{
    struct vel_err cause = {0};
    struct parts parts;
    int rc = parts_init(&parts, comm, bytes, len, &cause);
    if (rc == 0)
        rc = vel_coll_begin(comm, &cause);
    if (rc == 0)
        rc = parts_collect(&parts, comm, root, &cause);
    if (rc == 0 && comm->rank == root)
        rc = parts_to_ranks(&parts, (size_t)root, ret, ret_lens, &cause);
    parts_fini(&parts);
    return vel_coll_end(comm, rc, &cause, err);
}

int vel_comm_allgather(struct vel_comm *comm, const void *bytes, size_t len,
                       struct vel_buf *ret, size_t **ret_lens, struct vel_err *err)
{
    struct vel_err cause = {0};
    struct vel_buf all;
    size_t *lens = NULL;
    vel_buf_init(&all);

    int rc = vel_comm_gather(comm, 0, bytes, len, &all, &lens, &cause);
    if (rc == 0 && lens == NULL) {
        lens = calloc((size_t)comm->size, sizeof *lens);
        if (lens == NULL)
            rc = vel_out_of_memory(&cause, "the lengths of a gather");
    }
    if (rc == 0)
        rc = vel_coll_bcast_bytes(comm, 0, VEL_TAG_GATHER, lens,
                                  (size_t)comm->size * sizeof *lens, &cause);
    if (rc == 0)
        rc = vel_comm_bcast(comm, 0, &all, &cause);
    if (rc == 0) {
        vel_buf_fini(ret);
        *ret = all;
        vel_buf_init(&all);
        *ret_lens = lens;
        lens = NULL;
    }
    vel_buf_fini(&all);
    free(lens);
    return vel_coll_end(comm, rc, &cause, err);
}
