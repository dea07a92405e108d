/* SPDX-License-Identifier: BSD-3-Clause */
/* Encoding: the set of a job as jobs/encode.h wants it, and its meeting. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/path.h"
#include "base/proof.h"
#include "meta/cache.h"
#include "meta/paths.h"
#include "node/service_call.h"
#include "node/service_mover.h"

enum {
    OLDER_MOST = 4, /* datasets that are looked at */
    PASSES = 4,     /* so often an encoding reads or writes as much as its files have */
};

/* A set, with what belongs to it. */
struct set {
    struct vel_service *service;
    const struct vel_work_job *how; /* NULL: nobody is met */
    struct vel_encode job;
    struct vel_encode_member *members;
    struct vel_encode_part *parts;
    char listen[64];
};

static int meet(void *arg, const char *node, const struct vel_msg_meet *ask,
                uint8_t ret_token[VEL_COMM_TOKEN], char **ret_endpoints,
                struct vel_err *err)
{
    struct vel_msg msg = {.kind = VEL_MSG_MEET, .u.meet = *ask}, met;
    const struct set *set = arg;
    struct vel_buf room;
    char *endpoints = NULL;
    int rc;

    vel_buf_init(&room);
    rc = vel_service_call(set->service, set->how, node, &msg, &met, &room, err);
    if (rc == 0 && met.kind != VEL_MSG_MET)
        rc =
            vel_fail(err, VEL_ECORRUPT, "%s answers something else to a meeting", node);
    if (rc == 0 && !(endpoints = strdup(met.u.met.endpoints)))
        rc = vel_out_of_memory(err, "a meeting");
    if (rc == 0) {
        /* who can look at the network reads the one that is told */
        vel_proof_secret(set->service->key.bytes, met.u.met.token.at, VEL_COMM_TOKEN,
                         ret_token);
        *ret_endpoints = endpoints;
    }
    vel_buf_fini(&room);
    return rc;
}

static bool goes_on(void *arg)
{
    const struct set *set = arg;

    return vel_watch_step(set->how->alone, 0);
}

static const struct vel_encode_ops ops = {.meet = meet, .goes_on = goes_on};

/* Where members of a set listen: at the first address that others reach; without a
 * network all nodes are on this machine. */
static void choose_address(struct vel_service *service, char *ret, size_t size)
{
    const char *tcp = strstr(service->endpoint.endpoints, "tcp:");
    size_t len = tcp ? strcspn(tcp + 4, ":") : 0;

    if (len > 0 && len < size - 8)
        snprintf(ret, size, "tcp:%.*s:0", (int)len, tcp + 4);
    else
        snprintf(ret, size, "tcp:127.0.0.1:0");
}

static void part_fini(struct vel_encode_part *part)
{
    for (size_t i = 0; part->older && part->older[i]; i++)
        free(part->older[i]);
    free((char **)part->older);
    free((char *)part->dir);
}

static void set_fini(struct set *set)
{
    for (size_t i = 0; i < set->job.n_parts; i++)
        part_fini(&set->parts[i]);
    free(set->parts);
    free(set->members);
}

static int add_part(struct set *set, const char *home, size_t place, int64_t rank,
                    struct vel_err *err)
{
    struct vel_encode_part *part = &set->parts[set->job.n_parts++];

    part->place = place;
    part->dir = vel_batch_numbered(home, "rank", rank);
    return part->dir ? 0 : vel_out_of_memory(err, "a set");
}

static int fill(struct vel_service_job *job, int64_t number, struct set *set,
                struct vel_err *err)
{
    const struct vel_seal *seal = &job->seal;
    char *home = vel_service_home_of(job->service, seal->id);
    size_t n = 0;
    int rc = 0;

    set->members = calloc(seal->members.n + 1, sizeof *set->members);
    set->parts = calloc(seal->members.n + 1, sizeof *set->parts);
    if (!set->members || !set->parts)
        rc = vel_out_of_memory(err, "a set");
    else if (!home)
        rc = vel_fail(err, VEL_ENOENT, "no cache of %s has dataset %" PRId64,
                      job->service->host.node, seal->id);
    for (size_t i = 0; rc == 0 && i < seal->members.n; i++) {
        const struct vel_seal_member *member = vel_seal_member(seal, i);

        if (member->set != number)
            continue;
        set->members[member->place].node = member->node;
        set->members[member->place].rank = (uint32_t)member->rank;
        set->job.scheme = (enum vel_scheme)member->scheme;
        set->job.m = (size_t)member->failures;
        n++;
        if (strcmp(member->node, job->service->host.node) == 0)
            rc = add_part(set, home, (size_t)member->place, member->rank, err);
    }
    set->job.n = n;
    free(home);
    return rc;
}

static int make(struct vel_service_job *job, int64_t number, struct set *set,
                struct vel_err *err)
{
    struct vel_service *service = job->service;
    int rc = fill(job, number, set, err);

    choose_address(service, set->listen, sizeof set->listen);
    set->job.dataset = job->seal.id;
    set->job.set = (uint32_t)number;
    set->job.sets = (uint32_t)vel_seal_sets(&job->seal);
    set->job.attempt = (unsigned)job->attempt;
    set->job.id = job->seal.encoding;
    set->job.members = set->members;
    set->job.parts = set->parts;
    set->job.fs = service->fs;
    set->job.label = VEL_CACHE_LABEL;
    set->job.memory = (size_t)service->memory;
    set->job.listen = set->listen;
    set->job.limit_ms = service->limit_ms;
    set->job.busy_ms = service->busy_ms;
    set->job.ops = &ops;
    set->job.arg = set;
    set->service = service;
    return rc;
}

/* --- older versions --- */

static int newest_first(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x < y) - (x > y);
}

/* Datasets beside `home` that are older than `id`. */
static int list_older(struct vel_fs *fs, const char *level, int64_t id,
                      struct vel_vec *ret, struct vel_err *err)
{
    struct vel_vec names;
    int64_t number;
    int rc = vel_fs_list(fs, level, &names, err);

    if (rc < 0)
        return rc;
    for (size_t i = 0; rc == 0 && i < names.n; i++)
        if (vel_number_behind(((char **)names.items)[i], "dataset.", &number) &&
            number < id && !vel_vec_push(ret, &number))
            rc = vel_out_of_memory(err, "a set");
    vel_fs_names_fini(&names);
    vel_vec_sort(ret, newest_first);
    return rc;
}

static int add_older(struct vel_encode_part *part, const char *level,
                     const struct vel_vec *ids, struct vel_err *err)
{
    size_t n = ids->n < OLDER_MOST ? ids->n : OLDER_MOST;
    char **dirs = calloc(n + 1, sizeof *dirs);

    part->older = dirs;
    for (size_t i = 0; dirs && i < n; i++) {
        struct vel_buf dir;

        vel_buf_init(&dir);
        vel_buf_printf(&dir, "%s/dataset.%" PRId64 "/%s", level,
                       ((const int64_t *)ids->items)[i], vel_path_base(part->dir));
        dirs[i] = vel_buf_take(&dir, NULL);
        if (!dirs[i])
            return vel_out_of_memory(err, "a set");
    }
    return dirs ? 0 : vel_out_of_memory(err, "a set");
}

static int find_older(struct vel_service_job *job, struct set *set, struct vel_err *err)
{
    char *home = vel_service_home_of(job->service, job->seal.id);
    char *level = home ? vel_path_dir(home) : NULL;
    struct vel_vec ids;
    int rc = level ? 0 : vel_out_of_memory(err, "a set");

    vel_vec_init(&ids, sizeof(int64_t));
    if (rc == 0)
        rc = list_older(job->service->fs, level, job->seal.id, &ids, err);
    for (size_t i = 0; rc == 0 && i < set->job.n_parts; i++)
        rc = add_older(&set->parts[i], level, &ids, err);
    vel_vec_fini(&ids);
    free(level);
    free(home);
    return rc;
}

static void tell_saved(const struct vel_service *service,
                       const struct vel_dataset *about,
                       const struct vel_red_saved *saved)
{
    struct vel_event event = {.kind = VEL_EVENT_ENCODE_DELTA,
                              .nodes = 1,
                              .compared = (int64_t)saved->compared,
                              .cloned = (int64_t)saved->same,
                              .written = (int64_t)saved->computed};

    vel_event_about(&event, about);
    vel_log(VEL_LOG_INFO,
            "dataset %" PRId64 ": of %" PRIu64
            " bytes that were compared with an older "
            "dataset %" PRIu64 " were the same and not sent; of its redundancy %" PRIu64
            " bytes were computed and %" PRIu64 " copied",
            about->id, saved->compared, saved->same, saved->computed, saved->copied);
    vel_books_tell(service->books, &event);
}

/* A set that had lost parts is whole again: all its nodes know, one tells. */
static void tell_rebuilt(const struct vel_service_job *job, const struct set *set,
                         uint64_t begun)
{
    uint64_t took = vel_clock_monotonic(job->service->clock) - begun;
    struct vel_event event = {.kind = VEL_EVENT_REBUILD,
                              .result = VEL_EVENT_OK,
                              .seconds = (double)took / (double)VEL_CLOCK_S};

    vel_event_about(&event, &job->seal.about);
    if (strcmp(set->members[0].node, job->service->host.node) == 0)
        vel_books_tell(job->service->books, &event);
}

/* At the pace of the store: a member that keeps to it is not away from the others. */
static int encode_at_pace(struct vel_service_job *job, struct set *set,
                          enum vel_encode_outcome *ret_outcome, struct vel_err *err)
{
    const unsigned most = 1u << 30; /* comm/sock.h */
    char *home = vel_service_home_of(job->service, job->seal.id);
    struct vel_paced paced;
    uint64_t busy = set->job.busy_ms, bytes = 0;
    int rc = vel_service_share_of_seal(job->service, &job->seal, err);

    for (size_t i = 0; i < job->seal.members.n; i++)
        if (vel_seal_member(&job->seal, i)->set == job->set)
            bytes += (uint64_t)vel_seal_member(&job->seal, i)->bytes;
    busy += home ? vel_service_pace_ms(job->service, home, PASSES * bytes) : 0;
    free(home);
    set->job.busy_ms = busy < most ? (unsigned)busy : most;
    vel_service_pace(job->service, set->how->alone, &paced);
    set->job.fs = &paced.twin.fs;
    if (rc == 0)
        rc = vel_encode_set(&set->job, ret_outcome, err);
    vel_paced_fini(&paced);
    return rc;
}

int vel_service_encode(struct vel_service_job *job, const struct vel_work_job *how,
                       struct vel_err *err)
{
    uint64_t begun = vel_clock_monotonic(job->service->clock);
    bool has_delta = job->service->conf->encode_delta;
    struct vel_red_saved saved = {0};
    enum vel_encode_outcome outcome;
    struct set set = {.how = how};
    int rc = make(job, job->set, &set, err);

    if (rc == 0 && has_delta)
        rc = find_older(job, &set, err);
    set.job.saved = &saved;
    if (rc == 0)
        rc = encode_at_pace(job, &set, &outcome, err);
    if (rc == 0 && has_delta && outcome == VEL_ENCODE_APPLIED)
        tell_saved(job->service, &job->seal.about, &saved);
    if (rc == 0 && outcome == VEL_ENCODE_REBUILT)
        tell_rebuilt(job, &set, begun);
    set_fini(&set);
    return rc;
}

/* A part that is to be here, and was lost, has nothing older. */
static void leave_lost(struct vel_service *service, struct set *set)
{
    size_t n = 0;

    for (size_t i = 0; i < set->job.n_parts; i++) {
        if (vel_fs_exists(service->fs, set->parts[i].dir))
            set->parts[n++] = set->parts[i];
        else
            part_fini(&set->parts[i]);
    }
    set->job.n_parts = n;
}

/* Of every set that has a part here. Of a dataset of the view older encodings stay:
 * what is pulled, here or on another node, is looked for under the one that the view
 * names. */
int vel_service_settle_encoding(struct vel_service_job *job, struct vel_err *err)
{
    uint32_t sets = (uint32_t)vel_seal_sets(&job->seal);
    int rc = 0;

    if (job->view && vel_view_find_dataset(job->view, job->seal.id))
        return 0;
    for (uint32_t number = 0; rc == 0 && number < sets; number++) {
        struct set set = {0};

        rc = make(job, number, &set, err);
        if (rc == 0)
            leave_lost(job->service, &set);
        if (rc == 0 && set.job.n_parts > 0)
            rc = vel_encode_settle(&set.job, err);
        set_fini(&set);
    }
    return rc;
}
