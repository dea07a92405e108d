/* SPDX-License-Identifier: BSD-3-Clause */
/* encode - one redundancy set of a dataset, made whole in the background by the workers
 * of several nodes at once, over comm/sock (doc/life.txt, 9).
 *
 * The members meet, connect, and look at what each of them has of the encoding:
 *
 *   all have it                  nothing is done
 *   all have their files         the scheme is applied; earlier encodings stay until
 *                                vel_encode_settle(), when all sets are done
 *   some lack their part         it is rebuilt where it is to be, from the encoding
 *
 * A member that is lost ends it everywhere within the limits, with its name, and
 * nothing has changed but that some may have a redundancy file more. What fails is
 * simply done again, as another attempt, with the same identity.
 *
 * A worker blocks here. None waits for ever: a set of which not all members have come
 * is given up with VEL_EBUSY after less than the limit, and is to be tried again. Nodes
 * with few workers do not starve each other when each takes, whenever one is free, the
 * least of its sets (by dataset, then by set) that it knows and is not at: then the
 * least one that all of its members know is at the front everywhere.
 */
#ifndef VEL_JOBS_ENCODE_H
#define VEL_JOBS_ENCODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/scheme.h"
#include "brain/messages.h"
#include "comm/sock.h"
#include "red/set.h"
#include "sys/fs.h"

struct vel_encode_member {
    const char *node; /* that has its part, or is to have it */
    uint32_t rank;
};

/* A member's part on this node. */
struct vel_encode_part {
    size_t place;    /* in the set */
    const char *dir; /* is made where it is missing */
    bool is_empty;   /* it has no files: there to carry redundancy for others, ... */
    const void *descriptor; /* ... with these bytes to tell what it is */
    size_t descriptor_len;
    char *const *older; /* where older versions of it are, as in struct vel_red_set */
};

struct vel_encode_ops {
    /* Say `ask` to the leader of `node` and wait for its `met`; the token and the
     * endpoints (a new string, by blanks) are those of the answer. VEL_EBUSY: not all
     * have come, *err tells who is missing. Called by several threads at once when
     * several parts are here. */
    int (*meet)(void *arg, const char *node, const struct vel_msg_meet *ask,
                uint8_t ret_token[VEL_COMM_TOKEN], char **ret_endpoints,
                struct vel_err *err); /* Asked often while the members connect; NULL: it
                                         does. No: VEL_ECANCEL. */
    bool (*goes_on)(void *arg);
};

/* A set and what of it is here. Everything is borrowed. */
struct vel_encode {
    int64_t dataset;
    uint32_t set, sets;
    unsigned attempt;
    const uint8_t *id; /* the encoding's, VEL_ENCODING_ID bytes */
    enum vel_scheme scheme;
    size_t m;
    const struct vel_encode_member *members; /* by their places */
    size_t n;
    const struct vel_encode_part *parts; /* of this node */
    size_t n_parts;
    struct vel_fs *fs;
    const char *label; /* of redundancy files */
    size_t memory;     /* for buffers; 0: the default */
    const char
        *listen;       /* "tcp:ADDRESS:0", or "unix:DIR" for a name in that directory */
    unsigned limit_ms; /* T */
    unsigned busy_ms;  /* a member may be away from the others for so long: its storage
                          is slow, or its processor is needed */
    const struct vel_encode_ops *ops;
    void *arg;
    struct vel_red_saved *saved; /* of all parts here; may be NULL */
};

enum vel_encode_outcome {
    VEL_ENCODE_STOOD,   /* all had it */
    VEL_ENCODE_APPLIED, /* now they have */
    VEL_ENCODE_REBUILT, /* members that were lost have it again */
};

/* Collective over the nodes of the set. VEL_EBUSY: try again; VEL_ELOST, VEL_ETIMEOUT:
 * a member is gone, which *err names; VEL_EINVAL: more parts are lacking than the
 * scheme bears, or members were told different things. */
int vel_encode_set(const struct vel_encode *job, enum vel_encode_outcome *ret_outcome,
                   struct vel_err *err);

/* All sets are done, and it was told: earlier encodings of the parts here go. Local.
 * VEL_ENOENT: a part does not have this one; its earlier ones stay. */
int vel_encode_settle(const struct vel_encode *job, struct vel_err *err);

#endif
