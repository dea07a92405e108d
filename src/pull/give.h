/* SPDX-License-Identifier: BSD-3-Clause */
/* give - bytes of a part in this node's caches, for whoever pulls it: what answers
 * `want`.
 *
 * It has no state: every answer stands for itself, any thread may give.
 */
#ifndef VEL_PULL_GIVE_H
#define VEL_PULL_GIVE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "brain/messages.h"
#include "sys/fs.h"

enum { VEL_WANT_MOST = 1 << 20 };

enum vel_want_what {
    VEL_WANT_FILE,
    VEL_WANT_REDUNDANCY,
    VEL_WANT_WHERE, /* is told, not given: where a program's file lies */
    VEL_WANT_PLACE, /* a file of whatever part, where it was told to lie */
    VEL_WANT_GIVEN, /* is done: the asker has closed a program's file later */
};

/* Everything is borrowed. */
struct vel_giver {
    struct vel_fs *fs;
    char *const *homes; /* "CACHE/USER/ID" */
    size_t n_homes;
};

struct vel_want {
    int64_t dataset;
    int rank;
    unsigned what;    /* enum vel_want_what */
    const char *name; /* cached name; of the redundancy file its own; of PLACE a path */
    uint64_t at;
    uint32_t len; /* 1 to VEL_WANT_MOST */
};

/* Read what is there of [at, at+len) into `bytes`, which has room for len; *ret_size is
 * the size of the file, *ret_got less than len only at its end. A name that leads
 * elsewhere or is no regular file is refused. */
int vel_give(const struct vel_giver *giver, const struct vel_want *want, void *bytes,
             uint64_t *ret_size, uint32_t *ret_got, struct vel_err *err);

/* The same as messages: *ret is `give` or `no`, its bytes or text in `room`, which has
 * VEL_WANT_MOST bytes. */
void vel_give_answer(const struct vel_giver *giver, const struct vel_msg *want,
                     void *room, struct vel_msg *ret);

#endif
