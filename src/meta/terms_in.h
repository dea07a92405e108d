/* SPDX-License-Identifier: BSD-3-Clause */
/* terms_in - what those who read terms share with those who write them. */
#ifndef VEL_META_TERMS_IN_H
#define VEL_META_TERMS_IN_H

#include "meta/terms.h"

enum {
    VEL_TERMS_NUMBER = 1, /* a directory has one launch */
    /* Others make new terms while one is claimed, or remove them while they are read,
     * but not so often. */
    VEL_TERMS_ROUNDS = 64
};

/* Who only reads makes no names there. */
struct vel_ledger_dir vel_terms_dir(struct vel_fs *fs, const char *launch_dir,
                                    bool writes);

/* Whose a term is: its chair's; of a leader which cannot reach the chair, or one of
 * another launch that has something to say of a dataset; or of a later launch, which
 * ends this one, or adds to one that is over, so that it says `done` whatever it says.
 * The address of a title has that, and who the chair is. */
enum vel_terms_by { VEL_TERMS_CHAIR, VEL_TERMS_LEADER, VEL_TERMS_OTHER };

/* The address, into *ret, and from a title; *ret_node is in it. false: it is none. */
void vel_terms_put_address(enum vel_terms_by by, int64_t chair, const char *node,
                           struct vel_buf *ret);
bool vel_terms_get_address(const char *address, enum vel_terms_by *ret_by,
                           int64_t *ret_chair, const char **ret_node);

/* The highest term, -1: there is none; and the chair: 0, none; node NULL: nobody can
 * read which node it is on. */
struct vel_terms_around {
    int64_t highest, chair;
    char *node;
};

int vel_terms_look_around(const struct vel_ledger_dir *dir,
                          struct vel_terms_around *ret, struct vel_err *err);

/* VEL_ENOENT: the directory is not there, or not any more. */
int vel_terms_check_dir(const struct vel_ledger_dir *dir, struct vel_err *err);

/* The highest term with a begin below another one. */
struct vel_terms_counting {
    struct vel_ledger_text text;
    bool has;
    struct vel_err damage; /* of one above it */
};

int vel_terms_read_below(const struct vel_ledger_dir *dir, int64_t below,
                         struct vel_terms_counting *ret, struct vel_err *err);
void vel_terms_counting_fini(struct vel_terms_counting *counting);

#endif
