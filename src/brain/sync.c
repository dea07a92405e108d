/* SPDX-License-Identifier: BSD-3-Clause */
/* MODE=SYNC: the close of a file is answered when it is known whether that has made its
 * dataset whole, and then with the dataset (doc/life.txt, 6, MODE=SYNC). */
#include "config.h"

#include "brain/connector_in.h"

enum {
    CHANGE_PART = 2, /* of T: until then another has taken the place of who is lost */
    AGAIN_PART = 20, /* and so long until the chair is asked again */
};

static bool is_closed_in(const struct vel_leader *leader,
                         const struct vel_leader_wait *wait,
                         const struct vel_generation *generation)
{
    const struct vel_file *file = wait->kind == VEL_MSG_CLOSE && wait->is_done
                                      ? vel_file_get(leader, wait->file)
                                      : NULL;

    return file && file->generation == generation;
}

bool vel_sync_can_tell(const struct vel_leader *leader)
{
    return leader->is_chair ||
           (leader->is_welcome && vel_leader_link_to(leader, leader->chair));
}

static void hear(struct vel_leader *leader, struct vel_leader_wait *wait,
                 enum vel_sync_verdict verdict)
{
    wait->passed_on = 0;
    wait->is_whole = verdict == VEL_SYNC_WHOLE;
    wait->again_at =
        verdict == VEL_SYNC_UNKNOWN ? leader->now + leader->conf.limit / AGAIN_PART : 0;
}

void vel_sync_tell(struct vel_leader *leader, const struct vel_generation *generation,
                   const struct vel_msg_report *report)
{
    struct vel_msg msg = {.kind = VEL_MSG_REPORT, .u.report = *report};
    enum vel_sync_verdict verdict = VEL_SYNC_LACKS;

    if (leader->is_chair) {
        vel_expect_hear(leader, 0, report);
        verdict = vel_sync_judge(leader, report);
    } else {
        msg.seq = vel_leader_next_seq(leader);
        msg.u.report.term = (uint64_t)leader->term;
        vel_leader_send(leader, vel_leader_link_to(leader, leader->chair)->number,
                        &msg);
    }
    for (size_t i = 0; i < leader->waits.n; i++) {
        struct vel_leader_wait *wait = vel_vec_at(&leader->waits, i);

        if (!is_closed_in(leader, wait, generation))
            continue;
        hear(leader, wait, verdict);
        wait->passed_on = msg.seq;
    }
}

void vel_sync_answered(struct vel_leader *leader, struct vel_leader_wait *wait,
                       const struct vel_msg *msg)
{
    if (msg->kind == VEL_MSG_YES) /* else by who is no chair: the next is told all */
        hear(leader, wait, (enum vel_sync_verdict)msg->u.yes.value);
}

/* A chair that follows another, or has just lost a node, hears again what that had
 * closed: soon, or never. */
static bool may_hear_more(const struct vel_leader *leader)
{
    uint64_t change = leader->conf.limit / CHANGE_PART;
    bool may = leader->term > 1 && leader->now < leader->claimed_at + change;

    for (size_t i = 0; !may && i < leader->roster.members.n; i++) {
        const struct vel_roster_member *member = vel_roster_at(&leader->roster, i);

        may = member->gone_at > 0 && !member->has_left &&
              leader->now < member->gone_at + change; /* be it here again */
    }
    return may;
}

enum vel_sync_verdict vel_sync_judge(struct vel_leader *leader,
                                     const struct vel_msg_report *report)
{
    return vel_expect_is_whole(leader, report) ? VEL_SYNC_WHOLE
           : may_hear_more(leader)             ? VEL_SYNC_UNKNOWN
                                               : VEL_SYNC_LACKS;
}

static bool answer(struct vel_leader *leader, const struct vel_leader_wait *wait,
                   int64_t dataset)
{
    vel_leader_yes(leader, wait->link, wait->seq, (uint64_t)dataset);
    return true;
}

/* What is late is told again, with the next generation. */
static bool may_be_whole(const struct vel_leader_wait *wait,
                         const struct vel_generation *generation)
{
    return wait->passed_on || wait->is_whole || wait->again_at ||
           generation->is_dirty || generation->is_decided;
}

static void ask_again(struct vel_leader *leader, struct vel_leader_wait *wait,
                      struct vel_generation *generation)
{
    if (leader->now < wait->again_at) {
        vel_leader_at(leader, VEL_TIMER_SOON, wait->again_at);
        return;
    }
    wait->again_at = 0;
    vel_leader_text(leader, &generation->told, NULL);
    vel_announce_changed(leader, generation);
}

bool vel_sync_try(struct vel_leader *leader, struct vel_leader_wait *wait,
                  const struct vel_file *file)
{
    uint64_t since = leader->moved_at > wait->since ? leader->moved_at : wait->since;

    if (!file || leader->is_ended || file->state == VEL_FILE_GIVEN)
        return answer(leader, wait, 0);
    if (file->id)
        return answer(leader, wait, file->id);
    if (!may_be_whole(wait, file->generation))
        return answer(leader, wait, 0);
    if (wait->again_at)
        ask_again(leader, wait, file->generation);
    if (leader->now >= since + leader->conf.stall)
        return answer(leader, wait, VEL_MSG_ANY_NUMBER);
    vel_leader_at(leader, VEL_TIMER_SOON, since + leader->conf.stall);
    return false;
}
