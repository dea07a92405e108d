/* SPDX-License-Identifier: BSD-3-Clause */
/* rebuild - bring back lost members of sets in one process, from the directories that
 * are left: what h5veloc-rebuild does on a login node after the job is gone. */
#ifndef VEL_RED_REBUILD_H
#define VEL_RED_REBUILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"
#include "red/exec.h"
#include "red/layout.h"
#include "sys/fs.h"

struct vel_rebuild_options {
    const char *into; /* for members of which no redundancy file is left; NULL: the
                         first directory */
    bool dry_run;     /* look and check, write nothing */
    size_t memory;    /* for buffers; 0: the default */
    vel_exec_tick_f *tick;
    void *tick_arg;
};

/* A member that was, or on a dry run would be, rebuilt. */
struct vel_rebuilt_member {
    size_t member;
    uint32_t rank;
    uint64_t files;
    uint64_t bytes;
    char *dir;
    char *why; /* it counted as lost */
};

struct vel_rebuilt_set {
    char *label;
    uint32_t set;
    uint32_t sets;
    enum vel_scheme scheme;
    size_t n;
    size_t m;
    struct vel_vec members; /* of struct vel_rebuilt_member */
    int rc; /* 0: whole now; VEL_EINVAL: more is lost than the scheme bears; ... */
    struct vel_err err;
};

/* Look for sets in the directories and make each whole. Items of *ret_sets are struct
 * vel_rebuilt_set; that a set cannot be made whole is told there, not by the status.
 * VEL_ENOENT: there is no redundancy file at all. */
int vel_rebuild(struct vel_fs *fs, char *const *dirs, size_t n_dirs,
                const struct vel_rebuild_options *options, struct vel_vec *ret_sets,
                struct vel_err *err);
void vel_rebuilt_fini(struct vel_vec *sets);

#endif
