/* SPDX-License-Identifier: BSD-3-Clause */
/* What a stand-in does when a session says what becomes of a dataset: as the chair. */
#include "config.h"

#include "jobs/mark.h"
#include "tap/indexlab.h"
#include "tap/standin_in.h"
#include "tap/tap.h"

static struct vel_flushing flushing_of(struct standin *st)
{
    return (struct vel_flushing){.fs = st->fs,
                                 .clock = vel_clock_system(),
                                 .prefix = st->prefix,
                                 .dir = st->dir,
                                 .index = indexlab_keep(st->fs, st->dir),
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
        rc = vel_index_claim(f.index, rival->id, &job.owner, err);
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
    const struct vel_marking marking = {
        .flushing = &f, .settle_rivals = settle_rivals, .arg = st};

    return vel_mark(&marking, what, id, record, len, err);
}
