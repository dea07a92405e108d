/* SPDX-License-Identifier: BSD-3-Clause */
/* Ledgers of a cache from one leader to the next: of its launch, and of launches that
 * are over; and who was taken for dead, and thaws. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap/batchlab.h"
#include "tap/files.h"
#include "tap/tap.h"

/* --- launches that are over --- */

static const char *over_launches;

static int is_over(void *arg, const char *launch, bool *ret_is, struct vel_err *err)
{
    (void)arg, (void)err;
    *ret_is = strstr(over_launches, launch) != NULL;
    return 0;
}

static int entries(const char *dir)
{
    struct vel_vec names;
    int n = 0;

    vel_vec_init(&names, sizeof(char *));
    if (vel_fs_list(vel_fs_posix(), dir, &names, NULL) == 0)
        n = (int)names.n;
    vel_fs_names_fini(&names);
    return n;
}

/* A launch with a file, whose leader is killed. */
static void dies(const char *launch, const char *node, const char *name)
{
    struct vel_batches *batches = batchlab_begin_on(vel_fs_posix(), node, launch);
    char *dir = batchlab_make(batches, launch, "1");

    batchlab_write(batches, dir, 0, name, "bytes");
    batchlab_close(batches, dir, 0, name, 1);
    free(dir);
    vel_batches_destroy(batches);
}

/* The order of a file of rank 0 in the first batch of the n-th launch. */
static int64_t order_in(struct vel_batches *batches, int n, const char *name)
{
    char dir[700];

    snprintf(dir, sizeof dir, "%s/%d.0/1", batchlab_home, n);
    return vel_batches_order(batches, dir, 0, name);
}

static void taken_over(void)
{
    struct vel_batches *batches;
    struct vel_err err = {0};
    char ledgers[700];

    batchlab_fresh("over");
    dies("A", "n1", "a.h5");
    dies("B", "n1", "b.h5");
    dies("C", "n1", "c.h5");
    over_launches = "A C";
    batches = batchlab_begin("D");
    is_int(vel_batches_take_over(batches, is_over, NULL, &err), 0,
           "launches are ended");
    ok(batchlab_has(batches, "A", "a.h5") && batchlab_has(batches, "C", "c.h5"),
       "what they have left is the next one's");
    ok(!batchlab_has(batches, "B", "b.h5"), "but of one that lives");
    is_int(order_in(batches, 1, "a.h5"), 0,
           "when it was closed there says nothing of the next one's files");
    vel_batches_destroy(batches);
    batches = batchlab_begin("D");
    batchlab_must(vel_batches_adopt(batches, &err), &err);
    ok(batchlab_has(batches, "A", "a.h5") && batchlab_has(batches, "C", "c.h5"),
       "and the next leader's of that");
    vel_batches_destroy(batches);
    over_launches = "A B C D";
    batches = batchlab_begin("E");
    batchlab_must(vel_batches_take_over(batches, is_over, NULL, &err), &err);
    ok(batchlab_has(batches, "A", "a.h5") && batchlab_has(batches, "B", "b.h5") &&
           batchlab_is_told(batches, "E"),
       "and of that of the next launch");
    vel_batches_destroy(batches);
    batches = batchlab_begin("E");
    batchlab_must(vel_batches_adopt(batches, &err), &err);
    snprintf(ledgers, sizeof ledgers, "%s/ledger", batchlab_home);
    ok(entries(ledgers) <= 3, "old ledgers go: %d are there", entries(ledgers));
    vel_batches_destroy(batches);
}

/* It has begun to write when another one, that came later, is over. */
static void taken_from_above(void)
{
    struct vel_batches *batches;
    struct vel_err err = {0};
    char *dir;

    batchlab_fresh("above");
    batches = batchlab_begin("A");
    dir = batchlab_make(batches, "A", "1");
    batchlab_write(batches, dir, 0, "a.h5", "bytes");
    dies("B", "n1", "b.h5");
    over_launches = "B";
    is_int(vel_batches_take_over(batches, is_over, NULL, &err), 0,
           "a launch that came later is ended");
    ok(batchlab_has(batches, "B", "b.h5") && batchlab_has(batches, "A", "a.h5"),
       "its files are there, beside those that were");
    batchlab_close(batches, dir, 0, "a.h5", 3);
    ok(batchlab_is_told(batches, "above"), "which can be closed");
    vel_batches_destroy(batches);
    batches = batchlab_begin("A");
    batchlab_must(vel_batches_adopt(batches, &err), &err);
    ok(batchlab_has(batches, "B", "b.h5") && batchlab_has(batches, "A", "a.h5"),
       "by the next leader, too");
    free(dir);
    vel_batches_destroy(batches);
}

/* Two launches begin when one is over: one of them is its heir, both see its files. */
static void two_heirs(void)
{
    struct vel_batches *first, *second;
    struct vel_err err = {0};
    struct vel_vec list;
    bool has = false;

    batchlab_fresh("heirs");
    dies("A", "n1", "a.h5");
    over_launches = "A";
    first = batchlab_begin("B");
    second = batchlab_begin("C");
    free(batchlab_make(second, "C", "1"));
    batchlab_must(vel_batches_take_over(first, is_over, NULL, &err), &err);
    batchlab_must(vel_batches_take_over(second, is_over, NULL, &err), &err);
    ok(batchlab_has(first, "A", "a.h5") && !batchlab_has(second, "A", "a.h5"),
       "of two launches that begin one is the heir");
    vel_vec_init(&list, sizeof(struct vel_batch));
    batchlab_must(vel_batches_list_all(second, &list, &err), &err);
    for (size_t i = 0; i < list.n; i++)
        has |= strcmp(((struct vel_batch *)vel_vec_at(&list, i))->key.launch, "A") == 0;
    ok(has && list.n == 2, "and both find what it has left");
    vel_batch_list_fini(&list);
    vel_batches_destroy(first);
    vel_batches_destroy(second);
}

static void on_shared_cache(void)
{
    struct vel_batches_of of = {.fs = vel_fs_posix(),
                                .clock = vel_clock_system(),
                                .home = batchlab_home,
                                .node = "n1",
                                .launch = "B",
                                .is_shared = true};
    struct vel_batches *batches;
    struct vel_err err = {0};

    batchlab_fresh("shared");
    dies("A", "n1", "a.h5");
    dies("A", "n2", "a2.h5");
    over_launches = "A";
    batchlab_must(vel_batches_create(&of, &batches, &err), &err);
    batchlab_must(vel_batches_take_over(batches, is_over, NULL, &err), &err);
    ok(batchlab_has(batches, "A", "a.h5") && !batchlab_has(batches, "A", "a2.h5"),
       "in a cache of several nodes each takes what is its own");
    vel_batches_destroy(batches);
}

/* --- one that is not the leader any more --- */

static void fenced(void)
{
    struct vel_batches *old, *new;
    const struct vel_batches_taken taken[] = {{NULL, 0, 9}};
    struct vel_batches_taken all = taken[0];
    struct vel_err err = {0};
    char *dir, path[900];

    batchlab_fresh("fenced");
    old = batchlab_begin("L");
    dir = batchlab_make(old, "L", "1");
    batchlab_write(old, dir, 0, "a.h5", "bytes");
    batchlab_close(old, dir, 0, "a.h5", 1);
    new = batchlab_begin("L");
    batchlab_must(vel_batches_adopt(new, &err), &err);
    all.dir = dir;
    is_int(vel_batches_look(old, &err), VEL_ECANCEL, "who thaws sees that he is out");
    is_int(vel_batches_part(old, 5, &all, 1, true, &err), VEL_ECANCEL,
           "and can say nothing");
    snprintf(path, sizeof path, "%s/rank.0/a.h5", dir);
    ok(access(path, F_OK) == 0 && batchlab_has(new, "L", "a.h5"),
       "nor take anything away");
    free(dir);
    vel_batches_destroy(old);
    vel_batches_destroy(new);
}

/* Frozen before it takes over what another launch has left, while another leader of its
 * own comes and goes. */
static void thawed(void)
{
    struct vel_batches *old, *new;
    struct vel_err err = {0};
    char *dir, path[900];

    batchlab_fresh("thawed");
    old = batchlab_begin("L");
    free(batchlab_make(old, "L", "1"));
    new = batchlab_adopt("L");
    dir = batchlab_make(new, "L", "2");
    batchlab_write(new, dir, 0, "a.h5", "bytes");
    batchlab_close(new, dir, 0, "a.h5", 5);
    dies("B", "n1", "b.h5");
    over_launches = "B";
    is_int(vel_batches_take_over(old, is_over, NULL, &err), VEL_ECANCEL,
           "who thaws takes nothing over: %s", err.text);
    snprintf(path, sizeof path, "%s/rank.0/a.h5", dir);
    ok(access(path, F_OK) == 0 && batchlab_has(new, "L", "a.h5"),
       "what was closed meanwhile stays");
    is_int(vel_batches_take_over(new, is_over, NULL, &err), 0, "who leads does");
    ok(batchlab_has(new, "L", "a.h5") && batchlab_has(new, "B", "b.h5") &&
           batchlab_is_told(new, "after that"),
       "and has all");
    free(dir);
    vel_batches_destroy(old);
    vel_batches_destroy(new);
}

/* --- begins that fail --- */

static int syncs_until_full; /* below 0: never */

static int fsync_sometimes(struct vel_fs *fs, int fd)
{
    (void)fs;
    if (syncs_until_full >= 0 && syncs_until_full-- == 0)
        return -EIO;
    return vel_fs_posix()->ops->fsync(vel_fs_posix(), fd);
}

/* Each sync of taking over fails once: of a title, of a begin, of the directory. */
static void begins_in_vain(void)
{
    struct vel_fs_ops ops = *vel_fs_posix()->ops;
    struct vel_fs fs = {.ops = &ops};
    bool all = true, fails = true;
    int n = 0;

    ops.fsync = fsync_sometimes;
    over_launches = "A";
    for (; all && fails && n < 40; n++) {
        struct vel_batches *batches;
        struct vel_err err = {0};
        char *dir, name[20];

        syncs_until_full = -1;
        snprintf(name, sizeof name, "vain%d", n);
        batchlab_fresh(name);
        dies("A", "n1", "a.h5");
        batches = batchlab_begin_on(&fs, "n1", "L");
        dir = batchlab_make(batches, "L", "1");
        batchlab_write(batches, dir, 0, "own.h5", "bytes");
        batchlab_close(batches, dir, 0, "own.h5", 1);
        syncs_until_full = n;
        fails = vel_batches_take_over(batches, is_over, NULL, &err) < 0;
        syncs_until_full = -1;
        if (vel_batches_take_over(batches, is_over, NULL, &err) < 0)
            note("sync %d: %s", n, err.text);
        all = batchlab_has(batches, "A", "a.h5") &&
              batchlab_has(batches, "L", "own.h5") &&
              batchlab_is_told(batches, "once more");
        vel_batches_destroy(batches);
        batches = batchlab_adopt("L");
        all = all && batchlab_has(batches, "A", "a.h5") &&
              batchlab_has(batches, "L", "own.h5");
        vel_batches_destroy(batches);
        free(dir);
    }
    ok(all && n > 4, "whichever of %d syncs fails, all is there the next time", n);
}

static int appends_until_death;

static ssize_t append_or_die(struct vel_fs *fs, int fd, const void *buf, size_t len)
{
    (void)fs;
    if (appends_until_death-- == 0)
        _exit(0);
    return vel_fs_posix()->ops->append(vel_fs_posix(), fd, buf, len);
}

static int open_or_die(struct vel_fs *fs, const char *path, int flags, mode_t mode)
{
    (void)fs;
    if (appends_until_death-- == 0)
        _exit(0);
    return vel_fs_posix()->ops->open(vel_fs_posix(), path, flags, mode);
}

/* A leader with files takes over what is over, and is killed on the way. */
static void killed_between(void)
{
    struct vel_fs_ops ops = *vel_fs_posix()->ops;
    struct vel_fs fs = {.ops = &ops};
    bool all = true, is_killed = true;
    int n = 0;

    ops.append = append_or_die;
    ops.open = open_or_die;
    over_launches = "B";
    fflush(stdout);
    for (; all && is_killed && n < 400; n++) {
        struct vel_batches *batches;
        struct vel_err err = {0};
        int status;
        pid_t pid;

        batchlab_fresh("killed");
        appends_until_death = -1;
        pid = fork();
        if (pid == 0) {
            char *dir;

            batches = batchlab_begin_on(&fs, "n1", "A");
            dir = batchlab_make(batches, "A", "1");
            batchlab_write(batches, dir, 0, "a.h5", "bytes");
            batchlab_close(batches, dir, 0, "a.h5", 3);
            dies("B", "n1", "b.h5");
            appends_until_death = n;
            vel_batches_take_over(batches, is_over, NULL, &err);
            _exit(1);
        }
        waitpid(pid, &status, 0);
        is_killed = WEXITSTATUS(status) == 0;
        batches = batchlab_adopt("A");
        all = batchlab_has(batches, "A", "a.h5");
        if (vel_batches_take_over(batches, is_over, NULL, &err) < 0)
            note("operation %d: %s", n, err.text);
        all = all && batchlab_has(batches, "A", "a.h5") &&
              batchlab_has(batches, "B", "b.h5") &&
              batchlab_is_told(batches, "after a kill");
        if (!all)
            note("killed at operation %d", n);
        vel_batches_destroy(batches);
    }
    ok(all && n > 10, "killed at any of %d operations it loses nothing", n);
}

/* --- damage --- */

static void damaged(void)
{
    struct vel_batches *batches;
    struct vel_err err = {0};
    char path[700];

    batchlab_fresh("damaged");
    dies("A", "n1", "a.h5");
    dies("B", "n1", "b.h5");
    snprintf(path, sizeof path, "%s/ledger/1.0", batchlab_home);
    tap_put_file(path, "nothing that we know\n");
    over_launches = "A B";
    batches = batchlab_begin("C");
    is_int(vel_batches_take_over(batches, is_over, NULL, &err), 0,
           "a ledger that is damaged costs itself: %s", err.text);
    ok(batchlab_has(batches, "B", "b.h5"), "and no other");
    snprintf(path, sizeof path, "%s/1.0/1/rank.0/a.h5", batchlab_home);
    ok(access(path, F_OK) == 0, "its files stay");
    vel_batches_destroy(batches);
}

int main(void)
{
    taken_over();
    taken_from_above();
    two_heirs();
    on_shared_cache();
    fenced();
    thawed();
    begins_in_vain();
    killed_between();
    damaged();
    return done_testing();
}
