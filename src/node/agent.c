/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/path.h"
#include "ident/role.h"
#include "link/client.h"
#include "link/link.h"
#include "node/agent.h"
#include "node/agent_led.h"
#include "topo/store.h"

/* A launch, and when it may be tried again. */
struct entry {
    struct vel_led *led;
    uint64_t again_at; /* 0: it was not seen to fail */
};

struct vel_agent {
    struct vel_fs *fs;
    const struct vel_host *host;
    const struct vel_conf *conf;
    enum vel_agent_kind kind;
    struct vel_role *role;  /* the agent's own; NULL: of the other kind */
    struct vel_vec entries; /* struct entry */
    bool is_asked_to_end;

    pthread_mutex_t lock; /* threads of launches look whether there are links */
    struct vel_links *links;
};

enum { RETRIES = 4 }; /* in T, of roles that were not given */

static unsigned limit_of(const struct vel_agent *agent)
{
    return (unsigned)(agent->conf->peer_timeout * 1000);
}

/* --- launches --- */

static struct entry *entry_at(const struct vel_agent *agent, size_t i)
{
    return vel_vec_at(&agent->entries, i);
}

static bool is_tended(const struct vel_agent *agent, const char *dir)
{
    for (size_t i = 0; i < agent->entries.n; i++)
        if (strcmp(vel_led_dir(entry_at(agent, i)->led), dir) == 0)
            return true;
    return false;
}

static void wake(void *arg)
{
    struct vel_agent *agent = arg;

    pthread_mutex_lock(&agent->lock);
    if (agent->links)
        vel_links_wake(agent->links);
    pthread_mutex_unlock(&agent->lock);
}

static int lead(struct vel_agent *agent, const char *dir, struct vel_err *err)
{
    const struct vel_led_of of = {.fs = agent->fs,
                                  .host = agent->host,
                                  .conf = agent->conf,
                                  .only_deserted =
                                      agent->kind == VEL_AGENT_FOR_DESERTED,
                                  .done = wake,
                                  .arg = agent};
    struct entry *entry = vel_vec_push(&agent->entries, &(struct entry){0});
    int rc = entry ? vel_led_start(&of, dir, &entry->led, err)
                   : vel_out_of_memory(err, "a launch");

    if (rc < 0 && entry)
        vel_vec_remove(&agent->entries, agent->entries.n - 1);
    return rc;
}

/* Those that are over go; those whose role was not given are kept until they may be
 * asked again. */
static void reap(struct vel_agent *agent)
{
    uint64_t now = vel_clock_monotonic(vel_clock_system());

    for (size_t i = agent->entries.n; i-- > 0;) {
        struct entry *entry = entry_at(agent, i);
        int rc;

        if (!vel_led_is_done(entry->led, &rc))
            continue;
        if (rc < 0 && !entry->again_at)
            entry->again_at = now + limit_of(agent) * VEL_CLOCK_MS / RETRIES;
        if (now < entry->again_at)
            continue;
        vel_led_destroy(entry->led);
        vel_vec_remove(&agent->entries, i);
    }
}

/* Those that nobody has told of yet, or another led until now. */
static void find_launches(struct vel_agent *agent)
{
    struct vel_vec dirs;
    struct vel_err err = {0};
    int rc;

    vel_vec_init(&dirs, sizeof(char *));
    rc = vel_role_list(agent->fs, agent->host, agent->conf->cntl_base, &dirs, &err);
    for (size_t i = 0; rc == 0 && i < dirs.n; i++) {
        const char *dir = *(char **)vel_vec_at(&dirs, i);

        if (!is_tended(agent, dir))
            rc = lead(agent, dir, &err);
    }
    if (rc < 0)
        vel_log(VEL_LOG_DEBUG, "%s", err.text);
    vel_fs_names_fini(&dirs);
}

bool vel_agent_is_idle(const struct vel_agent *agent)
{
    int rc;

    for (size_t i = 0; i < agent->entries.n; i++)
        if (!vel_led_is_done(entry_at(agent, i)->led, &rc))
            return false;
    return true;
}

/* --- who knocks --- */

/* A program begins: it may be one whose directory was just being made. */
static void met(void *arg, struct vel_link *link, const struct vel_peer *peer)
{
    struct vel_agent *agent = arg;

    (void)link, (void)peer;
    for (size_t i = 0; i < agent->entries.n; i++)
        if (entry_at(agent, i)->again_at)
            entry_at(agent, i)->again_at = 1;
}

static void message(void *arg, struct vel_link *link, const struct vel_msg *msg)
{
    struct vel_agent *agent = arg;
    struct vel_msg reply = {.kind = VEL_MSG_YES, .seq = msg->seq};

    if (msg->kind == VEL_MSG_RESIGN) {
        agent->is_asked_to_end = true;
    } else {
        reply.kind = VEL_MSG_NO;
        reply.u.no.status = (uint64_t)-VEL_EUNSUP;
        reply.u.no.text = "an agent leads launches at their own sockets";
    }
    vel_link_send(link, &reply, NULL);
}

static void gone(void *arg, struct vel_link *link, const struct vel_err *why)
{
    (void)arg, (void)link, (void)why;
}

static const struct vel_links_ops ops = {.met = met, .message = message, .gone = gone};

/* As a tool, to the agent's own socket, which may still be there when the agent was
 * killed; *ret_role names it. */
static int visit(struct vel_fs *fs, const struct vel_host *host, const char *base,
                 const char *launch, unsigned limit_ms, struct vel_role **ret_role,
                 struct vel_client **ret_client, struct vel_err *err)
{
    struct vel_role *role = NULL;
    int rc = vel_role_find(fs, host, base, NULL, &role, err);

    if (rc < 0)
        return rc;
    const struct vel_client_conf conf = {.rank = VEL_MSG_NO_RANK,
                                         .launch = launch ? launch : "any",
                                         .node = host->node,
                                         .agent = vel_role_endpoint(role),
                                         .limit_ms = limit_ms};
    if (!vel_fs_exists(fs, vel_role_endpoint(role) + strlen("unix:")))
        rc = vel_fail(err, VEL_ENOENT, "none is here");
    if (rc == 0)
        rc = vel_client_open_tool(&conf, ret_client, err);
    if (rc == 0)
        *ret_role = role;
    else
        vel_role_close(role);
    return rc;
}

int vel_agent_knock(struct vel_fs *fs, const struct vel_host *host, const char *base,
                    const char *launch, unsigned limit_ms, struct vel_err *err)
{
    struct vel_role *role = NULL;
    struct vel_client *client = NULL;
    int rc = visit(fs, host, base, launch, limit_ms, &role, &client, err);

    vel_client_close(client);
    vel_role_close(role);
    return rc;
}

int vel_agent_stop(struct vel_fs *fs, const struct vel_host *host, const char *base,
                   unsigned limit_ms, struct vel_err *err)
{
    uint64_t limit = limit_ms * VEL_CLOCK_MS;
    struct vel_role *role = NULL;
    struct vel_client *client = NULL;
    int rc = visit(fs, host, base, NULL, limit_ms, &role, &client, err);

    if (rc == 0)
        rc = vel_client_resign(client, 0, err);
    vel_client_close(client);
    if (rc == 0)
        rc = vel_role_wait(role, vel_clock_system(), limit, err);
    vel_role_close(role);
    if (rc == 0) /* the wait has made it again, perhaps */
        vel_role_remove(fs, host, base, NULL, NULL);
    return rc;
}

/* --- life --- */

static int listen_for_knocks(struct vel_agent *agent, struct vel_err *err)
{
    struct vel_links_me me = {.role = VEL_PEER_LEADER,
                              .rank = VEL_MSG_NO_RANK,
                              .launch = "any",
                              .node = agent->host->node,
                              .serves_any = true,
                              .user = geteuid(),
                              .limit_ms = limit_of(agent),
                              .clock = vel_clock_system()};
    int rc = vel_links_create(&me, &ops, agent, &agent->links, err);

    return rc == 0 && agent->role
               ? vel_links_listen(agent->links, vel_role_endpoint(agent->role), err)
               : rc;
}

int vel_agent_create(struct vel_fs *fs, const struct vel_host *host,
                     const struct vel_conf *conf, enum vel_agent_kind kind,
                     struct vel_agent **ret_agent, struct vel_err *err)
{
    struct vel_agent *agent = calloc(1, sizeof *agent);
    int rc = 0;

    if (!agent)
        return vel_out_of_memory(err, "an agent");
    *agent = (struct vel_agent){.fs = fs, .host = host, .conf = conf, .kind = kind};
    vel_vec_init(&agent->entries, sizeof(struct entry));
    pthread_mutex_init(&agent->lock, NULL);
    if (kind == VEL_AGENT_FOR_ALL) {
        rc = vel_store_check_control(conf, fs, err);
        if (rc == 0)
            rc = vel_role_open(fs, host, conf->cntl_base, NULL, &agent->role, err);
        if (rc == 0)
            rc = vel_role_take(agent->role, err);
    }
    if (rc == 0)
        rc = listen_for_knocks(agent, err);
    if (rc == 0)
        *ret_agent = agent;
    else
        vel_agent_destroy(agent);
    return rc;
}

/* Who knocks from now on finds nobody. */
static void close_door(struct vel_agent *agent)
{
    struct vel_links *links = agent->links;

    pthread_mutex_lock(&agent->lock);
    agent->links = NULL;
    pthread_mutex_unlock(&agent->lock);
    vel_links_destroy(links);
}

void vel_agent_destroy(struct vel_agent *agent)
{
    if (!agent)
        return;
    bool was_here = agent->role && vel_role_is_held(agent->role);

    close_door(agent);
    for (size_t i = 0; i < agent->entries.n; i++)
        vel_led_ask_end(entry_at(agent, i)->led);
    for (size_t i = 0; i < agent->entries.n; i++)
        vel_led_destroy(entry_at(agent, i)->led);
    vel_vec_fini(&agent->entries);
    vel_role_close(agent->role);
    if (was_here)
        vel_role_remove(agent->fs, agent->host, agent->conf->cntl_base, NULL, NULL);
    pthread_mutex_destroy(&agent->lock);
    free(agent);
}

/* Nobody finds us without our socket, and another agent may be here: a temporary
 * directory is cleaned up now and then. */
static void check_door(struct vel_agent *agent)
{
    const char *path =
        agent->role ? vel_role_endpoint(agent->role) + strlen("unix:") : NULL;

    if (!path || agent->is_asked_to_end || vel_fs_exists(agent->fs, path))
        return;
    vel_log(VEL_LOG_WARN, "the agent ends: its socket %s was removed", path);
    agent->is_asked_to_end = true;
}

int vel_agent_turn(struct vel_agent *agent, unsigned limit_ms, struct vel_err *err)
{
    check_door(agent);
    reap(agent);
    find_launches(agent);
    return vel_links_turn(agent->links, limit_ms, err);
}

void vel_agent_wake(struct vel_agent *agent)
{
    vel_links_wake(agent->links);
}

bool vel_agent_is_asked_to_end(const struct vel_agent *agent)
{
    return agent->is_asked_to_end;
}
