/* SPDX-License-Identifier: BSD-3-Clause */
/* The name of a launch: what launchers say, and a meeting when they say nothing. */
#include "config.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ident/endpoint.h"
#include "ident/launchid.h"
#include "tap/manual_clock.h"
#include "tap/launchlab.h"
#include "tap/files.h"
#include "tap/tap.h"

enum { RANKS = 12 };

static struct vel_err err;
static char dir[2048];

static void named(const char *launch, const char *pmix, const char *job,
                  const char *step, const char *want, const char *text)
{
    const struct vel_launch_texts texts = {
        .launch = launch, .pmix = pmix, .slurm_job = job, .slurm_step = step};
    char got[VEL_LAUNCH_ROOM] = "?";

    if (vel_launchid_named(&texts, got, &err) < 0)
        snprintf(got, sizeof got, "failed");
    is_str(got, want, "%s", text);
}

static void names(void)
{
    const struct vel_launch_texts bad = {.launch = "a/b"};
    char a[VEL_LAUNCH_ROOM], b[VEL_LAUNCH_ROOM];

    named("mine", NULL, "1", "0", "mine", "LAUNCH is before all others");
    vel_launchid_named(&(struct vel_launch_texts){.launch = "mine", .pmix = "p1"}, a,
                       &err);
    vel_launchid_named(&(struct vel_launch_texts){.launch = "mine", .pmix = "p2"}, b,
                       &err);
    ok(strncmp(a, "mine-", 5) == 0 && strcmp(a, b) != 0,
       "but two programs that are given the same one stay two: %s, %s", a, b);
    named("", "pmix", "1", "0", "pmix", "then the launcher that started the process");
    named(NULL, NULL, "17", "3", "17.3", "then the job and step of the scheduler");
    named(NULL, NULL, "17", NULL, "", "a job alone names no launch");
    vel_launchid_named(
        &(struct vel_launch_texts){.job = "f3", .slurm_job = "17", .slurm_step = "3"},
        a, &err);
    is_str(a, "f3", "the job of a launcher inside of Slurm is before its step");
    named(NULL, "", NULL, "", "", "nothing names it");
    is_int(vel_launchid_named(&bad, a, &err), VEL_ECONFIG,
           "a LAUNCH that is no part of a path is refused: %s", err.text);
    vel_launchid_named(&(struct vel_launch_texts){.pmix = "prterun-n1-4711@1"}, a,
                       &err);
    vel_launchid_named(&(struct vel_launch_texts){.pmix = "prterun-n1-4711@2"}, b,
                       &err);
    ok(vel_launch_is_name(a) && vel_launch_is_name(b) && strcmp(a, b) != 0 &&
           strncmp(a, "prterun-n1-4711x1-", 18) == 0,
       "a launcher's name that is none becomes one of its own: %s", a);
    vel_launchid_named(
        &(struct vel_launch_texts){
            .pmix =
                "./012345678901234567890123456789012345678901234567890123456789012345"},
        a, &err);
    ok(vel_launch_is_name(a) && strlen(a) == VEL_LAUNCH_MOST, "a long one, too: %s", a);
    vel_launchid_named(&(struct vel_launch_texts){.slurm_job = "17",
                                                  .slurm_step = "3",
                                                  .slurm_restart = "2"},
                       a, &err);
    is_str(a, "17.3-r2", "a job that was requeued counts its steps anew");
    ok(vel_launchid_fresh(a, &err) == 0 && vel_launchid_fresh(b, &err) == 0 &&
           vel_launch_is_name(a) && strcmp(a, b) != 0,
       "a fresh one is nobody's");
}

static bool is_over(const char *in, const char *launch)
{
    bool is = true;

    vel_launch_is_over(vel_fs_posix(), in, launch, &is, NULL);
    return is;
}

static void over(void)
{
    char path[4096];

    snprintf(path, sizeof path, "%s/launch.lives", dir);
    tap_fresh_dir(path);
    ok(is_over(dir, "17.3"), "a launch that was ended is over");
    ok(is_over(dir, "none"), "so is one that nobody keeps any more");
    ok(!is_over(dir, "lives"), "but not any other");
    strcat(path, "/file");
    tap_put_file(path, "");
    ok(!is_over(path, "lives"), "nor one of which nothing can be known");
}

/* --- meetings --- */

/* Time passes only while somebody sleeps; then what `sleeping` does. */
static struct vel_manual_clock manual;
static const char *beating;     /* a launch whose beat moves meanwhile */
static void (*meanwhile)(void); /* once */

static void save_beat(const char *launch_dir, int64_t count)
{
    struct vel_beat beat = {count, (char[]){"n1 n2"}, false};

    vel_beat_save(vel_fs_posix(), launch_dir, &beat, NULL);
}

static void beat_and_sleep(struct vel_clock *clock, uint64_t ns)
{
    char launch_dir[4096];
    struct vel_beat beat = {0};

    (void)clock;
    manual.monotonic += ns;
    if (meanwhile) {
        void (*what)(void) = meanwhile;

        meanwhile = NULL;
        what();
    }
    if (!beating)
        return;
    snprintf(launch_dir, sizeof launch_dir, "%s/launch.%s", dir, beating);
    vel_beat_load(vel_fs_posix(), launch_dir, &beat, NULL);
    save_beat(launch_dir, beat.count + 1);
    vel_beat_fini(&beat);
}

static uint64_t monotonic(struct vel_clock *clock)
{
    (void)clock;
    return manual.monotonic;
}

static const struct vel_clock_ops clock_ops = {.monotonic = monotonic,
                                               .sleep = beat_and_sleep};
static struct vel_clock test_clock = {.ops = &clock_ops};

struct member {
    pthread_t thread;
    struct vel_launch_self self;
    char launch[VEL_LAUNCH_ROOM];
    int rc;
};

static struct vel_launch_self self_of(int64_t rank)
{
    return (struct vel_launch_self){.dir = dir,
                                    .user = geteuid(),
                                    .program = "/bin/solver",
                                    .working_dir = "/home/me",
                                    .rank = rank,
                                    .ranks = RANKS,
                                    .clock = &test_clock,
                                    .limit = VEL_CLOCK_S};
}

static void *run_member(void *arg)
{
    struct member *m = arg;
    bool is_child;

    m->rc = vel_launchid_meet(vel_fs_posix(), &m->self, m->launch, &is_child, NULL);
    return NULL;
}

/* All ranks at once; the launch that they agree on, or "". */
static void meet_all(char ret[VEL_LAUNCH_ROOM])
{
    struct member members[RANKS];
    bool agree = true;

    for (int i = 0; i < RANKS; i++) {
        members[i] = (struct member){.self = self_of(i)};
        if (pthread_create(&members[i].thread, NULL, run_member, &members[i]) != 0)
            bail_out("no thread");
    }
    for (int i = 0; i < RANKS; i++)
        pthread_join(members[i].thread, NULL);
    for (int i = 0; i < RANKS; i++)
        agree = agree && members[i].rc == 0 &&
                strcmp(members[i].launch, members[0].launch) == 0;
    strcpy(ret, agree ? members[0].launch : "");
}

static void meet_named(const char *name, int64_t rank, char ret[VEL_LAUNCH_ROOM])
{
    struct vel_launch_self self = self_of(rank);
    bool is_child;

    ret[0] = '\0';
    self.name = name;
    if (vel_launchid_meet(vel_fs_posix(), &self, ret, &is_child, &err) < 0)
        note("%s", err.text);
}

static void meet_one(int64_t rank, char ret[VEL_LAUNCH_ROOM])
{
    meet_named(NULL, rank, ret);
}

static void join(const char *launch, const char *node, const char *ranks)
{
    struct vel_endpoint endpoint = {
        .node = (char *)node, .ranks = (char *)ranks, .endpoints = (char *)"unix:/x"};
    char launch_dir[4096];

    snprintf(launch_dir, sizeof launch_dir, "%s/launch.%s", dir, launch);
    if (vel_endpoint_save(vel_fs_posix(), launch_dir, &endpoint, &err) < 0)
        bail_out("%s", err.text);
}

/* One of its ranks has ended without a word. */
static void lose(const char *launch, const char *node, const char *ranks)
{
    struct vel_endpoint endpoint = {.node = (char *)node,
                                    .ranks = (char *)ranks,
                                    .has_lost = true,
                                    .endpoints = (char *)"unix:/x"};
    char launch_dir[4096];

    snprintf(launch_dir, sizeof launch_dir, "%s/launch.%s", dir, launch);
    if (vel_endpoint_save(vel_fs_posix(), launch_dir, &endpoint, &err) < 0)
        bail_out("%s", err.text);
}

static void end_launch(const char *launch)
{
    char path[4096];

    snprintf(path, sizeof path, "%s/launch.%s", dir, launch);
    tap_end_launch(path);
}

/* A leader that was taken for dead. */
static void claim_above(const char *launch)
{
    const struct vel_ledger_self self = {.node = "n1", .address = "chair 2 n1"};
    struct vel_ledger *term;
    char path[4096];

    snprintf(path, sizeof path, "%s/launch.%s", dir, launch);
    const struct vel_ledger_dir ledgers = {.fs = vel_fs_posix(), .path = path};
    if (vel_ledger_claim(&ledgers, (struct vel_ledger_name){1, 1}, &self, &term, &err) <
        0)
        bail_out("%s", err.text);
    vel_ledger_close(term);
}

static void meetings(void)
{
    char first[VEL_LAUNCH_ROOM], got[VEL_LAUNCH_ROOM], next[VEL_LAUNCH_ROOM],
        launch_dir[4096], command[4200];

    meet_all(first);
    ok(first[0] != '\0', "ranks that begin at once agree");
    meet_one(3, got);
    is_str(got, first, "one that comes later finds the others");
    join(first, "n1", "0-2 4");
    snprintf(launch_dir, sizeof launch_dir, "%s/launch.%s", dir, first);
    save_beat(launch_dir, 1);
    beating = first;
    meet_one(3, got);
    is_str(got, first, "a launch that lives waits for its last rank");
    meet_one(2, next);
    ok(next[0] && strcmp(next, first) != 0, "a rank that has joined is not ours");
    join(first, "n2", "3");
    vel_endpoint_leave(vel_fs_posix(), launch_dir, "n1", NULL);
    meet_one(2, got);
    is_str(got, next, "not even when its node has left the launch, and others stay");
    beating = NULL;
    join(next, "n1", "0-1 3-11");
    meet_one(2, got);
    ok(got[0] && strcmp(got, next) != 0, "one that died before its first beat is none");
    meet_all(next);
    is_str(got, next, "and is passed by, by all ranks");
    join(next, "n1", "0-1 3-11");
    snprintf(launch_dir, sizeof launch_dir, "%s/launch.%s", dir, next);
    save_beat(launch_dir, 8);
    meet_one(2, got);
    ok(got[0] && strcmp(got, next) != 0, "one whose beat stands still is none");
    meet_one(5, next);
    is_str(next, got, "the next one is met");
    lose(got, "n1", "3");
    snprintf(launch_dir, sizeof launch_dir, "%s/launch.%s", dir, got);
    save_beat(launch_dir, 1);
    beating = got;
    meet_one(2, next);
    ok(next[0] && strcmp(got, next) != 0,
       "one that lives on, but has lost a rank, is nobody's who begins");
    strcpy(got, next);
    beating = NULL;
    end_launch(got);
    meet_one(2, next);
    ok(next[0] && strcmp(got, next) != 0, "nor one that has ended");
    strcpy(got, next);
    join(got, "n1", "0-1");
    snprintf(launch_dir, sizeof launch_dir, "%s/launch.%s", dir, got);
    vel_endpoint_leave(vel_fs_posix(), launch_dir, "n1", NULL);
    meet_one(2, next);
    ok(next[0] && strcmp(got, next) != 0, "nor one that all have left who had joined");
    snprintf(command, sizeof command, "rm -r '%s/launch.%s'", dir, next);
    if (system(command) != 0)
        bail_out("no rm");
    meet_one(2, got);
    ok(got[0] && strcmp(got, next) != 0, "nor one that was removed");
}

static char joined_then[VEL_LAUNCH_ROOM];

static void rank_2_comes(void)
{
    meet_one(2, joined_then);
}

/* Only some ranks of a program had joined when it was killed, on another machine. Those
 * know at once that it is not theirs, the others of themselves only after T. */
static void half_begun(void)
{
    char first[VEL_LAUNCH_ROOM], got[VEL_LAUNCH_ROOM], launch_dir[4096];
    uint64_t begun = manual.monotonic;

    meet_all(first);
    join(first, "n1", "1-2");
    snprintf(launch_dir, sizeof launch_dir, "%s/launch.%s", dir, first);
    save_beat(launch_dir, 1);
    meanwhile = rank_2_comes;
    meet_one(7, got);
    ok(joined_then[0] && strcmp(joined_then, first) != 0,
       "who had joined a launch that is dead begins another one");
    is_str(got, joined_then, "and who has waited for that comes along");
    ok(manual.monotonic - begun < VEL_CLOCK_S / 2, "at once");
}

static void in_step(int64_t rank, const char *want, const char *text)
{
    char got[VEL_LAUNCH_ROOM];

    meet_named("17.3", rank, got);
    is_str(got, want, "%s", text);
}

static void all_leave(void)
{
    char launch_dir[4096];

    snprintf(launch_dir, sizeof launch_dir, "%s/launch.leaving", dir);
    vel_endpoint_leave(vel_fs_posix(), launch_dir, "n1", NULL);
}

/* The others end, in good order, while a rank that begins looks for a sign of life. */
static void they_leave(void)
{
    char got[VEL_LAUNCH_ROOM], launch_dir[4096];
    uint64_t begun = manual.monotonic;

    meet_named("leaving", 0, got);
    join("leaving", "n1", "0-3");
    snprintf(launch_dir, sizeof launch_dir, "%s/launch.leaving", dir);
    save_beat(launch_dir, 1);
    meanwhile = all_leave;
    meet_named("leaving", 7, got);
    is_str(got, "leaving",
           "a rank that begins while all others end is of their launch");
    ok(manual.monotonic - begun < VEL_CLOCK_S / 2,
       "and waits for no sign of life of them");
}

/* A step of a scheduler runs one program after the other. */
static void names_again(void)
{
    char launch_dir[4096], command[4200];

    in_step(0, "17.3", "a launcher's name is the launch's");
    in_step(1, "17.3", "for all ranks");
    join("17.3", "n1", "0");
    snprintf(launch_dir, sizeof launch_dir, "%s/launch.17.3", dir);
    vel_endpoint_leave(vel_fs_posix(), launch_dir, "n1", NULL);
    in_step(1, "17.3", "also for one that comes when the first has left");
    in_step(0, "17.3.2", "a rank that has left it is of the next program");
    in_step(1, "17.3.2", "and so are those that come after that");
    end_launch("17.3");
    snprintf(command, sizeof command, "rm -r '%s'", launch_dir);
    if (system(command) != 0)
        bail_out("no rm");
    in_step(2, "17.3.2", "also when the launch before has been removed");
    lose("17.3.2", "n1", "0 3");
    in_step(1, "17.3.3", "one of which a rank was killed is over");
    join("17.3.3", "n1", "0-1");
    in_step(2, "17.3.4", "so is one that does not give a sign of life");
    end_launch("17.3.4");
    in_step(2, "17.3.5", "and one that has ended");
    end_launch("17.3.5");
    claim_above("17.3.5");
    in_step(2, "17.3.6", "also while one of it is about to write");
}

int main(void)
{
    snprintf(dir, sizeof dir, "%s", tap_path("veloc"));
    tap_fresh_dir(dir);
    names();
    over();
    meetings();
    half_begun();
    they_leave();
    names_again();
    return done_testing();
}
