/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "node/about.h"
#include "node/agent.h"
#include "node/attend.h"
#include "node/client.h"
#include "node/role.h"
#include "node/service.h"
#include "node/view.h"

struct attendance {
    struct vel_background background; /* the first: it is what the engine sees */
    struct vel_background_of told;
    const struct vel_background_of *of; /* that; NULL: not open */
    struct vel_host host;               /* texts are the session's */
    struct vel_role *alive;             /* says that this process lives */
    struct vel_client *client;
    char launch[VEL_LAUNCH_NAME];

    pthread_mutex_t lock; /* guards what follows */
    uint64_t knocked;     /* when, at the agent's; 0: not since we met a leader */
    bool is_warned;       /* that there is none */
    struct vel_service *service; /* NULL: another process leads */
};

static struct attendance *attendance(struct vel_background *background)
{
    return (struct attendance *)background;
}

static uint64_t limit_of(const struct attendance *a)
{
    return (uint64_t)(a->of->conf->peer_timeout * (double)VEL_CLOCK_S);
}

/* --- to lead --- */

static struct vel_service_of service_of(const struct attendance *a)
{
    const struct vel_background_of *of = a->of;

    return (struct vel_service_of){.fs = of->fs,
                                   .clock = of->clock,
                                   .host = &a->host,
                                   .conf = of->conf,
                                   .launch = a->launch,
                                   .prefix = of->prefix,
                                   .dir = of->dir,
                                   .prefix_id = of->prefix_id,
                                   .named = "",
                                   .homes = of->homes,
                                   .n_homes = of->n_homes};
}

static int start(struct attendance *a, struct vel_err *err)
{
    const struct vel_service_of service = service_of(a);
    const struct vel_background_of *of = a->of;
    struct vel_role *role;
    int rc =
        vel_role_open(of->fs, &a->host, of->conf->cntl_base, a->launch, &role, err);

    if (rc < 0)
        return rc;
    rc = vel_role_take(role, err);
    if (rc == 0)
        return vel_service_start(&service, role, &a->service, err);
    vel_role_close(role);
    return rc;
}

/* An agent that is knocked at takes the role. One that says nothing, or takes none, is
 * waited for only so long that T suffices to lead without it. */
static bool has_agent(struct attendance *a, struct vel_err *ret_why)
{
    uint64_t now = vel_clock_monotonic(a->of->clock);

    if (a->knocked && now >= a->knocked + limit_of(a) / 2) {
        vel_fail(ret_why, VEL_ETIMEOUT, "the one that is here does not take the role");
        return false;
    }
    if (vel_agent_knock(a->of->fs, &a->host, a->of->conf->cntl_base, a->launch,
                        (unsigned)(limit_of(a) / VEL_CLOCK_MS / 4), ret_why) < 0)
        return false;
    if (!a->knocked)
        a->knocked = now;
    return true;
}

/* Once, until an agent leads again. */
static void tell_without(struct attendance *a, bool was_agents,
                         const struct vel_err *why)
{
    if (was_agents)
        vel_log(VEL_LOG_WARN,
                "the h5veloc-agent of %s has died or hangs, a process of this program "
                "leads now",
                a->host.node);
    else if (a->of->conf->mode == VEL_MODE_AGENT && !a->is_warned)
        vel_log(VEL_LOG_WARN,
                "MODE=AGENT, but no h5veloc-agent leads on %s (%s): a process of this "
                "program does",
                a->host.node, why->text);
    a->is_warned = true;
}

static int lead_instead(struct attendance *a, struct vel_err *err)
{
    bool was_agents = vel_role_is_agents(a->alive);
    struct vel_err why = {0};
    int rc;

    if (has_agent(a, &why))
        return vel_fail(err, VEL_EBUSY, "an agent is here");
    a->knocked = 0;
    rc = start(a, err);
    if (rc == 0)
        tell_without(a, was_agents, &why);
    return rc;
}

/* Nobody leads here, says the client, in whichever thread it asks. */
static int lead(void *arg, struct vel_err *err)
{
    struct attendance *a = arg;
    int rc;

    pthread_mutex_lock(&a->lock);
    if (a->service && vel_service_is_over(a->service)) {
        vel_service_stop(a->service);
        a->service = NULL;
    }
    rc = a->service ? 0 : lead_instead(a, err);
    pthread_mutex_unlock(&a->lock);
    return rc;
}

static void met(void *arg, const struct vel_peer *leader, bool is_agent)
{
    struct attendance *a = arg;

    (void)leader, (void)is_agent;
    pthread_mutex_lock(&a->lock);
    a->knocked = 0;
    a->is_warned = a->is_warned && !vel_role_is_agents(a->alive);
    pthread_mutex_unlock(&a->lock);
}

static const struct vel_client_ops client_ops = {.lead = lead, .met = met};

/* --- open and leave --- */

static int connect(struct attendance *a, struct vel_err *err)
{
    const struct vel_client_conf conf = {.role = VEL_PEER_PROCESS,
                                         .rank = a->of->rank,
                                         .launch = a->launch,
                                         .node = a->host.node,
                                         .leader = vel_role_endpoint(a->alive),
                                         .user = geteuid(),
                                         .limit_ms =
                                             (unsigned)(limit_of(a) / VEL_CLOCK_MS),
                                         .ops = &client_ops,
                                         .arg = a};

    return vel_client_open(&conf, &a->client, err);
}

/* The record that ends this launch; NULL when out of memory. */
static char *end_path(const struct attendance *a)
{
    struct vel_buf path;

    vel_buf_init(&path);
    vel_buf_printf(&path, "%s/launch.%s/end", a->of->dir, a->launch);
    return vel_buf_take(&path, NULL);
}

/* Until it is decided what can be restored. One rank looks, the others wait for it in
 * what the session does next. */
static int wait_for_view(struct attendance *a, struct vel_err *err)
{
    uint64_t limit =
        limit_of(a) * 4 + (uint64_t)(a->of->conf->view_wait * (double)VEL_CLOCK_S);
    uint64_t until = vel_clock_deadline(a->of->clock, limit);
    char *path = vel_view_path(a->of->dir, a->launch);
    char *end = end_path(a);
    uint64_t value;
    int rc = path && end ? 0 : vel_out_of_memory(err, "the view");

    while (rc == 0 && !vel_fs_exists(a->of->fs, path)) {
        if (vel_fs_exists(a->of->fs, end))
            rc =
                vel_fail(err, VEL_ECANCEL,
                         "another launch has ended launch %s before it could begin, as "
                         "one that does not answer; start it again",
                         a->launch);
        else if (vel_clock_monotonic(a->of->clock) > until)
            rc = vel_fail(err, VEL_ETIMEOUT,
                          "the leaders of launch %s have not decided what can be "
                          "restored (%s)",
                          a->launch, path);
        else
            rc = vel_client_ping(a->client, 0, &value, err);
        vel_clock_sleep(a->of->clock, 5 * VEL_CLOCK_MS);
    }
    free(end);
    free(path);
    return rc;
}

/* The last one leaves nothing behind, and who has led removes what those have left who
 * were killed. */
static void close_all(struct attendance *a)
{
    const char *base = a->of->conf->cntl_base;
    bool has_led = a->service;

    vel_client_close(a->client);
    vel_role_close(a->alive);
    vel_service_stop(a->service);
    vel_role_remove(a->of->fs, &a->host, base, a->launch, NULL);
    if (has_led)
        vel_about_sweep(a->of->fs, &a->host, base, a->of->dir);
    a->client = NULL;
    a->alive = NULL;
    a->knocked = 0;
    a->is_warned = false;
    a->service = NULL;
    a->of = NULL;
}

static int open_it(struct vel_background *b, const struct vel_background_of *of,
                   char ret_launch[VEL_LAUNCH_NAME], struct vel_err *err)
{
    struct attendance *a = attendance(b);
    int rc;

    a->told = *of;
    a->of = &a->told;
    a->host.node = (char *)of->node;
    a->host.user = (char *)of->user;
    snprintf(a->launch, sizeof a->launch, "%s", of->fresh);
    rc =
        vel_role_open(of->fs, &a->host, of->conf->cntl_base, a->launch, &a->alive, err);
    if (rc == 0)
        rc = vel_role_live(a->alive, err);
    const struct vel_service_of service = service_of(a);
    if (rc == 0)
        rc = vel_about_save(&service, vel_role_endpoint(a->alive), err);
    if (rc == 0)
        rc = connect(a, err);
    if (rc == 0 && of->rank == 0)
        rc = wait_for_view(a, err);
    if (rc == 0)
        snprintf(ret_launch, VEL_LAUNCH_NAME, "%s", a->launch);
    else
        close_all(a);
    return rc;
}

/* The leader ends when all of its processes have left and nothing is to be done: it is
 * given time for that, so that the launch has an end. */
static int leave(struct vel_background *b, bool is_well, struct vel_err *err)
{
    struct attendance *a = attendance(b);
    int rc = is_well ? vel_client_leave(a->client, err) : 0;

    vel_client_close(a->client);
    a->client = NULL;
    if (rc == 0 && is_well && a->service)
        vel_service_wait(a->service, limit_of(a));
    close_all(a);
    return rc;
}

/* --- questions --- */

static int owe(struct vel_background *b, int64_t dataset, int rank, unsigned what,
               const char *dir, unsigned *ret_before, struct vel_err *err)
{
    return vel_client_owe(attendance(b)->client, dataset, rank, what, dir ? dir : ".",
                          ret_before, err);
}

static int settle(struct vel_background *b, int64_t dataset, const void *record,
                  size_t len, struct vel_err *err)
{
    return vel_client_settle(attendance(b)->client, dataset, record, len, err);
}

static void tell(const struct vel_progress *progress, struct vel_background_state *ret)
{
    *ret = (struct vel_background_state){.behind = (enum vel_behind)progress->state,
                                         .left = progress->left,
                                         .moved = progress->moved};
    if (progress->status)
        vel_fail(&ret->err, (enum vel_status)progress->status, "%s", progress->text);
}

static int ask(struct vel_background *b, int64_t dataset,
               struct vel_background_state *ret, struct vel_err *err)
{
    struct vel_progress progress;
    int rc = vel_client_ask(attendance(b)->client, dataset, &progress, err);

    if (rc == 0)
        tell(&progress, ret);
    return rc;
}

static int drain(struct vel_background *b, int64_t dataset,
                 struct vel_background_state *ret, struct vel_err *err)
{
    struct vel_progress progress;
    int rc = vel_client_drain(attendance(b)->client, dataset, &progress, err);

    if (rc == 0)
        tell(&progress, ret);
    return rc;
}

/* A leader answers with a status, and with a number when it counts nodes. */
static int ping(struct vel_background *b, enum vel_background_ping what,
                int64_t *ret_value, struct vel_err *err)
{
    uint64_t value = 0;
    int rc = vel_client_ping(attendance(b)->client, (unsigned)what, &value, err);

    if (rc == 0)
        *ret_value = what == VEL_PING_BACKUP ? (int64_t)value : value == 0;
    return rc;
}

static bool outlives(struct vel_background *b)
{
    return vel_role_is_agents(attendance(b)->alive);
}

static const struct vel_background_ops ops = {.open = open_it,
                                              .owe = owe,
                                              .settle = settle,
                                              .ask = ask,
                                              .drain = drain,
                                              .ping = ping,
                                              .outlives = outlives,
                                              .leave = leave};

static struct attendance the_one = {.background.ops = &ops,
                                    .lock = PTHREAD_MUTEX_INITIALIZER};

struct vel_background *vel_attend(void)
{
    return &the_one.background;
}
