/* SPDX-License-Identifier: BSD-3-Clause */
/* From the prefix into the caches: one dataset, or the newest that can be had. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "engine/session_in.h"
#include "meta/cache.h"
#include "meta/current.h"
#include "meta/paths.h"
#include "xfer/fetch.h"

struct fetching {
    struct vel_session *s;
    struct vel_writing w; /* where it comes to be in the cache */
    struct vel_held held;
    struct vel_vec files; /* struct vel_listed */
    struct vel_err *err;
};

static bool is_in_place(const struct vel_session *s, const struct vel_entry *entry)
{
    return s->conf->fetch_bypass || s->conf->global_restart ||
           entry->dataset.ranks != s->world->size;
}

/* What an earlier launch set aside of the same dataset stays until all of it is here.
 */
static int make_place(struct fetching *f, char **ret_fresh)
{
    struct vel_session *s = f->s;
    int64_t id = f->w.map.dataset.id;
    struct vel_buf fresh;
    char *dir;
    int rc;

    f->held.level = strdup(f->w.desc->directory);
    f->held.dir =
        f->held.level ? vel_cache_rank_dir(f->held.level, id, s->world->rank) : NULL;
    dir = f->held.level ? vel_cache_dataset_dir(f->held.level, id) : NULL;
    vel_buf_init(&fresh);
    vel_buf_printf(&fresh, "%s" VEL_CACHE_NEW, f->held.dir ? f->held.dir : "");
    *ret_fresh = vel_buf_take(&fresh, NULL);
    f->held.store = f->w.desc->store->index;
    f->w.map.descriptor = vel_reddesc_to_node(f->w.desc);
    rc = f->held.dir && dir && *ret_fresh && f->w.map.descriptor
             ? vel_store_check(f->w.desc->store, s->fs, f->err)
             : vel_out_of_memory(f->err, "fetching");
    if (rc == 0)
        rc = vel_cache_make_dir(s->fs, dir, f->err);
    if (rc == 0)
        rc = vel_fs_remove_tree(s->fs, *ret_fresh, f->err);
    free(dir);
    return rc;
}

/* All ranks have their files: they take the place of whatever was there. */
static int settle(struct fetching *f, const char *fresh)
{
    struct vel_session *s = f->s;
    int rc = vel_fs_remove_tree(s->fs, f->held.dir, f->err);

    if (rc == 0)
        rc = vel_fs_rename(s->fs, fresh, f->held.dir, f->err);
    if (rc == 0)
        rc = vel_cache_set_aside(s->fs, f->held.level, f->w.map.dataset.id, false,
                                 f->err);
    return rc;
}

/* Those that are in the cache now, and the list of those that are not. */
static int name_files(struct fetching *f, char list[], char **names, size_t *ret_n)
{
    const struct vel_listed *listed = f->files.items;
    struct vel_vec through; /* borrows */
    size_t n = 0;
    int rc = names ? 0 : vel_out_of_memory(f->err, "fetching");

    vel_vec_init(&through, sizeof *listed);
    for (size_t i = 0; rc == 0 && i < f->files.n; i++)
        if (!listed[i].is_through)
            names[n++] = listed[i].name;
        else if (!vel_vec_push(&through, &listed[i]))
            rc = vel_out_of_memory(f->err, "fetching");
    if (rc == 0 && through.n) {
        names[n++] = list;
        rc = vel_session_save_through(f->s, f->held.dir, &through, f->err);
    }
    vel_vec_fini(&through);
    *ret_n = n;
    return rc;
}

static int protect(struct fetching *f)
{
    char **names = calloc(f->files.n + 1, sizeof *names);
    char list[] = VEL_THROUGH_LIST;
    size_t n;
    int rc = name_files(f, list, names, &n);

    f->w.is_encoded = true;
    f->w.dir = f->held.dir;
    rc = vel_session_protect(f->s, &f->w, rc, names, n, f->err);
    free(names);
    return rc;
}

/* Into the cache that was chosen. */
static int fill(struct fetching *f, const struct vel_entry *entry)
{
    struct vel_session *s = f->s;
    struct vel_crew crew = vel_session_crew(s, f->w.desc->store->index);
    char *fresh = NULL;
    bool is_settled = false;
    int rc;

    rc = vel_comm_agree(s->world, make_place(f, &fresh), f->err);
    if (rc == 0)
        rc = vel_fetch_files(&crew, entry, &f->files, fresh, f->err);
    is_settled = rc == 0;
    if (rc == 0)
        rc = vel_comm_agree(s->world, settle(f, fresh), f->err);
    if (rc == 0)
        rc = protect(f);
    free(fresh);
    if (rc < 0 && is_settled)
        vel_cache_remove_part(s->fs, f->held.level, entry->dataset.id, s->world->rank,
                              NULL);
    return rc;
}

/* Is it the dataset that is bad? A rank that died, or a cache without room, says
 * nothing about it: the next launch may well have it. */
static bool is_to_blame(int rc)
{
    return rc == VEL_ECORRUPT || rc == VEL_ENOENT;
}

/* It is read where it is then: a cache that is full or broken is no reason to go
 * without a dataset that the prefix has. */
static void leave_cache(struct fetching *f, const struct vel_err *why)
{
    vel_log_shared(VEL_LOG_WARN,
                   "dataset %" PRId64 " is not brought into the cache, but read from "
                   "the prefix: %s",
                   f->w.map.dataset.id, why->text);
    free(f->held.level);
    free(f->held.dir);
    f->held.level = f->held.dir = NULL;
    f->held.store = f->s->stores->n;
    f->held.is_read_in_place = true;
}

/* What this rank needs is known for once, and the next dataset may be like it. */
static void note_size(struct fetching *f)
{
    struct vel_session *s = f->s;

    s->last_bytes = 0;
    for (size_t i = 0; i < f->files.n; i++) {
        const struct vel_listed *file = vel_vec_at(&f->files, i);

        s->last_bytes += file->is_through ? 0 : file->size;
    }
    s->expected = s->last_expected = s->last_bytes;
}

/* Into the cache, or to be read where it is when no cache has room for it. */
static int bring(struct fetching *f, const struct vel_entry *entry)
{
    struct vel_session *s = f->s;
    struct vel_err why = {0}, *err = f->err;
    int rc, filled;

    note_size(f);
    rc = vel_session_choose(s, &f->w, 0, NULL, f->err);
    f->held.is_read_in_place = f->w.is_bypass;
    if (rc < 0 || f->w.is_bypass)
        return rc;
    f->err = &why;
    filled = fill(f, entry);
    f->err = err;
    if (is_to_blame(filled))
        return vel_fail(err, (enum vel_status)filled, "%s", why.text);
    rc = vel_comm_barrier(s->world, err);
    if (rc == 0 && filled < 0)
        leave_cache(f, &why);
    return rc;
}

/* By what all nodes have listed; of what leaders have flushed meanwhile rank 0 alone
 * knows how many lists that are. */
int vel_session_check_in_place(struct vel_session *s, const struct vel_held *held,
                               struct vel_err *err)
{
    struct vel_entry known = held->entry, entry = {0}; /* borrows */
    struct vel_vec files;
    int rc;

    known.dataset = held->map.dataset;
    rc =
        vel_session_share_entry(s, 0, s->world->rank == 0 ? &known : NULL, &entry, err);
    if (rc == 0)
        rc = vel_fetch_lists(&s->crew, &entry, &files, err);
    if (rc == 0) {
        rc = vel_comm_agree(s->world, vel_fetch_check(&s->crew, &entry, &files, err),
                            err);
        vel_filelist_fini(&files);
    }
    vel_entry_fini(&entry);
    return rc;
}

static int try_fetch(struct fetching *f, const struct vel_entry *entry)
{
    struct vel_session *s = f->s;
    int rc = vel_dataset_copy(&entry->dataset, &f->w.map.dataset, f->err);

    rc = vel_comm_agree(s->world, rc, f->err);
    if (rc == 0)
        rc = vel_fetch_lists(&s->crew, entry, &f->files, f->err);
    if (rc < 0)
        return rc;
    f->w.map.rank = s->world->rank;
    if (!is_in_place(s, entry))
        rc = bring(f, entry);
    else
        f->held.is_read_in_place = true;
    if (rc == 0 && f->held.is_read_in_place)
        rc = vel_comm_agree(
            s->world, vel_fetch_check(&s->crew, entry, &f->files, f->err), f->err);
    if (rc < 0)
        return rc;
    f->held.entry = *entry;
    f->held.entry.dataset.name = NULL;
    f->held.map = f->w.map;
    memset(&f->w.map, 0, sizeof f->w.map);
    rc = vel_session_hold(s, &f->held, f->err);
    memset(&f->held, 0, sizeof f->held);
    return vel_comm_agree(s->world, rc, f->err);
}

/* The attempt is recorded before it, and after it `rc`, what came of it. */
static void record(struct vel_session *s, const struct vel_entry *entry, bool is_over,
                   int rc)
{
    struct vel_err why = {0};
    int64_t current = entry->dataset.id;
    int saved = 0;

    if (s->world->rank != 0 || (rc < 0 && !is_to_blame(rc)))
        return;
    if (!is_over || rc < 0)
        saved =
            vel_session_mark(s, rc < 0 ? VEL_MARK_FAIL : VEL_MARK_FETCH, entry, &why);
    else
        saved = vel_current_find(s->index, &current, &why);
    if (saved == 0 && current != entry->dataset.id)
        saved = vel_session_mark(s, VEL_MARK_CURRENT, entry, &why);
    if (saved < 0)
        vel_log(VEL_LOG_WARN, "fetch not recorded: %s", why.text);
}

/* Not all of its files have their names, and older ones are to have theirs before. */
static int finish(struct vel_session *s, struct vel_entry *entry, struct vel_err *err)
{
    int rc;

    if (entry->place != VEL_ON_STAGED)
        return 0;
    rc = vel_session_take_back(s, entry->dataset.id, VEL_OWE_REST, NULL, NULL, err);
    rc = vel_comm_agree(s->world, rc, err);
    return rc == 0 ? vel_session_finish_one(s, entry, err) : rc;
}

int vel_session_fetch(struct vel_session *s, const struct vel_entry *entry,
                      struct vel_err *err)
{
    struct fetching f = {.s = s, .err = err};
    struct vel_entry whole = *entry;
    uint64_t begun = vel_clock_monotonic(s->clock);
    bool is_instead = s->has_leftovers && !s->held.n;
    int rc = finish(s, &whole, err);

    vel_vec_init(&f.files, sizeof(struct vel_listed));
    vel_vec_init(&f.held.parts, 1);
    f.held.store = s->stores->n;
    f.held.is_earlier = true;
    if (rc == 0) {
        record(s, &whole, false, 0);
        rc = try_fetch(&f, &whole);
    }
    record(s, &whole, true, rc);
    /* who was told of a loss is told how it ended */
    if (rc == 0)
        vel_log_shared(is_instead ? VEL_LOG_WARN : VEL_LOG_INFO,
                       "fetched dataset %" PRId64 " (%s %" PRId64
                       ") from the prefix%s, %" PRId64 " bytes in %.2f s",
                       entry->dataset.id, entry->dataset.name, entry->dataset.version,
                       is_instead ? " instead" : "", entry->dataset.bytes,
                       vel_session_seconds(s, begun));
    vel_session_tell(
        s,
        (struct vel_event){.kind = VEL_EVENT_FETCH,
                           .result = rc == 0 ? VEL_EVENT_OK : VEL_EVENT_FAILED,
                           .seconds = vel_session_seconds(s, begun),
                           .text = rc == 0 || !err ? NULL : err->text},
        &entry->dataset);
    vel_held_fini(&f.held);
    vel_filemap_fini(&f.w.map);
    vel_filelist_fini(&f.files);
    return rc;
}

/* The one that is marked as current comes first, whatever its age. */
static int current_first(struct vel_session *s, struct vel_vec *entries,
                         struct vel_err *err)
{
    struct vel_entry *e = entries->items;
    int64_t current = 0;
    int rc = entries->n ? vel_current_find(s->index, &current, err) : 0;

    for (size_t i = 0; rc == 0 && i < entries->n; i++)
        if (e[i].dataset.id == current) {
            struct vel_entry first = e[i];

            memmove(&e[1], &e[0], i * sizeof *e);
            e[0] = first;
            break;
        }
    return rc;
}

static bool is_restartable(const struct vel_entry *entry)
{
    return entry->dataset.use & VEL_USE_CHECKPOINT && vel_entry_is_fetchable(entry);
}

int vel_session_fetch_newest(struct vel_session *s, bool *ret_is_put_off,
                             struct vel_err *err)
{
    struct vel_vec entries = {0}; /* rank 0's */
    bool is_fetched = false, is_spared = false;
    size_t at = 0;
    int rc = vel_session_load_index(s, NULL, &entries, err);
    const struct vel_entry *e = entries.items;

    if (rc == 0)
        rc = current_first(s, &entries, err);
    while (!is_fetched) {
        struct vel_err why = {0};
        struct vel_entry entry;
        int64_t id;

        while (at < entries.n && !is_restartable(&e[at]))
            at++;
        rc = vel_session_share_entry(s, rc, at < entries.n ? &e[at++] : NULL, &entry,
                                     err);
        if (rc < 0 || !entry.dataset.id)
            break;
        id = entry.dataset.id;
        is_fetched = vel_session_fetch(s, &entry, &why) == 0;
        vel_entry_fini(&entry);
        if (!is_fetched) {
            bool is_bad = is_to_blame((int)why.status);

            vel_session_note_missed(s, NULL, id, why.text);
            s->has_leftovers |= is_bad;
            is_spared |= !is_bad;
            vel_log_shared(VEL_LOG_WARN, "%s: trying an older one", why.text);
        }
    }
    vel_index_fini(&entries);
    *ret_is_put_off = rc == 0 && !is_fetched && is_spared;
    if (*ret_is_put_off)
        vel_log_shared(
            VEL_LOG_WARN,
            "nothing was fetched: none that is older can be had: what failed "
            "is tried again when the program asks for it");
    return rc;
}
