/* SPDX-License-Identifier: BSD-3-Clause */
/* fs_fault - a file system that fails, crashes and loses power when it is told to.
 *
 * A twin wraps another file system and counts its operations:
 *
 *   fail   the n-th operation of chosen kinds gives a chosen errno, once or for good
 *   crash  the n-th operation and all later ones fail with EIO and do nothing: the
 *          process is dead and does not know it. Only close still closes.
 *   loss   after a crash or at any other moment, vel_fs_fault_power_loss() puts the
 *          real directory into a state that a loss of power could have left then
 *
 * A sweep runs an action with n = 1, 2, 3, ... until nothing fires any more; see
 * test/tap/sweep.h. Everything is chosen by number and seed, so every failure replays.
 *
 * What a loss may take away is told in fs_undo.h.
 */
#ifndef TEST_TAP_FS_FAULT_H
#define TEST_TAP_FS_FAULT_H

#include "sys/fs.h"
#include "tap/fs_undo.h"

/* kinds of operations, for a mask */
enum vel_fs_kind {
    VEL_FS_KIND_OPEN = 1 << 0,
    VEL_FS_KIND_READ = 1 << 1,
    VEL_FS_KIND_WRITE = 1 << 2, /* append too */
    VEL_FS_KIND_COPY = 1 << 3,  /* and clone */
    VEL_FS_KIND_TRUNCATE = 1 << 4,
    VEL_FS_KIND_SYNC = 1 << 5,
    VEL_FS_KIND_CLOSE = 1 << 6, /* closes, and says that it failed */
    VEL_FS_KIND_LOCK = 1 << 7,
    VEL_FS_KIND_STAT = 1 << 8,
    VEL_FS_KIND_ATTR = 1 << 9,
    VEL_FS_KIND_LIST = 1 << 10,
    VEL_FS_KIND_RENAME = 1 << 11,
    VEL_FS_KIND_LINK = 1 << 12,
    VEL_FS_KIND_UNLINK = 1 << 13,
    VEL_FS_KIND_MKDIR = 1 << 14,
    VEL_FS_KIND_RMDIR = 1 << 15,
    VEL_FS_KIND_SPACE = 1 << 16,
    VEL_FS_KIND_ALL = (1 << 17) - 1,
};

enum vel_fs_fault_mode {
    VEL_FS_FAULT_NONE, /* only count, and shorten */
    VEL_FS_FAULT_ONCE,
    VEL_FS_FAULT_LASTING, /* every operation of these kinds from then on */
    VEL_FS_FAULT_CRASH,
};

struct vel_fs_fault_plan {
    enum vel_fs_fault_mode mode;
    unsigned kinds;      /* which operations count; 0 is all */
    uint64_t at;         /* the first is 1 */
    int errnum;          /* positive; 0 is EIO */
    size_t most_at_once; /* reads, writes and copies are cut to this; 0 is no limit */
    const char *below;   /* borrowed: only what is done to this directory, in it and to
                            files opened there since counts; NULL: everything */
    void (*crash)(void *arg); /* called at the crash, without the lock: a process that
                                 ends there is dead in earnest */
    void *arg;
};

struct vel_fs_fault;

/* A twin over `under` that only counts. `aside`, when not NULL, is a directory to be
 * made on the same file system and outside what is tested: there is kept what a loss of
 * power may bring back. Without it there are faults and crashes only. */
int vel_fs_fault_create(struct vel_fs *under, const char *aside,
                        struct vel_fs_fault **ret_fault, struct vel_err *err);

/* Removes `aside`. */
void vel_fs_fault_destroy(struct vel_fs_fault *fault);

/* The file system to hand to what is tested; belongs to the twin. */
struct vel_fs *vel_fs_fault_fs(struct vel_fs_fault *fault);

/* Begin to count anew, by this plan. What is not durable yet stays so. */
void vel_fs_fault_arm(struct vel_fs_fault *fault, const struct vel_fs_fault_plan *plan);

/* Since it was armed: has anything failed by plan, and how many operations of the
 * plan's kinds were asked for? */
bool vel_fs_fault_fired(struct vel_fs_fault *fault);
uint64_t vel_fs_fault_count(struct vel_fs_fault *fault);

/* Lose power and come back: changes the real files, then only counts, as if just
 * created. VEL_EUNSUP without an aside directory. */
int vel_fs_fault_power_loss(struct vel_fs_fault *fault, enum vel_fs_loss loss,
                            uint64_t seed, struct vel_err *err);

#endif
