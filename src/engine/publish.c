/* SPDX-License-Identifier: BSD-3-Clause */
/* From the caches to the prefix: what, when, and how many stay there. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

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
 * never goes. Behind the program; *held: the ids of those that caches have. */
static void slide(struct vel_session *s, const struct vel_vec *entries,
                  struct vel_buf *held)
{
    const struct vel_entry *e = entries->items;
    int64_t kept = 0;

    for (size_t i = 0; i < entries->n; i++) {
        int64_t id = e[i].dataset.id;
        bool is_held = vel_session_held_of(s, id);

        if (e[i].dataset.use != VEL_USE_CHECKPOINT || e[i].place != VEL_ON_PREFIX ||
            (!e[i].replaced && (kept += !e[i].failed) <= s->conf->prefix_size))
            continue;
        vel_session_mark_behind(s, is_held ? VEL_MARK_WITHDRAW : VEL_MARK_REMOVE,
                                &e[i]);
        if (is_held)
            vel_buf_append(held, &id, sizeof id);
    }
}

int vel_session_slide(struct vel_session *s, struct vel_err *err)
{
    struct vel_vec entries;
    struct vel_buf held;
    size_t left_out = 0;
    int rc;

    if (!s->conf->prefix_size)
        return 0;
    vel_buf_init(&held);
    rc = vel_session_load_index(s, &left_out, &entries, err);
    if (rc == 0) {
        slide(s, &entries, &held);
        vel_index_fini(&entries);
        rc = vel_buf_status(&held, err);
    }
    rc = vel_comm_agree(s->world, rc, err);
    if (rc == 0)
        rc = vel_comm_bcast(s->world, 0, &held, err);
    for (size_t at = 0; rc == 0 && at < held.len; at += sizeof(int64_t)) {
        int64_t id;

        memcpy(&id, held.data + at, sizeof id);
        vel_session_held_of(s, id)->entry.place = VEL_ON_CACHE;
    }
    vel_buf_fini(&held);
    return rc;
}

/* --- what was begun --- */

int vel_session_finish_one(struct vel_session *s, struct vel_entry *entry,
                           struct vel_err *err)
{
    int rc = vel_comm_agree(s->world, vel_session_mark(s, VEL_MARK_PUBLISH, entry, err),
                            err);

    if (rc == 0)
        entry->place = VEL_ON_PREFIX;
    return rc;
}

int vel_session_finish_held(struct vel_session *s, struct vel_held *held,
                            struct vel_err *err)
{
    struct vel_entry entry = {.dataset = {.id = held->map.dataset.id},
                              .place = held->entry.place};
    int rc = entry.place == VEL_ON_STAGED ? vel_session_finish_one(s, &entry, err) : 0;

    if (rc == 0)
        held->entry.place = entry.place;
    return rc;
}

/* Also what leaders have staged: when its parts move they would copy it anew, and take
 * names that they have given it for somebody else's. */
static bool is_begun(const struct vel_entry *e)
{
    return e->place == VEL_ON_REMOVING || (e->place == VEL_ON_STAGED && !e->failed);
}

void vel_session_finish_begun(struct vel_session *s, struct vel_vec *entries)
{
    struct vel_entry *e = entries->items;

    /* the oldest first, since a newer one may replace its files */
    for (size_t i = entries->n; i-- > 0;) {
        bool is_staged = e[i].place == VEL_ON_STAGED;
        struct vel_err why = {0};

        if (!is_begun(&e[i]))
            continue;
        if (vel_session_mark(s, is_staged ? VEL_MARK_PUBLISH : VEL_MARK_REMOVE, &e[i],
                             &why) < 0)
            vel_log(VEL_LOG_WARN, "%s", why.text);
        else
            e[i].place = is_staged ? VEL_ON_PREFIX : VEL_ON_CACHE;
    }
}

/* --- to the prefix --- */

/* Rank 0. What is staged goes forward only, for some files may have their names:
 * whoever reads it goes on. */
static int stage(struct vel_session *s, const struct vel_entry *entry,
                 enum vel_place_on_prefix *ret_place, struct vel_err *err)
{
    struct vel_entry now = {0};
    struct vel_err why = {0};
    int rc = vel_session_mark(s, VEL_MARK_STAGE, entry, &why);

    *ret_place = VEL_ON_PREFIX;
    if (rc == 0)
        return 0;
    if (vel_entry_load(s->index, entry->dataset.id, &now, NULL) < 0 ||
        now.place < VEL_ON_STAGED || now.failed)
        rc = vel_fail(err, (enum vel_status)rc, "recording dataset %" PRId64 ": %s",
                      entry->dataset.id, why.text);
    else
        rc = 0;
    *ret_place = now.place;
    vel_entry_fini(&now);
    if (rc == 0)
        vel_log(VEL_LOG_WARN, "%s: it is tried again", why.text);
    return rc;
}

int vel_session_adopt(struct vel_session *s, struct vel_held *held,
                      struct vel_vec *files, struct vel_err *err)
{
    struct vel_entry entry = {.dataset = s->writing.map.dataset};
    int64_t place;
    int rc = vel_session_has_nobody(s) ? vel_session_meet_late(s, err) : 0;

    if (rc == 0)
        rc = vel_flush_list(&s->crew, files, &entry, err);
    if (rc == 0 && s->world->rank == 0)
        rc = stage(s, &entry, &entry.place, err);
    place = entry.place;
    rc = vel_comm_agree_fold(s->world, rc, VEL_COMM_MAX, &place, 1, err);
    held->entry = entry;
    held->entry.place = (enum vel_place_on_prefix)place;
    held->entry.dataset.name = NULL;
    return rc;
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
