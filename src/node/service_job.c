/* SPDX-License-Identifier: BSD-3-Clause */
/* Jobs: what the brain asks for becomes work for a worker, and its result an event. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/path.h"
#include "meta/cache.h"
#include "meta/paths.h"
#include "node/service_bring_in.h"
#include "node/service_call.h"
#include "node/service_mover.h"
#include "sys/lock.h"

/* --- where parts are --- */

/* A job's own look at them. */
struct places {
    char *home; /* of the dataset; NULL: nothing of it is here */
    char *store;
    struct vel_vec parts; /* struct vel_flush_part, their dirs owned */
    int list;             /* of this node, or of the one that the job is for; */
    int lists;            /* of so many */
};

static void places_fini(struct places *places)
{
    for (size_t i = 0; i < places->parts.n; i++)
        free((char *)((struct vel_flush_part *)vel_vec_at(&places->parts, i))->dir);
    vel_vec_fini(&places->parts);
    free(places->home);
    free(places->store);
}

/* The place of a node among those of a seal. */
static int find_list(const struct vel_seal *seal, const char *node, int *ret_list,
                     int *ret_lists, struct vel_err *err)
{
    struct vel_seal_nodes nodes;
    int rc = vel_seal_nodes(seal, &nodes, err);

    *ret_list = 0;
    *ret_lists = (int)nodes.n;
    for (size_t i = 0; rc == 0 && i < nodes.n; i++)
        if (strcmp(nodes.names[i], node) == 0)
            *ret_list = (int)i;
    vel_seal_nodes_fini(&nodes);
    return rc;
}

static int add_part(struct places *places, int64_t rank, struct vel_err *err)
{
    char *dir = vel_batch_numbered(places->home, "rank", rank);
    const struct vel_flush_part part = {.dir = dir, .rank = (int)rank};

    if (dir && vel_vec_push(&places->parts, &part))
        return 0;
    free(dir);
    return vel_out_of_memory(err, "a job");
}

static int find_places(const struct vel_service_job *job, struct places *ret,
                       struct vel_err *err)
{
    const struct vel_service *service = job->service;
    const char *node = service->host.node;
    struct places places = {.home = vel_service_home_of(service, job->seal.id)};
    int rc = find_list(&job->seal, job->node ? job->node : node, &places.list,
                       &places.lists, err);

    vel_vec_init(&places.parts, sizeof(struct vel_flush_part));
    for (size_t i = 0; rc == 0 && places.home && i < job->seal.members.n; i++)
        if (strcmp(vel_seal_member(&job->seal, i)->node, node) == 0)
            rc = add_part(&places, vel_seal_member(&job->seal, i)->rank, err);
    for (size_t i = 0; places.home && i < service->n_homes; i++)
        if (vel_path_below(service->homes[i], places.home)) { /* STORE/USER/ID */
            char *user = vel_path_dir(service->homes[i]);

            places.store = user ? vel_path_dir(user) : NULL;
            free(user);
            break;
        }
    if (rc == 0)
        *ret = places;
    else
        places_fini(&places);
    return rc;
}

/* --- on a worker --- */

/* No bytes: it cannot tell, as if it had not come. Nor can a guest that finds nothing:
 * its settings may not be those with which this node's caches were filled. */
static int hold(struct vel_service_job *job, struct vel_err *err)
{
    struct vel_service *service = job->service;
    struct vel_inventory_of of = {.fs = service->fs,
                                  .clock = service->clock,
                                  .host = &service->host,
                                  .homes = service->homes,
                                  .n_homes = service->n_homes};
    struct vel_inventory inventory;
    struct vel_err why = {0};
    int rc;

    vel_service_take_old(service);
    vel_service_forget_old_copies(service);
    rc = vel_inventory_take(&of, service->limit_ms * VEL_CLOCK_MS, &inventory, &why);
    if (rc < 0) {
        vel_log(VEL_LOG_WARN,
                "node %s tells nothing of its caches, and keeps what is there: %s",
                service->host.node, why.text);
        return 0;
    }
    rc = vel_service_left(service, &inventory.left, err);
    if (rc == 0 &&
        !(service->is_guest && inventory.held.n == 0 && inventory.left.n == 0))
        rc = vel_inventory_encode(&inventory, &job->bytes, err);
    vel_inventory_fini(&inventory);
    return rc;
}

/* What FLUSH_DELTA has saved: the node's own line, for its leader alone knows. */
static void tell_delta(const struct vel_service *service,
                       const struct vel_dataset *about,
                       const struct vel_flush_copied *copied)
{
    struct vel_event event = {.kind = VEL_EVENT_DELTA,
                              .files = (int64_t)copied->files,
                              .bytes = (int64_t)copied->bytes,
                              .nodes = 1,
                              .compared = (int64_t)copied->delta.compared,
                              .cloned = (int64_t)copied->delta.cloned,
                              .written = (int64_t)copied->delta.written};

    vel_event_about(&event, about);
    vel_books_tell(service->books, &event);
}

enum copying { COPY, NAME, RETREAT };

static int flush(struct vel_service_job *job, const struct vel_work_job *how,
                 enum copying what, struct vel_err *err)
{
    const struct vel_flushing *flushing = &job->service->flushing;
    struct vel_flush_copied copied;
    struct places places;
    int rc = find_places(job, &places, err);

    if (rc < 0)
        return rc;
    struct vel_flush_job flush = {
        .id = job->seal.id,
        .owner = job->owner,
        .list = places.list,
        .lists = places.lists,
        .parts = places.parts.items,
        .n = places.parts.n,
        .home = places.home,
        .ledger = places.home ? vel_service_batches(job->service, places.home) : NULL,
        .store = places.store,
        .may_resume = true,
        .throttle = how->throttle,
        .watch = how->watch};
    if (places.home)
        rc = vel_service_move(job->service, places.home, &job->seal, &flush, err);
    if (rc < 0) {
        places_fini(&places);
        return rc;
    }
    if (!places.home && what == COPY) {
        rc = vel_fail(err, VEL_ENOENT, "no cache of %s has dataset %" PRId64,
                      job->service->host.node, job->seal.id);
    } else if (what == COPY) {
        rc = vel_flushing_copy(flushing, &flush, &copied, err);
        if (rc == 0 && flushing->has_delta && !flush.container_size)
            tell_delta(job->service, &job->seal.about, &copied);
    } else if (what == NAME) {
        rc = vel_service_name(job, &flush, err);
    } else {
        rc = vel_flushing_retreat(flushing, &flush, err);
    }
    places_fini(&places);
    return rc;
}

static int copy(struct vel_service_job *job, const struct vel_work_job *how,
                struct vel_err *err)
{
    struct vel_err why = {0};
    int rc = flush(job, how, COPY, &why);

    if (rc == VEL_ECORRUPT || rc == VEL_ENOENT)
        rc = vel_service_mend(job, how->alone, &why);
    if (rc > 0)
        rc = flush(job, how, COPY, &why);
    return rc < 0 ? vel_fail(err, why.status, "%s", why.text) : 0;
}

/* Parts go while nobody makes an inventory of them, and not when another launch has
 * ended ours: it may have counted them. */
int vel_service_remove_parts(struct vel_service_job *job, struct vel_err *err)
{
    struct vel_service *service = job->service;
    struct places places;
    struct vel_lock *lock = NULL;
    bool is_ended = true;
    char *level = NULL, *path = NULL;
    int rc = find_places(job, &places, err);

    if (rc < 0)
        return rc;
    if (places.home) {
        char *home;

        level = vel_path_dir(places.home);
        home = level ? vel_path_dir(level) : NULL;
        path = home ? vel_inventory_lock_path(home) : NULL;
        free(home);
        rc = path ? vel_lock_wait(service->fs, &service->host, service->clock,
                                  service->limit_ms * VEL_CLOCK_MS, path, &lock, err)
                  : vel_out_of_memory(err, "a path");
    }
    if (rc == 0 && lock)
        rc = vel_service_is_launch_over(service, service->launch, &is_ended, err);
    if (rc == 0 && !is_ended && places.home)
        vel_placeholders_forget(service->placeholders, places.home, -1);
    for (size_t i = 0; rc == 0 && !is_ended && i < places.parts.n; i++)
        rc = vel_cache_remove_part(
            service->fs, level, job->seal.id,
            ((struct vel_flush_part *)vel_vec_at(&places.parts, i))->rank, err);
    vel_lock_release(lock);
    free(level);
    free(path);
    places_fini(&places);
    return rc;
}

static int run(void *arg, const struct vel_work_job *how, struct vel_err *err)
{
    static const enum vel_beside looks[] = {VEL_BESIDE_LOOK, VEL_BESIDE_READ,
                                            VEL_BESIDE_HOME};
    struct vel_service_job *job = arg;

    switch (job->what) {
    case VEL_WORK_HOLD:
        return hold(job, err);
    case VEL_WORK_ENCODE:
        return vel_service_encode(job, how, err);
    case VEL_WORK_SETTLE_ENCODING:
        return vel_service_settle_encoding(job, err);
    case VEL_WORK_COPY:
        return copy(job, how, err);
    case VEL_WORK_RENAME:
        return flush(job, how, NAME, err);
    case VEL_WORK_REMOVE_TEMPS:
        return flush(job, how, RETREAT, err);
    case VEL_WORK_REMOVE_PARTS:
        return vel_service_remove_parts(job, err);
    case VEL_WORK_MARK:
        return vel_service_mark(job, err);
    case VEL_WORK_CREATE:
        return vel_service_create(job, how->watch, err);
    case VEL_WORK_CLOSE:
        return vel_service_close_file(job, err);
    case VEL_WORK_DROP:
        return vel_service_drop(job, err);
    case VEL_WORK_LOOK:
        job->is_placed = true;
        return vel_service_look(job, looks[job->how], how->watch, &job->place, err);
    case VEL_WORK_REMOVE:
        return vel_service_remove(job, err);
    case VEL_WORK_TAKE:
        return vel_service_take(job, err);
    }
    return 0;
}

/* --- the loop --- */

static struct vel_service_job *job_at(const struct vel_service *service, size_t i)
{
    return *(struct vel_service_job **)vel_vec_at(&service->jobs, i);
}

static enum vel_urgency urgency_of(enum vel_leader_work work)
{
    switch (work) {
    case VEL_WORK_ENCODE:
        return VEL_URGENT_ENCODE;
    case VEL_WORK_COPY:
        return VEL_URGENT_COPY;
    case VEL_WORK_RENAME:
        return VEL_URGENT_NAME;
    case VEL_WORK_HOLD:
    case VEL_WORK_SETTLE_ENCODING:
    case VEL_WORK_REMOVE_TEMPS:
    case VEL_WORK_REMOVE_PARTS:
    case VEL_WORK_TAKE:
        break;
    case VEL_WORK_MARK: /* somebody waits in a call */
    case VEL_WORK_CREATE:
    case VEL_WORK_CLOSE:
    case VEL_WORK_DROP:
    case VEL_WORK_LOOK:
    case VEL_WORK_REMOVE:
        return VEL_URGENT_PULL;
    }
    return VEL_URGENT_LOOK;
}

/* Encoding is between caches and other nodes. */
static bool uses_prefix(enum vel_leader_work work)
{
    return work != VEL_WORK_ENCODE && work != VEL_WORK_SETTLE_ENCODING;
}

static int submit(struct vel_service_job *job, struct vel_err *err)
{
    struct vel_work_plan plan = {.order = {.urgency = urgency_of(job->what),
                                           .dataset = job->seal.id,
                                           .set = job->set},
                                 .rate = job->rate,
                                 .uses_prefix = uses_prefix(job->what)};

    plan.percent = job->what == VEL_WORK_COPY ? job->service->flushing.percent : 0;
    job->view = job->service->view;
    int rc = vel_work_submit(job->service->work, &plan, run, job, &job->work, err);
    vel_service_calls_wake(job->service);
    return rc;
}

static void destroy(struct vel_service_job *job)
{
    vel_seal_fini(&job->seal);
    vel_buf_fini(&job->bytes);
    vel_service_place_fini(&job->place);
    free(job->node);
    free(job->dir);
    free(job->name);
    free(job);
}

static void forget(struct vel_service *service, const struct vel_service_job *job)
{
    for (size_t i = 0; i < service->jobs.n; i++)
        if (job_at(service, i) == job) {
            vel_vec_remove(&service->jobs, i);
            return;
        }
}

/* A job that cannot begin is one that has failed: told in the next turn, as any. */
void vel_service_start_job(void *arg, const struct vel_leader_job *asked)
{
    struct vel_service *service = arg;
    struct vel_service_job *job = calloc(1, sizeof *job);
    struct vel_err err = {0};
    int rc = job ? 0 : vel_out_of_memory(&err, "a job");

    if (rc == 0) {
        job->service = service;
        job->number = asked->number;
        job->what = asked->work;
        job->owner = asked->owner;
        job->set = asked->set;
        job->attempt = asked->attempt;
        job->rate = asked->rate;
        job->node = asked->node ? strdup(asked->node) : NULL;
        vel_buf_init(&job->bytes);
        vel_seal_init(&job->seal);
        if (asked->node && !job->node)
            rc = vel_out_of_memory(&err, "a job");
        vel_buf_append(&job->bytes, asked->record.at, asked->record.len);
        if (rc == 0 && asked->seal)
            rc = vel_seal_copy(asked->seal, &job->seal, &err);
        else if (asked->work == VEL_WORK_MARK)
            job->seal.id = asked->id;
        if (rc == 0)
            rc = vel_service_note_file(job, asked, &err);
        if (rc == 0 && !vel_vec_push(&service->jobs, &job))
            rc = vel_out_of_memory(&err, "a job");
        if (rc == 0)
            rc = submit(job, &err);
        if (rc < 0) {
            forget(service, job);
            destroy(job);
        }
    }
    if (rc < 0)
        vel_log(VEL_LOG_ERROR, "work of this node's leader cannot begin: %s", err.text);
}

void vel_service_cancel_job(void *arg, uint64_t number)
{
    struct vel_service *service = arg;

    for (size_t i = 0; i < service->jobs.n; i++)
        if (job_at(service, i)->number == number) {
            job_at(service, i)->is_cancelled = true;
            vel_work_cancel(service->work, job_at(service, i)->work);
        }
    vel_service_calls_wake(service); /* it may wait for others who stop as well */
}

bool vel_service_is_busy(void *arg, int64_t id)
{
    struct vel_service *service = arg;

    for (size_t i = 0; i < service->jobs.n; i++)
        if (job_at(service, i)->seal.id == id)
            return true;
    return false;
}

void vel_service_set_rate(void *arg, uint64_t number, uint64_t rate)
{
    struct vel_service *service = arg;

    for (size_t i = 0; i < service->jobs.n; i++)
        if (job_at(service, i)->number == number) {
            job_at(service, i)->rate = rate;
            vel_work_set_rate(service->work, job_at(service, i)->work, rate);
        }
}

/* A set of which not all members came is tried again: meanwhile others had a turn. */
static bool goes_on(struct vel_service_job *job, const struct vel_work_result *result)
{
    return !job->is_cancelled && job->what == VEL_WORK_ENCODE &&
           result->rc == VEL_EBUSY && submit(job, NULL) == 0;
}

static void tell(struct vel_service_job *job, const struct vel_work_result *result)
{
    struct vel_leader *leader = job->service->leader;
    const struct vel_service_place *is = &job->place;
    const struct vel_msg_place place = {.where = is->where,
                                        .file = is->file,
                                        .dataset = (uint64_t)is->dataset,
                                        .size = is->size,
                                        .path = is->path ? is->path : "",
                                        .why = is->why ? is->why : ""};

    if (job->is_placed && result->rc == 0)
        vel_leader_job_placed(leader, job->number, &place);
    else
        vel_leader_job_done(leader, job->number, result->rc, &result->err,
                            job->bytes.data, job->bytes.len);
}

void vel_service_take_results(struct vel_service *service)
{
    struct vel_work_result result;

    for (size_t i = 0; i < service->jobs.n; i++) {
        uint64_t moved = vel_work_moved(service->work, job_at(service, i)->work);

        if (moved > 0 && !job_at(service, i)->is_cancelled)
            vel_leader_job_moved(service->leader, job_at(service, i)->number, moved);
    }
    while (vel_work_take(service->work, &result)) {
        struct vel_service_job *job = result.arg;

        if (goes_on(job, &result))
            continue;
        forget(service, job);
        if (job->asker)
            vel_service_stock_answer(job, result.rc, &result.err);
        else if (!job->is_cancelled)
            tell(job, &result);
        destroy(job);
    }
}

void vel_service_forget_jobs(struct vel_service *service)
{
    for (size_t i = 0; i < service->jobs.n; i++)
        destroy(job_at(service, i));
    vel_vec_fini(&service->jobs);
}
