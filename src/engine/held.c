/* SPDX-License-Identifier: BSD-3-Clause */
/* The complete datasets that this launch can restore from its caches. All ranks hold
 * the same ones, so that who must go is known without asking. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "engine/session_in.h"
#include "meta/cache.h"
#include "recover/recovery.h"
#include "red/redfile.h"

void vel_held_fini(struct vel_held *held)
{
    vel_brought_parts_fini(&held->parts);
    vel_filemap_fini(&held->map);
    free(held->level);
    free(held->dir);
}

struct vel_held *vel_session_held(const struct vel_session *s, size_t i)
{
    return vel_vec_at(&s->held, i);
}

int vel_session_hold(struct vel_session *s, struct vel_held *held, struct vel_err *err)
{
    size_t at = s->held.n;

    /* one that is fetched may be older than others */
    while (at > 0 && vel_session_held(s, at - 1)->map.dataset.id > held->map.dataset.id)
        at--;
    if (vel_vec_insert(&s->held, at, held))
        return 0;
    vel_held_fini(held);
    return vel_out_of_memory(err, "a dataset");
}

struct vel_held *vel_session_find(const struct vel_session *s, const char *name,
                                  int64_t version)
{
    for (size_t i = s->held.n; i-- > 0;) {
        struct vel_held *held = vel_session_held(s, i);
        const struct vel_dataset *d = &held->map.dataset;

        if ((!name || strcmp(d->name, name) == 0) &&
            (version < 0 || d->version == version))
            return held;
    }
    return NULL;
}

struct vel_held *vel_session_held_of(const struct vel_session *s, int64_t id)
{
    for (size_t i = 0; i < s->held.n; i++)
        if (vel_session_held(s, i)->map.dataset.id == id)
            return vel_session_held(s, i);
    return NULL;
}

/* CRC_ON_DELETE: a file that went bad in the cache is worth knowing of. */
static void check_before(struct vel_session *s, const struct vel_held *held)
{
    struct vel_vec files;
    struct vel_flush_file *f;

    if (!held->dir || vel_session_files(s, held, &files, NULL) < 0)
        return;
    f = files.items;
    for (size_t i = 0; i < files.n; i++) {
        struct vel_xfer_file file = {.from = f[i].from,
                                     .to = f[i].from,
                                     .size = f[i].listed.size,
                                     .crc = f[i].listed.crc,
                                     .has_crc = true};
        struct vel_copy_how how = {.fs = s->fs, .chunk = s->crew.copy.chunk};
        struct vel_xfer_copied copied;
        struct vel_err why = {0};

        if (vel_copy_check(&how, &file, &copied, &why) < 0)
            vel_log(VEL_LOG_WARN, "found when dataset %" PRId64 " was deleted: %s",
                    held->map.dataset.id, why.text);
    }
    vel_flush_files_fini(&files);
}

void vel_session_evict(struct vel_session *s, size_t i, bool keeps_prefix)
{
    struct vel_held *held = vel_session_held(s, i);
    struct vel_err why = {0};
    struct vel_vec through;

    vel_session_keep_through(s, held, &through);

    if (s->conf->crc_on_delete)
        check_before(s, held);
    if (held->level && vel_session_remove_part(s, held, &why) < 0)
        vel_log(VEL_LOG_WARN, "dataset %" PRId64 " not removed from the cache: %s",
                held->map.dataset.id, why.text);
    if (held->entry.place < VEL_ON_STAGED && !keeps_prefix)
        vel_session_remove_through(s, &through);
    vel_filelist_fini(&through);
    /* nothing of it is left anywhere then */
    if (held->entry.place < VEL_ON_STAGED)
        vel_session_forget_behind(s, held->map.dataset.id);
    vel_held_fini(held);
    vel_vec_remove(&s->held, i);
}

bool vel_held_is_owed(const struct vel_held *held)
{
    return held->map.dataset.use & VEL_USE_OUTPUT && held->entry.place != VEL_ON_PREFIX;
}

/* Where several programs share a prefix one finds what the others will restart from,
 * and takes the place only of what has its own names. */
static bool may_follow(const struct vel_held *older, const struct vel_held *newer)
{
    return !older->is_earlier ||
           strcmp(older->map.dataset.name, newer->map.dataset.name) == 0;
}

/* How many complete checkpoints of a store are newer than number i. A restart needs
 * those, so that no output takes the place of one. */
static int64_t newer_ones(const struct vel_session *s, size_t i)
{
    size_t store = vel_session_held(s, i)->store;
    int64_t n = 0;

    for (size_t k = i + 1; k < s->held.n; k++) {
        const struct vel_held *held = vel_session_held(s, k);

        n += held->store == store && held->map.dataset.use & VEL_USE_CHECKPOINT &&
             !(held->owed & VEL_OWE_ENCODE) && may_follow(vel_session_held(s, i), held);
    }
    return n;
}

/* Are enough newer ones there? The newest of all stays whatever COUNT says, since a
 * restart needs it, and an output until it is flushed, since it is nowhere else. */
static bool is_old(const struct vel_session *s, size_t i)
{
    const struct vel_held *held = vel_session_held(s, i);
    int64_t count =
        held->store < s->stores->n ? s->stores->items[held->store].count : 1;
    unsigned use = held->map.dataset.use;

    if (i + 1 == s->held.n || vel_held_is_owed(held) || held->map.dataset.id == s->kept)
        return false;
    if (held->is_earlier && vel_session_has_nobody(s))
        return false; /* its launch may live: that cannot be known then */
    return !(use & VEL_USE_CHECKPOINT) || newer_ones(s, i) >= (count > 0 ? count : 1);
}

/* May number i leave its store? */
static bool may_leave(const struct vel_session *s, size_t i)
{
    return !vel_session_held(s, i)->owed && is_old(s, i);
}

int vel_session_give_up_old(struct vel_session *s, struct vel_err *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < s->held.n; i++) {
        struct vel_held *held = vel_session_held(s, i);

        if (held->owed == VEL_OWE_FLUSH && held->is_told && is_old(s, i))
            rc = vel_session_take_back_held(s, held, err);
    }
    return rc;
}

bool vel_session_is_overfull(const struct vel_session *s, size_t store)
{
    int64_t count = s->stores->items[store].count, n = 0;

    for (size_t i = 0; i < s->held.n; i++) {
        const struct vel_held *held = vel_session_held(s, i);

        n += held->store == store && held->map.dataset.use & VEL_USE_CHECKPOINT &&
             !held->is_earlier;
    }
    return n > (count > 0 ? count : 1);
}

void vel_session_evict_old(struct vel_session *s)
{
    for (size_t i = 0; i < s->held.n;)
        if (may_leave(s, i))
            vel_session_evict(s, i, false);
        else
            i++;
}
