/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the messages of a session go, and how many of them. */
#include "config.h"

#include <stdio.h>

#include "base/log.h"
#include "engine/session_in.h"

enum { WHO = 300 };

/* SCR's DEBUG is another way to ask for more. */
static enum vel_log_level level_of(const struct vel_conf *conf)
{
    enum vel_log_level level = (enum vel_log_level)conf->log_level;
    enum vel_log_level asked = conf->debug >= 2   ? VEL_LOG_DEBUG
                               : conf->debug == 1 ? VEL_LOG_INFO
                                                  : VEL_LOG_ERROR;

    return asked > level ? asked : level;
}

/* Without settings, what all ranks see is still told by one. */
void vel_session_log_begin(const struct vel_session *s)
{
    struct vel_log_sink sink = {.level = VEL_LOG_WARN,
                                .is_speaker = s->world->rank == 0};

    vel_log_open(&sink);
}

/* The file for messages: LOG_FILE, or one of this node where that is a directory. */
static int open_file(struct vel_session *s, struct vel_err *err)
{
    const char *path = s->conf->log_file;
    struct vel_buf own;
    struct stat st;
    int rc = 0;

    vel_buf_init(&own);
    if (vel_fs_lstat(s->fs, path, &st, NULL) == 0 && S_ISDIR(st.st_mode)) {
        vel_buf_printf(&own, "%s/h5veloc-%s.log", path, s->node);
        rc = vel_buf_status(&own, err);
        path = vel_buf_text(&own);
    }
    if (rc == 0)
        rc = vel_logfile_open(s->fs, path, &s->logfile, err);
    vel_buf_fini(&own);
    return rc;
}

int vel_session_log_open(struct vel_session *s, struct vel_err *err)
{
    char who[WHO];
    struct vel_log_sink sink = {
        .level = level_of(s->conf), .who = who, .is_speaker = s->world->rank == 0};
    int rc = 0;

    snprintf(who, sizeof who, "rank %d on %s", s->world->rank, s->node);
    if (s->conf->log_file) {
        rc = open_file(s, err);
        sink.write = vel_logfile_write;
        sink.arg = s->logfile;
    }
    if (rc == 0)
        vel_log_open(&sink);
    return rc;
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
    if (dataset) {
        event.id = dataset->id;
        event.name = dataset->name;
        event.files = dataset->files;
        event.bytes = dataset->bytes;
    }
    was_deaf = s->is_deaf;
    s->is_deaf = vel_event_log_add(&s->events, &event, &why) < 0;
    if (s->is_deaf)
        vel_log(was_deaf ? VEL_LOG_DEBUG : VEL_LOG_WARN, "event not recorded: %s",
                why.text);
}
