/* SPDX-License-Identifier: BSD-3-Clause */
/* From the caches to the prefix: what, when, and how many stay there. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/log.h"
#include "engine/session_in.h"
#include "meta/cachename.h"
#include "recover/recovery.h"

/* --- which files --- */

int vel_session_files(struct vel_session *s, const struct vel_held *held,
                      struct vel_vec *ret_files, struct vel_err *err)
{
    const struct vel_brought_part *p = held->parts.items;
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
        rc = held ? vel_flush_take_back(&s->crew, &e[i], err)
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

    if (held)
        held->entry.place = entry->place;
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

/* Forward what was staged, and back what was not. */
static int settle(struct vel_session *s, struct vel_entry *e, struct vel_err *err)
{
    struct vel_err why = {0};
    int rc;

    if (e->place == VEL_ON_STAGED)
        rc = vel_flush_finish(&s->crew, e, &why);
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

/* Flushes are the leaders', who have owned them; sessions remove, and stage what they
 * have written on the prefix. */
static bool is_to_settle(const struct vel_entry *e)
{
    return e->place == VEL_ON_REMOVING ||
           (e->place == VEL_ON_STAGED && !e->failed && e->owner == 0);
}

int vel_session_settle_flushes(struct vel_session *s, struct vel_vec *entries,
                               struct vel_err *err)
{
    struct vel_entry *e = entries->items;
    int rc = 0;

    s->has_staged = false;
    /* the oldest first, since a newer one may replace its files */
    for (size_t i = entries->n; rc == 0 && i-- > 0;)
        if (is_to_settle(&e[i]))
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

/* --- to the prefix --- */

int vel_session_adopt(struct vel_session *s, struct vel_held *held,
                      struct vel_vec *files, struct vel_err *err)
{
    struct vel_entry entry = {.dataset = s->writing.map.dataset};
    struct vel_err why = {0};
    bool takes_names;
    int rc = vel_session_settle_before(s, err);

    if (rc < 0)
        return rc;
    takes_names = vel_session_takes_names(s, files);
    rc = vel_flush_adopt(&s->crew, files, &entry, &why);
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

/* Where somebody else's stood at the name of a file it came beside that, and a program
 * does not find it. */
static int check_named(struct vel_session *s, const struct vel_held *held,
                       struct vel_err *err)
{
    struct vel_vec files;
    int rc = vel_session_files(s, held, &files, err);

    if (rc < 0)
        return rc;
    for (size_t i = 0; rc == 0 && i < files.n; i++) {
        const struct vel_flush_file *file = vel_vec_at(&files, i);
        struct stat st;
        char *path = NULL;

        rc = vel_cachename_path(s->prefix, file->listed.name, &path, err);
        if (rc == 0 &&
            (vel_fs_lstat(s->fs, path, &st, NULL) < 0 || !S_ISREG(st.st_mode) ||
             (uint64_t)st.st_size != file->listed.size))
            rc = vel_fail(err, VEL_EEXIST,
                          "dataset %" PRId64
                          " is not on the prefix: something else stands at %s",
                          held->map.dataset.id, path);
        free(path);
    }
    vel_flush_files_fini(&files);
    return rc;
}

int vel_session_flush(struct vel_session *s, int64_t id, struct vel_held **ret_held,
                      struct vel_err *err)
{
    struct vel_held *held = vel_session_held_of(s, id);
    struct vel_err why = {0};
    int rc = 0;

    s->kept = id;
    if (held->entry.place != VEL_ON_PREFIX) {
        rc = vel_session_owe_flush(s, held, &why);
        if (rc == 0)
            rc = vel_session_wait_for(s, id, &why);
    }
    s->kept = 0;
    held = vel_session_held_of(s, id); /* others may have left meanwhile */
    if (rc == 0 && held->entry.place != VEL_ON_PREFIX)
        rc = vel_fail(&why, VEL_EIO, "it was given up");
    *ret_held = held;
    return rc < 0
               ? vel_fail(err, (enum vel_status)rc,
                          "dataset %" PRId64 " is not on the prefix: %s", id, why.text)
               : 0;
}

int vel_session_flush_named(struct vel_session *s, int64_t id,
                            struct vel_held **ret_held, struct vel_err *err)
{
    int rc = vel_session_flush(s, id, ret_held, err);

    return rc == 0 ? vel_comm_agree(s->world, check_named(s, *ret_held, err), err) : rc;
}
