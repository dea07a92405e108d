/* SPDX-License-Identifier: BSD-3-Clause */
/* What a session finds when it begins: caches and prefix of earlier launches
 * (doc/engine.txt, 5). */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "engine/session_in.h"
#include "meta/ids.h"
#include "recover/revive.h"

/* --- the index --- */

/* The tombstones, for all: items int64_t. */
static int dropped_ids(struct vel_session *s, struct vel_vec *ret_ids,
                       struct vel_err *err)
{
    struct vel_vec ids = {0};
    struct vel_buf bytes;
    int rc = 0;

    vel_buf_init(&bytes);
    if (s->world->rank == 0) {
        rc = vel_dropped_load(s->fs, s->dir, &ids, err);
        if (rc == 0)
            vel_buf_append(&bytes, ids.items, ids.n * sizeof(int64_t));
        if (rc == 0)
            rc = vel_buf_status(&bytes, err);
        vel_vec_fini(&ids);
    }
    rc = vel_comm_agree(s->world, rc, err);
    if (rc == 0)
        rc = vel_comm_bcast(s->world, 0, &bytes, err);
    vel_vec_init(ret_ids, sizeof(int64_t));
    for (size_t at = 0; rc == 0 && at < bytes.len; at += sizeof(int64_t)) {
        int64_t id;

        memcpy(&id, bytes.data + at, sizeof id);
        if (!vel_vec_push(ret_ids, &id))
            rc = vel_out_of_memory(err, "tombstones");
    }
    vel_buf_fini(&bytes);
    rc = vel_comm_agree(s->world, rc, err);
    if (rc < 0)
        vel_vec_fini(ret_ids);
    return rc;
}

/* --- the caches --- */

static void continue_checkpoints(struct vel_session *s, const struct vel_dataset *d)
{
    if (d->checkpoint > s->last_checkpoint)
        s->last_checkpoint = d->checkpoint;
}

static const struct vel_entry *entry_of(const struct vel_vec *entries, int64_t id)
{
    const struct vel_entry *e = entries->items;

    for (size_t i = 0; i < entries->n; i++)
        if (e[i].dataset.id == id)
            return &e[i];
    return NULL;
}

static size_t store_of_level(const struct vel_session *s, const char *level)
{
    for (size_t i = 0; level && i < s->stores->n; i++) {
        size_t len = strlen(s->stores->items[i].base);

        if (strncmp(level, s->stores->items[i].base, len) == 0 && level[len] == '/')
            return i;
    }
    return s->stores->n;
}

/* A launch that saw neither this entry nor these caches may have given the number to a
 * dataset of its own. What rank 0 finds is so for all. */
static bool is_of(const struct vel_entry *entry, const struct vel_dataset *d)
{
    return entry->dataset.version == d->version &&
           entry->dataset.created == d->created &&
           strcmp(entry->dataset.name, d->name) == 0;
}

static int hold(struct vel_session *s, struct vel_revived *revived, struct vel_err *err)
{
    struct vel_held held = {.map = revived->map,
                            .level = revived->level,
                            .store = store_of_level(s, revived->level),
                            .is_earlier = true};

    if (revived->is_foreign) {
        held.parts = revived->parts;
    } else {
        struct vel_revived_part *own = revived->parts.items;

        held.dir = own->dir;
        vel_vec_fini(&revived->parts);
    }
    free(revived->rebuilt_ranks);
    memset(revived, 0, sizeof *revived);
    continue_checkpoints(s, &held.map.dataset);
    return vel_session_hold(s, &held, err);
}

/* From where it came back: for the log and for the event. */
static void say_how(const struct vel_revived *revived, struct vel_buf *ret)
{
    const char *who = revived->rebuilt_ranks;
    int ranks = revived->map.dataset.ranks;

    if (revived->is_foreign)
        vel_buf_printf(ret, "the parts of all %d ranks that wrote it are there", ranks);
    else if (!revived->rebuilt && !revived->moved)
        vel_buf_puts(ret, "nothing was lost");
    else
        vel_buf_printf(ret, "of %d parts %" PRId64 " rebuilt%s%s%s, %" PRId64 " moved",
                       ranks, revived->rebuilt, who ? " (" : "", who ? who : "",
                       who ? ")" : "", revived->moved);
}

/* It is among those that can be restored. That is news when something was lost. */
static void tell_revived(struct vel_session *s, const struct vel_revived *revived,
                         double seconds)
{
    const struct vel_dataset *d = &revived->map.dataset;
    bool is_news = revived->rebuilt || (s->has_leftovers && !s->held.n);
    struct vel_buf how;

    vel_buf_init(&how);
    say_how(revived, &how);
    vel_log_shared(is_news ? VEL_LOG_WARN : VEL_LOG_INFO,
                   "restored dataset %" PRId64 " (%s %" PRId64
                   ") in the caches in %.2f s: %s",
                   d->id, d->name, d->version, seconds, vel_buf_text(&how));
    vel_session_tell(s,
                     (struct vel_event){.kind = VEL_EVENT_REBUILD,
                                        .result = VEL_EVENT_OK,
                                        .seconds = seconds,
                                        .text = vel_buf_text(&how)},
                     d);
    vel_buf_fini(&how);
}

/* A program that read it has said that it is not valid: it is left as it is. */
static bool is_refused(struct vel_session *s, const struct vel_vec *entries, int64_t id)
{
    const struct vel_entry *entry = entry_of(entries, id);

    if (!entry || !entry->refused)
        return false;
    s->has_leftovers = true;
    vel_log_shared(VEL_LOG_INFO,
                   "dataset %" PRId64 " (%s %" PRId64
                   ") was not valid when a program read it: it is not offered",
                   id, entry->dataset.name, entry->dataset.version);
    return true;
}

/* It is held, and owed what it was before. */
static int keep(struct vel_session *s, struct vel_revived *revived,
                const struct vel_vec *entries, unsigned before, struct vel_err *err)
{
    int64_t id = revived->map.dataset.id;
    const struct vel_entry *entry = entry_of(entries, id);
    int64_t is_its =
        s->world->rank == 0 && entry && is_of(entry, &revived->map.dataset);
    int rc = vel_comm_agree_fold(s->world, hold(s, revived, err), VEL_COMM_MAX, &is_its,
                                 1, err);
    struct vel_held *held = rc == 0 ? vel_session_held_of(s, id) : NULL;

    if (!held)
        return rc;
    if (is_its) {
        held->entry = *entry;
        held->entry.dataset.name = NULL;
    }
    if (held->entry.place < VEL_ON_STAGED)
        held->entry.place = VEL_ON_CACHE; /* it could not be taken back: begin anew */
    return vel_session_owe_again(s, held, before, err);
}

static int revive_one(struct vel_session *s, struct vel_caches *caches, int64_t id,
                      const struct vel_vec *entries, struct vel_err *err)
{
    struct vel_revived revived;
    struct vel_err why = {0};
    uint64_t begun = vel_clock_monotonic(s->clock);
    unsigned before = 0;
    double seconds;
    int rc = vel_session_rest(s, id, &before, err);

    if (rc < 0)
        return rc;
    vel_log_shared(VEL_LOG_INFO, "restoring dataset %" PRId64 " from the caches", id);
    rc = vel_revive(caches, id, &revived, &why);
    seconds = vel_session_seconds(s, begun);
    if (rc == 0) {
        tell_revived(s, &revived, seconds);
        return keep(s, &revived, entries, before, err);
    }
    if (rc == VEL_ENOENT) {
        vel_log_shared(VEL_LOG_INFO, "dataset %" PRId64 " was never complete: removed",
                       id);
    } else {
        s->has_leftovers = true;
        /* newest first: what is older than one that is restored is not missed */
        vel_log_shared(s->held.n ? VEL_LOG_INFO : VEL_LOG_WARN,
                       "%s: it cannot be restored from the caches now, and is set "
                       "aside there until a newer one is complete",
                       why.text);
        vel_session_tell(s,
                         (struct vel_event){.kind = VEL_EVENT_REBUILD,
                                            .result = VEL_EVENT_FAILED,
                                            .id = id,
                                            .seconds = seconds,
                                            .text = why.text},
                         NULL);
    }
    /* a communicator that broke is no dataset that cannot be restored */
    rc = rc == VEL_ENOENT ? 0 : vel_session_go_on(s, id, before, err);
    return rc < 0 ? rc : vel_comm_barrier(s->world, err);
}

/* Collective. By rank 0's look, for launches may end meanwhile. What leaders have
 * forgotten a node that was away has still: then nothing but its parts says whose they
 * are, and the number may have been given again. */
static int is_others(struct vel_session *s, const struct vel_caches *caches, int64_t id,
                     bool *ret_is, struct vel_err *err)
{
    int64_t by[] = {s->world->rank == 0 && vel_session_is_anothers(s, id),
                    vel_caches_has_of(caches, id, true),
                    vel_caches_has_of(caches, id, false)};
    int rc = vel_comm_allreduce(s->world, VEL_COMM_MAX, by, 3, err);

    *ret_is = rc == 0 && (by[0] || (by[1] && !by[2]));
    return rc;
}

/* Purged, or deleted by somebody. */
static int remove_one(struct vel_session *s, struct vel_caches *caches, int64_t id,
                      struct vel_err *err)
{
    unsigned before;
    int rc = vel_session_rest(s, id, &before, err);

    if (rc == 0)
        vel_caches_remove(caches, id);
    return rc;
}

static bool is_not_ours(void *arg, int64_t id)
{
    return vel_session_is_anothers(arg, id);
}

/* ret_seen receives the ids of all that the caches have something of. */
static int revive_all(struct vel_session *s, const struct vel_vec *entries,
                      const struct vel_vec *dropped, struct vel_vec *ret_seen,
                      struct vel_err *err)
{
    struct vel_caches_of of = {.world = s->world,
                               .fs = s->fs,
                               .stores = s->stores,
                               .owner = &s->owner,
                               .memory = (size_t)s->conf->memory,
                               .piece = (size_t)s->conf->file_buf_size,
                               .others = {.is_anothers = is_not_ours, .arg = s},
                               .throttles = s->throttles,
                               .may_move = s->conf->distribute,
                               .keeps = vel_session_has_nobody(s)};
    struct vel_caches caches;
    int64_t id = INT64_MAX;
    bool is_theirs = false;
    int rc = vel_caches_open(&of, &caches, err);

    if (rc < 0)
        return rc;
    while (rc == 0) {
        rc = vel_caches_next(&caches, id, &id, err);
        if (rc < 0 || id == 0)
            break;
        if (id > s->last_id)
            s->last_id = id;
        if (!vel_vec_push(ret_seen, &id)) {
            rc = vel_out_of_memory(err, "what the cache holds");
            vel_comm_fail(s->world, err);
            break;
        }
        rc = is_others(s, &caches, id, &is_theirs, err);
        if (rc < 0 || is_theirs)
            continue;
        if (s->conf->cache_purge || vel_session_has_id(dropped, id))
            rc = remove_one(s, &caches, id, err);
        else if (!is_refused(s, entries, id))
            rc = revive_one(s, &caches, id, entries, err);
    }
    vel_caches_close(&caches);
    return rc;
}

/* --- the prefix --- */

static int purge_prefix(struct vel_session *s, struct vel_vec *entries,
                        struct vel_err *err)
{
    struct vel_entry *e = entries->items;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < entries->n; i++)
        rc = vel_flush_remove(&s->crew, &e[i], err);
    if (rc == 0) {
        vel_index_fini(entries);
        vel_vec_init(entries, sizeof(struct vel_entry));
    }
    return rc;
}

/* Collective. Numbers go on above all that was ever used: here those of the index, be
 * its entries readable or not, and those that leaders and sessions have claimed. */
static int begin_numbers(struct vel_session *s, struct vel_err *err)
{
    int64_t last = 0;
    int rc = s->world->rank == 0 ? vel_id_last(s->fs, s->dir, &last, err) : 0;

    rc = vel_comm_agree(s->world, rc, err);
    if (rc == 0)
        rc = vel_comm_allreduce(s->world, VEL_COMM_MAX, &last, 1, err);
    s->last_id = last;
    return rc;
}

/* And those of the tombstones. Those of what the caches hold are known when it is
 * looked at. */
static void continue_numbers(struct vel_session *s, const struct vel_vec *entries,
                             const struct vel_vec *dropped)
{
    const struct vel_entry *e = entries->items;

    for (size_t i = 0; i < dropped->n; i++) {
        int64_t id = *(int64_t *)vel_vec_at(dropped, i);

        s->last_id = id > s->last_id ? id : s->last_id;
    }
    for (size_t i = 0; i < entries->n; i++) {
        const struct vel_dataset *d = &e[i].dataset;

        continue_checkpoints(s, d);
    }
}

/* The dataset to restart from is to be on the prefix before the program goes on. */
static int flush_newest(struct vel_session *s, struct vel_err *err)
{
    struct vel_held *newest = NULL;
    struct vel_err why = {0};
    int rc = 0;

    for (size_t i = s->held.n; i-- > 0 && !newest;)
        if (vel_session_held(s, i)->map.dataset.use & VEL_USE_CHECKPOINT)
            newest = vel_session_held(s, i);
    if (!newest)
        return 0;
    rc = (s->conf->global_restart ? vel_session_flush_named : vel_session_flush)(
        s, newest->map.dataset.id, &newest, &why);
    if (rc == 0) {
        newest->is_read_in_place |= s->conf->global_restart;
        return 0;
    }
    if (s->conf->strict)
        return vel_fail(err, (enum vel_status)rc, "%s", why.text);
    vel_log_shared(VEL_LOG_WARN, "%s: the restart is from the cache", why.text);
    return vel_comm_barrier(s->world, err);
}

static int recover(struct vel_session *s, struct vel_err *err)
{
    struct vel_vec entries = {0}, dropped = {0}, seen;
    struct vel_err why = {0};
    int rc;

    if (s->world->rank == 0)
        vel_prefix_sweep(s->fs, s->dir, is_not_ours, s);
    rc = vel_session_index(s, VEL_OWNER_SESSION, &entries, err);
    vel_vec_init(&seen, sizeof(int64_t));
    if (rc == 0)
        rc = begin_numbers(s, err);
    if (rc == 0)
        rc = dropped_ids(s, &dropped, err);
    if (rc == 0) {
        continue_numbers(s, &entries, &dropped);
        rc = vel_session_settle_flushes(s, &entries, err);
    }
    if (rc == 0 && s->conf->prefix_purge)
        rc = purge_prefix(s, &entries, err);
    if (rc == 0)
        rc = revive_all(s, &entries, &dropped, &seen, err);
    if (rc == 0) {
        vel_session_miss(s, &entries, &seen);
        if (s->conf->flush_on_restart || s->conf->global_restart)
            rc = flush_newest(s, err);
    }
    if (rc == 0 && s->held.n == 0 && s->conf->fetch && !s->conf->global_restart &&
        vel_session_fetch_newest(s, &why) < 0)
        rc = vel_comm_barrier(s->world, err);
    if (rc == 0 && why.status && why.status != VEL_ENOENT)
        vel_log_shared(VEL_LOG_WARN, "nothing was fetched: %s", why.text);
    else if (rc == 0 && s->held.n == 0 && s->has_leftovers)
        vel_log_shared(VEL_LOG_WARN, "nothing can be restored, neither from the caches "
                                     "nor from the prefix: the program begins anew");
    vel_vec_fini(&seen);
    vel_vec_fini(&dropped);
    vel_index_fini(&entries);
    return rc;
}

int vel_session_recover(struct vel_session *s, struct vel_err *err)
{
    struct vel_lock *lock;
    int rc = vel_session_lock_recovery(s, &lock, err);

    if (rc == 0)
        rc = recover(s, err);
    vel_lock_release(lock);
    return rc;
}
