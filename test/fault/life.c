/* SPDX-License-Identifier: BSD-3-Clause */
/* Sweep: the small life of a program of one process - three launches with checkpoints,
 * flushes, a restart from the cache and one from the prefix - in which the n-th
 * operation on files fails, for every n; with different errors, everywhere or only in
 * the cache or on the prefix, once or from then on.
 *
 * The program may be refused something, with a sentence; it never crashes, hangs or
 * leaks a descriptor. What was reported complete is what the next launch finds, with
 * every byte, and that launch leaves nothing behind. Where only one of the two places
 * fails the program gets every checkpoint that it begins from then on.
 *
 * make check takes every 16th operation; SEEDS=1-16 all of them, seed by seed.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "comm/comm.h"
#include "tap/files.h"
#include "tap/seeds.h"
#include "tap/seslab.h"
#include "tap/tap.h"

enum { STRIDE = 16, VERSIONS = 4 };

struct life {
    struct seslab lab;
    struct vel_fs *fs;
    struct vel_fs_fault *fault;
    bool ends;           /* once something has failed: nothing later makes up for it */
    bool goes_elsewhere; /* what the place that fails cannot take has another */
    int64_t reported;    /* the newest that was complete */
    int64_t begun;
    char why[VEL_ERR_TEXT * 2]; /* "", or what nobody may see */
};

static void blame(struct life *life, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static void blame(struct life *life, const char *fmt, ...)
{
    va_list ap;

    if (life->why[0])
        return;
    va_start(ap, fmt);
    vsnprintf(life->why, sizeof life->why, fmt, ap);
    va_end(ap);
}

/* A failure has a sentence. */
static bool went_well(struct life *life, int rc, const struct vel_err *err,
                      const char *what)
{
    if (rc < 0 && (!err->text[0] || err->status != rc))
        blame(life, "%s failed with %d, and the sentence '%s' of %d", what, rc,
              err->text, (int)err->status);
    return rc >= 0;
}

static bool goes_on(const struct life *life)
{
    return !life->ends || !vel_fs_fault_fired(life->fault);
}

static void checkpoint(struct life *life, struct vel_session *session)
{
    struct vel_err err = {0};
    int64_t version = ++life->begun;
    bool was_broken = vel_fs_fault_fired(life->fault);

    if (went_well(life, seslab_checkpoint(&life->lab, session, version, &err), &err,
                  "a checkpoint"))
        life->reported = version;
    else if (was_broken && life->goes_elsewhere)
        blame(life, "version %" PRId64 " has no place: %s", version, err.text);
}

/* What a program does after its start: restart from the newest. */
static void restart(struct life *life, struct vel_session *session)
{
    struct vel_err err = {0};
    int64_t newest = 0;

    if (!went_well(life, seslab_newest(session, &newest, &err), &err, "a question") ||
        newest == 0)
        return;
    if (newest > life->begun)
        blame(life, "version %" PRId64 " was found, and never begun", newest);
    went_well(life, seslab_restart(&life->lab, session, newest, &err), &err,
              "a restart");
}

static struct vel_session *open_session(struct life *life, struct vel_err *err)
{
    struct vel_comm *self;
    struct vel_session *session = NULL;

    if (vel_comm_self(&self, NULL) < 0)
        bail_out("no communicator");
    went_well(life, seslab_open(&life->lab, self, life->fs, &session, err), err,
              "a launch");
    vel_comm_destroy(self);
    return session;
}

static void launch(struct life *life, int64_t last, const char *end)
{
    struct vel_err err = {0};
    struct vel_session *session = open_session(life, &err);

    if (!session)
        return;
    if (goes_on(life))
        restart(life, session);
    while (life->begun < last && goes_on(life))
        checkpoint(life, session);
    memset(&err, 0, sizeof err);
    went_well(life, vel_session_close(session, end, &err), &err, "an end");
}

static void live(struct life *life)
{
    launch(life, 1, NULL); /* of which only the cache knows */
    if (goes_on(life))
        launch(life, 2, "well");
    if (!goes_on(life))
        return;
    if (seslab_is_flushed(&life->lab, life->reported))
        tap_fresh_dir(life->lab.cache); /* so that the next one fetches */
    launch(life, VERSIONS, NULL);
}

/* Nothing fails any more. */
static void check(struct life *life)
{
    struct vel_err err = {0};
    struct vel_session *session;
    int64_t newest = 0, next = life->begun + 1;
    char stray[SESLAB_TEXT];

    life->fs = vel_fs_posix();
    session = open_session(life, &err);
    if (!session) {
        blame(life, "the next launch fails: %s", err.text);
        return;
    }
    if (seslab_newest(session, &newest, &err) < 0 ||
        (newest > 0 && seslab_restart(&life->lab, session, newest, &err) < 0))
        blame(life, "the next launch cannot restore %" PRId64 ": %s", newest, err.text);
    else if (newest < life->reported || newest > life->begun)
        blame(life, "%" PRId64 " was reported, %" PRId64 " begun, %" PRId64 " is found",
              life->reported, life->begun, newest);
    if (seslab_checkpoint(&life->lab, session, next, &err) < 0)
        blame(life, "the next checkpoint fails: %s", err.text);
    if (vel_session_close(session, "well", &err) < 0)
        blame(life, "the end fails: %s", err.text);
    if (seslab_strays(&life->lab, stray))
        blame(life, "left behind: %s", stray);
}

/* --- the sweep ---------------------------------------------------------------------
 */

enum place { EVERYWHERE, IN_CACHE, ON_PREFIX };

struct kind {
    const char *name;
    enum vel_fs_fault_mode mode;
    int errnum;
    enum place place;
    const char *key, *value; /* one more setting */
    bool ends;               /* the life, when something has failed */
};

static int open_files(void)
{
    struct vel_vec names = {0};
    int n;

    vel_fs_list(vel_fs_posix(), "/proc/self/fd", &names, NULL);
    n = (int)names.n;
    vel_fs_names_fini(&names);
    return n;
}

/* Returns whether the operation was reached. */
static bool run(const struct kind *kind, uint64_t n, struct life *life)
{
    struct vel_fs_fault_plan plan = {
        .mode = kind->mode, .errnum = kind->errnum, .at = n};
    bool has_fired;
    int before = open_files();

    memset(life, 0, sizeof *life);
    seslab_init(&life->lab, 1);
    seslab_set(&life->lab, "FLUSH", "2");
    seslab_set(&life->lab, "LOG_LEVEL", getenv("VERBOSE") ? "DEBUG" : "ERROR");
    seslab_set(&life->lab, "COPY_TYPE", "SINGLE");
    seslab_set(&life->lab, kind->key, kind->value);
    life->goes_elsewhere = kind->place != EVERYWHERE;
    if (kind->place != EVERYWHERE)
        plan.below = kind->place == IN_CACHE ? life->lab.cache : life->lab.prefix;
    if (vel_fs_fault_create(vel_fs_posix(), NULL, &life->fault, NULL) < 0)
        bail_out("no file system");
    vel_fs_fault_arm(life->fault, &plan);
    life->fs = vel_fs_fault_fs(life->fault);
    life->ends = kind->ends;
    life->lab.has_same_names = !kind->ends; /* each version replaces the one before */
    live(life);
    has_fired = vel_fs_fault_fired(life->fault);
    vel_fs_fault_destroy(life->fault);
    check(life);
    if (open_files() != before)
        blame(life, "%d files are left open", open_files() - before);
    return has_fired;
}

static void sweep(const struct kind *kind, uint64_t first)
{
    struct life life;
    uint64_t n = first, runs = 0, failed = 0;

    for (; run(kind, n, &life); n += STRIDE, runs++)
        if (life.why[0] && failed++ < 3)
            note("%s, operation %" PRIu64 ": %s", kind->name, n, life.why);
    is_int((int64_t)failed, 0,
           "%s: seed %" PRIu64 ", %" PRIu64 " of %" PRIu64
           " operations fail and do no harm",
           kind->name, first, runs, n);
}

int main(void)
{
    static const struct kind kinds[] = {
        {"EIO once", VEL_FS_FAULT_ONCE, EIO, EVERYWHERE, "CONTAINERS", "0", true},
        {"ENOSPC once", VEL_FS_FAULT_ONCE, ENOSPC, EVERYWHERE, "CONTAINERS", "0",
         false},
        {"EIO once, containers", VEL_FS_FAULT_ONCE, EIO, EVERYWHERE, "CONTAINERS", "1",
         true},
        {"EIO once, read in place", VEL_FS_FAULT_ONCE, EIO, EVERYWHERE, "FETCH_BYPASS",
         "1", true},
        {"a cache of EIO", VEL_FS_FAULT_LASTING, EIO, IN_CACHE, "CONTAINERS", "0",
         false},
        {"a full prefix", VEL_FS_FAULT_LASTING, ENOSPC, ON_PREFIX, "CONTAINERS", "0",
         false},
        {"EIO from then on", VEL_FS_FAULT_LASTING, EIO, EVERYWHERE, "CONTAINERS", "0",
         false},
    };
    struct tap_seeds seeds = tap_seeds(1);

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        for (uint64_t seed = seeds.first; seed <= seeds.last && seed <= STRIDE; seed++)
            sweep(&kinds[i], seed);
    return done_testing();
}
