/* SPDX-License-Identifier: BSD-3-Clause */
/* What a rank reads for the others in rounds, and how it travels. */
#ifndef VEL_RECOVER_ROUNDS_IN_H
#define VEL_RECOVER_ROUNDS_IN_H

#include "recover/rounds.h"

enum {
    VEL_WANT_HEAD = 8 + 8 + 4 + 4 + 8 + 4, /* of a want, and the name */
    VEL_ANSWER_HEAD = 8 + 4 + 8 + 4        /* and the text of a failure */
};

/* What is answered in this round. */
struct vel_answer {
    int rank;
    uint8_t head[VEL_ANSWER_HEAD];
    struct vel_err why;
    char *bytes;
    uint32_t got;
};

struct vel_lender {
    const struct vel_rounds_of *of;
    struct vel_vec wanted; /* not answered yet, as they came */
    int turn;              /* whom this rank answers first */
};

void vel_lender_init(struct vel_lender *lender, const struct vel_rounds_of *of);
void vel_lender_fini(struct vel_lender *lender);

/* A want of another rank. */
int vel_lender_add(struct vel_lender *lender, const struct vel_parcel *parcel,
                   struct vel_err *err);

int vel_lender_read(const struct vel_lender *lender, const struct vel_want *want,
                    void *bytes, uint64_t *ret_size, uint32_t *ret_got,
                    struct vel_err *err);

/* As much as a round may have: items of *ret are struct vel_answer. */
int vel_lender_answer(struct vel_lender *lender, struct vel_vec *ret,
                      struct vel_err *err);

#endif
