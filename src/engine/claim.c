/* SPDX-License-Identifier: BSD-3-Clause */
/* Which datasets of a prefix are whose, while several launches work with it: an id
 * belongs to the launch that has claimed it (meta/ids.h), and what a launch that has
 * not ended has made is nobody else's (doc/format-meta.txt, 13). */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/path.h"
#include "engine/session_in.h"
#include "meta/cache.h"
#include "meta/launch.h"
#include "sys/entropy.h"

bool vel_session_is_over(const struct vel_session *s, const char *launch)
{
    bool is_over;

    vel_index_is_over(s->index, launch, &is_over, NULL);
    return is_over;
}

/* Leaders have datasets of HDF5 files that programs make outside of checkpoints: a
 * session lets them be. What the dataset's own record says (says_leaders) counts where
 * the claim is gone. */
static int find_whose(const struct vel_session *s, int64_t id, bool says_leaders,
                      bool *ret_is_anothers, struct vel_err *err)
{
    char *launch = NULL;
    bool is_leaders, is_ours;
    struct vel_err why = {0};
    int rc = vel_index_maker(s->index, id, &launch, &is_leaders, &why);

    /* VEL_ENOENT: its block was removed, or nobody else was there */
    *ret_is_anothers = rc != VEL_ENOENT || says_leaders;
    if (rc == 0) {
        is_ours =
            !is_leaders && (vel_session_has_nobody(s) || /* nobody else can be here */
                            strcmp(launch, s->launch) == 0);
        if (!is_ours && !is_leaders)
            rc = vel_index_is_over(s->index, launch, &is_ours, &why);
        if (rc == VEL_EBUSY) /* another is just ending it */
            rc = 0;
        *ret_is_anothers = !is_ours;
        free(launch);
    }
    return rc < 0 && !vel_status_is_final(rc)
               ? vel_fail(err, (enum vel_status)rc,
                          "whose dataset %" PRId64 " is cannot be told now: %s", id,
                          why.text)
               : 0;
}

int vel_session_find_whose(const struct vel_session *s, int64_t id,
                           bool *ret_is_anothers, struct vel_err *err)
{
    return find_whose(s, id, false, ret_is_anothers, err);
}

bool vel_session_is_anothers(const struct vel_session *s, int64_t id)
{
    bool is_anothers;

    find_whose(s, id, false, &is_anothers, NULL);
    return is_anothers;
}

bool vel_session_is_own(const struct vel_session *s, int64_t id)
{
    char *launch = NULL;
    bool is_leaders, is_own;

    is_own = vel_index_maker(s->index, id, &launch, &is_leaders, NULL) == 0 &&
             !is_leaders && strcmp(launch, s->launch) == 0;
    free(launch);
    return is_own;
}

bool vel_session_is_ended(const struct vel_session *s)
{
    bool is_over;

    return !vel_session_has_nobody(s) &&
           (vel_index_is_over(s->index, s->launch, &is_over, NULL) < 0 || is_over);
}

int vel_session_load_index(struct vel_session *s, size_t *left_out,
                           struct vel_vec *ret_entries, struct vel_err *err)
{
    struct vel_vec entries = {0};
    int rc = 0;

    if (s->world->rank == 0) {
        vel_session_mark_all(s);
        rc = vel_index_load(s->index, left_out, &entries, err);
    }
    for (size_t i = entries.n; rc == 0 && i-- > 0;) {
        struct vel_entry *e = vel_vec_at(&entries, i);
        bool is_anothers;

        rc = find_whose(s, e->dataset.id, e->dataset.is_leaders, &is_anothers, err);
        if (rc < 0 && left_out)
            rc = 0; /* as another's */
        if (rc < 0 || !is_anothers)
            continue;
        vel_entry_fini(e);
        vel_vec_remove(&entries, i);
    }
    if (rc == 0)
        *ret_entries = entries;
    else
        vel_index_fini(&entries);
    return rc;
}

const struct vel_entry *vel_session_newest_entry(const struct vel_vec *entries,
                                                 const char *name, int64_t version)
{
    const struct vel_entry *e = entries->items;

    for (size_t i = 0; i < entries->n; i++)
        if (strcmp(e[i].dataset.name, name) == 0 && e[i].dataset.version == version)
            return &e[i];
    return NULL;
}

int vel_session_share_entry(struct vel_session *s, int rc,
                            const struct vel_entry *chosen, struct vel_entry *ret,
                            struct vel_err *err)
{
    struct vel_entry entry = {0};
    struct vel_buf bytes;

    vel_buf_init(&bytes);
    if (rc == 0 && chosen)
        rc = vel_entry_encode(chosen, &bytes, err);
    rc = vel_comm_agree(s->world, rc, err);
    if (rc == 0)
        rc = vel_comm_bcast(s->world, 0, &bytes, err);
    if (rc == 0 && bytes.len) {
        rc = vel_entry_decode(bytes.data, bytes.len, &entry, err);
        rc = vel_comm_agree(s->world, rc, err);
    }
    vel_buf_fini(&bytes);
    if (rc < 0)
        vel_entry_fini(&entry);
    else
        *ret = entry;
    return rc;
}

/* --- ids --- */

/* Does no other launch work with the prefix, as far as could be seen last? */
static bool is_alone(struct vel_session *s, struct vel_fs *fs)
{
    struct vel_vec launches;
    bool is = true;
    int rc;

    vel_vec_init(&launches, sizeof(char *));
    rc = vel_launch_list(fs, s->dir, &launches, NULL);
    for (size_t i = 0; rc == 0 && is && i < launches.n; i++) {
        const char *launch = *(char **)vel_vec_at(&launches, i);

        if (strcmp(launch, s->launch) != 0)
            rc = vel_index_is_over(s->index, launch, &is, NULL);
    }
    vel_fs_names_fini(&launches);
    if (rc == 0)
        s->is_alone = is;
    return s->is_alone;
}

void vel_session_begin_claims(struct vel_session *s)
{
    if (s->world->rank == 0 && !vel_session_has_nobody(s))
        is_alone(s, s->fs);
}

/* Those that were given while the prefix could not be written. */
void vel_session_claim_late(struct vel_session *s)
{
    const struct vel_id_owner owner = {.launch = s->launch};
    struct vel_fs *fs = vel_session_limited(s);

    for (; s->unclaimed && s->unclaimed <= s->last_id; s->unclaimed++) {
        int rc = vel_ids_claim_late(fs, s->dir, s->unclaimed, &owner, NULL);

        if (rc < 0 && rc != VEL_EEXIST)
            return; /* the rest next time */
    }
    s->unclaimed = 0;
}

/* So far from what was given that nobody comes there before it is claimed; and several
 * may be without the prefix at once, who each have a place of their own. */
static int64_t far_from(int64_t id)
{
    uint64_t place = 0;

    vel_entropy(&place, sizeof place, NULL);
    return id + ((int64_t)1 << 20) + (int64_t)(place >> 24);
}

int vel_session_claim(struct vel_session *s, struct vel_dataset *ret,
                      struct vel_err *err)
{
    const struct vel_id_owner owner = {.launch = s->launch};
    struct vel_fs *fs = vel_session_limited(s);
    struct vel_err why = {0};
    struct timespec now;
    int rc;

    if (s->claimed > s->last_id && s->claimed + 1 == s->ids.next)
        s->ids.next--; /* it was for one that could not be begun */
    rc = vel_ids_give(fs, s->dir, &s->ids, s->last_id, &owner, &ret->id, &now, &why);
    if (rc == 0) {
        ret->created = now.tv_sec;
        ret->created_ns = (int)now.tv_nsec;
        s->claimed = ret->id;
        vel_session_claim_late(s);
        return 0;
    }
    if (!vel_session_has_nobody(s) && !is_alone(s, fs))
        return vel_fail(err, (enum vel_status)rc, "%s", why.text);
    /* nobody else can claim one now */
    if (!s->unclaimed)
        s->unclaimed = far_from(s->last_id);
    ret->id = s->unclaimed > s->last_id ? s->unclaimed : s->last_id + 1;
    vel_log(VEL_LOG_INFO, "dataset %" PRId64 " is this launch's without a claim: %s",
            ret->id, why.text);
    return 0;
}

/* --- removing --- */

int vel_session_remove_part(struct vel_session *s, const struct vel_held *held,
                            struct vel_err *err)
{
    uint64_t patience = (uint64_t)s->conf->peer_timeout * VEL_CLOCK_S;
    int64_t id = held->map.dataset.id;
    char *above = vel_path_dir(held->level);
    char *path = above ? vel_path_join(above, "lock") : NULL;
    struct vel_freeing *freeing = NULL;
    struct vel_lock *lock = NULL;
    int rc = path ? vel_lock_wait(s->fs, &s->host, s->clock, patience, path, &lock, err)
                  : vel_out_of_memory(err, "the cache");

    /* a launch that was thought to be dead removes nothing that another one may count
     * on */
    if (rc == 0 && vel_session_is_ended(s))
        rc = vel_fail(err, VEL_ESTATE, "another launch has taken over");
    if (rc == 0) {
        freeing = vel_freeing_begin(s, held->dir);
        rc = vel_cache_remove_part(s->fs, held->level, id, s->world->rank, err);
    }
    vel_lock_release(lock);
    vel_freeing_end(s, freeing);
    free(path);
    free(above);
    return rc;
}
