/* SPDX-License-Identifier: BSD-3-Clause */
/* Campaign: three programs of one user make checkpoints in one prefix at the same time,
 * behind one agent. To most of them something happens: a program is killed and begins
 * again beside the others, the agent is killed and comes again, or both. At the end
 * each finds its own newest that was reported complete, with every byte; what was
 * waited for, and without a kill all that was to be flushed, is on the prefix and
 * right. While they run a second Unix user finds nothing to read, to connect to or to
 * plant. THREE_VERSIONS: how many each makes (12). */
#define _GNU_SOURCE
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap/rng.h"
#include "tap/files.h"
#include "tap/seeds.h"
#include "tap/shiftlab.h"
#include "tap/tap.h"

enum {
    PROGRAMS = 3,
    RANKS = 2,
    VERSIONS = 12,
    VERSIONS_MOST = 400,
    FLUSH = 5,
    STEPS = 4,       /* bytes that a rank writes to the FIFO for a version, about */
    OPERATIONS = 12, /* of a rank for a version, about */
    STRANGER = 65534,
};

enum kind { NOBODY, PROGRAM, AGENT, BOTH, KINDS };

static const char *const kind_texts[] = {"nobody is killed", "a program is killed",
                                         "the agent is killed",
                                         "a program and the agent are killed"};

struct program {
    struct shiftlab lab;
    int64_t next, reported, waited;
    bool was_waited[VERSIONS_MOST]; /* for that version */
    pid_t job;                      /* 0: it has ended */
};

struct scene {
    struct program programs[PROGRAMS];
    struct vel_rng rng;
    enum kind kind;
    int64_t versions;
    bool was_killed, was_slow;
};

static uint64_t below(struct scene *s, uint64_t n)
{
    return vel_rng_below(&s->rng, n);
}

/* --- programs ----------------------------------------------------------------------
 */

static void start(struct scene *s, struct program *p, int64_t versions, bool dies)
{
    struct board *b = p->lab.board;

    shiftlab_order(&p->lab, "AGENT", p->next, p->next + versions - 1);
    b->waits = vel_rng_next(&s->rng) & vel_rng_next(&s->rng);
    b->is_idle = below(s, 2);
    if (dies) {
        b->death = BOARD_ALL;
        b->victim = (int)below(s, RANKS);
        b->at = 1 + below(s, (uint64_t)(OPERATIONS * versions));
    }
    p->job = shiftlab_start(&p->lab, false);
}

static void learn(struct program *p)
{
    const struct board *b = p->lab.board;
    int64_t reported = shiftlab_lowest(&p->lab, b->reported);
    int64_t waited = shiftlab_lowest(&p->lab, b->waited);

    for (int64_t v = b->first; v <= waited && v < VERSIONS_MOST; v++)
        p->was_waited[v] = v - b->first < 64 && b->waits >> (v - b->first) & 1;
    p->reported = reported > p->reported ? reported : p->reported;
    p->waited = waited > p->waited ? waited : p->waited;
    p->next = b->last + 1;
}

/* *ret_again: it was killed, or a busy machine has ended it. */
static bool end(struct scene *s, struct program *p, bool *ret_again)
{
    int status = shiftlab_wait(&p->lab, p->job);
    bool is_slow = shiftlab_was_slow(&p->lab);

    p->job = 0;
    s->was_slow = s->was_slow || is_slow;
    *ret_again = is_slow || p->lab.board->has_died;
    s->was_killed = s->was_killed || p->lab.board->has_died;
    if (p->lab.why[0] || (!is_slow && !shiftlab_went_well(&p->lab, status)) ||
        !shiftlab_found(&p->lab, p->reported))
        return false;
    learn(p);
    return !is_slow || shiftlab_slow_down(&p->lab) ||
           shiftlab_bad(&p->lab, "a leader does not answer");
}

/* Until it ends by itself. */
static bool end_well(struct scene *s, struct program *p)
{
    bool again = true, right = true;

    while (right && again) {
        right = end(s, p, &again);
        if (right && again)
            start(s, p, s->versions / 4 + 1, false);
    }
    return right;
}

/* --- another user ------------------------------------------------------------------
 */

static int found; /* things that the stranger could do */
static char first[3 * SHIFTLAB_TEXT];

static void did(const char *what, const char *path)
{
    if (found++ == 0)
        snprintf(first, sizeof first, "%s %s", what, path);
}

static void try_socket(const char *path)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);

    snprintf(at.sun_path, sizeof at.sun_path, "%s", path);
    if (connect(fd, (struct sockaddr *)&at, sizeof at) == 0)
        did("connects to", path);
    close(fd);
}

static void try_one(const char *path, char type)
{
    char planted[2 * SHIFTLAB_TEXT];
    int fd;

    if (type == 's') {
        try_socket(path);
    } else if (type == 'd') {
        snprintf(planted, sizeof planted, "%s/planted", path);
        fd = open(planted, O_CREAT | O_WRONLY, 0600);
        if (fd >= 0)
            did("plants", planted);
    } else {
        fd = open(path, O_RDONLY);
        if (fd >= 0)
            did("reads", path);
    }
}

static FILE *names;

static int list(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)type, (void)ftw;
    fprintf(names, "%c%s\n",
            S_ISDIR(st->st_mode)    ? 'd'
            : S_ISSOCK(st->st_mode) ? 's'
                                    : 'f',
            path);
    return 0;
}

/* All that is ours is listed by us; then the stranger tries each of it. */
static bool stranger_fails(struct shiftlab *lab)
{
    static const char *const dirs[] = {"prefix/.veloc", "cache", "c"};
    char *text = NULL, *line;
    size_t len = 0;
    int status;
    pid_t pid;

    names = open_memstream(&text, &len);
    for (size_t i = 0; i < sizeof dirs / sizeof dirs[0]; i++)
        nftw(tap_path(dirs[i]), list, 16, FTW_PHYS);
    fclose(names);
    pid = fork();
    if (pid == 0) {
        if (setgid(STRANGER) < 0 || setuid(STRANGER) < 0 ||
            access(tap_path("prefix"), R_OK) < 0)
            _exit(2);
        /* CACHE_BASE and CNTL_BASE are for all users, as /tmp is */
        for (char *at = text; (line = strsep(&at, "\n"));)
            if (*line && strcmp(line + 1, tap_path("cache")) != 0 &&
                strcmp(line + 1, tap_path("c")) != 0)
                try_one(line + 1, line[0]);
        if (found)
            fprintf(stderr, "# a stranger %s\n", first);
        _exit(found > 0);
    }
    waitpid(pid, &status, 0);
    free(text);
    return status == 0 ||
           shiftlab_bad(lab, "a second user finds something, or cannot look (%d)",
                        status);
}

/* --- scenes ------------------------------------------------------------------------
 */

/* So many bytes of the first program. */
static void hear(struct scene *s, uint64_t n)
{
    struct program *p = &s->programs[0];
    struct pollfd fd = {.fd = p->lab.events, .events = POLLIN};
    char byte;

    while (n > 0 && poll(&fd, 1, 10000) == 1 && read(p->lab.events, &byte, 1) == 1)
        n--;
}

static void begin(struct scene *s, uint64_t seed)
{
    vel_rng_init(&s->rng, seed);
    s->kind = (enum kind)(seed % KINDS);
    shiftlab_fresh();
    chmod(tap_dir(), 0755);
    chmod(tap_path("prefix"), 0755);
    chmod(tap_path("cache"), 01777);
    chmod(tap_path("c"), 01777);
    for (int i = 0; i < PROGRAMS; i++) {
        struct program *p = &s->programs[i];
        char rest[256];

        while (read(p->lab.events, rest, sizeof rest) > 0)
            ;
        p->lab.why[0] = '\0';
        p->lab.seed = seed;
        p->lab.peer_seconds = SHIFTLAB_PEER_SECONDS;
        p->next = 1;
        p->reported = p->waited = 0;
        p->lab.flush = s->kind == NOBODY ? "5" : "1";
        memset(p->was_waited, 0, sizeof p->was_waited);
    }
    shiftlab_start_agent(&s->programs[0].lab);
}

static bool run_all(struct scene *s)
{
    int victim = (int)below(s, PROGRAMS);
    bool right = true;

    for (int i = 0; i < PROGRAMS; i++)
        start(s, &s->programs[i], s->versions,
              s->kind != NOBODY && s->kind != AGENT && i == victim);
    hear(s, below(s, (uint64_t)(STEPS * RANKS * s->versions)));
    if (s->kind >= AGENT) {
        shiftlab_end_agent(&s->programs[0].lab, SIGKILL);
        hear(s, below(s, (uint64_t)(STEPS * RANKS * s->versions / 2)));
        shiftlab_start_agent(&s->programs[0].lab);
        s->was_killed = true;
    }
    right = geteuid() != 0 || stranger_fails(&s->programs[0].lab);
    right = end_well(s, &s->programs[victim]) && right;
    for (int i = 0; i < PROGRAMS; i++)
        right = (s->programs[i].job == 0 || end_well(s, &s->programs[i])) && right;
    return right;
}

/* Once more, and nobody dies: each has its own. */
static bool find_all(struct scene *s)
{
    bool right = true;

    for (int i = 0; i < PROGRAMS; i++)
        start(s, &s->programs[i], 1, false);
    for (int i = 0; i < PROGRAMS; i++)
        right = end_well(s, &s->programs[i]) && right;
    return right;
}

/* Every fifth goes there, counted over all that had been made in the prefix when the
 * program began. */
static bool is_flushed(struct program *p)
{
    int64_t last = 0;

    for (int64_t v = 1; v < p->next; v++) {
        if (shiftlab_count_on_prefix(&p->lab, v) == RANKS)
            last = v;
        if (v - last >= FLUSH)
            return shiftlab_bad(
                &p->lab, "of %d versions up to %" PRId64 " none is on the prefix",
                FLUSH, v);
    }
    return true;
}

static bool is_prefix_right(struct scene *s)
{
    bool right = shiftlab_drain(&s->programs[0].lab);

    shiftlab_end_agent(&s->programs[0].lab, SIGTERM);
    for (int i = 0; i < PROGRAMS; i++) {
        struct program *p = &s->programs[i];

        for (int64_t v = 1; right && v < p->next; v++)
            right =
                shiftlab_is_whole(&p->lab, v, s->kind != NOBODY && p->was_waited[v]);
        if (right && s->kind == NOBODY && !s->was_slow)
            right = is_flushed(p);
    }
    return right && shiftlab_is_clean(&s->programs[0].lab);
}

static bool run_scene(struct scene *s, uint64_t seed)
{
    bool right;

    begin(s, seed);
    right = run_all(s) && find_all(s) && is_prefix_right(s);
    shiftlab_end_agent(&s->programs[0].lab, SIGKILL);
    return right;
}

int main(void)
{
    const char *text = getenv("THREE_VERSIONS");
    struct tap_seeds seeds = tap_seeds(2);
    unsigned failed = 0, killed = 0, n = 0;
    static struct scene s;

    s.versions = text ? atoi(text) : VERSIONS;
    for (int i = 0; i < PROGRAMS; i++) {
        shiftlab_open(&s.programs[i].lab, i);
        s.programs[i].lab.ranks = RANKS;
    }
    setenv("H5V_TEST_JOB", "three", 1); /* three jobs at a time: they need no turn */
    for (uint64_t seed = seeds.first; seed <= seeds.last; seed++, n++) {
        bool right;

        s.was_killed = s.was_slow = false;
        right = run_scene(&s, seed);
        for (int i = 0; i < PROGRAMS; i++)
            if (s.programs[i].lab.why[0] || seeds.first == seeds.last)
                note("SEEDS=%" PRIu64 ", %s: program %d: reported %" PRId64
                     ", waited for %" PRId64 " of %" PRId64 ": %s",
                     seed, kind_texts[s.kind], i, s.programs[i].reported,
                     s.programs[i].waited, s.programs[i].next - 1,
                     s.programs[i].lab.why[0] ? s.programs[i].lab.why : "well");
        if (!right)
            shiftlab_keep(&s.programs[0].lab);
        failed += !right;
        killed += s.was_killed;
    }
    ok(n < KINDS || killed >= n / 2, "killed in %u of %u scenes", killed, n);
    is_int(failed, 0,
           "three programs beside each other find their own after kills, and strangers "
           "find nothing, seeds %" PRIu64 " to %" PRIu64,
           seeds.first, seeds.last);
    return done_testing();
}
