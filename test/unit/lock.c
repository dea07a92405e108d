/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sys/lock.h"
#include "tap/manual_clock.h"
#include "tap/files.h"
#include "tap/sweep.h"
#include "tap/tap.h"

static struct vel_host host;

static int try(const char *path, struct vel_lock **ret_lock, struct vel_err *err)
{
    return vel_lock_try(vel_fs_posix(), &host, path, ret_lock, err);
}

static void one_at_a_time(void)
{
    const char *path = tap_path("lock");
    struct vel_lock *lock = NULL, *other = NULL;
    struct vel_err err = {0};
    char holder[300];
    int fds = tap_open_fds();

    is_int(try(path, &lock, &err), 0, "a lock is taken");
    is_int(try(path, &other, &err), VEL_EBUSY, "but not twice");
    snprintf(holder, sizeof holder, "%s is held by process %ld on node7", path,
             (long)getpid());
    is_str(err.text, holder, "the sentence tells who holds it");
    vel_lock_release(lock);
    ok(tap_file_is(path, ""), "nobody is named when nobody holds it");
    is_int(try(path, &lock, &err), 0, "after its release it is taken again");
    vel_lock_remove(lock);
    ok(access(path, F_OK) < 0, "a lock can go with its file");
    is_int(tap_open_fds(), fds, "no descriptor is left");
    vel_lock_release(NULL);
}

static void time_limit(void)
{
    const char *path = tap_path("lock");
    struct vel_lock *lock = NULL, *other = NULL;
    struct vel_manual_clock manual;
    struct vel_err err = {0};

    vel_manual_clock_init(&manual, 1000, 0);
    try(path, &lock, &err);
    is_int(vel_lock_wait(vel_fs_posix(), &host, &manual.clock, 5 * VEL_CLOCK_S, path,
                         &other, &err),
           VEL_ETIMEOUT, "waiting ends at its limit");
    is_int(err.status, VEL_ETIMEOUT, "and the error says so too");
    is_int((long long)manual.monotonic, (long long)(1000 + 5 * VEL_CLOCK_S),
           "neither before nor after");
    ok(strncmp(err.text, "waited 5.0 s for a lock: ", 25) == 0 &&
           strstr(err.text, "on node7"),
       "the sentence tells how long, and for whom");
    vel_lock_release(lock);
    is_int(vel_lock_wait(vel_fs_posix(), &host, &manual.clock, 0, path, &other, &err),
           0, "a free lock needs no time");
    vel_lock_release(other);
    vel_manual_clock_fini(&manual);
}

static void holders(void)
{
    char v1[] = "node7.v1", node8[] = "node8", user[] = "u";
    const struct vel_host virtual = {v1, user}, another = {node8, user};
    struct vel_fs *fs = vel_fs_posix();
    struct vel_lock *lock = NULL;
    struct vel_err err = {0};
    const char *path = tap_path("holder");

    try(path, &lock, &err);
    is_int(vel_lock_holder_here(fs, &host, path), getpid(),
           "who holds it is known on its machine");
    is_int(vel_lock_holder_here(fs, &virtual, path), getpid(),
           "on all of its virtual nodes");
    is_int(vel_lock_holder_here(fs, &another, path), 0, "and on no other");
    vel_lock_release(lock);
    is_int(vel_lock_holder_here(fs, &host, path), 0, "nobody is known by a free one");
    tap_put_file(path, "process -4 on node7\n");
    is_int(vel_lock_holder_here(fs, &host, path), 0, "nor by one that tells lies");
}

static void strange_files(void)
{
    struct vel_lock *lock = NULL, *other = NULL;
    struct vel_err err = {0};

    tap_put_file(tap_path("strange"), "\x1b[31mred\nx");
    try(tap_path("strange"), &lock, &err);
    tap_put_file(tap_path("strange"), "\x1b[31mred\nx");
    try(tap_path("strange"), &other, &err);
    ok(strstr(err.text, "is held by another process") != NULL,
       "control characters in the file do not reach the sentence");
    vel_lock_release(lock);
    if (symlink(tap_path("elsewhere"), tap_path("link")) < 0 ||
        mkfifo(tap_path("pipe"), 0600) < 0)
        bail_out("cannot make a link and a pipe");
    is_int(try(tap_path("link"), &lock, &err), VEL_EUNSAFE, "a link is no lock");
    ok(access(tap_path("elsewhere"), F_OK) < 0, "and is not followed");
    is_int(try(tap_path("pipe"), &lock, &err), VEL_EUNSAFE, "nor is a pipe");
    is_int(try(tap_dir(), &lock, &err), VEL_EINVAL, "nor a directory");
    is_int(try(tap_path("none/lock"), &lock, &err), VEL_ENOENT,
           "a lock needs a directory");
}

/* A child that does as told: `how` with the lock, says so, and waits to be ended. */
static pid_t start_child(const char *path, struct vel_lock *inherited, int how, int *to)
{
    int said[2], told[2];
    char c;

    if (pipe(said) < 0 || pipe(told) < 0)
        bail_out("cannot make a pipe");
    pid_t pid = fork();
    if (pid < 0)
        bail_out("cannot fork");
    if (pid == 0) {
        struct vel_lock *lock = inherited;
        close(told[1]);
        if (how == 'l' && try(path, &lock, NULL) < 0)
            _exit(1);
        if (how == 'a')
            vel_lock_abandon(lock);
        if (write(said[1], "x", 1) != 1 || read(told[0], &c, 1) < 0)
            _exit(1);
        _exit(0);
    }
    close(said[1]);
    close(told[0]);
    if (read(said[0], &c, 1) != 1)
        bail_out("the child failed");
    close(said[0]);
    *to = told[1];
    return pid;
}

static void processes(void)
{
    const char *path = tap_path("processes");
    struct vel_lock *lock = NULL, *other = NULL;
    struct vel_err err = {0};
    char holder[64];
    int to;

    pid_t pid = start_child(path, NULL, 'l', &to);
    is_int(try(path, &lock, &err), VEL_EBUSY, "another process holds the lock");
    snprintf(holder, sizeof holder, "process %ld on node7", (long)pid);
    ok(strstr(err.text, holder) != NULL, "and is named");
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    close(to);
    is_int(try(path, &lock, &err), 0, "a killed process lets it go");

    pid = start_child(path, lock, 'a', &to);
    is_int(try(path, &other, &err), VEL_EBUSY,
           "a forked child that abandons it leaves it to its parent");
    close(to);
    waitpid(pid, NULL, 0);
    is_int(try(path, &other, &err), VEL_EBUSY, "when it has ended too");

    pid = start_child(path, lock, 'n', &to);
    vel_lock_release(lock);
    is_int(try(path, &other, &err), 0,
           "a forked child that knows nothing does not keep it");
    close(to);
    waitpid(pid, NULL, 0);
    vel_lock_release(other);
}

/* read, add, write: loses a step whenever two are at it */
static int count_up(const char *counter)
{
    char text[32];
    char *old = tap_get_file(counter, NULL);

    snprintf(text, sizeof text, "%d", (old ? atoi(old) : 0) + 1);
    free(old);
    sched_yield();
    tap_put_file(counter, text);
    return 0;
}

static void removal_races(void)
{
    enum { NPROCS = 4, ROUNDS = 50 };
    const char *path = tap_path("race"), *counter = tap_path("counter");
    int failed = 0, status;

    for (int i = 0; i < NPROCS; i++) {
        pid_t pid = fork();
        if (pid < 0)
            bail_out("cannot fork");
        if (pid > 0)
            continue;
        for (int round = 0; round < ROUNDS; round++) {
            struct vel_lock *lock;
            if (vel_lock_wait(vel_fs_posix(), &host, vel_clock_system(), UINT64_MAX,
                              path, &lock, NULL) < 0)
                _exit(1);
            count_up(counter);
            (round % 2 ? vel_lock_remove : vel_lock_release)(lock);
        }
        _exit(0);
    }
    for (int i = 0; i < NPROCS; i++)
        failed += wait(&status) < 0 || status != 0;
    is_int(failed, 0, "several processes get a lock that is removed all the time");
    ok(tap_file_is(counter, "200"), "one at a time");
}

/* a file system on which someone removes the lock's file, and makes a new one, between
 * our opening it and our locking it */
struct thief {
    struct vel_fs fs;
    const char *path;
    int left; /* how often he still comes */
};

static int steal_and_lock(struct vel_fs *fs, int fd, int how)
{
    struct thief *thief = (struct thief *)fs;

    if (thief->left > 0) {
        thief->left--;
        unlink(thief->path);
        tap_put_file(thief->path, "");
    }
    return vel_fs_posix()->ops->flock(vel_fs_posix(), fd, how);
}

static void theft(void)
{
    struct vel_fs_ops ops = *vel_fs_posix()->ops;
    struct thief thief = {.fs.ops = &ops, .path = tap_path("stolen"), .left = 2};
    struct vel_lock *lock = NULL, *other = NULL;
    struct vel_err err = {0};
    int fds = tap_open_fds();

    ops.flock = steal_and_lock;
    is_int(vel_lock_try(&thief.fs, &host, thief.path, &lock, &err), 0,
           "a lock whose file is exchanged meanwhile is taken");
    is_int(try(thief.path, &other, &err), VEL_EBUSY, "on the file that is there now");
    vel_lock_release(lock);
    thief.left = 1 << 20;
    is_int(vel_lock_try(&thief.fs, &host, thief.path, &lock, &err), VEL_EBUSY,
           "one that is exchanged for ever is given up");
    ok(strstr(err.text, thief.path) != NULL, "with a sentence that names it");
    is_int(tap_open_fds(), fds, "and no descriptor left");
}

static void prepare_nothing(const char *dir, void *arg)
{
    (void)dir, (void)arg;
}

static int lock_and_release(struct vel_fs *fs, const char *dir, void *arg,
                            struct vel_err *err)
{
    char path[1200];
    struct vel_lock *lock;

    (void)arg;
    snprintf(path, sizeof path, "%s/lock", dir);
    int rc = vel_lock_try(fs, &host, path, &lock, err);
    if (rc == 0)
        vel_lock_release(lock);
    return rc;
}

/* whatever happened, the next one must get it */
static enum sweep_state check_free(const char *dir, void *arg)
{
    return lock_and_release(vel_fs_posix(), dir, arg, NULL) < 0 ? SWEEP_BROKEN
                                                                : SWEEP_NEW;
}

int main(void)
{
    const struct sweep sweep = {.name = "locking",
                                .prepare = prepare_nothing,
                                .action = lock_and_release,
                                .check = check_free};

    if (vel_host_init(&host, NULL) < 0 || vel_host_set_node(&host, "node7", NULL) < 0)
        bail_out("cannot name the node");
    one_at_a_time();
    time_limit();
    holders();
    strange_files();
    processes();
    removal_races();
    theft();
    sweep_run(&sweep);
    vel_host_fini(&host);
    return done_testing();
}
