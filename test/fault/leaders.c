/* SPDX-License-Identifier: BSD-3-Clause */
/* Campaign: programs of 4 or 8 ranks on 4 virtual nodes, with the node leaders that
 * work behind them, are killed (SIGKILL): all ranks, or the process that leads a node
 * (the others a moment later), or the agent, or all of it, at a chosen operation on
 * files of a rank or of a leader's threads, or at a chosen step of the program. Perhaps
 * a node's cache is lost as well, perhaps the next launch is killed in its turn. Then
 * the program runs once more and must find one complete checkpoint, the same on all
 * ranks, with every byte: the newest that was reported complete, or a newer one (when a
 * node was lost: the newest that was waited for); what was waited for is on the prefix
 * and right, no version is there by half, and nothing temporary is left after a few
 * launches.
 *
 * Everything follows from the seed but the order of what processes and threads do.
 */
#define _GNU_SOURCE
#include "config.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tap/rng.h"
#include "tap/seeds.h"
#include "tap/shiftlab.h"
#include "tap/tap.h"

enum {
    VERSIONS = 4,
    OPERATIONS = 450, /* about those of a rank with its leader's threads */
    ALONE = 200,      /* of a rank without them */
    BACKGROUND = 250, /* of a leader's threads */
    SHORT_LAUNCHES = 4,
    STEPS = 20, /* bytes that a rank writes to the FIFO */
};

enum kind { PROGRAM, LEADER, SYNCHRONOUS, SERVED, EVERYTHING, SERVER, KINDS };

static const char *const kind_texts[] = {
    [PROGRAM] = "the program is killed",
    [LEADER] = "a leader's process is killed",
    [SYNCHRONOUS] = "the program is killed, without a background",
    [SERVED] = "the program is killed, the agent is not",
    [EVERYTHING] = "program and agent are killed",
    [SERVER] = "the agent is killed, the program is not",
};

struct scene {
    struct shiftlab lab;
    struct vel_rng rng;
    enum kind kind;
    int kills;                /* launches that are killed */
    bool loses_node;          /* after the first kill */
    bool is_sync_at_last;     /* the last launch is without a background */
    int64_t next;             /* version */
    int64_t reported, waited; /* the newest of all launches */
    int64_t least;            /* what the next one has to find */
    uint64_t waits_seen;      /* bit v: version v was waited for */
    bool was_killed;
    int slow; /* launches that ended because a leader had no time */
};

static uint64_t below(struct scene *s, uint64_t n)
{
    return vel_rng_below(&s->rng, n);
}

static bool is_all_flushed(const struct scene *s)
{
    return strcmp(s->lab.flush, "1") == 0;
}

/* --- a launch -----------------------------------------------------------------------
 */

struct launch {
    const char *mode;
    enum board_death death;
    int versions;
    uint64_t waits;
    uint64_t agent_dies;  /* at that step of all ranks; 0: not */
    uint64_t agent_comes; /* again */
};

static void order(struct scene *s, const struct launch *l)
{
    struct board *b = s->lab.board;

    shiftlab_order(&s->lab, l->mode, s->next, s->next + l->versions - 1);
    b->waits = l->waits;
    b->is_idle = s->lab.seed & 1;
    b->death = l->death;
    if (l->death == BOARD_LEADER) {
        b->victim = (int)below(s, BOARD_NODES);
        b->at = 1 + below(s, BACKGROUND);
    } else if (l->death != BOARD_NOBODY) {
        b->victim = (int)below(s, (uint64_t)s->lab.ranks);
        b->at = 1 + below(s, strcmp(l->mode, "ASYNC") == 0 ? OPERATIONS : ALONE);
    }
}

/* What the ranks have told: true when one has died by an order. */
static bool hear(struct scene *s, const struct launch *l, uint64_t *steps)
{
    char bytes[64];
    ssize_t n = read(s->lab.events, bytes, sizeof bytes);
    bool died = false;

    for (ssize_t i = 0; i < n; i++) {
        died = died || bytes[i] == 'D';
        ++*steps;
        if (*steps == l->agent_dies) {
            shiftlab_pause(below(s, 40));
            shiftlab_end_agent(&s->lab, SIGKILL);
        }
        if (*steps == l->agent_comes && s->lab.agent == 0)
            shiftlab_start_agent(&s->lab);
    }
    return died;
}

/* Until the job has ended; its status. */
static int attend(struct scene *s, const struct launch *l, pid_t job)
{
    int job_fd = (int)syscall(SYS_pidfd_open, job, 0);
    uint64_t steps = 0;
    bool is_over = false;

    if (job_fd < 0)
        bail_out("no pidfd_open");
    while (!is_over) {
        struct pollfd fds[] = {{.fd = s->lab.events, .events = POLLIN},
                               {.fd = job_fd, .events = POLLIN}};

        if (poll(fds, 2, -1) < 0 && errno != EINTR)
            bail_out("no poll");
        if (fds[0].revents && hear(s, l, &steps) && l->death == BOARD_LEADER) {
            /* with one process less: for a moment, or until it is missed */
            shiftlab_pause(below(s, below(s, 2) ? 50 : 1500 * s->lab.peer_seconds));
            shiftlab_kill_ranks(&s->lab);
        }
        is_over = fds[1].revents;
    }
    close(job_fd);
    return shiftlab_wait(&s->lab, job);
}

static void learn(struct scene *s, const struct launch *l)
{
    const struct board *b = s->lab.board;
    int64_t reported = shiftlab_lowest(&s->lab, b->reported);
    int64_t waited = shiftlab_lowest(&s->lab, b->waited);

    for (int64_t v = b->first; v <= waited; v++)
        if (l->waits >> (v - b->first) & 1)
            s->waits_seen |= UINT64_C(1) << v;
    s->reported = reported > s->reported ? reported : s->reported;
    s->waited = waited > s->waited ? waited : s->waited;
    s->least = s->reported;
    s->next = b->last + 1;
    s->was_killed = s->was_killed || b->has_died;
}

static void tell_launch(const struct scene *s, const struct launch *l, int status)
{
    const struct board *b = s->lab.board;

    note("SEEDS=%" PRIu64 ": %s, %s at operation %" PRIu64 " of %d: found %" PRId64
         " of %" PRId64 ", reported %" PRId64 ", waited for %" PRId64 ", status %d",
         s->lab.seed, l->mode, b->has_died ? "killed" : "not killed", b->at, b->victim,
         b->found[0], s->least, shiftlab_lowest(&s->lab, b->reported),
         shiftlab_lowest(&s->lab, b->waited), status);
}

/* Once; *ret_is_slow: it ended because a leader had no time to answer. */
static bool launch_once(struct scene *s, const struct launch *l, bool *ret_is_slow)
{
    int status;

    order(s, l);
    status = attend(s, l, shiftlab_start(&s->lab, l->death == BOARD_LEADER));
    if (l->death == BOARD_AGENT && s->lab.board->has_died)
        shiftlab_end_agent(&s->lab, SIGKILL);
    tell_launch(s, l, status);
    *ret_is_slow = shiftlab_was_slow(&s->lab);
    if (s->lab.why[0] || (!*ret_is_slow && !shiftlab_went_well(&s->lab, status)) ||
        !shiftlab_found(&s->lab, s->least))
        return false;
    learn(s, l);
    return true;
}

/* One that a busy machine has ended is one more that ends at any moment. */
static bool launch(struct scene *s, const struct launch *l)
{
    bool is_slow = true;

    while (is_slow) {
        if (!launch_once(s, l, &is_slow))
            return false;
        s->slow += is_slow;
        if (is_slow && !shiftlab_slow_down(&s->lab))
            return shiftlab_bad(&s->lab, "a leader does not answer in %d s",
                                s->lab.peer_seconds);
    }
    return true;
}

/* --- what is right ------------------------------------------------------------------
 */

/* With the same names in all: the prefix has the newest that was waited for, or newer.
 */
static bool is_one_version(struct scene *s)
{
    int64_t v = s->next - 1;

    while (v > 0 && shiftlab_is_on_prefix(&s->lab, 0, v) <= 0)
        v--;
    if (v < s->waited && is_all_flushed(s))
        return shiftlab_bad(
            &s->lab, "version %" PRId64 " is on the prefix, %" PRId64 " was waited for",
            v, s->waited);
    return v == 0 || shiftlab_is_whole(&s->lab, v, true);
}

static bool is_prefix_right(struct scene *s)
{
    if (s->lab.has_same_names && !is_one_version(s))
        return false;
    for (int64_t v = 1; !s->lab.has_same_names && v < s->next; v++)
        if (!shiftlab_is_whole(&s->lab, v, s->waits_seen >> v & is_all_flushed(s)))
            return false;
    return true;
}

/* Nothing happens to this launch. */
static bool launch_in_peace(struct scene *s, const struct launch *l)
{
    return launch(s, l) && (s->lab.agent == 0 || shiftlab_drain(&s->lab));
}

/* What a killed flush has left goes when a launch has a background, and that the time:
 * others leave it to the next. */
static bool is_clean(struct scene *s, const struct launch *well)
{
    struct launch l = *well;

    if (s->is_sync_at_last)
        l.mode = "ASYNC";
    for (int i = 0; i < SHORT_LAUNCHES && !shiftlab_is_clean(&s->lab); i++) {
        note("SEEDS=%" PRIu64 ": %s", s->lab.seed, s->lab.why);
        s->lab.why[0] = '\0';
        if (!launch_in_peace(s, &l))
            return false;
    }
    return shiftlab_is_clean(&s->lab);
}

static bool is_well(struct scene *s, const struct launch *l)
{
    return launch_in_peace(s, l) && is_prefix_right(s) && is_clean(s, l);
}

/* What a program has promised is done by the agent that it leaves behind. */
static bool does_agent_finish(struct scene *s)
{
    if (!shiftlab_drain(&s->lab))
        return false;
    if (!is_all_flushed(s) || s->reported < s->lab.board->first)
        return true;
    if (!s->lab.has_same_names)
        return shiftlab_is_whole(&s->lab, s->reported, true);
    s->waited = s->reported;
    return is_one_version(s);
}

/* --- scenes -------------------------------------------------------------------------
 */

static void choose(struct scene *s, uint64_t seed)
{
    struct shiftlab lab = s->lab;

    *s = (struct scene){.next = 1};
    vel_rng_init(&s->rng, seed);
    s->lab = lab;
    s->lab.seed = seed;
    s->lab.why[0] = '\0';
    s->lab.peer_seconds = SHIFTLAB_PEER_SECONDS;
    s->lab.scheme = seed & 8 ? "XOR" : "PARTNER";
    s->kind = (enum kind)(seed % KINDS);
    s->lab.ranks = below(s, 3) ? 4 : 8;
    s->kills = below(s, 3) ? 1 : 2;
    s->lab.has_same_names = below(s, 3) == 0;
    s->lab.flush = below(s, 4) ? "1" : below(s, 2) ? "0" : "2";
    s->loses_node = below(s, 3) == 0;
    s->is_sync_at_last = below(s, 5) == 0;
    shiftlab_fresh();
}

static const char *mode_of(const struct scene *s)
{
    return s->kind == SYNCHRONOUS ? "SYNC" : s->kind >= SERVED ? "AGENT" : "ASYNC";
}

static bool suffer(struct scene *s)
{
    static const enum board_death deaths[] = {
        [PROGRAM] = BOARD_ALL, [LEADER] = BOARD_LEADER,    [SYNCHRONOUS] = BOARD_ALL,
        [SERVED] = BOARD_ALL,  [EVERYTHING] = BOARD_AGENT, [SERVER] = BOARD_NOBODY};
    struct launch l = {.mode = mode_of(s),
                       .death = deaths[s->kind],
                       .versions = VERSIONS,
                       .waits = below(s, 1u << VERSIONS)};
    uint64_t steps = (uint64_t)(STEPS * s->lab.ranks);

    if (s->kind >= SERVED && s->lab.agent == 0 && (s->kind != SERVER || below(s, 4)))
        shiftlab_start_agent(&s->lab);
    if (s->kind == SERVER) {
        l.agent_dies = 1 + below(s, steps);
        l.agent_comes = l.agent_dies + 1 + below(s, steps / 2);
    }
    if (!launch(s, &l))
        return false;
    return s->lab.agent == 0 || below(s, 2) || does_agent_finish(s);
}

/* The launch that nothing happens to, and perhaps one that has the prefix alone. */
static bool recover(struct scene *s)
{
    struct launch l = {
        .mode = s->is_sync_at_last ? "SYNC" : mode_of(s), .versions = 1, .waits = 1};

    if (s->is_sync_at_last)
        shiftlab_end_agent(&s->lab, SIGTERM);
    if (!is_well(s, &l))
        return false;
    if (!is_all_flushed(s) || below(s, 3))
        return true;
    shiftlab_end_agent(&s->lab, SIGTERM);
    for (int node = 0; node < BOARD_NODES; node++)
        shiftlab_lose_node(node);
    l.mode = "ASYNC";
    return is_well(s, &l);
}

static bool run_scene(struct scene *s, uint64_t seed)
{
    bool right = true;

    choose(s, seed);
    for (int i = 0; right && i < s->kills; i++) {
        right = suffer(s);
        if (right && i == 0 && s->loses_node && s->kind != SERVER) {
            shiftlab_end_agent(&s->lab, SIGKILL);
            shiftlab_lose_node((int)below(s, BOARD_NODES));
            s->least = s->reported = s->waited; /* the rest may not be encoded yet */
        }
    }
    right = right && recover(s);
    shiftlab_end_agent(&s->lab, SIGTERM);
    return right;
}

int main(void)
{
    struct tap_seeds seeds = tap_seeds(10);
    unsigned failed = 0, killed = 0, slow = 0, n = 0;
    struct scene s = {0};

    shiftlab_open(&s.lab, 0);
    for (uint64_t seed = seeds.first; seed <= seeds.last; seed++, n++) {
        bool right = run_scene(&s, seed);

        if (!right || seeds.first == seeds.last)
            note("SEEDS=%" PRIu64 ": %s: %s", seed, kind_texts[s.kind],
                 right ? "well" : s.lab.why);
        if (!right)
            shiftlab_keep(&s.lab);
        failed += !right;
        killed += s.was_killed || s.kind == SERVER;
        slow += (unsigned)s.slow;
    }
    if (slow > 0)
        note("%u launches more were ended by a leader that had no time", slow);
    ok(n < 16 || killed > n / 2, "killed in %u of %u scenes", killed, n);
    is_int(failed, 0,
           "what was reported is there after kills of programs, leaders and agents, "
           "seeds %" PRIu64 " to %" PRIu64,
           seeds.first, seeds.last);
    return done_testing();
}
