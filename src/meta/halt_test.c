/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether to stop, from what was asked, what was noted and what time it is. */
#include "config.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include "meta/halt.h"

struct question {
    const struct vel_halt *halt;
    struct vel_halt_now now; /* with the operator's seconds, when he gave some */
    struct vel_halt_verdict *ret;
};

static bool stop(struct question *q, enum vel_halt_why why, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static bool stop(struct question *q, enum vel_halt_why why, const char *fmt, ...)
{
    va_list ap;

    q->ret->why = why;
    va_start(ap, fmt);
    vsnprintf(q->ret->text, sizeof q->ret->text, fmt, ap);
    va_end(ap);
    return true;
}

/* Is less time left to that moment than ending and one more checkpoint take? */
static bool is_short(const struct question *q, double moment)
{
    return moment - q->now.wall < q->now.seconds + q->now.cost;
}

static bool test_short(struct question *q, enum vel_halt_why why, double moment,
                       const char *what)
{
    double left = moment - q->now.wall;

    if (!is_short(q, moment) && left > 0)
        return false;
    return stop(q, why,
                "%.0f s are left %s; %.0f s are kept to end in and %.1f s for one more "
                "checkpoint",
                left > 0 ? left : 0, what, q->now.seconds, q->now.cost);
}

static void print_time(int64_t seconds, char ret_text[40])
{
    time_t time = (time_t)seconds;
    struct tm tm;

    if (!gmtime_r(&time, &tm) ||
        strftime(ret_text, 40, "%Y-%m-%d %H:%M:%S UTC", &tm) == 0)
        snprintf(ret_text, 40, "second %" PRId64, seconds);
}

static bool test_reason(struct question *q)
{
    return q->halt->reason &&
           stop(q, VEL_HALT_ASKED, "a halt was asked for: %s", q->halt->reason);
}

static bool test_checkpoints(struct question *q)
{
    return vel_halt_left(q->halt) == 0 &&
           stop(q, VEL_HALT_CHECKPOINTS,
                "a halt was asked for after %" PRId64 " checkpoints, which are done",
                q->halt->checkpoints);
}

static bool test_before(struct question *q)
{
    char text[40], what[80];

    if (q->halt->before <= 0)
        return false;
    print_time(q->halt->before, text);
    snprintf(what, sizeof what, "until %s, before which to halt", text);
    return test_short(q, VEL_HALT_BEFORE, (double)q->halt->before, what);
}

static bool test_after(struct question *q)
{
    char text[40];

    if (q->halt->after <= 0 || q->now.wall < (double)q->halt->after)
        return false;
    print_time(q->halt->after, text);
    return stop(q, VEL_HALT_AFTER, "a halt was asked for after %s, which is past",
                text);
}

static bool test_end(struct question *q)
{
    return q->now.end > 0 && q->now.seconds > 0 &&
           test_short(q, VEL_HALT_END, q->now.end, "of the allocation");
}

static bool test_finished(struct question *q)
{
    return q->halt->finished &&
           stop(q, VEL_HALT_FINISHED, "the program has ended: %s", q->halt->finished);
}

void vel_halt_test(const struct vel_halt *halt, enum vel_halt_asker asker,
                   const struct vel_halt_now *now, struct vel_halt_verdict *ret)
{
    struct question q = {.halt = halt, .now = *now, .ret = ret};

    *ret = (struct vel_halt_verdict){.why = VEL_HALT_NONE};
    if (halt->seconds >= 0)
        q.now.seconds = (double)halt->seconds;
    if (test_reason(&q) || test_checkpoints(&q) || test_before(&q) || test_after(&q) ||
        test_end(&q))
        return;
    if (asker == VEL_HALT_LAUNCH)
        test_finished(&q);
}
