/* SPDX-License-Identifier: BSD-3-Clause */
/* Checkpoints of the background when the program ends, when it begins again, and when
 * another one works with the same prefix. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "sys/host.h"
#include "sys/lock.h"
#include "tap/behindlab.h"
#include "tap/crowd.h"
#include "tap/files.h"
#include "tap/tap.h"

/* --- the end --- */

static int save_two(struct behindlab *l, struct vel_session *s, int rank,
                    struct vel_err *err)
{
    int rc = seslab_checkpoint(&l->lab, s, 1, err);

    (void)rank;
    return rc < 0 ? rc : seslab_checkpoint(&l->lab, s, 2, err);
}

static void the_end_flushes(void)
{
    struct behindlab l;
    struct standin_done done;

    behindlab_init(&l);
    seslab_set(&l.lab, "FLUSH", "10");
    l.standin = standin_create(BEHINDLAB_RANKS);
    l.reason = "done";
    ok(behindlab_run(&l, save_two), "a program ends well");
    ok(seslab_is_flushed(&l.lab, 2), "its last checkpoint is on the prefix");
    done = standin_done(l.standin);
    is_int(done.flushed, 1, "by the background, and no other");
    is_int(done.left, BEHINDLAB_RANKS, "and all ranks have taken leave");
    standin_destroy(l.standin);
}

static void an_agent_is_not_waited_for(void)
{
    struct behindlab l;

    behindlab_init(&l);
    seslab_set(&l.lab, "FLUSH", "10");
    l.standin = standin_create(BEHINDLAB_RANKS);
    standin_outlive(l.standin);
    standin_hold(l.standin, true);
    l.reason = "done";
    ok(behindlab_run(&l, save_two), "a program ends while the agent has not begun");
    ok(!seslab_is_flushed(&l.lab, 2), "its checkpoint is not on the prefix yet");
    ok(standin_settled(l.standin)->what & VEL_OWED_FLUSH, "but owed");
    standin_destroy(l.standin);
}

/* --- the next launch --- */

static int save_one(struct behindlab *l, struct vel_session *s, int rank,
                    struct vel_err *err)
{
    (void)rank;
    return seslab_checkpoint(&l->lab, s, 1, err);
}

static int find_it(struct behindlab *l, struct vel_session *s, int rank,
                   struct vel_err *err)
{
    int64_t *n = l->note[rank];
    int rc = seslab_newest(s, &n[0], err);

    if (rc == 0)
        rc = seslab_restart(&l->lab, s, 1, err);
    n[1] = rc;
    n[2] = vel_session_wait(s, err);
    n[3] = behindlab_scheme(l, s, 1);
    return rc;
}

static void the_next_launch_goes_on(void)
{
    struct behindlab l;

    behindlab_init(&l);
    seslab_set(&l.lab, "FLUSH", "1");
    l.standin = standin_create(BEHINDLAB_RANKS);
    standin_hold(l.standin, true);
    ok(behindlab_run(&l, save_one), "a launch ends with everything still owed");
    standin_destroy(l.standin);
    l.standin = NULL;
    ok(behindlab_run(&l, find_it), "the next one begins");
    ok(behindlab_all(&l, 0, 1) && behindlab_all(&l, 1, 0),
       "it restores what was complete");
    ok(behindlab_all(&l, 2, 0) && behindlab_all(&l, 3, VEL_XOR), "has it encoded");
    ok(seslab_is_flushed(&l.lab, 1), "and flushed, as was promised");
}

static int open_and_leave(struct vel_comm *comm, void *arg)
{
    struct behindlab *l = arg;
    struct vel_session *s = NULL;
    struct vel_err err = {0};
    int rc = seslab_open_with(&l->lab, comm, vel_fs_posix(),
                              standin_seat(l->standin, comm->rank), &s, &err);

    if (rc < 0)
        note("rank %d: %s", comm->rank, err.text);
    vel_session_close(s, NULL, NULL);
    return rc;
}

/* Its files are whole where they are, and without redundancy yet. */
static void more_ranks_go_on(void)
{
    const struct vel_seal *seal;
    struct behindlab l;
    bool is_right = true;

    behindlab_init(&l);
    seslab_set(&l.lab, "FLUSH", "1");
    l.standin = standin_create(BEHINDLAB_RANKS);
    standin_hold(l.standin, true);
    ok(behindlab_run(&l, save_one), "a launch ends with everything still owed");
    standin_destroy(l.standin);
    l.standin = standin_create(2 * BEHINDLAB_RANKS);
    standin_hold(l.standin, true);
    is_int(crowd_run(2 * BEHINDLAB_RANKS, NULL, open_and_leave, &l, NULL), 0,
           "the next one has more ranks");
    seal = standin_settled(l.standin);
    for (size_t i = 0; seal && i < seal->members.n; i++) {
        const struct vel_seal_member *member = vel_seal_member(seal, i);

        is_right &= member->set == 0 && member->place == member->rank &&
                    member->scheme == VEL_XOR;
    }
    ok(seal && seal->what == (VEL_OWED_ENCODE | VEL_OWED_FLUSH) &&
           seal->members.n == BEHINDLAB_RANKS && is_right,
       "it owes the same, in the sets of those that wrote it");
    standin_destroy(l.standin);
}

/* What one reads on the prefix is compared with what all nodes have listed, not only
 * the first one's. */
static int find_damage(struct vel_comm *comm, void *arg)
{
    struct behindlab *l = arg;
    struct vel_session *s = NULL;
    struct vel_err err = {0};
    char path[SESLAB_TEXT];
    int rc = seslab_open_with(&l->lab, comm, vel_fs_posix(),
                              standin_seat(l->standin, comm->rank), &s, &err);

    if (rc == 0)
        rc = vel_session_wait(s, &err);
    snprintf(path, sizeof path, "%s/v1/r3.f1.h5", l->lab.prefix);
    if (rc == 0 && comm->rank == 0)
        tap_put_file(path, "another one");
    if (rc == 0)
        rc = vel_comm_barrier(comm, &err);
    if (rc < 0)
        note("rank %d: %s", comm->rank, err.text);
    if (rc == 0 && vel_session_restart_begin(s, SESLAB_NAME, 1, &err) == 0)
        rc = 1;
    vel_session_close(s, NULL, NULL);
    return rc;
}

static void more_ranks_check_all(void)
{
    struct behindlab l;

    behindlab_init(&l);
    seslab_set(&l.lab, "FLUSH", "1");
    l.standin = standin_create(BEHINDLAB_RANKS);
    standin_hold(l.standin, true);
    ok(behindlab_run(&l, save_one), "a launch ends with everything still owed");
    standin_destroy(l.standin);
    l.standin = standin_create(2 * BEHINDLAB_RANKS);
    is_int(crowd_run(2 * BEHINDLAB_RANKS, NULL, find_damage, &l, NULL), 0,
           "more ranks find that a file of the last node has changed");
    ok(seslab_is_flushed(&l.lab, 1), "when all of it was flushed behind them");
    standin_destroy(l.standin);
}

static void sync_takes_over(void)
{
    struct behindlab l;

    behindlab_init(&l);
    l.standin = standin_create(BEHINDLAB_RANKS);
    standin_hold(l.standin, true);
    ok(behindlab_run(&l, save_one), "a launch ends with everything still owed");
    standin_destroy(l.standin);
    l.standin = NULL;
    seslab_set(&l.lab, "MODE", "SYNC");
    ok(behindlab_run(&l, find_it), "one without a background restores it all the same");
    ok(behindlab_all(&l, 0, 1) && behindlab_all(&l, 1, 0), "with every byte");
}

/* --- two programs --- */

static int be_other(struct behindlab *l, struct vel_session *s, int rank,
                    struct vel_err *err)
{
    int64_t *n = l->note[rank];
    int rc = seslab_newest(s, &n[0], err);

    if (rc == 0)
        rc = seslab_checkpoint(&l->lab, s, 10, err);
    if (rc == 0)
        rc = vel_session_wait(s, err);
    if (rc == 0)
        rc = seslab_checkpoint(&l->lab, s, 11, err);
    return rc == 0 ? vel_session_wait(s, err) : rc;
}

static int meet_others(struct behindlab *l, struct vel_session *s, int rank,
                       struct vel_err *err)
{
    struct behindlab *other = l->arg;
    int64_t *n = l->note[rank];
    int rc = seslab_checkpoint(&l->lab, s, 1, err);

    if (rc == 0)
        rc = vel_session_wait(s, err);
    if (rank == 0 && rc == 0)
        ok(behindlab_run(other, be_other), "another program begins beside it");
    if (rc == 0)
        rc = vel_comm_barrier(vel_session_world(s), err);
    if (rc == 0)
        rc = seslab_checkpoint(&l->lab, s, 3, err);
    if (rc == 0)
        rc = vel_session_wait(s, err);
    if (rc == 0)
        rc = seslab_newest(s, &n[0], err);
    return rc == 0 ? seslab_restart(&l->lab, s, 3, err) : rc;
}

static int find_both(struct behindlab *l, struct vel_session *s, int rank,
                     struct vel_err *err)
{
    int rc = seslab_restart(&l->lab, s, 3, err);

    l->note[rank][0] = rc;
    l->note[rank][1] = seslab_restart(&l->lab, s, 11, err);
    return 0;
}

static void two_programs_share_a_prefix(void)
{
    struct behindlab l, other, later;

    behindlab_init(&l);
    other = l;
    later = l;
    l.arg = &other;
    ok(behindlab_run(&l, meet_others),
       "two programs work with one prefix at the same time");
    ok(behindlab_all(&other, 0, 0),
       "the second one leaves alone what the first one has made");
    ok(behindlab_all(&l, 0, 3), "and the first one what the second one has");
    ok(seslab_id(&l.lab, 3) > seslab_id(&l.lab, 11), "no number is given twice");
    ok(behindlab_run(&later, find_both), "when both have ended");
    ok(behindlab_all(&later, 0, 0) && behindlab_all(&later, 1, 0),
       "what both have made can be restored");
}

int main(void)
{
    the_end_flushes();
    an_agent_is_not_waited_for();
    the_next_launch_goes_on();
    more_ranks_go_on();
    more_ranks_check_all();
    sync_takes_over();
    two_programs_share_a_prefix();
    return done_testing();
}
