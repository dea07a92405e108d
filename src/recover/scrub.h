/* SPDX-License-Identifier: BSD-3-Clause */
/* scrub - every byte of caches and prefixes compared with its checksum, and what is
 * damaged made good from wherever a good copy can be had: the redundancy set, the
 * prefix, the cache. One process, no session.
 */
#ifndef VEL_RECOVER_SCRUB_H
#define VEL_RECOVER_SCRUB_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/vec.h"
#include "sys/fs.h"

struct vel_scrub_options {
    bool dry_run;  /* tell what would be done, write nothing */
    size_t memory; /* for buffers of a rebuild; 0: the default */
};

enum vel_scrub_result {
    VEL_SCRUB_REPAIRED, /* on a dry run: can be */
    VEL_SCRUB_LOST,     /* no good copy is there */
};

struct vel_scrub_finding {
    enum vel_scrub_result result;
    char *what;  /* the file, or the part of a dataset */
    char *why;   /* it is damaged */
    char *where; /* the good copy came from; "" when there is none */
};

struct vel_scrubbed {
    size_t datasets;         /* that were looked at, in caches and on prefixes */
    size_t files;            /* whose bytes were read */
    struct vel_vec findings; /* struct vel_scrub_finding */
};

/* Each directory is a prefix (it has a .veloc), or anything above or among the parts of
 * datasets in a cache. VEL_ENOENT: there is nothing of ours in any of them. */
int vel_scrub(struct vel_fs *fs, char *const *dirs, size_t n_dirs,
              const struct vel_scrub_options *options, struct vel_scrubbed *ret,
              struct vel_err *err);
void vel_scrubbed_fini(struct vel_scrubbed *scrubbed);

#endif
