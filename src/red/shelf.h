/* SPDX-License-Identifier: BSD-3-Clause */
/* shelf - all redundancy files of several directories, side by side by label, set and
 * encoding. */
#ifndef VEL_RED_SHELF_H
#define VEL_RED_SHELF_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/vec.h"
#include "red/header.h"
#include "red/redfile.h"
#include "sys/fs.h"

/* one redundancy file, where it lies and what it belongs to */
struct vel_found {
    char *label;
    const char *dir;
    const struct vel_redfile *redfile;
};

struct vel_shelf {
    char *const *dirs; /* borrowed */
    size_t n_dirs;
    struct vel_vec *scans; /* of redundancy files, per directory */
    struct vel_vec found;  /* sorted: label, set, newest encoding first, member */
};

/* VEL_ENOENT for a directory that is not there. */
int vel_shelf_fill(struct vel_shelf *shelf, struct vel_fs *fs, char *const *dirs,
                   size_t n_dirs, struct vel_err *err);
void vel_shelf_fini(struct vel_shelf *shelf);

static inline const struct vel_found *vel_shelf_at(const struct vel_shelf *shelf,
                                                   size_t i)
{
    return (struct vel_found *)shelf->found.items + i;
}

static inline const struct vel_red_header *
vel_found_header(const struct vel_found *found)
{
    return &found->redfile->header;
}

/* The encodings among found[begin..end), which have one label, newest first: items are
 * const struct vel_found *, the first of each. *ret_all is how many there are; *ret has
 * only those that speak of every rank of which any of them speaks: sets that are
 * encoded one after the other may not all have come to the newest. */
int vel_shelf_encodings(const struct vel_shelf *shelf, size_t begin, size_t end,
                        struct vel_vec *ret, size_t *ret_all, struct vel_err *err);

bool vel_found_same_set(const struct vel_found *a, const struct vel_found *b);
bool vel_found_same_encoding(const struct vel_found *a, const struct vel_found *b);

#endif
