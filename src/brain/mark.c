/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "brain/connector_in.h"
#include "brain/mark_in.h"

static struct vel_leader_wait *wait_at(const struct vel_leader *leader, size_t i)
{
    return vel_vec_at(&leader->waits, i);
}

void vel_mark_hear(struct vel_leader *leader, struct vel_leader_wait *wait,
                   const struct vel_msg_mark *mark)
{
    wait->how = (int)mark->what;
    wait->len = mark->record.len;
    wait->record = malloc(wait->len + 1);
    if (!wait->record)
        vel_leader_fail(leader, "a request");
    else if (wait->len > 0)
        memcpy(wait->record, mark->record.at, wait->len);
    if (mark->waits)
        return;
    vel_leader_yes(leader, wait->link, wait->seq, 0);
    wait->link = 0;
}

bool vel_mark_is_next(const struct vel_leader *leader,
                      const struct vel_leader_wait *wait)
{
    for (size_t i = 0; i < leader->waits.n && wait_at(leader, i) != wait; i++)
        if (wait_at(leader, i)->kind == VEL_MSG_MARK)
            return false;
    return true;
}

/* One whose asker has gone may still be at work. */
static bool is_at_work(const struct vel_leader *leader)
{
    for (size_t i = 0; i < leader->tasks.n; i++)
        if (((struct vel_leader_task *)vel_vec_at(&leader->tasks, i))->work ==
            VEL_WORK_MARK)
            return true;
    return false;
}

bool vel_mark_is_left(const struct vel_leader *leader)
{
    bool is = is_at_work(leader);

    for (size_t i = 0; !is && i < leader->waits.n; i++)
        is = wait_at(leader, i)->kind == VEL_MSG_MARK;
    return is;
}

enum { AGAIN_PART = 60 }; /* of T, until what was busy is tried again */

static bool refuse(struct vel_leader *leader, const struct vel_leader_wait *wait,
                   int rc, const char *text)
{
    if (wait->link)
        vel_leader_no(leader, wait->link, wait->seq, rc, text);
    return true;
}

bool vel_mark_try(struct vel_leader *leader, struct vel_leader_wait *wait)
{
    if (!wait->record)
        return true;
    if (leader->is_ended && !wait->job)
        return refuse(leader, wait, VEL_ECANCEL, "the launch is over");
    if (leader->is_chair && !wait->job && !is_at_work(leader) &&
        leader->now >= wait->again_at && vel_mark_is_next(leader, wait))
        wait->job = vel_mark_start(leader, wait);
    else if (!leader->is_chair && !leader->is_welcome &&
             leader->now >= wait->since + leader->conf.limit)
        return refuse(leader, wait, VEL_ETIMEOUT, "no chair answers");
    return false;
}

void vel_mark_done(struct vel_leader *leader, uint64_t job, int rc, const char *text)
{
    struct vel_leader_wait *wait = vel_serve_wait_of(leader, job);

    if (!wait)
        return;
    if (rc == VEL_EBUSY) {
        wait->job = 0;
        wait->again_at = leader->now + leader->conf.limit / AGAIN_PART;
        vel_leader_at(leader, VEL_TIMER_SOON, wait->again_at);
        return;
    }
    if (rc < 0) /* of a chair ESTATE says that it is none any more: another is asked */
        refuse(leader, wait, rc == VEL_ESTATE ? VEL_ECANCEL : rc, text);
    else if (wait->link)
        vel_leader_yes(leader, wait->link, wait->seq, 0);
    vel_serve_end(leader, wait);
}
