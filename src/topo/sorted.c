/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "topo/rankstr.h"
#include "topo/sorted.h"
#include "topo/spread.h"

enum { OWNER_LEN = 4 }; /* behind the text of a record, highest byte first */

static void owner_put(uint8_t *at, uint32_t rank)
{
    for (int i = 0; i < OWNER_LEN; i++)
        at[i] = (uint8_t)(rank >> (24 - 8 * i));
}

static uint32_t owner_get(const uint8_t *at)
{
    uint32_t rank = 0;

    for (int i = 0; i < OWNER_LEN; i++)
        rank = rank << 8 | at[i];
    return rank;
}

struct mark {
    uint32_t is_set;
    uint8_t bytes[VEL_SPREAD_SCAN - sizeof(uint32_t)];
};

/* The nearest mark in front counts. */
static void mark_fold(void *record, const void *before)
{
    struct mark *mine = record;

    if (!mine->is_set)
        memcpy(mine, before, sizeof *mine);
}

int vel_sorted_share(struct vel_comm *comm, const struct vel_sorted *sorted,
                     void *record, size_t len, struct vel_err *err)
{
    struct mark mark = {.is_set = sorted->is_head};

    assert(len <= sizeof mark.bytes);
    memcpy(mark.bytes, record, len);
    int rc = vel_spread_scan(comm, VEL_SPREAD_UP, &mark, sizeof mark, mark_fold, err);
    if (rc == 0)
        memcpy(record, mark.bytes, len);
    return rc;
}

/* Where the texts like this one end: the nearest last one, seen from behind. */
static int last_find(struct vel_comm *comm, bool is_last, uint32_t *ret_last,
                     struct vel_err *err)
{
    struct mark mark = {.is_set = is_last};
    const uint32_t here = (uint32_t)comm->rank;

    memcpy(mark.bytes, &here, sizeof here);
    int rc = vel_spread_scan(comm, VEL_SPREAD_DOWN, &mark, sizeof mark, mark_fold, err);
    if (rc == 0)
        memcpy(ret_last, mark.bytes, sizeof *ret_last);
    return rc;
}

/* Compare with the text in front; the neighbour tells how its comparison ended. */
static int ends_find(struct vel_comm *comm, const uint8_t *text, uint8_t *spare,
                     size_t width, bool *ret_is_head, bool *ret_is_last,
                     struct vel_err *err)
{
    int me = comm->rank;
    int rc = vel_spread_swap(comm, me + 1, text, me - 1, spare, width, err);
    uint8_t is_head = me == 0 || memcmp(text, spare, width) != 0, is_last = 1;

    if (rc == 0)
        rc = vel_spread_swap(comm, me - 1, &is_head, me + 1, &is_last, 1, err);
    if (rc == 0) {
        *ret_is_head = is_head != 0;
        *ret_is_last = is_last != 0;
    }
    return rc;
}

/* The lowest rank of a group, to whom the text at the head belongs, counts the groups
 * whose lowest rank is below it, and writes back to the head. */
static int groups_number(struct vel_comm *comm, struct vel_sorted *sorted,
                         struct vel_err *err)
{
    const uint32_t here = (uint32_t)comm->rank;
    uint32_t head = 0;
    bool is_lowest = false;
    int64_t before = 0;

    int rc = vel_spread_post(comm, sorted->is_head ? sorted->owner : -1, &here, &head,
                             sizeof head, &is_lowest, err);
    if (rc == 0)
        rc = vel_comm_exscan(comm, is_lowest, &before, err);
    int64_t groups = is_lowest;
    if (rc == 0)
        rc = vel_comm_allreduce(comm, VEL_COMM_SUM, &groups, 1, err);
    const uint32_t number = (uint32_t)before;
    if (rc == 0)
        rc = vel_spread_deliver(comm, is_lowest ? (int)head : -1, &number,
                                &sorted->group, sizeof number, sorted->is_head, err);
    sorted->groups = (uint32_t)groups;
    return rc;
}

/* `record` and `spare` have room for width + OWNER_LEN bytes, zeroed. */
static int texts_sort(struct vel_comm *comm, const char *text, size_t width,
                      uint8_t *record, uint8_t *spare, struct vel_sorted *ret,
                      struct vel_err *err)
{
    struct vel_sorted s = {.owner = 0};
    struct {
        uint32_t head, group;
    } common = {(uint32_t)comm->rank, 0};
    uint32_t last = 0;
    bool is_last = false;

    memcpy(record, text, strlen(text));
    owner_put(record + width, (uint32_t)comm->rank);
    int rc = vel_spread_sort(comm, record, spare, width + OWNER_LEN, err);
    s.owner = (int)owner_get(record + width);
    if (rc == 0)
        rc = ends_find(comm, record, spare, width, &s.is_head, &is_last, err);
    if (rc == 0)
        rc = groups_number(comm, &s, err);
    common.group = s.group;
    if (rc == 0)
        rc = vel_sorted_share(comm, &s, &common, sizeof common, err);
    if (rc == 0)
        rc = last_find(comm, is_last, &last, err);
    if (rc < 0)
        return rc;
    s.group = common.group;
    s.place = (uint32_t)comm->rank - common.head;
    s.ranks = last - common.head + 1;
    *ret = s;
    return 0;
}

/* Texts are padded with zero bytes to the longest of all and followed by their owner,
 * so that sorting needs no more than memcmp. */
int vel_sorted(struct vel_comm *comm, const char *text, struct vel_sorted *ret,
               struct vel_err *err)
{
    int64_t longest = (int64_t)strlen(text);
    int rc = vel_comm_allreduce(comm, VEL_COMM_MAX, &longest, 1, err);

    if (rc < 0)
        return rc;
    if (longest > VEL_RANKSTR_MAX)
        return vel_fail(err, VEL_ECORRUPT, "sorting texts: one has %lld bytes",
                        (long long)longest);
    size_t width = (size_t)longest, len = width + OWNER_LEN;
    uint8_t *records = calloc(2, len);
    if (records == NULL)
        return vel_out_of_memory(err, "sorting texts");
    rc = texts_sort(comm, text, width, records, records + len, ret, err);
    free(records);
    return rc < 0 ? vel_wrap(err, rc, "sorting texts") : 0;
}
