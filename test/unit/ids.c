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
static const struct vel_id_owner session = {.launch = "M"};

static void prepare(const char *dir, void *arg)
{
    int64_t id = 0;
    struct vel_err err = {0};

    (void)arg;
    if (vel_ids_claim(vel_fs_posix(), dir, 6, 1, &owner, &id, &err) < 0)
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

static int64_t give(const char *dir, struct vel_ids *ids, int64_t above,
                    const struct vel_id_owner *to, struct timespec *ret_now)
{
    struct vel_err err = {0};
    int64_t id = 0;

    if (vel_ids_give(vel_fs_posix(), dir, ids, above, to, &id, ret_now, &err) < 0)
        bail_out("%s", err.text);
    return id;
}

static void claimed(void)
{
    const char *dir = tap_path("claimed");
    struct vel_err err = {0};
    int64_t first = 0;

    tap_fresh_dir(dir);
    prepare(dir, NULL);
    is_int(vel_ids_claim(vel_fs_posix(), dir, 0, 5, &session, &first, &err), 0,
           "ids are claimed");
    is_int(first, 8, "above all that are there");
    ok(strcmp(whose(dir, 8), "M") == 0 && strcmp(whose(dir, 12), "M") == 0,
       "it is said whose they are");
    is_str(whose(dir, 7), "L", "and whose the others are");
    is_str(whose(dir, 6), "", "those below them are nobody's");
    is_str(whose(dir, 13), "", "as are those behind");
    ok(vel_id_is_of_leaders(vel_fs_posix(), dir, 7) &&
           !vel_id_is_of_leaders(vel_fs_posix(), dir, 8),
       "leaders' or a session's");
    is_int(vel_ids_claim(vel_fs_posix(), dir, 20, 1, &session, &first, &err), 0,
           "another one");
    is_int(first, 21, "is above what its claimer knows");
}

/* While nobody else claims any they go on one by one, in few blocks. */
static void given(void)
{
    const char *dir = tap_path("given");
    struct vel_ids ours = {.end = 0}, theirs = {.end = 0};
    struct timespec before, now;
    struct vel_vec blocks;
    struct vel_err err = {0};
    int64_t mine, other;
    bool is_next = true;

    tap_fresh_dir(dir);
    is_int(give(dir, &ours, 0, &owner, &before), 1, "the first id is 1");
    for (int64_t i = 2; i <= 200; i++)
        is_next = is_next && give(dir, &ours, 0, &owner, &now) == i;
    ok(is_next, "each is one above that before it");
    ok(now.tv_sec > before.tv_sec ||
           (now.tv_sec == before.tv_sec && now.tv_nsec >= before.tv_nsec),
       "and was given later");
    if (vel_ids_list(vel_fs_posix(), dir, NULL, &blocks, &err) < 0)
        bail_out("%s", err.text);
    is_int((int)blocks.n, 9, "200 of them need nine names");
    vel_ids_list_fini(&blocks);
    other = give(dir, &theirs, 0, &session, NULL);
    ok(other > 200, "another's is higher");
    mine = give(dir, &ours, 0, &owner, NULL);
    ok(mine > other, "ours is higher than his then");
    is_int(give(dir, &ours, 0, &owner, NULL), mine + 1, "and they go on from there");
    ok(give(dir, &theirs, 0, &session, NULL) > mine + 1, "his is higher again");
    is_int(give(dir, &ours, 5000, &owner, NULL), 5001,
           "one is above all that is known");
    ok(strcmp(whose(dir, other), "M") == 0 && strcmp(whose(dir, mine), "L") == 0 &&
           strcmp(whose(dir, 200), "L") == 0 && strcmp(whose(dir, 5001), "L") == 0,
       "all have their owners");
}

/* Given while nobody could claim any. */
static void late(void)
{
    const char *dir = tap_path("late");
    struct vel_err err = {0};

    tap_fresh_dir(dir);
    prepare(dir, NULL);
    is_int(vel_ids_claim_late(vel_fs_posix(), dir, 1000, &session, &err), 0,
           "one is claimed that was given before");
    is_str(whose(dir, 1000), "M", "and has its owner");
    is_int(vel_ids_claim_late(vel_fs_posix(), dir, 7, &session, &err), VEL_EEXIST,
           "one that is somebody's is not");
    is_str(whose(dir, 7), "L", "and stays his");
}

/* Who died before he said whose it is. */
static void half_made(void)
{
    const char *dir = tap_path("half");
    struct vel_err err = {0};
    int64_t first = 0;
    char path[1200];

    tap_fresh_dir(dir);
    prepare(dir, NULL);
    snprintf(path, sizeof path, "%s/ids/8", dir);
    if (mkdir(path, 0700) < 0)
        bail_out("cannot make %s", path);
    is_int(vel_ids_claim(vel_fs_posix(), dir, 0, 1, &session, &first, &err), 0,
           "a block without a record keeps nobody from claiming");
    is_int(first, 8 + VEL_IDS_MOST, "it may be as large as one is");
    is_str(whose(dir, 8), "", "and is nobody's");
}

/* One launch, with all that it has told of its dataset, and the next one, in a place
 * that has lost power in between. */
static void twice(enum vel_fs_loss loss, uint64_t seed, bool *ret_is_same)
{
    const char *dir = tap_path("twice");
    struct vel_ids ids = {.end = 0}, again = {.end = 0};
    struct vel_fs_undo *undo = NULL;
    struct vel_err err = {0};
    int64_t id = 0, next = 0;

    tap_fresh_dir(dir);
    prepare(dir, NULL);
    if (vel_fs_undo_create(vel_fs_posix(), tap_path("aside"), &undo, &err) < 0 ||
        vel_ids_give(vel_fs_undo_fs(undo), dir, &ids, 0, &owner, &id, NULL, &err) < 0 ||
        vel_fs_undo_power_loss(undo, loss, seed, &err) < 0)
        bail_out("%s", err.text);
    vel_fs_undo_destroy(undo);
    next = give(dir, &again, 0, &owner, NULL);
    *ret_is_same = id == next || strcmp(whose(dir, id), "L") != 0;
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
    struct vel_ids ids = {.end = 0};
    int64_t id;

    (void)arg;
    return vel_ids_give(fs, dir, &ids, 0, &owner, &id, NULL, err);
}

/* 7 is there before. What nobody has been given means nothing, and is passed over. */
static enum sweep_state check(const char *dir, void *arg)
{
    (void)arg;
    if (strcmp(whose(dir, 7), "L") != 0)
        return SWEEP_BROKEN;
    for (int64_t id = 8; id < 8 + 3 * VEL_IDS_MOST; id++)
        if (strcmp(whose(dir, id), "L") == 0)
            return SWEEP_NEW;
    return SWEEP_OLD;
}

/* In the directory of a block that was never used. */
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
    given();
    late();
    half_made();
    power_loss();
    sweep_run(&sweep);
    return done_testing();
}
