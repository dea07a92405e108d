/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "code/gf.h"
#include "red/exec.h"

enum { ALIGN = 64, TILE_LEAST = 4096, TILE_MOST = 1 << 20 };

struct run {
    const struct vel_layout *layout;
    struct vel_member **member;
    size_t tile;
    uint8_t *buffer; /* room for the sources and outputs of any job */
};

static int do_tile(struct run *run, const struct vel_job *job,
                   const struct vel_gf_coder *coder, uint64_t at, size_t len,
                   struct vel_err *err)
{
    const uint8_t *in[VEL_SET_MAX];
    uint8_t *out[VEL_SET_MAX], *next = run->buffer;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < job->sources; i++, next += run->tile) {
        const struct vel_span *span = &job->source[i];

        in[i] = next;
        if (vel_span_is_void(run->layout, span, at))
            memset(next, 0, len);
        else
            rc = vel_member_read(run->member[span->member], span->region, span->at + at,
                                 next, len, err);
    }
    if (rc < 0)
        return rc;
    for (size_t o = 0; o < job->outputs; o++, next += run->tile)
        out[o] = next;
    vel_gf_coder_run(coder, len, in, out);
    for (size_t o = 0; rc == 0 && o < job->outputs; o++) {
        const struct vel_span *span = &job->output[o];

        if (!vel_span_is_void(run->layout, span, at))
            rc = vel_member_write(run->member[span->member], span->region,
                                  span->at + at, out[o], len, err);
    }
    return rc;
}

int vel_exec_local(const struct vel_layout *layout, const struct vel_plan *plan,
                   struct vel_member **member, size_t memory, vel_exec_tick_f *tick,
                   void *arg, struct vel_err *err)
{
    struct run run = {.layout = layout, .member = member};
    uint64_t done = 0, total = 0;
    size_t spans = vel_plan_most_spans(plan);
    int rc = 0;

    run.tile = memory / spans / TILE_LEAST * TILE_LEAST;
    run.tile = run.tile < TILE_LEAST  ? TILE_LEAST
               : run.tile > TILE_MOST ? TILE_MOST
                                      : run.tile;
    run.buffer = aligned_alloc(ALIGN, run.tile * spans);
    if (!run.buffer)
        return vel_out_of_memory(err, "rebuilding");
    for (size_t j = 0; j < plan->jobs.n; j++)
        total += vel_plan_job(plan, j)->len;
    for (size_t j = 0; rc == 0 && j < plan->jobs.n; j++) {
        const struct vel_job *job = vel_plan_job(plan, j);
        struct vel_gf_coder *coder;

        rc = vel_gf_coder_create(job->outputs, job->sources, job->coefs, &coder, err);
        if (rc < 0)
            break;
        for (uint64_t at = 0; rc == 0 && at < job->len; at += run.tile) {
            size_t len = job->len - at < run.tile ? (size_t)(job->len - at) : run.tile;

            rc = do_tile(&run, job, coder, at, len, err);
            done += len;
            if (tick)
                tick(arg, done, total);
        }
        vel_gf_coder_destroy(coder);
    }
    free(run.buffer);
    return rc;
}
