/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/le.h"
#include "engine/settle.h"
#include "topo/reddesc.h"
#include "view/inventory.h"

/* --- who sits where --- */

/* What a process tells: the name of its node with a zero, and for each part these
 * numbers. */
enum { SEAT = 4 + 4 + 4 };

static int take_told(char *told, size_t len, struct vel_seal *ret, struct vel_err *err)
{
    size_t head = strlen(told) + 1;
    struct vel_le_reader r;
    int rc = 0;

    vel_le_read_init(&r, told + head, len - head);
    while (rc == 0 && r.left > 0) {
        struct vel_seal_member member = {.rank = vel_le_get32(&r), .node = told};

        member.set = vel_le_get32(&r);
        member.place = vel_le_get32(&r);
        if (!vel_seal_find(ret, member.rank))
            rc = vel_seal_add(ret, &member, err);
    }
    return rc;
}

static int tell_seats(const struct vel_settle *of, struct vel_buf *ret,
                      struct vel_err *err)
{
    uint8_t bytes[SEAT];
    struct vel_le_writer w;

    vel_buf_append(ret, of->node, strlen(of->node) + 1);
    for (size_t i = 0; i < of->n; i++) {
        if (of->parts[i].rank >= of->map->dataset.ranks)
            continue;
        vel_le_write_init(&w, bytes, SEAT);
        vel_le_put32(&w, (uint32_t)of->parts[i].rank);
        vel_le_put32(&w, of->parts[i].place.set);
        vel_le_put32(&w, of->parts[i].place.rank);
        vel_buf_append(ret, bytes, SEAT);
    }
    return vel_buf_status(ret, err);
}

/* Collective. The first process gets them all. */
static int gather_seats(const struct vel_settle *of, struct vel_seal *ret,
                        struct vel_err *err)
{
    struct vel_buf mine, told;
    size_t *lens = NULL, at = 0;
    int rc;

    vel_buf_init(&mine);
    vel_buf_init(&told);
    rc = vel_comm_agree(of->comm, tell_seats(of, &mine, err), err);
    if (rc == 0)
        rc = vel_comm_gather(of->comm, 0, mine.data, mine.len, &told, &lens, err);
    for (int i = 0; rc == 0 && of->comm->rank == 0 && i < of->comm->size;
         at += lens[i++])
        rc = take_told(told.data + at, lens[i], ret, err);
    rc = vel_comm_agree(of->comm, rc, err);
    free(lens);
    vel_buf_fini(&told);
    vel_buf_fini(&mine);
    return rc;
}

static int look_at(struct vel_fs *fs, struct vel_brought_part *part, int64_t *lacks,
                   struct vel_err *err)
{
    struct vel_filemap map;
    struct vel_reddesc desc;
    enum vel_scheme scheme;
    int rc = vel_part_map_of(fs, part->dir, part->rank, NULL, &map, &scheme, err);

    if (rc < 0)
        return rc;
    rc = vel_reddesc_from_node(map.descriptor, &desc, err);
    vel_filemap_fini(&map);
    if (rc < 0)
        return rc;
    part->place = desc.place;
    *lacks |= desc.scheme != VEL_SINGLE && scheme == VEL_SINGLE;
    vel_reddesc_fini(&desc);
    return 0;
}

int vel_settle_look(struct vel_fs *fs, int ranks, struct vel_brought_part *parts,
                    size_t n, int64_t *ret_lacks, struct vel_err *err)
{
    int rc = 0;

    *ret_lacks = 0;
    for (size_t i = 0; rc == 0 && i < n; i++)
        if (parts[i].rank < ranks)
            rc = look_at(fs, &parts[i], ret_lacks, err);
    return rc;
}

/* --- all of it --- */

/* Tell the whole of it; seats stay as they are but for what is the same for all. */
static int tell_all(const struct vel_settle *of, struct vel_seal *seats,
                    struct vel_err *err)
{
    const struct vel_dataset *d = &of->map->dataset;
    struct vel_background *b = of->background;
    struct vel_reddesc desc;
    struct vel_buf bytes;
    int rc = vel_reddesc_from_node(of->map->descriptor, &desc, err);

    if (rc < 0)
        return rc;
    for (size_t i = 0; i < seats->members.n; i++) {
        struct vel_seal_member *member = vel_vec_at(&seats->members, i);

        member->level = desc.index;
        member->scheme = desc.scheme;
        member->failures = (int64_t)desc.m;
        member->bytes = d->bytes / d->ranks;
    }
    seats->id = d->id;
    seats->about = *d; /* borrowed */
    seats->what = of->owed;
    seats->is_plain = of->is_plain;
    vel_buf_init(&bytes);
    rc = vel_seal_encode(seats, &bytes, err);
    if (rc == 0)
        rc = b->ops->settle(b, d->id, bytes.data, bytes.len, err);
    vel_buf_fini(&bytes);
    vel_reddesc_fini(&desc);
    seats->about = (struct vel_dataset){0};
    return rc;
}

int vel_settle(struct vel_settle *of, struct vel_err *err)
{
    struct vel_background *b = of->background;
    struct vel_seal own, *seats = of->seats ? of->seats : &own;
    bool is_seated = of->seats && *of->is_seated;
    unsigned before;
    int rc = 0;

    vel_seal_init(&own);
    if (!is_seated)
        rc = gather_seats(of, seats, err);
    if (of->seats)
        *of->is_seated |= rc == 0;
    for (size_t i = 0; rc == 0 && i < of->n; i++)
        if (of->parts[i].rank < of->map->dataset.ranks)
            rc = b->ops->owe(b, of->map->dataset.id, of->parts[i].rank, of->owed,
                             of->parts[i].dir, &before, err);
    rc = vel_comm_agree(of->comm, rc, err);
    of->is_settling = rc == 0;
    if (rc == 0) {
        if (of->comm->rank == 0)
            rc = tell_all(of, seats, err);
        rc = vel_comm_agree(of->comm, rc, err);
    }
    vel_seal_fini(&own);
    return rc;
}
