/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading a dataset back: which, from where, and whether it was any good. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "engine/session_in.h"
#include "meta/cache.h"

/* --- which --- */

static bool matches(const struct vel_dataset *d, const char *name, int64_t version)
{
    return (!name || strcmp(d->name, name) == 0) &&
           (version < 0 || d->version == version);
}

/* Of the index: the newest of that name, and of that version or below a limit. */
struct wanted {
    const char *name; /* NULL: any */
    int64_t version;  /* below 0: any */
    int64_t below;    /* 0: any */
};

static const struct vel_entry *find_entry(const struct vel_session *s,
                                          const struct vel_vec *entries,
                                          const struct wanted *wanted)
{
    const struct vel_entry *e = entries->items, *best = NULL;

    for (size_t i = 0; s->conf->fetch && i < entries->n; i++) {
        const struct vel_dataset *d = &e[i].dataset;

        if (vel_entry_is_fetchable(&e[i]) && !vel_vec_has_number(&s->declined, d->id) &&
            matches(d, wanted->name, wanted->version) &&
            (!wanted->below || d->version < wanted->below) &&
            (!best || d->version > best->dataset.version))
            best = &e[i];
    }
    return best;
}

/* Whoever empties a cache while a program runs takes no more than that. */
static void forget(struct vel_session *s, size_t i)
{
    struct vel_held *held = vel_session_held(s, i);
    const struct vel_dataset *d = &held->map.dataset;

    vel_log_shared(VEL_LOG_WARN,
                   "dataset %" PRId64 " (%s %" PRId64
                   ") is gone from a cache that was removed: %s",
                   d->id, d->name, d->version, held->dir);
    s->has_leftovers = true;
    vel_held_fini(held);
    vel_vec_remove(&s->held, i);
}

/* Collective. What is not in the caches any more cannot be restored from there. */
static int forget_vanished(struct vel_session *s, struct vel_err *err)
{
    size_t n = s->held.n;
    int64_t *there = n ? calloc(n, sizeof *there) : NULL;
    int rc = 0;

    if (n == 0)
        return 0;
    if (!there)
        rc = vel_out_of_memory(err, "what can be restored");
    for (size_t i = 0; rc == 0 && i < n; i++) {
        const struct vel_held *held = vel_session_held(s, i);

        there[i] = !held->dir || vel_fs_exists(s->fs, held->dir);
    }
    rc = vel_comm_agree(s->world, rc, err);
    if (rc == 0)
        rc = vel_comm_allreduce(s->world, VEL_COMM_MIN, there, n, err);
    while (rc == 0 && n-- > 0)
        if (!there[n])
            forget(s, n);
    free(there);
    return rc;
}

int vel_session_restart_test(struct vel_session *session, const char *name,
                             int64_t below, int64_t *ret_version, struct vel_err *err)
{
    struct vel_session *s = session;
    struct wanted wanted = {.name = name, .version = -1, .below = below};
    struct vel_vec entries = {0};
    const struct vel_entry *entry;
    int64_t best = -1;
    const struct vel_session_asked asked = {.name = name, .version = below};
    int rc = vel_session_may_all(s, VEL_DO_OTHER, &asked, err);

    /* what is being read has its place among them */
    if (rc == 0 && s->state != VEL_READING)
        rc = forget_vanished(s, err);
    if (rc == 0)
        rc = vel_session_load_index(s, NULL, &entries, err);
    rc = vel_comm_agree(s->world, rc, err);
    entry = find_entry(s, &entries, &wanted);
    if (entry)
        best = entry->dataset.version;
    vel_index_fini(&entries);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < s->held.n; i++) {
        const struct vel_held *held = vel_session_held(s, i);
        const struct vel_dataset *d = &held->map.dataset;

        if (matches(d, name, -1) && (!below || d->version < below) && d->version > best)
            best = d->version;
    }
    rc = vel_comm_allreduce(s->world, VEL_COMM_MAX, &best, 1, err);
    if (rc == 0 && best < 0)
        return vel_fail(err, VEL_ENOENT, "there is no checkpoint '%s' to restart from",
                        name);
    if (rc == 0)
        *ret_version = best;
    return rc;
}

/* --- made readable --- */

/* Why the newest of that version cannot be had. */
static int not_offered(const struct vel_entry *entry, const char *name, int64_t version,
                       struct vel_err *err)
{
    if (entry->replaced)
        return vel_fail(err, VEL_ENOENT,
                        "checkpoint '%s' %" PRId64 " is gone: dataset %" PRId64
                        " has replaced files of it on "
                        "the prefix, since it has files of the same names",
                        name, version, entry->replaced);
    if (entry->refused)
        return vel_fail(err, VEL_ENOENT,
                        "checkpoint '%s' %" PRId64
                        " is not offered: it was not valid when a program read it",
                        name, version);
    return vel_fail(err, VEL_ENOENT,
                    "checkpoint '%s' %" PRId64
                    " is neither in the cache nor complete on the prefix",
                    name, version);
}

/* Rank 0 chooses: what cannot be fetched is for the sentence that all say then. */
static int fetch_version(struct vel_session *s, const char *name, int64_t version,
                         struct vel_err *err)
{
    struct wanted wanted = {.name = name, .version = version};
    const struct vel_entry *chosen;
    struct vel_vec entries = {0};
    struct vel_entry entry;
    int rc = vel_session_load_index(s, NULL, &entries, err);

    chosen = find_entry(s, &entries, &wanted);
    if (!chosen) {
        chosen = vel_session_newest_entry(&entries, name, version);
        if (chosen && vel_entry_is_fetchable(chosen))
            chosen = NULL; /* not by this launch */
    }
    rc = vel_session_share_entry(s, rc, chosen, &entry, err);
    vel_index_fini(&entries);
    if (rc < 0)
        return rc;
    rc = vel_entry_is_fetchable(&entry) ? vel_session_fetch(s, &entry, err)
                                        : not_offered(&entry, name, version, err);
    vel_entry_fini(&entry);
    return rc;
}

/* One that other ranks wrote is read by name, from where anyone can read it. */
static int make_readable(struct vel_session *s, int64_t id, struct vel_err *err)
{
    struct vel_held *held = vel_session_held_of(s, id);
    int rc = 0;

    /* not all of its files have their names */
    if (!held->dir && held->entry.place == VEL_ON_STAGED)
        rc = vel_session_finish_held(s, held, err);
    if (rc < 0 || held->dir || held->is_read_in_place)
        return rc;
    rc = held->entry.place == VEL_ON_PREFIX
             ? vel_session_check_in_place(s, held, err)
             : vel_session_flush_named(s, id, &held, err);
    if (rc == 0)
        held->is_read_in_place = true;
    return rc;
}

/* --- not offered again --- */

/* So that no later launch offers it, from wherever. */
static void mark_refused(struct vel_session *s, struct vel_held *held)
{
    struct vel_entry entry = held->entry;
    struct vel_err why = {0};

    entry.dataset = held->map.dataset;
    entry.refused = vel_clock_wall(s->clock) / (int64_t)VEL_CLOCK_S;
    if (vel_session_mark(s, VEL_MARK_REFUSE, &entry, &why) < 0)
        vel_log(VEL_LOG_WARN, "failed restart not recorded: %s", why.text);
}

/* What was being read is not offered again; a bad one is marked as such. */
static int take_away(struct vel_session *s, const char *why, bool is_bad,
                     struct vel_err *err)
{
    struct vel_held *held = vel_session_held(s, s->reading);
    const struct vel_dataset *d = &held->map.dataset;
    int rc = vel_vec_push(&s->declined, &d->id)
                 ? 0
                 : vel_out_of_memory(err, "the end of a restart");

    vel_log_shared(VEL_LOG_WARN,
                   "dataset %" PRId64 " (%s %" PRId64 ") %s: it is set aside", d->id,
                   d->name, d->version, why);
    if (is_bad && held->owed)
        vel_session_take_back_held(s, held, NULL);
    if (is_bad && d->ranks == s->world->size)
        mark_refused(s, held);
    s->has_leftovers |= is_bad;
    if (is_bad && held->level)
        vel_cache_set_aside(s->fs, held->level, d->id, true, NULL);
    vel_held_fini(held);
    vel_vec_remove(&s->held, s->reading);
    return vel_comm_agree(s->world, rc, err);
}

/* --- begin --- */

/* Files that were written through may have been written again since. Such a dataset is
 * no good to this launch. */
static int check_through(struct vel_session *s, struct vel_held *held,
                         struct vel_err *err)
{
    int rc = held->is_read_in_place ? 0 : vel_session_check_through(s, held, err);

    rc = vel_comm_agree(s->world, rc, err);
    if (rc < 0)
        take_away(s, "has lost files on the prefix", false, NULL);
    return rc;
}

int vel_session_restart_begin(struct vel_session *session, const char *name,
                              int64_t version, struct vel_err *err)
{
    struct vel_session *s = session;
    struct vel_held *held;
    const struct vel_session_asked asked = {.name = name, .version = version};
    int64_t id = 0;
    int rc = vel_session_may_all(s, VEL_DO_RESTART, &asked, err);

    if (rc == 0)
        rc = forget_vanished(s, err);
    if (rc < 0)
        return rc;
    held = vel_session_find(s, name, version);
    if (!held) {
        rc = fetch_version(s, name, version, err);
        held = rc == 0 ? vel_session_find(s, name, version) : NULL;
    }
    if (rc == 0)
        id = held->map.dataset.id;
    if (rc == 0)
        rc = make_readable(s, id, err);
    if (rc < 0)
        return rc;
    held = vel_session_held_of(s, id);
    s->reading = (size_t)(held - (struct vel_held *)s->held.items);
    rc = check_through(s, held, err);
    if (rc < 0)
        return rc;
    s->state = VEL_READING;
    vel_session_tell(s, (struct vel_event){.kind = VEL_EVENT_RESTART},
                     &held->map.dataset);
    return 0;
}

/* --- end --- */

/* Collective. Ranks that could read hear of those that could not. */
static int fail_all(struct vel_session *s, bool is_valid, struct vel_err *err)
{
    int rc = is_valid ? 0
                      : vel_fail(err, VEL_ECANCEL,
                                 "the program says that what it has read is not valid");

    return vel_comm_agree(s->world, rc, err);
}

int vel_session_restart_end(struct vel_session *session, bool is_valid,
                            struct vel_err *err)
{
    struct vel_session *s = session;
    int64_t valid = is_valid;
    int rc = vel_comm_agree(s->world, vel_session_may(s, VEL_DO_RESTART_END, err), err);

    if (rc == 0)
        rc = vel_comm_allreduce(s->world, VEL_COMM_MIN, &valid, 1, err);
    if (rc < 0)
        return rc;
    s->state = VEL_IDLE;
    if (valid)
        return 0;
    rc = take_away(s, "was not valid when it was read", true, err);
    return rc < 0 ? rc : fail_all(s, is_valid, err);
}

int vel_session_restart_decline(struct vel_session *session, struct vel_err *err)
{
    struct vel_session *s = session;
    int rc = vel_comm_agree(s->world, vel_session_may(s, VEL_DO_RESTART_END, err), err);

    if (rc < 0)
        return rc;
    s->state = VEL_IDLE;
    return take_away(s, "does not fit the program as it is now", false, err);
}

/* --- where --- */

int vel_session_where(struct vel_session *session, const char *name,
                      enum vel_session_where *ret_where, struct vel_err *err)
{
    struct vel_session *s = session;
    const struct vel_held *held = vel_session_find(s, name, -1);
    struct wanted wanted = {.name = name, .version = -1};
    struct vel_vec entries = {0};
    int64_t where = held && held->dir ? VEL_WHERE_CACHE : VEL_WHERE_NONE;
    int rc = 0;

    if (s->world->rank == 0 && where == VEL_WHERE_NONE) {
        rc = vel_session_load_index(s, NULL, &entries, err);
        if (rc == 0 && (held || find_entry(s, &entries, &wanted)))
            where = VEL_WHERE_PREFIX;
        vel_index_fini(&entries);
    }
    rc = vel_comm_agree(s->world, rc, err);
    if (rc == 0)
        rc = vel_comm_allreduce(s->world, VEL_COMM_MAX, &where, 1, err);
    if (rc == 0)
        *ret_where = (enum vel_session_where)where;
    return rc;
}
