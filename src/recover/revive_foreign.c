/* SPDX-License-Identifier: BSD-3-Clause */
/* A dataset for another number of ranks than wrote it. Nothing can be rebuilt and
 * nothing moves: all parts must be there, and each is used where it lies. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "recover/revive_in.h"

static bool is_in(const struct vel_vec *ids, const uint8_t id[VEL_ENCODING_ID])
{
    for (size_t i = 0; i < ids->n; i++)
        if (memcmp(vel_vec_at(ids, i), id, VEL_ENCODING_ID) == 0)
            return true;
    return false;
}

/* An encoding that was not tried yet, the same on all ranks, and what it encodes. */
static int next_encoding(struct vel_revival *r, struct vel_vec *tried)
{
    const struct vel_offer *o = r->c->offers.items, *fresh = NULL;
    uint8_t id[VEL_ENCODING_ID];
    struct vel_filemap map = {0};
    size_t which = 0;
    int rc;

    for (size_t i = 0; i < r->c->offers.n; i++)
        for (size_t k = 0; !fresh && k < o[i].encodings; k++)
            if (o[i].id == r->id && o[i].is_whole && !is_in(tried, o[i].encoding[k])) {
                fresh = &o[i];
                which = k;
            }
    rc = vel_revival_announce(r, fresh, which, id, &map);
    if (rc < 0)
        return rc;
    vel_filemap_fini(&r->map);
    r->map = map;
    rc = vel_vec_push(tried, id) ? 0 : vel_out_of_memory(r->err, "an encoding");
    return vel_comm_agree(r->world, rc, r->err);
}

/* Each of the parts that were offered to me, once and whole: where it is nearest. Parts
 * of another encoding are of another dataset, whatever its number. */
static int keep_each(struct vel_revival *r, const uint8_t encoding[VEL_ENCODING_ID],
                     struct vel_vec *keep)
{
    const struct vel_offer *o = r->c->offers.items;

    for (size_t i = 0; i < r->c->offers.n; i++) {
        struct vel_keep k = {.rank = o[i].rank,
                             .holder = o[i].holder,
                             .store = o[i].store,
                             .index = o[i].index};
        bool is_known = !vel_offer_has(&o[i], encoding);

        for (size_t j = 0; j < keep->n; j++)
            is_known |= ((struct vel_keep *)vel_vec_at(keep, j))->rank == k.rank;
        if (o[i].id != r->id || !o[i].is_whole || is_known)
            continue;
        if (!vel_vec_push(keep, &k))
            return vel_out_of_memory(r->err, "what the cache holds");
    }
    return 0;
}

/* All parts of one encoding: VEL_EINVAL when some are missing. */
static int keep_all(struct vel_revival *r, const uint8_t encoding[VEL_ENCODING_ID],
                    struct vel_vec *keep)
{
    int64_t parts;
    int rc = vel_comm_agree(r->world, keep_each(r, encoding, keep), r->err);

    parts = (int64_t)keep->n;
    if (rc == 0)
        rc = vel_comm_allreduce(r->world, VEL_COMM_SUM, &parts, 1, r->err);
    if (rc == 0 && parts < r->map.dataset.ranks)
        rc = vel_fail(
            r->err, VEL_EINVAL,
            "it was written by %d ranks, the files of %lld of them are there, and "
            "with %d ranks nothing can be rebuilt",
            r->map.dataset.ranks, (long long)parts, r->world->size);
    return rc;
}

/* The parts that others count on finding with me. */
static int list_spoken(struct vel_revival *r, const struct vel_vec *wanted)
{
    const struct vel_keep *k = wanted->items;
    const struct vel_spoken *s = r->c->spoken.items;

    for (size_t i = 0; i < wanted->n; i++)
        for (size_t j = 0; j < r->c->spoken.n; j++) {
            struct vel_revived_part part = {.rank = k[i].rank};

            if (s[j].id != r->id || s[j].rank != k[i].rank ||
                s[j].store != k[i].store || s[j].index != k[i].index)
                continue;
            part.dir =
                vel_caches_part_dir(r->c, s[j].store, s[j].index, r->id, s[j].rank);
            if (!part.dir || !vel_vec_push(&r->out->parts, &part)) {
                free(part.dir);
                return vel_out_of_memory(r->err, "what the cache holds");
            }
            break;
        }
    return 0;
}

int vel_revive_foreign(struct vel_revival *r)
{
    struct vel_vec tried, keep, wanted;
    int rc;

    vel_vec_init(&tried, VEL_ENCODING_ID);
    vel_vec_init(&keep, sizeof(struct vel_keep));
    vel_vec_init(&wanted, sizeof(struct vel_keep));
    do {
        keep.n = 0;
        rc = next_encoding(r, &tried);
        if (rc == VEL_ENOENT && tried.n > 0) {
            rc = VEL_EINVAL; /* as keep_all() has said of the last one */
            break;
        }
        if (rc == VEL_ENOENT)
            rc = vel_fail(r->err, VEL_EIO,
                          "it was written by %d ranks, and the files of none of them "
                          "are all there",
                          r->map.dataset.ranks);
        if (rc == 0)
            rc = keep_all(r, vel_vec_at(&tried, tried.n - 1), &keep);
    } while (rc == VEL_EINVAL);
    if (rc == 0)
        rc = vel_caches_keep(r->c, r->id, &keep, &wanted, r->err);
    if (rc == 0)
        rc = vel_comm_agree(r->world, list_spoken(r, &wanted), r->err);
    r->out->is_foreign = rc == 0;
    vel_vec_fini(&wanted);
    vel_vec_fini(&keep);
    vel_vec_fini(&tried);
    return rc;
}
