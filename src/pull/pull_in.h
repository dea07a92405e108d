/* SPDX-License-Identifier: BSD-3-Clause */
/* What the ways of pulling a part share. */
#ifndef VEL_PULL_PULL_IN_H
#define VEL_PULL_PULL_IN_H

#include "base/buf.h"
#include "pull/pull.h"
#include "red/crcmap.h"
#include "red/header.h"
#include "red/member.h"
#include "red/plan.h"

/* --- pulls.c: each part by one at a time --- */

/* Waits until nobody else pulls it. pulls may be NULL here. */
int vel_pulls_enter(struct vel_pulls *pulls, const struct vel_pull *what,
                    struct vel_err *err);
void vel_pulls_leave(struct vel_pulls *pulls, const struct vel_pull *what);

/* Where a part lies that was compared already; a new string. NULL: it was not, or is
 * suspect. */
char *vel_pulls_recall(const struct vel_pull_how *how, const struct vel_pull *what);
/* What is not remembered is compared again. */
void vel_pulls_remember(struct vel_pulls *pulls, const struct vel_pull *what,
                        const char *dir);

/* --- pull_member.c: a member that is read where it lies --- */

struct vel_pull_member {
    size_t place;
    int rank;
    const char *node;
    bool is_here; /* on this node: read without asking */
    bool has_header;
    struct vel_red_header header;
    char *name;      /* of its redundancy file */
    uint64_t begin;  /* of the payload in it */
    uint64_t *start; /* of each file in the lofi, and the end */
    struct vel_crcmap lofi_crc, payload_crc;
};

struct vel_pulling {
    const struct vel_pull_how *how;
    const struct vel_pull *what;
    const struct vel_view_set *set; /* NULL: the caches do not give it */
    size_t place;                   /* in the set */
    uint32_t set_number;
    char *level;           /* where the part comes to lie */
    char *dir;             /* rank.R there */
    char *fresh;           /* rank.R.new */
    bool is_spoilt;        /* this node cannot write: no way that needs that is tried */
    struct vel_buf why;    /* each way that did not work */
    struct vel_err damage; /* of the part that lies here; status 0: none was found */
    bool are_files_right;  /* it is of the redundancy alone */
    uint64_t bytes;
};

/* Read and check its header, which has to be what the view says. A failure is the
 * member's. */
int vel_pull_member_open(struct vel_pulling *p, size_t place, const char *node,
                         struct vel_pull_member *ret, struct vel_err *err);
void vel_pull_member_close(struct vel_pull_member *member);

/* All its bytes have passed: are they what its header says? */
int vel_pull_member_check(struct vel_pull_member *member, struct vel_err *err);

/* One get, begun: from this node's caches at once, or from another one. */
void vel_pull_begin(struct vel_pulling *p, const struct vel_pull_member *member,
                    struct vel_get *get);

/* --- pull_run.c: bytes of many members become those of one --- */

struct vel_pull_run {
    struct vel_pulling *pulling;
    const struct vel_layout *layout;
    const struct vel_plan *plan;     /* all outputs are of one member */
    struct vel_pull_member **source; /* by place; NULL where the plan does not use it */
    struct vel_member *out;
    struct vel_crcmap *payload_too; /* told the payload, too; may be NULL */
};

/* *ret_bad is the place of a source that failed; layout->n when it was nobody's fault
 * but ours. */
int vel_pull_run(const struct vel_pull_run *run, size_t *ret_bad, struct vel_err *err);

/* --- the ways; VEL_ECANCEL and VEL_ENOMEM end the pull --- */

int vel_pull_here(struct vel_pulling *p, struct vel_err *err);
int vel_pull_owner(struct vel_pulling *p, struct vel_err *err);
int vel_pull_rebuild(struct vel_pulling *p, struct vel_err *err);
int vel_pull_prefix(struct vel_pulling *p, enum vel_pull_way *ret_way,
                    struct vel_err *err);

/* What was restored under its new name becomes the part, if it is of it. */
int vel_pull_put(struct vel_pulling *p, const struct vel_red_header *header,
                 struct vel_err *err);
int vel_pull_put_dir(struct vel_pulling *p, struct vel_err *err);

#endif
