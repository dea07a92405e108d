/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "engine/background.h"

static struct vel_background *the_one;

void vel_background_offer(struct vel_background *background)
{
    the_one = background;
}

struct vel_background *vel_background_offered(void)
{
    return the_one;
}

/* --- nobody --- */

static int no_open(struct vel_background *b, const struct vel_background_of *of,
                   char ret_launch[VEL_LAUNCH_ROOM], struct vel_err *err)
{
    (void)b, (void)err;
    snprintf(ret_launch, VEL_LAUNCH_ROOM, "%s", of->fresh);
    return 0;
}

/* Nothing is under way. */
static int no_owe(struct vel_background *b, int64_t dataset, int rank, unsigned what,
                  const char *dir, unsigned *ret_before, struct vel_err *err)
{
    (void)b, (void)dataset, (void)rank, (void)dir;
    *ret_before = VEL_OWE_NOTHING;
    return what & (VEL_OWE_ENCODE | VEL_OWE_FLUSH)
               ? vel_fail(err, VEL_EUNSUP, "this launch has no leaders")
               : 0;
}

static int no_settle(struct vel_background *b, int64_t dataset, const void *record,
                     size_t len, struct vel_err *err)
{
    (void)b, (void)dataset, (void)record, (void)len;
    return vel_fail(err, VEL_EUNSUP, "this launch has no leaders");
}

static int no_mark(struct vel_background *b, int64_t dataset, enum vel_mark what,
                   bool waits, const void *record, size_t len, struct vel_err *err)
{
    (void)b, (void)dataset, (void)what, (void)waits, (void)record, (void)len;
    return vel_fail(err, VEL_EUNSUP, "this launch has no leaders");
}

static int no_ask(struct vel_background *b, int64_t dataset,
                  struct vel_background_state *ret, struct vel_err *err)
{
    (void)b, (void)dataset, (void)err;
    memset(ret, 0, sizeof *ret);
    return 0;
}

static int no_drain(struct vel_background *b, int64_t dataset, int64_t patience,
                    struct vel_background_state *ret, struct vel_err *err)
{
    (void)patience;
    return no_ask(b, dataset, ret, err);
}

static int no_ping(struct vel_background *b, enum vel_background_ping what,
                   int64_t *ret_value, struct vel_err *err)
{
    (void)b, (void)err;
    *ret_value = what != VEL_PING_BACKUP;
    return 0;
}

static bool no_outlives(struct vel_background *b)
{
    (void)b;
    return false;
}

static int no_leave(struct vel_background *b, bool is_well, struct vel_err *err)
{
    (void)b, (void)is_well, (void)err;
    return 0;
}

static const struct vel_background_ops no_ops = {.open = no_open,
                                                 .owe = no_owe,
                                                 .settle = no_settle,
                                                 .mark = no_mark,
                                                 .ask = no_ask,
                                                 .drain = no_drain,
                                                 .ping = no_ping,
                                                 .outlives = no_outlives,
                                                 .leave = no_leave};

static struct vel_background nobody = {.ops = &no_ops};

struct vel_background *vel_background_nobody(void)
{
    return &nobody;
}
