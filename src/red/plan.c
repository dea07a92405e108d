/* SPDX-License-Identifier: BSD-3-Clause */
/* The worker of stripe s is member s, which holds the stripe's first parity block:
 * every member works for exactly one stripe, so gathering, arithmetic and sending are
 * spread evenly. A lost member has enough to do with taking and writing all that is
 * rebuilt: its stripe is shared out among others, else it would take nearly twice as
 * many bytes as anybody, while everybody waits. All lost blocks of a stripe are
 * computed by one worker in one pass over the sources and then sent on; having each
 * receiver gather for itself would move the sources once per lost block and cost 2-3
 * times the arithmetic. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "code/matrix.h"
#include "red/plan.h"

enum {
    SHARES_MOST = 8, /* of a lost member's stripe; each costs buffers */
    SHARE_LEAST = 512,
};

static void job_fini(struct vel_job *job)
{
    free(job->source);
    free(job->output);
    free(job->coefs);
}

void vel_plan_fini(struct vel_plan *plan)
{
    for (size_t i = 0; i < plan->jobs.n; i++)
        job_fini(vel_vec_at(&plan->jobs, i));
    vel_vec_fini(&plan->jobs);
}

/* an empty job with room for its spans */
static int job_init(struct vel_job *job, size_t sources, size_t outputs,
                    struct vel_err *err)
{
    *job = (struct vel_job){.sources = sources, .outputs = outputs};
    job->source = calloc(sources, sizeof *job->source);
    job->output = calloc(outputs, sizeof *job->output);
    job->coefs = malloc(sources * outputs);
    if (job->source && job->output && job->coefs)
        return 0;
    job_fini(job);
    return vel_out_of_memory(err, "planning");
}

static int add_job(struct vel_plan *plan, struct vel_job *job, struct vel_err *err)
{
    if (vel_vec_push(&plan->jobs, job))
        return 0;
    job_fini(job);
    return vel_out_of_memory(err, "planning");
}

/* position q of stripe s as bytes of a member, from `at` on in its block */
static struct vel_span position(const struct vel_layout *layout, size_t s, size_t q,
                                uint64_t at)
{
    struct vel_span span = {.member = (s + q) % layout->n};

    if (q < layout->m) {
        span.region = VEL_REGION_PAYLOAD;
        span.at = q * layout->block + at;
    } else {
        span.region = VEL_REGION_LOFI;
        span.at = (q - layout->m) * layout->block + at;
    }
    return span;
}

/* `len` bytes of each block of stripe s, from `at` on */
static int plan_part(const struct vel_layout *layout, size_t s,
                     const struct vel_code_solution *solution, size_t worker,
                     uint64_t at, uint64_t len, struct vel_plan *plan,
                     struct vel_err *err)
{
    struct vel_job job;
    int rc = job_init(&job, solution->sources, solution->outputs, err);

    if (rc < 0)
        return rc;
    job.worker = worker;
    job.len = len;
    for (size_t i = 0; i < job.sources; i++)
        job.source[i] = position(layout, s, solution->source[i], at);
    for (size_t o = 0; o < job.outputs; o++)
        job.output[o] = position(layout, s, solution->output[o], at);
    memcpy(job.coefs, solution->coefs, job.sources * job.outputs);
    return add_job(plan, &job, err);
}

/* A lost member's stripe: equal parts to some who are not lost, to others for each lost
 * member. */
static int share_stripe(const struct vel_layout *layout, size_t s,
                        const struct vel_code_solution *solution, const bool *is_lost,
                        struct vel_plan *plan, struct vel_err *err)
{
    size_t others = 0, before = 0;
    int rc = 0;

    for (size_t r = 0; r < layout->n; r++) {
        others += !is_lost[r];
        before += is_lost[r] && r < s;
    }
    size_t worker = s + before * SHARES_MOST;
    uint64_t shares = others < SHARES_MOST ? others : SHARES_MOST;
    uint64_t len = layout->block / shares + (layout->block % shares != 0);
    len = (len + SHARE_LEAST - 1) / SHARE_LEAST * SHARE_LEAST;
    for (uint64_t at = 0; rc == 0 && at < layout->block; at += len) {
        do
            worker = (worker + 1) % layout->n;
        while (is_lost[worker]); /* somebody is left, or there would be no solution */
        uint64_t left = layout->block - at;
        rc = plan_part(layout, s, solution, worker, at, left < len ? left : len, plan,
                       err);
    }
    return rc;
}

static int plan_stripe(const struct vel_layout *layout, size_t s, const bool *is_lost,
                       struct vel_plan *plan, struct vel_err *err)
{
    struct vel_code code = {.n = layout->n, .m = layout->m};
    struct vel_code_solution solution;
    bool lost[VEL_CODE_MAX];
    int rc;

    for (size_t q = 0; q < layout->n; q++)
        lost[q] = is_lost ? is_lost[(s + q) % layout->n] : q < layout->m;
    rc = vel_code_solve(code, lost, &solution, err);
    if (rc < 0)
        return rc;
    if (solution.outputs == 0)
        rc = 0; /* nobody is lost */
    else if (is_lost && is_lost[s])
        rc = share_stripe(layout, s, &solution, is_lost, plan, err);
    else
        rc = plan_part(layout, s, &solution, s, 0, layout->block, plan, err);
    vel_code_solution_fini(&solution);
    return rc;
}

static int plan_stripes(const struct vel_layout *layout, const bool *is_lost,
                        struct vel_plan *plan, struct vel_err *err)
{
    if (layout->block == 0)
        return 0;
    for (size_t s = 0; s < layout->n; s++) {
        int rc = plan_stripe(layout, s, is_lost, plan, err);

        if (rc < 0)
            return rc;
    }
    return 0;
}

/* A span with the lofi of `of` at a member that is not lost: itself, else its nearest
 * replica. */
static bool find_copy(const struct vel_layout *layout, size_t of, const bool *is_lost,
                      struct vel_span *ret)
{
    if (!is_lost || !is_lost[of]) {
        *ret = (struct vel_span){.member = of, .region = VEL_REGION_LOFI};
        return true;
    }
    for (size_t back = 1; back <= layout->m; back++) {
        size_t holder = (of + back) % layout->n;

        if (!is_lost[holder]) {
            *ret = (struct vel_span){.member = holder,
                                     .region = VEL_REGION_PAYLOAD,
                                     .at = vel_layout_replica(layout, holder, back)};
            return true;
        }
    }
    return false;
}

/* One job for one member's files: read where a copy is left, once, and sent to every
 * place that lacks one. The reader is the worker, since there is nothing to combine. */
static int plan_copy(const struct vel_layout *layout, size_t of, const bool *is_lost,
                     struct vel_plan *plan, struct vel_err *err)
{
    struct vel_span from, to[VEL_SET_MAX];
    struct vel_job job;
    size_t outputs = 0;

    if (layout->lofi_size[of] == 0 || !find_copy(layout, of, is_lost, &from))
        return 0; /* vel_plan_check has seen to it that there is one */
    if (is_lost && is_lost[of])
        to[outputs++] = (struct vel_span){.member = of, .region = VEL_REGION_LOFI};
    for (size_t back = 1; back <= layout->m; back++) {
        size_t holder = (of + back) % layout->n;

        if (!is_lost || is_lost[holder])
            to[outputs++] =
                (struct vel_span){.member = holder,
                                  .region = VEL_REGION_PAYLOAD,
                                  .at = vel_layout_replica(layout, holder, back)};
    }
    if (outputs == 0)
        return 0;
    int rc = job_init(&job, 1, outputs, err);
    if (rc < 0)
        return rc;
    job.worker = from.member;
    job.len = layout->lofi_size[of];
    job.source[0] = from;
    memcpy(job.output, to, outputs * sizeof to[0]);
    memset(job.coefs, 1, outputs);
    return add_job(plan, &job, err);
}

static int plan_copies(const struct vel_layout *layout, const bool *is_lost,
                       struct vel_plan *plan, struct vel_err *err)
{
    int rc = 0;

    for (size_t of = 0; rc == 0 && of < layout->n; of++)
        rc = plan_copy(layout, of, is_lost, plan, err);
    return rc;
}

/* "members 1, 4 of 8 are lost" */
static int too_many(const struct vel_layout *layout, const bool *is_lost,
                    struct vel_err *err)
{
    struct vel_buf names;
    int rc;

    vel_buf_init(&names);
    for (size_t r = 0; r < layout->n; r++)
        if (is_lost[r])
            vel_buf_printf(&names, "%s%zu", names.len ? ", " : "", r);
    if (layout->scheme == VEL_PARTNER)
        rc = vel_fail(err, VEL_EINVAL,
                      "members %s of a set of %zu are lost, and with them all %zu "
                      "copies (PARTNER) of the files of one",
                      vel_buf_text(&names), layout->n, layout->m + 1);
    else
        rc = vel_fail(
            err, VEL_EINVAL,
            "members %s of a set of %zu are lost, and %s here bears the loss of %zu",
            vel_buf_text(&names), layout->n, vel_scheme_name(layout->scheme),
            layout->m);
    vel_buf_fini(&names);
    return rc;
}

/* Is a copy of that member's files left? An empty member needs one too: it holds its
 * list. */
static bool has_copy(const struct vel_layout *layout, size_t of, const bool *is_lost)
{
    for (size_t back = 0; back <= layout->m; back++)
        if (!is_lost[(of + back) % layout->n])
            return true;
    return false;
}

int vel_plan_check(const struct vel_layout *layout, const bool *is_lost,
                   struct vel_err *err)
{
    size_t lost = 0;
    bool bears = true;

    for (size_t r = 0; r < layout->n; r++) {
        lost += is_lost[r];
        if (layout->scheme == VEL_PARTNER && !has_copy(layout, r, is_lost))
            bears = false;
    }
    if (layout->scheme != VEL_PARTNER)
        bears = lost <= layout->m;
    return bears ? 0 : too_many(layout, is_lost, err);
}

static int make(const struct vel_layout *layout, const bool *is_lost,
                struct vel_plan *ret_plan, struct vel_err *err)
{
    struct vel_plan plan = {0};
    int rc = 0;

    vel_vec_init(&plan.jobs, sizeof(struct vel_job));
    if (layout->scheme == VEL_PARTNER)
        rc = plan_copies(layout, is_lost, &plan, err);
    else if (layout->scheme != VEL_SINGLE)
        rc = plan_stripes(layout, is_lost, &plan, err);
    if (rc < 0)
        vel_plan_fini(&plan);
    else
        *ret_plan = plan;
    return rc;
}

int vel_plan_encode(const struct vel_layout *layout, struct vel_plan *ret_plan,
                    struct vel_err *err)
{
    return make(layout, NULL, ret_plan, err);
}

int vel_plan_rebuild(const struct vel_layout *layout, const bool *is_lost,
                     struct vel_plan *ret_plan, struct vel_err *err)
{
    int rc = vel_plan_check(layout, is_lost, err);

    return rc < 0 ? rc : make(layout, is_lost, ret_plan, err);
}

bool vel_span_is_void(const struct vel_layout *layout, const struct vel_span *span,
                      uint64_t from)
{
    return span->region == VEL_REGION_LOFI &&
           span->at + from >= layout->lofi_size[span->member];
}

size_t vel_plan_most_spans(const struct vel_plan *plan)
{
    size_t most = 1;

    for (size_t j = 0; j < plan->jobs.n; j++) {
        const struct vel_job *job = vel_plan_job(plan, j);

        if (job->sources + job->outputs > most)
            most = job->sources + job->outputs;
    }
    return most;
}
