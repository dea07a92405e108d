/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of the launch: finding the chair, or becoming it. What a chair does with
 * those whom it takes in is in round.c. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "brain/connector_in.h"
#include "brain/expect_in.h"

bool vel_leader_is_done(const struct vel_leader *leader)
{
    return vel_leader_processes(leader) == 0 && !vel_ending_owes(leader);
}

static bool have_all_come(struct vel_leader *leader)
{
    return leader->conf.ranks == 0 || leader->connector->has_last ||
           vel_census_have_all_come(leader);
}

static unsigned facts_of(struct vel_leader *leader)
{
    bool is_ending = leader->state == VEL_LAUNCH_ENDING;

    return (leader->is_chair ? VEL_LAUNCH_IF(CHAIR) : 0) |
           (leader->is_ended ? 0 : VEL_LAUNCH_IF(LIVE)) |
           (vel_ending_owes(leader) ? VEL_LAUNCH_IF(OWED) : 0) |
           (is_ending && vel_ending_is_alone(leader) ? VEL_LAUNCH_IF(ALONE) : 0) |
           (is_ending && have_all_come(leader) ? VEL_LAUNCH_IF(COME) : 0);
}

enum { NOTE_PART = 1000 }; /* of T: between notes of who is here */

/* --- the table --- */

static int write_endpoint(struct vel_leader *leader, struct vel_err *err)
{
    struct vel_buf present;

    vel_buf_init(&present);
    vel_present_print(leader, &present); /* and who was here */
    int rc = leader->ops->endpoint(leader->arg, vel_buf_text(&present), err);
    vel_buf_fini(&present);
    leader->has_new = false;
    leader->noted_at = leader->now;
    return rc;
}

/* A launch without a launcher's name is known by its ranks: who starts the program
 * again must see that they are taken. Those that come together are written together. */
static void note_new(struct vel_leader *leader)
{
    uint64_t due = leader->noted_at + leader->conf.limit / NOTE_PART;

    if (!leader->has_new || leader->is_ended || leader->state == VEL_LAUNCH_NONE)
        return;
    if (leader->now < due)
        vel_leader_at(leader, VEL_TIMER_SOON, due);
    else
        write_endpoint(leader, NULL);
}

static int write_record(struct vel_leader *leader, unsigned record, struct vel_err *err)
{
    int rc = 0;

    switch ((enum vel_launch_record)record) {
    case VEL_LAUNCH_RECORD_ENDPOINT:
        rc = write_endpoint(leader, err);
        break;
    case VEL_LAUNCH_RECORD_CLAIM:
        rc = leader->ops->claim_chair(leader->arg, leader->term + 1, err);
        break;
    case VEL_LAUNCH_RECORD_ENDS:
        rc = vel_round_end_others(leader, err);
        break;
    case VEL_LAUNCH_RECORD_VIEW:
        rc = vel_round_make_view(leader, err);
        break;
    case VEL_LAUNCH_RECORD_END:
        rc = leader->ops->end(leader->arg, err);
        break;
    case VEL_LAUNCH_RECORD_NONE:
    case VEL_LAUNCH_RECORDS:
        break;
    }
    return rc;
}

static void send_join(struct vel_leader *leader, const struct vel_leader_link *link)
{
    struct vel_msg msg = {.kind = VEL_MSG_JOIN, .seq = vel_leader_next_seq(leader)};
    struct vel_buf present, over;

    vel_buf_init(&present);
    vel_buf_init(&over);
    vel_leader_present(leader, &present);
    leader->ops->over(leader->arg, &over, NULL); /* what is not told is not over */
    msg.u.join.present = vel_buf_text(&present);
    msg.u.join.named = leader->conf.named;
    msg.u.join.over = vel_buf_text(&over);
    leader->join_seq = msg.seq;
    leader->is_joined = true;
    leader->is_cut = false;
    vel_leader_send(leader, link->number, &msg);
    vel_buf_fini(&present);
    vel_buf_fini(&over);
}

void vel_launch_reach(struct vel_leader *leader)
{
    const struct vel_leader_link *link = vel_leader_link_to(leader, leader->chair);

    if (strcmp(leader->chair, leader->conf.node) == 0)
        return; /* nobody has that term: it is looked for a chair again */
    if (link && !leader->is_joined)
        send_join(leader, link);
    else if (!link)
        leader->ops->connect(leader->arg, leader->chair);
}

/* Those who take this leader for the chair must look again. */
static void tell_deposed(struct vel_leader *leader)
{
    for (size_t i = 0; i < leader->roster.members.n; i++) {
        const struct vel_roster_member *member = vel_roster_at(&leader->roster, i);
        const struct vel_leader_link *link =
            member->is_here ? vel_leader_link_to(leader, member->node) : NULL;

        if (link)
            vel_leader_no(leader, link->number, 0, VEL_ESTATE,
                          "there is a newer chair");
    }
}

static void join(struct vel_leader *leader)
{
    if (leader->is_chair) {
        tell_deposed(leader);
        leader->backoff = leader->backoff ? 2 * leader->backoff : leader->conf.limit;
        if (leader->backoff > 8 * leader->conf.limit)
            leader->backoff = 8 * leader->conf.limit;
        vel_chair_resign(leader);
    }
    vel_tree_reset(leader);
    leader->is_joined = leader->is_welcome = false;
    leader->free_at = leader->now + leader->conf.limit + leader->backoff;
    leader->sought_at = leader->now;
    vel_launch_reach(leader);
    vel_leader_at(leader, VEL_TIMER_LOOK, leader->now + VEL_LOOK_EVERY);
}

static void open_roll(struct vel_leader *leader)
{
    leader->term++;
    leader->is_chair = true;
    leader->is_joined = leader->is_welcome = false;
    leader->free_at = VEL_NEVER;
    leader->claimed_at = leader->now;
    leader->place = 0;
    vel_leader_text(leader, &leader->chair, leader->conf.node);
    vel_tree_reset(leader);
    vel_leader_at(leader, VEL_TIMER_BEAT, leader->now);
    vel_round_open(leader);
    vel_announce_all(leader);
    if (!leader->has_view && leader->ops->load_view(leader->arg, NULL) == 0)
        vel_launch_event(leader, VEL_LAUNCH_ON_THERE);
    else if (leader->has_view)
        vel_chair_adopt(leader);
}

static void adopt(struct vel_leader *leader)
{
    leader->has_view = true;
    /* some of it may be set aside now */
    vel_lead_find(leader, VEL_LOOK_OWED, 0, NULL);
    vel_look_again(leader);
    if (leader->is_chair)
        vel_chair_adopt(leader);
    else if (leader->is_welcome)
        vel_part_report_all(leader);
}

static void release(struct vel_leader *leader)
{
    if (leader->is_ended)
        return;
    leader->is_ended = true;
    for (size_t i = 0; i < leader->leads.n; i++)
        vel_lead_event(leader, vel_lead_at(leader, i), VEL_DATASET_ON_ENDED, 0);
}

static void leave(struct vel_leader *leader)
{
    if (leader->has_new && !leader->is_ended)
        write_endpoint(leader, NULL); /* it tells the next chair who was here */
    vel_ending_tell_missed(leader);
    vel_parting_tell(leader);
    leader->is_over = true;
    leader->ops->leave(leader->arg);
}

/* A chair that has nothing to do waits for the others to leave. Whoever stops it has
 * waited with it: the next one is to know who was here. */
void vel_leader_stop(struct vel_leader *leader)
{
    if (leader->is_chair && leader->has_served && !leader->is_over &&
        vel_leader_is_done(leader))
        leave(leader);
}

static void act(struct vel_leader *leader, unsigned action)
{
    switch ((enum vel_launch_action)action) {
    case VEL_LAUNCH_DO_LOOK:
        leader->is_joined = leader->is_welcome = false;
        vel_leader_at(leader, VEL_TIMER_LOOK, leader->now);
        break;
    case VEL_LAUNCH_DO_JOIN:
        join(leader);
        break;
    case VEL_LAUNCH_DO_OPEN_ROLL:
        open_roll(leader);
        break;
    case VEL_LAUNCH_DO_WELCOME:
    case VEL_LAUNCH_DO_WELCOME_LATE:
        vel_round_welcome(leader, action == VEL_LAUNCH_DO_WELCOME_LATE);
        break;
    case VEL_LAUNCH_DO_TELL_GATHER:
        vel_round_gather(leader);
        break;
    case VEL_LAUNCH_DO_TELL_HELD:
        if (!vel_part_has(leader, 0, VEL_WORK_HOLD))
            vel_part_start(leader, NULL, VEL_WORK_HOLD, 0, NULL);
        break;
    case VEL_LAUNCH_DO_KEEP:
        vel_round_keep(leader);
        break;
    case VEL_LAUNCH_DO_TELL_VIEW:
        vel_round_tell_view(leader);
        adopt(leader);
        break;
    case VEL_LAUNCH_DO_ADOPT:
        adopt(leader);
        break;
    case VEL_LAUNCH_DO_REPORT_ALL:
        vel_part_report_all(leader);
        break;
    case VEL_LAUNCH_DO_RELEASE:
        release(leader);
        break;
    case VEL_LAUNCH_DO_LEAVE:
        leave(leader);
        break;
    case VEL_LAUNCH_DO_NONE:
    case VEL_LAUNCH_DO_COUNT: /* the roster has it; advance() looks */
    case VEL_LAUNCH_DO_SERVE: /* requests are taken in every state */
    case VEL_LAUNCH_DO_WAIT:
    case VEL_LAUNCH_DO_DRAIN: /* owed work goes on by itself */
    case VEL_LAUNCH_ACTIONS:
        break;
    }
}

/* Programs wait for the view: that is told once. */
static void tell_put_off(struct vel_leader *leader, unsigned record,
                         const struct vel_err *why)
{
    double pause = (double)leader->conf.limit / 4e9;

    if (record == VEL_LAUNCH_RECORD_VIEW && !leader->has_told_view) {
        leader->has_told_view = true;
        vel_log(VEL_LOG_WARN,
                "launch %s cannot decide yet what can be restored (it tries again "
                "every %.1f s): %s",
                leader->conf.launch, pause, why->text);
    } else {
        vel_log(VEL_LOG_DEBUG, "launch %s: tried again in %.1f s: %s",
                leader->conf.launch, pause, why->text);
    }
}

bool vel_launch_event(struct vel_leader *leader, enum vel_launch_event event)
{
    const struct vel_machine_row *row =
        vel_machine_step(&vel_launch_machine, leader->state, event, facts_of(leader));
    struct vel_err err = {0};

    if (!row)
        return false;
    int rc = write_record(leader, row->record, &err);
    if (rc < 0) {
        if (rc == VEL_ENOMEM)
            vel_leader_fail(leader, "a record");
        if (rc == VEL_EBUSY && row->record == VEL_LAUNCH_RECORD_VIEW) {
            vel_round_gather(leader); /* there is more to be told now */
            return false;
        }
        if ((rc == VEL_EEXIST || rc == VEL_ECANCEL) &&
            row->record == VEL_LAUNCH_RECORD_CLAIM) {
            vel_leader_at(leader, VEL_TIMER_LOOK, leader->now); /* another leads */
            return false;
        }
        tell_put_off(leader, row->record, &err);
        leader->again_at = leader->now + leader->conf.limit / 4;
        vel_leader_at(leader, VEL_TIMER_SOON, leader->again_at);
        vel_leader_at(leader, VEL_TIMER_LOOK,
                      rc == VEL_EEXIST ? leader->now : leader->again_at);
        return false;
    }
    leader->steps += leader->state != row->next;
    leader->state = (enum vel_launch_state)row->next;
    act(leader, row->action);
    return true;
}

/* --- links --- */

static bool is_chair_node(const struct vel_leader *leader, const char *node)
{
    return leader->chair && strcmp(leader->chair, node) == 0;
}

void vel_launch_met(struct vel_leader *leader, struct vel_leader_link *link)
{
    if (!leader->is_chair && !leader->is_joined && is_chair_node(leader, link->node) &&
        leader->state != VEL_LAUNCH_NONE)
        send_join(leader, link);
}

void vel_launch_unreachable(struct vel_leader *leader, const char *node)
{
    if (!leader->is_chair && is_chair_node(leader, node))
        vel_leader_at(leader, VEL_TIMER_LOOK, leader->now + VEL_LOOK_EVERY);
}

void vel_launch_gone(struct vel_leader *leader, const char *node)
{
    if (leader->is_chair) {
        vel_round_gone(leader, node, true);
    } else if (is_chair_node(leader, node) && (leader->is_joined || leader->is_cut)) {
        /* who has a low place claims first; all at once would do, too */
        int64_t turn = leader->place < 20 ? leader->place : 20;

        leader->is_joined = leader->is_welcome = leader->is_cut = false;
        leader->free_at =
            leader->now + leader->conf.limit / 200 * (uint64_t)turn + leader->backoff;
        leader->sought_at = 0;
        vel_serve_lost_chair(leader);
        vel_launch_event(leader, VEL_LAUNCH_ON_GONE);
    }
}

/* --- messages --- */

static void hear_welcome(struct vel_leader *leader, const struct vel_msg *msg)
{
    if (msg->seq == leader->tree_seq) {
        vel_tree_welcome(leader, &msg->u.welcome);
    } else if (msg->seq == leader->join_seq && !leader->is_welcome) {
        if ((int64_t)msg->u.welcome.term != leader->term) {
            leader->is_joined = false;
            vel_launch_newer(leader, (int64_t)msg->u.welcome.term);
            return;
        }
        leader->is_welcome = true;
        leader->free_at = VEL_NEVER;
        leader->backoff = 0;
        leader->place = (int64_t)msg->u.welcome.place;
        vel_leader_text(leader, &leader->parents, msg->u.welcome.parents);
        vel_tree_attach(leader);
        vel_announce_all(leader);
        vel_launch_event(leader, VEL_LAUNCH_ON_WELCOME);
        vel_leader_at(leader, VEL_TIMER_LOOK, leader->now + leader->conf.limit / 4);
    }
}

static void hear_no(struct vel_leader *leader, const struct vel_leader_link *from,
                    const struct vel_msg *msg)
{
    if (msg->seq == 0 || (msg->seq == leader->tree_seq && leader->parent)) {
        vel_tree_gone(leader, from->node);
    } else if (msg->seq == leader->join_seq && is_chair_node(leader, from->node)) {
        leader->is_joined = leader->is_welcome = false;
        vel_leader_at(leader, VEL_TIMER_LOOK, leader->now + VEL_LOOK_EVERY);
    }
}

void vel_launch_hear(struct vel_leader *leader, struct vel_leader_link *from,
                     const struct vel_msg *msg)
{
    struct vel_msg down = *msg;

    leader->msg = msg;
    leader->from = from;
    switch (msg->kind) {
    case VEL_MSG_JOIN:
        if (leader->is_chair)
            vel_round_joined(leader);
        else
            vel_tree_joined(leader, from, msg->seq);
        break;
    case VEL_MSG_WELCOME:
        hear_welcome(leader, msg);
        break;
    case VEL_MSG_GATHER:
        vel_tree_down(leader, &down, from->number);
        vel_launch_event(leader, VEL_LAUNCH_ON_GATHER);
        break;
    case VEL_MSG_HELD:
        vel_launch_event(leader, VEL_LAUNCH_ON_HELD);
        vel_leader_yes(leader, from->number, msg->seq, 0);
        break;
    case VEL_MSG_VIEW:
        vel_tree_down(leader, &down, from->number);
        vel_leader_at(leader, VEL_TIMER_LOOK, leader->now);
        vel_launch_look(leader);
        break;
    case VEL_MSG_PARTED:
        vel_round_parted(leader);
        break;
    case VEL_MSG_NO:
        hear_no(leader, from, msg);
        break;
    case VEL_MSG_YES:
        vel_parting_let(leader, from, msg->seq);
        break;
    default:
        break;
    }
    leader->msg = NULL;
    leader->from = NULL;
}

/* --- what follows by itself --- */

void vel_launch_advance(struct vel_leader *leader)
{
    note_new(leader);
    if (leader->now < leader->again_at)
        return;
    if (leader->is_chair && leader->state == VEL_LAUNCH_JOINING &&
        vel_round_is_ready(leader) && vel_launch_event(leader, VEL_LAUNCH_ON_ROLL))
        vel_round_tell_missed(leader);
    if (leader->is_chair && leader->state == VEL_LAUNCH_VIEW &&
        vel_round_is_counted(leader) && vel_launch_event(leader, VEL_LAUNCH_ON_COUNTED))
        vel_round_tell_silent(leader);
    if (leader->has_served && vel_leader_processes(leader) == 0)
        vel_launch_event(leader, VEL_LAUNCH_ON_LEFT);
    if (leader->state != VEL_LAUNCH_ENDING || !vel_ending_is_drained(leader))
        vel_parting_stays(leader);
    else if (vel_parting_may(leader))
        vel_launch_event(leader, VEL_LAUNCH_ON_DRAINED);
    if (leader->state == VEL_LAUNCH_ENDING && !leader->is_over)
        vel_leader_at(leader, VEL_TIMER_SOON, leader->now + leader->conf.limit / 4);
}
