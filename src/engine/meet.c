/* SPDX-License-Identifier: BSD-3-Clause */
/* A session and its background: which launch the two are in, and who is met where the
 * prefix cannot be written. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "engine/health.h"
#include "engine/session_in.h"
#include "brain/seal.h"
#include "sys/entropy.h"

enum { DIFFERS, FROM }; /* what a rank says of its launch */

/* A name for a launch that has none. */
static int make_fresh(struct vel_buf *ret, struct vel_err *err)
{
    uint8_t random[8];
    int rc = vel_entropy(random, sizeof random, err);

    for (size_t i = 0; rc == 0 && i < sizeof random; i++)
        vel_buf_printf(ret, "%02x", random[i]);
    return rc;
}

/* The launch that this process is in by its files, if it still lives; NULL: none. */
static const char *find_joined(struct vel_session *s,
                               const struct vel_background_of *of, bool *ret_differs)
{
    const char *own = s->background->ops->joined
                          ? s->background->ops->joined(s->background, of, ret_differs)
                          : NULL;

    return own && !vel_session_is_over(s, own) ? own : NULL;
}

/* What one rank says is everyone's: who has a launch already, the lowest such rank, or
 * rank 0. Where caches differ the launches stay two. */
static int choose_launch(struct vel_session *s, const struct vel_background_of *of,
                         char ret[VEL_LAUNCH_ROOM], struct vel_err *err)
{
    bool differs = false;
    const char *own = find_joined(s, of, &differs);
    int64_t least = differs ? DIFFERS : own ? FROM + s->world->rank : INT64_MAX;
    struct vel_buf bytes;
    int from, rc = vel_comm_allreduce(s->world, VEL_COMM_MIN, &least, 1, err);

    if (rc < 0)
        return rc;
    if (least == DIFFERS)
        vel_log_shared(VEL_LOG_WARN,
                       "the settings of VELOC_Init and those of HDF5 files name other "
                       "caches: they are protected apart from each other");
    from = least >= FROM && least < INT64_MAX ? (int)(least - FROM) : 0;
    vel_buf_init(&bytes);
    if (s->world->rank == from && least >= FROM && own)
        vel_buf_puts(&bytes, own);
    else if (s->world->rank == from)
        rc = make_fresh(&bytes, err);
    vel_buf_append(&bytes, "", 1);
    rc = vel_comm_agree(s->world, rc < 0 ? rc : vel_buf_status(&bytes, err), err);
    if (rc == 0)
        rc = vel_comm_bcast(s->world, from, &bytes, err);
    if (rc == 0)
        snprintf(ret, VEL_LAUNCH_ROOM, "%s", bytes.data);
    if (rc == 0 && own && strcmp(own, ret) != 0)
        vel_log(VEL_LOG_WARN,
                "HDF5 files of this process are in launch %s, its session in %s: they "
                "are protected apart from those of other ranks (is VELOC_LAUNCH not "
                "the same everywhere?)",
                own, ret);
    vel_buf_fini(&bytes);
    return rc;
}

/* Where leaders find datasets of this prefix on this node. */
static int list_homes(struct vel_session *s, struct vel_err *err)
{
    s->homes = calloc(s->stores->n + 1, sizeof *s->homes);
    for (size_t i = 0; s->homes && i < s->stores->n; i++)
        if (s->is_usable[i])
            s->homes[s->n_homes++] = s->store_homes[i];
    return s->homes ? 0 : vel_out_of_memory(err, "the background");
}

static int meet(struct vel_session *s, const struct vel_background_of *of,
                struct vel_err *err)
{
    int rc;

    s->seats = calloc(s->descs->n + 1, sizeof *s->seats);
    s->is_seated = calloc(s->descs->n + 1, sizeof *s->is_seated);
    if (!s->seats || !s->is_seated)
        return vel_out_of_memory(err, "the background");
    for (size_t i = 0; i < s->descs->n; i++)
        vel_seal_init(&s->seats[i]);
    rc = s->background->ops->open(s->background, of, s->launch, err);
    s->is_met = rc == 0;
    return rc;
}

static int meet_there(struct vel_session *s, struct vel_err *err)
{
    char launch[VEL_LAUNCH_ROOM] = "";
    struct vel_background_of of = {.conf = s->conf,
                                   .fs = s->patient,
                                   .clock = s->clock,
                                   .prefix = s->prefix,
                                   .dir = s->dir,
                                   .prefix_id = s->prefix_id,
                                   .user = s->owner.user,
                                   .node = s->node,
                                   .rank = s->world->rank,
                                   .ranks = s->world->size,
                                   .fresh = launch};
    int rc;

    rc = vel_comm_agree(s->world, list_homes(s, err), err);
    of.homes = s->homes;
    of.n_homes = s->n_homes;
    if (rc == 0)
        rc = choose_launch(s, &of, launch, err);
    return rc < 0 ? rc : vel_comm_agree(s->world, meet(s, &of, err), err);
}

/* Rank 0: where records cannot be written there are no leaders. */
static int can_write(const struct vel_session *s, struct vel_err *err)
{
    return s->world->rank == 0 ? vel_health_try(s, s->dir, err) : 0;
}

bool vel_session_has_nobody(const struct vel_session *s)
{
    return s->background == vel_background_nobody();
}

/* Collective. Work with nobody, for that reason. */
static int go_alone(struct vel_session *s, const struct vel_err *why,
                    struct vel_err *err)
{
    int rc;

    vel_log_shared(VEL_LOG_WARN,
                   "%s: without leaders checkpoints are protected in the calls, and "
                   "stay in the caches",
                   why->text);
    vel_session_part(s, false);
    s->background = vel_background_nobody();
    rc = vel_comm_barrier(s->world, err);
    return rc == 0 ? meet_there(s, err) : rc;
}

int vel_session_meet(struct vel_session *s, struct vel_err *err)
{
    struct vel_err why = {0};
    int rc = vel_comm_agree(s->world, can_write(s, &why), &why);

    s->background = s->offered;
    if (rc < 0)
        return go_alone(s, &why, err);
    rc = meet_there(s, &why);
    if (rc == VEL_EUNSUP) /* no file system for leaders */
        return go_alone(s, &why, err);
    return rc < 0 ? vel_fail(err, (enum vel_status)rc, "%s", why.text) : 0;
}

int vel_session_meet_late(struct vel_session *s, struct vel_err *err)
{
    int rc = vel_comm_agree(s->world, can_write(s, err), err);

    if (rc < 0)
        return rc;
    vel_session_part(s, true);
    s->background = s->offered;
    rc = meet_there(s, err);
    if (rc < 0) {
        vel_session_part(s, false);
        s->background = vel_background_nobody();
        return rc;
    }
    if (s->world->rank == 0)
        vel_session_claim_late(s);
    return vel_comm_barrier(s->world, err);
}

void vel_session_part(struct vel_session *s, bool is_well)
{
    struct vel_err why = {0};

    if (s->is_met && s->background->ops->leave(s->background, is_well, &why) < 0)
        vel_log(VEL_LOG_INFO, "%s", why.text);
    s->is_met = false;
    s->ids = (struct vel_ids){.end = 0}; /* of the launch that it was in */
    s->claimed = 0;
    for (size_t i = 0; s->seats && i < s->descs->n; i++)
        vel_seal_fini(&s->seats[i]);
    free(s->homes);
    s->homes = NULL;
    s->n_homes = 0;
    free(s->seats);
    free(s->is_seated);
    s->seats = NULL;
    s->is_seated = NULL;
}
