/* SPDX-License-Identifier: BSD-3-Clause */
/* From the caches to the prefix: what, when, and how many stay there. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/path.h"
#include "engine/session_in.h"
#include "meta/cache.h"
#include "recover/revive.h"
#include "xfer/stands.h"

/* --- which files --- */

int vel_session_files(struct vel_session *s, const struct vel_held *held,
                      struct vel_vec *ret_files, struct vel_err *err)
{
    const struct vel_revived_part *p = held->parts.items;
    struct vel_vec files;
    int rc = 0;

    vel_vec_init(&files, sizeof(struct vel_flush_file));
    if (held->dir)
        rc = vel_part_files(s->fs, s->prefix, held->dir, s->world->rank, &files, err);
    for (size_t i = 0; rc == 0 && i < held->parts.n; i++)
        rc = vel_part_files(s->fs, s->prefix, p[i].dir, p[i].rank, &files, err);
    if (rc < 0)
        vel_flush_files_fini(&files);
    else
        *ret_files = files;
    return rc;
}

/* --- how many stay --- */

/* PREFIX_SIZE: the oldest checkpoints go, and first those that cannot be restored any
 * more; those that failed take nobody's place; a dataset that is an output as well
 * never goes. */
int vel_session_slide(struct vel_session *s, struct vel_err *err)
{
    struct vel_vec entries;
    struct vel_entry *e;
    int64_t kept = 0;
    int rc;

    if (!s->conf->prefix_size)
        return 0;
    rc = vel_session_index(s, VEL_OWNER_SESSION, &entries, err);
    if (rc < 0)
        return rc;
    e = entries.items;
    for (size_t i = 0; rc == 0 && i < entries.n; i++) {
        struct vel_held *held = vel_session_held_of(s, e[i].dataset.id);

        if (e[i].dataset.use != VEL_USE_CHECKPOINT || e[i].place != VEL_ON_PREFIX ||
            (!e[i].replaced && (kept += !e[i].failed) <= s->conf->prefix_size))
            continue;
        rc = held ? vel_flush_take_back(&s->crew, &e[i], 0, err)
                  : vel_flush_remove(&s->crew, &e[i], err);
        if (rc == 0 && held)
            held->entry.place = VEL_ON_CACHE;
    }
    vel_index_fini(&entries);
    return rc;
}

/* --- what was begun --- */

static void note_place(struct vel_session *s, const struct vel_entry *entry)
{
    struct vel_held *held = vel_session_held_of(s, entry->dataset.id);

    if (held) {
        held->entry.place = entry->place;
        held->entry.attempt = entry->attempt;
    }
}

/* What it had staged is gone or corrupt: it will never have all its names, and nothing
 * is gained by keeping newer ones from theirs. */
static void give_up(struct vel_session *s, struct vel_entry *entry, int rc)
{
    struct vel_err why = {0};

    if (entry->place != VEL_ON_STAGED || (rc != VEL_ECORRUPT && rc != VEL_ENOENT))
        return;
    entry->failed = vel_clock_wall(s->clock) / (int64_t)VEL_CLOCK_S;
    if (s->world->rank == 0 && vel_entry_save(s->fs, s->dir, entry, &why) < 0)
        vel_log(VEL_LOG_WARN, "failed flush not recorded: %s", why.text);
}

/* What services had been moving has arrived: the flush goes on without being begun
 * anew. */
static int go_on(struct vel_session *s, struct vel_entry *e, struct vel_err *err)
{
    uint64_t begun = vel_clock_monotonic(s->clock);
    int rc = vel_flush_resume(&s->crew, e, err);

    if (rc == 0)
        vel_log_shared(VEL_LOG_INFO,
                       "flushed dataset %" PRId64 " (%s %" PRId64
                       "), which an earlier launch had begun",
                       e->dataset.id, e->dataset.name, e->dataset.version);
    vel_session_tell(
        s,
        (struct vel_event){.kind = VEL_EVENT_FLUSH,
                           .result = rc == 0 ? VEL_EVENT_OK : VEL_EVENT_FAILED,
                           .seconds = vel_session_seconds(s, begun),
                           .text = rc == 0 ? "begun by an earlier launch" : err->text},
        &e->dataset);
    return rc;
}

/* The next flush must not use names to which a service may still write. */
static int take_back(struct vel_session *s, struct vel_entry *e, struct vel_err *err)
{
    return vel_flush_take_back(&s->crew, e,
                               vel_takeover_attempt(s->takeover, e->dataset.id), err);
}

static int settle_flushing(struct vel_session *s, struct vel_entry *e,
                           struct vel_err *err)
{
    struct vel_err why = {0};
    int rc;

    if (!vel_takeover_has_arrived(s->takeover, e))
        return take_back(s, e, err);
    rc = go_on(s, e, &why);
    if (rc < 0 && e->place == VEL_ON_FLUSHING) {
        vel_log_shared(VEL_LOG_WARN, "%s: it begins anew", why.text);
        return take_back(s, e, err);
    }
    return rc < 0 ? vel_fail(err, (enum vel_status)rc, "%s", why.text) : 0;
}

/* Forward what was staged, and back what was not. */
static int settle(struct vel_session *s, struct vel_entry *e, struct vel_err *err)
{
    struct vel_err why = {0};
    int rc;

    if (e->place == VEL_ON_STAGED)
        rc = vel_flush_finish(&s->crew, e, &why);
    else if (e->place == VEL_ON_FLUSHING)
        rc = settle_flushing(s, e, &why);
    else
        rc = vel_flush_remove(&s->crew, e, &why);
    if (rc < 0) {
        vel_log_shared(VEL_LOG_WARN, "%s", why.text);
        give_up(s, e, rc);
    } else if (e->place != VEL_ON_PREFIX) {
        e->place = VEL_ON_CACHE;
    }
    s->has_staged |= e->place == VEL_ON_STAGED && !e->failed;
    note_place(s, e);
    return e->place == VEL_ON_PREFIX
               ? vel_session_mark_replaced(s, e->dataset.id, true, err)
               : vel_comm_barrier(s->world, err);
}

/* Those of the background are its own to settle. */
static bool is_ours_to_settle(const struct vel_session *s, int64_t id)
{
    const struct vel_held *held = vel_session_held_of(s, id);

    return !s->background || (held && !held->owed && !held->is_earlier);
}

int vel_session_settle_flushes(struct vel_session *s, struct vel_vec *entries,
                               struct vel_err *err)
{
    struct vel_entry *e = entries->items;
    int rc = 0;

    s->has_staged = false;
    /* the oldest first, since a newer one may replace its files */
    for (size_t i = entries->n; rc == 0 && i-- > 0;)
        if (e[i].place != VEL_ON_CACHE && e[i].place != VEL_ON_PREFIX &&
            !(e[i].place == VEL_ON_STAGED && e[i].failed) &&
            is_ours_to_settle(s, e[i].dataset.id))
            rc = settle(s, &e[i], err);
    return rc;
}

int vel_session_settle_before(struct vel_session *s, struct vel_err *err)
{
    struct vel_vec entries;
    int rc;

    if (!s->has_staged)
        return 0;
    rc = vel_session_index(s, VEL_OWNER_SESSION, &entries, err);
    if (rc < 0)
        return rc;
    rc = vel_session_settle_flushes(s, &entries, err);
    vel_index_fini(&entries);
    if (rc == 0 && s->has_staged)
        rc = vel_fail(err, VEL_EIO, "an older flush cannot be finished");
    return rc;
}

/* --- flush --- */

/* All of it, or nothing. */
static int check_files(struct vel_session *s, const struct vel_vec *files,
                       const struct vel_dataset *dataset, struct vel_err *err)
{
    int64_t n = (int64_t)files->n;
    int rc = vel_comm_allreduce(s->world, VEL_COMM_SUM, &n, 1, err);

    if (rc == 0 && n != dataset->files)
        rc = vel_fail(err, VEL_ECORRUPT,
                      "of the %" PRId64 " files of dataset %" PRId64 " %" PRId64
                      " are in the caches",
                      dataset->files, dataset->id, n);
    return rc;
}

static int flush(struct vel_session *s, struct vel_held *held, struct vel_err *err)
{
    struct vel_dataset *dataset = &held->map.dataset;
    struct vel_entry entry = held->entry;
    struct vel_vec files = {0};
    const char *store =
        held->store < s->stores->n ? s->stores->items[held->store].base : s->prefix;
    struct vel_crew crew = vel_session_crew(s, held->store);
    uint64_t begun = vel_clock_monotonic(s->clock);
    bool takes_names = false;
    int rc = vel_session_files(s, held, &files, err);

    entry.dataset = *dataset;
    entry.failed = 0; /* of a copy before this one */
    if (entry.attempt < vel_takeover_attempt(s->takeover, dataset->id))
        entry.attempt = vel_takeover_attempt(s->takeover, dataset->id);
    if (rc == 0)
        rc = vel_stands_sum_up(&crew, &files, err);
    rc = vel_comm_agree(s->world, rc, err);
    if (rc == 0)
        takes_names = vel_session_takes_names(s, &files);
    vel_session_tell(s, (struct vel_event){.kind = VEL_EVENT_FLUSH_START}, dataset);
    if (rc == 0)
        rc = check_files(s, &files, dataset, err);
    if (rc == 0)
        rc = vel_flush(&crew, store, &files, &entry, err);
    held->entry = entry;
    held->entry.dataset.name = NULL;
    s->has_staged |= entry.place == VEL_ON_STAGED;
    if (rc == 0) {
        vel_policy_note_flush(&s->policy, dataset->checkpoint);
        vel_log_shared(VEL_LOG_INFO,
                       "flushed dataset %" PRId64 " (%s %" PRId64 "), %" PRId64
                       " bytes in %.2f s",
                       dataset->id, dataset->name, dataset->version, dataset->bytes,
                       vel_session_seconds(s, begun));
    }
    vel_session_tell(
        s,
        (struct vel_event){.kind = VEL_EVENT_FLUSH,
                           .result = rc == 0 ? VEL_EVENT_OK : VEL_EVENT_FAILED,
                           .seconds = vel_session_seconds(s, begun),
                           .text = rc == 0 || !err ? NULL : err->text},
        dataset);
    vel_flush_files_fini(&files);
    return rc < 0 ? rc : vel_session_mark_replaced(s, dataset->id, takes_names, err);
}

/* Now, and not in the background. */
static int flush_instead(struct vel_session *s, struct vel_held *held,
                         struct vel_err *err)
{
    unsigned owed = held->owed & ~(unsigned)VEL_OWE_FLUSH;
    int rc = vel_session_take_back_held(s, held, err);

    if (rc == 0)
        rc = flush(s, held, err);
    if (rc == 0 && owed && held->dir)
        rc = vel_session_promise(s, &held->map, held->dir, -1, owed, err);
    if (rc == 0 && held->dir)
        held->owed = owed;
    return rc;
}

int vel_session_flush(struct vel_session *s, struct vel_held *held, struct vel_err *err)
{
    int rc = vel_session_settle_before(s, err);

    /* perhaps it was this one */
    if (rc < 0 || held->entry.place == VEL_ON_PREFIX)
        return rc;
    return held->owed ? flush_instead(s, held, err) : flush(s, held, err);
}

int vel_session_flush_plain(struct vel_session *s, struct vel_held *held,
                            struct vel_err *err)
{
    bool packs = s->crew.packs;
    int rc;

    s->crew.packs = false;
    rc = vel_session_flush(s, held, err);
    s->crew.packs = packs;
    return rc;
}

int vel_session_adopt(struct vel_session *s, struct vel_held *held,
                      const struct vel_store *store, struct vel_vec *files,
                      struct vel_err *err)
{
    struct vel_entry entry = {.dataset = s->writing.map.dataset};
    struct vel_crew crew = vel_session_crew(s, store ? store->index : s->stores->n);
    struct vel_err why = {0};
    bool takes_names;
    int rc = vel_session_settle_before(s, err);

    if (rc < 0)
        return rc;
    takes_names = vel_session_takes_names(s, files);
    rc = store ? vel_flush(&crew, store->base, files, &entry, &why)
               : vel_flush_adopt(&crew, files, &entry, &why);
    s->has_staged |= entry.place == VEL_ON_STAGED;
    if (entry.place == VEL_ON_STAGED) { /* forward only: some have their names */
        vel_log_shared(VEL_LOG_WARN, "%s: it is tried again", why.text);
        rc = vel_comm_barrier(s->world, err);
    } else if (rc < 0) {
        vel_fail(err, (enum vel_status)rc, "%s", why.text);
    }
    held->entry = entry;
    held->entry.dataset.name = NULL;
    return rc < 0 ? rc
                  : vel_session_mark_replaced(s, entry.dataset.id, takes_names, err);
}

static int kind_of(const struct vel_dataset *dataset)
{
    if (dataset->use == VEL_USE_OUTPUT)
        return VEL_KIND_OUTPUT;
    return dataset->use == VEL_USE_CHECKPOINT ? VEL_KIND_CHECKPOINT : VEL_KIND_BOTH;
}

bool vel_session_flush_due(const struct vel_session *s,
                           const struct vel_dataset *dataset, bool is_exposed,
                           bool is_last)
{
    struct vel_policy_flush facts;

    vel_policy_get_flush(&s->policy, kind_of(dataset), dataset->checkpoint, is_last,
                         &facts);
    return vel_policy_flush_due(s->conf, &facts) || (is_exposed && s->conf->flush);
}

int vel_session_flush_now(struct vel_session *s, struct vel_held *held,
                          struct vel_err *err)
{
    struct vel_err why = {0};
    int rc = vel_session_flush(s, held, &why);

    if (rc == 0)
        rc = vel_session_slide(s, &why);
    if (rc == 0)
        return 0;
    vel_log_shared(VEL_LOG_WARN, "%s: it stays in the cache", why.text);
    return s->conf->strict ? vel_fail(err, (enum vel_status)rc, "%s", why.text)
                           : vel_comm_barrier(s->world, err);
}
