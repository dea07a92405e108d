/* SPDX-License-Identifier: BSD-3-Clause */
/* A flush into containers that fails, is killed or loses power at any operation; and
 * owners that come after others, or thaw. */
#include "config.h"

#include <stdlib.h>

#include "base/log.h"
#include "tap/fs_fault.h"
#include "tap/packlab.h"
#include "tap/tap.h"

enum { OPS_MOST = 3000 };

/* --- every operation --- */

struct trial {
    enum vel_fs_fault_mode mode;
    bool has_loss;
    enum vel_fs_loss loss;
    int n, wrong;
};

static void complain(struct trial *t, const char *what, const char *why)
{
    if (t->wrong++ == 0)
        note("operation %d, loss %d: %s: %s", t->n, t->has_loss ? (int)t->loss : -1,
             what, why);
}

/* The next owner: of what is staged it can only finish; else it takes it back, or goes
 * on at once. */
static void go_on(struct trial *t, const struct flushlab *lab)
{
    struct vel_err err = {0};
    bool is_staged = flushlab_place(lab, 1, NULL) >= VEL_ON_STAGED;

    if (is_staged || t->n % 2) {
        if (packlab_settle(lab, 1, 2, &err) < 0)
            complain(t, "what is left is not settled", err.text);
        if (!is_staged && packlab_temporaries(lab, 1) > 0)
            complain(t, "taken back", "but something is left");
    }
    if (!is_staged && packlab_flush(lab, vel_fs_posix(), 1, 3, &err) < 0)
        complain(t, "it is not flushed again", err.text);
    if (!packlab_is_whole(lab, 1))
        complain(t, "it is not whole", "or something else is left");
}

static bool try_one(struct trial *t)
{
    const struct vel_fs_fault_plan plan = {.mode = t->mode, .at = (uint64_t)t->n};
    struct flushlab lab;
    struct vel_fs_fault *fault;
    struct vel_err err = {0};
    bool fired;
    int rc, fds;

    flushlab_leave();
    fds = tap_open_fds();
    packlab_fresh(&lab, "trial");
    packlab_parts(&lab, 1);
    if (vel_fs_fault_create(vel_fs_posix(), t->has_loss ? tap_path("aside") : NULL,
                            &fault, NULL) < 0)
        bail_out("no memory");
    vel_fs_fault_arm(fault, &plan);
    rc = packlab_flush(&lab, vel_fs_fault_fs(fault), 1, 1, &err);
    fired = vel_fs_fault_fired(fault);
    if (rc < 0 && !err.text[0])
        complain(t, "a failure", "without a sentence");
    if (t->has_loss &&
        vel_fs_fault_power_loss(fault, t->loss, (uint64_t)t->n, &err) < 0)
        complain(t, "the loss of power itself", err.text);
    vel_fs_fault_destroy(fault);
    flushlab_leave();
    if (tap_open_fds() != fds)
        complain(t, "a descriptor is left open", "");
    if (rc == 0 && !packlab_is_whole(&lab, 1))
        complain(t, "flushed", "but not there");
    go_on(t, &lab);
    return fired;
}

static void every(enum vel_fs_fault_mode mode, int loss, const char *what)
{
    struct trial t = {.mode = mode,
                      .has_loss = loss >= 0,
                      .loss = (enum vel_fs_loss)(loss < 0 ? 0 : loss)};
    int step = getenv("SEEDS") ? 1 : 7;

    /* a slice, another one for each kind; all of them with SEEDS */
    for (t.n = 1 + (mode + loss + 1) % step; t.n < OPS_MOST && try_one(&t);)
        t.n += step;
    ok(t.wrong == 0 && t.n > 50 &&
               t.n<OPS_MOST, "%s at each %s of %d operations", what, step> 1
           ? "7th"
           : "one",
       t.n - 1);
}

/* --- owners --- */

struct thaw {
    struct flushlab *lab;
    int steps; /* until owner 1 freezes; owner 2 flushes all meanwhile */
};

static bool freeze(void *arg, uint64_t bytes)
{
    struct thaw *t = arg;
    struct vel_err err = {0};

    if (bytes == 0 || t->steps-- != 0)
        return true;
    packlab_room = PACKLAB_ROOM / 2; /* its settings are others */
    packlab_must(packlab_flush(t->lab, vel_fs_posix(), 1, 2, &err), &err);
    return true;
}

static void frozen(void)
{
    struct flushlab lab;
    struct packlab_node pack;
    struct vel_flush_copied copied;
    struct vel_err err = {0};
    struct thaw t = {.lab = &lab};
    const struct vel_watch watch = {freeze, &t};
    int steps, wrong = 0;

    for (steps = 0; t.steps < 0 || steps == 0; steps++) {
        packlab_fresh(&lab, "frozen");
        packlab_parts(&lab, 1);
        flushlab_begin(&lab, 1, 1);
        packlab_node(&lab, vel_fs_posix(), 1, 1, 0, PACKLAB_NODES, &pack);
        pack.node.job.watch = &watch;
        t.steps = steps;
        int rc = vel_flushing_copy(&pack.node.flushing, &pack.node.job, &copied, &err);

        wrong += t.steps < 0 && (rc != VEL_ESTATE || !packlab_is_whole(&lab, 1));
        wrong += packlab_name(&lab, vel_fs_posix(), 1, 1, 0, &err) != VEL_ESTATE &&
                 t.steps < 0;
    }
    ok(wrong == 0 && steps > 5,
       "who is frozen at any of %d pieces and thaws changes nothing, and leaves "
       "nothing",
       steps - 1);
}

/* What owner 1 left half done went into other containers, or into none. */
static void changed(void)
{
    static const uint64_t rooms[] = {PACKLAB_ROOM, PACKLAB_ROOM / 2, 0};
    struct flushlab lab;
    struct packlab_node pack;
    struct vel_flush_copied copied;
    struct vel_err err = {0};

    for (size_t i = 0; i < sizeof rooms / sizeof *rooms; i++) {
        packlab_fresh(&lab, "changed");
        packlab_parts(&lab, 1);
        flushlab_begin(&lab, 1, 1);
        packlab_room = rooms[i];
        for (int n = 0; n < 3 && rooms[i]; n++) { /* there were more nodes */
            packlab_node(&lab, vel_fs_posix(), 1, 1, 0, PACKLAB_NODES, &pack);
            pack.node.job.list = n;
            pack.node.job.lists = 3;
            packlab_must(
                vel_flushing_copy(&pack.node.flushing, &pack.node.job, &copied, &err),
                &err);
        }
        if (!rooms[i]) /* the names of a rank alone */
            packlab_must(flushlab_copy(&lab, vel_fs_posix(), 1, 1, 0, true, NULL, &err),
                         &err);
        ok(packlab_temporaries(&lab, 1) > 0, "an owner has begun");
        packlab_room = PACKLAB_ROOM;
        ok(packlab_flush(&lab, vel_fs_posix(), 1, 2, &err) == 0 &&
               packlab_is_whole(&lab, 1),
           "the next one, with other settings and nodes, leaves nothing of it: %s",
           err.text);
    }
    packlab_fresh(&lab, "plain");
    packlab_parts(&lab, 1);
    flushlab_begin(&lab, 1, 1);
    packlab_must(packlab_copy(&lab, vel_fs_posix(), 1, 1, 0, &err), &err);
    flushlab_claim(&lab, 1, 2);
    ok(flushlab_copy(&lab, vel_fs_posix(), 1, 2, 0, true, NULL, &err) == 0 &&
           packlab_count(&lab, 1, ".") == 0 && flushlab_strays(&lab) == FLUSHLAB_FILES,
       "so does one without containers: %s", err.text);
}

static void swallow(void *arg, enum vel_log_level level, const char *line, size_t len)
{
    (void)arg, (void)level, (void)line, (void)len;
}

int main(void)
{
    const struct vel_log_sink deaf = {.level = VEL_LOG_ERROR, .write = swallow};

    vel_log_open(&deaf);
    every(VEL_FS_FAULT_ONCE, -1, "a failure");
    every(VEL_FS_FAULT_CRASH, -1, "SIGKILL");
    every(VEL_FS_FAULT_CRASH, VEL_FS_LOSS_DROP, "a loss of power");
    every(VEL_FS_FAULT_CRASH, VEL_FS_LOSS_RANDOM, "a loss by chance");
    frozen();
    changed();
    flushlab_leave();
    return done_testing();
}
