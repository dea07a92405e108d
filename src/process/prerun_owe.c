/* SPDX-License-Identifier: BSD-3-Clause */
/* What a dataset is owed when its parts are in place: promised by each node, settled by
 * tool 0. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "meta/settlement.h"
#include "meta/cache.h"
#include "process/prerun_in.h"
#include "red/redfile.h"

/* Its place in the sets of its level; and does its redundancy file say less? */
static int look_at_part(struct vel_prerun_work *w, int rank, const char *dir,
                        struct vel_err *err)
{
    struct vel_filemap map = {0};
    struct vel_reddesc desc;
    struct vel_vec red = {0};
    char *above = vel_path_dir(dir), *level = above ? vel_path_dir(above) : NULL;
    int rc = level ? vel_prerun_map(w, level, rank, &map, err)
                   : vel_out_of_memory(err, "recovering");

    free(level);
    free(above);
    if (rc < 0)
        return rc;
    rc = vel_reddesc_from_node(map.descriptor, &desc, err);
    vel_filemap_fini(&map);
    if (rc < 0)
        return rc;
    const struct vel_prerun_seat seat = {
        .rank = (uint32_t)rank, .set = desc.place.set, .place = desc.place.rank};
    rc =
        vel_redfile_scan(w->p->of->fs, dir, VEL_CACHE_LABEL, (uint32_t)rank, &red, err);
    if (rc == 0)
        w->lacks_scheme |= desc.scheme != VEL_SINGLE && red.n > 0 &&
                           vel_redfile_at(&red, 0)->header.layout.scheme == VEL_SINGLE;
    if (rc == 0 && !vel_vec_push(&w->seats, &seat))
        rc = vel_out_of_memory(err, "recovering");
    vel_redfiles_fini(&red);
    vel_reddesc_fini(&desc);
    return rc;
}

static int look_at_parts(struct vel_prerun_work *w, struct vel_err *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < w->ranks.n; i++)
        if (vel_prerun_rank(&w->ranks, i) < w->d->about.ranks)
            rc = look_at_part(w, vel_prerun_rank(&w->ranks, i),
                              *(char **)vel_vec_at(&w->dirs, i), err);
    return rc;
}

/* Nodes as the settlement wants them: by their lowest rank. */
static int number_nodes(const struct vel_prerun_work *w, const int *tool_of,
                        struct vel_settlement *ret, struct vel_err *err)
{
    int ranks = w->d->about.ranks, nodes = w->p->of->nodes;
    int *number = malloc(((size_t)nodes + 1) * sizeof *number);

    ret->nodes = calloc((size_t)nodes + 1, sizeof *ret->nodes);
    if (!number || !ret->nodes) {
        free(number);
        return vel_out_of_memory(err, "recovering");
    }
    for (int i = 0; i < nodes; i++)
        number[i] = -1;
    for (int rank = 0; rank < ranks; rank++) {
        int tool = tool_of[rank];

        if (number[tool] < 0) {
            number[tool] = (int)ret->n_nodes;
            ret->nodes[ret->n_nodes++] = w->p->names[tool];
        }
        ret->seats[rank].node = (uint32_t)number[tool];
    }
    free(number);
    return 0;
}

static int seat_all(const struct vel_prerun_work *w, const struct vel_buf *told,
                    const size_t *lens, struct vel_settlement *ret, struct vel_err *err)
{
    int ranks = w->d->about.ranks;
    int *tool_of = malloc(((size_t)ranks + 1) * sizeof *tool_of);
    size_t at = 0;
    int rc = 0;

    ret->seats = calloc((size_t)ranks + 1, sizeof *ret->seats);
    if (!tool_of || !ret->seats)
        rc = vel_out_of_memory(err, "recovering");
    for (int rank = 0; rc == 0 && rank < ranks; rank++)
        tool_of[rank] = -1;
    for (int i = 0; rc == 0 && i < w->p->of->nodes; at += lens[i++])
        for (size_t k = 0; k + sizeof(struct vel_prerun_seat) <= lens[i];
             k += sizeof(struct vel_prerun_seat)) {
            struct vel_prerun_seat seat;

            memcpy(&seat, told->data + at + k, sizeof seat);
            if (seat.rank >= (uint32_t)ranks)
                continue;
            tool_of[seat.rank] = i;
            ret->seats[seat.rank].set = seat.set;
            ret->seats[seat.rank].place = seat.place;
        }
    for (int rank = 0; rc == 0 && rank < ranks; rank++)
        if (tool_of[rank] < 0)
            rc = vel_fail(err, VEL_ELOST, "the part of rank %d is on no node", rank);
    if (rc == 0)
        rc = number_nodes(w, tool_of, ret, err);
    free(tool_of);
    return rc;
}

/* Tool 0. Names of nodes are borrowed. */
static int settle(struct vel_prerun_work *w, const struct vel_buf *told,
                  const size_t *lens, unsigned owed, struct vel_err *err)
{
    struct vel_background *b = w->p->background;
    struct vel_settlement whole = {.dataset = w->d->about,
                                   .level = w->desc.index,
                                   .scheme = w->desc.scheme,
                                   .m = w->desc.m,
                                   .is_encoded = owed & VEL_OWE_ENCODE,
                                   .is_flushed = owed & VEL_OWE_FLUSH};
    struct vel_buf bytes;
    int rc = seat_all(w, told, lens, &whole, err);

    vel_buf_init(&bytes);
    if (rc == 0)
        rc = vel_settlement_encode(&whole, &bytes, err);
    if (rc == 0)
        rc = b->ops->settle(b, w->d->about.id, bytes.data, bytes.len, err);
    vel_buf_fini(&bytes);
    free(whole.nodes);
    free(whole.seats);
    return rc;
}

/* What has moved away is owed nothing where it was. */
static int promise(struct vel_prerun_work *w, unsigned owed, struct vel_err *err)
{
    unsigned before;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < w->before.n; i++)
        if (!owed || !vel_prerun_has(&w->ranks, vel_prerun_rank(&w->before, i)))
            rc = vel_prerun_tell(w, vel_prerun_rank(&w->before, i), VEL_OWE_NOTHING,
                                 NULL, &before, err);
    for (size_t i = 0; rc == 0 && owed && i < w->ranks.n; i++)
        if (vel_prerun_rank(&w->ranks, i) < w->d->about.ranks)
            rc = vel_prerun_tell(w, vel_prerun_rank(&w->ranks, i), owed,
                                 *(char **)vel_vec_at(&w->dirs, i), &before, err);
    return rc;
}

/* The checkpoint that the program restarts from may be due only now. */
static bool is_due(const struct vel_prerun_work *w)
{
    const struct vel_conf *conf = w->p->of->conf;
    bool is_on_restart =
        (conf->flush_on_restart || conf->global_restart) && w->is_newest;

    return (w->owed[1] || is_on_restart) && !w->owed[2];
}

int vel_prerun_owe_again(struct vel_prerun_work *w, struct vel_err *err)
{
    struct vel_comm *world = w->p->world;
    struct vel_buf told;
    size_t *lens = NULL;
    unsigned owed;
    int64_t lacks;
    int rc = look_at_parts(w, err);

    lacks = w->lacks_scheme;
    rc = vel_comm_agree_fold(world, rc, VEL_COMM_MAX, &lacks, 1, err);
    if (rc < 0)
        return rc;
    owed = (lacks ? VEL_OWE_ENCODE : 0) | (is_due(w) ? VEL_OWE_FLUSH : 0);
    if (!owed && !w->owed[0] && !w->owed[1])
        return 0;
    rc = vel_comm_agree(world, promise(w, owed, err), err);
    if (rc < 0 || !owed)
        return rc;
    vel_buf_init(&told);
    rc =
        vel_comm_gather(world, 0, w->seats.items,
                        w->seats.n * sizeof(struct vel_prerun_seat), &told, &lens, err);
    if (rc == 0 && world->rank == 0)
        rc = settle(w, &told, lens, owed, err);
    rc = vel_comm_agree(world, rc, err);
    free(lens);
    vel_buf_fini(&told);
    w->ret.is_encoded = rc == 0 && owed & VEL_OWE_ENCODE;
    w->ret.is_flushed = rc == 0 && owed & VEL_OWE_FLUSH;
    return rc;
}
