/* SPDX-License-Identifier: BSD-3-Clause */
/* The C API with somebody who works beside the program: what is asked of him and when,
 * and what programs hear of it. He does nothing but answer as the test says. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "engine/background.h"
#include "tap/apilab.h"
#include "tap/mtap.h"
#include "veloc.h"

static int me;

/* --- he --- */

static struct {
    struct vel_background base;
    struct vel_background_state state; /* of everything */
    int64_t pings[4];
    unsigned owed; /* last */
    int owes, settles, drains, leaves, leaves_well;
    int64_t patience; /* of the last drain */
    bool refuses;
} he;

static int he_opens(struct vel_background *b, const struct vel_background_of *of,
                    char ret_launch[VEL_LAUNCH_ROOM], struct vel_err *err)
{
    (void)b, (void)err;
    snprintf(ret_launch, VEL_LAUNCH_ROOM, "%s", of->fresh);
    return 0;
}

static int he_owes(struct vel_background *b, int64_t dataset, int rank, unsigned what,
                   const char *dir, unsigned *ret_before, struct vel_err *err)
{
    (void)b, (void)dataset, (void)dir;
    *ret_before = he.owed;
    if (he.refuses && rank == 2 && what)
        return vel_fail(err, VEL_ENOSPC, "no room for a promise");
    he.owed = what;
    he.owes++;
    return 0;
}

static int he_settles(struct vel_background *b, int64_t dataset, const void *record,
                      size_t len, struct vel_err *err)
{
    (void)b, (void)dataset, (void)record, (void)err;
    he.settles += len > 0;
    return 0;
}

static int he_is_asked(struct vel_background *b, int64_t dataset,
                       struct vel_background_state *ret, struct vel_err *err)
{
    (void)b, (void)dataset, (void)err;
    *ret = he.state;
    return 0;
}

static int he_marks(struct vel_background *b, int64_t dataset, enum vel_mark what,
                    bool waits, const void *record, size_t len, struct vel_err *err)
{
    (void)b, (void)dataset, (void)what, (void)waits, (void)record, (void)len, (void)err;
    return 0;
}

static int he_drains(struct vel_background *b, int64_t dataset, int64_t patience,
                     struct vel_background_state *ret, struct vel_err *err)
{
    he.patience = patience;
    he.drains++;
    return he_is_asked(b, dataset, ret, err);
}

static int he_is_pinged(struct vel_background *b, enum vel_background_ping what,
                        int64_t *ret_value, struct vel_err *err)
{
    (void)b, (void)err;
    *ret_value = he.pings[what];
    return 0;
}

static bool he_outlives(struct vel_background *b)
{
    (void)b;
    return false;
}

static int he_is_left(struct vel_background *b, bool is_well, struct vel_err *err)
{
    (void)b, (void)err;
    he.leaves++;
    he.leaves_well += is_well;
    return 0;
}

static const struct vel_background_ops ops = {.open = he_opens,
                                              .owe = he_owes,
                                              .settle = he_settles,
                                              .mark = he_marks,
                                              .ask = he_is_asked,
                                              .drain = he_drains,
                                              .ping = he_is_pinged,
                                              .outlives = he_outlives,
                                              .leave = he_is_left};

static void offer(void)
{
    memset(&he, 0, sizeof he);
    he.base.ops = &ops;
    he.state.behind = VEL_BEHIND_SEALED;
    he.state.left = 1;
    for (int i = 0; i < 3; i++)
        he.pings[i] = 1;
    vel_background_offer(&he.base);
}

static void case_with(const char *name, const char *mode, int flush)
{
    char settings[200];

    snprintf(settings, sizeof settings,
             "MODE=%s\nCOPY_TYPE=XOR\nSET_SIZE=4\nFLUSH=%d\n", mode, flush);
    offer();
    apilab_case(name, 4, settings);
}

static void case_of(const char *name, const char *mode)
{
    case_with(name, mode, 0);
}

/* --- tests --- */

static void a_checkpoint_is_promised(const char *mode)
{
    case_of(mode, mode);
    mok(apilab_begin(), "%s: a session begins", mode);
    mok(apilab_save("ck", 1) == VELOC_SUCCESS, "a checkpoint is complete");
    mok(he.owed == VEL_OWE_ENCODE && he.owes == 1, "its encoding is owed by each rank");
    mok(he.settles == (me == 0), "and settled by rank 0");
    mok(he.drains == 0, "nobody has waited");
    mok(VELOC_Checkpoint_finished() == 0, "it is not finished");
    mok(apilab_save("ck", 2) == VELOC_SUCCESS && he.drains == 0,
        "the next one need not wait for it");
    mok(apilab_restores("ck", 1) && apilab_restores("ck", 2), "both can be restored");
    he.state = (struct vel_background_state){.behind = VEL_BEHIND_ENCODED};
    mok(VELOC_Checkpoint_finished() == 1, "when nothing is left it is finished");
    mok(VELOC_Checkpoint_wait() == VELOC_SUCCESS && he.drains == 2,
        "waiting waits for both");
    mok(VELOC_Checkpoint_wait() == VELOC_SUCCESS && he.drains == 2, "and only once");
    mok(apilab_end(0) && he.leaves == 1 && he.leaves_well == 0,
        "VELOC_Finalize(0) takes leave");
}

static void failures_are_heard_of(void)
{
    case_of("failures", "ASYNC");
    apilab_begin();
    apilab_save("ck", 1);
    if (me == 2)
        vel_fail(&he.state.err, VEL_EIO, "the disk of node 2 is gone");
    else
        he.state = (struct vel_background_state){.behind = VEL_BEHIND_SEALED};
    mok(VELOC_Checkpoint_wait() == VELOC_FAILURE,
        "what failed on one rank fails on all");
    mok(apilab_says("disk of node 2") && apilab_says("ck 1"), "with the reason");
    mok(VELOC_Checkpoint_finished() == 1, "and need not be waited for");
    he.refuses = true;
    mok(apilab_save("ck", 2) == VELOC_SUCCESS,
        "one that cannot be promised is protected in the call");
    he.refuses = false;
    mok(apilab_restores("ck", 2) && apilab_restores("ck", 1),
        "it is complete, as the one before it");
    mok(he.owed == VEL_OWE_NOTHING, "nothing is owed for it");
    apilab_end(0);
}

static void all_is_waited_for_at_the_end(void)
{
    case_of("end", "ASYNC");
    apilab_begin();
    apilab_save("ck", 1);
    he.state = (struct vel_background_state){.behind = VEL_BEHIND_ENCODED};
    mok(apilab_end(1) && he.drains == 1 && he.leaves_well == 1,
        "VELOC_Finalize(1) waits for what is owed");
}

/* A flush goes on in the next launch; encoding needs all who are here. */
static void only_protection_is_waited_for(void)
{
    case_with("protection", "ASYNC", 1);
    apilab_begin();
    apilab_save("ck", 1);
    he.state = (struct vel_background_state){
        .behind = VEL_BEHIND_FLUSHING, .left = 1, .is_protected = true};
    mok(apilab_end(0) && he.drains == 1 && he.patience == VEL_BEHIND_PROTECTED,
        "VELOC_Finalize(0) waits until what is complete is protected");
    case_with("flush", "ASYNC", 1);
    apilab_begin();
    apilab_save("ck", 1);
    he.state = (struct vel_background_state){
        .behind = VEL_BEHIND_ENCODED, .left = 1, .is_protected = true};
    apilab_save("ck", 2);
    apilab_end(0);
    mok(he.drains == 1,
        "and for no flush: of two checkpoints one was protected before");
}

static void health_is_his(void)
{
    int status = -1;

    case_of("health", "ASYNC");
    apilab_begin();
    mok(VELOC_Check_Backend_Aliveness(&status) == VELOC_SUCCESS && status == 0,
        "who answers is alive");
    he.pings[VEL_PING_STORAGE] = me != 1;
    mok(VELOC_Check_Backend_Aliveness(&status) == VELOC_SUCCESS && status == 2,
        "one node that cannot list its cache is a dead restart listener");
    he.pings[VEL_PING_STORAGE] = 1;
    he.pings[VEL_PING_WORKER] = me != 3;
    mok(VELOC_Check_Backend_Aliveness(&status) == VELOC_SUCCESS && status == 1,
        "one worker that takes no job is a dead checkpoint listener");
    he.pings[VEL_PING_BACKUP] = me == 0 ? 2 : 1;
    mok(VELOC_Check_Backup_Nodes(&status) == VELOC_SUCCESS && status == 2,
        "nodes that do not answer are counted");
    apilab_end(0);
}

static void sync_waits(void)
{
    case_of("sync", "SYNC");
    apilab_begin();
    mok(apilab_save("ck", 1) == VELOC_SUCCESS && he.owes == 0,
        "SYNC owes nothing that is done in the call");
    mok(VELOC_Checkpoint_finished() == 1, "and is finished at once");
    apilab_end(0);
    case_with("sync.flush", "SYNC", 1);
    apilab_begin();
    he.state = (struct vel_background_state){.behind = VEL_BEHIND_FLUSHED};
    mok(apilab_save("ck", 1) == VELOC_SUCCESS && he.owed == VEL_OWE_FLUSH &&
            he.drains == 1,
        "a flush that is due is waited for");
    apilab_end(0);
}

int main(int argc, char **argv)
{
    mtap_init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    a_checkpoint_is_promised("ASYNC");
    a_checkpoint_is_promised("AGENT");
    failures_are_heard_of();
    all_is_waited_for_at_the_end();
    only_protection_is_waited_for();
    health_is_his();
    sync_waits();
    return mtap_done();
}
