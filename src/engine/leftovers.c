/* SPDX-License-Identifier: BSD-3-Clause */
/* What is left of datasets that nobody can restore: parts that were set aside, which a
 * node that comes back may still complete, and entries of what no cache has any more.
 * All of it goes when a newer dataset is complete. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "engine/session_in.h"
#include "meta/cache.h"
#include "recover/recovery.h"

static bool has_newer(const struct vel_session *s, int64_t id)
{
    return s->held.n && vel_session_held(s, s->held.n - 1)->map.dataset.id > id;
}

/* An entry of a dataset that is neither on the prefix nor in a cache of ours. */
static bool is_nowhere(const struct vel_session *s, const struct vel_entry *entry)
{
    return entry->place < VEL_ON_STAGED && !vel_session_held_of(s, entry->dataset.id);
}

void vel_session_note_missed(struct vel_session *s, const struct vel_entry *entry,
                             int64_t id, const char *why)
{
    bool is_had = entry && (vel_entry_is_fetchable(entry) ||
                            !(entry->dataset.use & VEL_USE_CHECKPOINT));

    if (s->world->rank != 0 || is_had || id <= s->missed)
        return;
    free(s->why_missed);
    s->why_missed = strdup(why);
    s->missed = id;
}

int vel_session_require(struct vel_session *s, struct vel_err *err)
{
    int rc = 0;

    if (s->conf->restart == VEL_RESTART_REQUIRE && s->missed > 0 &&
        !has_newer(s, s->missed))
        rc = vel_fail(err, VEL_ELOST, "RESTART=REQUIRE: %s",
                      s->why_missed ? s->why_missed : "a newer checkpoint is known");
    return vel_comm_agree(s->world, rc, err);
}

/* It was in caches, and none has anything of it. */
static void tell_nowhere(struct vel_session *s, const struct vel_entry *entry,
                         const char *where)
{
    const struct vel_dataset *d = &entry->dataset;
    struct vel_buf text;

    vel_buf_init(&text);
    vel_buf_printf(&text,
                   "dataset %" PRId64 " (%s %" PRId64
                   ") is not found: it was in caches only, and none of those that were "
                   "looked at has any of it (%s)",
                   d->id, d->name, d->version, where);
    vel_log(has_newer(s, d->id) ? VEL_LOG_INFO : VEL_LOG_WARN, "%s",
            vel_buf_text(&text));
    if (!entry->refused)
        vel_session_note_missed(s, entry, d->id, vel_buf_text(&text));
    vel_buf_fini(&text);
}

int vel_session_miss(struct vel_session *s, const struct vel_vec *entries,
                     const struct vel_recovery *recovery, struct vel_err *err)
{
    const struct vel_entry *e = entries->items;
    int64_t has_leftovers = s->has_leftovers;
    struct vel_buf where;
    int rc;

    vel_buf_init(&where);
    for (size_t i = 0; i < s->stores->n; i++)
        vel_buf_printf(&where, "%s%s", i ? ", " : "", s->stores->items[i].name);
    for (size_t i = 0; i < entries->n; i++) {
        if (!is_nowhere(s, &e[i]))
            continue;
        has_leftovers = true;
        if (!vel_recovery_find(recovery, e[i].dataset.id))
            tell_nowhere(s, &e[i], vel_buf_text(&where));
    }
    vel_buf_fini(&where);
    rc = vel_comm_allreduce(s->world, VEL_COMM_MAX, &has_leftovers, 1, err);
    s->has_leftovers = has_leftovers;
    return rc;
}

/* The parts in the stores that this rank speaks for. */
static void sweep_caches(struct vel_session *s, int64_t newest)
{
    for (size_t i = 0; i < s->stores->n; i++) {
        const struct vel_store *store = &s->stores->items[i];
        struct vel_vec parts;
        struct vel_part *p;

        if (store->comm->rank != 0)
            continue;
        vel_vec_init(&parts, sizeof *p);
        vel_cache_scan(s->fs, s->store_homes[i], &parts, NULL);
        p = parts.items;
        for (size_t k = 0; k < parts.n; k++) {
            struct vel_err why = {0};

            if (p[k].is_aside && p[k].id < newest &&
                !vel_session_is_anothers(s, p[k].id) &&
                vel_cache_remove_part(s->fs, p[k].level, p[k].id, p[k].rank, &why) < 0)
                vel_log(VEL_LOG_WARN,
                        "dataset %" PRId64 ", which was set aside, stays in the cache: "
                        "%s",
                        p[k].id, why.text);
        }
        vel_parts_fini(&parts);
    }
}

static void sweep_index(struct vel_session *s, int64_t newest)
{
    struct vel_vec entries;
    struct vel_entry *e;
    struct vel_err why = {0};
    size_t left_out = 0;
    int rc = vel_session_load_index(s, &left_out, &entries, &why);

    if (rc < 0) {
        vel_log(VEL_LOG_WARN, "entries of lost datasets stay in the index: %s",
                why.text);
        return;
    }
    e = entries.items;
    for (size_t i = 0; i < entries.n; i++) {
        if (e[i].dataset.id >= newest || !is_nowhere(s, &e[i]))
            continue;
        vel_session_forget_behind(s, e[i].dataset.id);
        vel_session_tell(s,
                         (struct vel_event){.kind = VEL_EVENT_DROP,
                                            .text = "it could not be restored, and "
                                                    "a newer one is complete"},
                         &e[i].dataset);
    }
    vel_index_fini(&entries);
}

void vel_session_sweep_aside(struct vel_session *s)
{
    vel_log_shared(VEL_LOG_INFO, "datasets that were set aside are removed for space");
    sweep_caches(s, INT64_MAX);
}

void vel_session_sweep(struct vel_session *s)
{
    int64_t newest;

    if (!s->has_leftovers || !vel_session_newest_safe(s))
        return;
    s->has_leftovers = false;
    newest = vel_session_newest_safe(s);
    sweep_caches(s, newest);
    if (s->world->rank == 0)
        sweep_index(s, newest);
}
