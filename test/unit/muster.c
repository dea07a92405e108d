/* SPDX-License-Identifier: BSD-3-Clause */
/* The members of a set come together, or are told why not. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tap/rng.h"
#include "jobs/muster.h"
#include "sys/clock.h"
#include "tap/tap.h"

enum { SAID_MOST = 600 };

/* what was answered last over each link */
struct said {
    int times;
    enum vel_msg_kind kind;
    uint64_t seq;
    uint8_t token[32];
    char text[40000];
    int status;
};

static struct said said[SAID_MOST];

static void answer(void *arg, uint64_t link, const struct vel_msg *msg)
{
    struct said *s = &said[link];

    (void)arg;
    s->times++;
    s->kind = msg->kind;
    s->seq = msg->seq;
    if (msg->kind == VEL_MSG_MET) {
        memcpy(s->token, msg->u.met.token.at, sizeof s->token);
        snprintf(s->text, sizeof s->text, "%s", msg->u.met.endpoints);
    } else {
        s->status = -(int)msg->u.no.status;
        snprintf(s->text, sizeof s->text, "%s", msg->u.no.text);
    }
}

static const struct vel_muster_ops ops = {.answer = answer};

static struct vel_muster *fresh(void)
{
    struct vel_muster *m = NULL;
    struct vel_err err = {0};

    memset(said, 0, sizeof said);
    if (vel_muster_create(40 * VEL_CLOCK_S, &ops, NULL, &m, &err) < 0)
        bail_out("%s", err.text);
    return m;
}

/* Member `member` of 3 of set `set`, over the link of that number. */
static void come(struct vel_muster *m, uint64_t set, uint64_t attempt, uint64_t member,
                 uint64_t now)
{
    char endpoint[32], node[16];
    struct vel_msg meet = {.kind = VEL_MSG_MEET,
                           .seq = 100 + member,
                           .u.meet = {.dataset = 5,
                                      .set = set,
                                      .attempt = attempt,
                                      .member = member,
                                      .members = 3,
                                      .endpoint = endpoint}};

    snprintf(endpoint, sizeof endpoint, "tcp:10.0.0.%u:%u", (unsigned)member,
             (unsigned)attempt);
    snprintf(node, sizeof node, "n%u", (unsigned)member);
    vel_muster_come(m, member, node, &meet, now);
}

static void all_come(void)
{
    struct vel_muster *m = fresh();
    uint8_t first[32];

    come(m, 1, 0, 2, 0);
    come(m, 1, 0, 0, 0);
    ok(said[0].times + said[1].times + said[2].times == 0,
       "nobody is answered before all have come");
    come(m, 1, 0, 1, 0);
    ok(said[0].kind == VEL_MSG_MET && said[1].kind == VEL_MSG_MET &&
           said[2].kind == VEL_MSG_MET && said[1].seq == 101,
       "then all are, each under the number of its request");
    is_str(said[2].text, "tcp:10.0.0.0:0 tcp:10.0.0.1:0 tcp:10.0.0.2:0",
           "with the endpoints by their places");
    ok(memcmp(said[0].token, said[2].token, 32) == 0, "and one token");
    ok(vel_muster_due(m) == UINT64_MAX, "nothing is left of the meeting");
    memcpy(first, said[0].token, sizeof first);
    for (uint64_t i = 0; i < 3; i++)
        come(m, 1, 1, i, 0);
    ok(memcmp(first, said[0].token, 32) != 0, "the next attempt has another token");
    vel_muster_destroy(m);
}

static void somebody_is_missing(void)
{
    struct vel_muster *m = fresh();

    come(m, 1, 0, 0, 0);
    come(m, 1, 0, 2, 10 * VEL_CLOCK_S);
    ok(vel_muster_due(m) == 30 * VEL_CLOCK_S, "the first is told at 3/4 of the limit");
    vel_muster_tick(m, 30 * VEL_CLOCK_S - 1);
    is_int(said[0].times, 0, "and not before");
    vel_muster_tick(m, 30 * VEL_CLOCK_S);
    is_int(said[0].status, VEL_EBUSY, "it may try again");
    is_str(said[0].text, "member 1 of 3 has not come yet", "who is missing is told");
    is_int(said[2].times, 0, "one that came later waits on");
    come(m, 1, 0, 1, 31 * VEL_CLOCK_S);
    come(m, 1, 0, 0, 31 * VEL_CLOCK_S);
    ok(said[2].kind == VEL_MSG_MET, "who comes again is met");
    vel_muster_destroy(m);
}

static void a_link_is_gone(void)
{
    struct vel_muster *m = fresh();
    struct vel_err why = {0};

    vel_fail(&why, VEL_ELOST, "the connection was closed");
    come(m, 1, 0, 0, 0);
    come(m, 1, 0, 2, 0);
    come(m, 2, 0, 0, 0);
    vel_muster_gone(m, 2, &why);
    is_int(said[0].status, VEL_ELOST, "who waits for one that is gone is told at once");
    is_str(said[0].text, "member 2, node n2, is gone: the connection was closed",
           "with its name and the reason");
    is_int(said[2].times, 0, "the one that is gone is told nothing");
    is_int(said[0].times, 1, "other meetings go on");
    vel_muster_destroy(m);
}

static void attempts(void)
{
    struct vel_muster *m = fresh();

    come(m, 1, 1, 0, 0);
    come(m, 1, 2, 1, 0);
    is_int(said[0].status, VEL_ECANCEL, "a later attempt sends the earlier one home");
    come(m, 1, 1, 2, 0);
    is_int(said[2].status, VEL_ECANCEL, "who comes to an earlier one is told");
    is_str(said[2].text, "attempt 1: the others are at attempt 2", "which one it is");
    come(m, 1, 2, 1, 0);
    is_int(said[1].times, 1, "a member that comes twice has given up its first place");
    come(m, 1, 2, 0, 0);
    come(m, 1, 2, 2, 0);
    ok(said[0].kind == VEL_MSG_MET && said[1].kind == VEL_MSG_MET,
       "and the set meets all the same");
    vel_muster_destroy(m);
}

static void nonsense(void)
{
    struct vel_muster *m = fresh();
    struct vel_msg meet = {.kind = VEL_MSG_MEET,
                           .u.meet = {.dataset = 5,
                                      .set = 1,
                                      .member = 4,
                                      .members = 3,
                                      .endpoint = "tcp:1.2.3.4:5"}};

    vel_muster_come(m, 1, "n", &meet, 0);
    is_int(said[1].status, VEL_EINVAL,
           "a member that the set does not have is refused");
    meet.u.meet.member = 1;
    meet.u.meet.endpoint = "tcp:1.2.3.4:5 tcp:6.6.6.6:6";
    vel_muster_come(m, 1, "n", &meet, 0);
    is_int(said[1].status, VEL_EINVAL, "so is an endpoint that is two");
    come(m, 1, 0, 0, 0);
    meet.u.meet.endpoint = "tcp:1.2.3.4:5";
    meet.u.meet.members = 4;
    vel_muster_come(m, 1, "n", &meet, 0);
    is_int(said[1].status, VEL_EINVAL, "so is another size of the set");
    ok(said[0].times == 0, "who waits is not disturbed");
    vel_muster_destroy(m);
}

/* A turn of the loop reads the clock once, and somebody comes later in that turn. */
static void comes_after_the_clock_was_read(void)
{
    struct vel_muster *m = fresh();

    come(m, 1, 0, 0, 5 * VEL_CLOCK_S + 1);
    vel_muster_tick(m, 5 * VEL_CLOCK_S);
    is_int(said[0].times, 0, "who comes after the clock was read waits as any");
    come(m, 1, 0, 1, 6 * VEL_CLOCK_S);
    come(m, 1, 0, 2, 6 * VEL_CLOCK_S);
    ok(said[0].kind == VEL_MSG_MET, "and meets the others");
    vel_muster_destroy(m);
}

/* Members of several sets come, leave and come again in any order: whoever waits is
 * answered once for each time it came, and a `met` goes to all of a set together. */
static int random_life(uint64_t seed)
{
    enum { SETS = 4 };
    struct vel_muster *m = fresh();
    uint64_t now = 0, asked = 0, answered = 0, gone = 0;
    struct vel_err why = {0};
    struct vel_rng rng;

    vel_rng_init(&rng, seed);
    vel_fail(&why, VEL_ELOST, "gone");
    for (int step = 0; step < 2000; step++) {
        uint64_t who = vel_rng_below(&rng, 3);

        now += vel_rng_below(&rng, 10) * VEL_CLOCK_S;
        vel_muster_tick(m, now);
        if (vel_rng_below(&rng, 20) == 0) {
            int before = said[who].times;
            vel_muster_gone(m, who, &why);
            if (said[who].times != before)
                return 1;
            gone++;
        } else {
            asked++;
            come(m, vel_rng_below(&rng, SETS), vel_rng_below(&rng, 2), who, now);
        }
    }
    vel_muster_tick(m, now + 100 * VEL_CLOCK_S);
    for (int i = 0; i < 3; i++)
        answered += (uint64_t)said[i].times;
    bool is_empty = vel_muster_due(m) == UINT64_MAX;
    vel_muster_destroy(m);
    /* those of a link that was gone are not answered: at most one for each set */
    return !is_empty || answered > asked || asked - answered > gone * SETS;
}

int main(void)
{
    int bad = 0;

    all_come();
    somebody_is_missing();
    a_link_is_gone();
    attempts();
    nonsense();
    comes_after_the_clock_was_read();
    for (uint64_t seed = 1; seed <= 20; seed++)
        bad += random_life(seed);
    is_int(bad, 0, "20 random lives: who came is answered once, or was gone");
    return done_testing();
}
