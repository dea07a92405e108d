/* SPDX-License-Identifier: BSD-3-Clause */
/* Checkpoints that are encoded and flushed in the background: what a session promises,
 * and what it makes of what comes of it. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "engine/health.h"
#include "tap/behindlab.h"
#include "tap/files.h"
#include "tap/tap.h"
/* --- the life of one --- */

enum { SAVED, FINISHED, SCHEME, RESTARTED, OLDER, WAITED, LATER, SCHEME_LATER, GONE };

static int live(struct behindlab *l, struct vel_session *s, int rank,
                struct vel_err *err)
{
    int64_t *n = l->note[rank];
    bool finished = true;
    int rc = seslab_checkpoint(&l->lab, s, 1, err);

    if (rc == 0)
        rc = vel_session_wait(s, err);
    behindlab_alone(l, s, behindlab_hold);
    if (rc == 0)
        rc = seslab_checkpoint(&l->lab, s, 2, err);
    n[SAVED] = rc;
    vel_session_finished(s, &finished, NULL);
    n[FINISHED] = finished;
    n[SCHEME] = behindlab_scheme(l, s, 2);
    if (rc == 0)
        rc = seslab_restart(&l->lab, s, 2, err);
    n[RESTARTED] = rc;
    n[OLDER] = behindlab_scheme(l, s, 1);
    behindlab_alone(l, s, behindlab_let_go);
    n[WAITED] = vel_session_wait(s, err);
    vel_session_finished(s, &finished, NULL);
    n[LATER] = finished;
    n[SCHEME_LATER] = behindlab_scheme(l, s, 2);
    n[GONE] = behindlab_scheme(l, s, 1);
    return rc;
}

static void is_complete_before_it_is_encoded(void)
{
    struct behindlab l;

    behindlab_init(&l);
    ok(behindlab_run(&l, live),
       "a checkpoint is written while the background does nothing");
    ok(behindlab_all(&l, SAVED, 0), "it is complete");
    ok(behindlab_all(&l, FINISHED, 0), "not finished");
    ok(behindlab_all(&l, SCHEME, VEL_SINGLE), "without redundancy");
    ok(behindlab_all(&l, RESTARTED, 0), "and can be restarted from");
    ok(behindlab_all(&l, OLDER, VEL_XOR), "the one before it stays, though COUNT is 1");
    ok(behindlab_all(&l, WAITED, 0),
       "waiting ends when the background has done its work");
    ok(behindlab_all(&l, LATER, 1), "then it is finished");
    ok(behindlab_all(&l, SCHEME_LATER, VEL_XOR), "and encoded");
    ok(behindlab_all(&l, GONE, 0), "and the one before it is gone");
}

/* --- what is settled --- */

static int settle(struct behindlab *l, struct vel_session *s, int rank,
                  struct vel_err *err)
{
    const struct vel_seal *w;
    int rc = seslab_checkpoint(&l->lab, s, 1, err);

    w = standin_settled(l->standin);
    l->note[rank][0] = w && w->about.ranks == BEHINDLAB_RANKS &&
                       w->about.version == 1 && w->what == VEL_OWED_ENCODE &&
                       w->members.n == BEHINDLAB_RANKS;
    for (size_t i = 0; w && i < w->members.n; i++) {
        const struct vel_seal_member *member = vel_seal_member(w, i);

        l->note[rank][0] &= member->scheme == VEL_XOR && member->failures == 1 &&
                            member->set == 0 && strstr(member->node, ".v") != NULL;
    }
    return rc < 0 ? rc : vel_session_wait(s, err);
}

static void is_settled_with_its_seats(void)
{
    struct behindlab l;

    behindlab_init(&l);
    ok(behindlab_run(&l, settle), "a checkpoint is settled");
    ok(behindlab_all(&l, 0, 1),
       "with the scheme, the nodes, and everybody's place in its set");
}

/* --- failures --- */

static int fail(struct behindlab *l, struct vel_session *s, int rank,
                struct vel_err *err)
{
    int64_t *n = l->note[rank];
    struct vel_err why = {0};
    bool finished = false;
    int rc = seslab_checkpoint(&l->lab, s, 1, err);

    n[0] = vel_session_wait(s, &why);
    if (rank == 0)
        snprintf(l->why, sizeof l->why, "%s", why.text);
    vel_session_finished(s, &finished, NULL);
    n[1] = finished;
    n[2] = seslab_checkpoint(&l->lab, s, 2, &why);
    n[3] = seslab_checkpoint(&l->lab, s, 3, &why);
    behindlab_alone(l, s, standin_retry);
    n[4] = vel_session_wait(s, err);
    n[5] = behindlab_scheme(l, s, 3);
    return rc;
}

static void failures_are_told(bool is_strict)
{
    struct behindlab l;

    behindlab_init(&l);
    if (is_strict)
        seslab_set(&l.lab, "STRICT", "1");
    l.standin = standin_create(BEHINDLAB_RANKS);
    standin_fail(l.standin, 1, 0);
    ok(behindlab_run(&l, fail), "a checkpoint whose encoding fails is complete");
    ok(behindlab_all(&l, 0, VEL_EIO), "waiting fails");
    ok(strstr(l.why, "(state 1)") && strstr(l.why, "told to fail"),
       "with the dataset and the reason: %s", l.why);
    ok(behindlab_all(&l, 1, 1), "and nothing is to be waited for");
    ok(behindlab_all(&l, 2, is_strict ? VEL_EIO : 0),
       is_strict ? "with STRICT the next begin fails" : "the next one is no failure");
    ok(behindlab_all(&l, 3, 0), "the one after that works");
    ok(behindlab_all(&l, 4, 0), "when it is tried again and works waiting succeeds");
    ok(behindlab_all(&l, 5, VEL_XOR), "and all is encoded");
    standin_destroy(l.standin);
}

static int lose_leader(struct behindlab *l, struct vel_session *s, int rank,
                       struct vel_err *err)
{
    int64_t *n = l->note[rank];
    int rc = seslab_checkpoint(&l->lab, s, 1, err);
    struct vel_err why = {0};

    if (rc == 0)
        rc = vel_session_wait(s, err);
    behindlab_alone(l, s, standin_die);
    n[0] = seslab_checkpoint(&l->lab, s, 2, &why);
    if (n[0] < 0)
        note("%s", why.text);
    seslab_newest(s, &n[1], err);
    n[2] = vel_session_wait(s, err);
    n[3] = behindlab_last_scheme(l, s);
    return seslab_restart(&l->lab, s, 2, err);
}

static void without_a_leader_it_is_done_in_the_call(void)
{
    struct behindlab l;
    char first[SESLAB_TEXT] = "";

    behindlab_init(&l);
    ok(behindlab_run(&l, lose_leader), "when no leader answers the program goes on");
    ok(behindlab_all(&l, 0, 0), "a checkpoint that nobody takes on is complete");
    ok(behindlab_all(&l, 1, 2), "and can be restored");
    ok(behindlab_all(&l, 2, 0), "nothing is to be waited for");
    ok(behindlab_all(&l, 3, VEL_XOR), "for it is encoded in the call");
    is_int(seslab_strays(&l.lab, first), BEHINDLAB_RANKS,
           "its parts are all that is left: nobody has entered it on the prefix");
}

/* --- room --- */

static int fill(struct behindlab *l, struct vel_session *s, int rank,
                struct vel_err *err)
{
    int rc = 0;

    for (int64_t version = 1; rc == 0 && version <= 6; version++)
        rc = seslab_checkpoint(&l->lab, s, version, err);
    if (rc == 0)
        rc = seslab_newest(s, &l->note[rank][0], err);
    l->note[rank][1] = behindlab_scheme(l, s, 6) != 0;
    return rc;
}

static void a_full_store_waits_for_the_background(void)
{
    struct behindlab l;

    char file[1024];

    behindlab_init(&l);
    snprintf(file, sizeof file, "STORE=%s COUNT=1 BYTES=170000\n", l.lab.cache);
    l.lab.file = tap_path("conf");
    tap_put_file(l.lab.file, file);
    l.standin = standin_create(BEHINDLAB_RANKS);
    standin_be_lazy(l.standin);
    ok(behindlab_run(&l, fill), "checkpoints of which a store holds only some");
    ok(behindlab_all(&l, 0, 6), "are all complete");
    ok(behindlab_all(&l, 1, 1), "in the cache");
    ok(standin_done(l.standin).encoded > 0 && !seslab_is_flushed(&l.lab, 3),
       "since a begin waits for the background when there is no room, and evicts");
    standin_destroy(l.standin);
}

/* --- what stays --- */

static int fail_to_flush(struct behindlab *l, struct vel_session *s, int rank,
                         struct vel_err *err)
{
    int64_t *n = l->note[rank];
    int rc = seslab_checkpoint(&l->lab, s, 1, err);

    n[0] = vel_session_wait(s, NULL);
    if (rc == 0)
        rc = seslab_checkpoint(&l->lab, s, 2, err);
    vel_session_wait(s, NULL);
    n[1] = behindlab_scheme(l, s, 1);
    behindlab_alone(l, s, standin_retry);
    n[2] = vel_session_wait(s, err);
    n[3] = behindlab_scheme(l, s, 1);
    return rc;
}

static void what_is_to_be_flushed_stays(void)
{
    struct behindlab l;

    behindlab_init(&l);
    seslab_set(&l.lab, "FLUSH", "1");
    l.standin = standin_create(BEHINDLAB_RANKS);
    standin_fail(l.standin, 0, 1);
    ok(behindlab_run(&l, fail_to_flush), "a flush fails");
    ok(behindlab_all(&l, 0, VEL_EIO), "which is told");
    ok(behindlab_all(&l, 1, VEL_XOR),
       "the checkpoint stays in the cache, though a newer one is there");
    ok(behindlab_all(&l, 2, 0) && seslab_is_flushed(&l.lab, 1),
       "until it is on the prefix after all");
    ok(behindlab_all(&l, 3, 0), "then it leaves");
    standin_destroy(l.standin);
}

static void retry_all(struct standin *standin)
{
    standin_retry(standin);
    while (standin_done(standin).flushed < 2)
        usleep(1000);
}

/* What the background has done while a checkpoint was written. */
static int hear(struct behindlab *l, struct vel_session *s, int rank,
                struct vel_err *err)
{
    int64_t *n = l->note[rank];
    int rc = seslab_checkpoint(&l->lab, s, 1, err);

    if (rc == 0)
        rc = seslab_checkpoint(&l->lab, s, 2, err);
    vel_session_wait(s, NULL);
    if (rc == 0)
        rc = seslab_begin(&l->lab, s, 3, err);
    n[0] = behindlab_scheme(l, s, 1);
    behindlab_alone(l, s, retry_all);
    if (rc == 0)
        rc = seslab_write(&l->lab, s, 3, err);
    n[1] = behindlab_scheme(l, s, 1);
    return rc;
}

static void news_are_heard_when_it_is_complete(void)
{
    struct behindlab l;

    behindlab_init(&l);
    seslab_set(&l.lab, "FLUSH", "1");
    l.standin = standin_create(BEHINDLAB_RANKS);
    standin_fail(l.standin, 0, 2);
    ok(behindlab_run(&l, hear), "while a checkpoint is written others are flushed");
    ok(behindlab_all(&l, 0, VEL_XOR) && behindlab_all(&l, 1, 0),
       "when it is complete the older of them leaves the cache");
    standin_destroy(l.standin);
}

/* --- drop --- */

static int drop(struct behindlab *l, struct vel_session *s, int rank,
                struct vel_err *err)
{
    int64_t *n = l->note[rank];
    int rc = seslab_checkpoint(&l->lab, s, 1, err);

    if (rc == 0)
        rc = vel_session_wait(s, err);
    behindlab_alone(l, s, behindlab_hold);
    if (rc == 0)
        rc = seslab_checkpoint(&l->lab, s, 2, err);
    if (rc == 0)
        rc = vel_session_drop(s, SESLAB_NAME, 2, false, err);
    n[0] = behindlab_scheme(l, s, 2);
    behindlab_alone(l, s, behindlab_let_go);
    n[1] = vel_session_wait(s, err);
    if (rc == 0)
        rc = seslab_newest(s, &n[2], err);
    return rc;
}

static void a_dropped_one_is_not_worked_on(void)
{
    struct behindlab l;
    char first[SESLAB_TEXT] = "";

    behindlab_init(&l);
    seslab_set(&l.lab, "FLUSH", "1");
    ok(behindlab_run(&l, drop), "a checkpoint is dropped before it is encoded");
    ok(behindlab_all(&l, 0, 0), "it is gone from the caches");
    ok(behindlab_all(&l, 1, 0), "nothing is to be waited for");
    ok(behindlab_all(&l, 2, 1), "and the one before it is the newest");
    ok(!seslab_is_flushed(&l.lab, 2), "which is not flushed later");
    is_int(seslab_strays(&l.lab, first), 0, "nothing of it is left: %s", first);
}

/* --- health --- */

static int examine(struct behindlab *l, struct vel_session *s, int rank,
                   struct vel_err *err)
{
    int status[3] = {-1, -1, -1};

    vel_health_listeners(s, NULL, &status[0], err);
    vel_health_nodes(s, NULL, &status[1], err);
    behindlab_alone(l, s, standin_die);
    vel_health_listeners(s, NULL, &status[2], err);
    for (int i = 0; i < 3; i++)
        l->note[rank][i] = status[i];
    return 0;
}

static void health_is_asked_for(void)
{
    struct behindlab l;

    behindlab_init(&l);
    ok(behindlab_run(&l, examine), "the background is asked whether it is well");
    ok(behindlab_all(&l, 0, VEL_LISTENERS_ALIVE), "it is");
    ok(behindlab_all(&l, 1, 0), "and so are all nodes");
    ok(behindlab_all(&l, 2, VEL_LISTENER_OF_CHECKPOINTS_DEAD),
       "a leader that does not answer is dead");
    l.standin = standin_create(BEHINDLAB_RANKS);
    standin_answer(l.standin, VEL_PING_STORAGE, 0);
    standin_answer(l.standin, VEL_PING_BACKUP, 2);
    behindlab_run(&l, examine);
    ok(behindlab_all(&l, 0, VEL_LISTENER_OF_RESTARTS_DEAD),
       "one that cannot list caches and prefix is of no use to restarts");
    ok(behindlab_all(&l, 1, 2), "nodes that do not answer are counted");
    standin_destroy(l.standin);
}

/* --- nobody answers at all --- */

static int nothing(struct behindlab *l, struct vel_session *s, int rank,
                   struct vel_err *err)
{
    (void)l, (void)s, (void)rank, (void)err;
    return 0;
}

static void without_a_leader_there_is_no_session(void)
{
    struct behindlab l;

    behindlab_init(&l);
    l.standin = standin_create(BEHINDLAB_RANKS);
    standin_die(l.standin);
    ok(!behindlab_run(&l, nothing), "a session without a leader fails, on all ranks");
    standin_destroy(l.standin);
    l.standin = NULL;
    ok(behindlab_run(&l, nothing), "and the next one does not");
}

int main(void)
{
    is_complete_before_it_is_encoded();
    is_settled_with_its_seats();
    failures_are_told(false);
    failures_are_told(true);
    without_a_leader_it_is_done_in_the_call();
    a_full_store_waits_for_the_background();
    what_is_to_be_flushed_stays();
    news_are_heard_when_it_is_complete();
    a_dropped_one_is_not_worked_on();
    health_is_asked_for();
    without_a_leader_there_is_no_session();
    return done_testing();
}
