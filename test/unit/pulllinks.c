/* SPDX-License-Identifier: BSD-3-Clause */
/* A tool that pulls parts over connections of its own to leaders: over TCP, with the
 * key; and of leaders that are gone, silent, or never were. */
#include "config.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ident/endpoint.h"
#include "link/link.h"
#include "pull/pull_links.h"
#include "tap/pulllab.h"
#include "tap/redlab.h"
#include "tap/tap.h"

enum { MEMBERS = 4, FILE_MOST = 100000 };

/* Leaders of all nodes that have a part, turned by one thread. */
struct leaders {
    struct pulllab lab;
    char dir[512], launch_dir[600];
    struct leader {
        struct leaders *all;
        size_t node;
        struct vel_links *links;
        size_t answers, silent_at; /* says nothing from this answer on; 0: never */
        uint64_t tools;            /* that it met, and which proved themselves */
    } leader[MEMBERS];
    pthread_t thread;
    atomic_bool ends;
};

static void met(void *arg, struct vel_link *link, const struct vel_peer *who)
{
    (void)link;
    ((struct leader *)arg)->tools += who->role == VEL_PEER_TOOL && !who->is_near;
}

static void message(void *arg, struct vel_link *link, const struct vel_msg *msg)
{
    struct leader *leader = arg;
    struct vel_giver giver = {redlab_fs(), &leader->all->lab.home[leader->node], 1};
    struct vel_msg answer;
    char *room = malloc(VEL_WANT_MOST);

    leader->answers++;
    vel_give_answer(&giver, msg, room, &answer);
    answer.seq = msg->seq;
    if (!leader->silent_at || leader->answers < leader->silent_at)
        vel_link_send(link, &answer, NULL);
    free(room);
}

static void gone(void *arg, struct vel_link *link, const struct vel_err *why)
{
    (void)arg, (void)link, (void)why;
}

static const struct vel_links_ops ops = {.met = met, .message = message, .gone = gone};

static void *turn(void *arg)
{
    struct leaders *all = arg;

    while (!all->ends)
        for (size_t i = 0; i < MEMBERS; i++)
            if (all->leader[i].links)
                vel_links_turn(all->leader[i].links, 1, NULL);
    return NULL;
}

static void listen_at(struct leaders *all, size_t i, const struct vel_key *key)
{
    struct leader *leader = &all->leader[i];
    struct vel_links_me me = {.role = VEL_PEER_LEADER,
                              .rank = VEL_MSG_NO_RANK,
                              .launch = "l",
                              .node = all->lab.node[i],
                              .user = geteuid(),
                              .key = key,
                              .limit_ms = 60000,
                              .clock = vel_clock_system()};
    struct vel_endpoint record = {.node = all->lab.node[i], .ranks = (char[]){""}};
    struct vel_err err = {0};

    leader->all = all;
    leader->node = i;
    if (vel_links_create(&me, &ops, leader, &leader->links, &err) < 0 ||
        vel_links_listen(leader->links, "tcp:127.0.0.1:0", &err) < 0)
        bail_out("%s", err.text);
    record.endpoints = (char *)vel_links_endpoints(leader->links);
    if (vel_endpoint_save(redlab_fs(), all->launch_dir, &record, &err) < 0)
        bail_out("%s", err.text);
}

static void begin(struct leaders *all)
{
    struct vel_key key;
    struct vel_err err = {0};

    pulllab_make(&all->lab, tap_path("lab"), VEL_XOR, MEMBERS, 1, 9, FILE_MOST);
    pulllab_look(&all->lab);
    snprintf(all->dir, sizeof all->dir, "%s", tap_path("records"));
    snprintf(all->launch_dir, sizeof all->launch_dir, "%s/launch.l", all->dir);
    if (vel_fs_make_dirs(redlab_fs(), all->launch_dir, 0700, &err) < 0 ||
        vel_key_get(redlab_fs(), all->dir, geteuid(), &key, &err) < 0)
        bail_out("%s", err.text);
    for (size_t i = 0; i < MEMBERS; i++)
        listen_at(all, i, &key);
}

static void start(struct leaders *all)
{
    all->ends = false;
    if (pthread_create(&all->thread, NULL, turn, all) != 0)
        bail_out("no thread");
}

static void stop(struct leaders *all)
{
    all->ends = true;
    pthread_join(all->thread, NULL);
}

/* Pull the part of rank 2 to the node that has nothing, from anew. */
static bool pulls(struct leaders *all, unsigned limit_ms, enum vel_pull_way way)
{
    const struct vel_pull_links_of of = {.fs = redlab_fs(),
                                         .clock = vel_clock_system(),
                                         .dir = all->dir,
                                         .launch = "l",
                                         .node = all->lab.node[MEMBERS],
                                         .limit_ms = limit_ms};
    struct vel_pull_source *source = NULL;
    struct vel_pulled pulled = {0};
    struct vel_err err = {0};
    bool is_right;
    int rc;

    pulllab_lose(&all->lab, MEMBERS);
    start(all);
    rc = vel_pull_links_create(&of, &source, &err);
    if (rc == 0)
        rc = pulllab_pull(&all->lab, source, MEMBERS, 2, &pulled, &err);
    vel_pull_links_destroy(source);
    stop(all);
    is_right = rc == 0 && pulled.way == way &&
               redlab_state_of(pulled.dir) == all->lab.state[2];
    if (!is_right)
        note("way %d: %s", pulled.way, err.text);
    vel_pulled_fini(&pulled);
    return is_right;
}

int main(void)
{
    struct leaders *all = calloc(1, sizeof *all);

    begin(all);
    ok(pulls(all, 60000, VEL_PULL_OWNER),
       "a tool pulls a part from its owner's leader");
    ok(all->leader[2].tools == 1 && all->leader[0].tools + all->leader[1].tools == 0,
       "over TCP, and asks nobody else");
    all->leader[2].silent_at = all->leader[2].answers + 2;
    ok(pulls(all, 2000, VEL_PULL_REBUILT),
       "a leader that falls silent is followed by those of the set");
    vel_links_destroy(all->leader[2].links);
    all->leader[2].links = NULL;
    ok(pulls(all, 60000, VEL_PULL_REBUILT), "so is one that is gone");
    vel_endpoint_leave(redlab_fs(), all->launch_dir, all->lab.node[2], NULL);
    ok(pulls(all, 60000, VEL_PULL_REBUILT), "and one that never was");
    vel_links_destroy(all->leader[1].links);
    all->leader[1].links = NULL;
    ok(!pulls(all, 60000, VEL_PULL_REBUILT) && pulllab_is_clean(&all->lab, MEMBERS),
       "without enough of them nothing comes, and nothing is left half made");
    for (size_t i = 0; i < MEMBERS; i++)
        vel_links_destroy(all->leader[i].links);
    pulllab_fini(&all->lab);
    free(all);
    return done_testing();
}
