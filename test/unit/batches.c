/* SPDX-License-Identifier: BSD-3-Clause */
/* What a leader says of its files in a cache is what the next one, and who only reads,
 * find there: whatever was done in which order, and whatever failed. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tap/rng.h"
#include "tap/batchlab.h"
#include "tap/files.h"
#include "tap/seeds.h"
#include "tap/tap.h"

enum { OPS = 60, NAMES = 4, MOST = 40 };

/* --- anything, in any order --- */

struct play {
    struct vel_rng rng;
    struct vel_batches *batches;
    char *dirs[MOST];
    int n;
    int64_t order, id, generation;
};

static const char *name_in(struct play *p)
{
    static const char *const names[NAMES] = {"a.h5", "d/b.h5", "with blank.h5", "%.h5"};

    return names[vel_rng_below(&p->rng, NAMES)];
}

static void play_renumber(struct play *p, const char *dir)
{
    struct vel_batch_key key = batchlab_key("L", "", "", ++p->generation);
    struct vel_err err = {0};

    key.is_late = true;
    batchlab_must(vel_batches_renumber(p->batches, dir, &key, &err), &err);
}

static void play_part(struct play *p, const char *dir)
{
    const struct vel_batches_taken taken[] = {
        {dir, (int64_t)vel_rng_below(&p->rng, BATCHLAB_RANKS),
         (int64_t)vel_rng_below(&p->rng, (uint64_t)p->order + 1)},
        {dir, (int64_t)vel_rng_below(&p->rng, BATCHLAB_RANKS), p->order}};
    struct vel_err err = {0};

    batchlab_must(vel_batches_part(p->batches, ++p->id, taken, 2, true, &err), &err);
    if (vel_rng_below(&p->rng, 3) > 0) /* else killed between */
        batchlab_must(vel_batches_leave(p->batches, taken, 2, &err), &err);
}

static void play_again(struct play *p)
{
    struct vel_err err = {0};

    vel_batches_destroy(p->batches);
    p->batches = batchlab_begin("L");
    batchlab_must(vel_batches_adopt(p->batches, &err), &err);
}

static void play_one(struct play *p)
{
    const char *dir = p->n > 0 ? p->dirs[vel_rng_below(&p->rng, (uint64_t)p->n)] : NULL;
    int64_t rank = (int64_t)vel_rng_below(&p->rng, BATCHLAB_RANKS);
    const char *name = name_in(p);
    struct vel_err err = {0};
    uint64_t what = vel_rng_below(&p->rng, 20);
    char *path = NULL;

    if (!dir || (what == 0 && p->n < MOST))
        p->dirs[p->n++] = batchlab_make(p->batches, "L", what % 2 ? "1" : "");
    else if (what < 7 &&
             vel_batches_open(p->batches, dir, rank, name, &path, &err) == 0)
        tap_put_file(path, "bytes");
    else if (what < 13)
        vel_batches_close(p->batches, dir, rank, name, ++p->order, 5, NULL);
    else if (what < 15)
        vel_batches_give(p->batches, dir, rank, name, what == 13, NULL);
    else if (what == 15)
        vel_batches_give_up(p->batches, dir, rank, name, NULL);
    else if (what == 16 && vel_batches_has(p->batches, dir))
        play_renumber(p, dir);
    else if (what == 17)
        play_part(p, dir);
    else if (what == 18)
        vel_batches_remove(p->batches, dir, NULL);
    else if (what == 19)
        play_again(p);
    free(path);
}

static void play(uint64_t seed)
{
    struct play p = {.batches = batchlab_begin("L")};
    bool is_well = true;

    vel_rng_init(&p.rng, seed);
    for (int i = 0; is_well && i < OPS; i++) {
        play_one(&p);
        is_well = batchlab_is_told(p.batches, "after an operation");
    }
    if (!is_well)
        ok(false, "seed %llu: what was said is what is read", (unsigned long long)seed);
    for (int i = 0; i < p.n; i++)
        free(p.dirs[i]);
    vel_batches_destroy(p.batches);
}

static void plays(void)
{
    const struct tap_seeds seeds = tap_seeds(60);
    char name[40];

    for (uint64_t seed = seeds.first; seed <= seeds.last; seed++) {
        snprintf(name, sizeof name, "play%llu", (unsigned long long)seed);
        batchlab_fresh(name);
        play(seed);
        vel_fs_remove_tree(vel_fs_posix(), batchlab_home, NULL);
    }
    ok(true, "whatever is done, who reads and the next leader find what was said");
}

/* --- a cache that is full --- */

static bool is_full;

static ssize_t append_full(struct vel_fs *fs, int fd, const void *buf, size_t len)
{
    (void)fs;
    return is_full ? -ENOSPC
                   : vel_fs_posix()->ops->append(vel_fs_posix(), fd, buf, len);
}

static ssize_t pwrite_full(struct vel_fs *fs, int fd, const void *buf, size_t len,
                           off_t at)
{
    (void)fs;
    return is_full ? -ENOSPC
                   : vel_fs_posix()->ops->pwrite(vel_fs_posix(), fd, buf, len, at);
}

static void full(void)
{
    struct vel_fs_ops ops = *vel_fs_posix()->ops;
    struct vel_fs fs = {.ops = &ops};
    struct vel_batches *batches;
    struct vel_err err = {0};
    char *dir, *path = NULL;
    int rc;

    ops.append = append_full;
    ops.pwrite = pwrite_full;
    batchlab_fresh("full");
    batches = batchlab_begin_on(&fs, "n1", "L");
    dir = batchlab_make(batches, "L", "1");
    batchlab_write(batches, dir, 0, "a.h5", "bytes");
    is_full = true;
    rc = vel_batches_open(batches, dir, 0, "b.h5", &path, &err);
    is_int(rc, VEL_ENOSPC, "a cache that is full takes no file: %s", err.text);
    rc = vel_batches_close(batches, dir, 0, "a.h5", 1, 5, &err);
    ok(rc < 0, "nor is one closed: %s", err.text);
    is_full = false;
    batchlab_must(vel_batches_close(batches, dir, 0, "a.h5", 2, 5, &err), &err);
    ok(batchlab_has(batches, "L", "a.h5") && !batchlab_has(batches, "L", "b.h5") &&
           batchlab_is_told(batches, "room again"),
       "with room again it is, and what failed was not");
    free(dir);
    vel_batches_destroy(batches);
}

/* --- a ledger that grows --- */

/* One name is written so often that its leader goes on in another ledger, and again. */
static void grown(void)
{
    struct vel_batches *batches;
    struct vel_err err = {0};
    char *dir, path[700], name[20];
    int64_t order = 0;
    int turns = 0;

    batchlab_fresh("grown");
    batches = batchlab_begin("L");
    dir = batchlab_make(batches, "L", "1");
    for (; turns < 2 && order < 300000; order++) {
        char *at = NULL;

        batchlab_must(vel_batches_open(batches, dir, 0, "a.h5", &at, &err), &err);
        free(at);
        batchlab_close(batches, dir, 0, "a.h5", order + 1);
        snprintf(name, sizeof name, "ledger/1.%d", turns + 1);
        snprintf(path, sizeof path, "%s/%s", batchlab_home, name);
        turns += order % 1000 == 0 && access(path, F_OK) == 0;
    }
    ok(turns == 2, "a ledger that has grown long is followed by another one");
    ok(access(tap_path("grown/ledger/1.0"), F_OK) < 0, "the first one goes");
    ok(batchlab_has(batches, "L", "a.h5") && batchlab_is_told(batches, "grown"),
       "and what counts is told");
    free(dir);
    vel_batches_destroy(batches);
}

int main(void)
{
    plays();
    full();
    grown();
    return done_testing();
}
