/* SPDX-License-Identifier: BSD-3-Clause */
/* What processes call while their leader dies, is killed, is stopped or says nothing:
 * the next one is found, told and asked, and no call waits for ever. */
#include "config.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ident/role.h"
#include "link/client_in.h"
#include "tap/bosslab.h"
#include "tap/files.h"
#include "tap/tap.h"

static struct vel_err err;

static uint64_t now(void)
{
    return vel_clock_monotonic(vel_clock_system());
}

/* --- hand-over --- */

static void hand_over(void)
{
    struct heirs heirs = {.most = 3};
    struct vel_place a = {0}, b = {0};
    struct vel_progress progress;
    int64_t epoch = 0;
    bool is_agent;

    heirs.boss[0].dies_at = VEL_MSG_ASK;
    heirs.boss[1].dies_at = VEL_MSG_CLOSE;
    struct vel_client *client = heirs_open(&heirs, BOSS_T);
    is_int(heirs.n, 1, "who finds nobody leads");
    if (vel_client_file_create(client, VEL_CREATE_NEW, "a", &a, &err) < 0 ||
        vel_client_file_create(client, VEL_CREATE_NEW, "b", &b, &err) < 0)
        bail_out("%s", err.text);
    ok(vel_client_ask(client, 4, &progress, &err) == 0 && progress.dataset == 4,
       "a leader dies instead of answering: the next one is asked");
    is_int(atomic_load(&heirs.boss[1].told), 2, "and told which files are open");
    is_int(vel_client_file_close(client, a.file, VEL_CLOSE_COMPLETE, 1, NULL, &err), 0,
           "it dies at a close, and the third one has it under its own number: %s",
           err.text);
    ok(atomic_load(&heirs.boss[2].told) == 2, "told again");
    is_int(vel_client_file_close(client, b.file, VEL_CLOSE_COMPLETE, 1, NULL, &err), 0,
           "the other file is closed there as well");
    ok(vel_client_leader(client, &epoch, &is_agent) && epoch == 3,
       "the client knows who leads");
    vel_place_fini(&a);
    vel_place_fini(&b);
    vel_client_close(client);
    heirs_end(&heirs);
}

static void strangers_files(void)
{
    struct heirs heirs = {.most = 2};
    struct vel_place a = {0};
    uint64_t value;

    heirs.boss[0].dies_at = VEL_MSG_PING;
    heirs.boss[1].knows_nothing = true;
    struct vel_client *client = heirs_open(&heirs, BOSS_T);
    if (vel_client_file_create(client, VEL_CREATE_NEW, "a", &a, &err) < 0)
        bail_out("%s", err.text);
    vel_client_ping(client, 1, &value, &err);
    is_int(vel_client_file_close(client, a.file, VEL_CLOSE_COMPLETE, 1, NULL, &err),
           VEL_ESTATE, "a file that the next leader does not know is told: %s",
           err.text);
    vel_place_fini(&a);
    vel_client_close(client);
    heirs_end(&heirs);
}

static void no_end(void)
{
    struct heirs heirs = {.most = 8};
    struct vel_progress progress;

    for (int i = 0; i < 8; i++)
        heirs.boss[i].dies_at = VEL_MSG_ASK;
    struct vel_client *client = heirs_open(&heirs, BOSS_T);
    is_int(vel_client_ask(client, 1, &progress, &err), VEL_ELOST,
           "a question that kills every leader is given up: %s", err.text);
    ok(heirs.n < 8, "after %d of them", heirs.n);
    vel_client_close(client);
    heirs_end(&heirs);
}

static void nobody(void)
{
    struct heirs heirs = {.most = 1, .rc = VEL_EACCESS};
    struct vel_client_conf conf = boss_client(BOSS_SHORT_T);
    struct vel_client *client = NULL;
    struct vel_progress progress;

    is_int(vel_client_open(&conf, &client, &err), VEL_ETIMEOUT,
           "a tool that finds no leader is told so: %s", err.text);
    heirs.boss[0].dies_at = VEL_MSG_ASK;
    client = heirs_open(&heirs, BOSS_T);
    is_int(vel_client_ask(client, 1, &progress, &err), VEL_EACCESS,
           "nobody can lead: the reason is told at once: %s", err.text);
    heirs.most = 2;
    while (heirs.n < 2)
        vel_client_turn(client, vel_client_now());
    ok(client->link, "who leads now connects at once");
    vel_client_close(client);
    heirs_end(&heirs);
}

static void leaving(void)
{
    struct heirs heirs = {.most = 2};

    heirs.boss[0].dies_at = VEL_MSG_LEAVE;
    struct vel_client *client = heirs_open(&heirs, BOSS_T);
    is_int(vel_client_leave(client, VEL_LEAVE_IN_ORDER, &err), 0,
           "a leader that goes first lets us leave");
    is_int(heirs.n, 1, "and nobody leads because of it");
    vel_client_close(client);
    heirs_end(&heirs);
}

/* --- silence --- */

static void frozen(void)
{
    struct boss boss = {0};
    struct vel_client_conf conf = boss_client(BOSS_T);
    struct vel_progress progress;
    int rc = VEL_ETIMEOUT;

    boss_start(&boss, boss_leader_at(), 1);
    struct vel_client *client = boss_open_client(&conf);
    atomic_store(&boss.is_frozen, true);
    uint64_t began = now();
    is_int(vel_client_ask(client, 1, &progress, &err), VEL_ETIMEOUT,
           "a leader that is stopped ends a call: %s", err.text);
    ok(now() - began >= BOSS_T * VEL_CLOCK_MS, "after T");
    ok(strstr(err.text, "n1") != NULL, "the sentence has the node");
    began = now();
    for (int i = 0; i < 5; i++)
        rc = vel_client_ask(client, 1, &progress, &err);
    is_int(rc, VEL_ETIMEOUT, "the calls after it fail as well: %s", err.text);
    ok(now() - began < BOSS_T * VEL_CLOCK_MS, "five of them before T");
    atomic_store(&boss.is_frozen, false);
    for (int i = 0; i < 1000 && rc != 0; i++)
        rc = vel_client_ask(client, 1, &progress, &err);
    is_int(rc, 0, "until it thaws");
    vel_client_close(client);
    boss_end(&boss);
}

static void deaf(void)
{
    struct boss boss = {.deaf_to = VEL_MSG_SETTLE};
    struct vel_client_conf conf = boss_client(BOSS_SHORT_T);
    struct vel_progress progress;
    int rc = VEL_ETIMEOUT;

    boss_start(&boss, boss_leader_at(), 1);
    struct vel_client *client = boss_open_client(&conf);
    is_int(vel_client_settle(client, 1, "{}", 2, &err), VEL_ETIMEOUT,
           "a call without an answer ends: %s", err.text);
    for (int i = 0; i < 1000 && rc == VEL_ETIMEOUT;
         i++) /* a busy machine may be slow */
        rc = vel_client_ask(client, 1, &progress, &err);
    is_int(rc, 0, "one that it hears is answered");
    vel_client_close(client);
    boss_end(&boss);
}

/* --- the role goes over --- */

/* A leader in a process of its own, which is killed; the role goes over. */
struct successor {
    struct vel_role *role;
    struct boss boss;
    int led;
};

static int take_role(void *arg, struct vel_err *why)
{
    struct successor *s = arg;
    int rc = vel_role_take(s->role, why);

    if (rc == 0 && s->led++ == 0)
        boss_start(&s->boss, vel_role_endpoint(s->role), 2);
    return rc;
}

static void killed(void)
{
    static const struct vel_client_ops ops = {.lead = take_role};
    struct successor s = {.led = 0};
    struct vel_client_conf conf = boss_client(10 * BOSS_T);
    struct vel_host host;
    char base[300], byte;
    uint64_t value;
    int ends[2];

    snprintf(base, sizeof base, "%.200s/c", tap_dir());
    tap_fresh_dir(base);
    if (vel_host_init(&host, &err) < 0 ||
        vel_role_open(vel_fs_posix(), &host, base, "L", &s.role, &err) < 0 ||
        pipe(ends) < 0)
        bail_out("%s", err.text);
    pid_t pid = fork();
    if (pid == 0) {
        struct boss boss = {0};

        if (vel_role_take(s.role, &err) < 0)
            _exit(1);
        boss_start(&boss, vel_role_endpoint(s.role), 1);
        _exit(write(ends[1], "x", 1) == 1 && (boss_join(&boss), 1));
    }
    if (read(ends[0], &byte, 1) != 1)
        bail_out("no leader");
    conf.leader = vel_role_endpoint(s.role);
    conf.ops = &ops;
    conf.arg = &s;
    struct vel_client *client = boss_open_client(&conf);
    is_int(s.led, 0, "another process leads");
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    ok(vel_client_ping(client, 1, &value, &err) == 0 && s.led == 1,
       "it is killed: who asks next has the role: %s", err.text);
    vel_client_close(client);
    boss_end(&s.boss);
    vel_role_close(s.role);
    vel_host_fini(&host);
    close(ends[0]);
    close(ends[1]);
}

int main(void)
{
    (void)tap_dir();
    int fds = tap_open_fds();

    hand_over();
    strangers_files();
    no_end();
    nobody();
    leaving();
    frozen();
    deaf();
    killed();
    is_int(tap_open_fds(), fds, "no descriptor is left open");
    return done_testing();
}
