/* SPDX-License-Identifier: BSD-3-Clause */
/* Each name becomes a number, and each number has a rank where all that are the same
 * meet. 63 bits of a good hash are enough: two names of a million files are taken for
 * one once in ten million flushes. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/siphash.h"
#include "base/vec.h"
#include "xfer/names.h"

static int64_t number_of(const char *name)
{
    static const uint8_t key[VEL_SIPHASH_KEY];
    uint8_t mac[VEL_SIPHASH_LEN];
    int64_t number;

    vel_siphash(key, name, strlen(name), mac);
    memcpy(&number, mac, sizeof number);
    return number & INT64_MAX;
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* The numbers of this rank, those that meet at the same rank one behind the other: that
 * is the number's part of all numbers. */
static int sort_numbers(const char *const *names, size_t n, struct vel_vec *numbers,
                        struct vel_err *err)
{
    for (size_t i = 0; i < n; i++) {
        int64_t number = number_of(names[i]);

        if (!vel_vec_push(numbers, &number))
            return vel_out_of_memory(err, "names of files");
    }
    vel_vec_sort(numbers, compare);
    return 0;
}

static int meeting_place(int64_t number, int size)
{
    return (int)((uint64_t)number / ((uint64_t)INT64_MAX / (unsigned)size + 1));
}

static int address(const struct vel_vec *numbers, int size, struct vel_vec *out,
                   struct vel_err *err)
{
    int64_t *n = numbers->items;

    for (size_t i = 0, end; i < numbers->n; i = end) {
        struct vel_parcel parcel = {.peer = meeting_place(n[i], size), .bytes = &n[i]};

        for (end = i; end < numbers->n && meeting_place(n[end], size) == parcel.peer;)
            end++;
        parcel.len = (end - i) * sizeof *n;
        if (!vel_vec_push(out, &parcel))
            return vel_out_of_memory(err, "names of files");
    }
    return 0;
}

/* The lowest number that came twice; INT64_MAX: none. */
static int find_twice(const struct vel_vec *in, int64_t *ret_twice, struct vel_err *err)
{
    const struct vel_parcel *p = in->items;
    struct vel_vec all;
    const int64_t *n;
    int rc = 0;

    vel_vec_init(&all, sizeof(int64_t));
    for (size_t i = 0; rc == 0 && i < in->n; i++)
        for (size_t at = 0; rc == 0 && at + sizeof *n <= p[i].len; at += sizeof *n) {
            int64_t number;

            memcpy(&number, (const char *)p[i].bytes + at, sizeof number);
            if (!vel_vec_push(&all, &number))
                rc = vel_out_of_memory(err, "names of files");
        }
    vel_vec_sort(&all, compare);
    n = all.items;
    *ret_twice = INT64_MAX;
    for (size_t i = all.n; i-- > 1;)
        if (n[i] == n[i - 1])
            *ret_twice = n[i];
    vel_vec_fini(&all);
    return rc;
}

/* Collective. Whoever has the name says it, with the lowest and the highest rank that
 * has. */
static int tell(struct vel_comm *world, const char *const *names, size_t n,
                int64_t twice, struct vel_err *err)
{
    int64_t ends[2] = {INT64_MAX, INT64_MAX};
    const char *mine = NULL;
    int rc = vel_comm_allreduce(world, VEL_COMM_MIN, &twice, 1, err);

    if (rc < 0 || twice == INT64_MAX)
        return rc;
    for (size_t i = 0; !mine && i < n; i++)
        if (number_of(names[i]) == twice)
            mine = names[i];
    if (mine) {
        ends[0] = world->rank;
        ends[1] = -world->rank;
    }
    rc = vel_comm_allreduce(world, VEL_COMM_MIN, ends, 2, err);
    if (rc == 0 && mine)
        rc = vel_fail(err, VEL_EINVAL,
                      "'%s' is a file of rank %" PRId64 " and of rank %" PRId64
                      ", and only one can have its place on the prefix: give each "
                      "rank names of its own",
                      mine, ends[0], -ends[1]);
    return vel_comm_agree(world, rc, err);
}

int vel_names_check(struct vel_comm *world, int rc, const char *const *names, size_t n,
                    struct vel_err *err)
{
    struct vel_vec numbers, out, in = {0};
    int64_t twice = INT64_MAX;

    vel_vec_init(&numbers, sizeof(int64_t));
    vel_vec_init(&out, sizeof(struct vel_parcel));
    if (rc == 0)
        rc = sort_numbers(names, n, &numbers, err);
    if (rc == 0)
        rc = address(&numbers, world->size, &out, err);
    rc = vel_comm_agree(world, rc, err);
    if (rc == 0) {
        rc = vel_comm_exchange(world, &out, &in, err);
        if (rc == 0)
            rc = vel_comm_agree(world, find_twice(&in, &twice, err), err);
        vel_parcels_fini(&in);
    }
    if (rc == 0)
        rc = tell(world, names, n, twice, err);
    vel_vec_fini(&out);
    vel_vec_fini(&numbers);
    return rc;
}
