/* SPDX-License-Identifier: BSD-3-Clause */
/* deltalab - versions of one file that are flushed over each other, and a file system
 * that shares blocks, or says that it does not. */
#ifndef TEST_TAP_DELTALAB_H
#define TEST_TAP_DELTALAB_H

#include "tap/fs_fault.h"
#include "tap/flushlab.h"

/* How version n + 1 follows from n. */
enum deltalab_edit {
    DELTALAB_RANDOM, /* places, lengths and sizes by the seed */
    DELTALAB_ONE,    /* a byte in the middle */
    DELTALAB_ALL,    /* every byte */
};

struct deltalab {
    struct flushlab lab;
    uint64_t seed;
    enum deltalab_edit edit;
    size_t size;    /* of the first version */
    bool can_clone; /* else clones are refused */
    bool may_patch;
    bool has_delta;
    const struct vel_watch *watch; /* while it gets its name */
};

/* Versions of rank 0's large file; the address stays. */
void deltalab_init(struct deltalab *d, const char *name, uint64_t seed, size_t size);

/* The posix files, of which none is synced; clones are real where they can be, else
 * copies, or they are refused. */
struct vel_fs *deltalab_fs(const struct deltalab *d);

/* Does the file system of the test's directory share blocks? */
bool deltalab_is_real(void);

/* The version in the cache, with a time of its own. */
void deltalab_part(const struct deltalab *d, int64_t id);

/* All steps of a flush by this owner over `fs`, the claim included, which is no part of
 * what is tested. */
int deltalab_flush(const struct deltalab *d, struct vel_fs *fs, int64_t id,
                   int64_t owner, struct vel_flush_copied *ret_copied,
                   struct vel_err *err);

/* Those up to the names, and the rest. */
int deltalab_stage(const struct deltalab *d, struct vel_fs *fs, int64_t id,
                   int64_t owner, struct vel_flush_copied *ret_copied,
                   struct vel_err *err);
int deltalab_name(const struct deltalab *d, struct vel_fs *fs, int64_t id,
                  int64_t owner, struct vel_err *err);

/* The next owner, who finds what others left; returns the place on the prefix then. */
int deltalab_settle(const struct deltalab *d, int64_t id, int64_t owner,
                    struct vel_err *err);

/* What stands at the name of the large file. */
const char *deltalab_path(const struct deltalab *d);

/* Is it that version? */
bool deltalab_is(const struct deltalab *d, int64_t id);

/* Which version the prefix shows: as flushlab_shows(). */
int64_t deltalab_shows(const struct deltalab *d);

#endif
