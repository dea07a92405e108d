/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies that nobody uses go. Who speaks for a store asks who uses each part there. One
 * who uses it elsewhere puts a mark there: what has the mark as well is the same
 * directory, which several nodes see, under whatever name. */
#include "config.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/path.h"
#include "meta/paths.h"
#include "recover/bring_in.h"
#include "sys/entropy.h"

enum { MARK = 40 };

/* What who speaks for a store tells of a part there, with the path of its directory. */
struct copy {
    int64_t spoken; /* which of his */
    int64_t rank;
    char node[256]; /* his */
};

/* And what is answered when another one is used. */
struct idle {
    int64_t spoken;
    char mark[MARK];
};

static char *dir_of(const struct vel_part *part)
{
    return vel_cache_rank_dir(part->level, part->id, part->rank);
}

static const struct vel_spoken *spoken_of(const struct vel_bringing *b, size_t i)
{
    const struct vel_spoken *s =
        i < b->r->spoken.n ? vel_vec_at(&b->r->spoken, i) : NULL;

    return s && s->part.id == b->d->about.id && !s->is_theirs ? s : NULL;
}

static int tell_copy(struct vel_bringing *b, size_t i, const struct vel_spoken *s,
                     struct vel_vec *ret)
{
    struct copy copy = {.spoken = (int64_t)i, .rank = s->part.rank};
    char *dir = dir_of(&s->part);
    struct vel_parcel parcel = {.peer = b->keeper[s->part.rank]};

    snprintf(copy.node, sizeof copy.node, "%s", b->r->of.node);
    if (dir) {
        parcel.len = sizeof copy + strlen(dir) + 1;
        parcel.bytes = malloc(parcel.len);
    }
    if (parcel.bytes) {
        memcpy(parcel.bytes, &copy, sizeof copy);
        memcpy((char *)parcel.bytes + sizeof copy, dir, strlen(dir) + 1);
    }
    free(dir);
    if (parcel.bytes && vel_vec_push(ret, &parcel))
        return 0;
    free(parcel.bytes);
    return vel_bring_no_memory(b->err);
}

static int tell_copies(struct vel_bringing *b, struct vel_vec *ret)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < b->r->spoken.n; i++) {
        const struct vel_spoken *s = spoken_of(b, i);

        if (s && s->part.rank < b->d->about.ranks && b->keeper[s->part.rank] >= 0)
            rc = tell_copy(b, i, s, ret);
    }
    return rc;
}

static const struct vel_brought_part *part_of(const struct vel_bringing *b,
                                              int64_t rank)
{
    const struct vel_brought_part *p = b->out->parts.items;

    for (size_t i = 0; i < b->out->parts.n; i++)
        if (p[i].rank == rank)
            return &p[i];
    return NULL;
}

/* A mark is there once, whoever asks. */
static bool put_mark(struct vel_bringing *b, const char *dir, const char *mark)
{
    char *path = vel_path_join(dir, mark);
    int fd = -1;
    int rc = path ? vel_fs_open(b->r->of.fs, path, O_WRONLY | O_CREAT | O_NOFOLLOW,
                                0600, &fd, NULL)
                  : VEL_ENOMEM;

    if (rc == 0)
        vel_fs_close(b->r->of.fs, fd, path, NULL);
    free(path);
    return rc == 0;
}

static void take_mark(struct vel_bringing *b, const char *dir, const char *mark)
{
    char *path = vel_path_join(dir, mark);

    if (path)
        vel_fs_unlink(b->r->of.fs, path, NULL);
    free(path);
}

/* Does this rank use another directory than that? */
static bool is_elsewhere(struct vel_bringing *b, const struct vel_parcel *asked,
                         const char *mark, struct idle *ret)
{
    const struct copy *copy = asked->bytes;
    const char *dir = (const char *)asked->bytes + sizeof *copy;
    const struct vel_brought_part *part;

    if (asked->len <= sizeof *copy || dir[asked->len - sizeof *copy - 1] != '\0')
        return false;
    part = part_of(b, copy->rank);
    if (!part || (strncmp(copy->node, b->r->of.node, sizeof copy->node) == 0 &&
                  strcmp(part->dir, dir) == 0))
        return false;
    *ret = (struct idle){.spoken = copy->spoken};
    snprintf(ret->mark, sizeof ret->mark, "%s", mark);
    return put_mark(b, part->dir, mark);
}

static int answer(struct vel_bringing *b, const struct vel_vec *asked, const char *mark,
                  struct vel_vec *ret)
{
    for (size_t i = 0; i < asked->n; i++) {
        const struct vel_parcel *p = vel_vec_at(asked, i);
        struct vel_parcel parcel = {.peer = p->peer, .len = sizeof(struct idle)};
        struct idle idle;

        if (!is_elsewhere(b, p, mark, &idle))
            continue;
        parcel.bytes = malloc(sizeof idle);
        if (!parcel.bytes || !vel_vec_push(ret, &parcel)) {
            free(parcel.bytes);
            return vel_bring_no_memory(b->err);
        }
        memcpy(parcel.bytes, &idle, sizeof idle);
    }
    return 0;
}

static void remove_copy(struct vel_bringing *b, const struct idle *idle)
{
    const struct vel_spoken *s = spoken_of(b, (size_t)idle->spoken);
    char *dir = s ? dir_of(&s->part) : NULL;
    char *path = dir ? vel_path_join(dir, idle->mark) : NULL;
    struct vel_err why = {0};

    if (path && !vel_fs_exists(b->r->of.fs, path) &&
        vel_cache_remove_part(b->r->of.fs, s->part.level, s->part.id, s->part.rank,
                              &why) < 0)
        vel_log(VEL_LOG_WARN, "cannot remove a part of dataset %" PRId64 ": %s",
                s->part.id, why.text);
    free(path);
    free(dir);
}

static void free_parcels(struct vel_vec *parcels)
{
    for (size_t i = 0; i < parcels->n; i++)
        free(((struct vel_parcel *)vel_vec_at(parcels, i))->bytes);
    vel_vec_fini(parcels);
}

static int make_mark(char ret[MARK], struct vel_err *err)
{
    uint64_t random;
    int rc = vel_entropy(&random, sizeof random, err);

    snprintf(ret, MARK, ".used.%016" PRIx64 ".h5v-tmp", rc == 0 ? random : 0);
    return rc;
}

int vel_bring_remove_copies(struct vel_bringing *b)
{
    const struct vel_brought_part *p = b->out->parts.items;
    struct vel_vec copies, asked = {0}, idle, answers = {0};
    char mark[MARK];
    int rc = make_mark(mark, b->err);

    vel_vec_init(&copies, sizeof(struct vel_parcel));
    vel_vec_init(&idle, sizeof(struct vel_parcel));
    if (rc == 0)
        rc = tell_copies(b, &copies);
    rc = vel_comm_agree(b->world, rc, b->err);
    if (rc == 0)
        rc = vel_comm_exchange(b->world, &copies, &asked, b->err);
    if (rc == 0)
        rc = vel_comm_agree(b->world, answer(b, &asked, mark, &idle), b->err);
    if (rc == 0)
        rc = vel_comm_exchange(b->world, &idle, &answers, b->err);
    for (size_t i = 0; rc == 0 && i < answers.n; i++) {
        const struct vel_parcel *a = vel_vec_at(&answers, i);

        if (a->len == sizeof(struct idle))
            remove_copy(b, a->bytes);
    }
    if (rc == 0) /* the marks are looked for until then */
        rc = vel_comm_barrier(b->world, b->err);
    for (size_t i = 0; idle.n > 0 && i < b->out->parts.n; i++)
        take_mark(b, p[i].dir, mark);
    free_parcels(&copies);
    free_parcels(&idle);
    vel_parcels_fini(&asked);
    vel_parcels_fini(&answers);
    return rc;
}
