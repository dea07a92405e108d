/* SPDX-License-Identifier: BSD-3-Clause */
/* Datasets by name and version: made current, forgotten, deleted. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "engine/session_in.h"

/* Collective. The newest one of that name and version. */
static int find(struct vel_session *s, const char *name, int64_t version,
                struct vel_entry *ret, struct vel_err *err)
{
    const struct vel_session_asked asked = {.name = name, .version = version};
    struct vel_vec entries = {0};
    int rc = vel_session_may_all(s, VEL_DO_START, &asked, err);

    if (rc < 0)
        return rc;
    rc = vel_session_load_index(s, NULL, &entries, err);
    rc = vel_session_share_entry(
        s, rc, vel_session_newest_entry(&entries, name, version), ret, err);
    vel_index_fini(&entries);
    return rc < 0 || ret->dataset.id
               ? rc
               : vel_fail(err, VEL_ENOENT, "there is no checkpoint '%s' %" PRId64, name,
                          version);
}

/* False: this rank's part is still there. */
static bool forget_held(struct vel_session *s, int64_t id, bool keeps_prefix)
{
    for (size_t i = 0; i < s->held.n; i++) {
        const struct vel_held *held = vel_session_held(s, i);

        if (held->map.dataset.id == id) {
            char *dir = held->dir ? strdup(held->dir) : NULL;
            bool has_dir = held->dir, is_gone;

            vel_session_evict(s, i, keeps_prefix);
            is_gone = !has_dir || (dir && !vel_fs_exists(s->fs, dir));
            free(dir);
            return is_gone;
        }
    }
    return true;
}

/* A tombstone first: nodes that are not here now will see it. */
static int drop(struct vel_session *s, const struct vel_entry *entry, bool with_files,
                struct vel_err *err)
{
    int64_t id = entry->dataset.id, left;
    bool is_own = s->world->rank == 0 && vel_session_is_own(s, id);
    int rc = vel_session_mark_id(s, VEL_MARK_DROP, id, err);

    if (rc == 0)
        rc = vel_session_take_back(s, id, VEL_OWE_NOTHING, NULL, NULL, err);
    rc = vel_comm_agree(s->world, rc, err);
    if (rc < 0)
        return rc;
    left = !forget_held(s, id, !with_files);
    vel_session_tell(s, (struct vel_event){.kind = VEL_EVENT_DROP}, &entry->dataset);
    rc =
        vel_session_mark_id(s, with_files ? VEL_MARK_REMOVE : VEL_MARK_FORGET, id, err);
    rc = vel_comm_agree_fold(s->world, rc, VEL_COMM_SUM, &left, 1, err);
    if (rc == 0 && is_own && left == 0) /* nobody else ever had a part of it */
        vel_session_mark_id(s, VEL_MARK_UNDROP, id, NULL);
    return rc;
}

int vel_session_drop(struct vel_session *session, const char *name, int64_t version,
                     bool with_files, struct vel_err *err)
{
    struct vel_entry entry;
    int rc = find(session, name, version, &entry, err);

    if (rc < 0)
        return rc;
    rc = drop(session, &entry, with_files, err);
    vel_entry_fini(&entry);
    return rc;
}

/* Collective. What is newer than dataset `id` goes. */
static int drop_newer(struct vel_session *s, int64_t id, struct vel_err *err)
{
    struct vel_vec entries = {0};
    int rc = vel_session_load_index(s, NULL, &entries, err);
    const struct vel_entry *e = entries.items;
    size_t at = 0;

    do {
        bool is_newer = at < entries.n && e[at].dataset.id > id;
        struct vel_entry entry;

        rc = vel_session_share_entry(s, rc, is_newer ? &e[at++] : NULL, &entry, err);
        if (rc < 0 || !entry.dataset.id)
            break;
        rc = drop(s, &entry, false, err);
        vel_entry_fini(&entry);
    } while (rc == 0);
    vel_index_fini(&entries);
    return rc;
}

int vel_session_set_current(struct vel_session *session, const char *name,
                            int64_t version, struct vel_err *err)
{
    struct vel_session *s = session;
    struct vel_entry entry;
    int rc = find(s, name, version, &entry, err);

    if (rc < 0)
        return rc;
    rc = vel_comm_agree(s->world, vel_session_mark(s, VEL_MARK_CURRENT, &entry, err),
                        err);
    if (rc == 0 && s->conf->drop_after_current)
        rc = drop_newer(s, entry.dataset.id, err);
    vel_entry_fini(&entry);
    return rc;
}

int vel_session_clean(struct vel_session *session, const char *name,
                      struct vel_err *err)
{
    struct vel_session *s = session;
    const struct vel_session_asked asked = {.name = name};
    int rc = vel_session_may_all(s, VEL_DO_START, &asked, err);

    for (size_t i = 0; rc == 0 && i < s->held.n;) {
        struct vel_held *held = vel_session_held(s, i);

        if (strcmp(held->map.dataset.name, name) != 0 || vel_held_is_owed(held) ||
            held->owed & VEL_OWE_FLUSH) {
            i++;
            continue;
        }
        if (held->owed)
            rc = vel_session_take_back_held(s, held, err);
        if (rc == 0)
            vel_session_evict(s, i, false);
    }
    return rc;
}
