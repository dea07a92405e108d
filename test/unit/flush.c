/* SPDX-License-Identifier: BSD-3-Clause */
/* Datasets on their way to the prefix: what stands there afterwards, what a newer one
 * of the same names replaces, what a damaged source does, and what a failure at any
 * operation of any rank leaves. Four ranks on two nodes. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tap/fs_fault.h"
#include "tap/crewlab.h"
#include "tap/crowd.h"
#include "tap/files.h"
#include "tap/tap.h"

enum { RANKS = 4, NODES = 2 };

#define WANT(cond)                                                                     \
    do {                                                                               \
        if (!(cond)) {                                                                 \
            note("rank %d: %s:%d: %s (%s)", r->crew.world->rank, __FILE__, __LINE__,   \
                 #cond, r->err.text);                                                  \
            return 1;                                                                  \
        }                                                                              \
    } while (0)

/* A scene is played by all ranks. */
struct scene {
    struct crewlab lab;
    int (*play)(struct crewlab_rank *r, struct scene *scene);
    int culprit; /* whose files fail */
    struct vel_fs_fault_plan plan;
    bool fired;
    enum vel_place_on_prefix place; /* how it ended, on rank 0 */
    int result;
};

static int play(struct vel_comm *comm, void *arg)
{
    struct scene *scene = arg;
    struct vel_fs_fault *fault = NULL;
    struct vel_fs *fs = vel_fs_posix();
    struct crewlab_rank r;
    int rc;

    if (scene->plan.mode != VEL_FS_FAULT_NONE && comm->rank == scene->culprit) {
        if (vel_fs_fault_create(fs, NULL, &fault, NULL) < 0)
            bail_out("no memory");
        vel_fs_fault_arm(fault, &scene->plan);
        fs = vel_fs_fault_fs(fault);
    }
    rc = crewlab_join(&scene->lab, comm, fs, &r);
    if (rc == 0) {
        rc = scene->play(&r, scene);
        crewlab_leave(&r);
    }
    if (fault) {
        scene->fired = vel_fs_fault_fired(fault);
        vel_fs_fault_destroy(fault);
    }
    return rc;
}

static bool runs(struct scene *scene,
                 int (*act)(struct crewlab_rank *r, struct scene *scene))
{
    scene->play = act;
    return crowd_run(RANKS, NULL, play, scene, NULL) == 0;
}

/* --- what stands on the prefix --- */

static int flush_one(struct crewlab_rank *r, struct scene *scene)
{
    struct vel_entry entry, saved = {0};
    int me = r->crew.world->rank;

    WANT(crewlab_flush(r, 1, &entry) == 0);
    WANT(entry.place == VEL_ON_PREFIX && entry.lists == NODES);
    vel_entry_fini(&entry);
    WANT(vel_entry_load(r->crew.fs, r->crew.dir, 1, &saved, &r->err) == 0);
    WANT(saved.place == VEL_ON_PREFIX && saved.flushed > 0);
    vel_entry_fini(&saved);
    WANT(vel_comm_barrier(r->crew.world, NULL) == 0);
    for (int i = 0; i < RANKS; i++)
        WANT(scene->lab.packs || crewlab_is_flushed(&scene->lab, 1, i));
    WANT(crewlab_is_file(crewlab_cached(&scene->lab, 1, me, 1), 1, me, 1));
    return 0;
}

static int remove_one(struct crewlab_rank *r, struct scene *scene)
{
    struct vel_entry entry = {0};
    int64_t id = scene->result;

    WANT(vel_entry_load(r->crew.fs, r->crew.dir, id, &entry, &r->err) == 0);
    WANT(vel_comm_barrier(r->crew.world, NULL) == 0);
    WANT(vel_flush_remove(&r->crew, &entry, &r->err) == 0);
    vel_entry_fini(&entry);
    return 0;
}

/* Names on the prefix but for .veloc. */
static size_t others(const struct crewlab *lab)
{
    struct vel_vec names;
    size_t n;

    if (vel_fs_list(vel_fs_posix(), lab->prefix, &names, NULL) < 0)
        return SIZE_MAX;
    n = names.n - 1;
    vel_fs_names_fini(&names);
    return n;
}

static void test_plain(void)
{
    struct scene scene = {.culprit = -1};

    crewlab_init(&scene.lab, NODES);
    ok(runs(&scene, flush_one),
       "a dataset is flushed, directories and empty files too");
    is_int(crewlab_strays(&scene.lab), 0, "and nothing but it");
    scene.result = 1;
    ok(runs(&scene, remove_one) && others(&scene.lab) == 0,
       "when it is removed the directories that it made go with it");
}

/* --- the same names again --- */

static int flush_two(struct crewlab_rank *r, struct scene *scene)
{
    struct vel_entry entry;

    for (int64_t id = 1; id <= 2; id++) {
        WANT(crewlab_flush(r, id, &entry) == 0);
        vel_entry_fini(&entry);
        WANT(vel_comm_barrier(r->crew.world, NULL) == 0);
        for (int i = 0; i < RANKS; i++)
            WANT(crewlab_is_flushed(&scene->lab, id, i));
        WANT(vel_comm_barrier(r->crew.world, NULL) == 0);
    }
    return 0;
}

static bool all_flushed(const struct crewlab *lab, int64_t id)
{
    for (int i = 0; i < RANKS; i++)
        if (!crewlab_is_flushed(lab, id, i))
            return false;
    return true;
}

static void test_same_names(void)
{
    struct scene scene = {.culprit = -1, .lab = {.nodes = NODES}};
    FILE *file;

    crewlab_init(&scene.lab, NODES);
    scene.lab.has_same_names = true;
    ok(runs(&scene, flush_two), "a dataset replaces an older one of the same names");
    scene.result = 1;
    ok(runs(&scene, remove_one) && all_flushed(&scene.lab, 2),
       "removing the older one leaves the newer one's files alone");
    file = fopen(crewlab_flushed(&scene.lab, 2, 1, 3), "a");
    if (!file || fputs("more", file) < 0 || fclose(file) != 0)
        bail_out("a file cannot be changed");
    scene.result = 2;
    ok(runs(&scene, remove_one) && others(&scene.lab) == 1 &&
           access(crewlab_flushed(&scene.lab, 2, 1, 3), F_OK) == 0,
       "and removing that one leaves what a program has changed since");
}

/* --- checksums --- */

/* A byte of rank 2's file is another one than was recorded. */
static int flush_damaged(struct crewlab_rank *r, struct scene *scene)
{
    struct vel_entry entry = {.dataset = {.id = 2, .ranks = RANKS, .nodes = NODES}};
    struct vel_vec files;

    entry.dataset.name = strdup("lab");
    entry.dataset.use = VEL_USE_CHECKPOINT;
    crewlab_write(r, 2, &files);
    if (r->crew.world->rank == 2)
        ((struct vel_flush_file *)vel_vec_at(&files, 1))->listed.crc ^= 1;
    scene->result = vel_flush(&r->crew, scene->lab.cache, &files, &entry, &r->err);
    scene->place = entry.place;
    vel_flush_files_fini(&files);
    vel_entry_fini(&entry);
    if (scene->result == VEL_ECORRUPT)
        WANT(strstr(r->err.text, "checksum"));
    return 0;
}

static void test_checksums(bool packs)
{
    struct scene scene = {.culprit = -1};
    const char *how = packs ? ", into a container" : "";

    crewlab_init(&scene.lab, NODES);
    scene.lab.has_same_names = true;
    scene.lab.packs = packs;
    ok(runs(&scene, flush_one), "a dataset is flushed%s", how);
    ok(runs(&scene, flush_damaged) && scene.result == VEL_ECORRUPT,
       "a file that is not what was recorded is refused%s", how);
    ok(scene.place == VEL_ON_CACHE && crewlab_strays(&scene.lab) == 0 &&
           (packs || all_flushed(&scene.lab, 1)),
       "and the prefix is as it was before");
    scene.lab.ignores_crc = true;
    ok(runs(&scene, flush_damaged) && scene.result == 0, "unless CRC_ON_FLUSH=0");
}

/* --- failures --- */

/* Dataset 2 over dataset 1, of the same names. Whatever fails, all know it, and either
 * is whole; what was staged can be finished. */
static int flush_over(struct crewlab_rank *r, struct scene *scene)
{
    struct vel_entry entry;
    int rc = crewlab_flush(r, 2, &entry);
    int64_t same[2] = {rc, -rc};

    WANT(vel_comm_allreduce(r->crew.world, VEL_COMM_MIN, same, 2, NULL) == 0);
    WANT((same[0] < 0) == (rc < 0) && (same[1] <= 0) == (rc == 0));
    WANT(rc == 0 || *r->err.text);
    if (r->crew.world->rank == 0) {
        scene->result = rc;
        scene->place = entry.place;
    }
    vel_entry_fini(&entry);
    return 0;
}

static int finish(struct crewlab_rank *r, struct scene *scene)
{
    struct vel_entry entry = {0};

    (void)scene;
    WANT(vel_entry_load(r->crew.fs, r->crew.dir, 2, &entry, &r->err) == 0);
    WANT(vel_comm_barrier(r->crew.world, NULL) == 0);
    /* when the last sync failed it may say so already, and then it must be true */
    if (entry.place != VEL_ON_PREFIX)
        WANT(vel_flush_finish(&r->crew, &entry, &r->err) == 0);
    WANT(entry.place == VEL_ON_PREFIX);
    vel_entry_fini(&entry);
    return 0;
}

/* Is the prefix as it should be after it? */
static bool ended_well(struct scene *scene)
{
    const struct vel_fs_fault_plan none = {.mode = VEL_FS_FAULT_NONE};

    if (scene->result == 0)
        return scene->place == VEL_ON_PREFIX && all_flushed(&scene->lab, 2);
    scene->plan = none;
    if (scene->place == VEL_ON_STAGED)
        return runs(scene, finish) && all_flushed(&scene->lab, 2) &&
               crewlab_strays(&scene->lab) == 0;
    return all_flushed(&scene->lab, 1);
}

static void test_failures(int culprit, bool lasting)
{
    struct scene scene = {.culprit = culprit};
    struct vel_fs_fault_plan plan = {.mode = lasting ? VEL_FS_FAULT_LASTING
                                                     : VEL_FS_FAULT_ONCE,
                                     .errnum = 28 /* ENOSPC */,
                                     .kinds = VEL_FS_KIND_ALL & ~VEL_FS_KIND_CLOSE};
    uint64_t n = 0;
    int failed = 0, staged = 0;
    bool fine = true;

    do {
        const struct vel_fs_fault_plan none = {.mode = VEL_FS_FAULT_NONE};

        plan.at = n += lasting ? 7 : 1;
        crewlab_init(&scene.lab, NODES);
        scene.lab.has_same_names = true;
        scene.plan = none;
        fine = runs(&scene, flush_one);
        scene.plan = plan;
        scene.fired = false;
        fine = fine && runs(&scene, flush_over);
        failed += scene.result < 0;
        staged += scene.result < 0 && scene.place == VEL_ON_STAGED;
        fine = fine && ended_well(&scene);
        if (!fine)
            note("operation %d of rank %d: status %d, place %d", (int)n, culprit,
                 scene.result, (int)scene.place);
    } while (fine && scene.fired);
    ok(fine && n > 20, "each operation of rank %d fails%s: the old or the new is whole",
       culprit, lasting ? " and all behind it" : "");
    ok(failed > 10 && staged > 0,
       "of %d of them that were told %d came when all was there", failed, staged);
}

int main(void)
{
    test_plain();
    test_same_names();
    test_checksums(false);
    test_checksums(true);
    for (int lasting = 0; lasting < 2; lasting++) {
        test_failures(0, lasting);
        test_failures(3, lasting);
    }
    return done_testing();
}
