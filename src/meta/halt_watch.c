/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/path.h"
#include "meta/halt_watch.h"
#include "sys/lock.h"

#define LOCK_WAIT (5 * VEL_CLOCK_S)

int vel_halt_watch_init(struct vel_halt_watch *watch, struct vel_fs *fs,
                        struct vel_clock *clock, const struct vel_host *host,
                        const char *dir, struct vel_err *err)
{
    char *copy = strdup(dir);

    if (!copy)
        return vel_out_of_memory(err, "watch for a halt");
    *watch =
        (struct vel_halt_watch){.fs = fs, .clock = clock, .host = host, .dir = copy};
    vel_halt_init(&watch->halt);
    return 0;
}

void vel_halt_watch_fini(struct vel_halt_watch *watch)
{
    vel_halt_fini(&watch->halt);
    free(watch->dir);
    watch->dir = NULL;
}

/* Tell a failure, but not on every look. */
static void tell(struct vel_halt_watch *watch, int rc, const struct vel_err *err)
{
    if (rc < 0 && !watch->is_told)
        vel_log(VEL_LOG_WARN,
                "%s; the run goes on with the conditions for a halt that it knows",
                err->text);
    watch->is_told = rc < 0;
}

static void look(struct vel_halt_watch *watch)
{
    struct vel_err err = {0}, second = {0};
    int rc = vel_halt_load(watch->fs, watch->dir, &watch->halt, &err);
    int run_rc = vel_halt_load_run(watch->fs, watch->dir, &watch->halt, &second);

    if (rc < 0)
        tell(watch, rc, &err);
    else
        tell(watch, run_rc, &second);
    watch->next = vel_clock_deadline(watch->clock, VEL_CLOCK_S);
}

const struct vel_halt *vel_halt_watch_look(struct vel_halt_watch *watch)
{
    if (vel_clock_monotonic(watch->clock) >= watch->next)
        look(watch);
    return &watch->halt;
}

/* What was looked for just now was told already; a record that cannot be written is
 * news. */
static void tell_unsaved(int rc, const struct vel_err *err)
{
    if (rc < 0)
        vel_log(VEL_LOG_WARN, "%s; a later run will not know of it", err->text);
}

/* The record as it is now, ours to change until it is given back. Who has stopped with
 * the lock must not stop others: one count may be lost then. */
static struct vel_lock *hold(struct vel_halt_watch *watch)
{
    char *path = vel_path_join(watch->dir, "halt-run.lock");
    struct vel_lock *lock = NULL;
    struct vel_err why = {0};

    if (path && vel_lock_wait(watch->fs, watch->host, watch->clock, LOCK_WAIT, path,
                              &lock, &why) < 0)
        vel_log(VEL_LOG_INFO, "the record of halts is changed without a lock: %s",
                why.text);
    free(path);
    look(watch);
    return lock;
}

void vel_halt_watch_begin(struct vel_halt_watch *watch)
{
    struct vel_lock *lock;
    struct vel_err err = {0};

    look(watch);
    if (!watch->halt.finished)
        return;
    lock = hold(watch);
    tell_unsaved(vel_halt_begin(watch->fs, watch->dir, &watch->halt, &err), &err);
    vel_lock_release(lock);
}

void vel_halt_watch_count(struct vel_halt_watch *watch)
{
    struct vel_lock *lock;
    struct vel_err err = {0};

    look(watch);
    if (vel_halt_left(&watch->halt) <= 0)
        return;
    lock = hold(watch);
    tell_unsaved(vel_halt_count(watch->fs, watch->dir, &watch->halt, &err), &err);
    vel_lock_release(lock);
}

void vel_halt_watch_finish(struct vel_halt_watch *watch, const char *reason)
{
    struct vel_lock *lock = hold(watch);
    struct vel_err err = {0};

    tell_unsaved(vel_halt_finish(watch->fs, watch->dir, &watch->halt, reason, &err),
                 &err);
    vel_lock_release(lock);
}
