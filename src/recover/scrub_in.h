/* SPDX-License-Identifier: BSD-3-Clause */
/* scrub_in - what scrubbing a cache and scrubbing a prefix share. */
#ifndef VEL_RECOVER_SCRUB_IN_H
#define VEL_RECOVER_SCRUB_IN_H

#include "meta/filelist.h"
#include "recover/scrub.h"
#include "xfer/crew.h"

/* The directory of a rank in a cache: it has a redundancy file. */
struct vel_scrub_member {
    int64_t dataset; /* 0: none that its path tells */
    int rank;        /* below 0: not told by its path */
    char *dir;
};

struct vel_scrub {
    struct vel_fs *fs;
    const struct vel_scrub_options *options;
    struct vel_vec members;  /* struct vel_scrub_member, by dataset */
    struct vel_vec prefixes; /* char * */
    struct vel_scrubbed out;
    struct vel_err *err;
};

/* Keep a finding; copies its texts. */
int vel_scrub_note(struct vel_scrub *s, enum vel_scrub_result result, const char *what,
                   const char *why, const char *where);

/* Is the file there, of that size and checksum? VEL_ENOMEM, or a status that says what
 * is wrong with it, with its sentence in *why. */
int vel_scrub_check(struct vel_scrub *s, const char *path,
                    const struct vel_listed *listed, struct vel_err *why);

/* The same for its bytes wherever the record says they are on the prefix. */
int vel_scrub_check_published(struct vel_scrub *s, const char *prefix, int64_t dataset,
                              const struct vel_listed *listed, struct vel_err *why);

/* Copy a good file over a damaged one: checked, synced, renamed. */
int vel_scrub_mend(struct vel_scrub *s, const char *from, const char *to,
                   const struct vel_listed *listed, struct vel_err *err);

/* All members of one dataset: items first .. end-1 of s->members. */
int vel_scrub_cache(struct vel_scrub *s, size_t first, size_t end);
int vel_scrub_prefix(struct vel_scrub *s, const char *prefix);

/* What the crew of a single process is, for containers. */
struct vel_crew vel_scrub_crew(const struct vel_scrub *s, const char *prefix,
                               const char *dir);

#endif
