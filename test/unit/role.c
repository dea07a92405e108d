/* SPDX-License-Identifier: BSD-3-Clause */
/* The role of a node's leader: one holder, freed by any death, in a directory that
 * nobody else can have made. */
#include "config.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/path.h"
#include "ident/role.h"
#include "sys/sock.h"
#include "tap/manual_clock.h"
#include "tap/files.h"
#include "tap/tap.h"

static struct vel_err err;
static struct vel_host host;
static char base[2048];

static struct vel_role *open_role(const char *launch)
{
    struct vel_role *role = NULL;

    if (vel_role_open(vel_fs_posix(), &host, base, launch, &role, &err) < 0)
        bail_out("%s", err.text);
    return role;
}

static bool is_alive(const char *launch)
{
    return vel_role_is_alive(vel_fs_posix(), &host, base, launch);
}

/* A process that takes the role, or lives, says so, and waits for its death. */
static pid_t holder(const char *launch, bool takes)
{
    int ends[2];
    char byte;
    pid_t pid;

    if (pipe(ends) < 0 || (pid = fork()) < 0)
        bail_out("no process");
    if (pid == 0) {
        struct vel_role *role = open_role(launch);
        int rc = takes ? vel_role_take(role, &err) : vel_role_live(role, &err);

        if (rc < 0 || write(ends[1], "x", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    close(ends[1]);
    if (read(ends[0], &byte, 1) != 1)
        bail_out("the holder has failed");
    close(ends[0]);
    return pid;
}

static void end_holder(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static void one_holder(void)
{
    struct vel_role *a = open_role("L"), *b = open_role("L"), *c = open_role("M");
    const char *path = vel_role_endpoint(a) + strlen("unix:");
    char *endpoint = NULL;
    int fd = -1;

    ok(!is_alive("L"), "nobody lives in a directory without locks");
    ok(vel_role_take(a, &err) == 0 && vel_role_is_held(a), "the role is taken");
    is_int(vel_role_take(b, &err), VEL_EBUSY, "once: %s", err.text);
    is_int(vel_role_take(c, &err), 0, "each launch has its own");
    ok(is_alive("L"), "a leader is alive");
    is_str(vel_role_endpoint(b), vel_role_endpoint(a), "all know where it listens");
    is_int(vel_sock_listen(vel_role_endpoint(a), &fd, &endpoint, &err), 0, "it does");
    vel_sock_close(fd); /* as a death leaves it */
    free(endpoint);
    ok(access(path, F_OK) == 0, "a socket without a leader stays");
    vel_role_give(a);
    ok(access(path, F_OK) != 0, "but not when the role is given back");
    is_int(vel_role_take(b, &err), 0, "and the next one takes it");
    vel_role_close(a);
    vel_role_close(b);
    vel_role_close(c);
    ok(!is_alive("L"), "a role that is closed is free");
}

static void deaths(void)
{
    struct vel_role *role = open_role("D");
    const char *path = vel_role_endpoint(role) + strlen("unix:");
    pid_t pid = holder("D", true);

    is_int(vel_role_take(role, &err), VEL_EBUSY, "another process leads: %s", err.text);
    tap_put_file(path, "an old socket");
    end_holder(pid);
    is_int(vel_role_wait(role, vel_clock_system(), 10 * VEL_CLOCK_S, &err), 0,
           "its death frees the role");
    ok(access(path, F_OK) != 0, "the old socket is gone before the new one is bound");
    vel_role_give(role);
    pid = holder("D", false);
    ok(is_alive("D"), "a process without the role is alive as well");
    is_int(vel_role_remove(vel_fs_posix(), &host, base, "D", &err), VEL_EBUSY,
           "its directory is not removed: %s", err.text);
    is_int(vel_role_take(role, &err), 0, "the role is free all the same");
    end_holder(pid);
    vel_role_close(role);
    ok(!is_alive("D"), "its death is noticed");
}

/* What is asked of the locks here. */
static enum vel_role_life life_of(const char *node, bool is_virtual, bool is_ours)
{
    const struct vel_host there = {(char *)node, host.user};
    const struct vel_role_here here = {vel_fs_posix(), &host, is_virtual, base};
    struct vel_endpoint endpoint = {.node = (char *)node};
    struct vel_role *role = NULL;
    char endpoints[4096];
    enum vel_role_life life;

    if (vel_role_find(vel_fs_posix(), &there, base, "V", &role, &err) < 0)
        bail_out("%s", err.text);
    snprintf(endpoints, sizeof endpoints, "%s tcp:10.0.0.1:7",
             is_ours ? vel_role_endpoint(role) : "unix:/elsewhere/s");
    endpoint.endpoints = endpoints;
    life = vel_role_ask(&here, "V", &endpoint);
    vel_role_close(role);
    return life;
}

static void virtual_nodes(void)
{
    char *own = host.node, nodes[3][300];
    pid_t pid;

    for (int i = 0; i < 3; i++)
        snprintf(nodes[i], sizeof nodes[i], i < 2 ? "%s.v%d" : "%sx.v%d", own, i);
    host.node = nodes[1];
    pid = holder("V", false);
    host.node = nodes[0];
    is_int(life_of(nodes[1], true, true), VEL_ROLE_LIVING,
           "who lives on a virtual node of this machine is seen");
    is_int(life_of(nodes[1], false, true), VEL_ROLE_UNKNOWN, "only if it is virtual");
    end_holder(pid);
    is_int(life_of(nodes[1], true, true), VEL_ROLE_DEAD, "and that he has died");
    is_int(life_of(nodes[0], false, true), VEL_ROLE_DEAD,
           "this node has nobody either");
    is_int(life_of(nodes[2], true, true), VEL_ROLE_UNKNOWN,
           "of another machine nothing is known");
    is_int(life_of(nodes[1], true, false), VEL_ROLE_UNKNOWN,
           "nor of who has listened in a directory that is not here");
    host.node = own;
}

static void waits(void)
{
    struct vel_manual_clock clock;
    struct vel_role *a = open_role("W"), *b = open_role("W");

    vel_manual_clock_init(&clock, 0, 0);
    vel_role_take(a, &err);
    is_int(vel_role_wait(b, &clock.clock, 3 * VEL_CLOCK_S, &err), VEL_ETIMEOUT,
           "who waits for a frozen leader gives up: %s", err.text);
    ok(vel_clock_monotonic(&clock.clock) >= 3 * VEL_CLOCK_S, "after the limit");
    vel_role_close(a);
    vel_role_close(b);
    vel_manual_clock_fini(&clock);
}

static void forks(void)
{
    struct vel_role *role = open_role("F"), *other = open_role("F");
    int status = 0;

    vel_role_take(role, &err);
    vel_role_live(role, &err);
    pid_t pid = fork();
    if (pid == 0) {
        vel_role_abandon(role);
        _exit(0);
    }
    waitpid(pid, &status, 0);
    ok(is_alive("F") && vel_role_take(other, &err) == VEL_EBUSY,
       "a forked child that forgets the role leaves it to its parent");
    vel_role_close(role);
    is_int(vel_role_take(other, &err), 0, "who gives it back");
    vel_role_close(other);
}

static void agents(void)
{
    struct vel_role *agent = open_role(NULL);

    ok(strstr(vel_role_endpoint(agent), "/agent/s") != NULL, "the agent has its own");
    is_int(vel_role_take(agent, &err), 0, "and is a leader like others");
    ok(is_alive(NULL), "it is alive");
    vel_role_close(agent);
}

/* --- removed meanwhile --- */

enum { REMOVALS = 300 };

static void *keep_removing(void *arg)
{
    (void)arg;
    for (int i = 0; i < REMOVALS; i++)
        vel_role_remove(vel_fs_posix(), &host, base, "R", NULL);
    return NULL;
}

static void removals(void)
{
    struct vel_role *role = open_role("R");
    char *path = strdup(vel_role_endpoint(role) + strlen("unix:"));
    char *dir = vel_path_dir(path);
    pthread_t thread;
    int wrong = 0;

    tap_put_file(path, "the socket of a leader that was killed");
    is_int(vel_role_remove(vel_fs_posix(), &host, base, "R", &err), VEL_ECANCEL,
           "who is the last to end leaves what a dead leader owed to be found: %s",
           err.text);
    ok(vel_role_take(role, &err) == 0 && access(path, F_OK) != 0,
       "whoever does it takes the role");
    vel_role_give(role);

    is_int(vel_role_remove(vel_fs_posix(), &host, base, "R", &err), 0,
           "a directory where nobody lives is removed");
    is_int(vel_role_remove(vel_fs_posix(), &host, base, "R", &err), 0,
           "also when it is not there");
    is_int(vel_role_take(role, &err), 0, "who comes makes it again");
    vel_role_close(role);
    tap_put_file(path, "the socket of a leader that was killed");
    is_int(vel_role_remove_dir(vel_fs_posix(), &host, dir, &err), 0,
           "of a launch that is over nothing is left for anybody");
    free(dir);
    free(path);
    if (pthread_create(&thread, NULL, keep_removing, NULL) != 0)
        bail_out("no thread");
    for (int i = 0; i < REMOVALS; i++) {
        role = open_role("R");
        if (vel_role_live(role, &err) < 0 && ++wrong == 1)
            note("live: %s", err.text);
        else if (!is_alive("R") && ++wrong == 1)
            note("round %d: nobody is alive", i);
        vel_role_close(role);
    }
    pthread_join(thread, NULL);
    is_int(wrong, 0, "whoever lives is seen, while others remove the directory");
}

/* A file system on which somebody removes the directory just before the lock. */
static int removals_left;

static int flock_after_removal(struct vel_fs *fs, int fd, int how)
{
    (void)fs;
    if ((how & LOCK_SH) && removals_left-- > 0 &&
        vel_role_remove(vel_fs_posix(), &host, base, "Q", &err) < 0)
        note("%s", err.text);
    return vel_fs_posix()->ops->flock(vel_fs_posix(), fd, how);
}

static void removed_between(void)
{
    struct vel_fs_ops ops = *vel_fs_posix()->ops;
    struct vel_fs fs = {.ops = &ops};
    struct vel_role *role = NULL;

    ops.flock = flock_after_removal;
    removals_left = 2;
    ok(vel_role_open(&fs, &host, base, "Q", &role, &err) == 0 &&
           vel_role_live(role, &err) == 0 && removals_left < 0 && is_alive("Q"),
       "who locks a file that is gone begins again");
    vel_role_close(role);
}

/* --- directories that are not ours --- */

static void refused(const char *where, const char *launch, int want, const char *why)
{
    struct vel_role *role = NULL;

    is_int(vel_role_open(vel_fs_posix(), &host, where, launch, &role, &err), want,
           "%s is refused: %s", why, err.text);
    vel_role_close(role);
}

/* In which directory of those that are tried the role is; the rest is user_dir's. */
static bool is_beside(const char *where, const char *tail)
{
    struct vel_role *role = NULL, *found = NULL;
    char start[3000];
    bool is;

    snprintf(start, sizeof start, "unix:%s/%s%s/leader.", where, host.user, tail);
    if (vel_role_open(vel_fs_posix(), &host, where, "L", &role, &err) < 0 ||
        vel_role_find(vel_fs_posix(), &host, where, "L", &found, &err) < 0)
        bail_out("%s", err.text);
    is = strncmp(vel_role_endpoint(role), start, strlen(start)) == 0 &&
         strcmp(vel_role_endpoint(role), vel_role_endpoint(found)) == 0;
    vel_role_close(role);
    vel_role_close(found);
    return is;
}

static void listed(const char *where, const char *text)
{
    struct vel_vec dirs;

    vel_vec_init(&dirs, sizeof(char *));
    ok(vel_role_list(vel_fs_posix(), &host, where, &dirs, &err) == 0 && dirs.n == 1,
       "%s", text);
    vel_fs_names_fini(&dirs);
}

static void hostile(void)
{
    char user[3000], others[2100], dir[3100];
    struct vel_role *role;
    struct stat st;

    refused("/tmp/with blank", "L", VEL_ECONFIG, "a base with a blank");
    refused("tmp", "L", VEL_ECONFIG, "a base that is not absolute");
    refused(
        "/tmp/0123456789012345678901234567890123456789012345678901234567890123456789"
        "0123456789",
        "L", VEL_ECONFIG, "a base too long for a socket");
    ok(lstat("/tmp/0123456789012345678901234567890123456789012345678901234567890123456"
             "7890123456789",
             &st) < 0,
       "and is not made");
    snprintf(others, sizeof others, "%s/h", base);
    snprintf(user, sizeof user, "%s/%s", others, host.user);
    mkdir(others, 0700);
    if (symlink(base, user) != 0)
        bail_out("no link");
    ok(is_beside(others, ".1"),
       "a link in place of the user's directory is left alone");
    listed(others, "who looks for roles finds them beside it");
    ok(is_beside(others, ".1") &&
           vel_role_is_alive(vel_fs_posix(), &host, others, "L") == false,
       "and so does who asks whether anybody lives");
    for (int i = 1; i < 8; i++) {
        snprintf(user, sizeof user, "%s/%s.%d", others, host.user, i);
        mkdir(user, 0700);
        chmod(user, 0777);
    }
    refused(others, "L", VEL_EUNSAFE, "a base in which no name is left for us");
    ok(strstr(err.text, "CNTL_BASE: ") != NULL, "  which names the setting");
    snprintf(user, sizeof user, "%s/%s.1", others, host.user);
    chmod(user, 0700);
    role = NULL;
    vel_role_open(vel_fs_posix(), &host, others, "L", &role, &err);
    snprintf(dir, sizeof dir, "%s", vel_role_endpoint(role) + strlen("unix:"));
    *strrchr(dir, '/') = '\0';
    vel_role_close(role);
    chmod(dir, 0755);
    refused(others, "L", VEL_EUNSAFE, "a leader's directory that others can enter");
}

int main(void)
{
    if (vel_host_init(&host, &err) < 0)
        bail_out("%s", err.text);
    snprintf(base, sizeof base, "%s", tap_path("c"));
    tap_fresh_dir(base);
    int fds = tap_open_fds();
    one_holder();
    deaths();
    virtual_nodes();
    waits();
    forks();
    agents();
    removals();
    removed_between();
    hostile();
    is_int(tap_open_fds(), fds, "no descriptor is left open");
    vel_host_fini(&host);
    return done_testing();
}
