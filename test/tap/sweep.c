/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/path.h"
#include "tap/files.h"
#include "tap/sweep.h"
#include "tap/tap.h"

enum { NOPS_MAX = 5000, NSEEDS = 8 };

/* how one run goes, and what came of it */
struct trial {
    const struct sweep *sweep;
    struct vel_fs_fault_plan plan;
    bool has_loss;
    enum vel_fs_loss loss;
    uint64_t seed;
    char dir[1024];

    int rc;
    bool has_fired;
    unsigned problems; /* of this and all trials before */
};

static void problem(struct trial *t, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static void problem(struct trial *t, const char *fmt, ...)
{
    char text[2048];
    va_list ap;

    if (t->problems++ > 0)
        return; /* the first one tells enough */
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    note("%s, operation %llu, errno %d, loss %d, seed %llu:\n%s", t->sweep->name,
         (unsigned long long)t->plan.at, t->plan.errnum,
         t->has_loss ? (int)t->loss : -1, (unsigned long long)t->seed, text);
}

struct search {
    bool (*is_temporary)(const char *name);
    int n;
};

static int count_temporary(void *arg, enum vel_fs_visit what, const char *below,
                           const struct stat *st, struct vel_err *err)
{
    struct search *s = arg;

    (void)st, (void)err;
    s->n += what == VEL_FS_FILE && s->is_temporary(vel_path_base(below));
    return 0;
}

static bool has_temporary(const struct trial *t)
{
    struct search s = {t->sweep->is_temporary, 0};

    if (!s.is_temporary)
        s.is_temporary = vel_fs_is_temporary;
    if (vel_fs_walk(vel_fs_posix(), t->dir, count_temporary, &s, NULL) < 0)
        bail_out("cannot walk %s", t->dir);
    return s.n > 0;
}

static void act(struct trial *t)
{
    const struct sweep *s = t->sweep;
    struct vel_fs_fault *fault;
    struct vel_err err = {0};
    int fds = tap_open_fds();

    if (vel_fs_fault_create(vel_fs_posix(), t->has_loss ? tap_path("aside") : NULL,
                            &fault, &err) < 0)
        bail_out("%s", err.text);
    vel_fs_fault_arm(fault, &t->plan);
    t->rc = s->action(vel_fs_fault_fs(fault), t->dir, s->arg, &err);
    t->has_fired = vel_fs_fault_fired(fault);
    if (t->rc < 0 && !err.text[0])
        problem(t, "failed without a sentence");
    if (t->has_loss && vel_fs_fault_power_loss(fault, t->loss, t->seed, &err) < 0)
        problem(t, "the loss of power itself: %s", err.text);
    vel_fs_fault_destroy(fault);
    if (tap_open_fds() != fds)
        problem(t, "%d descriptors left open", tap_open_fds() - fds);
}

/* After whatever happened: the same action without faults. */
static void repeat(struct trial *t)
{
    const struct sweep *s = t->sweep;
    struct vel_err err = {0};

    if (s->action(vel_fs_posix(), t->dir, s->arg, &err) < 0)
        problem(t, "cannot be repeated: %s", err.text);
    else if (s->check(t->dir, s->arg) != SWEEP_NEW && !s->may_stay_old)
        problem(t, "repeated, it does not give the new state");
    if (has_temporary(t))
        problem(t, "repeated, it leaves a temporary");
}

static void run_trial(struct trial *t)
{
    const struct sweep *s = t->sweep;
    bool is_crash = t->plan.mode == VEL_FS_FAULT_CRASH;

    snprintf(t->dir, sizeof t->dir, "%s", tap_path("sweep"));
    tap_fresh_dir(t->dir);
    s->prepare(t->dir, s->arg);
    act(t);
    enum sweep_state state = s->check(t->dir, s->arg);
    if (state == SWEEP_BROKEN)
        problem(t, "neither the old nor the new state (result %d)", t->rc);
    if (t->rc == 0 && state == SWEEP_OLD && !s->may_stay_old &&
        !(s->is_lazy && t->has_loss))
        problem(t, "success, but not the new state");
    if (t->rc < 0 && !t->has_fired)
        problem(t, "failed without any fault");
    if (!is_crash && !s->has_temporary && t->plan.mode != VEL_FS_FAULT_LASTING &&
        has_temporary(t))
        problem(t, "a temporary is left");
    repeat(t);
}

/* n = 1, 2, 3 ... until nothing fires; returns the number of operations */
static unsigned run_all(struct trial *t)
{
    for (t->plan.at = 1; t->plan.at < NOPS_MAX; t->plan.at++) {
        run_trial(t);
        if (!t->has_fired)
            return (unsigned)t->plan.at - 1;
    }
    problem(t, "still failing");
    return NOPS_MAX;
}

static void fail_each(const struct sweep *s, enum vel_fs_fault_mode mode, int errnum)
{
    struct trial t = {.sweep = s, .plan = {.mode = mode, .errnum = errnum}};
    unsigned n = run_all(&t);

    ok(t.problems == 0 && n > 0, "%s: %s, %s from any of %u operations", s->name,
       strerror(errnum), mode == VEL_FS_FAULT_ONCE ? "once" : "lasting", n);
}

static void crash_each(const struct sweep *s, const char *what, enum vel_fs_loss loss,
                       unsigned nseeds)
{
    struct trial t = {.sweep = s,
                      .plan = {.mode = VEL_FS_FAULT_CRASH},
                      .has_loss = true,
                      .loss = loss};
    unsigned n = 0;

    for (t.seed = 1; t.seed <= nseeds; t.seed++)
        n = run_all(&t);
    ok(t.problems == 0 && n > 0, "%s: a crash at any of %u operations, %s", s->name, n,
       what);
}

static void shorten(const struct sweep *s)
{
    struct trial t = {.sweep = s,
                      .plan = {.mode = VEL_FS_FAULT_NONE, .most_at_once = 3}};

    run_trial(&t);
    ok(t.problems == 0 && t.rc == 0, "%s: short reads and writes", s->name);
}

void sweep_run(const struct sweep *sweep)
{
    shorten(sweep);
    fail_each(sweep, VEL_FS_FAULT_ONCE, EIO);
    fail_each(sweep, VEL_FS_FAULT_ONCE, ENOSPC);
    fail_each(sweep, VEL_FS_FAULT_LASTING, EROFS);
    crash_each(sweep, "nothing lost", VEL_FS_LOSS_KEEP, 1);
    crash_each(sweep, "all unsynced lost", VEL_FS_LOSS_DROP, 1);
    crash_each(sweep, "some unsynced lost", VEL_FS_LOSS_RANDOM, NSEEDS);
}
