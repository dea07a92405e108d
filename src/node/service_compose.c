/* SPDX-License-Identifier: BSD-3-Clause */
/* What the chair of the connector's datasets writes and reads: ids, what they are, and
 * the seals of a template (doc/life.txt, 8). */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/path.h"
#include "jobs/compose.h"
#include "meta/paths.h"
#include "node/service_in.h"
#include "topo/level.h"
#include "view/seals.h"

/* --- a dataset is made --- */

static void note_checkpoint(struct vel_service *service, int64_t checkpoint)
{
    if (checkpoint > service->checkpoints)
        service->checkpoints = checkpoint;
}

/* Those that a chair of this launch before us has sealed. */
static int note_sealed(struct vel_service *service, struct vel_err *err)
{
    const struct vel_seals *seals;
    int rc = vel_service_seals(service, &seals, err);

    for (size_t i = 0; rc == 0 && i < seals->items.n; i++) {
        struct vel_seal seal;

        if (vel_seals_at(seals, i, &seal, NULL) < 0)
            continue;
        note_checkpoint(service, seal.about.checkpoint);
        vel_seal_fini(&seal);
    }
    return rc;
}

/* One above all that the index, the view and what is newer know of. */
static int next_checkpoint(struct vel_service *service, int64_t *ret,
                           struct vel_err *err)
{
    struct vel_vec entries;
    size_t left_out = 0;
    int rc = 0;

    if (service->checkpoints == 0) {
        rc = vel_index_load(service->index, &left_out, &entries, err);
        if (rc < 0)
            return rc;
        for (size_t i = 0; i < entries.n; i++)
            note_checkpoint(
                service,
                ((struct vel_entry *)vel_vec_at(&entries, i))->dataset.checkpoint);
        vel_index_fini(&entries);
        for (size_t i = 0; service->view && i < service->view->datasets.n; i++)
            note_checkpoint(service, ((struct vel_view_dataset *)vel_vec_at(
                                          &service->view->datasets, i))
                                         ->about.checkpoint);
        rc = note_sealed(service, err);
    }
    *ret = service->checkpoints + 1;
    return rc;
}

/* By this chair: one that is new has used none. */
static int list_uses(struct vel_service *service, double **ret_since,
                     struct vel_err *err)
{
    size_t n = vel_level_count(service->conf);
    double *since = calloc(n + 1, sizeof *since);

    if (!service->last_use)
        service->last_use = calloc(n + 1, sizeof *service->last_use);
    if (!since || !service->last_use) {
        free(since);
        return vel_out_of_memory(err, "a dataset");
    }
    for (size_t i = 0; i < n; i++)
        since[i] =
            service->last_use[i]
                ? (double)(vel_clock_monotonic(service->clock) - service->last_use[i]) /
                      (double)VEL_CLOCK_S
                : INFINITY;
    *ret_since = since;
    return 0;
}

/* Once: nobody can do anything about it while the program runs. */
static void tell_exposed(struct vel_service *service, const struct vel_seal *seal,
                         const struct vel_err *why)
{
    if (service->has_told_exposed || why->status == VEL_OK)
        return;
    service->has_told_exposed = true;
    if (seal->about.nodes == 1)
        vel_log(vel_conf_asks_for_scheme(service->conf) ? VEL_LOG_WARN : VEL_LOG_INFO,
                "all files are on node %s, where no redundancy would survive: a single "
                "copy is kept until they are on the prefix",
                vel_seal_member(seal, 0)->node);
    else
        vel_log(VEL_LOG_WARN,
                "%s: a single copy of every dataset is kept until it is on the prefix",
                why->text);
}

/* Where the next id of a launch comes from: of ours, or of one that is over, whose
 * datasets are sealed one launch after the other. */
static struct vel_ids *ids_of(struct vel_service *service, const char *launch)
{
    if (strcmp(launch, service->launch) == 0)
        return &service->ids;
    if (strcmp(launch, service->ids_launch) != 0) {
        snprintf(service->ids_launch, sizeof service->ids_launch, "%s", launch);
        service->ids_over = (struct vel_ids){.end = 0};
    }
    return &service->ids_over;
}

int vel_service_compose_for(struct vel_service *service, const char *launch,
                            struct vel_seal *seal, struct vel_err *err)
{
    struct vel_compose of = {.conf = service->conf,
                             .line = vel_service_line(service, seal->template)};
    const struct vel_id_owner owner = {.launch = launch, .is_leaders = true};
    struct vel_err why = {0};
    double *since = NULL;
    int rc = next_checkpoint(service, &of.checkpoint, err);

    if (rc == 0)
        rc = list_uses(service, &since, err);
    of.seconds_since = since;
    if (rc == 0)
        rc = vel_ids_give(service->fs, service->dir, ids_of(service, launch),
                          service->view ? service->view->highest : 0, &owner, &of.id,
                          &of.created, err);
    if (rc == 0)
        rc = vel_compose(&of, seal, &why, err);
    free(since);
    if (rc < 0)
        return rc;
    if (seal->verdict == VEL_VERDICT_SEALED && seal->members.n > 0)
        service->last_use[vel_seal_member(seal, 0)->level] =
            vel_clock_monotonic(service->clock);
    tell_exposed(service, seal, &why);
    service->checkpoints += seal->about.checkpoint > 0;
    return 0;
}

/* The program writes a step anew that it could not read. */
static void note_unseen(const struct vel_service *service, struct vel_seal *seal)
{
    struct vel_seals_of of = {.fs = service->fs, .dir = service->dir};
    const struct vel_view *view = service->view;

    for (size_t i = 0; view && i < view->lost.n && seal->anew == 0; i++) {
        int64_t id = ((struct vel_view_lost *)vel_vec_at(&view->lost, i))->id;
        struct vel_seal older;

        if (!vel_view_is_unseen(view, id) || vel_seals_of_dataset(&of, id, &older) < 0)
            continue;
        if (older.about.is_leaders && strcmp(older.template, seal->template) == 0 &&
            strcmp(older.step, seal->step) == 0)
            seal->anew = id;
        vel_seal_fini(&older);
    }
    vel_seals_of_fini(&of);
}

int vel_service_compose(void *arg, struct vel_seal *seal,
                        const struct vel_leader_key *key, struct vel_err *err)
{
    struct vel_service *service = arg;

    (void)key;
    vel_service_note_use(service, seal->template);
    note_unseen(service, seal);
    return vel_service_compose_for(service, service->launch, seal, err);
}

/* --- those that were --- */

/* Does a dataset of the view have the names that this template and step give? */
static bool has_names(const struct vel_view_dataset *dataset, const char *name,
                      const char *step, int64_t version)
{
    return dataset->about.name && strcmp(dataset->about.name, name) == 0 &&
           (version < 0 || !*step || dataset->about.version == version);
}

static int is_in_view(struct vel_service *service, const char *template,
                      const char *step, bool *ret_is, struct vel_err *err)
{
    char *name = vel_compose_name(vel_service_line(service, template), template);
    int64_t version = vel_compose_version(step, -1);

    if (!name)
        return vel_out_of_memory(err, "a dataset");
    for (size_t i = 0; !*ret_is && service->view && i < service->view->datasets.n; i++)
        *ret_is =
            has_names(vel_vec_at(&service->view->datasets, i), name, step, version);
    free(name);
    return 0;
}

int vel_service_has_whole(void *arg, const char *template, const char *step,
                          int64_t generation, bool *ret_has, struct vel_err *err)
{
    *ret_has = false;
    while (!*ret_has && --generation > 0) {
        enum vel_verdict verdict = VEL_VERDICT_VOID;
        int64_t id;
        int rc =
            vel_service_sealed(arg, template, step, generation, &id, &verdict, err);

        if (rc < 0 && rc != VEL_ENOENT)
            return rc;
        *ret_has = rc == 0 && verdict == VEL_VERDICT_SEALED;
    }
    return *ret_has ? 0 : is_in_view(arg, template, step, ret_has, err);
}

static void latest_fini(struct vel_service_latest *latest)
{
    free(latest->template);
    vel_vec_fini(&latest->previous.ones);
}

void vel_service_forget_latest(struct vel_service *service)
{
    for (size_t i = 0; i < service->latest.n; i++)
        latest_fini(vel_vec_at(&service->latest, i));
    vel_vec_fini(&service->latest);
    free(service->last_use);
    service->last_use = NULL;
}

static struct vel_service_latest *latest_of(const struct vel_service *service,
                                            const char *template)
{
    for (size_t i = 0; i < service->latest.n; i++) {
        struct vel_service_latest *latest = vel_vec_at(&service->latest, i);

        if (strcmp(latest->template, template) == 0)
            return latest;
    }
    return NULL;
}

static int list_ones(const struct vel_seal *seal, struct vel_vec *ret,
                     struct vel_err *err)
{
    vel_vec_init(ret, sizeof(struct vel_leader_one));
    for (size_t i = 0; i < seal->members.n; i++) {
        const struct vel_seal_member *member = vel_seal_member(seal, i);
        const struct vel_leader_one one = {.rank = member->rank,
                                           .files = vel_seal_expected(member)};

        if (one.files > 0 && !vel_vec_push(ret, &one)) {
            vel_vec_fini(ret);
            return vel_out_of_memory(err, "a seal");
        }
    }
    return 0;
}

/* Who wrote a file that no other belongs to says nothing of who writes it next. */
static bool is_by_itself(const struct vel_service *service, const char *template)
{
    return !vel_service_line(service, template) && !strstr(template, "{rank}");
}

int vel_service_note_seal(struct vel_service *service, const struct vel_seal *seal,
                          bool is_ours, struct vel_err *err)
{
    struct vel_service_latest *known,
        latest = {.previous = {.id = seal->id, .is_ours = is_ours}};
    int rc;

    if (!seal->template || !*seal->template || seal->verdict != VEL_VERDICT_SEALED ||
        is_by_itself(service, seal->template))
        return 0;
    known = latest_of(service, seal->template);
    if (known && known->previous.id >= seal->id)
        return 0;
    latest.previous.ranks = (int64_t)seal->members.n;
    rc = list_ones(seal, &latest.previous.ones, err);
    if (rc < 0)
        return rc;
    if (known) {
        vel_vec_fini(&known->previous.ones);
        known->previous = latest.previous;
        return 0;
    }
    latest.template = strdup(seal->template);
    if (latest.template && vel_vec_push(&service->latest, &latest))
        return 0;
    latest_fini(&latest);
    return vel_out_of_memory(err, "a seal");
}

/* One that nobody can read is told. */
static int note_old(struct vel_service *service, const struct vel_seals *seals,
                    size_t i, bool is_ours, struct vel_err *err)
{
    struct vel_err why = {0};
    struct vel_seal seal;
    int rc = vel_seals_at(seals, i, &seal, &why);

    if (rc == VEL_ECORRUPT) {
        vel_log(VEL_LOG_WARN,
                "a seal that cannot be read does not tell who is to write: %s",
                why.text);
        return 0;
    }
    if (rc < 0)
        return vel_fail(err, (enum vel_status)rc, "%s", why.text);
    if (is_ours || (service->view && vel_view_find_dataset(service->view, seal.id)))
        rc = vel_service_note_seal(service, &seal, is_ours, err);
    vel_seal_fini(&seal);
    return rc;
}

/* Seals of one launch; of another only what the view can restore counts. What cannot be
 * read now is asked for again: without it a dataset could be taken for whole that lacks
 * a rank. */
static int note_launch(struct vel_service *service, const char *launch, bool is_ours,
                       struct vel_err *err)
{
    struct vel_seals *seals;
    struct vel_err why = {0};
    int rc = is_ours ? vel_seals_load(service->fs, service->dir, launch, &seals, &why)
                     : vel_seals_load_by(service->index, launch, &seals, &why);

    if (rc == VEL_ECORRUPT)
        vel_log(VEL_LOG_WARN, "seals do not tell who is to write: %s", why.text);
    if (rc == VEL_ECORRUPT || rc == VEL_ENOENT) /* it was removed meanwhile */
        return 0;
    if (rc < 0)
        return vel_fail(err, (enum vel_status)rc, "%s", why.text);
    for (size_t i = 0; rc == 0 && i < seals->items.n; i++)
        rc = note_old(service, seals, i, is_ours, err);
    vel_seals_destroy(seals);
    return rc;
}

/* All that are there are read once; what is sealed here later is noted then. */
static int read_seals(struct vel_service *service, struct vel_err *err)
{
    struct vel_vec launches;
    int rc;

    vel_vec_init(&launches, sizeof(char *));
    rc = vel_service_ended(service, &launches, err);
    for (size_t i = 0; rc == 0 && i < launches.n; i++)
        rc = note_launch(service, *(char **)vel_vec_at(&launches, i), false, err);
    if (rc == 0)
        rc = note_launch(service, service->launch, true, err);
    vel_fs_names_fini(&launches);
    service->has_latest = rc == 0 && service->view;
    return rc;
}

int vel_service_previous(void *arg, const char *template,
                         struct vel_leader_previous *ret, struct vel_err *err)
{
    struct vel_service *service = arg;
    const struct vel_service_latest *latest;
    struct vel_leader_previous previous;
    int rc = service->has_latest ? 0 : read_seals(service, err);

    vel_books_begin(service->books); /* somebody has a file of it */
    if (rc < 0)
        return rc;
    latest = latest_of(service, template);
    if (!latest)
        return vel_fail(err, VEL_ENOENT, "no dataset of '%s' was sealed yet", template);
    previous = latest->previous;
    vel_vec_init(&previous.ones, sizeof(struct vel_leader_one));
    for (size_t i = 0; i < latest->previous.ones.n; i++)
        if (!vel_vec_push(&previous.ones, vel_vec_at(&latest->previous.ones, i))) {
            vel_vec_fini(&previous.ones);
            return vel_out_of_memory(err, "a seal");
        }
    *ret = previous;
    return 0;
}
