/* SPDX-License-Identifier: BSD-3-Clause */
/* What is still owed to the prefix when a program ends well. */
#include "config.h"

#include "base/log.h"
#include "engine/session_in.h"

/* What cannot be done now is tried again by whoever comes next: with STRICT alone it is
 * a failure. */
static int bear(struct vel_session *s, int rc, const struct vel_err *why,
                struct vel_err *err)
{
    vel_log_shared(VEL_LOG_WARN, "%s", why->text);
    return s->conf->strict ? vel_fail(err, (enum vel_status)rc, "%s", why->text)
                           : vel_comm_barrier(s->world, err);
}

static int owe(struct vel_session *s, struct vel_held *held, struct vel_err *err)
{
    struct vel_err why = {0};
    int rc = vel_session_owe_flush(s, held, &why);

    return rc < 0 ? bear(s, rc, &why, err) : 0;
}

/* What the background owes, unless it goes on with it when we are gone. */
static int wait_behind(struct vel_session *s,
                       int wait(struct vel_session *, struct vel_err *),
                       struct vel_err *err)
{
    struct vel_err why = {0};
    int64_t outlives = s->background->ops->outlives(s->background);
    int rc = vel_comm_allreduce(s->world, VEL_COMM_MIN, &outlives, 1, err);

    if (rc < 0 || outlives)
        return rc;
    rc = wait(s, &why);
    return rc == 0 ? 0 : bear(s, rc, &why, err);
}

/* The newest checkpoint, and outputs whose flush has failed. */
static int flush_due(struct vel_session *s, struct vel_err *err)
{
    bool is_newest = true;
    int rc = 0;

    for (size_t i = s->held.n; rc == 0 && i-- > 0;) {
        struct vel_held *held = vel_session_held(s, i);
        bool is_checkpoint = held->map.dataset.use & VEL_USE_CHECKPOINT;
        int64_t due = 0;

        if ((vel_held_is_owed(held) || (is_checkpoint && is_newest)) &&
            held->entry.place != VEL_ON_PREFIX) {
            due = s->world->rank == 0 &&
                  vel_session_flush_due(s, &held->map.dataset, held->is_exposed, true);
            rc = vel_comm_allreduce(s->world, VEL_COMM_MAX, &due, 1, err);
        }
        if (rc == 0 && due)
            rc = owe(s, held, err);
        is_newest = is_newest && !is_checkpoint;
    }
    return rc;
}

int vel_session_flush_owed(struct vel_session *s, struct vel_err *err)
{
    struct vel_err why = {0};
    int rc = vel_session_has_nobody(s) ? vel_session_meet_late(s, &why) : 0;

    rc = rc < 0 ? bear(s, rc, &why, err) : flush_due(s, err);
    return rc == 0 ? wait_behind(s, vel_session_wait, err) : rc;
}

int vel_session_protect_owed(struct vel_session *s, struct vel_err *err)
{
    return wait_behind(s, vel_session_wait_protected, err);
}
