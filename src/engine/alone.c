/* SPDX-License-Identifier: BSD-3-Clause */
/* One launch at a time works with a prefix, or with a unit's part of it: another one
 * would take what is being written for what a crash has left, and give its numbers to
 * datasets of its own. With a background they tell whose is whose (claim.c), and share
 * it with each other, but not with one that does not.
 *
 * The lock of a process that was killed is free at once. That of a node that was lost
 * is free when its file system has noticed, so a new launch asks for some time. */
#include "config.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>

#include "base/log.h"
#include "base/path.h"
#include "engine/session_in.h"

static const uint64_t patience = 120 * VEL_CLOCK_S;

/* Launches with a background share the prefix: they leave alone what is another's. */
static int ask(struct vel_session *s, const char *path, struct vel_err *err)
{
    return (s->background ? vel_lock_try_shared : vel_lock_try)(s->fs, &s->host, path,
                                                                &s->lock, err);
}

static int ask_patiently(struct vel_session *s, const char *path, struct vel_err *err)
{
    return (s->background ? vel_lock_wait_shared : vel_lock_wait)(
        s->fs, &s->host, s->clock, patience, path, &s->lock, err);
}

static int wait_for(struct vel_session *s, const char *path, struct vel_err *err)
{
    struct vel_err why = {0};
    int rc = ask(s, path, &why);

    if (rc == VEL_EBUSY) {
        vel_log(VEL_LOG_WARN, "%s: waiting for it to end", why.text);
        rc = ask_patiently(s, path, &why);
    }
    if (rc == VEL_EBUSY || rc == VEL_ETIMEOUT)
        return vel_fail(err, VEL_EBUSY,
                        "another program works with the prefix: %s: give this one a "
                        "PREFIX of its own, or when that node is gone remove the file",
                        why.text);
    /* not every file system has locks, and a prefix may be for reading only */
    if (rc < 0)
        vel_log(s->background ? VEL_LOG_INFO : VEL_LOG_WARN,
                "nothing keeps other programs from working with the prefix at the same "
                "time: %s",
                why.text);
    return 0;
}

int vel_session_lock(struct vel_session *s, struct vel_err *err)
{
    char *path;
    int rc = 0;

    if (s->world->rank == 0) {
        path = vel_path_join(s->dir, "lock");
        rc = path ? wait_for(s, path, err) : vel_out_of_memory(err, "the prefix");
        free(path);
    }
    return vel_comm_agree(s->world, rc, err);
}

/* On one of two nodes at least, rank 0's is another. */
static bool can_lock_too(struct vel_session *s)
{
    char *path = vel_path_join(s->dir, "lock");
    bool can = false;
    int fd;

    if (path &&
        vel_fs_open(s->fs, path, O_RDWR | O_NOFOLLOW | O_NONBLOCK, 0, &fd, NULL) == 0) {
        can = s->fs->ops->flock(s->fs, fd, LOCK_EX | LOCK_NB) == 0;
        vel_fs_close(s->fs, fd, path, NULL);
    }
    free(path);
    return can;
}

int vel_session_check_lock(struct vel_session *s, struct vel_err *err)
{
    int64_t found[] = {s->lock != NULL, 0}; /* rank 0 has it; somebody else, too */
    int rc;

    if (s->background)
        return 0;
    if (s->leaders && s->leaders->rank < 2 && s->world->rank != 0)
        found[1] = can_lock_too(s);
    rc = vel_comm_allreduce(s->world, VEL_COMM_MAX, found, 2, err);
    if (rc == 0 && found[0] && found[1] && s->world->rank == 0)
        vel_log(VEL_LOG_WARN,
                "%s/lock keeps out programs of one node only, as %s is mounted: with "
                "MODE=SYNC another program in this prefix at the same time may destroy "
                "what this one writes; mount it with locks for all nodes, use "
                "MODE=ASYNC, or give each program a PREFIX of its own",
                s->dir, s->prefix);
    return rc;
}

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
    uint64_t end = vel_clock_deadline(s->clock, patience), now, before, after;
    int rc = vel_lock_try(s->fs, &s->host, path, ret_lock, err);

    if (rc == VEL_EBUSY)
        vel_log(VEL_LOG_WARN, "another program recovers, %s: waiting for it",
                err->text);
    while (rc == VEL_EBUSY && !*ret_is_still &&
           (now = vel_clock_monotonic(s->clock)) < end) {
        uint64_t limit = silence < end - now ? silence : end - now;
        bool is_known = ask_holder(s, path, &before);

        rc = vel_lock_wait(s->fs, &s->host, s->clock, limit, path, ret_lock, err);
        *ret_is_still = is_known && limit == silence && ask_holder(s, path, &after) &&
                        after == before;
        if (rc == VEL_ETIMEOUT) /* and who has it now? */
            rc = vel_lock_try(s->fs, &s->host, path, ret_lock, err);
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
    if (s->background && s->world->rank == 0) {
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
            rc = 0; /* no locks there: as above */
        free(path);
    }
    return vel_comm_agree(s->world, rc, err);
}
