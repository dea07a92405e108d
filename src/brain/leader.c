/* SPDX-License-Identifier: BSD-3-Clause */
/* Events to those who know what they mean: links, time, messages. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "brain/connector_in.h"

enum { ROUNDS_MOST = 64 }; /* of looking at what has changed, in one event */

/* --- life --- */

static int copy_conf(const struct vel_leader_conf *from, struct vel_leader_conf *ret)
{
    *ret = *from;
    ret->launch = strdup(from->launch);
    ret->node = strdup(from->node);
    ret->named = strdup(from->named);
    return ret->launch && ret->node && ret->named ? 0 : VEL_ENOMEM;
}

int vel_leader_create(const struct vel_leader_conf *conf,
                      const struct vel_leader_ops *ops, void *arg,
                      struct vel_leader **ret, struct vel_err *err)
{
    struct vel_leader *leader = calloc(1, sizeof *leader);

    if (!leader)
        return vel_out_of_memory(err, "a leader");
    leader->ops = ops;
    leader->arg = arg;
    leader->free_at = VEL_NEVER;
    vel_link_init(leader);
    vel_vec_init(&leader->others, sizeof(struct vel_leader_other));
    vel_vec_init(&leader->leads, sizeof(struct vel_lead *));
    vel_vec_init(&leader->tasks, sizeof(struct vel_leader_task));
    vel_vec_init(&leader->waits, sizeof(struct vel_leader_wait));
    vel_vec_init(&leader->resting, sizeof(int64_t));
    vel_vec_init(&leader->asks, sizeof(struct vel_leader_ask));
    vel_buf_init(&leader->known);
    vel_buf_init(&leader->roll);
    vel_roster_init(&leader->roster);
    for (size_t i = 0; i < VEL_TIMERS; i++)
        leader->timers[i] = VEL_NEVER;
    leader->connector = vel_connector_create(conf->many);
    if (copy_conf(conf, &leader->conf) < 0 || !leader->connector) {
        vel_leader_destroy(leader);
        return vel_out_of_memory(err, "a leader");
    }
    *ret = leader;
    return 0;
}

static void forget_links(struct vel_leader *leader)
{
    for (size_t i = 0; i < leader->links.n; i++)
        free(((struct vel_leader_link *)vel_vec_at(&leader->links, i))->node);
    vel_vec_fini(&leader->links);
    vel_vec_fini(&leader->numbers);
    vel_vec_fini(&leader->processes);
    for (size_t i = 0; i < leader->tasks.n; i++)
        free(((struct vel_leader_task *)vel_vec_at(&leader->tasks, i))->node);
    vel_vec_fini(&leader->tasks);
    for (size_t i = 0; i < leader->waits.n; i++)
        free(((struct vel_leader_wait *)vel_vec_at(&leader->waits, i))->record);
    vel_vec_fini(&leader->waits);
    vel_vec_fini(&leader->resting);
}

void vel_leader_destroy(struct vel_leader *leader)
{
    if (!leader)
        return;
    vel_chair_resign(leader);
    vel_announce_reset(leader);
    forget_links(leader);
    for (size_t i = 0; i < leader->leads.n; i++)
        vel_lead_destroy(vel_lead_at(leader, i));
    vel_vec_fini(&leader->leads);
    vel_vec_fini(&leader->others);
    vel_connector_destroy(leader->connector);
    free(leader->chair);
    free(leader->parents);
    free(leader->parent);
    free((char *)leader->conf.launch);
    free((char *)leader->conf.node);
    free((char *)leader->conf.named);
    free(leader);
}

void vel_leader_fail(struct vel_leader *leader, const char *what)
{
    if (!leader->failure.status)
        vel_out_of_memory(&leader->failure, what);
    leader->is_over = true;
}

/* --- links --- */

uint64_t vel_leader_next_seq(struct vel_leader *leader)
{
    return ++leader->seq;
}

int64_t vel_leader_next_attempt(struct vel_leader *leader)
{
    leader->last_attempt++;
    return leader->term % 16384 << 16 | (int64_t)(leader->last_attempt % 65536);
}

void vel_leader_send(struct vel_leader *leader, uint64_t link, struct vel_msg *msg)
{
    leader->ops->send(leader->arg, link, msg);
}

void vel_leader_yes(struct vel_leader *leader, uint64_t link, uint64_t seq,
                    uint64_t value)
{
    struct vel_msg msg = {.kind = VEL_MSG_YES, .seq = seq, .u.yes.value = value};

    vel_leader_send(leader, link, &msg);
}

void vel_leader_no(struct vel_leader *leader, uint64_t link, uint64_t seq, int rc,
                   const char *text)
{
    struct vel_msg msg = {.kind = VEL_MSG_NO, .seq = seq};

    msg.u.no.status = (uint64_t)-rc;
    msg.u.no.term = (uint64_t)leader->term;
    msg.u.no.text = text && *text ? text : vel_status_text(rc);
    vel_leader_send(leader, link, &msg);
}

void vel_leader_text(struct vel_leader *leader, char **text, const char *value)
{
    char *copy = value ? strdup(value) : NULL;

    if (value && !copy)
        vel_leader_fail(leader, "a text");
    free(*text);
    *text = copy;
}

/* --- time --- */

void vel_leader_at(struct vel_leader *leader, enum vel_leader_timer timer, uint64_t at)
{
    if (at < leader->timers[timer])
        leader->timers[timer] = at;
}

static bool is_due(struct vel_leader *leader, enum vel_leader_timer timer)
{
    if (leader->timers[timer] > leader->now)
        return false;
    leader->timers[timer] = VEL_NEVER;
    return true;
}

/* Whatever follows from what has happened, until nothing more does. */
static void advance(struct vel_leader *leader)
{
    unsigned steps;
    int rounds = 0;

    do {
        steps = leader->steps;
        if (leader->is_over)
            return;
        vel_launch_advance(leader);
        vel_connector_advance(leader);
        if (leader->state != VEL_LAUNCH_NONE)
            vel_chair_advance(leader);
        vel_serve_advance(leader);
        vel_lead_forget_over(leader);
    } while (steps != leader->steps && ++rounds < ROUNDS_MOST);
    if (steps != leader->steps)
        vel_leader_at(leader, VEL_TIMER_SOON, leader->now + leader->conf.limit / 100);
}

void vel_leader_tick(struct vel_leader *leader, uint64_t now)
{
    leader->now = now;
    if (leader->is_over)
        return;
    if (is_due(leader, VEL_TIMER_LOOK))
        vel_launch_look(leader);
    if (is_due(leader, VEL_TIMER_BEAT))
        vel_launch_beat(leader);
    if (is_due(leader, VEL_TIMER_CHECK))
        vel_launch_check(leader);
    if (is_due(leader, VEL_TIMER_UP))
        vel_tree_flush(leader);
    is_due(leader, VEL_TIMER_ROLL); /* these are looked at below */
    is_due(leader, VEL_TIMER_TOLD);
    is_due(leader, VEL_TIMER_SOON);
    advance(leader);
}

uint64_t vel_leader_due(const struct vel_leader *leader)
{
    uint64_t due = vel_serve_due(leader);

    if (leader->is_over)
        return VEL_NEVER;
    for (size_t i = 0; i < VEL_TIMERS; i++)
        due = leader->timers[i] < due ? leader->timers[i] : due;
    for (size_t i = 0; i < leader->leads.n; i++) {
        const struct vel_lead *lead = vel_lead_at(leader, i);

        if (lead->is_led && lead->retry_at > leader->now && lead->retry_at < due)
            due = lead->retry_at;
    }
    return due;
}

/* --- events --- */

void vel_leader_begin(struct vel_leader *leader, uint64_t now)
{
    leader->now = now;
    leader->moved_at = now;
    vel_launch_event(leader, VEL_LAUNCH_ON_LEAD);
    vel_lead_find(leader, VEL_LOOK_OWED, 0, NULL);
    vel_generation_load(leader);
    vel_leader_at(leader, VEL_TIMER_CHECK, now + leader->conf.limit);
    advance(leader);
}

/* A leader that has taken the role on its node makes what led to the former one void.
 */
static void replace_former(struct vel_leader *leader,
                           const struct vel_leader_peer *peer)
{
    for (size_t i = leader->links.n; i > 0; i--) {
        const struct vel_leader_link *link = vel_vec_at(&leader->links, i - 1);
        uint64_t number = link->number;

        if (link->role != VEL_ROLE_LEADER || strcmp(link->node, peer->node) != 0 ||
            link->epoch == 0 || link->epoch >= peer->epoch)
            continue;
        leader->ops->close(leader->arg, number);
        vel_leader_gone(leader, number);
        i = leader->links.n + 1; /* others may be gone now */
    }
}

void vel_leader_met(struct vel_leader *leader, uint64_t number,
                    const struct vel_leader_peer *peer)
{
    struct vel_leader_link link = {
        .number = number, .role = peer->role, .rank = peer->rank, .epoch = peer->epoch};

    if (leader->is_over)
        return;
    if (peer->role == VEL_ROLE_LEADER)
        replace_former(leader, peer);
    link.node = strdup(peer->node);
    struct vel_leader_link *met = link.node ? vel_link_add(leader, &link) : NULL;
    if (!met) {
        free(link.node);
        vel_leader_fail(leader, "a link");
        return;
    }
    if (peer->role == VEL_ROLE_LEADER) {
        vel_launch_met(leader, met);
        vel_tree_met(leader, met);
    } else if (peer->role == VEL_ROLE_PROCESS) {
        leader->has_served = leader->has_new = true;
        vel_launch_event(leader, VEL_LAUNCH_ON_PROCESS);
    }
    advance(leader);
}

void vel_leader_unreachable(struct vel_leader *leader, const char *node)
{
    if (leader->is_over)
        return;
    if (!vel_leader_link_to(leader, node)) {
        vel_launch_unreachable(leader, node);
        vel_tree_gone(leader, node);
    }
    advance(leader);
}

void vel_leader_gone(struct vel_leader *leader, uint64_t number)
{
    struct vel_leader_link *link = vel_leader_link(leader, number);

    if (leader->is_over || !link)
        return;
    struct vel_leader_link was = *link;
    vel_link_remove(leader, link);
    vel_serve_gone(leader, number);
    if (was.role == VEL_ROLE_PROCESS)
        vel_connector_gone(leader, &was);
    if (was.role == VEL_ROLE_LEADER && vel_leader_link_to(leader, was.node)) {
        vel_tree_cut(leader, was.node);
    } else if (was.role == VEL_ROLE_LEADER) {
        vel_launch_gone(leader, was.node);
        vel_tree_gone(leader, was.node);
    }
    if (was.role == VEL_ROLE_PROCESS && vel_leader_processes(leader) == 0)
        leader->left_at = leader->now;
    free(was.node);
    advance(leader);
}

void vel_leader_deserted(struct vel_leader *leader)
{
    if (leader->is_over || leader->has_served)
        return;
    leader->has_served = true;
    leader->left_at = leader->now;
    advance(leader);
}

/* The term that a message between leaders bears, or 0. */
static int64_t term_of(const struct vel_msg *msg)
{
    switch (msg->kind) {
    case VEL_MSG_GATHER:
        return (int64_t)msg->u.gather.term;
    case VEL_MSG_HELD:
        return (int64_t)msg->u.held.term;
    case VEL_MSG_VIEW:
        return (int64_t)msg->u.view.term;
    case VEL_MSG_PARTED:
        return (int64_t)msg->u.parted.term;
    case VEL_MSG_PRESENT:
        return (int64_t)msg->u.present.term;
    case VEL_MSG_GUESS:
        return (int64_t)msg->u.guess.term;
    case VEL_MSG_PATTERN:
        return (int64_t)msg->u.pattern.term;
    case VEL_MSG_REPORT:
        return (int64_t)msg->u.report.term;
    case VEL_MSG_SEALED:
        return (int64_t)msg->u.sealed.term;
    case VEL_MSG_DONE:
        return (int64_t)msg->u.done.term;
    case VEL_MSG_STEP:
        return (int64_t)msg->u.step.term;
    case VEL_MSG_NO:
        return (int64_t)msg->u.no.term;
    default:
        return 0;
    }
}

/* A message of a former chair, or to one, changes nothing: both learn who is newer. */
static bool is_fenced(struct vel_leader *leader, struct vel_leader_link *from,
                      const struct vel_msg *msg)
{
    int64_t term = term_of(msg);

    if (from->role != VEL_ROLE_LEADER || term == 0)
        return false;
    if (term > leader->term) {
        vel_launch_newer(leader, term);
        return msg->kind != VEL_MSG_NO;
    }
    if (term == leader->term || msg->kind == VEL_MSG_NO)
        return false;
    if (vel_msg_row(msg->kind)->way == VEL_MSG_WAY_REPLY)
        return true; /* of a chair before this one: nobody waits for it */
    vel_leader_no(leader, from->number, msg->seq, VEL_ESTATE, "there is a newer chair");
    return true;
}

static void hear_leader(struct vel_leader *leader, struct vel_leader_link *from,
                        const struct vel_msg *msg)
{
    switch (msg->kind) {
    case VEL_MSG_JOIN:
    case VEL_MSG_WELCOME:
    case VEL_MSG_GATHER:
    case VEL_MSG_HELD:
    case VEL_MSG_VIEW:
    case VEL_MSG_PARTED:
        vel_launch_hear(leader, from, msg);
        break;
    case VEL_MSG_REPORT:
    case VEL_MSG_SEALED:
    case VEL_MSG_DONE:
    case VEL_MSG_STEP:
        vel_part_hear(leader, from, msg);
        break;
    case VEL_MSG_PRESENT:
    case VEL_MSG_GUESS:
        vel_announce_hear(leader, from, msg);
        break;
    default:
        vel_serve_hear(leader, from, msg);
        break;
    }
}

void vel_leader_message(struct vel_leader *leader, uint64_t number,
                        const struct vel_msg *msg)
{
    struct vel_leader_link *from = vel_leader_link(leader, number);
    const struct vel_msg_row *row = vel_msg_row(msg->kind);

    if (leader->is_over || !from || !row)
        return;
    if (row->way == VEL_MSG_WAY_REPLY && msg->kind != VEL_MSG_WELCOME) {
        if (!is_fenced(leader, from, msg))
            vel_serve_answer(leader, msg);
        vel_launch_hear(leader, from, msg);
    } else if (from->role == VEL_ROLE_LEADER) {
        if (!is_fenced(leader, from, msg))
            hear_leader(leader, from, msg);
    } else {
        vel_serve_hear(leader, from, msg);
    }
    advance(leader);
}

/* --- to look at --- */

int vel_leader_status(const struct vel_leader *leader, struct vel_err *err)
{
    if (leader->failure.status && err)
        *err = leader->failure;
    return leader->failure.status;
}

enum vel_launch_state vel_leader_state(const struct vel_leader *leader)
{
    return leader->state;
}

bool vel_leader_is_chair(const struct vel_leader *leader)
{
    return leader->is_chair;
}

int64_t vel_leader_term(const struct vel_leader *leader)
{
    return leader->term;
}

enum vel_dataset_state vel_leader_dataset(const struct vel_leader *leader, int64_t id)
{
    const struct vel_lead *lead = vel_lead_get(leader, id);

    return lead ? lead->state : VEL_DATASET_NONE;
}
