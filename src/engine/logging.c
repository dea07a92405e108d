/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the messages of a session go, and how many of them. */
#include "config.h"

#include <stdio.h>

#include "base/log.h"
#include "engine/logsink.h"
#include "engine/session_in.h"

enum { WHO = 300 };

/* Without settings, what all ranks see is still told by one. */
void vel_session_log_begin(const struct vel_session *s)
{
    struct vel_log_sink sink = {.level = VEL_LOG_WARN,
                                .is_speaker = s->world->rank == 0};

    vel_log_open(&sink);
}

int vel_session_log_open(struct vel_session *s, struct vel_err *err)
{
    char who[WHO];
    struct vel_log_sink sink = {.who = who, .is_speaker = s->world->rank == 0};

    snprintf(who, sizeof who, "rank %d on %s", s->world->rank, s->node);
    return vel_logsink_open(s->conf, s->fs, s->node, &sink, &s->logfile, err);
}

void vel_session_log_close(struct vel_session *s)
{
    vel_session_log_begin(s);
    if (s->logfile)
        vel_logfile_close(s->logfile, NULL);
    s->logfile = NULL;
}

/* --- events --- */

double vel_session_seconds(const struct vel_session *s, uint64_t since)
{
    return (double)(vel_clock_monotonic(s->clock) - since) / (double)VEL_CLOCK_S;
}

void vel_session_tell(struct vel_session *s, struct vel_event event,
                      const struct vel_dataset *dataset)
{
    struct vel_err why = {0};
    bool was_deaf;

    if (s->world->rank != 0)
        return;
    if (dataset)
        vel_event_about(&event, dataset);
    was_deaf = s->is_deaf;
    vel_session_limited(s);
    s->is_deaf = vel_event_log_add(&s->events, &event, &why) < 0;
    if (s->is_deaf)
        vel_log(was_deaf ? VEL_LOG_DEBUG : VEL_LOG_WARN, "event not recorded: %s",
                why.text);
}
