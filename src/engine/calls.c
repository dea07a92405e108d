/* SPDX-License-Identifier: BSD-3-Clause */
/* Which calls may follow which, and whether all ranks mean the same by one. */
#include "config.h"

#include <inttypes.h>
#include <string.h>

#include "base/crc.h"
#include "engine/session_in.h"

static const struct {
    enum vel_session_state state;
    enum vel_session_event event;
    const char *why_not; /* NULL: it may */
} calls[] = {
    {VEL_IDLE, VEL_DO_START, NULL},
    {VEL_IDLE, VEL_DO_COMPLETE,
     "no checkpoint was begun: call VELOC_Checkpoint_begin first"},
    {VEL_IDLE, VEL_DO_RESTART, NULL},
    {VEL_IDLE, VEL_DO_RESTART_END,
     "no restart was begun: call VELOC_Restart_begin first"},
    {VEL_WRITING, VEL_DO_START,
     "a checkpoint is under way: call VELOC_Checkpoint_end first"},
    {VEL_WRITING, VEL_DO_COMPLETE, NULL},
    {VEL_WRITING, VEL_DO_RESTART,
     "a checkpoint is under way: call VELOC_Checkpoint_end first"},
    {VEL_WRITING, VEL_DO_RESTART_END, "a checkpoint is under way, not a restart"},
    {VEL_READING, VEL_DO_START, "a restart is under way: call VELOC_Restart_end first"},
    {VEL_READING, VEL_DO_COMPLETE, "a restart is under way, not a checkpoint"},
    {VEL_READING, VEL_DO_RESTART,
     "a restart is under way: call VELOC_Restart_end first"},
    {VEL_READING, VEL_DO_RESTART_END, NULL},
};

int vel_session_may(const struct vel_session *s, enum vel_session_event event,
                    struct vel_err *err)
{
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (calls[i].state == s->state && calls[i].event == event && calls[i].why_not)
            return vel_fail(err, VEL_ESTATE, "%s", calls[i].why_not);
    return 0;
}

static int check_asked(const struct vel_session_asked *asked, struct vel_err *err)
{
    if (!asked->name)
        return vel_fail(err, VEL_EINVAL, "a checkpoint needs a name");
    if (asked->version < 0)
        return vel_fail(err, VEL_EINVAL, "checkpoint '%s': its version is below 0",
                        asked->name);
    return 0;
}

int vel_session_mean(const struct vel_session *s, enum vel_session_event event,
                     const struct vel_session_asked *asked, int64_t *ret_meant,
                     struct vel_err *err)
{
    int rc = vel_session_may(s, event, err);

    if (rc == 0)
        rc = check_asked(asked, err);
    if (rc < 0)
        return rc;
    ret_meant[0] = vel_crc32c(asked->use, asked->name, strlen(asked->name));
    ret_meant[1] = asked->version;
    ret_meant[2] = -ret_meant[0];
    ret_meant[3] = -ret_meant[1];
    return 0;
}

int vel_session_check_meant(const struct vel_session_asked *asked, const int64_t *meant,
                            struct vel_err *err)
{
    if (meant[0] == -meant[2] && meant[1] == -meant[3])
        return 0;
    return vel_fail(err, VEL_EINVAL,
                    "not all ranks ask for the same checkpoint: '%s' %" PRId64
                    " is what this one asks for",
                    asked->name, asked->version);
}

int vel_session_may_all(struct vel_session *s, enum vel_session_event event,
                        const struct vel_session_asked *asked, struct vel_err *err)
{
    int64_t meant[VEL_SESSION_MEANT] = {0};
    int rc = vel_session_mean(s, event, asked, meant, err);

    rc = vel_comm_agree_fold(s->world, rc, VEL_COMM_MIN, meant, VEL_SESSION_MEANT, err);
    return rc < 0 ? rc : vel_session_check_meant(asked, meant, err);
}
