/* SPDX-License-Identifier: BSD-3-Clause */
/* The executor of a pull: as red/exec_local.c, but sources are asked for ahead. A job
 * is cut into tiles; some tiles are under way while one is combined. Memory is that of
 * the window, whatever the files are. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "code/gf.h"
#include "pull/pull_in.h"

enum {
    ALIGN = 64,
    TILE_LEAST = 4096,
    SLOTS_LEAST = 2,
    SLOTS_MOST = 16,
    GETS_MOST = 256, /* of a tile: small files are asked for one by one */
};

struct tile {
    const struct vel_job *job; /* NULL: nothing is in it */
    uint64_t at;               /* in the job */
    size_t len;
    uint8_t *bytes; /* len of each source, run.tile apart */
    struct vel_get *gets;
    size_t *whose; /* place of the member that each get asks */
    size_t n_gets, pending;
};

struct run {
    const struct vel_pull_run *of;
    size_t tile, slots, most_gets;
    struct tile slot[SLOTS_MOST];
    uint8_t *output;
    const struct vel_job *coded; /* the job that the coder is of */
    struct vel_gf_coder *coder;
    size_t bad;
};

static int out_of_memory(struct vel_err *err)
{
    return vel_out_of_memory(err, "pulling a part");
}

static struct vel_pull_member *source_of(const struct run *run,
                                         const struct vel_job *job, size_t i)
{
    return run->of->source[job->source[i].member];
}

/* --- asking --- */

/* the file of the lofi that has byte `at`; those without bytes have none */
static size_t file_at(const struct vel_pull_member *m, uint64_t at)
{
    size_t low = 0, high = m->header.list[0].files.n;

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (m->start[middle] <= at)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static uint64_t lofi_size(const struct vel_pull_member *m)
{
    return m->start[m->header.list[0].files.n];
}

/* How much of a tile can be asked for without more than `gets` of this source. */
static size_t reach(const struct vel_pull_member *m, uint64_t at, size_t len,
                    size_t gets)
{
    size_t n = m->header.list[0].files.n, last;

    if (at >= lofi_size(m))
        return len;
    last = file_at(m, at) + gets;
    return last >= n || m->start[last] - at >= len ? len
                                                   : (size_t)(m->start[last] - at);
}

static void add_get(struct run *run, struct tile *tile, struct vel_pull_member *m,
                    unsigned what, const char *name, uint64_t at, uint8_t *bytes,
                    size_t len)
{
    struct vel_get *get = &tile->gets[tile->n_gets];

    *get = (struct vel_get){
        .want = {.what = what, .name = name, .at = at, .len = (uint32_t)len},
        .bytes = bytes};
    tile->whose[tile->n_gets++] = m->place;
    vel_pull_begin(run->of->pulling, m, get);
    tile->pending += get->rc > 0;
}

/* `len` bytes of a source's files; zeros behind their end */
static void ask_lofi(struct run *run, struct tile *tile, struct vel_pull_member *m,
                     uint64_t at, uint8_t *bytes, size_t len)
{
    uint64_t size = lofi_size(m);
    size_t inside = at >= size ? 0 : size - at < len ? (size_t)(size - at) : len;

    memset(bytes + inside, 0, len - inside);
    for (size_t file = inside ? file_at(m, at) : 0; inside > 0; file++) {
        uint64_t left = m->start[file + 1] - at;
        size_t n = left < inside ? (size_t)left : inside;

        if (n == 0)
            continue; /* a file without bytes */
        add_get(run, tile, m, VEL_WANT_FILE,
                vel_manifest_file(&m->header.list[0], file)->name, at - m->start[file],
                bytes, n);
        at += n;
        bytes += n;
        inside -= n;
    }
}

static void ask_tile(struct run *run, struct tile *tile, const struct vel_job *job,
                     uint64_t at)
{
    size_t gets = run->most_gets / job->sources;
    uint64_t left = job->len - at;

    *tile = (struct tile){.job = job,
                          .at = at,
                          .len = left < run->tile ? (size_t)left : run->tile,
                          .bytes = tile->bytes,
                          .gets = tile->gets,
                          .whose = tile->whose};
    for (size_t i = 0; i < job->sources; i++)
        if (job->source[i].region == VEL_REGION_LOFI)
            tile->len =
                reach(source_of(run, job, i), job->source[i].at + at, tile->len, gets);
    for (size_t i = 0; i < job->sources; i++) {
        struct vel_pull_member *m = source_of(run, job, i);
        uint8_t *bytes = tile->bytes + i * run->tile;

        if (job->source[i].region == VEL_REGION_LOFI)
            ask_lofi(run, tile, m, job->source[i].at + at, bytes, tile->len);
        else
            add_get(run, tile, m, VEL_WANT_REDUNDANCY, m->name,
                    m->begin + job->source[i].at + at, bytes, tile->len);
    }
}

/* --- combining --- */

static int check_answers(struct run *run, const struct tile *tile, struct vel_err *err)
{
    for (size_t i = 0; i < tile->n_gets; i++) {
        const struct vel_get *get = &tile->gets[i];

        run->bad = tile->whose[i];
        if (get->rc < 0)
            return vel_fail(err, (enum vel_status)get->rc, "%s", get->err.text);
        if (get->got != get->want.len)
            return vel_fail(err, VEL_ECORRUPT,
                            "%s of rank %d on node %s ends too early", get->want.name,
                            get->want.rank, get->node);
        run->of->pulling->bytes += get->got;
    }
    run->bad = run->of->layout->n;
    return 0;
}

/* All bytes of a source pass once: its checksums are complete in the end. */
static int note_sources(struct run *run, const struct tile *tile, struct vel_err *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < tile->job->sources; i++) {
        const struct vel_span *span = &tile->job->source[i];
        struct vel_pull_member *m = source_of(run, tile->job, i);
        const uint8_t *bytes = tile->bytes + i * run->tile;
        uint64_t at = span->at + tile->at, size = lofi_size(m);
        size_t len = tile->len;

        if (span->region == VEL_REGION_PAYLOAD)
            rc = vel_crcmap_bytes(&m->payload_crc, at, bytes, len, err);
        else if (at < size)
            rc = vel_crcmap_bytes(&m->lofi_crc, at, bytes,
                                  size - at < len ? (size_t)(size - at) : len, err);
    }
    return rc;
}

static int combine(struct run *run, const struct tile *tile, const uint8_t **ret_bytes,
                   struct vel_err *err)
{
    const struct vel_job *job = tile->job;
    const uint8_t *in[VEL_SET_MAX];
    uint8_t *out = run->output;
    int rc = 0;

    *ret_bytes = tile->bytes;
    if (job->sources == 1 && job->coefs[0] == 1)
        return 0; /* a copy */
    if (run->coded != job) {
        vel_gf_coder_destroy(run->coder);
        run->coder = NULL;
        run->coded = job;
        rc = vel_gf_coder_create(1, job->sources, job->coefs, &run->coder, err);
        if (rc < 0)
            return rc;
    }
    for (size_t i = 0; i < job->sources; i++)
        in[i] = tile->bytes + i * run->tile;
    vel_gf_coder_run(run->coder, tile->len, in, &out);
    *ret_bytes = out;
    return 0;
}

static int finish_tile(struct run *run, struct tile *tile, struct vel_err *err)
{
    const struct vel_span *to = &tile->job->output[0];
    const struct vel_watch *watch = run->of->pulling->how->watch;
    const uint8_t *bytes;
    uint64_t moved = run->of->pulling->bytes;
    int rc = check_answers(run, tile, err);

    moved = run->of->pulling->bytes - moved;
    if (rc == 0)
        rc = note_sources(run, tile, err);
    if (rc == 0)
        rc = combine(run, tile, &bytes, err);
    if (rc == 0 && !vel_span_is_void(run->of->layout, to, tile->at))
        rc = vel_member_write(run->of->out, to->region, to->at + tile->at, bytes,
                              tile->len, err);
    if (rc == 0 && run->of->payload_too && to->region == VEL_REGION_PAYLOAD)
        rc = vel_crcmap_bytes(run->of->payload_too, to->at + tile->at, bytes, tile->len,
                              err);
    if (rc == 0 && !vel_watch_step(watch, moved))
        rc = vel_fail(err, VEL_ECANCEL, "told to stop");
    tile->job = NULL;
    return rc;
}

/* --- all of it --- */

static int prepare(struct run *run, struct vel_err *err)
{
    size_t window = run->of->pulling->how->window, sources = 1;

    for (size_t j = 0; j < run->of->plan->jobs.n; j++)
        if (vel_plan_job(run->of->plan, j)->sources > sources)
            sources = vel_plan_job(run->of->plan, j)->sources;
    window = window ? window : VEL_PULL_WINDOW;
    run->most_gets = GETS_MOST > sources ? GETS_MOST : sources;
    run->tile = window / SLOTS_LEAST / sources / TILE_LEAST * TILE_LEAST;
    run->tile = run->tile < TILE_LEAST      ? TILE_LEAST
                : run->tile > VEL_WANT_MOST ? VEL_WANT_MOST
                                            : run->tile;
    run->slots = window / (run->tile * sources);
    run->slots = run->slots < SLOTS_LEAST  ? SLOTS_LEAST
                 : run->slots > SLOTS_MOST ? SLOTS_MOST
                                           : run->slots;
    run->output = aligned_alloc(ALIGN, run->tile);
    for (size_t i = 0; i < run->slots; i++) {
        struct tile *tile = &run->slot[i];

        tile->bytes = aligned_alloc(ALIGN, run->tile * sources);
        tile->gets = calloc(run->most_gets, sizeof *tile->gets);
        tile->whose = calloc(run->most_gets, sizeof *tile->whose);
        if (!tile->bytes || !tile->gets || !tile->whose)
            return out_of_memory(err);
    }
    return run->output ? 0 : out_of_memory(err);
}

static struct tile *find_tile(struct run *run, bool is_empty)
{
    for (size_t i = 0; i < run->slots; i++)
        if (is_empty ? !run->slot[i].job
                     : run->slot[i].job && run->slot[i].pending == 0)
            return &run->slot[i];
    return NULL;
}

/* Until one tile has all its answers. */
static struct tile *await_tile(struct run *run)
{
    struct vel_pull_source *source = run->of->pulling->how->source;
    struct tile *tile;

    while (!(tile = find_tile(run, false))) {
        const struct vel_get *get = source->ops->next(source);

        for (size_t i = 0; i < run->slots; i++) {
            struct tile *t = &run->slot[i];

            if (t->job && get >= t->gets && get < t->gets + t->n_gets)
                t->pending--;
        }
    }
    return tile;
}

static int run_all(struct run *run, struct vel_err *err)
{
    const struct vel_plan *plan = run->of->plan;
    size_t j = 0, busy = 0;
    uint64_t at = 0;
    int rc = 0;

    while (rc == 0 && (busy > 0 || j < plan->jobs.n)) {
        struct tile *tile = j < plan->jobs.n ? find_tile(run, true) : NULL;

        if (tile) {
            const struct vel_job *job = vel_plan_job(plan, j);

            if (at < job->len) {
                ask_tile(run, tile, job, at);
                at += tile->len;
                busy++;
            }
            if (at >= job->len) {
                j++;
                at = 0;
            }
            continue;
        }
        rc = finish_tile(run, await_tile(run), err);
        busy--;
    }
    return rc;
}

int vel_pull_run(const struct vel_pull_run *of, size_t *ret_bad, struct vel_err *err)
{
    struct run run = {.of = of, .bad = of->layout->n};
    struct vel_pull_source *source = of->pulling->how->source;
    int rc = prepare(&run, err);

    if (rc == 0)
        rc = run_all(&run, err);
    if (rc < 0 && source)
        source->ops->drop(source);
    for (size_t i = 0; i < run.slots; i++) {
        free(run.slot[i].bytes);
        free(run.slot[i].gets);
        free(run.slot[i].whose);
    }
    free(run.output);
    vel_gf_coder_destroy(run.coder);
    *ret_bad = run.bad;
    return rc;
}
