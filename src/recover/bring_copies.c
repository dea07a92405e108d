/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies that nobody uses go. Each part of the result is used by somebody, who puts a
 * mark there, the same on all nodes; who speaks for a store removes the parts that have
 * none. What several nodes see is one directory, and has the mark under each name. */
#include "config.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/path.h"
#include "meta/paths.h"
#include "recover/bring_in.h"
#include "sys/entropy.h"

static char *path_in(const char *dir, uint64_t mark)
{
    char name[40];

    snprintf(name, sizeof name, ".used.%016" PRIx64 ".h5v-tmp", mark);
    return vel_path_join(dir, name);
}

/* False: some cannot be put. */
static bool put_marks(const struct vel_bringing *b, uint64_t mark)
{
    const struct vel_brought_part *p = b->kept.parts.items;
    struct vel_fs *fs = b->r->of.fs;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < b->kept.parts.n; i++) {
        char *path = path_in(p[i].dir, mark);
        int fd = -1;

        rc = path ? vel_fs_open(fs, path, O_WRONLY | O_CREAT | O_NOFOLLOW, 0600, &fd,
                                NULL)
                  : VEL_ENOMEM;
        if (rc == 0)
            vel_fs_close(fs, fd, path, NULL);
        free(path);
    }
    return rc == 0;
}

static void take_marks(const struct vel_bringing *b, uint64_t mark)
{
    const struct vel_brought_part *p = b->kept.parts.items;

    for (size_t i = 0; i < b->kept.parts.n; i++) {
        char *path = path_in(p[i].dir, mark);

        if (path)
            vel_fs_unlink(b->r->of.fs, path, NULL);
        free(path);
    }
}

/* A part of it that this rank speaks for, and that somebody uses, here or elsewhere. */
static const struct vel_part *spoken_at(const struct vel_bringing *b, size_t i)
{
    const struct vel_spoken *s = vel_vec_at(&b->r->spoken, i);

    return s->part.id == b->d->about.id && !s->is_theirs &&
                   s->part.rank < b->d->about.ranks
               ? &s->part
               : NULL;
}

static void remove_unmarked(const struct vel_bringing *b, const struct vel_part *part,
                            uint64_t mark)
{
    struct vel_fs *fs = b->r->of.fs;
    char *dir = vel_cache_rank_dir(part->level, part->id, part->rank);
    char *path = dir ? path_in(dir, mark) : NULL;
    struct vel_err why = {0};
    struct stat st;

    if (path && vel_fs_lstat(fs, dir, &st, NULL) == 0 &&
        vel_fs_lstat(fs, path, &st, NULL) == VEL_ENOENT &&
        vel_cache_remove_part(fs, part->level, part->id, part->rank, &why) < 0)
        vel_log(VEL_LOG_WARN, "cannot remove a part of dataset %" PRId64 ": %s",
                part->id, why.text);
    free(path);
    free(dir);
}

/* Are there more parts than are used, or has one come from where it still is? Then
 * *ret_mark is the mark, on all ranks; else 0. */
static int suspect(const struct vel_bringing *b, uint64_t *ret_mark)
{
    const struct vel_brought_part *p = b->kept.parts.items;
    int64_t sums[3] = {0};
    int rc = b->world->rank == 0 ? vel_entropy(&sums[2], sizeof sums[2], b->err) : 0;

    for (size_t i = 0; i < b->r->spoken.n; i++)
        sums[0] += spoken_at(b, i) != NULL;
    for (size_t i = 0; i < b->kept.parts.n; i++)
        sums[1] += p[i].has_come;
    sums[2] = sums[2] & INT64_MAX;
    rc = vel_comm_agree_fold(b->world, rc, VEL_COMM_SUM, sums, 3, b->err);
    *ret_mark = rc == 0 && (sums[0] > b->d->about.ranks || sums[1] > 0)
                    ? (uint64_t)sums[2] | 1
                    : 0;
    return rc;
}

int vel_bring_remove_copies(struct vel_bringing *b)
{
    uint64_t mark;
    int64_t are_put;
    int rc = suspect(b, &mark);

    if (rc < 0 || !mark)
        return rc;
    are_put = put_marks(b, mark);
    rc = vel_comm_allreduce(b->world, VEL_COMM_MIN, &are_put, 1, b->err);
    if (rc == 0 && !are_put)
        vel_log_shared(VEL_LOG_DEBUG,
                       "copies of dataset %" PRId64 " stay: a mark cannot be put in "
                       "every part that is used",
                       b->d->about.id);
    for (size_t i = 0; rc == 0 && are_put && i < b->r->spoken.n; i++) {
        const struct vel_part *part = spoken_at(b, i);

        if (part)
            remove_unmarked(b, part, mark);
    }
    if (rc == 0) /* the marks are looked for until then */
        rc = vel_comm_barrier(b->world, b->err);
    if (rc ==
        0) /* when it broke somebody may still look for them: a sweep takes them */
        take_marks(b, mark);
    return rc;
}
