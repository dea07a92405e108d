/* SPDX-License-Identifier: BSD-3-Clause */
/* listing - what a member is about to protect: the list of its files, made anew or
 * taken from the encoding before, and what else protects them already. */
#ifndef VEL_RED_LISTING_H
#define VEL_RED_LISTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"
#include "red/header.h"
#include "red/manifest.h"
#include "red/set.h"

struct vel_listing {
    const struct vel_red_set *set; /* borrowed: fs, dir, label, rank, id */
    struct vel_manifest own;
    struct vel_vec before; /* redundancy files that are there */
    const struct vel_red_header
        *recorded; /* what the files were, as one of them says */
};

/* An empty one. */
void vel_listing_init(struct vel_listing *listing, const struct vel_red_set *set);
void vel_listing_fini(struct vel_listing *listing);

/* These files as they are on disk. */
int vel_listing_make(struct vel_listing *listing, char *const *names, size_t n,
                     const void *descriptor, size_t len, struct vel_err *err);

/* Those that the newest other encoding lists, word for word, so that every attempt
 * tells the same; without one, no files and this descriptor. */
int vel_listing_again(struct vel_listing *listing, const void *descriptor, size_t len,
                      struct vel_err *err);

/* The newest number of other encodings than set->id; 0: there is none. */
int64_t vel_listing_newest(const struct vel_listing *listing);

/* Has an earlier attempt of set->id ended here? VEL_EINVAL: in other sets than those of
 * the header that is being made; an identity stands for one way to form them. */
int vel_listing_fits(const struct vel_listing *listing,
                     const struct vel_red_header *header, bool *ret_stood,
                     struct vel_err *err);

/* What is protected again is what was protected: a file that has rotted or was written
 * to must not become the truth. `now` has the checksums of today. */
int vel_listing_compare(const struct vel_listing *listing,
                        const struct vel_manifest *now, struct vel_err *err);

/* The same for the list of another member, which stands at this place in the file that
 * an earlier attempt of set->id has left here; when all make their lists again. */
int vel_listing_compare_other(const struct vel_listing *listing, size_t place,
                              const struct vel_manifest *now, struct vel_err *err);

#endif
