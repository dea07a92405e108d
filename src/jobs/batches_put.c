/* SPDX-License-Identifier: BSD-3-Clause */
/* Batches as facts. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "jobs/batches_in.h"

/* --- facts --- */

int vel_batches_put_fact(const struct vel_fact *fact, struct vel_buf *ret,
                         struct vel_err *err)
{
    int rc = vel_fact_put(fact, ret, err);

    vel_buf_putc(ret, '\n');
    return rc < 0 ? rc : vel_buf_status(ret, err);
}

int vel_batches_put(const struct vel_batch *batch, struct vel_buf *ret,
                    struct vel_err *err)
{
    const struct vel_fact fact = {.kind = VEL_FACT_BATCH,
                                  .u.batch = {.number = batch->id.launch,
                                              .turn = batch->id.turn,
                                              .batch = batch->id.number,
                                              .count = batch->count,
                                              .level = batch->level,
                                              .line = batch->line,
                                              .step = batch->key.step,
                                              .generation = batch->key.generation,
                                              .above = batch->key.above,
                                              .late = batch->key.is_late}};

    return vel_batches_put_fact(&fact, ret, err);
}

/* A template is "NAME PATTERN", or a pattern alone. */
int vel_batches_put_line(const struct vel_batch *batch, struct vel_buf *ret,
                         struct vel_err *err)
{
    char *template = strdup(batch->key.template);
    char *blank = template && *template != '/' ? strchr(template, ' ') : NULL;
    struct vel_fact fact = {
        .kind = VEL_FACT_LINE,
        .u.line = {.number = batch->id.launch,
                   .line = batch->line,
                   .kind = batch->kind | (batch->key.is_alone ? VEL_LINE_IS_ALONE : 0),
                   .name = blank ? template : (char *)(uintptr_t) "",
                   .pattern = blank ? blank + 1 : template}};
    int rc;

    if (blank)
        *blank = '\0';
    rc = template ? vel_batches_put_fact(&fact, ret, err)
                  : vel_out_of_memory(err, "a line");
    free(template);
    return rc;
}

static int put_file(const struct vel_batch *batch, const struct vel_batch_rank *rank,
                    const struct vel_batch_file *file, struct vel_buf *ret,
                    struct vel_err *err)
{
    struct vel_fact open = {.kind = VEL_FACT_OPEN,
                            .u.open = {batch->id.launch, batch->id.turn,
                                       batch->id.number, file->number, rank->rank,
                                       file->name}};
    struct vel_fact closed = {.kind = VEL_FACT_CLOSED,
                              .u.closed = {batch->id.launch, batch->id.turn,
                                           batch->id.number, file->number, file->order,
                                           file->size}};
    struct vel_fact given = {.kind = VEL_FACT_GIVEN,
                             .u.given = {batch->id.launch, batch->id.turn,
                                         batch->id.number, file->number, file->given,
                                         file->is_before}};
    int rc = vel_batches_put_fact(&open, ret, err);

    if (rc == 0 && file->order > 0)
        rc = vel_batches_put_fact(&closed, ret, err);
    return rc == 0 && file->given > 0 ? vel_batches_put_fact(&given, ret, err) : rc;
}

static int put_batch(const struct vel_batch *batch, struct vel_buf *ret,
                     struct vel_err *err)
{
    int rc = vel_batches_put(batch, ret, err);

    for (size_t r = 0; r < batch->ranks.n; r++) {
        const struct vel_batch_rank *rank = vel_vec_at(&batch->ranks, r);

        for (size_t i = 0; rc == 0 && i < rank->files.n; i++)
            rc = put_file(batch, rank, vel_vec_at(&rank->files, i), ret, err);
    }
    for (size_t i = 0; rc == 0 && i < batch->parts.n; i++) {
        const struct vel_batch_part *part = vel_vec_at(&batch->parts, i);
        const struct vel_fact fact = {.kind = VEL_FACT_PART,
                                      .u.part = {part->id, part->rank, batch->id.launch,
                                                 batch->id.turn, batch->id.number,
                                                 part->upto}};

        rc = vel_batches_put_fact(&fact, ret, err);
    }
    return rc;
}

int vel_batches_put_own(const struct vel_batches *batches, int64_t number,
                        struct vel_buf *ret, struct vel_err *err)
{
    const struct vel_fact fact = {.kind = VEL_FACT_LAUNCH,
                                  .u.launch = {number, batches->of.ranks,
                                               vel_batches_boot(batches),
                                               (char *)(uintptr_t)batches->of.launch}};

    return vel_batches_put_fact(&fact, ret, err);
}

static int put_launch(const struct vel_batch *batch, struct vel_buf *ret,
                      struct vel_err *err)
{
    const struct vel_batch_key *key = &batch->key;
    const struct vel_fact fact = {
        .kind = VEL_FACT_LAUNCH,
        .u.launch = {batch->id.launch, key->ranks, key->boot, key->launch}};

    return vel_batches_put_fact(&fact, ret, err);
}

/* What a batch refers to, once: its launch and its line. */
static int put_once(const struct vel_batch *batch, struct vel_map *has,
                    struct vel_buf *ret, struct vel_err *err)
{
    char *launch = vel_batch_numbered("", "launch", batch->id.launch),
         *line = launch ? vel_batch_numbered(launch, "line", batch->line) : NULL;
    int rc = line ? 0 : vel_out_of_memory(err, "a batch");

    if (rc == 0 && !vel_map_has(has, launch))
        rc = put_launch(batch, ret, err);
    if (rc == 0 && !vel_map_has(has, line))
        rc = vel_batches_put_line(batch, ret, err);
    if (rc == 0 && (vel_map_set(has, launch, has, NULL) < 0 ||
                    vel_map_set(has, line, has, NULL) < 0))
        rc = vel_out_of_memory(err, "a batch");
    free(line);
    free(launch);
    return rc;
}

int vel_batches_put_all(const struct vel_batches *batches, int64_t number,
                        struct vel_buf *ret, struct vel_err *err)
{
    struct vel_map *has = vel_map_create();
    int rc = has ? vel_batches_put_own(batches, number, ret, err)
                 : vel_out_of_memory(err, "batches");

    for (size_t i = 0; rc == 0 && i < batches->all.n; i++) {
        rc = put_once(vel_vec_at(&batches->all, i), has, ret, err);
        if (rc == 0)
            rc = put_batch(vel_vec_at(&batches->all, i), ret, err);
    }
    if (has)
        vel_map_destroy(has, NULL);
    return rc == 0 ? vel_catalog_put(batches->notes, ret, err) : rc;
}
