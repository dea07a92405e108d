/* SPDX-License-Identifier: BSD-3-Clause */
/* A delta flush that fails, is killed or loses power at any operation, and what is done
 * with a patch whose file is not what it was. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "tap/deltalab.h"
#include "tap/files.h"
#include "tap/tap.h"
#include "xfer/patch.h"

enum { BLOCK = 65536, SIZE = 6 * BLOCK + 1234, OPS_MOST = 2000 };

static void fresh(struct deltalab *d, const char *name, bool can_clone)
{
    struct vel_flush_copied copied;
    struct vel_err err = {0};

    vel_fs_remove_tree(vel_fs_posix(), tap_path(name), NULL);
    deltalab_init(d, name, 3, SIZE);
    d->edit = DELTALAB_ONE;
    d->can_clone = can_clone;
    d->may_patch = true;
    deltalab_part(d, 1);
    if (deltalab_flush(d, deltalab_fs(d), 1, 1, &copied, &err) < 0)
        bail_out("%s", err.text);
    deltalab_part(d, 2);
}

static struct vel_fs_fault *twin(const struct deltalab *d,
                                 const struct vel_fs_fault_plan *plan, bool has_loss)
{
    struct vel_fs_fault *fault;

    if (vel_fs_fault_create(deltalab_fs(d), has_loss ? tap_path("aside") : NULL, &fault,
                            NULL) < 0)
        bail_out("no memory");
    vel_fs_fault_arm(fault, plan);
    return fault;
}

/* --- every operation --- */

struct trial {
    bool can_clone;
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

/* Whoever comes next: nothing half, and then all of it; and the version after it. */
static void go_on(struct trial *t, const struct deltalab *d)
{
    struct vel_flush_copied copied;
    struct vel_err err = {0};
    int64_t before = deltalab_shows(d);
    int place = deltalab_settle(d, 2, 2, &err);

    if (t->can_clone && before < 1)
        complain(t, "a reader sees a mix", "");
    if (place < 0)
        complain(t, "what is left is not settled", err.text);
    else if (deltalab_shows(d) != (place == VEL_ON_PREFIX ? 2 : 1))
        complain(t, "settled", "but not what the entry says");
    if (place != VEL_ON_PREFIX &&
        deltalab_flush(d, deltalab_fs(d), 2, 3, &copied, &err) < 0)
        complain(t, "it is not flushed again", err.text);
    if (deltalab_shows(d) != 2)
        complain(t, "flushed again", "but not there");
    deltalab_part(d, 3);
    if (deltalab_flush(d, deltalab_fs(d), 3, 1, &copied, &err) < 0 ||
        deltalab_shows(d) != 3)
        complain(t, "the next version is not there", err.text);
    if (flushlab_strays(&d->lab) > 0)
        complain(t, "something is left", "");
}

static bool try_one(struct trial *t)
{
    const struct vel_fs_fault_plan plan = {.mode = t->mode, .at = (uint64_t)t->n};
    struct deltalab d;
    struct vel_fs_fault *fault;
    struct vel_flush_copied copied;
    struct vel_err err = {0};
    int fds, rc;
    bool fired;

    flushlab_leave();
    fds = tap_open_fds();
    fresh(&d, "trial", t->can_clone);
    fault = twin(&d, &plan, t->has_loss);
    rc = deltalab_flush(&d, vel_fs_fault_fs(fault), 2, 1, &copied, &err);
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
    if (rc == 0 && deltalab_shows(&d) != 2)
        complain(t, "flushed", "but not there");
    go_on(t, &d);
    return fired;
}

static void every(bool can_clone, enum vel_fs_fault_mode mode, int loss,
                  const char *what)
{
    struct trial t = {.can_clone = can_clone,
                      .mode = mode,
                      .has_loss = loss >= 0,
                      .loss = (enum vel_fs_loss)(loss < 0 ? 0 : loss)};
    int step = getenv("SEEDS") ? 1 : 11;

    /* a slice, another one for each kind; all of them with SEEDS */
    for (t.n = 1 + (mode + loss + 1) % step; t.n < OPS_MOST && try_one(&t);)
        t.n += step;
    ok(t.wrong == 0 && t.n > 50 && t.n < OPS_MOST, "%s: %s at each %s of %d operations",
       can_clone ? "a clone" : "a patch", what, step > 1 ? "11th" : "one", t.n - 1);
}

/* --- patches --- */

static void temporary_of(const struct deltalab *d, char path[700])
{
    snprintf(path, 700, "%s/out.0/.r0.1.h5v-2.1.tmp", d->lab.prefix);
}

/* Killed in the middle of the names: a part of the file is new. */
static void leave_half(const struct deltalab *d)
{
    const struct vel_fs_fault_plan plan = {
        .mode = VEL_FS_FAULT_CRASH, .kinds = VEL_FS_KIND_TRUNCATE, .at = 1};
    struct vel_fs_fault *fault;
    struct vel_flush_copied copied;
    struct vel_err err = {0};

    if (deltalab_stage(d, deltalab_fs(d), 2, 1, &copied, &err) < 0)
        bail_out("%s", err.text);
    fault = twin(d, &plan, false);
    if (deltalab_name(d, vel_fs_fault_fs(fault), 2, 1, &err) == 0)
        bail_out("it was not killed");
    vel_fs_fault_destroy(fault);
}

static void put_byte(const char *path, long at)
{
    FILE *f = fopen(path, "r+");

    if (!f || fseek(f, at, SEEK_SET) < 0 || fputc('?', f) == EOF || fclose(f) != 0)
        bail_out("cannot write to %s", path);
}

static void forward(void)
{
    struct deltalab d;
    struct stat before, after;
    struct vel_err err = {0};

    fresh(&d, "half", false);
    stat(deltalab_path(&d), &before);
    leave_half(&d);
    ok(vel_fs_exists(vel_fs_posix(), deltalab_path(&d)), "a patch was half done");
    is_int(deltalab_settle(&d, 2, 2, &err), VEL_ON_PREFIX,
           "whoever finds it brings it forward");
    stat(deltalab_path(&d), &after);
    ok(deltalab_shows(&d) == 2 && before.st_ino != after.st_ino,
       "in a new file, whose bytes nobody who thaws can change");
    is_int(flushlab_strays(&d.lab), 0, "and nothing is left");

    fresh(&d, "again", false);
    leave_half(&d);
    ok(deltalab_name(&d, deltalab_fs(&d), 2, 1, &err) == 0 && deltalab_shows(&d) == 2,
       "so does the same owner: %s", err.text);
}

/* Somebody else's bytes in it: no mix of theirs and ours. */
static void foreign(void)
{
    struct deltalab d;
    struct vel_flush_copied copied;
    struct vel_err err = {0};
    size_t len;
    char *is;

    fresh(&d, "theirs", false);
    leave_half(&d);
    put_byte(deltalab_path(&d), 10);
    is_int(deltalab_settle(&d, 2, 2, &err), VEL_ECORRUPT,
           "a half patched file that somebody else has changed is not brought forward");
    is = tap_get_file(deltalab_path(&d), &len);
    ok(is && is[10] == '?' && strstr(err.text, "somebody else"),
       "it stays as they left it, and is told: %s", err.text);
    free(is);

    fresh(&d, "mine", false);
    leave_half(&d);
    put_byte(deltalab_path(&d), 10);
    ok(deltalab_name(&d, deltalab_fs(&d), 2, 1, &err) == 0 && deltalab_shows(&d) == 2,
       "the node that has the file writes it whole");

    fresh(&d, "before", false);
    deltalab_stage(&d, deltalab_fs(&d), 2, 1, &copied, &err);
    ok(copied.delta.written < SIZE, "a patch was staged");
    unlink(deltalab_path(&d));
    ok(deltalab_name(&d, deltalab_fs(&d), 2, 1, &err) == 0 && deltalab_shows(&d) == 2 &&
           flushlab_strays(&d.lab) == 0,
       "and its file removed: it is written whole");
}

static int count_piece(void *arg, uint64_t at, const void *bytes, size_t len,
                       struct vel_err *err)
{
    (void)at, (void)bytes, (void)err;
    *(size_t *)arg += len;
    return 0;
}

static void damaged(void)
{
    struct deltalab d;
    struct vel_flush_copied copied;
    struct vel_patch_head head;
    struct vel_err err = {0};
    char path[700];
    char *bytes;
    size_t len, n = 0;
    int taken = 0;

    fresh(&d, "damaged", false);
    deltalab_stage(&d, deltalab_fs(&d), 2, 1, &copied, &err);
    temporary_of(&d, path);
    ok(vel_patch_read(vel_fs_posix(), path, &head, count_piece, &n, &err) == 0 &&
           n == BLOCK && head.new_size == SIZE,
       "a patch has the one block that has changed");
    bytes = tap_get_file(path, &len);
    for (size_t i = 0; i < len; i += i < 100 || i > len - 40 ? 1 : 4999) {
        bytes[i] ^= 4;
        tap_put_bytes(path, bytes, len);
        taken += vel_patch_read(vel_fs_posix(), path, &head, NULL, NULL, &err) == 0;
        bytes[i] ^= 4;
    }
    for (size_t i = 0; i < len; i += i < 100 ? 1 : 4999) {
        tap_put_bytes(path, bytes, i);
        taken += vel_patch_read(vel_fs_posix(), path, &head, NULL, NULL, &err) == 0;
    }
    is_int(taken, 0, "one that is damaged or torn is none");
    is_int(deltalab_settle(&d, 2, 2, &err), VEL_ECORRUPT, "nor is it carried out");
    is_int(deltalab_shows(&d), 1, "and its file is as it was");
    free(bytes);

    fresh(&d, "torn", false);
    deltalab_stage(&d, deltalab_fs(&d), 2, 1, &copied, &err);
    temporary_of(&d, path);
    if (truncate(path, 100) < 0)
        bail_out("cannot cut %s", path);
    ok(deltalab_name(&d, deltalab_fs(&d), 2, 1, &err) == 0 && deltalab_shows(&d) == 2,
       "the node that has the file writes it whole");
}

static void swallow(void *arg, enum vel_log_level level, const char *line, size_t len)
{
    (void)arg, (void)level, (void)line, (void)len;
}

int main(void)
{
    const struct vel_log_sink deaf = {.level = VEL_LOG_ERROR, .write = swallow};

    vel_log_open(&deaf);
    for (int can_clone = 0; can_clone < 2; can_clone++) {
        every(can_clone, VEL_FS_FAULT_ONCE, -1, "a failure");
        every(can_clone, VEL_FS_FAULT_CRASH, VEL_FS_LOSS_KEEP, "SIGKILL");
        every(can_clone, VEL_FS_FAULT_CRASH, VEL_FS_LOSS_DROP, "a loss of power");
        every(can_clone, VEL_FS_FAULT_CRASH, VEL_FS_LOSS_RANDOM, "a loss by chance");
    }
    forward();
    foreign();
    damaged();
    return done_testing();
}
