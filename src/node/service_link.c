/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections of a service: those that the brain asks for, those that come, and what is
 * said on them. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "node/service_bring_in.h"
#include "node/service_call.h"
#include "node/service_give.h"

/* --- the list --- */

static int compare_numbers(const void *key, const void *item)
{
    uint64_t a = *(const uint64_t *)key,
             b = (*(struct vel_service_link *const *)item)->number;

    return (a > b) - (a < b);
}

struct vel_service_link *vel_service_peer(const struct vel_service *service,
                                          uint64_t number)
{
    bool is_there;
    size_t at = vel_vec_place(&service->peers, &number, compare_numbers, &is_there);

    return is_there ? *(struct vel_service_link **)vel_vec_at(&service->peers, at)
                    : NULL;
}

static struct vel_service_link *add(struct vel_service *service, struct vel_link *link,
                                    const char *node)
{
    struct vel_service_link *peer = calloc(1, sizeof *peer);

    if (!peer)
        return NULL;
    peer->number = ++service->last_number;
    peer->link = link;
    peer->node = node ? strdup(node) : NULL;
    if ((node && !peer->node) || !vel_vec_push(&service->peers, &peer)) {
        free(peer->node);
        free(peer);
        return NULL;
    }
    vel_link_set_data(link, peer);
    return peer;
}

static void drop(struct vel_service *service, struct vel_service_link *peer)
{
    bool is_there;
    size_t at =
        vel_vec_place(&service->peers, &peer->number, compare_numbers, &is_there);

    if (is_there)
        vel_vec_remove(&service->peers, at);
    free(peer->node);
    free(peer);
}

void vel_service_forget_peers(struct vel_service *service)
{
    while (service->peers.n > 0)
        drop(service, *(struct vel_service_link **)vel_vec_at(&service->peers,
                                                              service->peers.n - 1));
    vel_vec_fini(&service->peers);
    for (size_t i = 0; i < service->unreachable.n; i++)
        free(*(char **)vel_vec_at(&service->unreachable, i));
    vel_vec_fini(&service->unreachable);
}

/* --- what the brain asks for --- */

static struct vel_service_link *open_link(struct vel_service *service, const char *node,
                                          struct vel_err *err)
{
    struct vel_endpoint endpoint = {0};
    struct vel_service_link *peer = NULL;
    struct vel_link *link;
    int rc = vel_endpoint_load(service->fs, service->launch_dir, node, &endpoint, err);

    if (rc == VEL_ENOENT)
        rc = vel_fail(err, VEL_ELOST, "the leader of %s has left, or has not come",
                      node);
    if (rc == 0)
        rc = vel_links_connect(service->links, endpoint.endpoints, node, &link, err);
    if (rc == 0 && !(peer = add(service, link, node))) {
        vel_link_close(link);
        vel_out_of_memory(err, "a connection");
    }
    vel_endpoint_fini(&endpoint);
    return peer;
}

struct vel_service_link *vel_service_reach(struct vel_service *service,
                                           const char *node, struct vel_err *err)
{
    for (size_t i = 0; i < service->peers.n; i++) {
        struct vel_service_link *peer =
            *(struct vel_service_link **)vel_vec_at(&service->peers, i);
        const struct vel_peer *who = vel_link_peer(peer->link);

        if (who ? who->role == VEL_PEER_LEADER && strcmp(who->node, node) == 0
                : peer->node && strcmp(peer->node, node) == 0)
            return peer;
    }
    return open_link(service, node, err);
}

/* The brain must not be called from here: it is told after this turn. */
void vel_service_connect(void *arg, const char *node)
{
    struct vel_service *service = arg;
    struct vel_err err = {0};
    char *name;

    if (open_link(service, node, &err))
        return;
    vel_log(VEL_LOG_DEBUG, "the leader of %s cannot be reached: %s", node, err.text);
    name = strdup(node);
    if (!name || !vel_vec_push(&service->unreachable, &name))
        free(name);
}

void vel_service_tell_unreachable(struct vel_service *service)
{
    struct vel_vec nodes = service->unreachable;

    vel_vec_init(&service->unreachable, sizeof(char *));
    for (size_t i = 0; i < nodes.n; i++) {
        char *node = *(char **)vel_vec_at(&nodes, i);

        vel_leader_unreachable(service->leader, node);
        free(node);
    }
    vel_vec_fini(&nodes);
}

void vel_service_send(void *arg, uint64_t number, const struct vel_msg *msg)
{
    struct vel_service_link *peer = vel_service_peer(arg, number);
    struct vel_err err = {0};

    if (peer && vel_link_send(peer->link, msg, &err) < 0)
        vel_log(VEL_LOG_DEBUG, "a message was not sent: %s", err.text);
}

void vel_service_close(void *arg, uint64_t number)
{
    struct vel_service *service = arg;
    struct vel_service_link *peer = vel_service_peer(service, number);
    struct vel_err why = {0};

    if (!peer)
        return;
    vel_fail(&why, VEL_ELOST, "the connection was closed");
    vel_service_calls_gone(service, peer, &why);
    vel_link_close(peer->link);
    drop(service, peer);
}

/* --- what happens on them --- */

static void met(void *arg, struct vel_link *link, const struct vel_peer *who)
{
    struct vel_service *service = arg;
    struct vel_service_link *peer = vel_link_data(link);
    struct vel_leader_peer is = {.role = (enum vel_leader_role)who->role,
                                 .epoch = (uint64_t)who->epoch,
                                 .node = who->node,
                                 .rank = who->rank};

    if (!peer)
        peer = add(service, link, NULL);
    if (!peer) {
        vel_link_close(link);
        return;
    }
    peer->is_met = true;
    vel_leader_tick(service->leader, vel_clock_monotonic(service->clock));
    vel_leader_met(service->leader, peer->number, &is);
    vel_service_calls_met(service, peer);
}

static void answer_want(struct vel_service *service, struct vel_service_link *peer,
                        const struct vel_msg *want)
{
    struct vel_msg answer;
    void *room;

    if (want->u.want.what != VEL_WANT_WHERE && want->u.want.what != VEL_WANT_GIVEN) {
        vel_leader_tick(service->leader, vel_clock_monotonic(service->clock));
        vel_leader_asked(service->leader, peer->number);
        vel_givers_want(service->givers, peer->number, want);
        return;
    }
    room = malloc(VEL_WANT_MOST);
    if (room) {
        vel_service_tell_where(service, want, room, &answer);
        answer.seq = want->seq;
        vel_service_send(service, peer->number, &answer);
    } else {
        vel_service_close(service, peer->number);
    }
    free(room);
}

static void message(void *arg, struct vel_link *link, const struct vel_msg *msg)
{
    struct vel_service *service = arg;
    struct vel_service_link *peer = vel_link_data(link);
    uint64_t now = vel_clock_monotonic(service->clock);
    const struct vel_peer *who = vel_link_peer(link);

    if (vel_service_calls_answer(service, msg))
        return;
    if (msg->kind == VEL_MSG_MEET && who->role == VEL_PEER_LEADER)
        vel_muster_come(service->muster, peer->number, who->node, msg, now);
    else if (msg->kind == VEL_MSG_WANT && who->role != VEL_PEER_PROCESS)
        answer_want(service, peer, msg);
    else if (msg->kind == VEL_MSG_STOCK)
        vel_service_stock(service, peer->number, msg);
    else {
        vel_leader_tick(service->leader, now);
        vel_leader_message(service->leader, peer->number, msg);
    }
}

static void gone(void *arg, struct vel_link *link, const struct vel_err *why)
{
    struct vel_service *service = arg;
    struct vel_service_link *peer = vel_link_data(link);
    char *node;

    if (!peer)
        return;
    vel_service_calls_gone(service, peer, why);
    vel_muster_gone(service->muster, peer->number, why);
    vel_leader_tick(service->leader, vel_clock_monotonic(service->clock));
    if (peer->is_met) {
        vel_leader_gone(service->leader, peer->number);
        drop(service, peer);
        return;
    }
    node = peer->node;
    peer->node = NULL;
    drop(service, peer);
    vel_leader_unreachable(service->leader, node);
    free(node);
}

const struct vel_links_ops vel_service_links_ops = {
    .met = met, .message = message, .gone = gone};
