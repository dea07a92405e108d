/* SPDX-License-Identifier: BSD-3-Clause */
/* An id belongs to one dataset for ever, also when operations on files fail, and when
 * the power goes while it is claimed or afterwards. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "meta/ids.h"
#include "tap/files.h"
#include "tap/fs_undo.h"
#include "tap/sweep.h"
#include "tap/tap.h"

static const struct vel_id_owner owner = {.launch = "L", .is_leaders = true};

static void prepare(const char *dir, void *arg)
{
    int64_t id = 0;
    struct vel_err err = {0};
    char index[1200];

    (void)arg;
    snprintf(index, sizeof index, "%s/index", dir);
    if (mkdir(index, 0700) < 0 ||
        vel_id_claim(vel_fs_posix(), dir, 6, &owner, &id, &err) < 0)
        bail_out("cannot claim in %s: %s", dir, err.text);
}

/* Whose it is; "" when nobody says so. */
static const char *whose(const char *dir, int64_t id)
{
    static char text[64];
    char *launch = NULL;

    vel_id_launch(vel_fs_posix(), dir, id, &launch, NULL, NULL);
    snprintf(text, sizeof text, "%s", launch ? launch : "");
    free(launch);
    return text;
}

static void claimed(void)
{
    const struct vel_id_owner session = {.launch = "M"};
    const char *dir = tap_path("claimed");
    struct vel_err err = {0};
    int64_t id = 0, last = 0;

    tap_fresh_dir(dir);
    prepare(dir, NULL);
    is_int(vel_id_claim(vel_fs_posix(), dir, 0, &session, &id, &err), 0,
           "an id is claimed");
    is_int(id, 8, "above all that are there");
    is_str(whose(dir, 8), "M", "it is said whose it is");
    is_str(whose(dir, 7), "L", "and whose the others are");
    ok(vel_id_is_of_leaders(vel_fs_posix(), dir, 7) &&
           !vel_id_is_of_leaders(vel_fs_posix(), dir, 8),
       "leaders' or a session's");
    is_int(vel_id_claim(vel_fs_posix(), dir, 20, &session, &id, &err), 0, "another");
    is_int(id, 21, "is above what the claimer knows");
    ok(vel_id_last(vel_fs_posix(), dir, &last, &err) == 0 && last == 21,
       "and is the last then");
}

/* One launch, with all that it has told of its dataset, and the next one, in a place
 * that has lost power in between. */
static void twice(enum vel_fs_loss loss, uint64_t seed, bool *ret_is_same)
{
    const char *dir = tap_path("twice");
    struct vel_fs_undo *undo = NULL;
    struct vel_err err = {0};
    int64_t id = 0, next = 0;

    tap_fresh_dir(dir);
    prepare(dir, NULL);
    if (vel_fs_undo_create(vel_fs_posix(), tap_path("aside"), &undo, &err) < 0 ||
        vel_id_claim(vel_fs_undo_fs(undo), dir, 0, &owner, &id, &err) < 0 ||
        vel_fs_undo_power_loss(undo, loss, seed, &err) < 0)
        bail_out("%s", err.text);
    vel_fs_undo_destroy(undo);
    if (vel_id_claim(vel_fs_posix(), dir, 0, &owner, &next, &err) < 0)
        bail_out("%s", err.text);
    *ret_is_same = id == next;
}

static void power_loss(void)
{
    enum { SEEDS = 50 };
    bool is_same;
    int same = 0;

    twice(VEL_FS_LOSS_DROP, 0, &is_same);
    ok(!is_same, "an id that was given is not given again after a loss of power");
    for (int seed = 1; seed <= SEEDS; seed++) {
        twice(VEL_FS_LOSS_RANDOM, (uint64_t)seed, &is_same);
        same += is_same;
    }
    is_int(same, 0, "whatever of what is not synced that takes");
}

/* --- every operation fails in turn --- */

static int claim(struct vel_fs *fs, const char *dir, void *arg, struct vel_err *err)
{
    (void)arg;
    int64_t id;

    return vel_id_claim(fs, dir, 0, &owner, &id, err);
}

/* 7 is there before. What nobody has been given means nothing, and is passed over. */
static enum sweep_state check(const char *dir, void *arg)
{
    (void)arg;
    if (strcmp(whose(dir, 7), "L") != 0)
        return SWEEP_BROKEN;
    for (int64_t id = 8; id < 11; id++)
        if (strcmp(whose(dir, id), "L") == 0)
            return SWEEP_NEW;
    return SWEEP_OLD;
}

/* In the directory of an id that was never given. */
static bool none_matters(const char *name)
{
    (void)name;
    return false;
}

int main(void)
{
    const struct sweep sweep = {.name = "claiming an id",
                                .prepare = prepare,
                                .action = claim,
                                .check = check,
                                .is_temporary = none_matters};

    claimed();
    power_loss();
    sweep_run(&sweep);
    return done_testing();
}
