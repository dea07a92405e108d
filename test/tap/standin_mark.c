/* SPDX-License-Identifier: BSD-3-Clause */
/* What a stand-in does when a session says what becomes of a dataset: as the chair. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "ident/once.h"
#include "jobs/mark.h"
#include "meta/paths.h"
#include "tap/standin_in.h"
#include "tap/tap.h"

static int claim(void *arg, int64_t id, int64_t *ret_owner, struct vel_err *err)
{
    struct standin *st = arg;
    char *dir = vel_dataset_dir(st->dir, id);
    struct vel_node *body = vel_node_object();
    int64_t above = 0;
    int rc = dir && body ? vel_claim_newest(st->fs, dir, "owner", &above, err)
                         : vel_out_of_memory(err, "a claim");

    if (rc == 0)
        rc = vel_claim(st->fs, dir, "owner", above > 0 ? above : 1, "owner", 1, body,
                       ret_owner, err);
    vel_node_destroy(body);
    free(dir);
    return rc;
}

static struct vel_flushing flushing_of(struct standin *st)
{
    return (struct vel_flushing){.fs = st->fs,
                                 .clock = vel_clock_system(),
                                 .prefix = st->prefix,
                                 .dir = st->dir,
                                 .node = "a stand-in",
                                 .copy = {.fs = st->fs, .clock = vel_clock_system()}};
}

static int settle_rivals(void *arg, const struct vel_entry *entry, struct vel_err *err)
{
    struct standin *st = arg;
    struct vel_flushing f = flushing_of(st);
    struct vel_vec rivals;
    int rc;

    vel_vec_init(&rivals, sizeof(struct vel_flush_rival));
    rc = vel_flushing_rivals(&f, entry, &rivals, err);
    for (size_t i = 0; rc == 0 && i < rivals.n; i++) {
        const struct vel_flush_rival *rival = vel_vec_at(&rivals, i);
        struct vel_flush_job job = {.id = rival->id};
        struct vel_entry settled = {0};

        if (rival->id > entry->dataset.id)
            continue;
        rc = claim(st, rival->id, &job.owner, err);
        if (rc == 0)
            rc = vel_flushing_settle(&f, &job, entry->dataset.id, &settled, err);
        vel_entry_fini(&settled);
    }
    vel_vec_fini(&rivals);
    return rc;
}

int standin_mark(struct standin *st, int64_t id, enum vel_mark what, const void *record,
                 size_t len, struct vel_err *err)
{
    const struct vel_flushing f = flushing_of(st);
    const struct vel_marking marking = {.flushing = &f,
                                        .claim_owner = claim,
                                        .settle_rivals = settle_rivals,
                                        .arg = st};

    return vel_mark(&marking, what, id, record, len, err);
}
