/* SPDX-License-Identifier: BSD-3-Clause */
/* What a launch finds of launches before it: parts of two of them under one number,
 * files that were replaced, flushes that cannot be finished, and files that nobody
 * routed. */
#include "config.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "comm/comm.h"
#include "meta/entry.h"
#include "recover/scrub.h"
#include "tap/crowd.h"
#include "tap/files.h"
#include "tap/indexlab.h"
#include "tap/seslab.h"
#include "tap/tap.h"

enum { RANKS_MOST = 4 };

/* --- one launch ------------------------------------------------------------------ */

/* What a launch does, and what came of it: the same on all ranks, or -1. */
struct job {
    const struct seslab *lab;
    int64_t save;    /* checkpoint of this version, 0: none */
    int64_t restart; /* and restart from this one */
    const char *end; /* reason of the end */
    int64_t newest[RANKS_MOST];
    int saved[RANKS_MOST], restarted[RANKS_MOST];
    char why[VEL_ERR_TEXT]; /* of rank 0's restart */
};

static int member(struct vel_comm *comm, void *arg)
{
    struct job *job = arg;
    struct vel_session *s = NULL;
    struct vel_err err = {0};
    int me = comm->rank;
    int rc = seslab_open(job->lab, comm, vel_fs_posix(), &s, &err);

    if (rc == 0)
        rc = seslab_newest(s, &job->newest[me], &err);
    if (rc < 0)
        note("rank %d: %s", me, err.text);
    if (rc == 0 && job->save)
        job->saved[me] = seslab_checkpoint(job->lab, s, job->save, &err);
    if (rc == 0 && job->restart)
        job->restarted[me] = seslab_restart(job->lab, s, job->restart, &err);
    if (me == 0 && job->restart)
        snprintf(job->why, sizeof job->why, "%s", err.text);
    vel_session_close(s, job->end, NULL);
    return rc;
}

static void launch(struct job *job, int ranks)
{
    for (int i = 0; i < RANKS_MOST; i++)
        job->newest[i] = -1;
    if (crowd_run(ranks, NULL, member, job, NULL) != 0)
        note("a launch of %d ranks has failed", ranks);
    for (int i = 1; i < ranks; i++)
        if (job->newest[i] != job->newest[0] || job->saved[i] != job->saved[0] ||
            job->restarted[i] != job->restarted[0])
            note("rank %d and rank 0 do not agree", i);
}

static void shell(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static void shell(const char *fmt, ...)
{
    char command[4096];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(command, sizeof command, fmt, ap);
    va_end(ap);
    if (system(command) != 0)
        bail_out("%s", command);
}

static const char *veloc(const struct seslab *lab)
{
    static char dir[600];

    snprintf(dir, sizeof dir, "%s/.veloc", lab->prefix);
    return dir;
}

/* --- one number, two datasets -------------------------------------------------------
 */

/* Launches that knew nothing of each other have given the same number to two datasets,
 * and now the parts of both are there: rank 0's of one and rank 1's of the other. */
static void two_of_a_number(void)
{
    struct seslab lab;
    struct job one, two, later;
    char first[SESLAB_TEXT];

    seslab_init(&lab, 1);
    seslab_set(&lab, "VIRTUAL_NODES", "2");
    seslab_set(&lab, "COPY_TYPE", "SINGLE");
    one = (struct job){.lab = &lab, .save = 1};
    launch(&one, 2);
    snprintf(first, sizeof first, "%s", seslab_node(&lab, 0));
    shell("mv '%s' '%s.one' && rm -rf '%s' '%s'/launch.* '%s'/dataset.*", first, first,
          seslab_node(&lab, 1), veloc(&lab), veloc(&lab));
    two = (struct job){.lab = &lab, .save = 2};
    launch(&two, 2);
    shell("rm -r '%s' && mv '%s.one' '%s'", first, first, first);
    later = (struct job){.lab = &lab};
    launch(&later, 3);
    is_int(later.newest[0], 0,
           "parts of two datasets of one number are none, for other ranks");
    launch(&later, 2);
    is_int(later.newest[0], 0, "nor for as many as wrote them");
}

/* --- one name, two files -------------------------------------------------------------
 */

/* Its entry says that it has all its files. */
static void forget_replaced(const struct seslab *lab, int64_t id)
{
    struct vel_entry entry;
    struct vel_err err = {0};

    if (indexlab_load(vel_fs_posix(), veloc(lab), id, &entry, &err) < 0)
        bail_out("%s", err.text);
    entry.replaced = 0;
    if (indexlab_save(vel_fs_posix(), veloc(lab), &entry, &err) < 0)
        bail_out("%s", err.text);
    vel_entry_fini(&entry);
}

/* Version 2 has files of the same names and sizes as version 1 had, and the index says
 * that both can be fetched. */
static void replaced(const char *key, const char *value, int ranks, const char *what)
{
    struct seslab lab;
    struct job old, new, later;

    seslab_init(&lab, 2);
    lab.has_same_names = true;
    seslab_set(&lab, "FLUSH", "1");
    seslab_set(&lab, "COPY_TYPE", "SINGLE");
    if (key)
        seslab_set(&lab, key, value);
    old = (struct job){.lab = &lab, .save = 1};
    launch(&old, 2);
    new = (struct job){.lab = &lab, .save = 2};
    launch(&new, 2);
    forget_replaced(&lab, 1);
    tap_fresh_dir(lab.cache);
    later = (struct job){.lab = &lab, .restart = 1};
    launch(&later, ranks);
    ok(later.restarted[0] < 0 && !strstr(later.why, "of version"),
       "files that a newer dataset has replaced are not taken for those of the older, "
       "%s",
       what);
    note("%s", later.why);
    later = (struct job){.lab = &lab, .restart = ranks == 2 ? 2 : 0};
    launch(&later, ranks);
    is_int(later.newest[0], 2, "the newer one is offered");
    if (ranks == 2)
        is_int(later.restarted[0], 0, "and is restored");
}

/* A copy of a prefix has other times, and the same bytes. */
static void touched(void)
{
    struct seslab lab;
    struct job old, later;

    seslab_init(&lab, 3);
    seslab_set(&lab, "FLUSH", "1");
    old = (struct job){.lab = &lab, .save = 1};
    launch(&old, 2);
    tap_fresh_dir(lab.cache);
    shell("find '%s' -name '*.h5' -exec touch {} +", lab.prefix);
    seslab_set(&lab, "FETCH_BYPASS", "1");
    later = (struct job){.lab = &lab, .restart = 1};
    launch(&later, 2);
    is_int(later.restarted[0], 0,
           "files with other times are read when their bytes "
           "are the same");
}

/* --- flushes -------------------------------------------------------------------------
 */

static void stage_again(const struct seslab *lab, int64_t id)
{
    struct vel_entry entry;
    struct vel_err err = {0};

    if (indexlab_load(vel_fs_posix(), veloc(lab), id, &entry, &err) < 0)
        bail_out("%s", err.text);
    entry.place = VEL_ON_STAGED;
    if (indexlab_save(vel_fs_posix(), veloc(lab), &entry, &err) < 0)
        bail_out("%s", err.text);
    vel_entry_fini(&entry);
}

/* Dataset 1 was staged when its launch ended, and its lists have been lost since. */
static void unfinished(void)
{
    struct seslab lab;
    struct job old, next, later;

    seslab_init(&lab, 4);
    seslab_set(&lab, "FLUSH", "1");
    seslab_set(&lab, "COPY_TYPE", "SINGLE");
    old = (struct job){.lab = &lab, .save = 1};
    launch(&old, 2);
    stage_again(&lab, 1);
    shell("echo no list >'%s'/dataset.1/files.0", veloc(&lab));
    tap_fresh_dir(lab.cache);
    next = (struct job){.lab = &lab, .save = 2};
    launch(&next, 2);
    is_int(next.newest[0], 0, "a flush that can never be finished is not offered");
    ok(seslab_is_flushed(&lab, 2), "and does not keep newer datasets from the prefix");
    later = (struct job){.lab = &lab, .restart = 2};
    launch(&later, 2);
    is_int(later.restarted[0], 0, "which can be restored");
}

/* It was staged, and one of its files has neither of its names. */
static void unfinished_of_some(void)
{
    struct seslab lab;
    struct job old, next;
    char lost[1200], other[1200];

    seslab_init(&lab, 5);
    seslab_set(&lab, "FLUSH", "1");
    seslab_set(&lab, "COPY_TYPE", "SINGLE");
    old = (struct job){.lab = &lab, .save = 1};
    launch(&old, 2);
    stage_again(&lab, 1);
    snprintf(lost, sizeof lost, "%s/v1/r0.f1.h5", lab.prefix);
    snprintf(other, sizeof other, "%s/v1/r1.f1.h5", lab.prefix);
    if (unlink(lost) < 0)
        bail_out("%s is not there", lost);
    tap_fresh_dir(lab.cache);
    next = (struct job){.lab = &lab, .save = 2};
    launch(&next, 2);
    is_int(next.newest[0], 0, "a flush of which a file is lost is not offered");
    ok(!seslab_is_flushed(&lab, 1) && seslab_is_flushed(&lab, 2) &&
           vel_fs_exists(vel_fs_posix(), other),
       "it keeps no newer dataset from the prefix, and loses nothing more");
}

static void unfinished_in_cache(void)
{
    struct seslab lab;
    struct job old, next;

    seslab_init(&lab, 5);
    seslab_set(&lab, "FLUSH", "1");
    seslab_set(&lab, "COPY_TYPE", "SINGLE");
    old = (struct job){.lab = &lab, .save = 1};
    launch(&old, 2);
    stage_again(&lab, 1);
    shell("rm '%s'/dataset.1/files.0", veloc(&lab));
    next = (struct job){.lab = &lab, .end = "the end"};
    launch(&next, 2);
    ok(seslab_is_flushed(&lab, 1), "one that is in the cache still is flushed again");
    tap_fresh_dir(lab.cache);
    next = (struct job){.lab = &lab, .restart = 1};
    launch(&next, 2);
    is_int(next.restarted[0], 0, "and can be fetched then");
}

/* Other ranks than those that wrote it read it by name, so it must have its names. */
static void packed(void)
{
    struct seslab lab;
    struct job old, later;

    seslab_init(&lab, 6);
    seslab_set(&lab, "CONTAINERS", "1");
    old = (struct job){.lab = &lab, .save = 1};
    launch(&old, 2);
    later = (struct job){.lab = &lab, .restart = 1};
    launch(&later, 1);
    is_int(later.restarted[0], 0,
           "a dataset for other ranks is not hidden in containers: %s", later.why);
}

/* --- what else lies there
 * -------------------------------------------------------------- */

static void strange_names(void)
{
    struct seslab lab;
    struct job old, later;
    char v0[SESLAB_TEXT], v1[SESLAB_TEXT];

    seslab_init(&lab, 7);
    seslab_set(&lab, "VIRTUAL_NODES", "2");
    seslab_set(&lab, "COPY_TYPE", "SINGLE");
    old = (struct job){.lab = &lab, .save = 1};
    launch(&old, 2);
    snprintf(v0, sizeof v0, "%s", seslab_node(&lab, 0));
    snprintf(v1, sizeof v1, "%s", seslab_node(&lab, 1));
    shell("for d in $(find '%s' -name 'rank.*' -type d); do "
          "touch \"$d/$(printf 'two\\nlines')\"; done",
          lab.cache);
    shell("mv '%s' '%s.x' && mv '%s' '%s' && mv '%s.x' '%s'", v0, v0, v1, v0, v0, v1);
    later = (struct job){.lab = &lab, .restart = 1};
    launch(&later, 2);
    is_int(later.newest[0], 1,
           "files with strange names that nobody routed do not "
           "keep the others from moving to their ranks");
    is_int(later.restarted[0], 0, "with every byte");
}

/* Numbers of ours end long before those of the machine. */
static void huge_numbers(void)
{
    struct seslab lab;
    struct job old, later;

    seslab_init(&lab, 8);
    seslab_set(&lab, "COPY_TYPE", "SINGLE");
    old = (struct job){.lab = &lab, .save = 1};
    launch(&old, 1);
    shell("mkdir $(find '%s' -name index.0)/dataset.9223372036854775806", lab.cache);
    shell("mkdir $(find '%s' -name index.0)/dataset.9223372036854775806/rank.0",
          lab.cache);
    shell("touch '%s'/dropped.9223372036854775807", veloc(&lab));
    later = (struct job){.lab = &lab, .save = 2};
    launch(&later, 1);
    is_int(later.saved[0], 0, "a number that none of ours can be ends no counting");
    later = (struct job){.lab = &lab, .restart = 2};
    launch(&later, 1);
    is_int(later.restarted[0], 0, "and what was saved then is restored");
}

/* --- one name, two ranks ------------------------------------------------------------
 */

/* A file of each rank, all of one name. */
static int write_same(const struct seslab *lab, struct vel_comm *comm,
                      struct vel_session *s, int64_t version, struct vel_err *err)
{
    char original[600], text[20], *path = NULL;
    int rc = vel_session_start(s, SESLAB_NAME, version, VEL_USE_CHECKPOINT, err);

    snprintf(original, sizeof original, "%s/shared", lab->prefix);
    snprintf(text, sizeof text, "rank %d", comm->rank);
    if (rc == 0)
        rc = vel_session_route(s, original, &path, err);
    if (rc == 0)
        tap_put_file(path, text);
    free(path);
    return rc == 0 ? vel_session_complete(s, true, err) : rc;
}

static int same_in_containers(struct vel_comm *comm, void *arg)
{
    const struct seslab *lab = arg;
    struct vel_session *s = NULL;
    struct vel_err err = {0};
    char original[600], text[20], *path = NULL;
    int rc = seslab_open(lab, comm, vel_fs_posix(), &s, &err);

    for (int64_t version = 1; rc == 0 && version <= 2; version++)
        rc = write_same(lab, comm, s, version, &err);
    if (rc == 0)
        rc = vel_session_restart_begin(s, SESLAB_NAME, 2, &err);
    snprintf(original, sizeof original, "%s/shared", lab->prefix);
    snprintf(text, sizeof text, "rank %d", comm->rank);
    if (rc == 0)
        rc = vel_session_route(s, original, &path, &err);
    if (rc == 0 && !tap_file_is(path, text))
        rc = VEL_ECORRUPT;
    free(path);
    vel_session_close(s, NULL, NULL);
    return rc;
}

/* 0: refused, with a sentence that names two of the ranks; and the next one is good. */
static int same_refused(struct vel_comm *comm, void *arg)
{
    const struct seslab *lab = arg;
    struct vel_session *s = NULL;
    struct vel_err err = {0};
    int64_t newest = 0;
    int rc = seslab_open(lab, comm, vel_fs_posix(), &s, &err);

    if (rc == 0 && (write_same(lab, comm, s, 1, &err) != VEL_EINVAL ||
                    !strstr(err.text, "'shared' is a file of rank 0 and of rank 2")))
        rc = VEL_ECORRUPT;
    if (rc == 0)
        rc = seslab_checkpoint(lab, s, 2, &err);
    if (rc == 0)
        rc = seslab_newest(s, &newest, &err);
    vel_session_close(s, NULL, NULL);
    return rc < 0 || newest != 2;
}

static void shared_name(void)
{
    struct seslab lab;
    char path[600];

    seslab_init(&lab, 10);
    seslab_set(&lab, "FLUSH", "1");
    seslab_set(&lab, "COPY_TYPE", "SINGLE");
    is_int(crowd_run(3, NULL, same_refused, &lab, NULL), 0,
           "files of one name of several ranks are no checkpoint, and two are named");
    snprintf(path, sizeof path, "%s/shared", lab.prefix);
    ok(access(path, F_OK) != 0 && seslab_is_flushed(&lab, 2),
       "none of them is flushed, and the next checkpoint is");
    seslab_init(&lab, 10);
    seslab_set(&lab, "FLUSH", "2");
    seslab_set(&lab, "COPY_TYPE", "SINGLE");
    seslab_set(&lab, "CONTAINERS", "1");
    is_int(crowd_run(3, NULL, same_in_containers, &lab, NULL), 0,
           "in containers they have");
    ok(seslab_is_flushed(&lab, 2), "places of their own");
}

/* --- scrubbing
 * --------------------------------------------------------------------------- */

static void scrubbed(void)
{
    const struct vel_scrub_options options = {.memory = 0};
    struct seslab lab;
    struct job job;
    struct vel_scrubbed found;
    struct vel_err err = {0};

    seslab_init(&lab, 9);
    lab.has_same_names = true;
    seslab_set(&lab, "FLUSH", "1");
    seslab_set(&lab, "CACHE_SIZE", "2");
    seslab_set(&lab, "COPY_TYPE", "SINGLE");
    for (int64_t v = 1; v <= 2; v++) {
        job = (struct job){.lab = &lab, .save = v};
        launch(&job, 2);
    }
    char *dirs[] = {lab.prefix, lab.cache};
    is_int(vel_scrub(vel_fs_posix(), dirs, 2, &options, &found, &err), 0,
           "a prefix is scrubbed on which a newer dataset has replaced files: %s",
           err.text);
    is_int((long long)found.findings.n, 0, "which are no damage");
    vel_scrubbed_fini(&found);
    tap_fresh_dir(lab.cache);
    job = (struct job){.lab = &lab, .restart = 2};
    launch(&job, 2);
    is_int(job.restarted[0], 0, "and the newer one is still there: %s", job.why);
}

int main(void)
{
    two_of_a_number();
    replaced(NULL, NULL, 3, "by other ranks");
    replaced("CRC_ON_FLUSH", "0", 2, "without checksums either");
    touched();
    unfinished();
    unfinished_of_some();
    unfinished_in_cache();
    packed();
    strange_names();
    huge_numbers();
    shared_name();
    scrubbed();
    return done_testing();
}
