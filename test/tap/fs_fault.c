/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "sys/fs_twin.h"
#include "tap/fs_fault.h"

enum { FDS_MOST = 4096 };

struct vel_fs_fault {
    struct vel_fs_twin twin;
    struct vel_fs_undo *undo; /* NULL without aside; else what is under the twin */
    pthread_mutex_t lock;     /* guards what follows */
    struct vel_fs_fault_plan plan;
    uint64_t count;
    bool has_fired;
    bool is_dead;
    bool is_below[FDS_MOST]; /* descriptors of files in the plan's directory */
};

/* Is this operation one that the plan speaks of? A path of NULL: ask the descriptor. */
static bool is_meant(const struct vel_fs_fault *f, enum vel_fs_kind kind,
                     const char *path, int fd)
{
    const struct vel_fs_fault_plan *plan = &f->plan;
    size_t len = plan->below ? strlen(plan->below) : 0;

    if (plan->kinds && !(plan->kinds & kind))
        return false;
    if (!plan->below)
        return true;
    if (!path)
        return fd >= 0 && fd < FDS_MOST && f->is_below[fd];
    return strncmp(path, plan->below, len) == 0 &&
           (path[len] == '\0' || path[len] == '/');
}

/* Every operation passes here: 0, or the negative errno that it fails with. */
static int pass(struct vel_fs_fault *f, enum vel_fs_kind kind, const char *path, int fd)
{
    void (*crash)(void *arg) = NULL;
    void *arg;
    int rc = 0;

    pthread_mutex_lock(&f->lock);
    const struct vel_fs_fault_plan *plan = &f->plan;
    bool is_counted = is_meant(f, kind, path, fd);
    f->count += is_counted;
    if (f->is_dead) {
        rc = -EIO;
    } else if (is_counted && plan->mode != VEL_FS_FAULT_NONE &&
               (f->count == plan->at ||
                (f->count > plan->at && plan->mode == VEL_FS_FAULT_LASTING))) {
        f->has_fired = true;
        f->is_dead = plan->mode == VEL_FS_FAULT_CRASH;
        crash = f->is_dead ? plan->crash : NULL;
        rc = f->is_dead || !plan->errnum ? -EIO : -plan->errnum;
    }
    arg = plan->arg;
    pthread_mutex_unlock(&f->lock);
    if (crash)
        crash(arg);
    return rc;
}

/* A descriptor belongs to the plan under which it was opened. */
static void note_open(struct vel_fs_fault *f, const char *path, ssize_t fd)
{
    pthread_mutex_lock(&f->lock);
    if (fd >= 0 && fd < FDS_MOST)
        f->is_below[fd] = f->plan.below && is_meant(f, VEL_FS_KIND_ALL, path, -1);
    pthread_mutex_unlock(&f->lock);
}

/* Who opens the next file of this number may do so elsewhere. */
static void note_close(struct vel_fs_fault *f, int fd)
{
    pthread_mutex_lock(&f->lock);
    if (fd >= 0 && fd < FDS_MOST)
        f->is_below[fd] = false;
    pthread_mutex_unlock(&f->lock);
}

static size_t shorten(struct vel_fs_fault *f, size_t len)
{
    pthread_mutex_lock(&f->lock);
    size_t most = f->plan.most_at_once;
    pthread_mutex_unlock(&f->lock);
    return most && len > most ? most : len;
}

static const enum vel_fs_kind kinds[] = {
    [VEL_FS_OP_OPEN] = VEL_FS_KIND_OPEN,
    [VEL_FS_OP_CLOSE] = VEL_FS_KIND_CLOSE,
    [VEL_FS_OP_PREAD] = VEL_FS_KIND_READ,
    [VEL_FS_OP_PWRITE] = VEL_FS_KIND_WRITE,
    [VEL_FS_OP_APPEND] = VEL_FS_KIND_WRITE,
    [VEL_FS_OP_COPY] = VEL_FS_KIND_COPY,
    [VEL_FS_OP_CLONE] = VEL_FS_KIND_COPY,
    [VEL_FS_OP_TRUNCATE] = VEL_FS_KIND_TRUNCATE,
    [VEL_FS_OP_FSYNC] = VEL_FS_KIND_SYNC,
    [VEL_FS_OP_FLOCK] = VEL_FS_KIND_LOCK,
    [VEL_FS_OP_FSTAT] = VEL_FS_KIND_STAT,
    [VEL_FS_OP_SET_TIMES] = VEL_FS_KIND_ATTR,
    [VEL_FS_OP_SET_MODE] = VEL_FS_KIND_ATTR,
    [VEL_FS_OP_LSTAT] = VEL_FS_KIND_STAT,
    [VEL_FS_OP_LIST] = VEL_FS_KIND_LIST,
    [VEL_FS_OP_RENAME] = VEL_FS_KIND_RENAME,
    [VEL_FS_OP_LINK] = VEL_FS_KIND_LINK,
    [VEL_FS_OP_UNLINK] = VEL_FS_KIND_UNLINK,
    [VEL_FS_OP_MKDIR] = VEL_FS_KIND_MKDIR,
    [VEL_FS_OP_RMDIR] = VEL_FS_KIND_RMDIR,
    [VEL_FS_OP_SPACE] = VEL_FS_KIND_SPACE,
    [VEL_FS_OP_SHOWS_ALL] = VEL_FS_KIND_SPACE,
};

static ssize_t fault_call(struct vel_fs_twin *twin, struct vel_fs_call *call)
{
    struct vel_fs_fault *f = (struct vel_fs_fault *)twin; /* its first member */
    ssize_t rc, done;

    if (call->op == VEL_FS_OP_HASTEN)
        return 0; /* a hint */
    rc = pass(f, kinds[call->op], call->path, call->fd);
    if (rc < 0 && call->op != VEL_FS_OP_CLOSE) /* a dead process closes too */
        return rc;
    if (kinds[call->op] & (VEL_FS_KIND_READ | VEL_FS_KIND_WRITE | VEL_FS_KIND_COPY))
        call->len = shorten(f, call->len);
    if (call->op == VEL_FS_OP_CLOSE)
        note_close(f, call->fd);
    done = vel_fs_call_run(twin->under, call);
    if (call->op == VEL_FS_OP_OPEN)
        note_open(f, call->path, done);
    return rc < 0 ? rc : done;
}

int vel_fs_fault_create(struct vel_fs *under, const char *aside,
                        struct vel_fs_fault **ret_fault, struct vel_err *err)
{
    struct vel_fs_fault *f = calloc(1, sizeof *f);

    if (!f)
        return vel_out_of_memory(err, "making a fault twin");
    vel_fs_twin_init(&f->twin, under, fault_call);
    pthread_mutex_init(&f->lock, NULL);
    if (aside) {
        int rc = vel_fs_undo_create(under, aside, &f->undo, err);
        if (rc < 0) {
            vel_fs_fault_destroy(f);
            return rc;
        }
        f->twin.under = vel_fs_undo_fs(f->undo);
    }
    *ret_fault = f;
    return 0;
}

void vel_fs_fault_destroy(struct vel_fs_fault *fault)
{
    if (!fault)
        return;
    vel_fs_undo_destroy(fault->undo);
    pthread_mutex_destroy(&fault->lock);
    free(fault);
}

struct vel_fs *vel_fs_fault_fs(struct vel_fs_fault *fault)
{
    return &fault->twin.fs;
}

void vel_fs_fault_arm(struct vel_fs_fault *fault, const struct vel_fs_fault_plan *plan)
{
    pthread_mutex_lock(&fault->lock);
    fault->plan = *plan;
    fault->count = 0;
    fault->has_fired = false;
    fault->is_dead = false;
    pthread_mutex_unlock(&fault->lock);
}

bool vel_fs_fault_fired(struct vel_fs_fault *fault)
{
    pthread_mutex_lock(&fault->lock);
    bool has_fired = fault->has_fired;
    pthread_mutex_unlock(&fault->lock);
    return has_fired;
}

uint64_t vel_fs_fault_count(struct vel_fs_fault *fault)
{
    pthread_mutex_lock(&fault->lock);
    uint64_t count = fault->count;
    pthread_mutex_unlock(&fault->lock);
    return count;
}

int vel_fs_fault_power_loss(struct vel_fs_fault *fault, enum vel_fs_loss loss,
                            uint64_t seed, struct vel_err *err)
{
    static const struct vel_fs_fault_plan only_count = {.mode = VEL_FS_FAULT_NONE};

    if (!fault->undo)
        return vel_fail(err, VEL_EUNSUP,
                        "this fault twin has no directory aside to restore from");
    vel_fs_fault_arm(fault, &only_count);
    return vel_fs_undo_power_loss(fault->undo, loss, seed, err);
}
