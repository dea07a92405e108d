/* SPDX-License-Identifier: BSD-3-Clause */
/* standin - what does the work of node leaders where there are none: for sessions whose
 * ranks are threads of this process (crowd.h). One thread encodes and flushes, the
 * oldest dataset first, by the functions that a call would use. Promises are on disk;
 * launches whose process is gone are ended by the next one that opens. */
#ifndef TEST_TAP_STANDIN_H
#define TEST_TAP_STANDIN_H

#include "engine/background.h"
#include "brain/seal.h"

struct standin;

/* For sessions of so many ranks in one prefix. */
struct standin *standin_create(int ranks);
/* When all have left. What is owed and not done stays as it is. */
void standin_destroy(struct standin *standin);

/* The same, which goes when the sessions of all its ranks have ended. */
struct standin *standin_create_for(int ranks);
/* One of those has begun, or not. */
void standin_opened(struct standin *standin, int rank, bool is_open);

/* What a rank's session is given. */
struct vel_background *standin_seat(struct standin *standin, int rank);

/* Does nothing until it may; what is under way is finished first. A session that ends
 * meanwhile does not wait for it. */
void standin_hold(struct standin *standin, bool is_held);

/* The files that it works with; before the first open. */
void standin_use(struct standin *standin, struct vel_fs *fs);

/* Encodings and flushes to come fail; 0: as all went well before. */
void standin_fail(struct standin *standin, int encodings, int flushes);
/* And what has failed is tried again. */
void standin_retry(struct standin *standin);

/* No leader answers any more. */
void standin_die(struct standin *standin);

/* Does only what somebody waits for; before the first open, as the next one. */
void standin_be_lazy(struct standin *standin);

/* An agent, which goes on when all have left. */
void standin_outlive(struct standin *standin);

/* What ping answers. */
void standin_answer(struct standin *standin, enum vel_background_ping what,
                    int64_t value);

/* What was done so far. */
struct standin_done {
    int encoded, flushed; /* datasets */
    int settled;          /* calls */
    int left;             /* the same, of ranks in good order */
};
struct standin_done standin_done(struct standin *standin);

/* What was settled last; belongs to it. */
const struct vel_seal *standin_settled(struct standin *standin);

#endif
