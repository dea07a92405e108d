/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc.h"
#include "tap/rng.h"
#include "tap/commcheck.h"

#define WANT(cond)                                                                     \
    do {                                                                               \
        if (!(cond))                                                                   \
            return __LINE__;                                                           \
    } while (0)

static int check_barrier(struct vel_comm *comm)
{
    for (int i = 0; i < 20; i++)
        WANT(vel_comm_barrier(comm, NULL) == 0);
    return 0;
}

static int check_allreduce(struct vel_comm *comm)
{
    enum { MANY = 1000 };
    int64_t n = comm->size, values[MANY], few[3] = {comm->rank, -comm->rank, 7};
    WANT(vel_comm_allreduce(comm, VEL_COMM_SUM, few, 3, NULL) == 0);
    WANT(few[0] == n * (n - 1) / 2 && few[1] == -few[0] && few[2] == 7 * n);
    few[0] = comm->rank + 10;
    few[1] = -comm->rank;
    WANT(vel_comm_allreduce(comm, VEL_COMM_MIN, few, 2, NULL) == 0);
    WANT(few[0] == 10 && few[1] == 1 - n);
    WANT(vel_comm_allreduce(comm, VEL_COMM_MAX, few, 0, NULL) == 0 && few[0] == 10);
    for (int i = 0; i < MANY; i++)
        values[i] = (int64_t)comm->rank * i - i;
    WANT(vel_comm_allreduce(comm, VEL_COMM_MAX, values, MANY, NULL) == 0);
    for (int i = 0; i < MANY; i++)
        WANT(values[i] == (n - 2) * i);
    return 0;
}

/* bytes that follow from a seed */
static char *made(uint64_t seed, size_t len)
{
    struct vel_rng rng;
    char *bytes = malloc(len + 1);
    vel_rng_init(&rng, seed);
    if (bytes != NULL)
        vel_rng_fill(&rng, bytes, len);
    return bytes;
}

static int is_made(uint64_t seed, const void *bytes, size_t len)
{
    char *want = made(seed, len);
    int same = want != NULL && (len == 0 || memcmp(want, bytes, len) == 0);
    free(want);
    return same;
}

static int check_bcast(struct vel_comm *comm)
{
    for (int root = 0; root < comm->size; root++) {
        size_t len = (size_t)root * 7919 % 70000;
        struct vel_buf buf;
        vel_buf_init(&buf);
        vel_buf_puts(&buf, "what was here before");
        if (comm->rank == root) {
            char *bytes = made((uint64_t)root, len);
            vel_buf_clear(&buf);
            vel_buf_append(&buf, bytes, len);
            free(bytes);
        }
        WANT(vel_comm_bcast(comm, root, &buf, NULL) == 0);
        WANT(buf.len == len && is_made((uint64_t)root, buf.data, len));
        vel_buf_fini(&buf);
    }
    return 0;
}

static size_t part_len(int rank, int round)
{
    return (size_t)rank * 37 % 11 * (round == 1 ? 5000 : round);
}

static int parts_hold(const struct vel_buf *all, const size_t *lens, int n, int round)
{
    size_t at = 0;
    for (int r = 0; r < n; r++) {
        WANT(lens[r] == part_len(r, round) && at + lens[r] <= all->len);
        WANT(lens[r] == 0 || is_made((uint64_t)r, all->data + at, lens[r]));
        at += lens[r];
    }
    WANT(at == all->len);
    return 0;
}

static int check_gather(struct vel_comm *comm)
{
    for (int round = 0; round < 3; round++) {
        size_t len = part_len(comm->rank, round), *lens = NULL;
        char *mine = made((uint64_t)comm->rank, len);
        struct vel_buf all;
        vel_buf_init(&all);
        for (int root = 0; root < comm->size; root++) {
            WANT(vel_comm_gather(comm, root, mine, len, &all, &lens, NULL) == 0);
            WANT((lens != NULL) == (comm->rank == root));
            WANT(lens == NULL || parts_hold(&all, lens, comm->size, round) == 0);
            free(lens);
            lens = NULL;
        }
        WANT(vel_comm_allgather(comm, mine, len, &all, &lens, NULL) == 0);
        WANT(parts_hold(&all, lens, comm->size, round) == 0);
        free(lens);
        free(mine);
        vel_buf_fini(&all);
    }
    return 0;
}

static int check_agree(struct vel_comm *comm)
{
    struct vel_err err = {0};
    WANT(vel_comm_agree(comm, 0, &err) == 0);
    for (int first = 0; first < comm->size; first++) {
        char want[80];
        int rc = 0;
        memset(&err, 0, sizeof err);
        if (comm->rank >= first)
            rc = vel_fail(&err, comm->rank == first ? VEL_ENOSPC : VEL_EIO, "disk %d",
                          comm->rank);
        WANT(vel_comm_agree(comm, rc, &err) == VEL_ENOSPC);
        snprintf(want, sizeof want,
                 comm->rank == first ? "disk %d" : "rank %d: disk %d", first, first);
        WANT(err.status == VEL_ENOSPC && strcmp(err.text, want) == 0);
    }
    WANT(vel_comm_agree(comm, comm->rank == comm->size - 1 ? VEL_ENOENT : 0, NULL) ==
         VEL_ENOENT);
    return 0;
}

static int check_agree_fold(struct vel_comm *comm)
{
    enum { MANY = 100 };
    static const enum vel_comm_fold folds[] = {VEL_COMM_SUM, VEL_COMM_MIN,
                                               VEL_COMM_MAX};
    struct vel_err err = {0};
    int64_t n = comm->size, values[MANY];

    for (int f = 0; f < 3; f++) {
        const int64_t wants[] = {-n * (n - 1) / 2, 1 - n, 0};

        for (int i = 0; i < MANY; i++)
            values[i] = -comm->rank;
        WANT(vel_comm_agree_fold(comm, 0, folds[f], values, f ? 3 : MANY, &err) == 0);
        WANT(values[0] == wants[f] && values[2] == wants[f]);
        WANT(values[MANY - 1] == (f ? -comm->rank : wants[f]));
    }
    for (int first = 0; first < comm->size; first++) {
        int rc = comm->rank == first ? vel_fail(&err, VEL_ENOSPC, "full") : 0;

        values[0] = comm->rank;
        WANT(vel_comm_agree_fold(comm, rc, VEL_COMM_SUM, values, 1, &err) ==
             VEL_ENOSPC);
        WANT(strstr(err.text, "full") && values[0] == comm->rank);
    }
    return 0;
}

/* Who sends what to whom follows from the seed, so that everyone can tell what comes.
 */
static size_t pattern(uint64_t seed, int from, int to, uint64_t ret_seeds[4],
                      size_t ret_lens[4])
{
    struct vel_rng rng;
    vel_rng_init(&rng, seed * 1000003 + (uint64_t)from * 1009 + (uint64_t)to);
    size_t n = vel_rng_below(&rng, 3) == 0 ? vel_rng_below(&rng, 5) : 0;
    for (size_t i = 0; i < n; i++) {
        ret_seeds[i] = vel_rng_next(&rng);
        ret_lens[i] = vel_rng_below(&rng, 2) ? vel_rng_below(&rng, 3000) : i;
    }
    return n;
}

static int exchange_once(struct vel_comm *comm, uint64_t seed)
{
    uint64_t seeds[4];
    size_t lens[4];
    struct vel_vec out, in;
    vel_vec_init(&out, sizeof(struct vel_parcel));
    for (int to = comm->size - 1; to >= 0; to--) {
        size_t n = pattern(seed, comm->rank, to, seeds, lens);
        for (size_t i = 0; i < n; i++) {
            struct vel_parcel p = {to, made(seeds[i], lens[i]), lens[i]};
            vel_vec_push(&out, &p);
        }
    }
    WANT(vel_comm_exchange(comm, &out, &in, NULL) == 0);
    size_t at = 0;
    for (int from = 0; from < comm->size; from++) {
        size_t n = pattern(seed, from, comm->rank, seeds, lens);
        for (size_t i = 0; i < n; i++, at++) {
            WANT(at < in.n);
            const struct vel_parcel *p = vel_vec_at(&in, at);
            WANT(p->peer == from && p->len == lens[i]);
            WANT(is_made(seeds[i], p->bytes, p->len));
        }
    }
    WANT(at == in.n);
    vel_parcels_fini(&in);
    vel_parcels_fini(&out);
    return 0;
}

static int check_exchange(struct vel_comm *comm)
{
    for (uint64_t seed = 1; seed <= 12; seed++) {
        int line = exchange_once(comm, seed);
        if (line != 0)
            return line;
    }
    return 0;
}

/* Everyone sends to everyone under several tags, and the receives are posted before,
 * after and in another order than the sends. */
static int check_tags(struct vel_comm *comm)
{
    enum { TAGS = 6, MOST = 16 * TAGS * 2 };
    struct vel_req *reqs[MOST] = {NULL};
    int64_t in[MOST], out[TAGS], n = 0;
    if (comm->size > 16)
        return 0;
    for (int t = 0; t < TAGS; t++)
        out[t] = comm->rank * 100 + t;
    for (int half = 0; half < 2; half++) {
        for (int peer = 0; peer < comm->size; peer++) {
            for (int t = TAGS - 1; t >= 0; t--) {
                if (t % 2 == half)
                    WANT(vel_comm_irecv(comm, peer, (uint32_t)t, &in[peer * TAGS + t],
                                        8, &reqs[n++], NULL) == 0);
                if (half == 0)
                    WANT(vel_comm_isend(comm, peer, (uint32_t)(TAGS - 1 - t),
                                        &out[TAGS - 1 - t], 8, &reqs[n++], NULL) == 0);
            }
        }
    }
    size_t done = 0, seen = 0;
    for (;;) {
        WANT(vel_comm_wait_any(comm, reqs, (size_t)n, &done, NULL) == 0);
        if (done == (size_t)n)
            break;
        WANT(reqs[done] == NULL);
        seen++;
    }
    WANT(seen == (size_t)n);
    for (int i = 0; i < comm->size * TAGS; i++)
        WANT(in[i] == i / TAGS * 100 + i % TAGS);
    return 0;
}

/* The order of the messages of one tag is kept, and none of many is lost. */
static int check_many(struct vel_comm *comm)
{
    enum { MESSAGES = 2000, WINDOW = 50 };
    int to = (comm->rank + 1) % comm->size;
    int from = (comm->rank + comm->size - 1) % comm->size;
    for (int first = 0; first < MESSAGES; first += WINDOW) {
        struct vel_req *reqs[2 * WINDOW] = {NULL};
        int in[WINDOW], out[WINDOW];
        for (int i = 0; i < WINDOW; i++) {
            out[i] = comm->rank * MESSAGES + first + i;
            WANT(vel_comm_isend(comm, to, 3, &out[i], sizeof out[i], &reqs[2 * i],
                                NULL) == 0);
            WANT(vel_comm_irecv(comm, from, 3, &in[i], sizeof in[i], &reqs[2 * i + 1],
                                NULL) == 0);
        }
        WANT(vel_comm_wait_all(comm, reqs, (size_t)2 * WINDOW, NULL) == 0);
        for (int i = 0; i < WINDOW; i++)
            WANT(in[i] == from * MESSAGES + first + i);
    }
    return 0;
}

int commcheck_long(struct vel_comm *comm, size_t len)
{
    int last = comm->size - 1;
    struct vel_req *reqs[2] = {NULL, NULL};
    char *out = comm->rank == 0 ? made(len, len) : NULL;
    char *in = comm->rank == last ? malloc(len + 1) : NULL;
    if (out != NULL)
        WANT(vel_comm_isend(comm, last, 1, out, len, &reqs[0], NULL) == 0);
    if (in != NULL)
        WANT(vel_comm_irecv(comm, 0, 1, in, len, &reqs[1], NULL) == 0);
    WANT(vel_comm_wait_all(comm, reqs, 2, NULL) == 0);
    WANT(in == NULL || is_made(len, in, len));
    free(out);
    free(in);
    return 0;
}

static int check_long(struct vel_comm *comm)
{
    static const size_t lens[] = {0, 1, 65536, 1000002, 1000003, 2000006, 5000000};
    for (size_t i = 0; i < sizeof lens / sizeof lens[0]; i++) {
        int line = commcheck_long(comm, lens[i]);
        if (line != 0)
            return line;
    }
    return 0;
}

/* A child works beside its parent and its siblings. */
static int child_works(struct vel_comm *child, int size, int rank, int64_t sum)
{
    int64_t value = 1 + rank;
    WANT(child->size == size && child->rank == rank);
    WANT(vel_comm_allreduce(child, VEL_COMM_SUM, &value, 1, NULL) == 0);
    WANT(value == sum);
    WANT(check_gather(child) == 0 && check_many(child) == 0);
    return 0;
}

static int check_split(struct vel_comm *comm)
{
    struct vel_comm *child = comm, *grandchild = NULL;
    int n = comm->size, rank = comm->rank, line;
    WANT(vel_comm_split(comm, -1, 0, &child, NULL) == 0 && child == NULL);
    /* all but rank 0, in reverse order */
    WANT(vel_comm_split(comm, rank > 0 ? 5 : -1, -rank, &child, NULL) == 0);
    WANT((child != NULL) == (rank > 0));
    if (child != NULL) {
        line = child_works(child, n - 1, n - 1 - rank, (int64_t)n * (n - 1) / 2);
        if (line != 0)
            return line;
        WANT(vel_comm_split(child, child->rank % 2, 0, &grandchild, NULL) == 0);
        WANT(check_allreduce(grandchild) == 0 && check_allreduce(child) == 0);
    }
    WANT(check_allreduce(comm) == 0);
    vel_comm_destroy(child);
    WANT(grandchild == NULL || check_exchange(grandchild) == 0);
    vel_comm_destroy(grandchild);
    return check_barrier(comm);
}

static int check_misuse(struct vel_comm *comm)
{
    struct vel_req *req = NULL;
    char byte = 0;
    WANT(vel_comm_isend(comm, comm->size, 0, &byte, 1, &req, NULL) == VEL_EINVAL);
    WANT(vel_comm_irecv(comm, -1, 0, &byte, 1, &req, NULL) == VEL_EINVAL);
    WANT(vel_comm_irecv(comm, 0, 1 << 24, &byte, 1, &req, NULL) == VEL_EINVAL);
    return check_barrier(comm);
}

/* A message of another length breaks a comm for everyone in it, and no other. */
static int check_wrong_length(struct vel_comm *comm)
{
    struct vel_comm *child = NULL;
    struct vel_req *reqs[2] = {NULL, NULL};
    struct vel_err err = {0};
    char out[8] = "", in[8] = "";
    WANT(vel_comm_split(comm, 0, 0, &child, NULL) == 0);
    int last = comm->size - 1, rc = 0;
    if (comm->rank == 0)
        rc = vel_comm_isend(child, last, 9, out, 8, &reqs[0], &err);
    if (rc == 0 && comm->rank == last)
        rc = vel_comm_irecv(child, 0, 9, in, 4, &reqs[1], &err);
    if (rc == 0)
        rc = vel_comm_wait_all(child, reqs, 2, &err);
    WANT(comm->rank != last || rc == VEL_ECORRUPT);
    vel_comm_cancel_all(child, reqs, 2);
    WANT(vel_comm_barrier(child, &err) == VEL_ECORRUPT);
    WANT(strstr(err.text, "rank 0 (tag 9)") != NULL);
    WANT(vel_comm_barrier(child, NULL) == VEL_ECORRUPT);
    WANT(vel_comm_agree(child, 0, NULL) == VEL_ECORRUPT);
    int line = check_barrier(comm);
    vel_comm_destroy(child);
    return line;
}

const struct commcheck commchecks[] = {
    {check_barrier, "barriers follow each other"},
    {check_allreduce, "numbers are folded over all members"},
    {check_bcast, "the bytes of any root reach all"},
    {check_gather, "parts of any length are gathered in the order of ranks"},
    {check_agree, "the failure of the lowest member becomes everyone's"},
    {check_agree_fold, "and numbers are folded with it, when there is none"},
    {check_exchange, "every parcel of a sparse exchange arrives, in order"},
    {check_tags, "messages of different tags do not meet"},
    {check_many, "many messages arrive in the order they were sent"},
    {check_long, "messages of any length arrive"},
    {check_split, "parts of a comm work beside each other"},
    {check_misuse, "ranks and tags that do not exist are refused"},
    {check_wrong_length, "a message of another length breaks its comm alone"},
};
const int n_commchecks = sizeof commchecks / sizeof commchecks[0];

int commcheck_all(struct vel_comm *comm, void *unused)
{
    (void)unused;
    for (int i = 0; i < n_commchecks; i++) {
        int line = commchecks[i].run(comm);
        if (line != 0)
            return line;
    }
    return 0;
}
