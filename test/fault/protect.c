/* SPDX-License-Identifier: BSD-3-Clause */
/* A member dies in the middle of protecting files: another member may be lost on top,
 * and a protection is still there, the one before or the new one, whole at everybody.
 *
 * Members of a set have files of generation 'a' protected and go on to protect those of
 * 'b' under the same label. One of them dies at one of 50 points that are spread over
 * its file operations or over its messages; its process is killed or its node loses
 * power. Then another one loses all that it has, a new job recovers, and goes on to
 * protect 'c'. The seed chooses the point, the scheme and who it is. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/log.h"
#include "base/path.h"
#include "tap/rng.h"
#include "red/header.h"
#include "red/redfile.h"
#include "red/set.h"
#include "tap/fs_fault.h"
#include "tap/files.h"
#include "tap/redlab.h"
#include "tap/seeds.h"
#include "tap/sockjob.h"
#include "tap/tap.h"

enum { N = 4, FILES = 2, MOST = 30000, POINTS = 50, KILLED = 9 };

/* Written by the members, read by all: the counts of the victim, and what was found. */
struct seen {
    uint64_t operations, messages;
    bool is_dead;
    int applied; /* survivors who were told that 'b' is protected */
    char generation[N];
};

struct scenario {
    uint64_t seed;
    enum vel_scheme scheme;
    size_t m;
    int victim, lost;
    bool at_message; /* the point counts messages, not file operations */
    bool is_power_loss;
    uint64_t point; /* 0 .. POINTS-1 */
    struct seen *seen;
};

/* --- files of a generation
 * --------------------------------------------------------------------------- */

static const char *file_name(char generation, int i)
{
    static char names[FILES][32];

    snprintf(names[i], sizeof names[i], "%s%c-%d.h5", i % 2 ? "sub/" : "", generation,
             i);
    return names[i];
}

static size_t content(int member, char generation, int i, uint8_t *bytes)
{
    struct vel_rng rng;

    vel_rng_init(&rng, (uint64_t)(member * 1000 + generation * 10 + i));
    size_t len = MOST / 2 + vel_rng_below(&rng, MOST / 2);
    vel_rng_fill(&rng, bytes, len);
    return len;
}

static void make_files(int member, char generation)
{
    const char *dir = redlab_dir(tap_dir(), (size_t)member);
    static uint8_t bytes[MOST];
    struct vel_err err = {0};
    char path[1200];

    snprintf(path, sizeof path, "%s/sub", dir);
    if (vel_fs_make_dirs(redlab_fs(), path, 0700, &err) < 0)
        bail_out("%s", err.text);
    for (int i = 0; i < FILES; i++) {
        snprintf(path, sizeof path, "%s/%s", dir, file_name(generation, i));
        tap_put_bytes(path, bytes, content(member, generation, i, bytes));
    }
}

static bool has_files(int member, char generation)
{
    const char *dir = redlab_dir(tap_dir(), (size_t)member);
    static uint8_t bytes[MOST];
    bool is_whole = true;
    char path[1200];
    size_t len;

    for (int i = 0; i < FILES; i++) {
        snprintf(path, sizeof path, "%s/%s", dir, file_name(generation, i));
        char *found = tap_get_file(path, &len);
        is_whole = is_whole && found && len == content(member, generation, i, bytes) &&
                   memcmp(found, bytes, len) == 0;
        free(found);
    }
    return is_whole;
}

/* --- a member
 * ---------------------------------------------------------------------------------- */

static struct vel_red_set set_of(const struct scenario *s, struct vel_comm *comm)
{
    return (struct vel_red_set){.comm = comm,
                                .scheme = s->scheme,
                                .m = s->m,
                                .sets = 1,
                                .rank = (uint32_t)comm->rank,
                                .fs = redlab_fs(),
                                .dir = redlab_dir(tap_dir(), (size_t)comm->rank),
                                .label = "kept",
                                .memory = 1 << 16};
}

static int apply(const struct vel_red_set *set, char generation)
{
    char *names[FILES];
    struct vel_err err = {0};

    make_files(set->comm->rank, generation);
    for (int i = 0; i < FILES; i++)
        names[i] = (char *)(uintptr_t)file_name(generation, i);
    return vel_red_apply(set, names, FILES, &generation, 1, NULL, &err);
}

/* How the victim dies: its file system is dead from the point on, and so is the process
 * before it can tell anybody. One per process. */
static struct {
    struct vel_fs_fault *fault;
    const struct vel_comm_ops *under;
    struct vel_comm_ops hooked;
    const struct scenario *scenario;
    uint64_t messages, last_message; /* last_message 0: only count */
} dying;

static void die_if_dead(void)
{
    const struct scenario *s = dying.scenario;

    if (!vel_fs_fault_fired(dying.fault) &&
        (dying.last_message == 0 || dying.messages < dying.last_message))
        return;
    if (s->is_power_loss)
        vel_fs_fault_power_loss(dying.fault, VEL_FS_LOSS_RANDOM, s->seed, NULL);
    s->seen->is_dead = true;
    _exit(KILLED);
}

static int hooked_isend(struct vel_comm *comm, int to, uint32_t tag, const void *bytes,
                        size_t len, struct vel_req **ret_req, struct vel_err *err)
{
    dying.messages++;
    die_if_dead();
    return dying.under->isend(comm, to, tag, bytes, len, ret_req, err);
}

static int hook(const struct scenario *s, struct vel_red_set *set, struct vel_err *err)
{
    int rc = vel_fs_fault_create(redlab_fs(), tap_path("unsynced"), &dying.fault, err);

    if (rc < 0)
        return rc;
    dying.scenario = s;
    dying.under = set->comm->ops;
    dying.hooked = *dying.under;
    dying.hooked.isend = hooked_isend;
    set->comm->ops = &dying.hooked;
    set->fs = vel_fs_fault_fs(dying.fault);
    return 0;
}

static void unhook(struct vel_red_set *set)
{
    set->comm->ops = dying.under;
    set->fs = redlab_fs();
    vel_fs_fault_destroy(dying.fault);
}

/* 'a' is protected, and what protecting 'b' takes is counted on the way. */
static int before(struct vel_comm *comm, void *arg)
{
    const struct scenario *s = arg;
    struct vel_red_set set = set_of(s, comm);
    struct vel_err err = {0};
    bool is_victim = comm->rank == s->victim;
    int rc = apply(&set, 'a');

    if (rc == 0 && is_victim)
        rc = hook(s, &set, &err);
    if (rc == 0)
        rc = apply(&set, 'b');
    if (rc == 0 && is_victim) {
        s->seen->operations = vel_fs_fault_count(dying.fault);
        s->seen->messages = dying.messages;
        unhook(&set);
    }
    return rc < 0 ? rc : apply(&set, 'a');
}

/* the point as a number of operations or messages, at least 1 */
static uint64_t number(uint64_t point, uint64_t of)
{
    return 1 + point * of / POINTS;
}

static int interrupted(struct vel_comm *comm, void *arg)
{
    const struct scenario *s = arg;
    struct vel_red_set set = set_of(s, comm);
    struct vel_fs_fault_plan plan = {.mode = VEL_FS_FAULT_CRASH};
    struct vel_err err = {0};

    /* all are connected before one dies; who hears of the death here meets it again */
    int met = vel_comm_barrier(comm, NULL);
    if (comm->rank == s->victim) {
        if (met < 0 || hook(s, &set, &err) < 0)
            return 1;
        if (s->at_message)
            dying.last_message = number(s->point, s->seen->messages);
        else
            plan.at = number(s->point, s->seen->operations);
        vel_fs_fault_arm(dying.fault, &plan);
    }
    int rc = apply(&set, 'b');
    if (comm->rank == s->victim) {
        die_if_dead();
        return 1; /* it should have died */
    }
    if (rc == 0)
        __atomic_add_fetch(&s->seen->applied, 1, __ATOMIC_SEQ_CST);
    return 0;
}

/* Which generation does this member's newest redundancy file list? */
static char listed(const struct vel_red_set *set)
{
    char generation = '?';
    struct vel_vec names;

    if (vel_red_list(set, &names, NULL) < 0)
        return generation;
    if (names.n == FILES + 1)
        generation = ((char **)names.items)[0][0];
    vel_fs_names_fini(&names);
    return generation;
}

/* One redundancy file, and nothing that is not finished? */
static bool is_tidy(const char *dir)
{
    struct vel_vec names;
    int redundancy = 0, temporary = 0;

    if (vel_fs_list(vel_fs_posix(), dir, &names, NULL) < 0)
        return false;
    for (size_t i = 0; i < names.n; i++) {
        const char *name = ((char **)names.items)[i];

        redundancy += vel_red_is_file_name(name);
        temporary += strstr(name, VEL_RED_TEMPORARY) != NULL;
    }
    vel_fs_names_fini(&names);
    return redundancy == 1 && temporary == 0;
}

static int after(struct vel_comm *comm, void *arg)
{
    const struct scenario *s = arg;
    struct vel_red_set set = set_of(s, comm);
    struct vel_err err = {0};
    int rc = vel_red_recover(&set, NULL, &err);

    if (rc < 0) {
        note("SEEDS=%" PRIu64 ": %s", s->seed, err.text);
        return 1;
    }
    char generation = listed(&set);
    s->seen->generation[comm->rank] = generation;
    if (!has_files(comm->rank, generation))
        return 2;
    if (apply(&set, 'c') < 0 || !is_tidy(set.dir))
        return 3;
    return listed(&set) == 'c' ? 0 : 4;
}

/* --- scenarios
 * -----------------------------------------------------------------------------------
 */

static struct scenario choose(uint64_t seed, struct seen *seen)
{
    static const struct {
        enum vel_scheme scheme;
        size_t m;
    } schemes[] = {
        {VEL_XOR, 1}, {VEL_RS, 2}, {VEL_PARTNER, 1}, {VEL_PARTNER, 2}, {VEL_RS, 1}};
    struct vel_rng rng;

    vel_rng_init(&rng, seed);
    *seen = (struct seen){.operations = 0};
    size_t i = vel_rng_below(&rng, sizeof schemes / sizeof schemes[0]);
    struct scenario s = {.seed = seed,
                         .scheme = schemes[i].scheme,
                         .m = schemes[i].m,
                         .victim = (int)vel_rng_below(&rng, N),
                         .at_message = vel_rng_below(&rng, 2),
                         .is_power_loss = vel_rng_below(&rng, 2),
                         .point = seed * 21 % POINTS, /* a few seeds reach far apart */
                         .seen = seen};
    s.lost = (s.victim + 1 + (int)vel_rng_below(&rng, N - 1)) % N;
    return s;
}

/* NULL, or what is wrong; counts which generation came back. */
static const char *play(struct scenario *s, int *ret_old, int *ret_new)
{
    const struct seen *seen = s->seen;

    for (size_t i = 0; i < N; i++)
        redlab_lose(tap_dir(), i);
    vel_fs_remove_tree(redlab_fs(), tap_path("unsynced"), NULL); /* nobody's any more */
    if (sockjob_run(N, "unix", before, s) != 0)
        return "nothing could be protected";
    int ended_badly = sockjob_run(N, "unix", interrupted, s);
    if (ended_badly != 1 || !seen->is_dead)
        return "the victim is not the only one who died";
    redlab_lose(tap_dir(), (size_t)s->lost);
    if (sockjob_run(N, "unix", after, s) != 0)
        return "the files of a member are not what was protected";
    for (int i = 1; i < N; i++)
        if (seen->generation[i] != seen->generation[0])
            return "members have different generations";
    if (seen->applied > 0 && seen->generation[0] != 'b')
        return "members were told that new files are protected, but they are not";
    *ret_old += seen->generation[0] == 'a';
    *ret_new += seen->generation[0] == 'b';
    return NULL;
}

static void nobody_listens(void *arg, enum vel_log_level level, const char *line,
                           size_t len)
{
    (void)arg, (void)level, (void)line, (void)len;
}

int main(void)
{
    const struct vel_log_sink quiet = {.write = nobody_listens};
    struct tap_seeds seeds = tap_seeds(POINTS);
    int failed = 0, old = 0, new = 0;
    struct seen *seen = mmap(NULL, sizeof *seen, PROT_READ | PROT_WRITE,
                             MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (seen == MAP_FAILED)
        bail_out("no memory to share");
    vel_log_open(&quiet);
    for (uint64_t seed = seeds.first; seed <= seeds.last; seed++) {
        struct scenario s = choose(seed, seen);
        const char *what = play(&s, &old, &new);

        if (what && failed++ < 10)
            note("SEEDS=%" PRIu64 ": %s m=%zu, member %d dies at point %" PRIu64
                 " of its %s%s, member %d is lost: %s",
                 seed, vel_scheme_name(s.scheme), s.m, s.victim, s.point,
                 s.at_message ? "messages" : "file operations",
                 s.is_power_loss ? " with its power" : "", s.lost, what);
    }
    note("%d times the protection before was found, %d times the new one", old, new);
    is_int(
        failed, 0,
        "a member dies while files are protected: all that was protected comes back, "
        "seeds %" PRIu64 " to %" PRIu64,
        seeds.first, seeds.last);
    return done_testing();
}
