/* SPDX-License-Identifier: BSD-3-Clause */
/* Several launches work with a prefix, and tell by claims whose is whose (claim.c).
 * What earlier ones have left is recovered by one at a time.
 *
 * The lock of a process that was killed is free at once. That of a node that was lost
 * is free when its file system has noticed, so a new launch asks for some time. */
#include "config.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/path.h"
#include "engine/session_in.h"

static const uint64_t patience = 120 * VEL_CLOCK_S;

/* What the holder has done so far, when that can be known. */
static bool ask_holder(const struct vel_session *s, const char *path,
                       uint64_t *ret_worked)
{
    int64_t pid = vel_lock_holder_here(s->fs, &s->host, path);
    struct vel_process holder;

    if (!pid || vel_host_process(s->fs, pid, &holder, NULL) < 0)
        return false;
    *ret_worked = holder.worked;
    return true;
}

/* Whoever has the lock recovers, and may take his time. But a process of this machine
 * that has it is not dead: when it has done nothing for as long as a peer may be silent
 * it is frozen, and will not end. Of one elsewhere nobody knows; should its node be
 * lost the lock is free when the file system has noticed. */
static int wait_for_recovery(struct vel_session *s, const char *path,
                             struct vel_lock **ret_lock, bool *ret_is_still,
                             struct vel_err *err)
{
    const uint64_t silence = (uint64_t)(s->conf->peer_timeout * (double)VEL_CLOCK_S);
    /* who changes nothing for others, since he cannot, need not wait */
    struct vel_fs *fs = vel_session_has_nobody(s) ? s->fs : s->patient;
    uint64_t end = vel_clock_deadline(s->clock, patience), now, before, after;
    int rc = vel_lock_try(fs, &s->host, path, ret_lock, err);

    if (rc == VEL_EBUSY)
        vel_log(VEL_LOG_WARN, "another program recovers, %s: waiting for it",
                err->text);
    while (rc == VEL_EBUSY && !*ret_is_still &&
           (now = vel_clock_monotonic(s->clock)) < end) {
        uint64_t limit = silence < end - now ? silence : end - now;
        bool is_known = ask_holder(s, path, &before);

        rc = vel_lock_wait(fs, &s->host, s->clock, limit, path, ret_lock, err);
        *ret_is_still = is_known && limit == silence && ask_holder(s, path, &after) &&
                        after == before;
        if (rc == VEL_ETIMEOUT) /* and who has it now? */
            rc = vel_lock_try(fs, &s->host, path, ret_lock, err);
    }
    return rc;
}

/* What an earlier launch has left is moved to where its ranks run, or made again: not
 * by two at once. And before that is done nobody can say what there is. */
int vel_session_lock_recovery(struct vel_session *s, struct vel_lock **ret_lock,
                              struct vel_err *err)
{
    struct vel_err why = {0};
    char *path = NULL;
    bool is_still = false;
    int rc = 0;

    *ret_lock = NULL;
    if (s->world->rank == 0) {
        path = vel_path_join(s->dir, "recovery");
        rc = path ? wait_for_recovery(s, path, ret_lock, &is_still, &why)
                  : vel_out_of_memory(err, "the prefix");
        if (rc == VEL_EBUSY)
            rc = vel_fail(err, VEL_EBUSY,
                          "what can be restored is not known, since another program "
                          "has not ended recovering it: %s%s: end that process, or "
                          "when its node is gone remove the file, and start this "
                          "program again",
                          why.text, is_still ? ", which stands still" : "");
        else if (path)
            rc = 0; /* not every file system has locks */
        free(path);
    }
    return vel_comm_agree(s->world, rc, err);
}
