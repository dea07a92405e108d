/* SPDX-License-Identifier: BSD-3-Clause */
/* Links and what is too much: peers that take nothing in, floods, no descriptor left, a
 * listener that is stopped, links closed at any moment. Each is ended alone. */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "link/link_in.h"
#include "sys/sock.h"
#include "tap/manual_clock.h"
#include "tap/linklab.h"
#include "tap/tap.h"

static const char *how;
static struct vel_err err;

/* A peer that never reads: what waits for it is bounded, and its end is its own. */
static void deaf_peer(void)
{
    static char big[1 << 20];
    struct linklab lab;
    struct linklab_side *a, *b;
    struct vel_msg give = {.kind = VEL_MSG_GIVE};
    int sent = 0;

    linklab_init(&lab);
    linklab_pair(&lab, how, &a, &b);
    b->is_frozen = true;
    give.u.give.bytes = (struct vel_msg_bytes){big, sizeof big};
    while (sent < 100 && a->gone == 0 && a->link) {
        sent += vel_link_send(a->link, &give, &err) == 0;
        linklab_turn(&lab);
    }
    ok(a->gone == 1 && sent >= 32 && sent < 50 && a->why.status == VEL_ELOST,
       "%s: a peer that reads nothing is lost after %d MiB: %s", how, sent,
       a->why.text);
    ok(linklab_is_well(&lab, a), "%s: the others are not", how);
    linklab_fini(&lab);

    linklab_init(&lab);
    linklab_pair(&lab, how, &a, &b);
    b->is_frozen = true;
    for (int i = 0; i < 10; i++)
        vel_link_send(a->link, &give, &err);
    b->links->me.role = VEL_PEER_LEADER;
    a->link->conn->peer.role = VEL_PEER_PROCESS; /* who may be silent */
    linklab_pass(&lab, 2 * LINKLAB_T, 20);
    ok(a->gone == 1 && strstr(a->why.text, "taken nothing in"),
       "%s: so is one that reads nothing for T: %s", how, a->why.text);
    linklab_fini(&lab);
}

/* Requests that we do not answer are not taken in without end. */
static void flood(void)
{
    struct linklab lab;
    struct linklab_side *a, *b;
    struct vel_msg yes = {.kind = VEL_MSG_YES};
    int more = 0;

    linklab_init(&lab);
    linklab_pair(&lab, how, &a, &b);
    for (uint64_t i = 0; i < 2 * VEL_LINK_OPEN; i++) {
        struct vel_msg ask = linklab_ask(b->link, i + 1);

        more += vel_link_send(b->link, &ask, &err) == VEL_EBUSY;
        if (i == VEL_LINK_OPEN) { /* beyond its own bound: a peer that has none */
            for (size_t k = b->link->asks.n; k > 0; k--)
                vel_vec_remove(&b->link->asks, k - 1);
        }
    }
    is_int(more, 1, "%s: so many requests wait for a peer's answer, and no more", how);
    for (int i = 0; i < 200; i++)
        linklab_turn(&lab);
    is_int(a->messages, VEL_LINK_OPEN, "%s: so many of a peer's are taken in", how);
    vel_link_send(a->link, &yes, &err);
    for (uint64_t i = 1; i <= 100; i++) {
        yes.seq = i;
        vel_link_send(a->link, &yes, &err);
    }
    for (int i = 0; i < 200; i++)
        linklab_turn(&lab);
    is_int(a->messages, VEL_LINK_OPEN + 100, "%s: each answer lets one more in", how);
    vel_link_close(b->link);
    ok(linklab_until(&lab, &a->gone, 1) && a->messages == 2 * VEL_LINK_OPEN - 1,
       "%s: the rest is heard when the peer has gone", how);
    linklab_fini(&lab);
}

/* Who says much takes nothing from the others. */
static void fairness(void)
{
    struct linklab lab;
    struct linklab_side *a, *b, *c;
    struct vel_links_me me;
    struct vel_msg msg;

    linklab_init(&lab);
    linklab_pair(&lab, how, &a, &b);
    me = linklab_me(&lab, "c");
    c = linklab_add(&lab, &me);
    linklab_connect(c, vel_links_endpoints(a->links), "a");
    linklab_until(&lab, &c->met, 1);
    for (uint64_t i = 1; i <= 20000; i++) {
        msg = linklab_step(i);
        vel_link_send(b->link, &msg, &err);
    }
    for (int i = 0; i < 5; i++)
        linklab_turn(&lab);
    msg = (struct vel_msg){.kind = VEL_MSG_GATHER};
    msg.u.gather.term = 1;
    vel_link_send(c->link, &msg, &err);
    int before = a->messages;
    for (int i = 0; i < 2000 && a->kind != VEL_MSG_GATHER; i++) {
        linklab_turn(&lab);
        if (a->kind != VEL_MSG_GATHER && a->value == 20000)
            break;
    }
    ok(a->messages - before < 1000, "%s: one message gets through a flood (after %d)",
       how, a->messages - before);
    linklab_fini(&lab);
}

/* --- nothing left --- */

static const struct listener *listener_of(const struct linklab_side *side)
{
    return vel_vec_at(&side->links->listeners, 0);
}

static void descriptors(void)
{
    enum { KNOCKS = 40 };
    struct linklab lab;
    struct linklab_side *side = linklab_alone(&lab, how);
    struct rlimit old, few;
    struct vel_links_count count;
    int fds[KNOCKS];

    for (int i = 0; i < KNOCKS; i++)
        fds[i] = linklab_knock(side);
    getrlimit(RLIMIT_NOFILE, &old);
    few = old;
    few.rlim_cur = (rlim_t)fds[KNOCKS - 1] + 3;
    setrlimit(RLIMIT_NOFILE, &few);
    for (int i = 0; i < 50; i++)
        linklab_turn(&lab);
    vel_links_count(side->links, &count);
    ok(count.strangers < KNOCKS && listener_of(side)->deaf_until > 0,
       "%s: without descriptors nobody comes in, and the loop rests", how);
    setrlimit(RLIMIT_NOFILE, &old);
    linklab_pass(&lab, 200, 2);
    vel_links_count(side->links, &count);
    is_int((long long)count.strangers, KNOCKS, "%s: later they do", how);
    for (int i = 0; i < KNOCKS; i++)
        vel_sock_close(fds[i]);
    ok(linklab_is_well(&lab, side), "%s: and the leader is well", how);
    linklab_fini(&lab);
}

/* --- strangers --- */

enum { JOINERS = 300, STRANGERS = 10000, AT_ONCE = 60 };

/* So many more who say nothing, and stay. */
static void knock(struct linklab_side *side, int *fds, int *n)
{
    for (int i = 0; i < AT_ONCE && *n < STRANGERS; i++)
        fds[(*n)++] = linklab_knock(side);
}

/* Everyone asks again as long as strangers come, and is answered. */
static int ask_all(struct linklab *lab)
{
    int asked = 0;

    for (int i = 1; i < lab->n; i++) {
        struct linklab_side *side = lab->sides[i];

        if (side->met == 0 || !side->link || side->messages < side->woken)
            continue;
        struct vel_msg msg = linklab_ask(side->link, 1);
        vel_link_send(side->link, &msg, &err);
        side->woken++; /* asked so far */
        asked++;
    }
    return asked;
}

static void more_descriptors(void)
{
    struct rlimit most;

    getrlimit(RLIMIT_NOFILE, &most);
    if (most.rlim_max < STRANGERS + 4 * JOINERS)
        return;
    most.rlim_cur = most.rlim_max;
    setrlimit(RLIMIT_NOFILE, &most);
}

/* 10,000 who prove nothing come together with 300 of ours. */
static void strangers(void)
{
    struct linklab lab;
    struct linklab_side *a = linklab_alone(&lab, "tcp");
    struct vel_links_me me = linklab_me(&lab, "b");
    struct rlimit few;
    static int fds[STRANGERS];
    int attempts = 0, n = 0, gone = 0, asked = 0, met = 0;

    getrlimit(RLIMIT_NOFILE, &few);
    if (few.rlim_cur < STRANGERS + 4 * JOINERS) {
        skip(3, "%d strangers need more descriptors", STRANGERS);
        linklab_fini(&lab);
        return;
    }
    a->answers = true;
    for (int i = 0; i < JOINERS; i++) {
        linklab_connect(linklab_add(&lab, &me), vel_links_endpoints(a->links), "a");
        attempts++;
    }
    for (int round = 0; round < 1000 && (n < STRANGERS || met < JOINERS); round++) {
        knock(a, fds, &n);
        vel_manual_clock_advance(&lab.clock, LINKLAB_T * VEL_CLOCK_MS / 1000 + 1);
        for (int k = 0; k < 4; k++)
            linklab_turn(&lab);
        met = 0;
        for (int i = 1; i < lab.n; i++) {
            struct linklab_side *side = lab.sides[i];

            met += side->met > 0;
            if (side->met == 0 && side->gone > 0) {
                linklab_connect(side, vel_links_endpoints(a->links), "a");
                attempts++;
            }
            gone += side->met > 0 && side->gone > 0;
            side->gone = 0;
        }
        asked += ask_all(&lab);
    }
    ok(met == JOINERS && attempts == JOINERS,
       "300 of ours come in at the first attempt while 10,000 strangers knock (%d "
       "attempts, %d met)",
       attempts, met);
    ok(gone == 0 && asked > 10 * JOINERS && a->messages > 9 * JOINERS,
       "who is in is answered all the time (%d of %d)", a->messages, asked);
    for (int i = 0; i < 200; i++) {
        vel_manual_clock_advance(&lab.clock, LINKLAB_T * VEL_CLOCK_MS / 1000 + 1);
        linklab_turn(&lab);
    }
    ok(a->links->conns.n <= JOINERS + VEL_LINK_STRANGERS,
       "and of the strangers 64 at most are listened to (%zu)",
       a->links->conns.n - JOINERS);
    for (int i = 0; i < n; i++)
        vel_sock_close(fds[i]);
    linklab_fini(&lab);
}

/* A listener that is stopped: its queue is full, and whoever connects gives up. */
static void stopped(void)
{
    struct linklab lab;
    struct vel_links_me me;
    struct linklab_side *a = linklab_alone(&lab, how), *b;

    a->is_frozen = true;
    me = linklab_me(&lab, "b");
    b = linklab_add(&lab, &me);
    linklab_connect(b, vel_links_endpoints(a->links), "a");
    linklab_pass(&lab, LINKLAB_T + 100, 20);
    ok(b->gone == 1 && b->why.status == VEL_ETIMEOUT,
       "%s: a leader that is stopped is no leader: %s", how, b->why.text);
    linklab_fini(&lab);
}

static void closing(void)
{
    struct linklab lab;
    struct vel_links_me me;
    struct linklab_side *a = linklab_alone(&lab, how), *b;

    a->closes = true;
    me = linklab_me(&lab, "b");
    b = linklab_add(&lab, &me);
    b->closes = true;
    for (int i = 0; i < 20; i++) {
        linklab_connect(b, vel_links_endpoints(a->links), "a");
        if (i % 2)
            vel_link_close(b->link);
        for (int k = 0; k < 20; k++)
            linklab_turn(&lab);
    }
    linklab_pass(&lab, 2 * LINKLAB_T, 10);
    ok(a->links->conns.n == 0 && b->links->conns.n == 0 && a->links->links.n == 0 &&
           b->links->links.n == 0,
       "%s: links may be closed at any moment, and nothing of them stays", how);
    linklab_fini(&lab);
}

int main(void)
{
    static const char *const hows[] = {"unix", "tcp"};
    int fds = tap_open_fds();

    more_descriptors();
    strangers();
    for (int i = 0; i < 2; i++) {
        how = hows[i];
        deaf_peer();
        flood();
        fairness();
        descriptors();
        stopped();
        closing();
    }
    is_int(tap_open_fds(), fds, "no descriptor is left open");
    return done_testing();
}
