/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sys/sock.h"
#include "tap/manual_clock.h"
#include "tap/linklab.h"
#include "tap/tap.h"

void linklab_init(struct linklab *lab)
{
    *lab = (struct linklab){.n = 0};
    vel_manual_clock_init(&lab->clock, VEL_CLOCK_S, 0);
    memset(lab->key.bytes, 7, sizeof lab->key.bytes);
}

void linklab_fini(struct linklab *lab)
{
    for (int i = 0; i < lab->n; i++) {
        vel_links_destroy(lab->sides[i]->links);
        free(lab->sides[i]);
    }
    vel_manual_clock_fini(&lab->clock);
}

struct vel_links_me linklab_me(struct linklab *lab, const char *node)
{
    return (struct vel_links_me){.role = VEL_PEER_LEADER,
                                 .epoch = 1,
                                 .rank = VEL_MSG_NO_RANK,
                                 .launch = "L",
                                 .node = node,
                                 .user = geteuid(),
                                 .key = &lab->key,
                                 .limit_ms = LINKLAB_T,
                                 .clock = &lab->clock.clock};
}

/* --- what the links tell --- */

static void on_met(void *arg, struct vel_link *link, const struct vel_peer *peer)
{
    struct linklab_side *side = arg;

    side->met++;
    side->link = link;
    side->role = peer->role;
    side->rank = peer->rank;
    side->epoch = peer->epoch;
    side->is_near = peer->is_near;
    snprintf(side->node, sizeof side->node, "%s", peer->node);
    snprintf(side->launch, sizeof side->launch, "%s", peer->launch);
    if (side->closes) {
        vel_link_close(link);
        side->link = NULL;
    }
}

static void answer(struct linklab_side *side, struct vel_link *link,
                   const struct vel_msg *msg)
{
    struct vel_msg yes = {.kind = vel_msg_row(msg->kind)->reply, .seq = msg->seq};

    if (yes.kind == VEL_MSG_NONE || msg->seq == 0)
        return;
    if (yes.kind == VEL_MSG_STATE)
        yes.u.state.dataset = msg->u.ask.dataset;
    if (vel_link_send(link, &yes, &side->why) < 0)
        note("answer: %s", side->why.text);
}

static void on_message(void *arg, struct vel_link *link, const struct vel_msg *msg)
{
    struct linklab_side *side = arg;
    uint64_t before = side->value;

    side->messages++;
    side->kind = msg->kind;
    side->seq = msg->seq;
    memcpy(&side->value, &msg->u, sizeof side->value);
    if (msg->kind == VEL_MSG_STEP) {
        side->value = msg->u.step.owner;
        side->disorder += side->messages > 1 && side->value != before + 1;
    }
    if (msg->kind == VEL_MSG_HELD)
        side->bytes = msg->u.held.record.len;
    if (side->answers)
        answer(side, link, msg);
    if (side->hook)
        side->hook(side);
}

static void on_gone(void *arg, struct vel_link *link, const struct vel_err *why)
{
    struct linklab_side *side = arg;

    side->gone++;
    side->why = *why;
    if (side->link == link)
        side->link = NULL;
}

static void on_wake(void *arg)
{
    ((struct linklab_side *)arg)->woken++;
}

static const struct vel_links_ops ops = {
    .met = on_met, .message = on_message, .gone = on_gone, .wake = on_wake};

/* --- sides --- */

struct linklab_side *linklab_add(struct linklab *lab, const struct vel_links_me *me)
{
    struct linklab_side *side = calloc(1, sizeof *side);
    struct vel_err err = {0};

    if (!side || lab->n == LINKLAB_SIDES)
        bail_out("no room for another side");
    side->lab = lab;
    if (vel_links_create(me, &ops, side, &side->links, &err) < 0)
        bail_out("%s", err.text);
    lab->sides[lab->n++] = side;
    return side;
}

void linklab_listen(struct linklab_side *side, const char *how)
{
    static int sockets;
    char endpoint[300];
    struct vel_err err = {0};

    if (strcmp(how, "unix") == 0)
        snprintf(endpoint, sizeof endpoint, "unix:%.200s/s%d", tap_dir(), sockets++);
    else
        snprintf(endpoint, sizeof endpoint, "tcp:127.0.0.1:0");
    if (vel_links_listen(side->links, endpoint, &err) < 0)
        bail_out("%s", err.text);
}

void linklab_connect(struct linklab_side *side, const char *endpoints, const char *node)
{
    struct vel_err err = {0};

    if (vel_links_connect(side->links, endpoints, node, &side->link, &err) < 0)
        bail_out("%s", err.text);
}

void linklab_turn(struct linklab *lab)
{
    struct vel_err err = {0};

    for (int i = 0; i < lab->n; i++)
        if (!lab->sides[i]->is_frozen &&
            vel_links_turn(lab->sides[i]->links, 0, &err) < 0)
            bail_out("%s", err.text);
}

bool linklab_until(struct linklab *lab, const int *what, int value)
{
    enum { MANY = 20000 };

    for (int i = 0; i < MANY && *what < value; i++) {
        struct pollfd none = {.fd = -1};

        linklab_turn(lab);
        if (i > 100) /* the system may need a moment to carry what was sent */
            poll(&none, 1, 1);
    }
    return *what >= value;
}

void linklab_pass(struct linklab *lab, unsigned ms, int parts)
{
    for (int i = 0; i < parts; i++) {
        vel_manual_clock_advance(&lab->clock, ms * VEL_CLOCK_MS / (unsigned)parts);
        for (int k = 0; k < 20; k++)
            linklab_turn(lab);
    }
}

void linklab_pair(struct linklab *lab, const char *how, struct linklab_side **ret_a,
                  struct linklab_side **ret_b)
{
    struct vel_links_me a = linklab_me(lab, "a"), b = linklab_me(lab, "b");

    *ret_a = linklab_add(lab, &a);
    *ret_b = linklab_add(lab, &b);
    linklab_listen(*ret_a, how);
    linklab_connect(*ret_b, vel_links_endpoints((*ret_a)->links), "a");
    if (!linklab_until(lab, &(*ret_a)->met, 1) ||
        !linklab_until(lab, &(*ret_b)->met, 1))
        bail_out("two leaders do not meet: %s", (*ret_b)->why.text);
}

struct linklab_side *linklab_alone(struct linklab *lab, const char *how)
{
    linklab_init(lab);
    struct vel_links_me me = linklab_me(lab, "a");
    struct linklab_side *side = linklab_add(lab, &me);

    linklab_listen(side, how);
    return side;
}

int linklab_knock(const struct linklab_side *side)
{
    struct vel_err err = {0};
    int fd = -1;

    if (vel_sock_connect(vel_links_endpoints(side->links), LINKLAB_T, &fd, &err) < 0)
        bail_out("%s", err.text);
    return fd;
}

bool linklab_is_well(struct linklab *lab, struct linklab_side *side)
{
    struct vel_links_me me = linklab_me(lab, "b");
    struct linklab_side *friend = linklab_add(lab, &me);
    int met = side->met;

    linklab_connect(friend, vel_links_endpoints(side->links), "a");
    return linklab_until(lab, &friend->met, 1) &&
           linklab_until(lab, &side->met, met + 1);
}

struct vel_msg linklab_step(uint64_t owner)
{
    struct vel_msg msg = {.kind = VEL_MSG_STEP};

    msg.u.step.term = msg.u.step.dataset = msg.u.step.step = 1;
    msg.u.step.owner = owner;
    return msg;
}

struct vel_msg linklab_ask(struct vel_link *link, uint64_t dataset)
{
    struct vel_msg msg = {.kind = VEL_MSG_PARTED, .seq = vel_link_seq(link)};

    (void)dataset;
    msg.u.parted.term = dataset;
    return msg;
}
