/* SPDX-License-Identifier: BSD-3-Clause */
/* Records of datasets: what was settled, who owns them, their entries in the index, and
 * what this node owes (doc/protocol.txt, 4; doc/life.txt, 1 and 10). */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/path.h"
#include "jobs/mark.h"
#include "jobs/promise.h"
#include "meta/cache.h"
#include "meta/ids.h"
#include "meta/paths.h"
#include "node/service_in.h"
#include "node/service_mover.h"
#include "record/record.h"
#include "jobs/part_files.h"
#include "xfer/flush.h"

enum { FORMAT = 1, LISTED_MOST = 4 };

/* --- owners --- */

/* Of one that is gone nobody is. */
int vel_service_owner(void *arg, int64_t id, int64_t *ret_newest, bool *ret_is_ours,
                      struct vel_err *err)
{
    struct vel_service *service = arg;
    struct vel_err why = {0};
    char *launch = NULL;
    int rc = vel_index_owner(service->index, id, ret_newest,
                             ret_is_ours ? &launch : NULL, &why);

    if (ret_is_ours)
        *ret_is_ours = rc == 0 && strcmp(launch, service->launch) == 0;
    free(launch);
    if (rc == VEL_ENOENT)
        *ret_newest = 1;
    return rc < 0 && rc != VEL_ENOENT
               ? vel_fail(err, (enum vel_status)rc, "%s", why.text)
               : 0;
}

int vel_service_claim_owner(void *arg, int64_t id, int64_t *ret_owner,
                            struct vel_err *err)
{
    struct vel_service *service = arg;

    return vel_index_claim(service->index, id, ret_owner, err);
}

/* --- entries --- */

/* What is known of it: the newest entry, else its seal. */
static int begin_entry(struct vel_service *service, const struct vel_seal *seal,
                       struct vel_entry *ret, struct vel_err *err)
{
    int rc = vel_entry_load(service->index, seal->id, ret, err);

    if (rc != VEL_ENOENT && rc != VEL_ECORRUPT)
        return rc;
    *ret = (struct vel_entry){.place = VEL_ON_CACHE};
    return vel_dataset_copy(&seal->about, &ret->dataset, err);
}

/* One of those that share a name with it and are on their way. */
static int settle_rival(struct vel_service *service, const struct vel_entry *entry,
                        int64_t id, struct vel_err *err)
{
    struct vel_flush_job job = {.id = id};
    struct vel_entry settled = {0};
    char *home;
    int rc = vel_service_claim_owner(service, id, &job.owner, err);

    job.home = home = vel_service_home_of(service, id);
    if (rc == 0)
        rc = vel_flushing_settle(&service->flushing, &job, entry->dataset.id, &settled,
                                 err);
    if (rc == 0)
        vel_entry_fini(&settled);
    free(home);
    return rc;
}

/* Before it renames; but what the brain knows it tells in its order. */
static int settle_rivals(struct vel_service *service, const struct vel_entry *entry,
                         struct vel_err *err)
{
    struct vel_vec rivals;
    int rc;

    vel_vec_init(&rivals, sizeof(struct vel_flush_rival));
    rc = vel_flushing_rivals(&service->flushing, entry, &rivals, err);
    for (size_t i = 0; rc == 0 && i < rivals.n; i++) {
        const struct vel_flush_rival *rival = vel_vec_at(&rivals, i);
        enum vel_dataset_state state = vel_leader_dataset(service->leader, rival->id);

        if (rival->id < entry->dataset.id &&
            (state < VEL_DATASET_SEALED || state > VEL_DATASET_FLUSHING))
            rc = settle_rival(service, entry, rival->id, err);
    }
    vel_vec_fini(&rivals);
    return rc;
}

/* The same on a worker, of a session's: what this launch owns the brain knows, and that
 * finds the newer one before it renames, if it does not rename already. */
static int settle_rivals_of_session(void *arg, const struct vel_entry *entry,
                                    struct vel_err *err)
{
    struct vel_service *service = arg;
    struct vel_vec rivals;
    int rc;

    vel_vec_init(&rivals, sizeof(struct vel_flush_rival));
    rc = vel_flushing_rivals(&service->flushing, entry, &rivals, err);
    for (size_t i = 0; rc == 0 && i < rivals.n; i++) {
        const struct vel_flush_rival *rival = vel_vec_at(&rivals, i);
        int64_t newest;
        bool is_ours = false;

        if (rival->id > entry->dataset.id)
            continue;
        if (rival->owner > 0)
            rc = vel_service_owner(service, rival->id, &newest, &is_ours, err);
        if (rc == 0 && !is_ours)
            rc = settle_rival(service, entry, rival->id, err);
        else if (rc == 0 && rival->place == VEL_ON_STAGED)
            rc = vel_fail(err, VEL_EBUSY, "dataset %" PRId64 " gets its names first",
                          rival->id);
    }
    vel_vec_fini(&rivals);
    return rc;
}

int vel_service_entry(void *arg, const struct vel_seal *seal,
                      enum vel_place_on_prefix place, int64_t by, struct vel_err *err)
{
    struct vel_service *service = arg;
    struct vel_entry entry = {0};
    struct vel_seal_nodes nodes;
    int rc = begin_entry(service, seal, &entry, err);

    if (rc < 0)
        return rc;
    if (place != VEL_ON_PREFIX || entry.place < VEL_ON_STAGED) {
        rc = vel_seal_nodes(seal, &nodes, err);
        entry.lists = (int)nodes.n;
        vel_seal_nodes_fini(&nodes);
    }
    entry.owner = seal->owner;
    entry.is_encoded = seal->is_encoded;
    if (by > 0)
        entry.replaced = by;
    if (rc < 0) {
        vel_entry_fini(&entry);
        return rc;
    }
    if (place == VEL_ON_STAGED) {
        rc = vel_flushing_stage(&service->flushing, &entry, err);
        if (rc == 0)
            rc = settle_rivals(service, &entry, err);
    } else if (place == VEL_ON_PREFIX && by == 0) {
        rc = vel_flushing_publish(&service->flushing, &entry, err);
        if (rc == 0)
            vel_service_tidy(service);
    } else {
        entry.place = place;
        rc = vel_entry_save(service->index, &entry, err);
    }
    vel_entry_fini(&entry);
    return rc;
}

/* All at once, before anybody opens one: by the lists, and by what this node knows of
 * where the program has renamed its files to. */
int vel_service_go_on(void *arg, const struct vel_seal *seal, struct vel_err *err)
{
    struct vel_service *service = arg;
    char *home = vel_service_home_of(service, seal->id);
    const struct vel_flush_job job = {
        .id = seal->id, .owner = seal->owner, .home = home};
    struct vel_entry entry = {0}, settled = {0};
    int rc = vel_entry_load(service->index, seal->id, &entry, err);

    if (rc == 0)
        rc = settle_rivals(service, &entry, err);
    if (rc == 0 && entry.place == VEL_ON_STAGED && entry.owner != seal->owner)
        rc = vel_flushing_settle(&service->flushing, &job, 0, &settled, err);
    vel_entry_fini(&settled);
    vel_entry_fini(&entry);
    free(home);
    return rc;
}

int vel_service_mark(struct vel_service_job *job, struct vel_err *err)
{
    const struct vel_marking marking = {.flushing = &job->service->flushing,
                                        .settle_rivals = settle_rivals_of_session,
                                        .arg = job->service};
    int rc = vel_buf_status(&job->bytes, err);

    return rc < 0 ? rc
                  : vel_mark(&marking, (enum vel_mark)job->how, job->seal.id,
                             job->bytes.data, job->bytes.len, err);
}

int vel_service_is_dropped(void *arg, int64_t id, bool *ret_is_dropped,
                           struct vel_err *err)
{
    struct vel_service *service = arg;
    char *path = vel_dropped_path(service->dir, id);
    struct stat st;
    int rc = path ? vel_fs_lstat(service->fs, path, &st, err)
                  : vel_out_of_memory(err, "a dataset");

    free(path);
    if (rc < 0 && rc != VEL_ENOENT)
        return rc;
    *ret_is_dropped = rc == 0;
    return 0;
}

bool vel_service_is_held(void *arg, int64_t id)
{
    char *home = vel_service_home_of(arg, id);
    bool is_held = home;

    free(home);
    return is_held;
}

bool vel_service_is_before(void *arg, int64_t id)
{
    struct vel_service *service = arg;

    return service->view && vel_view_find_dataset(service->view, id);
}

/* --- files that are staged get their names: on a worker --- */

int vel_service_name(const struct vel_service_job *job, struct vel_flush_job *flush,
                     struct vel_err *err)
{
    struct vel_service *service = job->service;
    struct vel_index_where where;
    int rc = vel_index_where(service->index, flush->id, &where, err);

    if (rc == 0 ? where.place == VEL_ON_PREFIX : rc != VEL_ENOENT)
        return rc;
    /* a node that was lost may thaw while it changes a file in place */
    flush->may_resume = flush->may_resume && !job->node;
    return vel_flushing_name(&service->flushing, flush, err);
}

/* --- names --- */

/* Cached names of what this node has of a dataset, into a set of them. */
static int add_names(struct vel_service *service, const char *home, int rank,
                     struct vel_map *names)
{
    char *dir = vel_batch_numbered(home, "rank", rank);
    struct vel_vec files;
    int rc;

    vel_vec_init(&files, sizeof(struct vel_flush_file));
    rc = dir ? vel_part_files(service->fs, service->prefix, dir, rank, &files, NULL)
             : VEL_ENOMEM;
    for (size_t i = 0; rc == 0 && i < files.n; i++)
        rc = vel_map_set(names,
                         ((struct vel_flush_file *)vel_vec_at(&files, i))->listed.name,
                         names, NULL);
    vel_flush_files_fini(&files);
    free(dir);
    return rc;
}

/* What goes into containers has no names on the prefix. */
static int list_names(struct vel_service *service, const struct vel_seal *seal,
                      struct vel_map *names)
{
    char *home = vel_service_home_of(service, seal->id);
    struct vel_vec entries;
    int64_t rank;
    int rc;

    vel_vec_init(&entries, sizeof(char *));
    rc = home && !vel_service_packs(service, seal)
             ? vel_fs_list(service->fs, home, &entries, NULL)
             : 0;
    for (size_t i = 0; rc == 0 && i < entries.n; i++)
        if (vel_number_behind(*(char **)vel_vec_at(&entries, i), "rank.", &rank))
            rc = add_names(service, home, (int)rank, names);
    vel_fs_names_fini(&entries);
    free(home);
    return rc;
}

/* Encodings come and go beside the files: what vanishes under us is looked for again.
 */
static struct vel_map *names_of(struct vel_service *service,
                                const struct vel_seal *seal)
{
    struct vel_map *names = NULL;

    for (int i = 0; i < LISTED_MOST; i++) {
        vel_map_destroy(names, NULL);
        names = vel_map_create();
        if (!names || list_names(service, seal, names) == 0)
            return names;
    }
    vel_map_destroy(names, NULL);
    return NULL;
}

static bool have_common(const struct vel_map *a, const struct vel_map *b)
{
    for (size_t i = 0; a && b && i < vel_map_count(a); i++)
        if (vel_map_has(b, vel_map_key(a, i)))
            return true;
    return false;
}

/* By what this node has of both: ranks write names of one kind. A chair may have
 * nothing of either, and then the lists tell. Where it cannot be known they are taken
 * to share none, or a whole dataset would give way to one that has nothing of it. */
bool vel_service_shares(void *arg, const struct vel_seal *seal,
                        const struct vel_seal *other, bool are_listed)
{
    struct vel_service *service = arg;
    struct vel_map *a = names_of(service, seal);
    struct vel_map *b = a ? names_of(service, other) : NULL;
    bool shares = have_common(a, b);

    vel_map_destroy(a, NULL);
    vel_map_destroy(b, NULL);
    if (shares || !are_listed)
        return shares;
    a = vel_flushing_names(&service->flushing, seal->id);
    b = a ? vel_flushing_names(&service->flushing, other->id) : NULL;
    shares = have_common(a, b);
    vel_map_destroy(a, NULL);
    vel_map_destroy(b, NULL);
    return shares;
}
