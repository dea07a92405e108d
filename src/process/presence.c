/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/path.h"
#include "ident/role.h"
#include "meta/index.h"
#include "meta/launch.h"
#include "node/about.h"
#include "node/agent.h"
#include "node/service.h"
#include "process/presence.h"
#include "topo/store.h"
#include "view/view.h"

struct vel_presence {
    struct vel_background_of of;
    char launch[VEL_LAUNCH_ROOM];
    struct vel_host host;   /* texts are those of `of` */
    struct vel_role *alive; /* says that this process lives */
    struct vel_client *client;

    pthread_mutex_t lock; /* guards what follows */
    uint64_t knocked;     /* when, at the agent's; 0: not since we met a leader */
    bool is_warned;       /* that there is none */
    bool has_met;         /* a leader of this launch */
    struct vel_service *service; /* NULL: another process leads */

    struct vel_presence *next; /* of this process; under all_lock */
};

static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;
static struct vel_presence *all;

static uint64_t limit_of(const struct vel_presence *p)
{
    return (uint64_t)(p->of.conf->peer_timeout * (double)VEL_CLOCK_S);
}

/* --- to lead --- */

/* Who would lead a launch that is over finds that it is, and leaves: the next one would
 * be looked for, again and again. */
static int check_launch(const struct vel_presence *p, struct vel_err *err)
{
    enum vel_launch_fate fate = VEL_LAUNCH_OPEN; /* also where that cannot be known */

    vel_launch_fate(p->of.fs, p->of.dir, p->launch, &fate, NULL);
    if (fate == VEL_LAUNCH_ENDED)
        return vel_fail(err, VEL_ECANCEL,
                        "launch %s of %s is over: another launch has ended it, or its "
                        "name was used before",
                        p->launch, p->of.dir);
    if (fate == VEL_LAUNCH_GONE && p->has_met)
        return vel_fail(err, VEL_ECANCEL, "somebody has removed %s/launch.%s",
                        p->of.dir, p->launch);
    return 0;
}

static struct vel_service_of service_of(const struct vel_presence *p)
{
    const struct vel_background_of *of = &p->of;

    return (struct vel_service_of){.fs = of->fs,
                                   .clock = of->clock,
                                   .host = &p->host,
                                   .conf = of->conf,
                                   .launch = p->launch,
                                   .prefix = of->prefix,
                                   .dir = of->dir,
                                   .prefix_id = of->prefix_id,
                                   .named = "",
                                   .ranks = of->ranks,
                                   .homes = of->homes,
                                   .n_homes = of->n_homes};
}

static int start(struct vel_presence *p, struct vel_err *err)
{
    const struct vel_service_of service = service_of(p);
    const struct vel_background_of *of = &p->of;
    struct vel_role *role;
    int rc =
        vel_role_open(of->fs, &p->host, of->conf->cntl_base, p->launch, &role, err);

    if (rc < 0)
        return rc;
    rc = vel_role_take(role, err);
    if (rc == 0)
        return vel_service_start(&service, role, &p->service, err);
    vel_role_close(role);
    return rc;
}

/* An agent that is knocked at takes the role. One that says nothing, or takes none, is
 * waited for only so long that T suffices to lead without it. */
static bool has_agent(struct vel_presence *p, struct vel_err *ret_why)
{
    uint64_t now = vel_clock_monotonic(p->of.clock);

    if (p->knocked && now >= p->knocked + limit_of(p) / 2) {
        vel_log_in_vain(p->launch, now - p->knocked, "the agent of ", p->host.node);
        vel_fail(ret_why, VEL_ETIMEOUT, "the one that is here does not take the role");
        return false;
    }
    if (vel_agent_knock(p->of.fs, &p->host, p->of.conf->cntl_base, p->launch,
                        (unsigned)(limit_of(p) / VEL_CLOCK_MS / 4), ret_why) < 0)
        return false;
    if (!p->knocked)
        p->knocked = now;
    return true;
}

/* Once, until an agent leads again. */
static void tell_without(struct vel_presence *p, bool was_agents,
                         const struct vel_err *why)
{
    if (was_agents)
        vel_log(VEL_LOG_WARN,
                "the h5veloc-agent of %s has died or hangs, a process of this program "
                "leads now",
                p->host.node);
    else if (p->of.conf->mode == VEL_MODE_AGENT && !p->is_warned)
        vel_log(VEL_LOG_WARN,
                "MODE=AGENT, but no h5veloc-agent leads on %s (%s): a process of this "
                "program does",
                p->host.node, why->text);
    p->is_warned = true;
}

static int lead_instead(struct vel_presence *p, struct vel_err *err)
{
    bool was_agents = vel_role_is_agents(p->alive);
    struct vel_err why = {0};
    int rc = check_launch(p, err);

    if (rc < 0)
        return rc;
    if (has_agent(p, &why))
        return vel_fail(err, VEL_EBUSY, "an agent is here");
    p->knocked = 0;
    rc = start(p, err);
    if (rc == 0)
        tell_without(p, was_agents, &why);
    return rc;
}

/* Nobody leads here, says the client, in whichever thread it asks. */
static int lead(void *arg, struct vel_err *err)
{
    struct vel_presence *p = arg;
    int rc;

    pthread_mutex_lock(&p->lock);
    if (p->service && vel_service_is_over(p->service)) {
        vel_service_stop(p->service);
        p->service = NULL;
    }
    rc = p->service ? 0 : lead_instead(p, err);
    pthread_mutex_unlock(&p->lock);
    return rc;
}

static void met(void *arg, const struct vel_peer *leader, bool is_agent)
{
    struct vel_presence *p = arg;

    (void)leader, (void)is_agent;
    pthread_mutex_lock(&p->lock);
    p->knocked = 0;
    p->has_met = true;
    p->is_warned = p->is_warned && !vel_role_is_agents(p->alive);
    pthread_mutex_unlock(&p->lock);
}

static const struct vel_client_ops client_ops = {.lead = lead, .met = met};

/* --- all of this process --- */

static void remember(struct vel_presence *p)
{
    pthread_mutex_lock(&all_lock);
    p->next = all;
    all = p;
    pthread_mutex_unlock(&all_lock);
}

/* Returns another one in the same launch; NULL: there is none. */
static struct vel_presence *forget(struct vel_presence *p)
{
    struct vel_presence *other = NULL;

    pthread_mutex_lock(&all_lock);
    for (struct vel_presence **at = &all; *at;)
        if (*at == p) {
            *at = p->next;
        } else {
            other = strcmp((*at)->launch, p->launch) == 0 ? *at : other;
            at = &(*at)->next;
        }
    pthread_mutex_unlock(&all_lock);
    return other;
}

/* --- open and leave --- */

static int connect(struct vel_presence *p, bool is_tool, struct vel_client **ret,
                   struct vel_err *err)
{
    const struct vel_client_conf conf = {.role = VEL_PEER_PROCESS,
                                         .rank = p->of.rank,
                                         .launch = p->launch,
                                         .node = p->host.node,
                                         .leader = vel_role_endpoint(p->alive),
                                         .user = geteuid(),
                                         .limit_ms =
                                             (unsigned)(limit_of(p) / VEL_CLOCK_MS),
                                         .ops = &client_ops,
                                         .arg = p};

    return is_tool ? vel_client_open_tool(&conf, ret, err)
                   : vel_client_open(&conf, ret, err);
}

/* What the leaders could not read this process may not be able to read either. */
static int fail_without_view(const struct vel_presence *p, const char *path,
                             struct vel_err *err)
{
    struct vel_index *index = NULL;
    struct vel_vec entries;
    struct vel_err why = {0};
    int rc = vel_index_open(p->of.fs, p->of.dir, &index, &why);

    if (rc == 0 && vel_index_load(index, NULL, &entries, &why) == 0)
        vel_index_fini(&entries);
    vel_index_close(index);
    return vel_fail(err, VEL_ETIMEOUT,
                    "the leaders of launch %s have not decided what can be restored: "
                    "%s%s",
                    p->launch, why.status ? why.text : path,
                    why.status ? "" : " is not there");
}

int vel_presence_wait_for_view(struct vel_presence *p, struct vel_err *err)
{
    uint64_t limit =
        limit_of(p) * 4 + (uint64_t)(p->of.conf->view_wait * (double)VEL_CLOCK_S);
    uint64_t until = vel_clock_deadline(p->of.clock, limit);
    char *path = vel_view_path(p->of.dir, p->launch);
    enum vel_launch_fate fate = VEL_LAUNCH_OPEN;
    uint64_t value;
    int rc = path ? 0 : vel_out_of_memory(err, "the view");

    while (rc == 0 && !vel_fs_exists(p->of.fs, path)) {
        vel_launch_fate(p->of.fs, p->of.dir, p->launch, &fate, NULL);
        if (fate == VEL_LAUNCH_ENDED)
            rc = vel_fail(err, VEL_ECANCEL,
                          "another launch has ended launch %s before it could begin, "
                          "as one that does not answer; start it again",
                          p->launch);
        else if (vel_clock_monotonic(p->of.clock) > until)
            rc = fail_without_view(p, path, err);
        else
            rc = vel_client_ping(p->client, 0, &value, err);
        vel_clock_sleep(p->of.clock, 5 * VEL_CLOCK_MS);
    }
    free(path);
    return rc;
}

/* The last one leaves nothing behind, and who has led removes what those have left who
 * were killed. */
static void close_all(struct vel_presence *p)
{
    const char *base = p->of.conf->cntl_base;
    bool has_led = p->service;

    vel_client_close(p->client);
    vel_role_close(p->alive);
    vel_service_stop(p->service);
    vel_role_remove(p->of.fs, &p->host, base, p->launch, NULL);
    if (has_led)
        vel_about_sweep(p->of.fs, &p->host, base, p->of.dir);
    pthread_mutex_destroy(&p->lock);
    free(p);
}

int vel_presence_open(const struct vel_background_of *of,
                      struct vel_presence **ret_presence, struct vel_err *err)
{
    struct vel_presence *p = calloc(1, sizeof *p);
    int rc;

    if (!p)
        return vel_out_of_memory(err, "a process of a launch");
    p->of = *of;
    p->host.node = (char *)of->node;
    p->host.user = (char *)of->user;
    snprintf(p->launch, sizeof p->launch, "%s", of->fresh);
    p->of.fresh = p->launch;
    pthread_mutex_init(&p->lock, NULL);
    rc = vel_store_check_control(of->conf, of->fs, err);
    if (rc == 0)
        rc = vel_role_open(of->fs, &p->host, of->conf->cntl_base, p->launch, &p->alive,
                           err);
    if (rc == 0)
        rc = vel_role_live(p->alive, err);
    const struct vel_service_of service = service_of(p);
    if (rc == 0)
        rc = vel_about_save(&service, vel_role_endpoint(p->alive), err);
    if (rc == 0)
        rc = connect(p, false, &p->client, err);
    if (rc < 0) {
        close_all(p);
    } else {
        remember(p);
        *ret_presence = p;
    }
    return rc;
}

struct vel_client *vel_presence_client(struct vel_presence *presence)
{
    return presence->client;
}

bool vel_presence_outlives(const struct vel_presence *presence)
{
    return vel_role_is_agents(presence->alive);
}

/* As a tool, which is no process that its leader would have to wait for, and begins no
 * other when that has ended. */
static void wait_while_it_moves(struct vel_presence *p)
{
    struct vel_client *tool = NULL;
    struct vel_progress progress;
    struct vel_err why = {0};

    if (connect(p, true, &tool, &why) == 0 &&
        vel_client_drain(tool, 0, 0, &progress, &why) == 0 && progress.left > 0 &&
        progress.status != VEL_ECANCEL) /* that the launch is over was told */
        vel_log(VEL_LOG_WARN, "%s", progress.text);
    vel_client_close(tool);
}

/* The leader ends when all of its processes have left and nothing is to be done: it is
 * given time for that, so that the launch has an end. When this process stays in the
 * launch otherwise, that leads at once. */
int vel_presence_leave(struct vel_presence *presence, enum vel_presence_end how,
                       struct vel_err *err)
{
    bool is_told = how != VEL_PRESENCE_BREAKS;
    struct vel_presence *p = presence, *other = p ? forget(p) : NULL;
    bool has_led = p && p->service;
    uint64_t value;
    int rc = 0;

    if (!p)
        return 0;
    if (is_told)
        rc = vel_client_leave(p->client,
                              how == VEL_PRESENCE_FAILS      ? VEL_LEAVE_FAILING
                              : how == VEL_PRESENCE_ENDS_MPI ? VEL_LEAVE_LAST
                                                             : VEL_LEAVE_IN_ORDER,
                              err);
    vel_client_close(p->client);
    p->client = NULL;
    if (rc == 0 && is_told && p->service) {
        if (how != VEL_PRESENCE_GOES)
            wait_while_it_moves(p);
        if (!other && !vel_service_wait(p->service, limit_of(p)))
            vel_log_in_vain(p->launch, limit_of(p), "the end of the leader of ",
                            p->host.node);
    }
    close_all(p);
    if (has_led && other)
        vel_client_ping(other->client, VEL_PING_LEADER, &value, NULL);
    return rc;
}

void vel_presence_abandon(struct vel_presence *presence)
{
    struct vel_presence *p = presence;

    if (!p)
        return;
    all = NULL; /* its lock is nobody's here */
    pthread_mutex_init(&all_lock, NULL);
    vel_client_abandon(p->client);
    vel_service_abandon(p->service);
    vel_role_abandon(p->alive);
    free(p); /* its lock may be held by a thread that is not here */
}
