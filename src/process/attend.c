/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/log.h"
#include "conf/lines.h"
#include "process/attend.h"
#include "process/files.h"
#include "process/presence.h"
#include "sys/fs.h"

struct attendance {
    struct vel_background background; /* the first: it is what the engine sees */
    struct vel_presence *presence;    /* NULL: not open */
    char launch[VEL_LAUNCH_ROOM];
    struct vel_background_of of; /* borrowed, while it is open */
};

static struct vel_presence *presence_of(const struct vel_background *background)
{
    return ((const struct attendance *)background)->presence;
}

static struct vel_client *client_of(struct vel_background *background)
{
    return vel_presence_client(presence_of(background));
}

/* --- one launch with the files of this process --- */

static bool has_home(const struct vel_background_of *of, const char *home)
{
    for (size_t i = 0; i < of->n_homes; i++)
        if (strcmp(of->homes[i], home) == 0)
            return true;
    return false;
}

/* Homes that are not there are nobody's. */
static bool has_all(const struct vel_background_of *of,
                    const struct vel_background_of *other)
{
    for (size_t i = 0; i < other->n_homes; i++)
        if (!has_home(of, other->homes[i]) &&
            vel_fs_exists(vel_fs_posix(), other->homes[i]))
            return false;
    return true;
}

static bool have_same_lines(const struct vel_conf *a, const struct vel_conf *b)
{
    struct vel_buf of_a, of_b;
    bool are;

    vel_buf_init(&of_a);
    vel_buf_init(&of_b);
    vel_conf_lines_text(a, &of_a);
    vel_conf_lines_text(b, &of_b);
    are = strcmp(vel_buf_text(&of_a), vel_buf_text(&of_b)) == 0;
    vel_buf_fini(&of_a);
    vel_buf_fini(&of_b);
    return are;
}

bool vel_attend_fits(const struct vel_background_of *a,
                     const struct vel_background_of *b, bool *ret_differs)
{
    bool is_one = strcmp(a->prefix_id, b->prefix_id) == 0;

    *ret_differs = is_one && !(has_all(a, b) && has_all(b, a));
    if (is_one && !*ret_differs && a->conf && b->conf &&
        !have_same_lines(a->conf, b->conf))
        vel_log_shared(VEL_LOG_WARN,
                       "the settings of HDF5 files and those of VELOC_Init have other "
                       "CKPT, STORE, GROUPS or DATASET lines: the leaders of both take "
                       "those that came first; give both the same");
    return is_one && !*ret_differs;
}

static const char *joined(struct vel_background *b, const struct vel_background_of *of,
                          bool *ret_differs)
{
    (void)b;
    return vel_files_launch(of, ret_differs);
}

/* --- open and leave --- */

static int leave_as(enum vel_presence_end how, struct attendance *a,
                    struct vel_err *err)
{
    struct vel_presence *presence = a->presence;

    a->presence = NULL;
    return vel_presence_leave(presence, how, err);
}

static int leave(struct vel_background *b, bool is_well, struct vel_err *err)
{
    return leave_as(is_well ? VEL_PRESENCE_GOES : VEL_PRESENCE_BREAKS,
                    (struct attendance *)b, err);
}

/* One rank looks for the view, the others wait for it in what the session does next. */
static int open_it(struct vel_background *b, const struct vel_background_of *of,
                   char ret_launch[VEL_LAUNCH_ROOM], struct vel_err *err)
{
    struct attendance *a = (struct attendance *)b;
    int rc = vel_presence_open(of, &a->presence, err);

    if (rc < 0)
        return rc;
    if (of->rank == 0)
        rc = vel_presence_wait_for_view(a->presence, err);
    snprintf(a->launch, sizeof a->launch, "%s", of->fresh);
    a->of = *of;
    if (rc == 0)
        snprintf(ret_launch, VEL_LAUNCH_ROOM, "%s", a->launch);
    else
        leave(b, false, NULL);
    return rc;
}

/* --- questions --- */

static int owe(struct vel_background *b, int64_t dataset, int rank, unsigned what,
               const char *dir, unsigned *ret_before, struct vel_err *err)
{
    return vel_client_owe(client_of(b), dataset, rank, what, dir ? dir : ".",
                          ret_before, err);
}

static int settle(struct vel_background *b, int64_t dataset, const void *record,
                  size_t len, struct vel_err *err)
{
    return vel_client_settle(client_of(b), dataset, record, len, err);
}

static int mark(struct vel_background *b, int64_t dataset, enum vel_mark what,
                bool waits, const void *record, size_t len, struct vel_err *err)
{
    return vel_client_mark(client_of(b), dataset, what, waits, record, len, err);
}

static void tell(const struct vel_progress *progress, struct vel_background_state *ret)
{
    *ret = (struct vel_background_state){.behind = (enum vel_behind)progress->state,
                                         .left = progress->left,
                                         .moved = progress->moved,
                                         .is_protected = progress->is_encoded};
    if (progress->status)
        vel_fail(&ret->err, (enum vel_status)progress->status, "%s", progress->text);
}

static int ask(struct vel_background *b, int64_t dataset,
               struct vel_background_state *ret, struct vel_err *err)
{
    struct vel_progress progress;
    int rc = vel_client_ask(client_of(b), dataset, &progress, err);

    if (rc == 0)
        tell(&progress, ret);
    return rc;
}

static int drain(struct vel_background *b, int64_t dataset, int64_t patience,
                 struct vel_background_state *ret, struct vel_err *err)
{
    struct vel_progress progress;
    int rc = vel_client_drain(client_of(b), dataset,
                              patience == VEL_BEHIND_ONCE        ? VEL_DRAIN_ONCE
                              : patience == VEL_BEHIND_PROTECTED ? VEL_DRAIN_PROTECTED
                                                                 : (uint64_t)patience,
                              &progress, err);

    if (rc == 0)
        tell(&progress, ret);
    return rc;
}

/* A leader answers with a status, and with a number when it counts nodes. */
static int ping(struct vel_background *b, enum vel_background_ping what,
                int64_t *ret_value, struct vel_err *err)
{
    uint64_t value = 0;
    int rc = vel_client_ping(client_of(b), (unsigned)what, &value, err);

    if (rc == 0)
        *ret_value = what == VEL_PING_BACKUP ? (int64_t)value : value == 0;
    return rc;
}

static bool outlives(struct vel_background *b)
{
    return vel_presence_outlives(presence_of(b));
}

static const struct vel_background_ops ops = {.joined = joined,
                                              .open = open_it,
                                              .owe = owe,
                                              .settle = settle,
                                              .mark = mark,
                                              .ask = ask,
                                              .drain = drain,
                                              .ping = ping,
                                              .outlives = outlives,
                                              .leave = leave};

static struct attendance the_one = {.background.ops = &ops};

struct vel_background *vel_attend(void)
{
    return &the_one.background;
}

const char *vel_attend_launch(const struct vel_background_of *of, bool *ret_differs)
{
    *ret_differs = false;
    return the_one.presence && vel_attend_fits(&the_one.of, of, ret_differs)
               ? the_one.launch
               : NULL;
}

void vel_attend_end(bool is_in_order)
{
    if (the_one.presence)
        leave_as(is_in_order ? VEL_PRESENCE_GOES : VEL_PRESENCE_FAILS, &the_one, NULL);
}
