/* SPDX-License-Identifier: BSD-3-Clause */
/* Life of a service, and its loop. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/path.h"
#include "meta/cache.h"
#include "node/service_bring_in.h"
#include "node/service_call.h"
#include "node/service_give.h"
#include "node/service_mover.h"
#include "view/seals.h"
#include "sys/thread.h"

enum {
    TURN_MS = 1000,   /* longest sleep of the loop */
    LAST_WORDS = 100, /* of T */
    HANGS = 4,        /* of T: that the loop waits for the prefix */
    LONELY = 2,       /* looks without a process anywhere, then a guest leaves */
};

/* --- what it is made of --- */

static void wake(void *arg)
{
    vel_links_wake(((struct vel_service *)arg)->links);
}

static char **copy_texts(char *const *texts, size_t n)
{
    char **copy = calloc(n + 1, sizeof *copy);

    for (size_t i = 0; copy && i < n; i++)
        copy[i] = strdup(texts[i]);
    return copy;
}

static int copy_of(struct vel_service *service, const struct vel_service_of *of,
                   struct vel_err *err)
{
    service->clock = of->clock;
    service->conf = of->conf;
    service->launch_dir = vel_launch_dir(of->dir, of->launch);
    service->host.node = strdup(of->host->node);
    service->host.user = strdup(of->host->user);
    service->launch = strdup(of->launch);
    service->prefix = strdup(of->prefix);
    service->dir = strdup(of->dir);
    service->prefix_id = strdup(of->prefix_id);
    service->named = strdup(of->named);
    service->homes = copy_texts(of->homes, of->n_homes);
    service->n_homes = of->n_homes;
    service->is_agent = of->is_agent;
    service->is_guest = of->is_guest;
    service->ranks = of->ranks;
    service->above = -1;
    service->limit_ms = (unsigned)(of->conf->peer_timeout * 1000);
    service->busy_ms = (unsigned)(of->conf->flush_stall * 1000);
    service->memory = (uint64_t)of->conf->memory;
    if (!service->launch_dir || !service->host.node || !service->host.user ||
        !service->launch || !service->prefix || !service->dir || !service->prefix_id ||
        !service->named || !service->homes)
        return vel_out_of_memory(err, "a leader");
    for (size_t i = 0; i < service->n_homes; i++)
        if (!service->homes[i])
            return vel_out_of_memory(err, "a leader");
    if (vel_fs_limit_create(of->fs, of->prefix,
                            service->limit_ms * VEL_CLOCK_MS / HANGS, &service->limit,
                            err) < 0)
        return VEL_ENOMEM;
    service->fs = vel_fs_limit_fs(service->limit);
    if (vel_index_open(service->fs, service->dir, &service->index, err) < 0)
        return VEL_ENOMEM;
    return vel_index_sign(service->index, service->launch, service->host.node,
                          vel_service_keep_term, service, err);
}

static int listen_everywhere(struct vel_service *service, struct vel_err *err)
{
    struct vel_links_me me = {.role = VEL_PEER_LEADER,
                              .rank = VEL_MSG_NO_RANK,
                              .launch = service->launch,
                              .node = service->host.node,
                              .user = geteuid(),
                              .key = &service->key,
                              .limit_ms = service->limit_ms,
                              .clock = service->clock};
    int rc = vel_key_get(service->fs, service->dir, geteuid(), &service->key, err);

    if (rc == 0)
        rc = vel_links_create(&me, &vel_service_links_ops, service, &service->links,
                              err);
    if (rc == 0)
        rc = vel_links_listen(service->links, vel_role_endpoint(service->role), err);
    if (rc == 0)
        rc = vel_links_listen(service->links, "tcp:0.0.0.0:0", err);
    if (rc < 0)
        return rc;
    service->endpoint.node = strdup(service->host.node);
    service->endpoint.endpoints = strdup(vel_links_endpoints(service->links));
    service->endpoint.ranks = strdup("");
    return service->endpoint.node && service->endpoint.endpoints &&
                   service->endpoint.ranks
               ? 0
               : vel_out_of_memory(err, "a leader");
}

static int describe_flushing(struct vel_service *service, struct vel_err *err)
{
    vel_flushing_init(&service->flushing, service->conf, service->fs, service->clock);
    service->flushing.prefix = service->prefix;
    service->flushing.dir = service->dir;
    service->flushing.index = service->index;
    service->flushing.node = service->host.node;
    service->flushing.names = &vel_service_names;
    service->flushing.arg = service;
    service->flushing.published = &service->published;
    service->flushing.replaced = &service->replaced;
    return vel_service_open_movers(service, err);
}

static int make_brain(struct vel_service *service, struct vel_err *err)
{
    const struct vel_conf *conf = service->conf;
    struct vel_leader_conf brain = {
        .launch = service->launch,
        .node = service->host.node,
        .named = service->named,
        .limit = service->limit_ms * VEL_CLOCK_MS,
        .view_limit = (uint64_t)(conf->view_wait * (double)VEL_CLOCK_S),
        .stall = (uint64_t)(conf->flush_stall * (double)VEL_CLOCK_S),
        .flush_width = conf->flush_width,
        .flush_bandwidth = (uint64_t)conf->flush_bandwidth,
        .ranks = service->ranks,
        .is_guest = service->is_guest,
        .is_agent = service->is_agent,
        .is_sync = conf->mode == VEL_MODE_SYNC,
        .seal_after = (uint64_t)(conf->seal_after * (double)VEL_CLOCK_S)};

    return vel_leader_create(&brain, &vel_service_ops, service, &service->leader, err);
}

static int make_tables(struct vel_service *service, struct vel_err *err)
{
    int rc;

    rc = vel_service_make_batches(service, err);
    if (rc < 0)
        return rc;
    service->placeholders =
        vel_placeholders_create(service->fs, service->batches, service->n_homes);
    service->pulls = vel_pulls_create();
    return service->placeholders && service->pulls
               ? vel_placeholders_load(service->placeholders, err)
               : vel_out_of_memory(err, "a leader");
}

static int make(struct vel_service *service, const struct vel_service_of *of,
                struct vel_err *err)
{
    int rc = copy_of(service, of, err);

    if (rc == 0)
        rc = vel_books_open(of, &service->books, err);
    if (rc == 0)
        rc = vel_role_mark(service->role, of->is_agent, err);
    if (rc == 0)
        rc = listen_everywhere(service, err);
    if (rc == 0)
        rc = describe_flushing(service, err);
    if (rc == 0)
        rc = vel_givers_create(service, &service->givers, err);
    if (rc == 0)
        rc = make_tables(service, err);
    if (rc == 0)
        rc = vel_work_create((unsigned)service->conf->workers, service->clock, wake,
                             service, &service->work, err);
    if (rc == 0)
        rc = vel_muster_create(service->limit_ms * VEL_CLOCK_MS,
                               &vel_service_muster_ops, service, &service->muster, err);
    return rc == 0 ? make_brain(service, err) : rc;
}

/* What others wait for: workers, connections, the role. */
static void let_go(struct vel_service *service)
{
    struct vel_links *links = service->links;

    vel_service_calls_end(service); /* workers that wait for an answer go on */
    vel_givers_destroy(service->givers);
    service->givers = NULL;
    vel_work_destroy(service->work);
    service->work = NULL;
    vel_books_close(service->books, service->limit_ms * VEL_CLOCK_MS / HANGS);
    service->books = NULL;
    vel_service_forget_peers(service);
    pthread_mutex_lock(&service->lock);
    service->links = NULL;
    pthread_mutex_unlock(&service->lock);
    vel_links_destroy(links);
    vel_role_close(service->role);
    service->role = NULL;
}

static void unmake(struct vel_service *service)
{
    let_go(service);
    vel_service_forget_jobs(service);
    vel_service_forget_copies(service);
    vel_leader_destroy(service->leader);
    vel_muster_destroy(service->muster);
    vel_service_close_movers(service);
    if (service->view)
        vel_view_fini(service->view);
    free(service->view);
    vel_endpoint_fini(&service->endpoint);
    vel_index_close(service->index);
    vel_seals_destroy(service->seals);
    vel_placeholders_destroy(service->placeholders);
    vel_service_forget_batches(service);
    for (size_t i = 0; service->homes && i < service->n_homes; i++)
        free(service->homes[i]);
    free(service->homes);
    vel_host_fini(&service->host);
    free(service->launch);
    free(service->launch_dir);
    free(service->prefix);
    free(service->dir);
    free(service->prefix_id);
    free(service->named);
    free(service->stray);
    vel_vec_fini(&service->noted);
    vel_fs_names_fini(&service->written);
    vel_vec_fini(&service->calls);
    vel_service_forget_latest(service);
    vel_pulls_destroy(service->pulls);
    vel_fs_limit_destroy(service->limit);
    vel_over_fini(&service->published);
    vel_over_fini(&service->replaced);
    pthread_cond_destroy(&service->over);
    pthread_mutex_destroy(&service->lock);
    free(service);
}

/* --- the loop --- */

static unsigned sleep_for(const struct vel_service *service)
{
    uint64_t now = vel_clock_monotonic(service->clock);
    uint64_t due = vel_leader_due(service->leader);
    uint64_t met = vel_muster_due(service->muster);

    if (met < due)
        due = met;
    if (due <= now)
        return 0;
    due = (due - now + VEL_CLOCK_MS - 1) / VEL_CLOCK_MS;
    return due < TURN_MS ? (unsigned)due : TURN_MS;
}

/* Does the launch have processes anywhere, so that a guest is of use? A chair that has
 * just begun may not know of them yet. */
static bool is_wanted(struct vel_service *service)
{
    struct vel_beat beat = {0};

    if (!service->is_guest)
        return false;
    service->n_lonely =
        vel_beat_load(service->fs, service->launch_dir, &beat, NULL) == 0 &&
                beat.living && !*beat.living
            ? service->n_lonely + 1
            : 0;
    vel_beat_fini(&beat);
    return service->n_lonely < LONELY;
}

/* A program whose processes were killed leaves nobody who says so. */
static void look_for_processes(struct vel_service *service)
{
    uint64_t now = vel_clock_monotonic(service->clock);

    if (now < service->look_at)
        return;
    service->look_at = now + service->limit_ms * VEL_CLOCK_MS / 4;
    if (vel_role_is_deserted(service->role) && !is_wanted(service))
        vel_leader_deserted(service->leader);
}

static int turn(struct vel_service *service, struct vel_err *err)
{
    int rc = vel_links_turn(service->links, sleep_for(service), err);
    uint64_t now = vel_clock_monotonic(service->clock);

    vel_service_calls_send(service);
    vel_givers_send(service->givers);
    vel_leader_tick(service->leader, now);
    vel_service_tell_unreachable(service);
    vel_service_take_results(service);
    service->takes_jobs =
        vel_work_relieve(service->work, service->limit_ms * VEL_CLOCK_MS / HANGS);
    vel_leader_tick(service->leader, now); /* of what was cancelled it is not told */
    vel_muster_tick(service->muster, now);
    look_for_processes(service);
    return rc < 0 ? rc : vel_leader_status(service->leader, err);
}

static size_t waiting(const struct vel_service *service)
{
    size_t bytes = 0;

    for (size_t i = 0; i < service->peers.n; i++) {
        const struct vel_service_link *peer =
            *(struct vel_service_link **)vel_vec_at(&service->peers, i);

        bytes += vel_link_waiting(peer->link);
    }
    return bytes;
}

/* That we leave, and answers. Who takes nothing in has had his time. */
static void say_last_words(struct vel_service *service)
{
    uint64_t until = vel_clock_deadline(service->clock,
                                        service->limit_ms * VEL_CLOCK_MS / LAST_WORDS);

    while (waiting(service) > 0 && vel_clock_monotonic(service->clock) < until &&
           vel_links_turn(service->links, 1, NULL) == 0)
        ;
}

/* The role is free when this thread ends, whenever its owner looks. */
static void wind_up(struct vel_service *service)
{
    struct vel_err err = {0};

    say_last_words(service);
    if (service->is_agent && vel_role_mark(service->role, false, &err) < 0)
        vel_log(VEL_LOG_DEBUG, "%s", err.text);
    let_go(service);
    pthread_mutex_lock(&service->lock);
    service->is_over = true;
    pthread_cond_broadcast(&service->over);
    pthread_mutex_unlock(&service->lock);
}

static void tell_count(const struct vel_service *service)
{
    struct vel_links_count count;

    vel_links_count(service->links, &count);
    vel_log(VEL_LOG_DEBUG,
            "the leader of %s ends: %" PRIu64 " messages sent, %" PRIu64
            " heard, on %" PRIu64 " connections",
            service->host.node, count.sent, count.heard, count.met);
}

static void *run(void *arg)
{
    struct vel_service *service = arg;
    struct vel_err err = {0};
    int rc = 0;

    vel_fs_limit_bind(service->limit);
    vel_index_bind(service->index, service->limit_ms * VEL_CLOCK_MS / HANGS);
    vel_service_adopt(service);
    vel_leader_begin(service->leader, vel_clock_monotonic(service->clock));
    while (rc == 0 && !service->is_asked_to_stop && !service->is_resigning)
        rc = turn(service, &err);
    if (rc < 0)
        vel_log(VEL_LOG_WARN,
                "the leader of this node gives up its role, another process takes it: "
                "%s",
                err.text);
    if (rc == 0)
        vel_leader_stop(service->leader);
    tell_count(service);
    wind_up(service);
    return NULL;
}

static int start_thread(struct vel_service *service, struct vel_err *err)
{
    int rc = vel_thread_start(&service->thread, run, service);

    return rc == 0 ? 0 : vel_fail_errno(err, rc, "cannot start the node leader");
}

int vel_service_start(const struct vel_service_of *of, struct vel_role *role,
                      struct vel_service **ret_service, struct vel_err *err)
{
    struct vel_service *service = calloc(1, sizeof *service);
    int rc;

    if (!service) {
        vel_role_close(role);
        return vel_out_of_memory(err, "a leader");
    }
    service->role = role;
    pthread_mutex_init(&service->lock, NULL);
    vel_over_init(&service->published);
    vel_over_init(&service->replaced);
    vel_cond_init(&service->over);
    vel_vec_init(&service->peers, sizeof(struct vel_service_link *));
    vel_vec_init(&service->unreachable, sizeof(char *));
    vel_vec_init(&service->jobs, sizeof(struct vel_service_job *));
    vel_vec_init(&service->written, sizeof(char *));
    vel_vec_init(&service->noted, sizeof(int64_t));
    vel_vec_init(&service->parts, sizeof(struct vel_service_part));
    vel_vec_init(&service->latest, sizeof(struct vel_service_latest));
    vel_vec_init(&service->calls, sizeof(struct vel_service_call *));
    vel_vec_init(&service->copies, sizeof(struct vel_service_copy));
    rc = make(service, of, err);
    if (rc == 0)
        rc = start_thread(service, err);
    if (rc == 0)
        *ret_service = service;
    else
        unmake(service);
    return rc;
}

void vel_service_ask_stop(struct vel_service *service)
{
    service->is_asked_to_stop = true;
    pthread_mutex_lock(&service->lock);
    if (service->links)
        vel_links_wake(service->links);
    pthread_mutex_unlock(&service->lock);
}

void vel_service_stop(struct vel_service *service)
{
    if (!service)
        return;
    vel_service_ask_stop(service);
    pthread_join(service->thread, NULL);
    unmake(service);
}

bool vel_service_is_over(struct vel_service *service)
{
    return service->is_over;
}

bool vel_service_wait(struct vel_service *service, uint64_t limit)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)(limit / VEL_CLOCK_S);
    pthread_mutex_lock(&service->lock);
    while (!service->is_over &&
           pthread_cond_timedwait(&service->over, &service->lock, &until) == 0)
        ;
    bool is_over = service->is_over;
    pthread_mutex_unlock(&service->lock);
    return is_over;
}

/* Its thread is not there, and what it held is the parent's: only descriptors are
 * closed. The memory goes with the child. */
void vel_service_abandon(struct vel_service *service)
{
    if (!service)
        return;
    vel_links_abandon(service->links);
    vel_role_abandon(service->role);
}
