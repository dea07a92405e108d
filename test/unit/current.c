/* SPDX-License-Identifier: BSD-3-Clause */
/* Which dataset a restart takes first: the newest checkpoint on the prefix, or one that
 * was chosen since. */
#include "config.h"

#include <stdio.h>

#include "meta/current.h"
#include "meta/entry.h"
#include "tap/files.h"
#include "tap/indexlab.h"
#include "tap/sweep.h"
#include "tap/tap.h"

enum kind { CHECKPOINT, OUTPUT, FILES, FAILED };

static char name[] = "heat";

static void put(const char *dir, int64_t id, enum vel_place_on_prefix place,
                enum kind kind)
{
    struct vel_entry entry = {
        .dataset = {.id = id,
                    .name = name,
                    .use = kind == OUTPUT ? VEL_USE_OUTPUT : VEL_USE_CHECKPOINT,
                    .ranks = 1,
                    .nodes = 1,
                    .files = 1,
                    .is_leaders = kind == FILES},
        .place = place,
        .lists = 1,
        .failed = kind == FAILED};

    if (indexlab_save(vel_fs_posix(), dir, &entry, NULL) < 0)
        bail_out("cannot write in %s", dir);
}

static int64_t current(const char *dir)
{
    return indexlab_current(vel_fs_posix(), dir);
}

static void choose(const char *dir, int64_t id)
{
    struct vel_err err = {0};

    if (indexlab_choose(vel_fs_posix(), dir, id, &err) < 0)
        bail_out("%s", err.text);
}

static void newest(const char *dir)
{
    is_int(current(dir), 0, "at first no dataset is the current one");
    put(dir, 2, VEL_ON_PREFIX, FILES);
    is_int(current(dir), 2, "files of HDF5 are, where nothing else is");
    put(dir, 3, VEL_ON_PREFIX, CHECKPOINT);
    put(dir, 4, VEL_ON_PREFIX, FILES);
    is_int(current(dir), 3, "a checkpoint of a session before them, be they newer");
    put(dir, 5, VEL_ON_PREFIX, CHECKPOINT);
    is_int(current(dir), 5, "the newest of those");
    put(dir, 6, VEL_ON_PREFIX, OUTPUT);
    put(dir, 7, VEL_ON_STAGED, CHECKPOINT);
    put(dir, 8, VEL_ON_CACHE, CHECKPOINT);
    is_int(current(dir), 5, "no output, and nothing that is on its way");
    put(dir, 9, VEL_ON_PREFIX, FAILED);
    is_int(current(dir), 5, "nor what cannot be fetched");
}

static void chosen(const char *dir)
{
    choose(dir, 3);
    is_int(current(dir), 3, "an older one that was chosen comes first");
    put(dir, 7, VEL_ON_PREFIX, CHECKPOINT);
    is_int(current(dir), 3, "also when one comes that had been made before that");
    put(dir, 10, VEL_ON_PREFIX, FILES);
    is_int(current(dir), 3, "and files of HDF5 are no newer checkpoint");
    put(dir, 3, VEL_ON_PREFIX, FAILED);
    is_int(current(dir), 7, "but not when it cannot be fetched");
    put(dir, 3, VEL_ON_PREFIX, CHECKPOINT);
    put(dir, 11, VEL_ON_PREFIX, CHECKPOINT);
    is_int(current(dir), 11, "until a newer one has been made and is there");
    choose(dir, 5);
    tap_put_file(tap_path("current"), "13\n");
    is_int(current(dir), 11, "a damaged choice is none");
}

/* --- what a crash leaves --- */

static void prepare(const char *dir, void *arg)
{
    (void)arg;
    put(dir, 5, VEL_ON_PREFIX, CHECKPOINT);
    put(dir, 6, VEL_ON_PREFIX, CHECKPOINT);
    put(dir, 7, VEL_ON_PREFIX, CHECKPOINT);
    choose(dir, 6);
}

static int choose_other(struct vel_fs *fs, const char *dir, void *arg,
                        struct vel_err *err)
{
    (void)arg;
    return indexlab_choose(fs, dir, 5, err);
}

static enum sweep_state check(const char *dir, void *arg)
{
    int64_t id = current(dir);

    (void)arg;
    return id == 5 ? SWEEP_NEW : id == 6 ? SWEEP_OLD : SWEEP_BROKEN;
}

/* Names by which it was looked stay until the next sweep of the prefix. */
static bool is_left(const char *left)
{
    return vel_fs_is_temporary(left) && !vel_fs_is_look(left);
}

int main(void)
{
    const struct sweep choosing = {.name = "a choice",
                                   .prepare = prepare,
                                   .action = choose_other,
                                   .check = check,
                                   .is_temporary = is_left};

    newest(tap_dir());
    chosen(tap_dir());
    sweep_run(&choosing);
    return done_testing();
}
