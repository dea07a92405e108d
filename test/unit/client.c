/* SPDX-License-Identifier: BSD-3-Clause */
/* What processes call, against a leader that follows a script: every call, many
 * threads, agents, a forked child. */
#include "config.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap/bosslab.h"
#include "tap/tap.h"

static struct vel_err err;

/* --- calls --- */

static void every_call(void)
{
    struct boss boss = {0};
    struct vel_client_conf conf = boss_client(BOSS_T);
    struct vel_place place = {0};
    struct vel_progress progress;
    uint64_t value = 0;
    unsigned before = 0;
    int64_t epoch = 0;
    bool is_agent = true;

    boss_start(&boss, boss_leader_at(), 7);
    struct vel_client *client = boss_open_client(&conf);
    ok(vel_client_leader(client, &epoch, &is_agent) && epoch == 7 && !is_agent,
       "the leader is found, with its epoch");
    ok(vel_client_ping(client, 3, &value, &err) == 0 && value == 42, "ping");
    ok(vel_client_file_create(client, VEL_CREATE_NEW, "f", &place, &err) == 0 &&
           place.where == 1 && strcmp(place.path, "/cache/f") == 0,
       "create gives a place");
    is_int(vel_client_file_close(client, place.file, VEL_CLOSE_VERSION, 5, NULL, &err),
           0, "close, at a version point");
    is_int(vel_client_file_close(client, place.file, VEL_CLOSE_COMPLETE, 5, NULL, &err),
           0, "close");
    is_int(vel_client_file_close(client, place.file, VEL_CLOSE_COMPLETE, 5, NULL, &err),
           VEL_EINVAL, "a file is closed once: %s", err.text);
    vel_place_fini(&place);
    ok(vel_client_file_look(client, VEL_LOOK_THERE, "f", &place, &err) == 0 &&
           place.where == 2,
       "look");
    vel_place_fini(&place);
    is_int(vel_client_file_remove(client, "f", &err), VEL_ENOENT,
           "a refusal has its status and sentence: %s", err.text);
    is_int(vel_client_file_remove(client, "lie", &err), VEL_ECORRUPT,
           "an answer of another kind is none: %s", err.text);
    ok(vel_client_owe(client, 1, 2, 3, "/d", &before, &err) == 0 && before == 2, "owe");
    is_int(vel_client_settle(client, 1, "{}", 2, &err), 0, "settle");
    ok(vel_client_ask(client, 5, &progress, &err) == 0 && progress.dataset == 5 &&
           progress.left == 10 && progress.moved == 20 && progress.state == 3 &&
           progress.status == VEL_ENOSPC && strcmp(progress.text, "no room") == 0,
       "ask tells how far it is, and what is wrong");
    is_int(vel_client_drain(client, 0, 0, &progress, &err), 0, "drain");
    is_int(vel_client_owe(client, 0, 2, 3, "/d", &before, &err), VEL_EINVAL,
           "what breaks the table is not asked: %s", err.text);
    is_int(vel_client_leave(client, VEL_LEAVE_IN_ORDER, &err), 0, "leave");
    vel_client_close(client);
    boss_end(&boss);
}

/* Of a leader that gives it in two pieces. */
static void inventories(void)
{
    struct boss boss = {0};
    struct vel_client_conf conf = boss_client(BOSS_T);
    struct vel_inventory inventory;

    boss_start(&boss, boss_leader_at(), 7);
    struct vel_client *client = boss_open_client(&conf);
    ok(vel_client_stock(client, &inventory, &err) == 0 && inventory.held.n == 1 &&
           strcmp(inventory.node, "n1") == 0 &&
           ((struct vel_stock *)vel_vec_at(&inventory.held, 0))->rank == 3,
       "stock tells what the node holds, piece by piece");
    vel_inventory_fini(&inventory);
    boss.changes = true;
    is_int(vel_client_stock(client, &inventory, &err), VEL_ECORRUPT,
           "what changes meanwhile is none: %s", err.text);
    vel_client_close(client);
    boss_end(&boss);
}

static void moving(void)
{
    struct boss boss = {0};
    struct vel_client_conf conf = boss_client(BOSS_SHORT_T);
    struct vel_place place = {0};

    boss_start(&boss, boss_leader_at(), 1);
    struct vel_client *client = boss_open_client(&conf);
    ok(vel_client_file_look(client, VEL_LOOK_HERE, "f", &place, &err) == 0 &&
           place.where == 2,
       "a pull is waited for as long as it moves");
    vel_place_fini(&place);
    vel_client_close(client);
    boss_end(&boss);
}

/* --- many threads --- */

enum { THREADS = BOSS_HELD, CALLS = 50 };

static void *ask_often(void *arg)
{
    struct vel_progress progress;
    long wrong = 0;

    for (int i = 0; i < CALLS; i++)
        wrong += vel_client_ask(arg, 9, &progress, NULL) != 0 || progress.left != 10;
    return (void *)wrong;
}

static void threads(void)
{
    struct boss boss = {.reverses = true};
    struct vel_client_conf conf = boss_client(10 * BOSS_T);
    pthread_t thread[THREADS];
    long wrong = 0;
    void *result;

    boss_start(&boss, boss_leader_at(), 1);
    struct vel_client *client = boss_open_client(&conf);
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&thread[i], NULL, ask_often, client) != 0)
            bail_out("no thread");
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], &result);
        wrong += (long)result;
    }
    is_int(wrong, 0, "calls of many threads are under way together, in any order");
    is_int(atomic_load(&boss.met), 1, "on one connection");
    vel_client_close(client);
    boss_end(&boss);
}

/* --- agents --- */

static void agents(void)
{
    struct boss boss = {0}, agent = {0};
    struct vel_client_conf conf = boss_client(BOSS_T);
    int64_t epoch = 0;
    bool is_agent = false;
    uint64_t value;

    conf.agent = boss_agent_at();
    boss_start(&boss, boss_leader_at(), 1);
    struct vel_client *client = boss_open_client(&conf);
    ok(vel_client_leader(client, &epoch, &is_agent) && !is_agent,
       "without an agent the node's leader is taken");
    vel_client_close(client);
    boss_start(&agent, boss_agent_at(), 2);
    client = boss_open_client(&conf);
    ok(vel_client_leader(client, &epoch, &is_agent) && is_agent && epoch == 2,
       "an agent comes first");
    boss_end(&agent);
    ok(vel_client_ping(client, 1, &value, &err) == 0 &&
           vel_client_leader(client, &epoch, &is_agent) && !is_agent,
       "when it dies, the node's leader does");
    vel_client_close(client);
    agent = (struct boss){.is_frozen = true};
    boss_start(&agent, boss_agent_at(), 3);
    ok(vel_client_open(&conf, &client, &err) == 0 &&
           vel_client_leader(client, &epoch, &is_agent) && !is_agent,
       "an agent that is stopped keeps nobody from the node's leader: %s", err.text);
    vel_client_close(client);
    boss_end(&agent);

    conf.role = VEL_PEER_TOOL;
    conf.agent = NULL;
    client = boss_open_client(&conf);
    is_int(vel_client_resign(client, 1, &err), 0, "an agent asks for the role");
    vel_client_close(client);
    boss_end(&boss);
}

/* --- processes --- */

static void forks(void)
{
    struct boss boss = {0};
    struct vel_client_conf conf = boss_client(BOSS_T);
    uint64_t value;
    int status = -1;

    boss_start(&boss, boss_leader_at(), 1);
    struct vel_client *client = boss_open_client(&conf);
    pid_t pid = fork();
    if (pid == 0) {
        int rc = vel_client_ping(client, 1, &value, NULL);

        vel_client_abandon(client);
        _exit(rc == VEL_ESTATE ? 0 : 1);
    }
    waitpid(pid, &status, 0);
    is_int(status, 0, "a forked child is nobody's process");
    ok(vel_client_ping(client, 1, &value, &err) == 0 && atomic_load(&boss.met) == 1,
       "and its parent's connection is untouched");
    vel_client_close(client);
    boss_end(&boss);
}

int main(void)
{
    (void)tap_dir();
    int fds = tap_open_fds();

    every_call();
    inventories();
    moving();
    threads();
    agents();
    forks();
    is_int(tap_open_fds(), fds, "no descriptor is left open");
    return done_testing();
}
