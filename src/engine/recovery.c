/* SPDX-License-Identifier: BSD-3-Clause */
/* What a session finds when it begins: caches and prefix of earlier launches
 * (doc/engine.txt, 5). */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "engine/session_in.h"
#include "recover/recovery.h"
#include "view/missed.h"

/* What earlier launches have left on the prefix, as rank 0 has read it; elsewhere all
 * of it is empty. */
struct past {
    struct vel_vec entries;          /* struct vel_entry, newest first */
    struct vel_vec dropped, refused; /* int64_t */
};

/* --- the caches --- */

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
 * dataset of its own. */
static bool is_of(const struct vel_entry *entry, const struct vel_dataset *d)
{
    return entry->dataset.version == d->version &&
           entry->dataset.created == d->created &&
           strcmp(entry->dataset.name, d->name) == 0;
}

static int hold(struct vel_session *s, struct vel_brought *brought, struct vel_err *err)
{
    struct vel_held held = {.map = brought->map,
                            .level = brought->level,
                            .store = store_of_level(s, brought->level),
                            .is_earlier = true};

    if (brought->is_foreign) {
        held.parts = brought->parts;
    } else {
        struct vel_brought_part *own = brought->parts.items;

        held.dir = own->dir;
        vel_vec_fini(&brought->parts);
    }
    free(brought->rebuilt_ranks);
    memset(brought, 0, sizeof *brought);
    if (held.map.dataset.checkpoint > s->last_checkpoint)
        s->last_checkpoint = held.map.dataset.checkpoint;
    return vel_session_hold(s, &held, err);
}

/* From where it came back: for the log and for the event. */
static void say_how(const struct vel_brought *brought, struct vel_buf *ret)
{
    const char *who = brought->rebuilt_ranks;
    int ranks = brought->map.dataset.ranks;

    if (brought->is_foreign && !brought->rebuilt)
        vel_buf_printf(ret, "the parts of all %d ranks that wrote it are there", ranks);
    else if (!brought->rebuilt && !brought->moved)
        vel_buf_puts(ret, "nothing was lost");
    else
        vel_buf_printf(ret, "of %d parts %" PRId64 " rebuilt%s%s%s, %" PRId64 " moved",
                       ranks, brought->rebuilt, who ? " (" : "", who ? who : "",
                       who ? ")" : "", brought->moved);
}

/* It is among those that can be restored. That is news when something was lost. */
static void tell_brought(struct vel_session *s, const struct vel_brought *brought,
                         double seconds)
{
    const struct vel_dataset *d = &brought->map.dataset;
    bool is_news = brought->rebuilt || (s->has_leftovers && !s->held.n);
    struct vel_buf how;

    vel_buf_init(&how);
    say_how(brought, &how);
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
static void tell_refused(struct vel_session *s, const struct past *past, int64_t id)
{
    const struct vel_entry *entry = entry_of(&past->entries, id);

    s->has_leftovers = true;
    if (entry)
        vel_log(VEL_LOG_INFO,
                "dataset %" PRId64 " (%s %" PRId64
                ") was not valid when a program read it: it is not offered",
                id, entry->dataset.name, entry->dataset.version);
}

/* It is held, and owed what it was before. */
static int keep(struct vel_session *s, struct vel_brought *brought,
                const struct past *past, unsigned before, struct vel_err *err)
{
    int64_t id = brought->map.dataset.id;
    const struct vel_entry *known = entry_of(&past->entries, id);
    struct vel_entry entry;
    struct vel_held *held;
    int rc;

    if (known && !is_of(known, &brought->map.dataset))
        known = NULL;
    rc = vel_session_share_entry(s, hold(s, brought, err), known, &entry, err);
    if (rc < 0)
        return rc;
    held = vel_session_held_of(s, id);
    free(entry.dataset.name);
    entry.dataset.name = NULL;
    held->entry = entry;
    if (held->entry.place < VEL_ON_STAGED)
        held->entry.place = VEL_ON_CACHE; /* it could not be taken back: begin anew */
    return vel_session_owe_again(s, held, before, err);
}

/* Nodes that had parts when it was sealed, and are no nodes of this program: its seal
 * is read by rank 0. */
static void say_away(const struct vel_session *s, const struct vel_recovery *recovery,
                     int64_t id, struct vel_buf *ret)
{
    struct vel_seals_of seals = {.fs = s->fs, .dir = s->dir};
    struct vel_buf away;
    struct vel_seal seal;

    if (s->world->rank != 0 || !recovery->has_view ||
        vel_seals_of_dataset(&seals, id, &seal) < 0) {
        vel_seals_of_fini(&seals);
        return;
    }
    vel_buf_init(&away);
    if (vel_view_put_away(&recovery->view, &seal, &away) > 0)
        vel_buf_printf(ret,
                       "; of the nodes that had parts of it, %s have no rank of this "
                       "program: it comes when it starts with ranks on these, too",
                       vel_buf_text(&away));
    vel_buf_fini(&away);
    vel_seal_fini(&seal);
    vel_seals_of_fini(&seals);
}

/* Newest first: what is older than one that is restored is not missed. */
static void tell_not_brought(struct vel_session *s, const struct vel_recovery *recovery,
                             const struct past *past, int64_t id, double seconds,
                             const char *why)
{
    struct vel_buf text;

    vel_buf_init(&text);
    vel_buf_printf(&text,
                   "%s: it cannot be restored from the caches now, and is set aside "
                   "there until a newer one is complete",
                   why);
    say_away(s, recovery, id, &text);
    s->has_leftovers = true;
    vel_log_shared(s->held.n ? VEL_LOG_INFO : VEL_LOG_WARN, "%s", vel_buf_text(&text));
    vel_session_note_missed(s, entry_of(&past->entries, id), id, vel_buf_text(&text));
    vel_session_tell(s,
                     (struct vel_event){.kind = VEL_EVENT_REBUILD,
                                        .result = VEL_EVENT_FAILED,
                                        .id = id,
                                        .seconds = seconds,
                                        .text = why},
                     NULL);
    vel_buf_fini(&text);
}

static int bring_one(struct vel_session *s, struct vel_recovery *recovery, int64_t id,
                     const struct past *past, unsigned before, struct vel_err *err)
{
    struct vel_brought brought;
    struct vel_err why = {0};
    uint64_t begun = vel_clock_monotonic(s->clock);
    double seconds;
    int rc;

    vel_log_shared(VEL_LOG_INFO, "restoring dataset %" PRId64 " from the caches", id);
    rc = vel_recovery_bring(recovery, id, &brought, &why);
    seconds = vel_session_seconds(s, begun);
    if (rc == 0) {
        tell_brought(s, &brought, seconds);
        return keep(s, &brought, past, before, err);
    }
    if (rc == VEL_ENOENT)
        vel_log_shared(VEL_LOG_INFO, "dataset %" PRId64 " was never complete%s", id,
                       vel_session_has_nobody(s) ? "" : ": removed");
    else
        tell_not_brought(s, recovery, past, id, seconds, why.text);
    /* a communicator that broke is no dataset that cannot be restored */
    rc = rc == VEL_ENOENT ? 0 : vel_session_go_on(s, id, before, err);
    return rc < 0 ? rc : vel_comm_barrier(s->world, err);
}

/* What leaders have forgotten a node that was away has still: then nothing but its
 * parts says whose they are. */
static bool is_not_ours(void *arg, int64_t id)
{
    return vel_session_is_anothers(arg, id);
}

static int find_whose(void *arg, int64_t id, bool *ret_is_anothers, struct vel_err *err)
{
    return vel_session_find_whose(arg, id, ret_is_anothers, err);
}

/* What becomes of it? */
enum { LEAVE, REMOVE, REFUSED, BRING };

static int choose(const struct vel_session *s, const struct vel_recovery_id *known)
{
    if (known->is_theirs)
        return LEAVE;
    if (s->conf->cache_purge || known->is_dropped)
        return REMOVE;
    return known->is_refused ? REFUSED : BRING;
}

/* Collective. What is owed of all that will be changed rests. */
static int rest_all(struct vel_session *s, const struct vel_recovery *recovery,
                    unsigned *ret_before, struct vel_err *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < recovery->ids.n; i++) {
        const struct vel_recovery_id *known = vel_recovery_id_at(recovery, i);
        int what = choose(s, known);

        if (what == REMOVE || what == BRING)
            rc = vel_session_rest(s, known->id, &ret_before[i], err);
    }
    return rc;
}

static int settle_one(struct vel_session *s, struct vel_recovery *recovery, size_t i,
                      const struct past *past, unsigned before, struct vel_err *err)
{
    const struct vel_recovery_id *known = vel_recovery_id_at(recovery, i);

    switch (choose(s, known)) {
    case REMOVE:
        vel_recovery_remove(recovery, known->id);
        return 0;
    case REFUSED:
        tell_refused(s, past, known->id);
        return 0;
    case BRING:
        return bring_one(s, recovery, known->id, past, before, err);
    default: /* it has turned out to be theirs */
        return vel_session_go_on(s, known->id, before, err);
    }
}

static int bring_all(struct vel_session *s, struct vel_recovery *recovery,
                     const struct past *past, struct vel_err *err)
{
    size_t n = recovery->ids.n;
    unsigned *before = calloc(n + 1, sizeof *before);
    int rc = before ? 0 : vel_out_of_memory(err, "what the caches hold");

    rc = vel_comm_agree(s->world, rc, err);
    if (rc == 0 && n > 0 && vel_recovery_id_at(recovery, 0)->id > s->last_id)
        s->last_id = vel_recovery_id_at(recovery, 0)->id;
    if (rc == 0)
        rc = rest_all(s, recovery, before, err);
    if (rc == 0)
        rc = vel_recovery_look(recovery, err);
    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = settle_one(s, recovery, i, past, before[i], err);
    if (rc == 0)
        rc = vel_session_miss(s, &past->entries, recovery, err);
    free(before);
    return rc;
}

static int search_caches(struct vel_session *s, const struct past *past,
                         struct vel_err *err)
{
    const struct vel_recovery_of of = {.world = s->world,
                                       .fs = s->fs,
                                       .stores = s->stores,
                                       .homes = s->store_homes,
                                       .owner = &s->owner,
                                       .node = s->node,
                                       .memory = (size_t)s->conf->memory,
                                       .others = {.is_anothers = is_not_ours, .arg = s},
                                       .find_whose = find_whose,
                                       .dropped = &past->dropped,
                                       .refused = &past->refused,
                                       .throttles = s->throttles,
                                       .may_move = s->conf->distribute,
                                       .keeps = vel_session_has_nobody(s)};
    struct vel_recovery recovery;
    int rc = vel_recovery_open(&of, &recovery, err);

    if (rc == 0) {
        rc = bring_all(s, &recovery, past, err);
        vel_recovery_fini(&recovery);
    }
    return rc;
}

/* --- the prefix --- */

/* The last id that is somebody's. To see what clients of NFS have claimed just now a
 * name is made, which must not hang where nothing can be written. */
static int find_last(const struct vel_session *s, int64_t *ret_id, struct vel_err *err)
{
    struct vel_index *index;
    int rc = vel_index_open(s->fs, s->dir, &index, err);

    if (rc < 0)
        return rc;
    rc = vel_index_last(index, ret_id, err);
    vel_index_close(index);
    return rc;
}

/* Collective. Rank 0 reads, and numbers go on above all that was ever used: here those
 * of the index, and of the blocks of ids. Those of tombstones and caches are known when
 * these are looked at. */
static int learn_past(struct vel_session *s, struct past *past, struct vel_err *err)
{
    int64_t last[] = {0, 0};
    int rc = vel_session_load_index(s, NULL, &past->entries, err);

    if (rc == 0 && s->world->rank == 0)
        rc = find_last(s, &last[0], err);
    if (rc == 0 && s->world->rank == 0)
        rc = vel_dropped_load(s->fs, s->dir, &past->dropped, err);
    for (size_t i = 0; rc == 0 && i < past->entries.n; i++) {
        const struct vel_entry *e = vel_vec_at(&past->entries, i);

        if (e->dataset.checkpoint > last[1])
            last[1] = e->dataset.checkpoint;
        if (e->refused && !vel_vec_push(&past->refused, &e->dataset.id))
            rc = vel_out_of_memory(err, "what is not offered");
    }
    rc = vel_comm_agree_fold(s->world, rc, VEL_COMM_MAX, last, 2, err);
    s->last_id = last[0];
    s->last_checkpoint = last[1];
    return rc;
}

/* Collective. */
static int purge_prefix(struct vel_session *s, struct past *past, struct vel_err *err)
{
    struct vel_entry *e = past->entries.items;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < past->entries.n; i++)
        rc = vel_session_mark(s, VEL_MARK_REMOVE, &e[i], err);
    rc = vel_comm_agree(s->world, rc, err);
    if (rc == 0) {
        vel_index_fini(&past->entries);
        vel_vec_fini(&past->refused);
    }
    return rc;
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
    struct past past = {0};
    bool is_put_off = false;
    int rc;

    vel_vec_init(&past.refused, sizeof(int64_t));
    if (s->world->rank == 0)
        vel_prefix_sweep(s->fs, s->dir);
    rc = learn_past(s, &past, err);
    if (rc == 0)
        vel_session_finish_begun(s, &past.entries);
    if (rc == 0 && s->conf->prefix_purge)
        rc = purge_prefix(s, &past, err);
    if (rc == 0)
        rc = search_caches(s, &past, err);
    if (rc == 0 && (s->conf->flush_on_restart || s->conf->global_restart))
        rc = flush_newest(s, err);
    if (rc == 0 && s->held.n == 0 && s->conf->fetch && !s->conf->global_restart)
        rc = vel_session_fetch_newest(s, &is_put_off, err);
    if (rc == 0 && s->held.n == 0 && s->has_leftovers && !is_put_off)
        vel_log_shared(VEL_LOG_WARN, "nothing can be restored, neither from the caches "
                                     "nor from the prefix: the program begins anew");
    if (rc == 0)
        rc = vel_session_require(s, err);
    vel_vec_fini(&past.refused);
    vel_vec_fini(&past.dropped);
    vel_index_fini(&past.entries);
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
