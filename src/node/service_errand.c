/* SPDX-License-Identifier: BSD-3-Clause */
/* Work that the brain does not ask for: removing what launches before have left, on
 * the prefix (jobs/sweep.h) and in the caches. Its end is nobody's event; what cannot
 * be removed now is by the next who looks. */
#include "config.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/map.h"
#include "base/path.h"
#include "jobs/forget.h"
#include "jobs/sweep.h"
#include "meta/cache.h"
#include "meta/index.h"
#include "meta/ids.h"
#include "meta/paths.h"
#include "node/service_in.h"
#include "node/service_room.h"
#include "view/seals.h"

/* After all that anybody waits for. */
static void begin(struct vel_service *service, vel_work_f *run, int64_t id)
{
    const struct vel_work_plan plan = {
        .order = {.urgency = VEL_URGENT_COPY, .dataset = INT64_MAX},
        .uses_prefix = true};
    struct vel_service_job *job = calloc(1, sizeof *job);

    if (!job)
        return;
    job->service = service;
    job->view = service->view;
    vel_buf_init(&job->bytes);
    vel_seal_init(&job->seal);
    job->seal.id = id;
    if (!vel_vec_push(&service->jobs, &job)) {
        free(job);
        return;
    }
    if (vel_work_submit(service->work, &plan, run, job, &job->work, NULL) < 0) {
        vel_vec_remove(&service->jobs, service->jobs.n - 1);
        free(job);
    }
}

/* --- on the prefix: by who has made a view --- */

static int sweep(void *arg, const struct vel_work_job *how, struct vel_err *err)
{
    struct vel_service_job *job = arg;
    struct vel_service *service = job->service;
    char *path = vel_view_path(service->dir, service->launch);
    char *tools = vel_path_join(service->launch_dir, "tools");
    struct vel_sweep of = {.fs = service->fs,
                           .prefix = service->prefix,
                           .dir = service->dir,
                           .index = service->index,
                           .launch = service->launch,
                           /* tools before a program do it, and tell how many */
                           .leaves_stubs = !tools || vel_fs_exists(service->fs, tools)};
    struct vel_swept swept = {0};
    struct vel_view view;
    int rc = path ? vel_view_load(service->fs, path, &view, err)
                  : vel_out_of_memory(err, "the view");

    (void)how;
    free(path);
    free(tools);
    if (rc < 0)
        return rc;
    of.view = &view;
    rc = vel_sweep(&of, &swept, err);
    vel_view_fini(&view);
    vel_log(VEL_LOG_DEBUG,
            "of launches before %d directories, %d meetings, %d placeholders and %d "
            "datasets were removed%s%s",
            swept.launches, swept.meetings, swept.stubs, swept.datasets,
            rc < 0 ? "; then: " : "", rc < 0 ? err->text : "");
    return rc;
}

void vel_service_sweep(struct vel_service *service)
{
    begin(service, sweep, 0);
}

/* --- records of what is replaced: by who publishes --- */

/* So many of the newest stay: other nodes may still have them. */
enum { REPLACED_KEPT = 8, REPLACED_MOST = 24 };

static int tidy(void *arg, const struct vel_work_job *how, struct vel_err *err)
{
    struct vel_service_job *job = arg;
    struct vel_service *service = job->service;
    struct vel_vec ids;

    (void)how, (void)err;
    vel_over_oldest(&service->replaced, REPLACED_KEPT, &ids);
    for (size_t i = ids.n; i-- > 0;) {
        char *home = vel_service_home_of(service, *(int64_t *)vel_vec_at(&ids, i));

        if (home)
            vel_vec_remove(&ids, i);
        free(home);
    }
    vel_forget_datasets(service->index, service->prefix, ids.items, ids.n);
    vel_vec_fini(&ids);
    return 0;
}

void vel_service_tidy(struct vel_service *service)
{
    if (vel_over_count(&service->replaced) > REPLACED_MOST)
        begin(service, tidy, 0);
}

/* --- in the caches: by every node --- */

static bool is_on_prefix(struct vel_service *service, int64_t id, char **ret_name)
{
    struct vel_entry entry = {0};
    bool is;

    if (vel_entry_load(service->index, id, &entry, NULL) < 0)
        return false;
    is = entry.place == VEL_ON_PREFIX && vel_entry_is_fetchable(&entry);
    if (is && ret_name)
        *ret_name = strdup(entry.dataset.name);
    vel_entry_fini(&entry);
    return is;
}

/* A newer one stands at its names: who restarts takes that. */
static bool is_replaced(struct vel_service *service, int64_t id)
{
    struct vel_index_where where;

    return vel_index_where(service->index, id, &where, NULL) == 0 &&
           where.place == VEL_ON_PREFIX && where.is_replaced;
}

/* All its parts that are here. */
static int evict(struct vel_service *service, int64_t id, struct vel_err *err)
{
    struct vel_service_job job = {.service = service};
    struct vel_vec names;
    char *home = vel_service_home_of(service, id);
    int rc = 0;

    vel_seal_init(&job.seal);
    vel_vec_init(&names, sizeof(char *));
    job.seal.id = id;
    if (home)
        rc = vel_fs_list(service->fs, home, &names, err);
    for (size_t i = 0; rc == 0 && i < names.n; i++) {
        struct vel_seal_member member = {.node = service->host.node};

        if (vel_number_behind(*(char **)vel_vec_at(&names, i), "rank.", &member.rank))
            rc = vel_seal_add(&job.seal, &member, err);
    }
    if (rc == 0 && job.seal.members.n > 0)
        rc = vel_service_remove_parts(&job, err);
    vel_fs_names_fini(&names);
    vel_seal_fini(&job.seal);
    free(home);
    return rc;
}

/* Sessions drop what is theirs by COUNT, whatever its name is. */
static bool is_of_leaders(struct vel_service *service, int64_t id)
{
    return vel_id_is_of_leaders(service->fs, service->dir, id);
}

static const struct vel_line *line_of(const struct vel_conf *conf, const char *name)
{
    const struct vel_line *line;

    for (size_t i = 0; (line = vel_conf_line(conf, VEL_DATASET, i)); i++)
        if (strcmp(line->name, name) == 0)
            return line;
    return NULL;
}

static bool is_here(struct vel_service *service, int64_t id)
{
    char *home = vel_service_home_of(service, id);

    free(home);
    return home != NULL;
}

/* Files of own names, which no newer ones take the place of: thousands of programs that
 * leave one each would make every view longer. As the brain does with those of this
 * launch. */
static int thin_out(struct vel_service *service, const struct vel_view *view,
                    struct vel_err *err)
{
    struct vel_map *newer = vel_map_create(); /* by name */
    int64_t n = 0;
    int rc = newer ? 0 : vel_out_of_memory(err, "datasets");

    for (size_t i = 0; rc == 0 && i < view->datasets.n; i++) {
        struct vel_view_dataset *old = vel_vec_at(&view->datasets, i);
        bool is_older = vel_map_has(newer, old->about.name);

        if (vel_map_set(newer, old->about.name, old, NULL) < 0)
            rc = vel_out_of_memory(err, "datasets");
        else if (!is_older && old->is_cached && old->about.files == 1 &&
                 !line_of(service->conf, old->about.name) &&
                 is_here(service, old->about.id) &&
                 ++n > vel_leader_by_itself(service->ranks) &&
                 is_on_prefix(service, old->about.id, NULL) &&
                 is_of_leaders(service, old->about.id))
            rc = evict(service, old->about.id, err);
    }
    vel_map_destroy(newer, NULL);
    return rc;
}

static bool has_name(struct vel_service *service, int64_t id, const char *name)
{
    struct vel_seals_of of = {.fs = service->fs, .dir = service->dir};
    struct vel_seal seal;
    bool has = false;

    if (vel_seals_of_dataset(&of, id, &seal) == 0) {
        has = seal.about.name && strcmp(seal.about.name, name) == 0;
        vel_seal_fini(&seal);
    }
    vel_seals_of_fini(&of);
    return has;
}

/* Of older ones of that name those that are partial, and have given way: now all ranks
 * have written a newer one. */
static int evict_partial(struct vel_service *service, const struct vel_view *view,
                         const char *name, struct vel_err *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < view->lost.n; i++) {
        const struct vel_view_lost *lost = vel_vec_at(&view->lost, i);

        if (lost->reason == VEL_VIEW_VOID && is_here(service, lost->id) &&
            has_name(service, lost->id, name) && is_of_leaders(service, lost->id))
            rc = evict(service, lost->id, err);
    }
    return rc;
}

static bool has_come(struct vel_service *service, int64_t id, const char *name)
{
    char *own = NULL;
    bool has = is_on_prefix(service, id, &own) && own && strcmp(own, name) == 0;

    free(own);
    return has;
}

/* Have `keep` datasets of that name come to the prefix that are newer than `old`, lie
 * in the same cache, and are no newer than `newest`? */
static int is_followed(struct vel_service *service, int64_t old, int64_t newest,
                       const char *name, int64_t keep, bool *ret_is,
                       struct vel_err *err)
{
    char *at = vel_service_home_of(service, old);
    struct vel_vec parts;
    int64_t last = 0;
    int rc = 0;

    vel_vec_init(&parts, sizeof(struct vel_part));
    for (size_t i = 0; rc == 0 && at && i < service->n_homes; i++)
        if (vel_path_below(service->homes[i], at))
            rc = vel_cache_scan(service->fs, service->homes[i], &parts, err);
    for (size_t i = 0; rc == 0 && i < parts.n && keep > 0; i++) {
        const struct vel_part *part = vel_vec_at(&parts, i);

        if (part->id != last && part->id > old && part->id <= newest &&
            has_come(service, part->id, name))
            keep--;
        last = part->id;
    }
    *ret_is = at && keep <= 0;
    vel_parts_fini(&parts);
    free(at);
    return rc;
}

/* Those of the view are older than any of this launch. */
static int evict_named(struct vel_service_job *job, const char *name,
                       struct vel_err *err)
{
    struct vel_service *service = job->service;
    const struct vel_line *line = line_of(service->conf, name);
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < job->view->datasets.n; i++) {
        const struct vel_view_dataset *old = vel_vec_at(&job->view->datasets, i);
        int64_t keep = vel_service_keep_of(service, line, (size_t)old->index);
        bool is_too_many = false;

        if (!old->is_cached || strcmp(old->about.name, name) != 0 ||
            old->about.id >= job->seal.id || !is_of_leaders(service, old->about.id))
            continue;
        rc = is_followed(service, old->about.id, job->seal.id, name, keep, &is_too_many,
                         err);
        if (rc == 0 && is_too_many &&
            (is_on_prefix(service, old->about.id, NULL) ||
             is_replaced(service, old->about.id)))
            rc = evict(service, old->about.id, err);
    }
    return rc;
}

static int evict_older(void *arg, const struct vel_work_job *how, struct vel_err *err)
{
    struct vel_service_job *job = arg;
    struct vel_service *service = job->service;
    char *name = NULL;
    int rc = 0;

    (void)how;
    if (!is_of_leaders(service, job->seal.id) ||
        !is_on_prefix(service, job->seal.id, &name) || !name)
        return 0;
    rc = evict_named(job, name, err);
    if (rc == 0)
        rc = evict_partial(service, job->view, name, err);
    if (rc == 0 && !atomic_exchange(&service->has_thinned, true))
        rc = thin_out(service, job->view, err);
    free(name);
    return rc;
}

void vel_service_evict_older(struct vel_service *service, int64_t id)
{
    if (service->view && service->view->datasets.n + service->view->lost.n > 0)
        begin(service, evict_older, id);
}
