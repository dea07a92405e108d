/* SPDX-License-Identifier: BSD-3-Clause */
/* Programs that open, create, change and remove a few files of one directory, one after
 * the other or at once, again and again, some of which are killed: each call says what
 * it says with HDF5 alone, what is read is the same, and so is in the end what stands
 * at the paths; and nobody waits for a timeout: where programs run in turn, those that
 * are set are longer than a call may take here. A seed is a case: SEEDS=a-b. */
#define _GNU_SOURCE
#include "config.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap/rng.h"
#include "tap/files.h"
#include "tap/seeds.h"
#include "tap/tap.h"

enum {
    HANDS = 3,
    DEEDS = 24,
    MORE = 8, /* what is held is released */
    WORDS = 120,
    TALK = 8000,
    LIMIT = 60, /* s that a call may take; all timeouts are longer */
    CASES = 22,
    LIVE = 0,     /* of the modes */
    TOGETHER = 2, /* from this one on */
};

static const char *const names[] = {"a.h5", "b.h5", "c.h5"};
static const char *const lines[] = {
    "", "UNLISTED=BEHIND\n", "DATASET=x PATTERN=* POINTS=1\n", "DATASET=x PATTERN=*\n"};
static const char *const apart[] = {"", "",
                                    "DATASET=a PATTERN=a.h5 POINTS=1\n"
                                    "DATASET=b PATTERN=b.h5 POINTS=1\n"
                                    "DATASET=c PATTERN=c.h5 POINTS=1\n",
                                    "DATASET=a PATTERN=a.h5\n"
                                    "DATASET=b PATTERN=b.h5\n"
                                    "DATASET=c PATTERN=c.h5\n"};
static const char *const modes[] = {"live", "behind without a line", "behind, points",
                                    "behind"};

struct deed { /* hand -1: all that are there end */
    int hand;
    char words[WORDS];
};

struct plan {
    struct deed deeds[DEEDS + MORE];
    int n, mode;
    bool is_at_once;
    bool is_apart; /* each name has a line of its own */
};

/* --- what is done --- */

static void add_deed(struct plan *plan, int hand, const char *words)
{
    if (plan->n == DEEDS + MORE)
        return;
    plan->deeds[plan->n].hand = hand;
    snprintf(plan->deeds[plan->n++].words, WORDS, "%s", words);
}

static void invent(struct plan *plan, struct vel_rng *rng, int hand, bool likes_links)
{
    static const char *const whats[] = {"trunc", "excl",   "append", "append", "add",
                                        "touch", "read",   "points", "link",   "via",
                                        "from",  "unlink", "drop",   "hold"};
    static const char *const linked[] = {"link", "via",   "via",    "from",
                                         "add",  "trunc", "append", "hold"};
    const char *what =
        likes_links ? linked[vel_rng_below(rng, 8)] : whats[vel_rng_below(rng, 14)];
    int name = (int)vel_rng_below(rng, 3), other = (name + 1) % 3;
    bool makes = strcmp(what, "trunc") == 0 || strcmp(what, "excl") == 0 ||
                 strcmp(what, "points") == 0;
    char words[WORDS];

    if (makes)
        snprintf(words, sizeof words, "%s %s %d", what, names[name],
                 (int)vel_rng_below(rng, 1000));
    else if (strcmp(what, "link") == 0)
        snprintf(words, sizeof words, "%s %s %s", what, names[name], names[other]);
    else
        snprintf(words, sizeof words, "%s %s g%d", what, names[name],
                 (int)vel_rng_below(rng, 20));
    for (uint64_t i = vel_rng_below(rng, 4) == 0 ? 1 + vel_rng_below(rng, 2) : 0;
         i + 1 > 0; i--) /* once, twice, or three times in a row */
        add_deed(plan, hand, words);
    if (strcmp(what, "hold") != 0)
        return;
    if (vel_rng_below(rng, 2) && plan->n < DEEDS)
        invent(plan, rng, hand, likes_links);
    add_deed(plan, hand, "release");
}

/* What was not on the prefix of a program that was killed the others do not find. */
static int add_kill_beside(struct plan *plan, struct vel_rng *rng,
                           struct vel_rng *kills)
{
    int hand = (int)vel_rng_below(rng, HANDS);

    if (plan->mode == LIVE && vel_rng_below(kills, 12) == 0)
        add_deed(plan, hand, "die");
    return hand;
}

/* Of one line behind all files of a step are there after a kill, or none. */
static void add_end_or_kill(struct plan *plan, struct vel_rng *rng)
{
    if (vel_rng_below(rng, 4) == 0)
        add_deed(plan, -1, "end");
    if ((plan->mode < TOGETHER || plan->is_apart) && vel_rng_below(rng, 12) == 0)
        add_deed(plan, 0, vel_rng_below(rng, 2) ? "die" : "dieflush c.h5 7");
}

static void make_plan(struct plan *plan, uint64_t seed)
{
    struct vel_rng rng, kills;
    bool likes_links;
    int hand = 0;

    vel_rng_init(&rng, seed);
    vel_rng_init(&kills, seed + 1000000);
    *plan = (struct plan){.mode = (int)(seed % 4)};
    likes_links = vel_rng_below(&rng, 2);
    plan->is_at_once = vel_rng_below(&rng, 3) == 0;
    plan->is_apart = plan->is_at_once || vel_rng_below(&rng, 2);
    if (likes_links)
        for (int i = 0; i < 3; i++) {
            char words[WORDS];

            snprintf(words, sizeof words, "append %s s", names[i]);
            add_deed(plan, 0, words);
            snprintf(words, sizeof words, "link %s %s", names[i], names[(i + 1) % 3]);
            add_deed(plan, 0, words);
        }
    while (plan->n < DEEDS) {
        if (plan->is_at_once)
            hand = add_kill_beside(plan, &rng, &kills);
        else
            add_end_or_kill(plan, &rng);
        invent(plan, &rng, hand, likes_links);
    }
}

/* --- by whom --- */

struct hand {
    pid_t pid; /* 0: none */
    int in, out;
};

struct scene {
    const char *dir, *program;
    bool is_native;
    struct hand hands[HANDS];
    char said[TALK];
    bool is_stuck;
};

static const char *at(const char *dir, const char *name)
{
    static char paths[4][1000];
    static int turn;
    char *path = paths[turn++ % 4];

    snprintf(path, sizeof paths[0], "%s/%s", dir, name);
    return path;
}

static void say(struct scene *s, const char *text)
{
    size_t len = strlen(s->said);

    snprintf(s->said + len, sizeof s->said - len, "%s\n", text);
}

static void become(const struct scene *s, int in, int out)
{
    dup2(in, 0);
    dup2(out, 1);
    if (chdir(at(s->dir, "p")) < 0)
        _exit(126);
    if (s->is_native) {
        unsetenv("HDF5_PLUGIN_PATH");
    } else {
        setenv("HDF5_VOL_CONNECTOR", "veloc", 1);
        setenv("VELOC_CACHE_BASE", at(s->dir, "c"), 1);
        setenv("VELOC_CNTL_BASE", at(s->dir, "n"), 1);
        setenv("VELOC_LOG_FILE", at(s->dir, "log"), 1);
    }
    execl(s->program, s->program, (char *)NULL);
    _exit(127);
}

static void start(struct scene *s, struct hand *hand)
{
    int in[2], out[2];

    fflush(stdout);
    if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0)
        bail_out("no pipe");
    hand->pid = fork();
    if (hand->pid < 0)
        bail_out("no process");
    if (hand->pid == 0)
        become(s, in[0], out[1]);
    close(in[0]);
    close(out[1]);
    hand->in = in[1];
    hand->out = out[0];
}

/* A line, "" at its end. */
static void hear(struct scene *s, struct hand *hand, char *ret, size_t room)
{
    struct pollfd ready = {.fd = hand->out, .events = POLLIN};
    size_t n = 0;

    ret[0] = '\0';
    while (n + 1 < room) {
        if (poll(&ready, 1, LIMIT * 1000) == 0) {
            s->is_stuck = true;
            snprintf(ret, room, "stands still");
            kill(hand->pid, SIGKILL);
            return;
        }
        if (read(hand->out, ret + n, 1) <= 0 || ret[n] == '\n')
            break;
        n++;
    }
    ret[n] = '\0';
}

/* It has no more to do. */
static void end(struct scene *s, struct hand *hand)
{
    bool was_stuck = s->is_stuck;
    char rest[WORDS];

    if (!hand->pid)
        return;
    close(hand->in);
    hear(s, hand, rest, sizeof rest);
    if (s->is_stuck && !was_stuck)
        say(s, "its end stands still");
    close(hand->out);
    waitpid(hand->pid, NULL, 0);
    hand->pid = 0;
}

static void end_all(struct scene *s)
{
    for (int i = 0; i < HANDS; i++)
        end(s, &s->hands[i]);
}

static void obey(struct scene *s, const struct deed *deed)
{
    struct hand *hand = deed->hand < 0 ? NULL : &s->hands[deed->hand];
    char line[TALK], words[TALK + WORDS + 10];

    if (!hand) {
        end_all(s);
        return;
    }
    if (!hand->pid)
        start(s, hand);
    dprintf(hand->in, "%s\n", deed->words); /* one that is gone says nothing */
    hear(s, hand, line, sizeof line);
    snprintf(words, sizeof words, "%d %s: %s", deed->hand, deed->words, line);
    say(s, words);
    if (s->is_stuck || strncmp(deed->words, "die", 3) == 0)
        end(s, hand);
}

/* What a new program reads of each name, and what is there afterwards without us. */
static void look_at_all(struct scene *s)
{
    for (int i = 0; i < 6 && !s->is_stuck; i++) {
        struct deed deed = {0};

        snprintf(deed.words, sizeof deed.words, "%s %s", i < 3 ? "read" : "from",
                 names[i % 3]);
        obey(s, &deed);
    }
}

static void play(struct scene *s, const struct plan *plan)
{
    struct deed last = {.words = "trunc last.h5 1"};

    tap_fresh_dir(s->dir);
    mkdir(at(s->dir, "p"), 0777);
    mkdir(at(s->dir, "c"), 0777);
    mkdir(at(s->dir, "n"), 0777);
    if (!s->is_native)
        tap_put_file(at(s->dir, "p/.velocconf"),
                     plan->mode >= TOGETHER && plan->is_apart ? apart[plan->mode]
                                                              : lines[plan->mode]);
    for (int i = 0; i < plan->n && !s->is_stuck; i++)
        obey(s, &plan->deeds[i]);
    end_all(s);
    look_at_all(s);
    obey(s, &last); /* what a program that was killed has left is flushed */
    end_all(s);
    if (s->is_stuck)
        return;
    s->is_native = true;
    say(s, "at the paths");
    look_at_all(s);
    end_all(s);
}

/* --- the comparison --- */

static void note_lines(const char *who, const char *said)
{
    char *text = strdup(said), *rest = text, *line;

    while (text && (line = strsep(&rest, "\n")) && *line)
        note("%s: %s", who, line);
    free(text);
}

static void one(const char *program, uint64_t seed)
{
    static struct scene native, veloc;
    struct plan plan;

    make_plan(&plan, seed);
    /* programs that run at once wait for a part of it now and then */
    setenv("VELOC_PEER_TIMEOUT", plan.is_at_once ? "30" : "300", 1);
    native = (struct scene){
        .dir = tap_path("native"), .program = program, .is_native = true};
    veloc = (struct scene){.dir = tap_path("veloc"), .program = program};
    play(&native, &plan);
    play(&veloc, &plan);
    if (ok(strcmp(native.said, veloc.said) == 0,
           "seed %llu, %s, %s: all is as with HDF5 alone", (unsigned long long)seed,
           modes[plan.mode], plan.is_at_once ? "at once" : "in turn"))
        return;
    note_lines("native", native.said);
    note_lines("veloc", veloc.said);
    if (rename(tap_path("veloc"), tap_path("failed")) < 0)
        note("only the last failure's files are kept");
}

int main(void)
{
    struct tap_seeds seeds = tap_seeds(CASES);
    const char *build = getenv("top_builddir");
    char program[1000];

    if (!build)
        bail_out("run it by make check");
    snprintf(program, sizeof program, "%s/test/vol/hand", build);
    signal(SIGPIPE, SIG_IGN);
    setenv("ASAN_OPTIONS", "detect_leaks=0", 1); /* who is traced cannot tell */
    setenv("VELOC_SEAL_AFTER", "300", 1);
    setenv("VELOC_VIEW_WAIT", "300", 1);
    for (uint64_t seed = seeds.first; seed <= seeds.last; seed++)
        one(program, seed);
    return done_testing();
}
