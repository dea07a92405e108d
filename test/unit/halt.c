/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "meta/halt_watch.h"
#include "record/record.h"
#include "tap/manual_clock.h"
#include "tap/files.h"
#include "tap/sweep.h"
#include "tap/tap.h"

static struct vel_fs *fs;

static enum vel_halt_why test(const struct vel_halt *halt, struct vel_halt_now now)
{
    struct vel_halt_verdict verdict;

    vel_halt_test(halt, VEL_HALT_PROGRAM, &now, &verdict);
    if ((verdict.why == VEL_HALT_NONE) != !verdict.text[0])
        note("%d goes with the sentence '%s'", verdict.why, verdict.text);
    return (verdict.why == VEL_HALT_NONE) == !verdict.text[0] ? verdict.why
                                                              : (enum vel_halt_why) - 1;
}

static void conditions(void)
{
    const struct vel_halt_now now = {.wall = 10000, .cost = 5};
    struct vel_halt halt;
    struct vel_halt_verdict verdict;
    struct vel_err err = {0};

    vel_halt_init(&halt);
    is_int(test(&halt, now), VEL_HALT_NONE, "nothing asked for: go on");
    vel_halt_set_checkpoints(&halt, 2, &err);
    is_int(test(&halt, now), VEL_HALT_NONE, "checkpoints are left: go on");
    vel_halt_set_checkpoints(&halt, 0, &err);
    is_int(test(&halt, now), VEL_HALT_CHECKPOINTS, "none are left: stop");
    vel_halt_set_checkpoints(&halt, -1, &err);
    is_int(test(&halt, now), VEL_HALT_NONE, "taken back: go on");
    vel_halt_set_after(&halt, 10001, &err);
    is_int(test(&halt, now), VEL_HALT_NONE, "the time to stop after is to come");
    vel_halt_set_after(&halt, 10000, &err);
    is_int(test(&halt, now), VEL_HALT_AFTER, "it has come");
    vel_halt_set_after(&halt, 0, &err);
    vel_halt_set_before(&halt, 10005, &err);
    is_int(test(&halt, now), VEL_HALT_NONE,
           "a checkpoint fits in before the time to stop before");
    vel_halt_set_before(&halt, 10004, &err);
    is_int(test(&halt, now), VEL_HALT_BEFORE, "it does not any more");
    vel_halt_set_before(&halt, 9000, &err);
    is_int(test(&halt, (struct vel_halt_now){.wall = 10000}), VEL_HALT_BEFORE,
           "the time is past");
    vel_halt_set_before(&halt, 11000, &err);
    vel_halt_set_seconds(&halt, 1000, &err);
    is_int(test(&halt, now), VEL_HALT_BEFORE, "seconds to end in count before it, too");
    vel_halt_test(&halt, VEL_HALT_PROGRAM, &now, &verdict);
    is_str(verdict.text,
           "1000 s are left until 1970-01-01 03:03:20 UTC, before which to halt; 1000 "
           "s are kept to end in and 5.0 s for one more checkpoint",
           "and the sentence tells the sum");
    vel_halt_set_reason(&halt, "maintenance at 100 %", &err);
    vel_halt_test(&halt, VEL_HALT_PROGRAM, &now, &verdict);
    is_int(verdict.why, VEL_HALT_ASKED, "a reason stops at once");
    is_str(verdict.text, "a halt was asked for: maintenance at 100 %",
           "and is told as it was given");
    vel_halt_fini(&halt);
}

static void end_of_allocation(void)
{
    struct vel_halt halt;

    vel_halt_init(&halt);
    is_int(test(&halt, (struct vel_halt_now){.wall = 100, .end = 90}), VEL_HALT_NONE,
           "without HALT_SECONDS the end of the allocation does not matter");
    is_int(test(&halt, (struct vel_halt_now){.wall = 100, .seconds = 60}),
           VEL_HALT_NONE, "nor when it is unknown");
    is_int(test(&halt, (struct vel_halt_now){.wall = 100, .end = 160, .seconds = 60}),
           VEL_HALT_NONE, "so many seconds are left");
    is_int(test(&halt,
                (struct vel_halt_now){
                    .wall = 100, .end = 160, .seconds = 60, .cost = 0.5}),
           VEL_HALT_END, "too few for one more checkpoint");
    halt.seconds = 30;
    is_int(test(&halt,
                (struct vel_halt_now){
                    .wall = 100, .end = 160, .seconds = 60, .cost = 0.5}),
           VEL_HALT_NONE, "the operator's seconds stand above the settings'");
    vel_halt_fini(&halt);
}

static void asking(void)
{
    struct vel_halt halt;
    struct vel_err err = {0};

    vel_halt_init(&halt);
    is_int(vel_halt_set_checkpoints(&halt, -2, &err), VEL_EINVAL,
           "a negative number is refused");
    is_str(err.text, "checkpoints before a halt: -2 is not from 0 to 1000000000",
           "in a sentence");
    is_int(vel_halt_set_before(&halt, INT64_MAX, &err), VEL_EINVAL,
           "so are times beyond the year 9999");
    is_int(vel_halt_set_after(&halt, -5, &err), VEL_EINVAL, "times before 1970");
    is_int(vel_halt_set_seconds(&halt, 31536001, &err), VEL_EINVAL,
           "more than a year of seconds");
    is_int(vel_halt_set_reason(&halt, "", &err), VEL_EINVAL, "and empty reasons");
    ok(halt.checkpoints == -1 && halt.before == 0 && halt.after == 0 &&
           halt.seconds == -1 && !halt.reason,
       "and nothing of it is kept");
    vel_halt_fini(&halt);
}

static void load_both(const char *dir, struct vel_halt *halt)
{
    struct vel_err err = {0};

    vel_halt_init(halt);
    if (vel_halt_load(fs, dir, halt, &err) < 0 ||
        vel_halt_load_run(fs, dir, halt, &err) < 0)
        note("%s", err.text);
}

static void on_disk(void)
{
    struct vel_halt halt, again;
    struct vel_err err = {0};

    vel_halt_init(&halt);
    is_int(vel_halt_load(fs, tap_dir(), &halt, &err), 0, "no file is no condition");
    vel_halt_set_checkpoints(&halt, 7, &err);
    vel_halt_set_before(&halt, 253402300799, &err);
    vel_halt_set_after(&halt, 1, &err);
    vel_halt_set_seconds(&halt, 0, &err);
    vel_halt_set_reason(&halt, "\xff% no UTF-8", &err);
    is_int(vel_halt_save(fs, tap_dir(), &halt, &err), 0, "conditions are saved");
    load_both(tap_dir(), &again);
    ok(again.checkpoints == 7 && again.before == 253402300799 && again.after == 1 &&
           again.seconds == 0,
       "and loaded again");
    is_str(again.reason, "\xff% no UTF-8", "with any text as a reason");
    vel_halt_fini(&again);
    vel_halt_fini(&halt);
    is_int(vel_halt_save(fs, tap_dir(), &halt, &err), 0, "saving none");
    ok(access(tap_path("halt"), F_OK) < 0, "removes the file");
}

static void counting(void)
{
    struct vel_halt halt, operator;
    struct vel_err err = {0};

    vel_halt_init(&operator);
    vel_halt_init(&halt);
    is_int(vel_halt_count(fs, tap_dir(), &halt, &err), 0,
           "a checkpoint is complete and nobody counts");
    ok(access(tap_path("halt-run"), F_OK) < 0, "so nothing is written");
    vel_halt_set_checkpoints(&operator, 2, &err);
    vel_halt_save(fs, tap_dir(), &operator, & err);
    load_both(tap_dir(), &halt);
    is_int(vel_halt_left(&halt), 2, "two more are allowed");
    vel_halt_count(fs, tap_dir(), &halt, &err);
    is_int(vel_halt_left(&halt), 1, "one is complete, one is left");
    vel_halt_fini(&halt);
    load_both(tap_dir(), &halt);
    is_int(vel_halt_left(&halt), 1, "also for the next launch");
    vel_halt_count(fs, tap_dir(), &halt, &err);
    vel_halt_count(fs, tap_dir(), &halt, &err);
    is_int(vel_halt_left(&halt), 0, "none is left, and it stays so");
    vel_halt_set_checkpoints(&operator, 2, &err);
    vel_halt_save(fs, tap_dir(), &operator, & err);
    vel_halt_fini(&halt);
    load_both(tap_dir(), &halt);
    is_int(vel_halt_left(&halt), 2, "asking for two again is two more");
    vel_halt_fini(&halt);
    vel_halt_fini(&operator);
}

static void finishing(void)
{
    const struct vel_halt_now now = {.wall = 1};
    struct vel_halt halt;
    struct vel_halt_verdict verdict;
    struct vel_err err = {0};

    load_both(tap_dir(), &halt);
    is_int(vel_halt_finish(fs, tap_dir(), &halt, "VELOC_Finalize", &err), 0,
           "a program has ended well");
    vel_halt_fini(&halt);
    load_both(tap_dir(), &halt);
    is_int(test(&halt, now), VEL_HALT_NONE, "which is no reason for a program to stop");
    vel_halt_test(&halt, VEL_HALT_LAUNCH, &now, &verdict);
    is_int(verdict.why, VEL_HALT_FINISHED, "and one not to launch it again");
    is_str(verdict.text, "the program has ended: VELOC_Finalize", "says the sentence");
    is_int(vel_halt_begin(fs, tap_dir(), &halt, &err), 0, "a new run begins");
    vel_halt_fini(&halt);
    load_both(tap_dir(), &halt);
    vel_halt_test(&halt, VEL_HALT_LAUNCH, &now, &verdict);
    is_int(verdict.why, VEL_HALT_NONE, "and has not ended yet");
    is_int(vel_halt_left(&halt), 2, "what the operator asked for stands");
    vel_halt_fini(&halt);
}

static void put_record(const char *type, int version, const char *key, int64_t number,
                       const char *text)
{
    struct vel_node *body = vel_node_object();

    if (text)
        vel_node_set_text(body, key, text);
    else
        vel_node_set_int(body, key, number);
    if (vel_record_save(fs, tap_path(type), type, version, body, NULL) < 0)
        bail_out("cannot write %s", type);
    vel_node_destroy(body);
}

static void hostile(void)
{
    static const struct {
        const char *type, *key, *text;
        int64_t number;
    } bad[] = {
        {"halt", "checkpoints", NULL, -1},  {"halt", "checkpoints", NULL, 5},
        {"halt", "checkpoints", "5", 0},    {"halt", "before", NULL, INT64_MAX},
        {"halt", "after", NULL, INT64_MIN}, {"halt", "seconds", NULL, -1},
        {"halt", "reason", NULL, 4},        {"halt", "reason", "%zz", 0},
        {"halt-run", "done", NULL, 0},      {"halt-run", "done", NULL, 3},
        {"halt-run", "finished", "%", 0},
    };
    struct vel_halt halt;
    int accepted = 0, silent = 0;

    vel_halt_init(&halt);
    halt.after = 5;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct vel_err err = {0};

        put_record(bad[i].type, 1, bad[i].key, bad[i].number, bad[i].text);
        int rc = strcmp(bad[i].type, "halt") == 0
                     ? vel_halt_load(fs, tap_dir(), &halt, &err)
                     : vel_halt_load_run(fs, tap_dir(), &halt, &err);
        accepted += rc != VEL_ECORRUPT;
        silent += !strstr(err.text, bad[i].type);
    }
    is_int(accepted, 0, "values that nobody can have asked for are refused");
    is_int(silent, 0, "with the name of the file");
    ok(halt.after == 5 && halt.checkpoints == -1 && !halt.reason && halt.done == 0,
       "and nothing of them is taken");
    vel_halt_fini(&halt);
}

/* lines that were logged */
static int warnings;
static char warning[1024];

static void hear(void *arg, enum vel_log_level level, const char *line, size_t len)
{
    (void)arg, (void)len;
    warnings += level == VEL_LOG_WARN;
    strncpy(warning, line, sizeof warning - 1);
}

static void watching(const struct vel_host *host)
{
    const struct vel_log_sink sink = {.level = VEL_LOG_WARN, .write = hear};
    struct vel_manual_clock clock;
    struct vel_halt_watch watch;
    struct vel_halt halt;
    struct vel_err err = {0};

    tap_fresh_dir(tap_path("watched"));
    vel_log_open(&sink);
    vel_manual_clock_init(&clock, 0, 0);
    if (vel_halt_watch_init(&watch, fs, &clock.clock, host, tap_path("watched"), &err) <
        0)
        bail_out("%s", err.text);
    ok(!vel_halt_watch_look(&watch)->reason, "a run sees that nothing is asked for");
    vel_halt_init(&halt);
    vel_halt_set_checkpoints(&halt, 3, &err);
    vel_halt_set_reason(&halt, "now", &err);
    vel_halt_save(fs, watch.dir, &halt, &err);
    ok(!vel_halt_watch_look(&watch)->reason, "it does not read the file all the time");
    vel_manual_clock_advance(&clock, VEL_CLOCK_S);
    is_str(vel_halt_watch_look(&watch)->reason, "now", "but every second");
    tap_put_file(tap_path("watched/halt"), "{}\n");
    tap_put_file(tap_path("watched/halt-run"), "");
    for (int i = 0; i < 3; i++) {
        vel_manual_clock_advance(&clock, VEL_CLOCK_S);
        vel_halt_watch_look(&watch);
    }
    is_int(warnings, 1, "a damaged record is told once");
    ok(strstr(warning, "watched/halt: not an h5veloc record; the run goes on") != NULL,
       "in a sentence: %s", warning);
    ok(watch.halt.reason != NULL && watch.halt.checkpoints == 3,
       "what was known stays in force");
    vel_halt_watch_count(&watch);
    is_int(vel_halt_left(&watch.halt), 2, "checkpoints are counted all the same");
    vel_halt_save(fs, watch.dir, &halt, &err);
    vel_halt_watch_finish(&watch, "VELOC_Finalize");
    is_int(warnings, 1, "and the record of the run is whole again by that");
    vel_halt_watch_fini(&watch);

    vel_halt_watch_init(&watch, fs, &clock.clock, host, tap_path("watched"), &err);
    vel_halt_watch_begin(&watch);
    ok(vel_halt_left(&watch.halt) == 2 && !watch.halt.finished,
       "the next run goes on from there");
    tap_fresh_dir(tap_path("watched"));
    rmdir(tap_path("watched"));
    watch.halt.checkpoints = 9;
    vel_halt_watch_finish(&watch, "VELOC_Finalize");
    is_int(warnings, 2, "a record that cannot be written is a warning, too");
    ok(strstr(warning, "a later run will not know of it") != NULL,
       "with what comes of it: %s", warning);
    vel_halt_watch_fini(&watch);
    vel_halt_fini(&halt);
    vel_manual_clock_fini(&clock);
    vel_log_open(NULL);
}

static void prepare_asked(const char *dir, void *arg)
{
    struct vel_halt halt;

    (void)arg;
    vel_halt_init(&halt);
    vel_halt_set_checkpoints(&halt, 2, NULL);
    if (vel_halt_save(fs, dir, &halt, NULL) < 0)
        bail_out("cannot write in %s", dir);
    vel_halt_fini(&halt);
}

static int take_back(struct vel_fs *faulty, const char *dir, void *arg,
                     struct vel_err *err)
{
    struct vel_halt none;

    (void)arg;
    vel_halt_init(&none);
    return vel_halt_save(faulty, dir, &none, err);
}

static enum sweep_state check_asked(const char *dir, void *arg)
{
    struct vel_halt halt;

    (void)arg;
    vel_halt_init(&halt);
    if (vel_halt_load(fs, dir, &halt, NULL) < 0)
        return SWEEP_BROKEN;
    return halt.checkpoints == 2 ? SWEEP_OLD : SWEEP_NEW;
}

/* one checkpoint of two is complete, and the program ends */
static int end_run(struct vel_fs *faulty, const char *dir, void *arg,
                   struct vel_err *err)
{
    struct vel_halt halt;

    (void)arg;
    vel_halt_init(&halt);
    int rc = vel_halt_load(faulty, dir, &halt, err);
    if (rc == 0)
        rc = vel_halt_count(faulty, dir, &halt, err);
    if (rc == 0)
        rc = vel_halt_finish(faulty, dir, &halt, "the end", err);
    vel_halt_fini(&halt);
    return rc;
}

static enum sweep_state check_run(const char *dir, void *arg)
{
    struct vel_halt halt;

    (void)arg;
    vel_halt_init(&halt);
    if (vel_halt_load(fs, dir, &halt, NULL) < 0 ||
        vel_halt_load_run(fs, dir, &halt, NULL) < 0)
        return SWEEP_BROKEN;
    bool is_new = halt.finished && vel_halt_left(&halt) == 1;
    bool is_old = !halt.finished;
    vel_halt_fini(&halt);
    return is_new ? SWEEP_NEW : is_old ? SWEEP_OLD : SWEEP_BROKEN;
}

enum { PROGRAMS = 4, COUNTS = 25 };

static void count_as_a_program(const struct vel_host *host)
{
    struct vel_halt_watch watch;
    struct vel_err err = {0};

    if (vel_halt_watch_init(&watch, fs, vel_clock_system(), host, tap_path("several"),
                            &err) < 0)
        _exit(1);
    for (int i = 0; i < COUNTS; i++)
        vel_halt_watch_count(&watch);
    vel_halt_watch_fini(&watch);
    _exit(0);
}

/* Who shares a prefix shares its records. */
static void several(const struct vel_host *host)
{
    struct vel_halt halt;
    struct vel_err err = {0};
    int status, failed = 0;

    tap_fresh_dir(tap_path("several"));
    vel_halt_init(&halt);
    vel_halt_set_checkpoints(&halt, PROGRAMS * COUNTS + 7, &err);
    if (vel_halt_save(fs, tap_path("several"), &halt, &err) < 0)
        bail_out("%s", err.text);
    fflush(stdout);
    for (int i = 0; i < PROGRAMS; i++)
        if (fork() == 0)
            count_as_a_program(host);
    while (wait(&status) > 0)
        failed += status != 0;
    is_int(failed, 0, "%d programs in one prefix count their checkpoints", PROGRAMS);
    vel_halt_load_run(fs, tap_path("several"), &halt, &err);
    is_int(vel_halt_left(&halt), 7, "and none of them is forgotten");
    vel_halt_fini(&halt);
}

int main(void)
{
    struct vel_host host;
    const struct sweep asked = {.name = "taking a halt back",
                                .prepare = prepare_asked,
                                .action = take_back,
                                .check = check_asked};
    const struct sweep run = {.name = "counting and ending",
                              .prepare = prepare_asked,
                              .action = end_run,
                              .check = check_run};

    fs = vel_fs_posix();
    conditions();
    end_of_allocation();
    asking();
    on_disk();
    counting();
    finishing();
    hostile();
    if (vel_host_init(&host, NULL) < 0)
        bail_out("who are we?");
    watching(&host);
    several(&host);
    vel_host_fini(&host);
    sweep_run(&asked);
    sweep_run(&run);
    return done_testing();
}
