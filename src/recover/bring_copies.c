/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies that nobody uses go. Who speaks for a store asks who uses each part there, and
 * removes what that one has elsewhere. A directory that several nodes see, under
 * whatever name, is one by its inode. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "meta/paths.h"
#include "recover/bring_in.h"
#include "view/view_in.h"

/* What who speaks for a store tells of a part there: is it the one that you use? */
struct copy {
    int64_t spoken; /* which of his */
    int64_t rank;
    uint64_t inode; /* of its directory, whatever the path to it */
};

static int user_of(const struct vel_bringing *b, int rank)
{
    size_t set, place;

    if (b->d->about.ranks == b->world->size)
        return rank < b->world->size ? rank : -1;
    return rank < b->d->about.ranks && vel_view_find_place(b->d, rank, &set, &place)
               ? vel_bring_keeper(
                     b, vel_view_place_at(vel_vec_at(&b->d->sets, set), place))
               : -1;
}

static int tell_copies(struct vel_bringing *b, struct vel_vec *ret)
{
    struct vel_recovery *r = b->r;

    for (size_t i = 0; i < r->spoken.n; i++) {
        const struct vel_spoken *s = vel_vec_at(&r->spoken, i);
        struct vel_parcel parcel = {.peer = user_of(b, s->part.rank),
                                    .len = sizeof(struct copy)};
        struct copy copy = {.spoken = (int64_t)i, .rank = s->part.rank};
        struct stat st;
        char *dir;

        if (s->part.id != b->d->about.id || s->is_theirs || parcel.peer < 0)
            continue;
        dir = vel_cache_rank_dir(s->part.level, s->part.id, s->part.rank);
        if (dir && vel_fs_lstat(r->of.fs, dir, &st, NULL) == 0) {
            copy.inode = st.st_ino;
            parcel.bytes = malloc(sizeof copy);
            if (!parcel.bytes || !vel_vec_push(ret, &parcel)) {
                free(parcel.bytes);
                free(dir);
                return vel_bring_no_memory(b->err);
            }
            memcpy(parcel.bytes, &copy, sizeof copy);
        }
        free(dir);
    }
    return 0;
}

/* Another one is used. */
static bool is_idle(const struct vel_bringing *b, const struct copy *copy)
{
    const struct vel_brought_part *p = b->out->parts.items;
    bool is = false;

    for (size_t i = 0; i < b->out->parts.n; i++) {
        struct stat st;

        if (p[i].rank != copy->rank)
            continue;
        if (vel_fs_lstat(b->r->of.fs, p[i].dir, &st, NULL) < 0 ||
            st.st_ino == copy->inode)
            return false;
        is = true;
    }
    return is;
}

static void remove_copy(struct vel_bringing *b, size_t i)
{
    const struct vel_spoken *s =
        i < b->r->spoken.n ? vel_vec_at(&b->r->spoken, i) : NULL;
    struct vel_err why = {0};

    if (s && s->part.id == b->d->about.id && !s->is_theirs &&
        vel_cache_remove_part(b->r->of.fs, s->part.level, s->part.id, s->part.rank,
                              &why) < 0)
        vel_log(VEL_LOG_WARN, "cannot remove a part of dataset %" PRId64 ": %s",
                s->part.id, why.text);
}

int vel_bring_remove_copies(struct vel_bringing *b)
{
    struct vel_vec mine, asked = {0}, idle, answers = {0};
    int rc;

    vel_vec_init(&mine, sizeof(struct vel_parcel));
    vel_vec_init(&idle, sizeof(struct vel_parcel));
    rc = vel_comm_agree(b->world, tell_copies(b, &mine), b->err);
    if (rc == 0)
        rc = vel_comm_exchange(b->world, &mine, &asked, b->err);
    for (size_t i = 0; rc == 0 && i < asked.n; i++) {
        const struct vel_parcel *p = vel_vec_at(&asked, i); /* its bytes are lent */

        if (p->len == sizeof(struct copy) && is_idle(b, p->bytes) &&
            !vel_vec_push(&idle, p))
            rc = vel_bring_no_memory(b->err);
    }
    rc = vel_comm_agree(b->world, rc, b->err);
    if (rc == 0)
        rc = vel_comm_exchange(b->world, &idle, &answers, b->err);
    for (size_t i = 0; rc == 0 && i < answers.n; i++) {
        const struct vel_parcel *p = vel_vec_at(&answers, i);

        if (p->len == sizeof(struct copy))
            remove_copy(b, (size_t)((const struct copy *)p->bytes)->spoken);
    }
    for (size_t i = 0; i < mine.n; i++)
        free(((struct vel_parcel *)vel_vec_at(&mine, i))->bytes);
    vel_vec_fini(&mine);
    vel_vec_fini(&idle);
    vel_parcels_fini(&asked);
    vel_parcels_fini(&answers);
    return rc;
}
