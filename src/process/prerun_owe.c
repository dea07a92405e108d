/* SPDX-License-Identifier: BSD-3-Clause */
/* What a dataset is owed when its parts are in place: promised by each node, settled by
 * tool 0. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "brain/seal.h"
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

/* What the tools have told: of a part that two have, the first counts. */
static int seat_all(const struct vel_prerun_work *w, const struct vel_buf *told,
                    const size_t *lens, struct vel_seal *ret, struct vel_err *err)
{
    size_t at = 0;
    int rc = 0;

    for (int i = 0; rc == 0 && i < w->p->of->nodes; at += lens[i++])
        for (size_t k = 0; rc == 0 && k + sizeof(struct vel_prerun_seat) <= lens[i];
             k += sizeof(struct vel_prerun_seat)) {
            struct vel_prerun_seat seat;

            memcpy(&seat, told->data + at + k, sizeof seat);
            const struct vel_seal_member member = {.rank = seat.rank,
                                                   .node = w->p->names[i],
                                                   .set = seat.set,
                                                   .place = seat.place,
                                                   .level = w->desc.index,
                                                   .scheme = w->desc.scheme,
                                                   .failures = (int64_t)w->desc.m,
                                                   .bytes = w->d->about.bytes /
                                                            w->d->about.ranks};
            if (!vel_seal_find(ret, member.rank))
                rc = vel_seal_add(ret, &member, err);
        }
    for (int rank = 0; rc == 0 && rank < w->d->about.ranks; rank++)
        if (!vel_seal_find(ret, rank))
            rc = vel_fail(err, VEL_ELOST, "the part of rank %d is on no node", rank);
    return rc;
}

/* Tool 0. */
static int settle(struct vel_prerun_work *w, const struct vel_buf *told,
                  const size_t *lens, unsigned owed, struct vel_err *err)
{
    struct vel_background *b = w->p->background;
    struct vel_seal whole;
    struct vel_buf bytes;
    int rc;

    vel_seal_init(&whole);
    vel_buf_init(&bytes);
    rc = seat_all(w, told, lens, &whole, err);
    whole.id = w->d->about.id;
    whole.about = w->d->about; /* borrowed */
    whole.what = owed;
    if (rc == 0)
        rc = vel_seal_encode(&whole, &bytes, err);
    if (rc == 0)
        rc = b->ops->settle(b, whole.id, bytes.data, bytes.len, err);
    vel_buf_fini(&bytes);
    whole.about = (struct vel_dataset){0};
    vel_seal_fini(&whole);
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
