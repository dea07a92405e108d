/* SPDX-License-Identifier: BSD-3-Clause */
/* Links between those who are ours: they meet, hear each other in order, notice who is
 * gone or frozen, and wait for nobody longer than T. Everything over Unix sockets and
 * TCP. */
#include "config.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tap/manual_clock.h"
#include "tap/linklab.h"
#include "tap/tap.h"

static const char *how;
static struct vel_err err;

static int send_msg(struct vel_link *link, const struct vel_msg *msg)
{
    return vel_link_send(link, msg, &err);
}

/* --- meeting --- */

static void meet(void)
{
    struct linklab lab;
    struct linklab_side *a, *b;

    linklab_init(&lab);
    linklab_pair(&lab, how, &a, &b);
    ok(strcmp(a->node, "b") == 0 && a->role == VEL_PEER_LEADER && a->epoch == 1 &&
           strcmp(b->node, "a") == 0 && strcmp(b->launch, "L") == 0,
       "%s: each knows the other", how);
    ok(a->is_near == (strcmp(how, "unix") == 0), "%s: and whether it is near", how);
    vel_link_set_data(a->link, &lab);
    ok(vel_link_data(a->link) == &lab, "%s: a link keeps what is its caller's", how);
    linklab_fini(&lab);
}

static void talk(void)
{
    enum { MANY = 2000 };
    static char big[1 << 20];
    struct linklab lab;
    struct linklab_side *a, *b;
    struct vel_msg msg;

    linklab_init(&lab);
    linklab_pair(&lab, how, &a, &b);
    for (uint64_t i = 1; i <= MANY; i++) {
        msg = linklab_step(i);
        if (send_msg(a->link, &msg) < 0)
            note("%s", err.text);
    }
    ok(linklab_until(&lab, &b->messages, MANY) && b->disorder == 0 && b->value == MANY,
       "%s: messages come whole and in order", how);
    msg = (struct vel_msg){.kind = VEL_MSG_HELD, .seq = vel_link_seq(b->link)};
    msg.u.held.term = msg.u.held.parts = 1;
    msg.u.held.record = (struct vel_msg_bytes){big, sizeof big};
    a->answers = true;
    ok(send_msg(b->link, &msg) == 0 && linklab_until(&lab, &a->messages, 1) &&
           a->bytes == sizeof big,
       "%s: the longest message, too", how);
    ok(linklab_until(&lab, &b->messages, MANY + 1) && b->kind == VEL_MSG_YES &&
           b->seq == msg.seq,
       "%s: its answer has its number", how);
    msg.u.held.parts = 0;
    is_int(send_msg(b->link, &msg), VEL_EINVAL, "%s: what breaks the table is not sent",
           how);
    msg = (struct vel_msg){.kind = VEL_MSG_PING, .seq = 77};
    send_msg(a->link, &msg);
    ok(linklab_until(&lab, &a->messages, 2) && a->kind == VEL_MSG_PONG &&
           a->seq == 77 && b->messages == MANY + 1,
       "%s: a ping that asks nothing is answered by the links", how);
    msg.u.ping.what = 2;
    msg.seq = 78;
    send_msg(a->link, &msg);
    ok(linklab_until(&lab, &b->messages, MANY + 2) && b->kind == VEL_MSG_PING,
       "%s: one that asks something is handed on", how);
    linklab_fini(&lab);
}

/* What is said last is heard, whatever the speaker does then. */
static void last_words(void)
{
    struct linklab lab;
    struct linklab_side *a, *b;

    linklab_init(&lab);
    linklab_pair(&lab, how, &a, &b);
    for (uint64_t i = 1; i <= 500; i++) {
        struct vel_msg msg = linklab_step(i);

        send_msg(b->link, &msg);
    }
    vel_link_close(b->link);
    b->link = NULL;
    ok(linklab_until(&lab, &a->gone, 1) && a->messages == 500 && a->disorder == 0,
       "%s: all that was said before the end is heard", how);
    ok(b->gone == 0 && a->why.status == VEL_ELOST,
       "%s: who closes is not told of it, the other is: %s", how, a->why.text);
    linklab_fini(&lab);
}

static void attempts(void)
{
    char endpoints[1000];
    struct linklab lab;
    struct linklab_side *a, *b;

    linklab_init(&lab);
    linklab_pair(&lab, how, &a, &b);
    b->met = 0;
    snprintf(endpoints, sizeof endpoints, "unix:/nowhere/s tcp:127.0.0.1:1 %s %s",
             vel_links_endpoints(a->links), vel_links_endpoints(a->links));
    linklab_connect(b, endpoints, "a");
    linklab_until(&lab, &b->met, 1);
    linklab_pass(&lab, LINKLAB_T, 50);
    ok(b->met == 1 && a->met == 2 && b->gone == 0,
       "%s: of several addresses the first that proves itself is kept", how);
    linklab_connect(b, vel_links_endpoints(a->links), "c");
    ok(linklab_until(&lab, &b->gone, 1), "%s: another node's leader is none: %s", how,
       b->why.text);
    linklab_connect(b, "unix:/nowhere/s tcp:127.0.0.1:1", "a");
    ok(linklab_until(&lab, &b->gone, 2), "%s: nobody there: %s", how, b->why.text);
    linklab_connect(b, "", "a");
    ok(linklab_until(&lab, &b->gone, 3), "%s: nowhere to connect to: %s", how,
       b->why.text);
    struct vel_link *none;
    is_int(vel_links_connect(b->links, "tcp:localhost:x", NULL, &none, &err),
           VEL_EINVAL, "%s: what is no endpoint is told at once: %s", how, err.text);
    linklab_turn(&lab);
    linklab_fini(&lab);
}

/* --- time --- */

static void silence(void)
{
    struct linklab lab;
    struct linklab_side *a, *b;
    struct vel_links_count before, after;

    linklab_init(&lab);
    linklab_pair(&lab, how, &a, &b);
    vel_links_count(a->links, &before);
    linklab_pass(&lab, 10 * LINKLAB_T, 200);
    vel_links_count(a->links, &after);
    ok(a->gone == 0 && b->gone == 0 && a->messages == 0,
       "%s: leaders without work stay connected", how);
    ok(after.sent - before.sent >= 20 && after.sent - before.sent <= 100,
       "%s: by a word every T/4 (%llu in 10 T)", how,
       (unsigned long long)(after.sent - before.sent));
    b->is_frozen = true;
    linklab_pass(&lab, LINKLAB_T / 2, 10);
    is_int(a->gone, 0, "%s: half of T of silence is nothing", how);
    linklab_pass(&lab, LINKLAB_T, 20);
    ok(a->gone == 1 && a->why.status == VEL_ETIMEOUT, "%s: T is an end: %s", how,
       a->why.text);
    b->is_frozen = false;
    ok(linklab_until(&lab, &b->gone, 1) && b->why.status == VEL_ELOST,
       "%s: who thaws finds himself alone: %s", how, b->why.text);
    linklab_fini(&lab);
}

/* Whoever was frozen himself reads what has come before he judges. */
static void thaw(void)
{
    struct linklab lab;
    struct linklab_side *a, *b;
    struct vel_msg msg = linklab_step(1);

    linklab_init(&lab);
    linklab_pair(&lab, how, &a, &b);
    b->is_frozen = true;
    linklab_pass(&lab, LINKLAB_T - 10, 20);
    send_msg(a->link, &msg);
    linklab_pass(&lab, 5, 1);
    a->is_frozen = true;
    vel_manual_clock_advance(&lab.clock, 20 * VEL_CLOCK_MS);
    b->is_frozen = false;
    ok(linklab_until(&lab, &b->messages, 1) && b->gone == 0,
       "%s: a leader that thaws hears what was said meanwhile", how);
    linklab_fini(&lab);
}

static struct linklab_side *speaker;

/* The loop stands for long while somebody speaks. */
static void stand_still(struct linklab_side *side)
{
    struct vel_msg msg = linklab_step(2);

    side->hook = NULL;
    vel_manual_clock_advance(&side->lab->clock, 2 * LINKLAB_T * VEL_CLOCK_MS);
    send_msg(speaker->link, &msg);
    vel_links_turn(speaker->links, 0, &err);
}

/* Also within a turn, behind the look at what has come. */
static void stalls(void)
{
    struct linklab lab;
    struct linklab_side *a, *b;
    struct vel_links_me me;
    struct vel_msg msg = linklab_step(1);

    linklab_init(&lab);
    linklab_pair(&lab, how, &a, &b);
    me = linklab_me(&lab, "c");
    speaker = linklab_add(&lab, &me);
    linklab_connect(speaker, vel_links_endpoints(a->links), "a");
    linklab_until(&lab, &speaker->met, 1);
    linklab_until(&lab, &a->met, 2);
    a->hook = stand_still;
    send_msg(b->link, &msg);
    speaker->is_frozen = b->is_frozen = true;
    vel_links_turn(b->links, 0, &err);
    ok(linklab_until(&lab, &a->messages, 2),
       "%s: nobody is judged by what was not looked at", how);
    linklab_fini(&lab);
}

/* A process may compute for hours; the system tells when it ends. */
static void processes(void)
{
    struct linklab lab;
    struct vel_links_me me;
    struct linklab_side *leader, *process;

    linklab_init(&lab);
    me = linklab_me(&lab, "a");
    leader = linklab_add(&lab, &me);
    linklab_listen(leader, how);
    me.role = VEL_PEER_PROCESS;
    me.rank = 5;
    process = linklab_add(&lab, &me);
    linklab_connect(process, vel_links_endpoints(leader->links), NULL);
    linklab_until(&lab, &process->met, 1);
    ok(leader->role == VEL_PEER_PROCESS && leader->rank == 5,
       "%s: a process has a rank", how);
    process->is_frozen = true;
    linklab_pass(&lab, 20 * LINKLAB_T, 50);
    is_int(leader->gone, 0, "%s: a process that computes is not gone", how);
    vel_link_close(process->link);
    process->is_frozen = false;
    ok(linklab_until(&lab, &leader->gone, 1) && strstr(leader->why.text, "a process"),
       "%s: its end is told at once: %s", how, leader->why.text);
    linklab_fini(&lab);
}

static void answers(void)
{
    struct linklab lab;
    struct linklab_side *a, *b;
    struct vel_msg ask, moves, want;

    linklab_init(&lab);
    linklab_pair(&lab, how, &a, &b);
    ask = linklab_ask(b->link, 1);
    send_msg(b->link, &ask);
    linklab_pass(&lab, LINKLAB_T - 100, 10);
    is_int(b->gone, 0, "%s: an answer may take its time", how);
    linklab_pass(&lab, 200, 4);
    ok(b->gone == 1 && strstr(b->why.text, "parted") != NULL,
       "%s: T without it ends the link: %s", how, b->why.text);
    linklab_fini(&lab);

    linklab_init(&lab);
    linklab_pair(&lab, how, &a, &b);
    want = (struct vel_msg){.kind = VEL_MSG_WANT, .seq = vel_link_seq(b->link)};
    want.u.want.dataset = want.u.want.len = 1;
    moves = (struct vel_msg){.kind = VEL_MSG_MOVES, .seq = want.seq};
    send_msg(b->link, &want);
    for (int i = 0; i < 6; i++) {
        linklab_pass(&lab, LINKLAB_T / 2, 5);
        send_msg(a->link, &moves);
    }
    ok(linklab_until(&lab, &b->messages, 6) && b->gone == 0,
       "%s: as long as something moves it is waited", how);
    moves.kind = VEL_MSG_STATE;
    send_msg(a->link, &moves);
    ok(linklab_until(&lab, &b->gone, 1) && b->why.status == VEL_ECORRUPT,
       "%s: another answer than the table's is none: %s", how, b->why.text);
    linklab_fini(&lab);
}

/* --- one thread's loop, woken by others --- */

static void *wake(void *arg)
{
    vel_links_wake(arg);
    return NULL;
}

static void wakes(void)
{
    struct linklab lab;
    struct linklab_side *a, *b;
    pthread_t thread;

    linklab_init(&lab);
    linklab_pair(&lab, how, &a, &b);
    linklab_pass(&lab, 100, 1);
    for (int i = 0; i < 5; i++)
        linklab_turn(&lab);
    if (pthread_create(&thread, NULL, wake, a->links) != 0)
        bail_out("no thread");
    while (a->woken == 0)
        if (vel_links_turn(a->links, 600000, &err) < 0)
            bail_out("%s", err.text);
    pthread_join(thread, NULL);
    is_int(a->woken, 1, "%s: another thread ends the wait of a turn", how);
    for (int i = 0; i < 100000; i++)
        vel_links_wake(a->links);
    linklab_turn(&lab);
    is_int(a->woken, 2, "%s: waking often is waking once", how);
    linklab_fini(&lab);
}

/* --- many --- */

static void many(void)
{
    enum { LEADERS = 63, PROCESSES = 300 };
    struct linklab lab;
    struct vel_links_me me;
    struct linklab_side *chair;
    int answered = 0;

    linklab_init(&lab);
    me = linklab_me(&lab, "chair");
    chair = linklab_add(&lab, &me);
    chair->answers = true;
    linklab_listen(chair, how);
    for (int i = 0; i < LEADERS + PROCESSES; i++) {
        char node[20];

        snprintf(node, sizeof node, "n%d", i);
        me = linklab_me(&lab, i < LEADERS ? node : "chair");
        me.role = i < LEADERS ? VEL_PEER_LEADER : VEL_PEER_PROCESS;
        linklab_connect(linklab_add(&lab, &me), vel_links_endpoints(chair->links),
                        NULL);
        /* the listener lets VEL_LINK_STRANGERS at a time be strangers */
        if (i % 50 == 49)
            linklab_until(&lab, &chair->met, i + 1);
    }
    ok(linklab_until(&lab, &chair->met, LEADERS + PROCESSES),
       "%s: 63 leaders and 300 processes meet one leader (%d did)", how, chair->met);
    linklab_pass(&lab, 3 * LINKLAB_T, 30);
    for (int i = 1; i < lab.n; i++) {
        struct linklab_side *side = lab.sides[i];
        struct vel_msg msg = linklab_ask(side->link, 1);

        if (i > LEADERS) {
            msg.kind = VEL_MSG_ASK;
            msg.u.ask.dataset = (uint64_t)i;
        }
        send_msg(side->link, &msg);
    }
    for (int i = 1; i < lab.n; i++)
        answered += linklab_until(&lab, &lab.sides[i]->messages, 1);
    ok(answered == LEADERS + PROCESSES && chair->gone == 0, "%s: and all are answered",
       how);
    linklab_fini(&lab);
}

int main(void)
{
    static const char *const hows[] = {"unix", "tcp"};
    int fds = tap_open_fds();

    for (int i = 0; i < 2; i++) {
        how = hows[i];
        meet();
        talk();
        last_words();
        attempts();
        silence();
        thaw();
        stalls();
        processes();
        answers();
        wakes();
        many();
    }
    is_int(tap_open_fds(), fds, "no descriptor is left open");
    return done_testing();
}
