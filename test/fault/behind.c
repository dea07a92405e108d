/* SPDX-License-Identifier: BSD-3-Clause */
/* Campaign: everything is killed (SIGKILL) at a chosen operation on files, be it the
 * program's or the background's: four ranks on four nodes, and who does their work, are
 * threads of one process. Perhaps a node's cache is lost as well. Then the same ranks
 * begin again, with a background or without, and must find one complete dataset, the
 * same on all ranks, with every byte: the newest that was reported complete, or a newer
 * one; and of those that were waited for, the newest even without that node.
 *
 * Everything follows from the seed but the order of what threads do.
 */
#include "config.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap/rng.h"
#include "tap/crowd.h"
#include "tap/files.h"
#include "tap/seeds.h"
#include "tap/seslab.h"
#include "tap/standin.h"
#include "tap/tap.h"

enum { RANKS = 4, VERSIONS = 4, OPERATIONS = 6000 };

/* In memory that both processes share. */
struct told {
    int64_t reported, waited; /* the newest versions, 0: none */
    int64_t found[RANKS];
    bool went_well;
    char why[RANKS][VEL_ERR_TEXT];
};

struct scene {
    uint64_t seed;
    struct seslab lab;
    struct told *told;
    struct standin *standin;
    struct vel_fs *fs;
    uint64_t kill_at;
    unsigned waits;  /* bit v: for version v */
    bool loses_node; /* before the restart */
    bool is_sync;    /* the restart is without a background */
    int64_t least;   /* the restart has to find */
};

static void raise_to(int64_t *what, int64_t version)
{
    int64_t now = __atomic_load_n(what, __ATOMIC_SEQ_CST);

    while (now < version &&
           !__atomic_compare_exchange_n(what, &now, version, false, __ATOMIC_SEQ_CST,
                                        __ATOMIC_SEQ_CST))
        ;
}

/* --- the process that is killed ----------------------------------------------------
 */

static void die(void *arg)
{
    (void)arg;
    raise(SIGKILL);
}

static int save(const struct scene *s, struct vel_session *session, struct vel_err *err)
{
    int rc = 0;

    for (int64_t v = 1; rc == 0 && v <= VERSIONS; v++) {
        rc = seslab_checkpoint(&s->lab, session, v, err);
        if (rc == 0)
            raise_to(&s->told->reported, v);
        if (rc == 0 && s->waits & 1u << v) {
            rc = vel_session_wait(session, err);
            if (rc == 0)
                raise_to(&s->told->waited, v);
        }
    }
    return rc;
}

static int open_session(const struct scene *s, struct vel_comm *comm,
                        struct vel_session **ret, struct vel_err *err)
{
    struct vel_background *seat =
        s->standin ? standin_seat(s->standin, comm->rank) : NULL;

    return seslab_open_with(&s->lab, comm, s->fs, seat, ret, err);
}

static int first(struct vel_comm *comm, void *arg)
{
    const struct scene *s = arg;
    struct vel_session *session = NULL;
    struct vel_err err = {0};
    int closed, rc = open_session(s, comm, &session, &err);

    if (rc == 0)
        rc = save(s, session, &err);
    closed = vel_session_close(session, rc == 0 ? "done" : NULL, &err);
    rc = rc < 0 ? rc : closed;
    if (rc < 0)
        snprintf(s->told->why[comm->rank], VEL_ERR_TEXT, "%s", err.text);
    return rc;
}

static int be_killed(struct scene *s)
{
    struct vel_fs_fault *fault;
    struct vel_fs_fault_plan plan = {
        .mode = VEL_FS_FAULT_CRASH, .at = s->kill_at, .crash = die};

    if (vel_fs_fault_create(vel_fs_posix(), NULL, &fault, NULL) < 0)
        return 1;
    s->fs = vel_fs_fault_fs(fault);
    s->standin = standin_create(RANKS);
    standin_use(s->standin, s->fs);
    vel_fs_fault_arm(fault, &plan);
    s->told->went_well = crowd_run(RANKS, NULL, first, s, NULL) == 0;
    return !s->told->went_well;
}

/* --- the one that begins again ------------------------------------------------------
 */

static int again(struct vel_comm *comm, void *arg)
{
    const struct scene *s = arg;
    struct vel_session *session = NULL;
    struct vel_err err = {0};
    int64_t *found = &s->told->found[comm->rank];
    int rc = open_session(s, comm, &session, &err);

    if (rc == 0)
        rc = seslab_newest(session, found, &err);
    if (rc == 0 && *found)
        rc = seslab_restart(&s->lab, session, *found, &err);
    if (rc == 0)
        rc = vel_session_wait(session, &err);
    if (rc == 0)
        rc = seslab_checkpoint(&s->lab, session, VERSIONS + 1, &err);
    if (rc == 0)
        rc = vel_session_wait(session, &err);
    vel_session_close(session, rc == 0 ? "done" : NULL, rc == 0 ? &err : NULL);
    if (rc < 0)
        snprintf(s->told->why[comm->rank], VEL_ERR_TEXT, "%s", err.text);
    return rc;
}

static int begin_again(struct scene *s)
{
    s->fs = vel_fs_posix();
    s->standin = s->is_sync ? NULL : standin_create(RANKS);
    if (s->is_sync)
        seslab_set(&s->lab, "MODE", "SYNC");
    return crowd_run(RANKS, NULL, again, s, NULL) != 0;
}

/* --- scenes -------------------------------------------------------------------------
 */

/* In a process of its own; true when it was killed. */
static bool in_child(struct scene *s, int (*run)(struct scene *s), int *ret_status)
{
    int status = 0;
    pid_t pid = fork();

    if (pid < 0)
        bail_out("no process");
    if (pid == 0)
        _exit(run(s));
    if (waitpid(pid, &status, 0) != pid)
        bail_out("a process was lost");
    *ret_status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

static void choose(struct scene *s)
{
    struct vel_rng rng;

    vel_rng_init(&rng, s->seed);
    seslab_init(&s->lab, s->seed);
    seslab_set(&s->lab, "MODE", "ASYNC");
    seslab_set(&s->lab, "VIRTUAL_NODES", "4");
    seslab_set(&s->lab, "SET_SIZE", vel_rng_below(&rng, 2) ? "4" : "2");
    seslab_set(&s->lab, "COPY_TYPE", vel_rng_below(&rng, 2) ? "XOR" : "PARTNER");
    seslab_set(&s->lab, "FLUSH", vel_rng_below(&rng, 2) ? "2" : "0");
    seslab_set(&s->lab, "LOG_LEVEL", "ERROR");
    s->lab.most = 3000;
    s->kill_at = 1 + vel_rng_below(&rng, OPERATIONS);
    s->waits = (unsigned)vel_rng_below(&rng, 1u << (VERSIONS + 1));
    s->loses_node = vel_rng_below(&rng, 3) == 0;
    s->is_sync = vel_rng_below(&rng, 4) == 0;
}

/* NULL, or what was wrong. */
static const char *run_scene(struct scene *s, bool *ret_killed)
{
    static char text[VEL_ERR_TEXT + 200];
    struct told *t = s->told;
    int status;

    *ret_killed = in_child(s, be_killed, &status);
    if (!*ret_killed && status != 0)
        return t->why[0][0] ? t->why[0] : "it failed, and was not killed";
    s->least = s->loses_node ? t->waited : t->reported;
    if (s->loses_node)
        tap_fresh_dir(seslab_node(&s->lab, 2));
    for (int i = 0; i < RANKS; i++)
        t->found[i] = -1;
    if (in_child(s, begin_again, &status) || status != 0)
        return t->why[0][0] ? t->why[0] : "it does not begin again";
    for (int i = 0; i < RANKS; i++)
        if (t->found[i] != t->found[0] || t->found[i] < s->least) {
            snprintf(text, sizeof text,
                     "rank %d finds version %" PRId64 ", rank 0 %" PRId64
                     ", at least %" PRId64 " was to be there",
                     i, t->found[i], t->found[0], s->least);
            return text;
        }
    return NULL;
}

int main(void)
{
    struct tap_seeds seeds = tap_seeds(16);
    unsigned failed = 0, killed = 0, n = 0;
    struct scene s = {.told = mmap(NULL, sizeof *s.told, PROT_READ | PROT_WRITE,
                                   MAP_SHARED | MAP_ANONYMOUS, -1, 0)};

    if (s.told == MAP_FAILED)
        bail_out("no shared memory");
    for (s.seed = seeds.first; s.seed <= seeds.last; s.seed++, n++) {
        bool is_killed;
        const char *what;

        memset(s.told, 0, sizeof *s.told);
        choose(&s);
        what = run_scene(&s, &is_killed);
        if (what || seeds.first == seeds.last)
            note("SEEDS=%" PRIu64 ": killed at operation %" PRIu64
                 "%s%s, reported %" PRId64 ", waited for %" PRId64 ": %s",
                 s.seed, s.kill_at, s.loses_node ? ", a node is lost" : "",
                 s.is_sync ? ", without a background" : "", s.told->reported,
                 s.told->waited, what ? what : "well");
        failed += what != NULL;
        killed += is_killed;
    }
    ok(n < 16 || killed > n / 2, "killed in %u of %u launches", killed, n);
    is_int(failed, 0,
           "what was reported is there after everything was killed, seeds %" PRIu64
           " to %" PRIu64,
           seeds.first, seeds.last);
    return done_testing();
}
