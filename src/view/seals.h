/* SPDX-License-Identifier: BSD-3-Clause */
/* seals - what has been sealed of one launch, as its ledger says (facts `sealed`): by
 * its chairs, and when it was over by launches after it. Of one key there is one seal.
 */
#ifndef VEL_VIEW_SEALS_H
#define VEL_VIEW_SEALS_H

#include "base/vec.h"
#include "brain/seal.h"
#include "meta/follow.h"

struct vel_index;

enum { VEL_SEALS_KEY = 64 };

/* Who follows a launch for long keeps of each seal only where it stands. */
struct vel_seals {
    struct vel_follow follow;
    bool keeps_texts;
    uint64_t size;        /* of the ledger, to vel_seals_load_by() */
    struct vel_vec items; /* struct vel_sealed */
    size_t sorted;        /* so many of them are sorted, by hash */
};

struct vel_sealed {
    uint64_t hash;    /* of its key */
    int64_t id;       /* 0: void */
    uint64_t at;      /* of the line's text in the term */
    uint32_t len;     /* of that */
    uint32_t verdict; /* enum vel_verdict */
    char *text;       /* the line's, or NULL */
};

/* Nothing is read yet. */
int vel_seals_create(struct vel_fs *fs, const char *dir, const char *launch,
                     struct vel_seals **ret, struct vel_err *err);
void vel_seals_destroy(struct vel_seals *seals);

/* Read what is new. VEL_ENOENT: the launch has no directory. */
int vel_seals_read(struct vel_seals *seals, struct vel_err *err);

/* All that there are, with their texts. */
int vel_seals_load(struct vel_fs *fs, const char *dir, const char *launch,
                   struct vel_seals **ret, struct vel_err *err);

/* The same, of what the index has read of a launch that is over. */
int vel_seals_load_by(struct vel_index *index, const char *launch,
                      struct vel_seals **ret, struct vel_err *err);

/* Item i of seals->items, in any order, or that of a key; NULL: it has none. */
const struct vel_sealed *vel_seals_item(const struct vel_seals *seals, size_t i);
const struct vel_sealed *vel_seals_of_key(const struct vel_seals *seals,
                                          const char *key);

/* Seal i, to be finished by the caller, or that of a key. VEL_ENOENT: it has none;
 * VEL_ECORRUPT: nobody can read it; VEL_EBUSY: it is in a newer term by now. */
int vel_seals_at(const struct vel_seals *seals, size_t i, struct vel_seal *ret,
                 struct vel_err *err);
int vel_seals_find(const struct vel_seals *seals, const char *key, struct vel_seal *ret,
                   struct vel_err *err);
/* That of a dataset, in the same way. */
int vel_seals_find_id(const struct vel_seals *seals, int64_t id, struct vel_seal *ret,
                      struct vel_err *err);

/* That of any dataset: as the launch that has made it, which is followed until
 * another's is asked for, has sealed it. Begins as {fs, dir}. VEL_ENOENT: it has no
 * seal, or nobody wants that any more; VEL_ESTATE: nobody says whose it is. */
struct vel_seals_of {
    struct vel_fs *fs;
    const char *dir;
    char *launch;
    struct vel_seals *seals;
};
int vel_seals_of_dataset(struct vel_seals_of *of, int64_t id, struct vel_seal *ret);
void vel_seals_of_fini(struct vel_seals_of *of);

/* The key of a seal, by its template, step and generation, or its id; and the hash in
 * it. */
void vel_seals_key(const struct vel_seal *seal, char ret[VEL_SEALS_KEY]);
uint64_t vel_seals_hash(const char *template, const char *step);

/* Append the line that says it. */
int vel_seals_put(const struct vel_seal *seal, struct vel_buf *ret,
                  struct vel_err *err);

/* Is the line of a fact one of these, and of which key? */
bool vel_seals_is(const struct vel_ledger_line *line, char ret_key[VEL_SEALS_KEY]);

/* The key of an item whose text is kept. */
bool vel_seals_key_of(const struct vel_sealed *sealed, char ret_key[VEL_SEALS_KEY]);

#endif
