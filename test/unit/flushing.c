/* SPDX-License-Identifier: BSD-3-Clause */
/* Flushing beside the program: what each node copies, and how a copy goes on after
 * SIGKILL, a failure or a change of mind. */
#include "config.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "jobs/copying.h"
#include "tap/fs_fault.h"
#include "tap/files.h"
#include "tap/flushlab.h"
#include "tap/tap.h"

enum { LARGE = 100000 };

/* --- the whole way --- */

static void whole(void)
{
    struct flushlab lab;
    struct vel_err err = {0};
    int64_t owner = 0;

    flushlab_init(&lab, "whole", LARGE);
    flushlab_parts(&lab, 1);
    flushlab_begin(&lab, 1, 1);
    ok(flushlab_copy_all(&lab, 1, 1) && flushlab_shows_all(&lab, 1, 0),
       "what was copied has no names yet");
    is_int(flushlab_strays(&lab), FLUSHLAB_RANKS * FLUSHLAB_FILES,
           "but temporary ones");
    ok(flushlab_owner(&lab, 1, 1, vel_flushing_stage, &err) == 0 &&
           flushlab_place(&lab, 1, &owner) == VEL_ON_STAGED && owner == 1,
       "then it is staged, by its owner");
    ok(flushlab_name(&lab, 1, 1, 0, &err) == 0 &&
           flushlab_name(&lab, 1, 1, 1, &err) == 0 && flushlab_shows_all(&lab, 1, 1),
       "then it has its names");
    ok(flushlab_name(&lab, 1, 1, 1, &err) == 0, "to say so again changes nothing");
    ok(flushlab_owner(&lab, 1, 1, vel_flushing_publish, &err) == 0 &&
           flushlab_place(&lab, 1, NULL) == VEL_ON_PREFIX &&
           flushlab_current(&lab) == 1,
       "and is on the prefix, the current one");
    is_int(flushlab_strays(&lab), 0, "nothing else is left");
}

/* Whoever empties the cache after the copy has nothing to do with what was copied. */
static void homeless(void)
{
    struct flushlab lab;
    struct flushlab_node node;
    struct vel_err err = {0};
    int rc = 0;

    flushlab_init(&lab, "homeless", LARGE);
    flushlab_parts(&lab, 1);
    flushlab_begin(&lab, 1, 1);
    if (!flushlab_copy_all(&lab, 1, 1) ||
        flushlab_owner(&lab, 1, 1, vel_flushing_stage, &err) < 0)
        bail_out("%s", err.text);
    for (int rank = 0; rc == 0 && rank < FLUSHLAB_RANKS; rank++) {
        flushlab_node(&lab, vel_fs_posix(), 1, 1, rank, &node);
        node.job.home = NULL;
        node.job.n = 0;
        rc = vel_flushing_name(&node.flushing, &node.job, &err);
    }
    ok(rc == 0 && flushlab_shows_all(&lab, 1, 1),
       "what was copied has its names, though no cache has it any more");
    flushlab_node(&lab, vel_fs_posix(), 1, 1, 0, &node);
    node.job.home = NULL;
    ok(vel_flushing_retreat(&node.flushing, &node.job, &err) == 0 &&
           !vel_fs_exists(vel_fs_posix(), "(null)"),
       "nor does taking it back need one");
}

static void taken_back(void)
{
    struct flushlab lab;
    struct flushlab_node node;
    struct vel_err err = {0};

    flushlab_init(&lab, "back", LARGE);
    flushlab_parts(&lab, 1);
    flushlab_begin(&lab, 1, 1);
    flushlab_copy_all(&lab, 1, 1);
    for (int r = 0; r < FLUSHLAB_RANKS; r++) {
        flushlab_node(&lab, vel_fs_posix(), 1, 1, r, &node);
        ok(vel_flushing_retreat(&node.flushing, &node.job, &err) == 0 &&
               vel_flushing_retreat(&node.flushing, &node.job, &err) == 0,
           "a node takes back what it has copied, and once more");
    }
    ok(flushlab_strays(&lab) == 0 && flushlab_shows_all(&lab, 1, 0),
       "nothing is left of it");
    ok(flushlab_flush(&lab, 1, 2) && flushlab_shows_all(&lab, 1, 1),
       "and it can be flushed then");
}

static void same_names(void)
{
    struct flushlab lab;
    struct vel_err err = {0};
    char *list, path[700];

    flushlab_init(&lab, "twice", 100);
    flushlab_parts(&lab, 1);
    flushlab_begin(&lab, 1, 1);
    flushlab_copy_all(&lab, 1, 1);
    snprintf(path, sizeof path, "%s/dataset.1/files.0", lab.dir);
    list = tap_get_file(path, NULL);
    snprintf(path, sizeof path, "%s/dataset.1/files.1", lab.dir);
    tap_put_file(path, list);
    free(list);
    is_int(flushlab_owner(&lab, 1, 1, vel_flushing_stage, &err), VEL_EUNSUP,
           "two ranks' files of one name are refused");
    ok(strstr(err.text, "r0.0") && flushlab_place(&lab, 1, NULL) == VEL_ON_FLUSHING,
       "with the name, before anything has one");
    unlink(path);
    is_int(flushlab_owner(&lab, 1, 1, vel_flushing_stage, &err), VEL_ENOENT,
           "nor is staged what a node has not listed");
}

/* --- on after a crash --- */

struct killing {
    int left; /* notes until the process is killed */
};

static bool count_down(void *arg, uint64_t bytes)
{
    struct killing *killing = arg;

    (void)bytes;
    if (killing->left-- == 0)
        raise(SIGKILL);
    return true;
}

/* A child copies and is killed at the n-th step; false: it came to the end before. */
static bool killed_at(const struct flushlab *lab, int64_t id, int64_t owner, int n)
{
    int status;
    pid_t pid = fork();

    if (pid < 0)
        bail_out("cannot fork");
    if (pid == 0) {
        struct killing killing = {n};
        const struct vel_watch watch = {count_down, &killing};
        struct flushlab_node node;
        struct vel_flush_copied copied;

        flushlab_node(lab, vel_fs_posix(), id, owner, 0, &node);
        node.job.watch = &watch;
        node.job.may_resume = true;
        _exit(vel_flushing_copy(&node.flushing, &node.job, &copied, NULL) < 0);
    }
    if (waitpid(pid, &status, 0) != pid)
        bail_out("lost a child");
    return WIFSIGNALED(status);
}

static void killed(void)
{
    struct flushlab lab;
    struct vel_err err = {0};
    uint64_t resumed = 0, most = 0, least = UINT64_MAX;
    int kills = 0, wrong = 0;

    flushlab_init(&lab, "killed", LARGE);
    for (int n = 1; n < 120; n += 4) {
        int64_t id = 2, owner = n;

        flushlab_part(&lab, id, 0);
        flushlab_claim(&lab, id, owner);
        flushlab_entry(&lab, id, owner, 1, VEL_ON_FLUSHING);
        if (!killed_at(&lab, id, owner, n))
            break;
        kills++;
        flushlab_claim(&lab, id, owner + 1);
        flushlab_entry(&lab, id, owner + 1, 1, VEL_ON_FLUSHING);
        wrong += flushlab_copy(&lab, vel_fs_posix(), id, owner + 1, 0, true, &resumed,
                               &err) < 0;
        most = resumed > most ? resumed : most;
        least = resumed < least ? resumed : least;
        wrong += flushlab_owner(&lab, id, owner + 1, vel_flushing_stage, &err) < 0 ||
                 flushlab_name(&lab, id, owner + 1, 0, &err) < 0 ||
                 flushlab_shows(&lab, id, 0) != id;
        for (int i = 0; i < FLUSHLAB_FILES; i++)
            unlink(flushlab_path(&lab, id, 0, i));
    }
    ok(kills > 10, "a process is killed in the middle of its copy, %d times", kills);
    is_int(wrong, 0, "whoever comes next has every byte right");
    ok(least == 0 && most >= 5 * 16384,
       "and goes on from where it was: %" PRIu64 " bytes at best", most);
    if (wrong)
        note("%s", err.text);
}

static void not_trusted(void)
{
    struct flushlab lab;
    struct vel_err err = {0};
    uint64_t resumed = 77;
    char path[1300];

    flushlab_init(&lab, "alive", LARGE);
    flushlab_part(&lab, 1, 0);
    flushlab_claim(&lab, 1, 1);
    flushlab_entry(&lab, 1, 1, 1, VEL_ON_FLUSHING);
    ok(killed_at(&lab, 1, 1, 40), "half of it is there");
    flushlab_claim(&lab, 1, 2);
    ok(flushlab_copy(&lab, vel_fs_posix(), 1, 2, 0, false, &resumed, &err) == 0 &&
           resumed == 0,
       "of an owner that may still live nothing is used");
    is_int(flushlab_strays(&lab), FLUSHLAB_FILES, "and what it has left is removed");

    flushlab_init(&lab, "short", LARGE);
    flushlab_part(&lab, 1, 0);
    flushlab_claim(&lab, 1, 1);
    flushlab_entry(&lab, 1, 1, 1, VEL_ON_FLUSHING);
    killed_at(&lab, 1, 1, 40);
    snprintf(path, sizeof path, "%s/out.1/.r0.1.h5v-1.1.tmp", lab.prefix);
    ok(truncate(path, 20000) == 0 &&
           flushlab_copy(&lab, vel_fs_posix(), 1, 1, 0, true, &resumed, &err) == 0 &&
           resumed <= 100 && flushlab_name(&lab, 1, 1, 0, &err) == 0 &&
           flushlab_shows(&lab, 1, 0) == 1,
       "a file that is shorter than was noted is copied anew");
}

/* --- faults --- */

static void swallow(void *arg, enum vel_log_level level, const char *line, size_t len)
{
    (void)arg, (void)level, (void)line, (void)len;
}

static void faults(void)
{
    struct flushlab lab;
    struct vel_err err = {0};
    const struct vel_log_sink deaf = {.level = VEL_LOG_ERROR, .write = swallow};
    int wrong = 0, n;

    vel_log_open(&deaf);
    flushlab_init(&lab, "faults", 40000);
    flushlab_part(&lab, 1, 0);
    for (n = 1;; n++) {
        struct vel_fs_fault *fault;
        const struct vel_fs_fault_plan plan = {.mode = n % 2 ? VEL_FS_FAULT_ONCE
                                                             : VEL_FS_FAULT_CRASH,
                                               .at = (uint64_t)(n + 1) / 2};
        struct vel_err why = {0};
        bool fired;
        int rc;

        if (vel_fs_fault_create(vel_fs_posix(), NULL, &fault, NULL) < 0)
            bail_out("no memory");
        flushlab_claim(&lab, 1, 1);
        flushlab_entry(&lab, 1, 1, 1, VEL_ON_FLUSHING);
        vel_fs_fault_arm(fault, &plan);
        rc = flushlab_copy(&lab, vel_fs_fault_fs(fault), 1, 1, 0, true, NULL, &why);
        fired = vel_fs_fault_fired(fault);
        vel_fs_fault_destroy(fault);
        if (!fired)
            break;
        if (rc < 0 && !why.text[0])
            wrong++;
        if (flushlab_copy(&lab, vel_fs_posix(), 1, 1, 0, true, NULL, &err) < 0 ||
            flushlab_owner(&lab, 1, 1, vel_flushing_stage, &err) < 0 ||
            flushlab_name(&lab, 1, 1, 0, &err) < 0 || flushlab_shows(&lab, 1, 0) != 1 ||
            flushlab_strays(&lab) > 0) {
            note("operation %d: %s", n, err.text);
            wrong++;
        }
        for (int i = 0; i < FLUSHLAB_FILES; i++)
            unlink(flushlab_path(&lab, 1, 0, i));
    }
    vel_log_open(NULL);
    is_int(wrong, 0, "each operation of a copy fails: the next attempt is whole");
    ok(n > 100, "%d of them", n);
}

/* In a directory that a program has just made, and has not brought to the disk. */
static void power_lost(void)
{
    struct vel_fs_fault *fault;
    const struct vel_fs_fault_plan plan = {.mode = VEL_FS_FAULT_NONE};
    struct flushlab lab;
    struct vel_err err = {0};
    char dir[600];
    int rc;

    flushlab_init(&lab, "power", LARGE);
    flushlab_part(&lab, 1, 0);
    flushlab_claim(&lab, 1, 1);
    flushlab_entry(&lab, 1, 1, 1, VEL_ON_FLUSHING);
    snprintf(dir, sizeof dir, "%s/out.1", lab.prefix);
    if (vel_fs_fault_create(vel_fs_posix(), tap_path("aside"), &fault, &err) < 0)
        bail_out("%s", err.text);
    vel_fs_fault_arm(fault, &plan);
    rc = vel_fs_make_dirs_unsynced(vel_fs_fault_fs(fault), dir, 0777, &err);
    if (rc == 0)
        rc = flushlab_copy(&lab, vel_fs_fault_fs(fault), 1, 1, 0, true, NULL, &err);
    if (rc == 0)
        rc = flushlab_owner(&lab, 1, 1, vel_flushing_stage, &err);
    if (rc == 0)
        rc = vel_fs_fault_power_loss(fault, VEL_FS_LOSS_DROP, 1, &err);
    vel_fs_fault_destroy(fault);
    flushlab_leave();
    ok(rc == 0 && flushlab_strays(&lab) == FLUSHLAB_FILES &&
           flushlab_name(&lab, 1, 1, 0, &err) == 0 && flushlab_shows(&lab, 1, 0) == 1,
       "what is staged outlives a loss of power, whoever has made its directory");
    if (err.text[0])
        note("%s", err.text);
}

static bool cancels(void *arg, uint64_t bytes)
{
    (void)bytes;
    return (*(int *)arg)-- > 0;
}

static void cancelled(void)
{
    struct flushlab lab;
    struct flushlab_node node;
    struct vel_flush_copied copied = {.files = 77};
    struct vel_err err = {0};
    int steps = 40;
    const struct vel_watch watch = {cancels, &steps};
    uint64_t resumed = 0;

    flushlab_init(&lab, "cancelled", LARGE);
    flushlab_part(&lab, 1, 0);
    flushlab_claim(&lab, 1, 1);
    flushlab_entry(&lab, 1, 1, 1, VEL_ON_FLUSHING);
    flushlab_node(&lab, vel_fs_posix(), 1, 1, 0, &node);
    node.job.watch = &watch;
    ok(vel_flushing_copy(&node.flushing, &node.job, &copied, &err) == VEL_ECANCEL &&
           copied.files == 77,
       "a copy is cancelled");
    ok(flushlab_copy(&lab, vel_fs_posix(), 1, 1, 0, true, &resumed, &err) == 0 &&
           resumed > 0,
       "and goes on later");
}

struct replaced {
    struct flushlab *lab;
    int steps;
};

/* Another owner has begun: this one's launch is over, and it is stopped. */
static bool is_replaced(void *arg, uint64_t bytes)
{
    struct replaced *r = arg;

    (void)bytes;
    if (r->steps-- == 0)
        flushlab_claim(r->lab, 1, 2);
    return r->steps >= 0;
}

static void stopped(void)
{
    struct flushlab lab;
    struct flushlab_node node;
    struct vel_flush_copied copied;
    struct vel_err err = {0};
    struct replaced by = {.lab = &lab, .steps = 40};
    const struct vel_watch watch = {is_replaced, &by};

    flushlab_init(&lab, "stopped", LARGE);
    flushlab_part(&lab, 1, 0);
    flushlab_claim(&lab, 1, 1);
    flushlab_entry(&lab, 1, 1, 1, VEL_ON_FLUSHING);
    flushlab_node(&lab, vel_fs_posix(), 1, 1, 0, &node);
    node.job.watch = &watch;
    ok(vel_flushing_copy(&node.flushing, &node.job, &copied, &err) < 0 &&
           flushlab_strays(&lab) == 0,
       "who is stopped when another has come, and has looked, leaves nothing");
}

static void must(int rc, const struct vel_err *err)
{
    if (rc < 0)
        bail_out("%s", err->text);
}

/* Where a copy is comes back as it was, also to the next leader. */
static void noted(void)
{
    struct flushlab lab;
    struct flushlab_node node;
    struct vel_copying note, back;
    struct vel_batches *other;
    struct vel_err err = {0};
    char name[] = "a\xff.h5";
    int rc;

    flushlab_init(&lab, "noted", LARGE);
    flushlab_part(&lab, 7, 0);
    flushlab_node(&lab, vel_fs_posix(), 7, 1, 0, &node);
    rc = vel_copying_find(node.job.ledger, 7, true, &note, &err);
    ok(rc == 0 && !note.name, "nothing is known of a copy");
    note.owner = 3;
    note.files = 5;
    note.rank = 2;
    note.name = strdup(name);
    note.offset = 1 << 20;
    note.crc = 0xfedcba98;
    vel_buf_append(&note.transfer, "\0\xff\x10", 3);
    rc = vel_copying_say(node.job.ledger, &note, false, &err);
    flushlab_node(&lab, vel_fs_posix(), 7, 1, 0, &node);
    if (rc == 0)
        rc = vel_copying_find(node.job.ledger, 7, false, &back, &err);
    ok(rc == 0 && back.id == 7 && back.owner == 3 && back.files == 5 &&
           back.rank == 2 && back.name && strcmp(back.name, name) == 0 &&
           back.offset == note.offset && back.crc == note.crc &&
           back.transfer.len == 3 && memcmp(back.transfer.data, "\0\xff\x10", 3) == 0,
       "where it is comes back to the next leader as it was said");
    vel_copying_fini(&back);
    flushlab_other(&lab, 0, "another", &other);
    rc = vel_copying_find(other, 7, true, &back, &err);
    ok(rc == 0 && back.owner == 3, "and to one of another launch");
    vel_copying_fini(&back);
    note.owner = 4;
    must(vel_copying_say(other, &note, true, &err), &err);
    vel_batches_destroy(other);
    must(vel_copying_find(node.job.ledger, 7, true, &back, &err), &err);
    is_int(back.owner, 4, "what that has said last counts");
    vel_copying_fini(&note);
    vel_copying_fini(&back);
}

/* A cache that is full, or away, takes no note of a copy that gives it room. */
static void not_noted(void)
{
    struct flushlab lab;
    struct vel_err err = {0};
    char path[600];

    flushlab_init(&lab, "no-note", LARGE);
    flushlab_part(&lab, 1, 0);
    flushlab_claim(&lab, 1, 1);
    flushlab_entry(&lab, 1, 1, 1, VEL_ON_FLUSHING);
    snprintf(path, sizeof path, "%s/../ledger", lab.cache);
    tap_put_file(path, "none");
    ok(flushlab_copy(&lab, vel_fs_posix(), 1, 1, 0, true, NULL, &err) == 0 &&
           flushlab_name(&lab, 1, 1, 0, &err) == 0 && flushlab_shows(&lab, 1, 0) == 1,
       "a copy of which nothing can be noted is made");
    if (err.text[0])
        note("%s", err.text);
    flushlab_leave();
}

int main(void)
{
    whole();
    homeless();
    taken_back();
    same_names();
    killed();
    not_trusted();
    faults();
    power_lost();
    cancelled();
    stopped();
    noted();
    not_noted();
    flushlab_leave();
    return done_testing();
}
