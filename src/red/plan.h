/* SPDX-License-Identifier: BSD-3-Clause */
/* plan - which bytes of whom are combined into which bytes of whom. Pure: it moves
 * nothing.
 *
 * A plan is a list of jobs. A job takes spans of equal length from several members,
 * brings them to its worker, and gives spans that are linear combinations of them.
 * Encoding is rebuilding with the parity "lost"; a partner copy is a job with one
 * source and the factor 1. Executors (exec_local, exec_comm) know no schemes.
 */
#ifndef VEL_RED_PLAN_H
#define VEL_RED_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"
#include "red/changes.h"
#include "red/layout.h"

enum vel_region {
    VEL_REGION_LOFI,    /* the member's files as one string, zeros behind its end */
    VEL_REGION_PAYLOAD, /* the payload of its redundancy file */
};

struct vel_span {
    size_t member;
    enum vel_region region;
    uint64_t at;
};

struct vel_job {
    size_t worker;
    uint64_t len;
    size_t sources;
    size_t outputs;
    struct vel_span *source;
    struct vel_span *output; /* at most one span of a job belongs to a member */
    uint8_t *coefs;          /* outputs x sources */
};

struct vel_plan {
    struct vel_vec jobs;               /* of struct vel_job */
    const struct vel_changes *changes; /* NULL, or the files are differences from older
                                          ones, of which only these blocks are not zero;
                                          for vel_exec_comm() */
};

/* All redundancy from all files. */
int vel_plan_encode(const struct vel_layout *layout, struct vel_plan *ret_plan,
                    struct vel_err *err);

/* Does the scheme bear the loss of these members (n flags)? VEL_EINVAL names them if
 * not. Of the layout only scheme, n and m are looked at. */
int vel_plan_check(const struct vel_layout *layout, const bool *is_lost,
                   struct vel_err *err);

/* Files and redundancy of the lost members from those of the others; checks first. */
int vel_plan_rebuild(const struct vel_layout *layout, const bool *is_lost,
                     struct vel_plan *ret_plan, struct vel_err *err);

/* Bytes of a span, from `from` on in its job, that are known to be zero (a source) or
 * wanted by nobody (an output), since they lie behind the end of the member's files.
 * Every member knows that without being told. */
bool vel_span_is_void(const struct vel_layout *layout, const struct vel_span *span,
                      uint64_t from);

/* Sources and outputs of the job that has most of them; at least 1. */
size_t vel_plan_most_spans(const struct vel_plan *plan);

void vel_plan_fini(struct vel_plan *plan);

static inline const struct vel_job *vel_plan_job(const struct vel_plan *plan, size_t i)
{
    return (const struct vel_job *)plan->jobs.items + i;
}

#endif
