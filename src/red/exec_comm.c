/* SPDX-License-Identifier: BSD-3-Clause */
/* Every member walks the same sequence of steps: for each tile, each job. A step has
 * three parts:
 *
 *   begin   sources read their tile and send it to the worker; the worker posts
 *           receives for the sources, the places of the result post theirs
 *   finish  the worker waits for the sources, computes all outputs in one pass, keeps
 *           its own and sends the others; the places wait for theirs and write them
 *   free    the sends are done, the buffers are free
 *
 * Steps are finished in order, and begun up to a window ahead, so that reading,
 * sending, arithmetic and writing of different steps overlap without a thread. The
 * window counts steps of the common sequence, not a member's own: whoever is the
 * farthest behind finds that everybody else has already sent what it waits for, also
 * when messages of a pair can only be taken in order and a transport stops taking them.
 * So the sequence cannot lock up, whatever the plan is.
 *
 * A member that fails locally goes on with zeros, since others wait for its bytes; the
 * agreement at the end tells all. When the communicator itself breaks, everybody leaves
 * at once. */
#include "config.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "code/gf.h"
#include "red/exec.h"
#include "sys/pages.h"

enum {
    TILE_LEAST = 4096,
    /* a larger tile leaves the processor's cache before it is combined; and so do tiles
     * of which many are in flight, before they are sent or written: with 16 MiB of them
     * encoding is slower by a third than with 2 (PARTNER; a tenth under XOR) */
    TILE_MOST = 256 << 10,
    FLIGHT_MOST = 2 << 20,
    TAG_MASK = 0xfffff,
};

/* what this member does in a job */
struct role {
    bool is_worker;
    int source;                 /* index of its own span among the sources, or -1 */
    int output;                 /* among the outputs, or -1 */
    bool is_copy;               /* see is_copy() */
    struct vel_gf_coder *coder; /* worker of anything but a copy */
};

struct step {
    bool is_begun;
    const struct vel_job *job;
    const struct role *role;
    uint64_t at;
    size_t len;
    uint32_t tag;
    uint8_t **in;  /* worker: a buffer per source; else in[0] is the tile sent */
    uint8_t **out; /* worker: a buffer per output; else out[0] is the tile received */
    size_t n_taken;
    uint8_t **taken; /* buffers to give back */
    size_t n_reqs;
    struct vel_req **reqs;
};

struct exec {
    const struct vel_layout *layout;
    const struct vel_plan *plan;
    struct vel_member *member; /* NULL: failed before it began */
    struct vel_comm *comm;
    size_t me;
    size_t tile;
    size_t rounds;      /* tiles of each job in flight */
    size_t window;      /* the same in steps */
    struct role *roles; /* per job */
    struct step *steps; /* a ring of window steps */
    void **pointers;    /* what in, out, taken and reqs of the steps point into */
    uint8_t *arena;     /* the buffers, and zeros */
    size_t arena_size;
    uint8_t *zeros;
    uint8_t **free_buffers;
    size_t n_free;
    int rc; /* the first local failure */
    struct vel_err *err;
};

static bool takes_part(const struct role *role)
{
    return role->is_worker || role->source >= 0 || role->output >= 0;
}

/* Nothing to combine, and nobody to wait for: the worker sends on what it reads itself.
 * (A stripe with one data block has jobs with one source too, but any member may work
 * for them.) */
static bool is_copy(const struct vel_job *job)
{
    for (size_t o = 0; o < job->outputs; o++)
        if (job->coefs[o] != 1)
            return false;
    return job->sources == 1 && job->source[0].member == job->worker;
}

static int find_roles(struct exec *x)
{
    x->roles = calloc(x->plan->jobs.n, sizeof *x->roles);
    if (!x->roles)
        return vel_out_of_memory(x->err, "preparing an encoding");
    for (size_t j = 0; j < x->plan->jobs.n; j++) {
        const struct vel_job *job = vel_plan_job(x->plan, j);
        struct role *role = &x->roles[j];

        *role = (struct role){.is_worker = job->worker == x->me,
                              .source = -1,
                              .output = -1,
                              .is_copy = is_copy(job)};
        for (size_t i = 0; i < job->sources; i++)
            if (job->source[i].member == x->me)
                role->source = (int)i;
        for (size_t o = 0; o < job->outputs; o++)
            if (job->output[o].member == x->me)
                role->output = (int)o;
        if (role->is_worker && !role->is_copy) {
            int rc = vel_gf_coder_create(job->outputs, job->sources, job->coefs,
                                         &role->coder, x->err);
            if (rc < 0)
                return rc;
        }
    }
    return 0;
}

/* The pointers of a step lie side by side: in, out, taken, reqs. */
static void share_pointers(struct exec *x, size_t spans)
{
    for (size_t k = 0; k < x->window; k++) {
        void **at = x->pointers + k * 4 * spans;

        x->steps[k] = (struct step){.in = (uint8_t **)at,
                                    .out = (uint8_t **)(at + spans),
                                    .taken = (uint8_t **)(at + 2 * spans),
                                    .reqs = (struct vel_req **)(at + 3 * spans)};
    }
}

/* Buffers that each member needs for one tile of all jobs. */
static void count_buffers(const struct vel_plan *plan, size_t need[VEL_SET_MAX])
{
    for (size_t j = 0; j < plan->jobs.n; j++) {
        const struct vel_job *job = vel_plan_job(plan, j);

        need[job->worker] += job->sources + (is_copy(job) ? 0 : job->outputs);
        for (size_t i = 0; i < job->sources; i++)
            need[job->source[i].member] += job->source[i].member != job->worker;
        for (size_t o = 0; o < job->outputs; o++)
            need[job->output[o].member] += job->output[o].member != job->worker;
    }
}

/* Tile and window are what every member must agree on, so they follow from the plan and
 * the memory alone, as if each member needed as many buffers as the one that needs
 * most: tiles as large as they may be, then as many rounds of them as should be in
 * flight. Returns the number of this member's buffers. */
static size_t share_memory(struct exec *x, size_t memory)
{
    size_t most = 1, need[VEL_SET_MAX] = {0};

    count_buffers(x->plan, need);
    for (size_t r = 0; r < x->layout->n; r++)
        most = need[r] > most ? need[r] : most;
    size_t tile = memory / (most + 1) / TILE_LEAST * TILE_LEAST; /* and one of zeros */
    x->tile = tile < TILE_LEAST ? TILE_LEAST : tile > TILE_MOST ? TILE_MOST : tile;
    if (x->plan->changes && x->tile > x->plan->changes->block)
        x->tile = (size_t)x->plan->changes->block;
    size_t fit = memory / x->tile - 1, flight = FLIGHT_MOST / x->tile;
    x->rounds = (fit < flight ? fit : flight) / most;
    x->rounds = x->rounds == 0 ? 1 : x->rounds;
    x->window = x->rounds * x->plan->jobs.n;
    return x->rounds * need[x->me];
}

static int prepare(struct exec *x, size_t memory)
{
    size_t spans = vel_plan_most_spans(x->plan);
    int rc = find_roles(x);

    if (rc < 0)
        return rc;
    size_t buffers = share_memory(x, memory);
    x->steps = calloc(x->window, sizeof *x->steps);
    x->pointers = calloc(x->window * 4 * spans, sizeof *x->pointers);
    x->free_buffers = calloc(buffers + 1, sizeof *x->free_buffers);
    x->arena_size = (buffers + 1) * x->tile;
    x->arena = vel_pages_alloc(x->arena_size);
    if (!x->steps || !x->pointers || !x->free_buffers || !x->arena)
        return vel_out_of_memory(x->err, "preparing an encoding");
    x->zeros = x->arena + buffers * x->tile;
    for (size_t b = 0; b < buffers; b++)
        x->free_buffers[x->n_free++] = x->arena + b * x->tile;
    share_pointers(x, spans);
    return 0;
}

static void release(struct exec *x)
{
    for (size_t j = 0; x->roles && j < x->plan->jobs.n; j++)
        vel_gf_coder_destroy(x->roles[j].coder);
    for (size_t k = 0; x->steps && k < x->window; k++)
        vel_comm_cancel_all(x->comm, x->steps[k].reqs, x->steps[k].n_reqs);
    free(x->roles);
    free(x->steps);
    free(x->pointers);
    free(x->free_buffers);
    vel_pages_free(x->arena, x->arena_size);
}

static uint8_t *take_buffer(struct exec *x, struct step *step)
{
    assert(x->n_free > 0);
    uint8_t *buffer = x->free_buffers[--x->n_free];

    step->taken[step->n_taken++] = buffer;
    return buffer;
}

/* Local work of a member that has failed is left out; the first failure is the one that
 * is told. */
static void read_tile(struct exec *x, const struct step *step, uint8_t *to)
{
    const struct vel_span *span = &step->job->source[step->role->source];

    if (x->rc == 0)
        x->rc = vel_member_read(x->member, span->region, span->at + step->at, to,
                                step->len, x->err);
    if (x->rc < 0)
        memset(to, 0, step->len);
}

static void write_tile(struct exec *x, const struct step *step, const uint8_t *from)
{
    const struct vel_span *span = &step->job->output[step->role->output];

    if (x->rc == 0)
        x->rc = vel_member_write(x->member, span->region, span->at + step->at, from,
                                 step->len, x->err);
}

static int send_tile(struct exec *x, struct step *step, size_t to, const uint8_t *bytes)
{
    return vel_comm_isend(x->comm, (int)to, step->tag, bytes, step->len,
                          &step->reqs[step->n_reqs++], x->err);
}

static int receive_tile(struct exec *x, struct step *step, size_t from, uint8_t *bytes)
{
    return vel_comm_irecv(x->comm, (int)from, step->tag, bytes, step->len,
                          &step->reqs[step->n_reqs++], x->err);
}

static bool is_void(const struct exec *x, const struct step *step,
                    const struct vel_span *span)
{
    const struct vel_changes *changes = x->plan->changes;

    return vel_span_is_void(x->layout, span, step->at) ||
           (changes && span->region == VEL_REGION_LOFI &&
            !vel_changes_has(changes, x->layout, span->member, span->at + step->at,
                             step->len));
}

/* Nobody wants the result, or it is no difference. */
static bool is_for_nothing(const struct exec *x, const struct step *step)
{
    const struct vel_job *job = step->job;
    bool is_wanted = false, differs = !x->plan->changes;

    for (size_t o = 0; o < job->outputs; o++)
        is_wanted |= !is_void(x, step, &job->output[o]);
    for (size_t i = 0; !differs && i < job->sources; i++)
        differs = !is_void(x, step, &job->source[i]);
    return !is_wanted || !differs;
}

/* Results to where they belong. */
static int deliver(struct exec *x, struct step *step)
{
    int rc = 0;

    for (size_t o = 0; rc == 0 && o < step->job->outputs; o++) {
        const struct vel_span *span = &step->job->output[o];

        if (is_void(x, step, span))
            continue;
        if (span->member == x->me)
            write_tile(x, step, step->out[o]);
        else
            rc = send_tile(x, step, span->member, step->out[o]);
    }
    return rc;
}

static int begin_worker(struct exec *x, struct step *step)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < step->job->sources; i++) {
        const struct vel_span *span = &step->job->source[i];

        if (is_void(x, step, span)) {
            step->in[i] = x->zeros;
            continue;
        }
        step->in[i] = take_buffer(x, step);
        if (span->member == x->me)
            read_tile(x, step, step->in[i]);
        else
            rc = receive_tile(x, step, span->member, step->in[i]);
    }
    for (size_t o = 0; o < step->job->outputs; o++)
        step->out[o] = step->role->is_copy ? step->in[0] : take_buffer(x, step);
    /* a copy waits for nobody, and nobody should wait for it */
    return rc == 0 && step->role->is_copy ? deliver(x, step) : rc;
}

static int begin_other(struct exec *x, struct step *step)
{
    const struct role *role = step->role;
    int rc = 0;

    if (role->source >= 0 && !is_void(x, step, &step->job->source[role->source])) {
        step->in[0] = take_buffer(x, step);
        read_tile(x, step, step->in[0]);
        rc = send_tile(x, step, step->job->worker, step->in[0]);
    }
    if (rc == 0 && role->output >= 0 &&
        !is_void(x, step, &step->job->output[role->output])) {
        step->out[0] = take_buffer(x, step);
        rc = receive_tile(x, step, step->job->worker, step->out[0]);
    }
    return rc;
}

static int wait_step(struct exec *x, struct step *step)
{
    int rc = vel_comm_wait_all(x->comm, step->reqs, step->n_reqs, x->err);

    if (rc == 0)
        step->n_reqs = 0;
    return rc;
}

static int free_step(struct exec *x, struct step *step)
{
    int rc = wait_step(x, step);

    while (rc == 0 && step->n_taken > 0)
        x->free_buffers[x->n_free++] = step->taken[--step->n_taken];
    step->is_begun = false;
    return rc;
}

static int begin_step(struct exec *x, uint64_t k)
{
    struct step *step = &x->steps[k % x->window];
    size_t j = (size_t)(k % x->plan->jobs.n);
    uint64_t at = k / x->plan->jobs.n * x->tile;
    int rc = free_step(x, step);

    if (rc < 0)
        return rc;
    step->job = vel_plan_job(x->plan, j);
    step->role = &x->roles[j];
    if (at >= step->job->len || !takes_part(step->role))
        return 0;
    step->at = at;
    step->len = step->job->len - at < x->tile ? (size_t)(step->job->len - at) : x->tile;
    step->tag = (uint32_t)(k & TAG_MASK);
    if (is_for_nothing(x, step))
        return 0;
    step->is_begun = true;
    return step->role->is_worker ? begin_worker(x, step) : begin_other(x, step);
}

static int finish_step(struct exec *x, uint64_t k)
{
    struct step *step = &x->steps[k % x->window];
    const struct role *role = step->role;

    if (!step->is_begun)
        return 0;
    if (role->is_worker && !role->is_copy) {
        int rc = wait_step(x, step);

        if (rc < 0)
            return rc;
        vel_gf_coder_run(role->coder, step->len, (const uint8_t *const *)step->in,
                         step->out);
        return deliver(x, step);
    }
    if (role->output >= 0 && step->n_reqs > 0 &&
        !is_void(x, step, &step->job->output[role->output])) {
        int rc = wait_step(x, step);

        if (rc < 0)
            return rc;
        write_tile(x, step, step->out[0]);
    }
    return 0;
}

static uint64_t count_steps(const struct exec *x)
{
    uint64_t longest = 0;

    for (size_t j = 0; j < x->plan->jobs.n; j++)
        if (vel_plan_job(x->plan, j)->len > longest)
            longest = vel_plan_job(x->plan, j)->len;
    return (longest / x->tile + (longest % x->tile != 0)) * x->plan->jobs.n;
}

static int walk(struct exec *x)
{
    uint64_t steps = count_steps(x), next = 0;
    int rc = 0;

    for (uint64_t k = 0; rc == 0 && k < steps; k++) {
        for (; rc == 0 && next < steps && next < k + x->window; next++)
            rc = begin_step(x, next);
        if (rc == 0)
            rc = finish_step(x, k);
    }
    for (size_t k = 0; rc == 0 && k < x->window; k++)
        rc = free_step(x, &x->steps[k]);
    return rc;
}

int vel_exec_comm(const struct vel_layout *layout, const struct vel_plan *plan,
                  struct vel_member *member, struct vel_comm *comm, size_t memory,
                  int rc, struct vel_err *err)
{
    struct exec x = {.layout = layout,
                     .plan = plan,
                     .member = member,
                     .comm = comm,
                     .me = (size_t)comm->rank,
                     .err = err,
                     .rc = rc};

    if (plan->jobs.n == 0)
        return vel_comm_agree(comm, rc, err);
    /* without buffers a member cannot even take part: all must know before the first
     * step */
    int ready = prepare(&x, memory);
    ready = vel_comm_agree(comm, ready, err);
    if (ready == 0) {
        int broken = walk(&x);

        ready = broken < 0 ? broken : vel_comm_agree(comm, x.rc, err);
    }
    release(&x);
    return ready;
}
