/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "meta/halt_watch.h"

int vel_halt_watch_init(struct vel_halt_watch *watch, struct vel_fs *fs,
                        struct vel_clock *clock, const char *dir, struct vel_err *err)
{
    char *copy = strdup(dir);

    if (!copy)
        return vel_out_of_memory(err, "watch for a halt");
    *watch = (struct vel_halt_watch){.fs = fs, .clock = clock, .dir = copy};
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

void vel_halt_watch_begin(struct vel_halt_watch *watch)
{
    struct vel_err err = {0};

    look(watch);
    tell_unsaved(vel_halt_begin(watch->fs, watch->dir, &watch->halt, &err), &err);
}

void vel_halt_watch_count(struct vel_halt_watch *watch)
{
    struct vel_err err = {0};

    look(watch);
    tell_unsaved(vel_halt_count(watch->fs, watch->dir, &watch->halt, &err), &err);
}

void vel_halt_watch_finish(struct vel_halt_watch *watch, const char *reason)
{
    struct vel_err err = {0};

    look(watch);
    tell_unsaved(vel_halt_finish(watch->fs, watch->dir, &watch->halt, reason, &err),
                 &err);
}
