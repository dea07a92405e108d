/* SPDX-License-Identifier: BSD-3-Clause */
/* Campaign: files in three directories are replaced, renamed and removed at random,
 * with and without syncing, until the process crashes at a random operation and the
 * power is lost. What is there then must be what a file system may keep:
 *
 *   KEEP    the state before or after the step in which it crashed
 *   RANDOM  some state of the whole since the last change that a sync has covered
 *   DROP    for each directory some state since its last sync
 *
 * and every file must have all bytes of the version that it is. The state of all names
 * after every step is written down for that.
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tap/rng.h"
#include "tap/fs_fault.h"
#include "tap/files.h"
#include "tap/seeds.h"
#include "tap/tap.h"

enum { NDIRS = 3, PER_DIR = 3, NFILES = NDIRS * PER_DIR, NSTEPS = 25 };

/* the version of every file, 0 for none */
struct state {
    unsigned version[NFILES];
};

struct campaign {
    uint64_t seed;
    struct vel_rng rng;
    struct vel_fs_fault *fault;
    struct vel_fs *fs;
    struct state history[NSTEPS + 1];
    int last;           /* the newest state; it may be that of the step that crashed */
    int durable[NDIRS]; /* the state at the last sync of each directory */
    unsigned newest;    /* version given so far */
};

static const char *dir_path(int dir)
{
    char name[32];

    snprintf(name, sizeof name, "area/dir%d", dir);
    return tap_path(name);
}

static const char *file_path(int file)
{
    char name[48];

    snprintf(name, sizeof name, "area/dir%d/file%d", file / PER_DIR, file % PER_DIR);
    return tap_path(name);
}

/* The bytes of a version follow from its number. */
static size_t content(unsigned version, char **ret_bytes)
{
    struct vel_rng rng;

    vel_rng_init(&rng, version);
    size_t len = (size_t)vel_rng_below(&rng, 20000) + sizeof version;
    char *bytes = malloc(len);
    if (!bytes)
        bail_out("no memory");
    vel_rng_fill(&rng, bytes, len);
    memcpy(bytes, &version, sizeof version);
    *ret_bytes = bytes;
    return len;
}

/* The version that stands at a path, 0 for none, UINT32_MAX for what is no version. */
static unsigned version_at(const char *path)
{
    size_t len = 0;
    unsigned version = UINT32_MAX;
    char *bytes, *got = tap_get_file(path, &len);

    if (!got)
        return 0;
    if (len >= sizeof version) {
        memcpy(&version, got, sizeof version);
        size_t want = content(version, &bytes);
        if (version == 0 || want != len || memcmp(bytes, got, len) != 0)
            version = UINT32_MAX;
        free(bytes);
    }
    free(got);
    return version;
}

/* The steps: each writes the state that it leads to down first, then does it, and tells
 * which directories it has synced. All return what the last operation did. */

static int replace_one(struct campaign *c, struct state *next)
{
    int file = (int)vel_rng_below(&c->rng, NFILES);
    char *bytes;
    size_t len = content(++c->newest, &bytes);

    next->version[file] = c->newest;
    int rc = vel_fs_replace(c->fs, file_path(file), bytes, len, 0600, NULL);
    free(bytes);
    if (rc == 0)
        c->durable[file / PER_DIR] = c->last;
    return rc;
}

static int rename_one(struct campaign *c, struct state *next)
{
    int from = (int)vel_rng_below(&c->rng, NFILES);
    int to = (int)vel_rng_below(&c->rng, NFILES);

    if (!next->version[from] || from == to)
        return 0;
    next->version[to] = next->version[from];
    next->version[from] = 0;
    return vel_fs_rename(c->fs, file_path(from), file_path(to), NULL);
}

static int remove_one(struct campaign *c, struct state *next)
{
    int file = (int)vel_rng_below(&c->rng, NFILES);

    next->version[file] = 0;
    return vel_fs_unlink(c->fs, file_path(file), NULL);
}

static int sync_one(struct campaign *c, struct state *next)
{
    int dir = (int)vel_rng_below(&c->rng, NDIRS);

    (void)next;
    int rc = vel_fs_sync_dir(c->fs, dir_path(dir), NULL);
    if (rc == 0)
        c->durable[dir] = c->last;
    return rc;
}

static void work(struct campaign *c)
{
    static int (*const steps[])(struct campaign *, struct state *) = {
        replace_one, replace_one, rename_one, remove_one, sync_one};

    while (c->last < NSTEPS) {
        int step = (int)vel_rng_below(&c->rng, sizeof steps / sizeof steps[0]);

        c->history[c->last + 1] = c->history[c->last];
        c->last++;
        if (steps[step](c, &c->history[c->last]) < 0)
            return; /* dead */
    }
}

static bool is_same_dir(const struct state *a, const struct state *b, int dir)
{
    return memcmp(a->version + dir * PER_DIR, b->version + dir * PER_DIR,
                  PER_DIR * sizeof a->version[0]) == 0;
}

/* Is `now` one of the states from `first` on, in this directory? */
static bool dir_was(const struct campaign *c, const struct state *now, int first,
                    int dir)
{
    for (int i = first; i <= c->last; i++)
        if (is_same_dir(now, &c->history[i], dir))
            return true;
    return false;
}

static bool all_was(const struct campaign *c, const struct state *now, int first)
{
    for (int i = first; i <= c->last; i++)
        if (memcmp(now, &c->history[i], sizeof *now) == 0)
            return true;
    return false;
}

/* The state that came by the last change in a directory before its last sync: a sync
 * that finds nothing new makes nothing durable, in other directories least of all. */
static int last_change(const struct campaign *c, int dir)
{
    int i = c->durable[dir];

    while (i > 0 && is_same_dir(&c->history[i], &c->history[i - 1], dir))
        i--;
    return i;
}

static bool is_legal(const struct campaign *c, const struct state *now,
                     enum vel_fs_loss loss)
{
    int newest = 0;
    bool is_good = true;

    for (int dir = 0; dir < NDIRS; dir++) {
        int last = last_change(c, dir);
        newest = last > newest ? last : newest;
    }
    switch (loss) {
    case VEL_FS_LOSS_KEEP:
        return all_was(c, now, c->last > 0 ? c->last - 1 : 0);
    case VEL_FS_LOSS_RANDOM:
        return all_was(c, now, newest);
    case VEL_FS_LOSS_DROP:
        for (int dir = 0; dir < NDIRS; dir++)
            is_good &= dir_was(c, now, c->durable[dir], dir);
    }
    return is_good;
}

/* The next run replaces everything, and leaves no temporary. */
static bool goes_on(void)
{
    struct vel_vec names;
    bool is_good = true;

    for (int file = 0; file < NFILES; file++)
        is_good &=
            vel_fs_replace(vel_fs_posix(), file_path(file), "x", 1, 0600, NULL) == 0;
    for (int dir = 0; dir < NDIRS; dir++) {
        if (vel_fs_list(vel_fs_posix(), dir_path(dir), &names, NULL) < 0)
            return false;
        is_good &= names.n == PER_DIR;
        vel_fs_names_fini(&names);
    }
    return is_good;
}

static const char *run_seed(uint64_t seed)
{
    struct campaign c = {.seed = seed};
    struct vel_fs_fault_plan plan = {.mode = VEL_FS_FAULT_CRASH};
    struct state now;
    struct vel_err err = {0};
    int fds = tap_open_fds();

    vel_rng_init(&c.rng, seed);
    tap_fresh_dir(tap_path("area"));
    for (int dir = 0; dir < NDIRS; dir++)
        tap_fresh_dir(dir_path(dir));
    if (vel_fs_fault_create(vel_fs_posix(), tap_path("aside"), &c.fault, &err) < 0)
        bail_out("%s", err.text);
    c.fs = vel_fs_fault_fs(c.fault);
    plan.at = 1 + vel_rng_below(&c.rng, 8 * NSTEPS / 2);
    enum vel_fs_loss loss = (enum vel_fs_loss)vel_rng_below(&c.rng, 3);
    vel_fs_fault_arm(c.fault, &plan);
    work(&c);
    int rc = vel_fs_fault_power_loss(c.fault, loss, seed, &err);
    vel_fs_fault_destroy(c.fault);
    if (rc < 0)
        return "power could not be lost";
    for (int file = 0; file < NFILES; file++) {
        now.version[file] = version_at(file_path(file));
        if (now.version[file] == UINT32_MAX)
            return "a file is no version of itself";
    }
    if (!is_legal(&c, &now, loss))
        return "the files are as they never were together";
    if (!goes_on())
        return "the next run fails or leaves a temporary";
    return tap_open_fds() == fds ? NULL : "a descriptor is left open";
}

int main(void)
{
    struct tap_seeds seeds = tap_seeds(300);
    unsigned failed = 0;

    for (uint64_t seed = seeds.first; seed <= seeds.last; seed++) {
        const char *what = run_seed(seed);
        if (what && failed++ < 10)
            note("SEEDS=%" PRIu64 ": %s", seed, what);
    }
    is_int(
        failed, 0,
        "files that are replaced, renamed and removed survive a crash, seeds %" PRIu64
        " to %" PRIu64,
        seeds.first, seeds.last);
    return done_testing();
}
