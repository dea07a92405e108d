/* SPDX-License-Identifier: BSD-3-Clause */
/* recover - what the parts of a recovery share (recover.c, recover_brief.c). */
#ifndef VEL_RED_RECOVER_H
#define VEL_RED_RECOVER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/vec.h"
#include "red/header.h"
#include "red/redfile.h"
#include "red/restore.h"
#include "red/set.h"

struct vel_encoding {
    uint8_t id[VEL_ENCODING_ID];
    uint64_t sequence;
    uint32_t scheme;
    uint32_t m;
};

struct vel_recover {
    const struct vel_red_set *set;
    size_t n, me;
    struct vel_vec found;           /* my redundancy files */
    struct vel_vec encodings;       /* of anybody, newest first */
    const struct vel_redfile *mine; /* of the encoding at hand; NULL: I have none */
    bool is_lost[VEL_SET_MAX];
    struct vel_err why; /* when I am lost */
    struct vel_red_header header;
    bool has_header;
    struct vel_member member;   /* when I am there */
    struct vel_restore restore; /* when I am lost */
    struct vel_red_report report;
    struct vel_err *err;
};

/* Collective. Lost members get a header with the lists of their files from those who
 * keep them, the others one as they have it; *r->header is there afterwards. */
int vel_recover_brief(struct vel_recover *r);

#endif
