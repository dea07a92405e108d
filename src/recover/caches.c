/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/le.h"
#include "base/log.h"
#include "base/path.h"
#include "meta/cache.h"
#include "meta/paths.h"
#include "recover/caches.h"
#include "red/redfile.h"

enum {
    OFFER_WHOLE = 1,
    OFFER_ENCODED = 2,
    OFFER_HEAD = 8 + 4 + 4 + 8 + 4 + 4 + VEL_OFFER_ENCODINGS * VEL_ENCODING_ID
};

char *vel_caches_level(const struct vel_caches *caches, size_t store, int64_t index)
{
    const struct vel_reddesc_owner *owner = caches->of.owner;
    char *home = vel_cache_home(caches->of.fs, caches->of.stores->items[store].base,
                                owner->user, owner->prefix_id);
    struct vel_buf text;

    vel_buf_init(&text);
    if (home)
        vel_buf_printf(&text, "%s/index.%" PRId64, home, index);
    free(home);
    return vel_buf_take(&text, NULL);
}

char *vel_caches_part_dir(const struct vel_caches *caches, size_t store, int64_t index,
                          int64_t id, int rank)
{
    char *level = vel_caches_level(caches, store, index);
    char *dir = level ? vel_cache_rank_dir(level, id, rank) : NULL;

    free(level);
    return dir;
}

bool vel_caches_is_here(const struct vel_caches *caches, const struct vel_offer *offer)
{
    return caches->leaders[offer->store] == offer->holder;
}

/* --- what lies in the stores that this process speaks for --- */

static int add_parts(struct vel_caches *c, size_t store, const struct vel_vec *parts,
                     struct vel_err *err)
{
    const struct vel_part *p = parts->items;

    for (size_t i = 0; i < parts->n; i++) {
        struct vel_spoken spoken = {.id = p[i].id,
                                    .rank = p[i].rank,
                                    .store = store,
                                    .is_aside = p[i].is_aside};

        if (vel_number_behind(vel_path_base(p[i].level), "index.", &spoken.index) &&
            !vel_vec_push(&c->spoken, &spoken))
            return vel_out_of_memory(err, "what the cache holds");
    }
    return 0;
}

/* Two stores of one directory are one: the first of that name speaks. */
static bool is_first_of_base(const struct vel_stores *stores, size_t store)
{
    for (size_t i = 0; i < store; i++)
        if (strcmp(stores->items[i].base, stores->items[store].base) == 0)
            return false;
    return true;
}

static int scan(struct vel_caches *c, struct vel_err *err)
{
    const struct vel_stores *stores = c->of.stores;
    int rc = 0;

    for (size_t s = 0; rc == 0 && s < stores->n; s++) {
        struct vel_vec parts;
        char *home;

        if (stores->items[s].comm->rank != 0 || !is_first_of_base(stores, s))
            continue;
        vel_vec_init(&parts, sizeof(struct vel_part));
        home = vel_cache_home(c->of.fs, stores->items[s].base, c->of.owner->user,
                              c->of.owner->prefix_id);
        if (home)
            vel_cache_sweep(c->of.fs, home, &c->of.others);
        rc = home ? vel_cache_scan(c->of.fs, home, &parts, err)
                  : vel_out_of_memory(err, "what the cache holds");
        if (rc == 0)
            rc = add_parts(c, s, &parts, err);
        vel_parts_fini(&parts);
        free(home);
    }
    return rc;
}

/* --- offers --- */

/* Did an encoding ever end here? A redundancy file that cannot be read says so too, and
 * so does a directory that does not tell what is in it. */
static bool is_encoded(struct vel_fs *fs, const char *dir)
{
    struct vel_vec names = {0};
    bool is_there = false;
    int rc = vel_fs_list(fs, dir, &names, NULL);

    if (rc < 0)
        return rc != VEL_ENOENT;
    for (size_t i = 0; i < names.n; i++)
        is_there |= vel_red_is_file_name(((char **)names.items)[i]);
    vel_fs_names_fini(&names);
    return is_there;
}

/* What the newest redundancy file says, and which others there are. */
static bool look_into(struct vel_caches *c, const struct vel_spoken *spoken,
                      const char *dir, struct vel_offer *offer)
{
    struct vel_vec red = {0};
    bool is_there = vel_redfile_scan(c->of.fs, dir, VEL_CACHE_LABEL,
                                     (uint32_t)spoken->rank, &red, NULL) == 0 &&
                    red.n;

    if (is_there) {
        const struct vel_red_header *header = &vel_redfile_at(&red, 0)->header;
        const struct vel_buf *brief = &header->list[0].descriptor;

        for (size_t i = 0; i < red.n && i < VEL_OFFER_ENCODINGS; i++)
            memcpy(offer->encoding[offer->encodings++],
                   vel_redfile_at(&red, i)->header.id, VEL_ENCODING_ID);
        offer->is_whole = vel_redfile_check_files(c->of.fs, dir, header, NULL) == 0;
        offer->has_map =
            vel_filemap_decode(brief->data, brief->len, &offer->map, NULL) == 0;
    }
    vel_redfiles_fini(&red);
    return is_there;
}

static void look_at(struct vel_caches *c, const struct vel_spoken *spoken,
                    struct vel_offer *offer)
{
    struct vel_fs *fs = c->of.fs;
    char *level = vel_caches_level(c, spoken->store, spoken->index);
    char *dir = level ? vel_cache_rank_dir(level, spoken->id, spoken->rank) : NULL;
    char *path = level ? vel_cache_map_path(level, spoken->id, spoken->rank) : NULL;

    offer->is_encoded = dir && is_encoded(fs, dir);
    if (dir && path && !look_into(c, spoken, dir, offer))
        offer->has_map = vel_filemap_load(fs, path, &offer->map, NULL) == 0;
    if (offer->has_map &&
        (offer->map.rank != spoken->rank || offer->map.dataset.id != spoken->id)) {
        vel_filemap_fini(&offer->map);
        offer->has_map = false;
    }
    offer->is_whole &= offer->has_map;
    free(path);
    free(dir);
    free(level);
}

static int make_offer(struct vel_caches *c, const struct vel_spoken *spoken,
                      struct vel_vec *out, struct vel_err *err)
{
    struct vel_offer offer = {.id = spoken->id};
    struct vel_buf bytes;
    struct vel_le_writer w;
    uint8_t head[OFFER_HEAD];
    struct vel_parcel parcel = {.peer = spoken->rank % c->of.world->size};

    vel_buf_init(&bytes);
    look_at(c, spoken, &offer);
    vel_le_write_init(&w, head, sizeof head);
    vel_le_put64(&w, (uint64_t)spoken->id);
    vel_le_put32(&w, (uint32_t)spoken->rank);
    vel_le_put32(&w, (uint32_t)spoken->store);
    vel_le_put64(&w, (uint64_t)spoken->index);
    vel_le_put32(&w, (offer.is_whole ? OFFER_WHOLE : 0) |
                         (offer.is_encoded ? OFFER_ENCODED : 0));
    vel_le_put32(&w, (uint32_t)offer.encodings);
    vel_le_put_bytes(&w, offer.encoding, sizeof offer.encoding);
    vel_buf_append(&bytes, head, sizeof head);
    if (offer.has_map)
        vel_filemap_encode(&offer.map, &bytes, NULL);
    vel_filemap_fini(&offer.map);
    parcel.bytes = vel_buf_take(&bytes, &parcel.len);
    if (parcel.bytes && vel_vec_push(out, &parcel))
        return 0;
    free(parcel.bytes);
    return vel_out_of_memory(err, "what the cache holds");
}

static int take_offer(struct vel_caches *c, const struct vel_parcel *parcel,
                      struct vel_err *err)
{
    struct vel_le_reader r;
    struct vel_offer offer = {.holder = parcel->peer};
    uint32_t flags;
    const void *encoding;

    vel_le_read_init(&r, parcel->bytes, parcel->len);
    offer.id = (int64_t)vel_le_get64(&r);
    offer.rank = (int)vel_le_get32(&r);
    offer.store = vel_le_get32(&r);
    offer.index = (int64_t)vel_le_get64(&r);
    flags = vel_le_get32(&r);
    offer.is_whole = flags & OFFER_WHOLE;
    offer.is_encoded = flags & OFFER_ENCODED;
    offer.encodings = vel_le_get32(&r);
    encoding = vel_le_get_bytes(&r, sizeof offer.encoding);
    if (encoding)
        memcpy(offer.encoding, encoding, sizeof offer.encoding);
    if (r.is_short || offer.store >= c->of.stores->n ||
        offer.encodings > VEL_OFFER_ENCODINGS)
        return vel_fail(err, VEL_ECORRUPT, "rank %d offers what it cannot have",
                        parcel->peer);
    offer.has_map = r.left && vel_filemap_decode(r.at, r.left, &offer.map, NULL) == 0;
    if (vel_vec_push(&c->offers, &offer))
        return 0;
    vel_filemap_fini(&offer.map);
    return vel_out_of_memory(err, "what the cache holds");
}

bool vel_offer_has(const struct vel_offer *offer, const uint8_t id[VEL_ENCODING_ID])
{
    bool has = false;

    for (size_t i = 0; i < offer->encodings; i++)
        has |= memcmp(offer->encoding[i], id, VEL_ENCODING_ID) == 0;
    return has;
}

static void parcels_free(struct vel_vec *out)
{
    struct vel_parcel *p = out->items;

    for (size_t i = 0; i < out->n; i++)
        free(p[i].bytes);
    vel_vec_fini(out);
}

static int scatter(struct vel_caches *c, int rc, struct vel_err *err)
{
    struct vel_vec out, in = {0};
    const struct vel_spoken *spoken = c->spoken.items;

    vel_vec_init(&out, sizeof(struct vel_parcel));
    for (size_t i = 0; rc == 0 && i < c->spoken.n; i++)
        rc = make_offer(c, &spoken[i], &out, err);
    rc = vel_comm_agree(c->of.world, rc, err);
    if (rc == 0)
        rc = vel_comm_exchange(c->of.world, &out, &in, err);
    if (rc == 0) {
        for (size_t i = 0; rc == 0 && i < in.n; i++)
            rc = take_offer(c, vel_vec_at(&in, i), err);
        rc = vel_comm_agree(c->of.world, rc, err);
        vel_parcels_fini(&in);
    }
    parcels_free(&out);
    return rc;
}

static int find_leaders(struct vel_caches *c, struct vel_err *err)
{
    const struct vel_stores *stores = c->of.stores;
    int rc = 0;

    for (size_t s = 0; rc == 0 && s < stores->n; s++) {
        int64_t lowest = c->of.world->rank;

        rc = vel_comm_allreduce(stores->items[s].comm, VEL_COMM_MIN, &lowest, 1, err);
        c->leaders[s] = (int)lowest;
    }
    return rc;
}

int vel_caches_open(const struct vel_caches_of *of, struct vel_caches *ret,
                    struct vel_err *err)
{
    struct vel_caches c = {.of = *of};
    int rc;

    vel_vec_init(&c.spoken, sizeof(struct vel_spoken));
    vel_vec_init(&c.offers, sizeof(struct vel_offer));
    c.leaders = calloc(of->stores->n + 1, sizeof *c.leaders);
    rc = vel_comm_agree(
        of->world, c.leaders ? 0 : vel_out_of_memory(err, "what the cache holds"), err);
    if (rc == 0)
        rc = find_leaders(&c, err);
    rc = vel_comm_agree(of->world, rc, err);
    if (rc == 0)
        rc = scatter(&c, scan(&c, err), err);
    if (rc < 0)
        vel_caches_close(&c);
    else
        *ret = c;
    return rc;
}

void vel_caches_close(struct vel_caches *caches)
{
    struct vel_offer *o = caches->offers.items;

    for (size_t i = 0; i < caches->offers.n; i++)
        vel_filemap_fini(&o[i].map);
    vel_vec_fini(&caches->offers);
    vel_vec_fini(&caches->spoken);
    free(caches->leaders);
    caches->leaders = NULL;
}

int vel_caches_next(struct vel_caches *caches, int64_t below, int64_t *ret_id,
                    struct vel_err *err)
{
    const struct vel_offer *o = caches->offers.items;
    int64_t id = 0;
    int rc;

    for (size_t i = 0; i < caches->offers.n; i++)
        if (o[i].id < below && o[i].id > id)
            id = o[i].id;
    rc = vel_comm_allreduce(caches->of.world, VEL_COMM_MAX, &id, 1, err);
    if (rc == 0)
        *ret_id = id;
    return rc;
}

bool vel_caches_has_of(const struct vel_caches *caches, int64_t id, bool is_leaders)
{
    const struct vel_offer *o = caches->offers.items;

    for (size_t i = 0; i < caches->offers.n; i++)
        if (o[i].id == id && o[i].has_map && o[i].map.dataset.is_leaders == is_leaders)
            return true;
    return false;
}

int vel_caches_keep(struct vel_caches *caches, int64_t id, const struct vel_vec *kept,
                    struct vel_vec *ret_wanted, struct vel_err *err)
{
    const struct vel_keep *k = kept->items;
    struct vel_spoken *spoken = caches->spoken.items;
    struct vel_vec out, in = {0};
    int rc = 0;

    vel_vec_init(&out, sizeof(struct vel_parcel));
    for (size_t i = 0; rc == 0 && i < kept->n; i++) {
        struct vel_parcel parcel = {
            .peer = k[i].holder, .bytes = (void *)&k[i], .len = sizeof k[i]};
        if (!vel_vec_push(&out, &parcel))
            rc = vel_out_of_memory(err, "what the cache holds");
    }
    rc = vel_comm_agree(caches->of.world, rc, err);
    if (rc == 0)
        rc = vel_comm_exchange(caches->of.world, &out, &in, err);
    vel_vec_fini(&out);
    if (rc < 0)
        return rc;
    for (size_t i = 0; rc == 0 && i < in.n; i++) {
        const struct vel_parcel *parcel = vel_vec_at(&in, i);
        struct vel_keep keep;

        if (parcel->len != sizeof keep)
            continue;
        memcpy(&keep, parcel->bytes, sizeof keep);
        if (!vel_vec_push(ret_wanted, &keep))
            rc = vel_out_of_memory(err, "what the cache holds");
        for (size_t p = 0; p < caches->spoken.n; p++)
            spoken[p].is_kept |= spoken[p].id == id && spoken[p].rank == keep.rank &&
                                 spoken[p].store == keep.store &&
                                 spoken[p].index == keep.index;
    }
    vel_parcels_fini(&in);
    return vel_comm_agree(caches->of.world, rc, err);
}

void vel_caches_remove(struct vel_caches *caches, int64_t id)
{
    const struct vel_spoken *s = caches->spoken.items;

    for (size_t i = 0; i < caches->spoken.n; i++) {
        struct vel_err why = {0};
        char *level;

        if (s[i].id != id || s[i].is_kept)
            continue;
        level = vel_caches_level(caches, s[i].store, s[i].index);
        if (level &&
            vel_cache_remove_part(caches->of.fs, level, id, s[i].rank, &why) < 0)
            vel_log(VEL_LOG_WARN, "cannot remove a part of dataset %" PRId64 ": %s", id,
                    why.text);
        free(level);
    }
}

void vel_caches_set_aside(struct vel_caches *caches, int64_t id, bool aside)
{
    const struct vel_spoken *s = caches->spoken.items;

    for (size_t i = 0; i < caches->spoken.n; i++) {
        struct vel_err why = {0};
        char *level;

        if (s[i].id != id || s[i].is_aside == aside)
            continue;
        level = vel_caches_level(caches, s[i].store, s[i].index);
        if (level && vel_cache_set_aside(caches->of.fs, level, id, aside, &why) < 0)
            vel_log(VEL_LOG_WARN, "cannot mark dataset %" PRId64 ": %s", id, why.text);
        free(level);
    }
}
