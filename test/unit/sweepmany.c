/* SPDX-License-Identifier: BSD-3-Clause */
/* What thousands of files and steps leave does not stay: seals that nobody wants go
 * from launches that are still needed, and the records of files by themselves that are
 * files as any by now. Whoever is killed meanwhile, or sweeps at the same time, takes
 * nothing away that is needed. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "jobs/sweep_single.h"
#include "meta/launch.h"
#include "tap/fs_fault.h"
#include "tap/files.h"
#include "tap/indexlab.h"
#include "tap/sweeplab.h"
#include "tap/tap.h"
#include "view/evidence.h"

static struct vel_err err;

static void must(int rc)
{
    if (rc < 0)
        bail_out("%s", err.text);
}

static struct vel_fs *fs(void)
{
    return vel_fs_posix();
}

static void seals_go(void)
{
    struct vel_swept swept;
    char left[256];
    int64_t id[5];

    sweeplab_fresh();
    sweeplab_make_launch("steps");
    id[0] = sweeplab_publish("steps", "ck", "ck.1", "n");
    id[1] = sweeplab_publish("steps", "ck", "ck.2", "n");
    id[2] = sweeplab_publish("steps", NULL, "file", "n");
    id[3] = sweeplab_publish("steps", NULL, "held", "n");
    sweeplab_put_seal("steps", id[0], "ck.{step}");
    sweeplab_put_seal("steps", id[1], "ck.{step}");
    sweeplab_put_seal("steps", id[2], "file");
    sweeplab_put_seal("steps", id[3], "held");
    sweeplab_see(id[0], false);
    sweeplab_see(id[1], false);
    sweeplab_see(id[3], true);
    sweeplab_end("steps");
    sweeplab_make_launch("done");
    id[4] = sweeplab_publish("done", NULL, "other", "n");
    sweeplab_put_seal("done", id[4], "other");
    sweeplab_end("done");
    sweeplab_make_launch("gone");
    sweeplab_end("gone");

    ok(sweeplab_sweep(fs(), &swept) == 0 && swept.launches == 1,
       "a launch without anything goes");
    ok(!sweeplab_has_seal("done", id[4]) && sweeplab_is_recorded(id[4]),
       "one that has only datasets on the prefix keeps no seals");
    ok(!sweeplab_has_seal("steps", id[0]) && !sweeplab_has_seal("steps", id[2]),
       "of one that is needed those of datasets that are only on the prefix go");
    ok(sweeplab_has_seal("steps", id[3]), "but not of one that a cache has");
    ok(sweeplab_has_seal("steps", id[1]),
       "nor the newest of a pattern: it tells who writes");
    snprintf(left, sizeof left, "%lld %lld ", (long long)id[1], (long long)id[3]);
    is_str(sweeplab_sealed("steps"), left, "and there are no others");
    ok(sweeplab_is_recorded(id[0]) && sweeplab_is_recorded(id[2]),
       "their datasets stay");
}

/* In PREFIX/.veloc. */
static bool is_there(const char *name)
{
    char path[4400];

    snprintf(path, sizeof path, "%s/%s", sweeplab_dir, name);
    return access(path, F_OK) == 0;
}

static size_t launches(void)
{
    struct vel_vec list;
    size_t n;

    vel_vec_init(&list, sizeof(char *));
    must(vel_launch_list(fs(), sweeplab_dir, &list, &err));
    n = list.n;
    vel_fs_names_fini(&list);
    return n;
}

/* There may be one for each dataset: only who asks for datasets looks into them. */
static void past_ones(void)
{
    enum vel_launch_fate fate = VEL_LAUNCH_OPEN;
    struct vel_swept swept;

    sweeplab_fresh();
    sweeplab_make_launch("done");
    int64_t id = sweeplab_publish("done", NULL, "other", "n");
    sweeplab_end("done");
    is_int((long long)launches(), 1, "a launch that has ended is looked at by others");
    must(sweeplab_sweep(fs(), &swept));
    must(vel_launch_fate(fs(), sweeplab_dir, "done", &fate, &err));
    ok(fate == VEL_LAUNCH_GONE && launches() == 0 && is_there("launch.done") &&
           sweeplab_is_recorded(id),
       "until it is only needed for its datasets");
    must(indexlab_remove(fs(), sweeplab_dir, id, &err));
    must(sweeplab_sweep(fs(), &swept));
    ok(!is_there("launch.done") && !is_there("past.done") && swept.launches == 1,
       "then it goes");
    tap_put_file(tap_path("p/.veloc/past.none"), "");
    must(sweeplab_sweep(fs(), &swept));
    ok(!is_there("past.none"), "and so does the mark of one that is not there");
}

static void singles_go(void)
{
    struct vel_swept swept;
    int64_t goes, away, line, newest[2] = {0};
    char name[64];

    sweeplab_fresh();
    goes = sweeplab_publish("gone", NULL, "single", "n");
    away = sweeplab_publish("gone", NULL, "away", "elsewhere");
    line = sweeplab_publish("gone", "ck", "ck.7", "n");
    for (int i = 0; i < VEL_SINGLES_KEPT; i++) {
        snprintf(name, sizeof name, "f%d", i);
        newest[i > 0] = sweeplab_publish("gone", NULL, name, "n");
    }
    ok(sweeplab_sweep(fs(), &swept) == 0 && !sweeplab_is_recorded(goes),
       "the records of a file by itself go when there are %d newer", VEL_SINGLES_KEPT);
    ok(sweeplab_is_recorded(newest[0]) && sweeplab_is_recorded(newest[1]), "only then");
    must(sweeplab_sweep(fs(), &swept));
    ok(sweeplab_is_recorded(away), "not when a node is away that had it");
    ok(sweeplab_is_recorded(line), "nor when it is a step of something");
    ok(access(tap_path("p/single"), F_OK) == 0, "the file stays where it is");
}

/* --- which seals stay --- */

/* Launch "m" with a dataset of each name, and its seal; of another, which is told, a
 * cache has the file. */
static int64_t begin_held(const char *const *names, size_t n, int64_t *id)
{
    sweeplab_fresh();
    sweeplab_make_launch("m");
    for (size_t i = 0; i < n; i++) {
        id[i] = sweeplab_publish("m", NULL, names[i], "n");
        sweeplab_put_seal("m", id[i], names[i]);
    }
    id[n] = sweeplab_publish("m", NULL, "held", "n");
    sweeplab_put_seal("m", id[n], "held");
    sweeplab_end("m");
    sweeplab_see(id[n], true);
    return id[n];
}

static void newest_stays(void)
{
    struct vel_swept swept;
    int64_t id[4];

    sweeplab_fresh();
    sweeplab_make_launch("m");
    for (int i = 0; i < 3; i++)
        id[i] = sweeplab_publish("m", "ck", "ck.1", "n");
    id[3] = sweeplab_publish("m", NULL, "held", "n");
    sweeplab_put_seal("m", id[0], "ck.{step}");
    sweeplab_put_seal("m", id[1], "ck.{step}");
    sweeplab_put_verdict("m", id[2], "ck.{step}", VEL_VERDICT_PARTIAL, "n");
    sweeplab_put_seal("m", id[3], "held");
    sweeplab_end("m");
    sweeplab_see(id[0], false);
    sweeplab_see(id[1], false);
    sweeplab_see(id[3], true);
    must(sweeplab_sweep(fs(), &swept));
    ok(!sweeplab_has_seal("m", id[0]) && sweeplab_has_seal("m", id[1]) &&
           !sweeplab_has_seal("m", id[2]),
       "the newest of a pattern is that of those that were sealed");
}

static void evidence_stays(void)
{
    struct vel_swept swept;
    int64_t id[6];

    sweeplab_fresh();
    sweeplab_make_launch("m");
    for (int i = 0; i < 6; i++)
        id[i] = sweeplab_publish("m", "ck", "ck.1", "n");
    sweeplab_put_verdict("m", id[0], "a", VEL_VERDICT_SEALED, "away");
    sweeplab_fail(id[0]);
    sweeplab_put_verdict("m", id[1], "b", VEL_VERDICT_VOID, "away");
    sweeplab_put_verdict("m", id[2], "c", VEL_VERDICT_PARTIAL, "away");
    for (int i = 0; i < 5; i++) /* as many as the others: else all stay */
        sweeplab_put_verdict("m", id[3] + 1000 * i, "d", VEL_VERDICT_VOID, "n");
    sweeplab_put_verdict("m", id[4], "e", VEL_VERDICT_SEALED, "away");
    sweeplab_put_seal("m", id[5], "held");
    sweeplab_end("m");
    sweeplab_see(id[5], true);
    must(sweeplab_sweep(fs(), &swept));
    ok(sweeplab_has_seal("m", id[0]),
       "what the prefix could not give keeps its seal while its node is away");
    ok(sweeplab_has_seal("m", id[1]) && sweeplab_has_seal("m", id[2]),
       "and so does what counts for nothing, for its node to know");
    ok(sweeplab_has_seal("m", id[4]), "and what the prefix gives");
    ok(!sweeplab_has_seal("m", id[3]), "but not when the node is here");
}

/* More than go in one sweep: `n` of a name with a number between these two, of which
 * `seen` are in the view, beside a dataset that has been unlinked. */
static void many(const char *before, const char *behind, int n, int seen,
                 const char *what)
{
    struct vel_swept swept;
    int64_t *id = calloc((size_t)n + 1, sizeof *id), unlinked;
    char name[64];
    int left = 0;

    sweeplab_fresh();
    sweeplab_make_launch("m");
    for (int i = 0; i < n; i++) {
        snprintf(name, sizeof name, "%s%d%s", before, i, behind);
        id[i] = sweeplab_publish("m", "f", "f", "n");
        sweeplab_put_seal("m", id[i], name);
        if (i < seen)
            sweeplab_see(id[i], false);
    }
    id[n] = sweeplab_publish("m", "held", "held", "n");
    sweeplab_put_seal("m", id[n], "held");
    sweeplab_see(id[n], true);
    sweeplab_end("m");
    unlinked = sweeplab_publish("gone", NULL, "unlinked", "n");
    sweeplab_publish("gone", NULL, "last", "n");
    must(unlink(tap_path("p/unlinked")));
    for (int i = 0; i < 3; i++)
        must(sweeplab_sweep(fs(), &swept));
    for (int i = 0; i < n; i++)
        left += sweeplab_has_seal("m", id[i]);
    ok(left == seen && !sweeplab_is_recorded(unlinked) && sweeplab_has_seal("m", id[n]),
       "%s", what);
    free(id);
}

/* --- what the view cannot know --- */

static void newer_stays(void)
{
    struct vel_swept swept;
    int64_t old, alive, newer;

    sweeplab_fresh();
    old = sweeplab_publish("gone", NULL, "old", "n");
    alive = sweeplab_publish("gone", NULL, "alive", "n");
    vel_vec_push(&sweeplab_view.alive, &alive);
    sweeplab_view.highest = alive;
    newer = sweeplab_publish("gone", NULL, "newer", "n");
    sweeplab_publish("gone", NULL, "last", "n");
    must(unlink(tap_path("p/old")));
    must(unlink(tap_path("p/alive")));
    must(unlink(tap_path("p/newer")));
    must(sweeplab_sweep(fs(), &swept));
    ok(!sweeplab_is_recorded(old) && sweeplab_is_recorded(newer) &&
           sweeplab_is_recorded(alive),
       "what is newer than the view keeps its records, and what was alive in it");
}

/* --- one launch that fails --- */

/* All terms of a launch. */
static void damage(const char *launch_dir)
{
    struct vel_vec names;
    char path[4500];

    must(vel_fs_list(fs(), launch_dir, &names, &err));
    for (size_t i = 0; i < names.n; i++) {
        snprintf(path, sizeof path, "%s/%s", launch_dir,
                 *(char **)vel_vec_at(&names, i));
        tap_put_file(path, "garbage");
    }
    vel_fs_names_fini(&names);
}

static void others_go_on(const char *what, bool has_garbage,
                         const struct vel_fs_fault_plan *plan)
{
    static const char *const names[] = {"a"};
    struct vel_fs_fault *fault;
    struct vel_swept swept;
    int64_t id[2], unlinked;
    char path[4400];

    begin_held(names, 1, id);
    snprintf(path, sizeof path, "%s/launch.m", sweeplab_dir);
    if (has_garbage)
        damage(path);
    unlinked = sweeplab_publish("gone", NULL, "unlinked", "n");
    sweeplab_publish("gone", NULL, "last", "n");
    must(unlink(tap_path("p/unlinked")));
    must(vel_fs_fault_create(fs(), NULL, &fault, &err));
    vel_fs_fault_arm(fault, plan);
    ok(sweeplab_sweep(vel_fs_fault_fs(fault), &swept) == 0 &&
           (plan->errnum == ENOSPC || !sweeplab_is_recorded(unlinked)) &&
           (has_garbage ? access(path, F_OK) == 0 : sweeplab_has_seal("m", id[0])),
       "%s: that launch keeps its seals, and nothing else waits for it", what);
    vel_fs_fault_destroy(fault);
    must(sweeplab_sweep(fs(), &swept));
    ok(!sweeplab_is_recorded(unlinked), "and all that can be forgotten is in the end");
}

static void launches_fail(void)
{
    char path[4400];
    struct vel_fs_fault_plan none = {.mode = VEL_FS_FAULT_NONE},
                             full = {.mode = VEL_FS_FAULT_LASTING,
                                     .kinds = VEL_FS_KIND_WRITE,
                                     .at = 1,
                                     .errnum = ENOSPC},
                             denied = {.mode = VEL_FS_FAULT_LASTING,
                                       .kinds = VEL_FS_KIND_OPEN,
                                       .at = 1,
                                       .errnum = EACCES,
                                       .below = path};

    snprintf(path, sizeof path, "%s/launch.m", sweeplab_dir);
    others_go_on("a ledger that nobody can read", true, &none);
    others_go_on("a full disk", false, &full);
    others_go_on("seals that we may not read", false, &denied);
}

/* --- killed --- */

/* With the crash at operation `at`; false: there are not so many. */
static bool crash_at(uint64_t at, int *ret_bad)
{
    const struct vel_fs_fault_plan plan = {
        .mode = VEL_FS_FAULT_CRASH,
        .kinds = VEL_FS_KIND_UNLINK | VEL_FS_KIND_RMDIR | VEL_FS_KIND_RENAME,
        .at = at};
    struct vel_fs_fault *fault;
    struct vel_swept swept;
    int64_t goes, stays;
    bool has_fired;

    sweeplab_fresh();
    goes = sweeplab_publish("gone", NULL, "single", "n");
    stays = sweeplab_publish("gone", NULL, "stays", "n");
    sweeplab_publish("gone", NULL, "last", "n");
    must(unlink(tap_path("p/single")));
    must(vel_fs_fault_create(fs(), NULL, &fault, &err));
    vel_fs_fault_arm(fault, &plan);
    sweeplab_sweep(vel_fs_fault_fs(fault), &swept);
    has_fired = vel_fs_fault_fired(fault);
    vel_fs_fault_destroy(fault);
    must(sweeplab_sweep(fs(), &swept));
    *ret_bad += sweeplab_is_recorded(goes) || !sweeplab_is_recorded(stays) ||
                access(tap_path("p/stays"), F_OK) < 0;
    return has_fired;
}

static void killed(void)
{
    int bad = 0;
    uint64_t at = 1;

    while (crash_at(at, &bad))
        at++;
    ok(at > 5 && bad == 0, "a sweep that was killed at any of %d steps is finished",
       (int)at - 1);
}

/* --- two at once --- */

/* A twin of the file system: when a term is begun something happens. */
struct twin {
    struct vel_fs fs;
    struct vel_fs_ops ops;
    int term; /* descriptor */
    void (*on_write)(void);
};

static struct twin twin;

static int twin_open(struct vel_fs *of, const char *path, int flags, mode_t mode)
{
    int fd = fs()->ops->open(fs(), path, flags, mode);

    (void)of;
    if (fd >= 0 && strstr(path, "/launch.m/1.") && (flags & O_ACCMODE) == O_RDWR)
        twin.term = fd;
    return fd;
}

static ssize_t twin_pwrite(struct vel_fs *of, int fd, const void *bytes, size_t n,
                           off_t at)
{
    void (*on_write)(void) = fd == twin.term ? twin.on_write : NULL;

    (void)of;
    if (on_write) {
        twin.on_write = NULL;
        on_write();
    }
    return fs()->ops->pwrite(fs(), fd, bytes, n, at);
}

static void twin_begin(void)
{
    twin = (struct twin){.ops = *fs()->ops, .term = -1};
    twin.ops.open = twin_open;
    twin.ops.pwrite = twin_pwrite;
    twin.fs.ops = &twin.ops;
}

static void die(void)
{
    _exit(9);
}

static void sweep_and_die(void)
{
    struct vel_swept swept;
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        twin.term = -1;
        twin.on_write = die;
        sweeplab_sweep(&twin.fs, &swept);
        _exit(1);
    }
    waitpid(pid, &status, 0);
}

static int64_t ids[4];

/* One whose view has less in caches. */
static void sweep_more(void)
{
    struct vel_swept swept;
    pid_t pid = fork();

    if (pid == 0) {
        ((struct vel_view_dataset *)vel_view_find_dataset(&sweeplab_view, ids[0]))
            ->is_cached = false;
        _exit(sweeplab_sweep(fs(), &swept) < 0);
    }
    waitpid(pid, NULL, 0);
}

static void two_at_once(void)
{
    static const char *const names[] = {"a", "b", "c"};
    struct vel_swept swept;
    char left[64];

    begin_held(names, 3, ids);
    twin_begin();
    twin.on_write = sweep_and_die;
    must(sweeplab_sweep(&twin.fs, &swept));
    snprintf(left, sizeof left, "%lld ", (long long)ids[3]);
    is_str(sweeplab_sealed("m"), left,
           "a sweep that is killed while it begins a term spoils no other's");

    begin_held(names, 3, ids);
    sweeplab_see(ids[0], true);
    twin_begin();
    twin.on_write = sweep_more;
    must(sweeplab_sweep(&twin.fs, &swept));
    is_str(sweeplab_sealed("m"), left,
           "what another sweep has left out meanwhile does not come back");
}

int main(void)
{
    seals_go();
    past_ones();
    singles_go();
    newest_stays();
    evidence_stays();
    many("f", ".{rank}", 300, 300, "seals that stay keep nothing else from going");
    many("{", "}.h5", 300, 0, "seals of names with a brace go");
    newer_stays();
    launches_fail();
    killed();
    two_at_once();
    vel_view_fini(&sweeplab_view);
    return done_testing();
}
