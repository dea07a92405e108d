/* SPDX-License-Identifier: BSD-3-Clause */
/* Campaign: the process that leads a node is frozen (SIGSTOP) at a chosen operation of
 * its leader's threads, while it encodes, seals, flushes or publishes; the rest of its
 * launch dies. The next launch makes its view, and then the frozen one thaws and goes
 * on in the middle of what it did, with its old rights. To half of them the next launch
 * looks as if nobody lived any more (another CNTL_BASE): it ends the frozen one's.
 * Nobody hangs, all ranks of each launch find the same version, what the next launch
 * has reported is there afterwards, and no version is on the prefix by half.
 */
#include "config.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "tap/rng.h"
#include "tap/seeds.h"
#include "tap/shiftlab.h"
#include "tap/tap.h"

enum { VERSIONS = 3, BACKGROUND = 150 };

/* Until a rank has told `what`, for so many seconds at most. */
static bool hear(struct shiftlab *lab, char what, int seconds)
{
    struct pollfd fd = {.fd = lab->events, .events = POLLIN};
    char byte;

    while (poll(&fd, 1, seconds * 1000) == 1 && read(lab->events, &byte, 1) == 1)
        if (byte == what)
            return true;
    return false;
}

/* A launch of which nothing is left but a process that stands still, if it came to
 * that. */
static bool freeze(struct shiftlab *lab, struct vel_rng *rng, pid_t *ret_job)
{
    struct board *b = lab->board;

    shiftlab_order(lab, "ASYNC", 1, VERSIONS);
    b->death = BOARD_FROZEN;
    b->victim = (int)vel_rng_below(rng, BOARD_NODES);
    b->at = 1 + vel_rng_below(rng, BACKGROUND);
    b->is_idle = lab->seed & 1;
    *ret_job = shiftlab_start(lab, true);
    if (!hear(lab, 'D', 5))
        return false;
    /* the others miss it, or not yet */
    shiftlab_pause(vel_rng_below(rng, 2) ? vel_rng_below(rng, 50)
                                         : 1200 * SHIFTLAB_PEER_SECONDS);
    for (int i = 0; i < lab->ranks; i++)
        if (b->pid[i] != b->frozen)
            kill(b->pid[i], SIGKILL);
    return true;
}

static bool run_scene(struct shiftlab *lab, struct shiftlab *next, bool *ret_frozen)
{
    struct vel_rng rng;
    bool is_foreign, right;
    int64_t reported;
    int status;
    pid_t old, job;

    vel_rng_init(&rng, lab->seed);
    is_foreign = vel_rng_below(&rng, 2);
    next->base = is_foreign ? "d" : "c";
    shiftlab_fresh();
    *ret_frozen = freeze(lab, &rng, &old);
    reported = shiftlab_lowest(lab, lab->board->reported);

    shiftlab_order(next, "ASYNC", VERSIONS + 1, 2 * VERSIONS);
    next->board->program = 0; /* the same */
    next->board->waits = vel_rng_below(&rng, 1u << VERSIONS);
    next->board->is_idle = true;
    job = shiftlab_start(next, false);
    hear(next, 'I', SHIFTLAB_LIMIT * SHIFTLAB_PEER_SECONDS);
    shiftlab_pause(vel_rng_below(&rng, 100));
    if (*ret_frozen)
        kill(lab->board->frozen, SIGCONT);
    status = shiftlab_wait(next, job);
    /* it cannot go on without the others of its launch */
    shiftlab_pause(vel_rng_below(&rng, 100));
    shiftlab_kill_ranks(lab);
    shiftlab_wait(lab, old);
    right = shiftlab_went_well(next, status) &&
            shiftlab_found(next, is_foreign ? reported : 0);

    next->base = "c";
    shiftlab_order(next, "ASYNC", 2 * VERSIONS + 1, 2 * VERSIONS + 1);
    next->board->program = 0;
    next->board->waits = 1;
    status = right ? shiftlab_wait(next, shiftlab_start(next, false)) : 0;
    right = right && shiftlab_went_well(next, status) &&
            shiftlab_found(next, 2 * VERSIONS) && shiftlab_is_clean(next);
    for (int64_t v = 1; right && v <= 2 * VERSIONS + 1; v++)
        right = shiftlab_is_whole(next, v, v == 2 * VERSIONS + 1);
    return right;
}

int main(void)
{
    struct tap_seeds seeds = tap_seeds(6);
    unsigned failed = 0, frozen = 0, n = 0;
    struct shiftlab lab, next;

    shiftlab_open(&lab, 0);
    shiftlab_open(&next, 1);
    setenv("H5V_TEST_JOB", "frozen", 1); /* two jobs at a time: they need no turn */
    for (uint64_t seed = seeds.first; seed <= seeds.last; seed++, n++) {
        bool is_frozen, right;

        lab.seed = next.seed = seed;
        next.why[0] = '\0';
        right = run_scene(&lab, &next, &is_frozen);
        if (!right || seeds.first == seeds.last)
            note("SEEDS=%" PRIu64 ": frozen at operation %" PRIu64 " of node %d: %s",
                 seed, lab.board->at, lab.board->victim, right ? "well" : next.why);
        if (!right)
            shiftlab_keep(&next);
        failed += !right;
        frozen += is_frozen;
    }
    ok(n < 6 || frozen > n / 2, "frozen in %u of %u scenes", frozen, n);
    is_int(failed, 0,
           "a leader that thaws when the next launch has its view does no harm, "
           "seeds %" PRIu64 " to %" PRIu64,
           seeds.first, seeds.last);
    return done_testing();
}
