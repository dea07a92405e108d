/* SPDX-License-Identifier: BSD-3-Clause */
/* follow - the ledger of one launch, read on as it grows (meta/terms). */
#ifndef VEL_META_FOLLOW_H
#define VEL_META_FOLLOW_H

#include "meta/terms.h"

struct vel_follow {
    struct vel_fs *fs;
    char *launch_dir;
    /* the term that was read, and how far */
    struct vel_ledger_name name;
    struct vel_ledger_stamp stamp;
    uint64_t salt, end; /* salt 0: who knows it has not read this one (meta/digest.h) */
    bool has_term;
};

int vel_follow_init(struct vel_follow *follow, struct vel_fs *fs, const char *dir,
                    const char *launch, struct vel_err *err);
void vel_follow_fini(struct vel_follow *follow);

/* What was read: where `is_anew` all that counts, instead of what was read before; else
 * what was said since. `from`: where the bytes begin. */
struct vel_follow_text {
    struct vel_ledger_text *text;
    uint64_t from;
    bool is_anew;
};
typedef int vel_follow_f(void *arg, const struct vel_follow_text *read,
                         struct vel_err *err);

/* Was a term read, and is there no newer one? */
bool vel_follow_is_last(const struct vel_follow *follow);

/* The same, and was it not written since? Without a list: a client of NFS may hear of a
 * newer one late. */
bool vel_follow_is_as_read(const struct vel_follow *follow);

/* VEL_ENOENT: the launch has no directory. What take() could not take is read anew. */
int vel_follow_read(struct vel_follow *follow, vel_follow_f *take, void *arg,
                    struct vel_err *err);

#endif
