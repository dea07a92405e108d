/* SPDX-License-Identifier: BSD-3-Clause */
/* What a launch of one file opens and lists below .veloc, from its begin to its end:
 * that does not grow with launches, nor with datasets, that were before and are all on
 * the prefix. Of which a cache has a dataset as well it grows by little. */
#include "config.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tap/filelab.h"
#include "tap/tap.h"

/* Beside a busy machine a loop turns more often. What else is opened, and removed with
 * the first, is less than for one launch: that was 18 and 11. */
enum { FEW = 20, MANY = 60, FILES = 100, NOISE = 60, CACHED = 20, FOR_CACHED = 45 };

static struct vel_fs_ops ops;
static struct vel_fs counting = {&ops};
static atomic_int opens, lists;
static int launches, files;
static pthread_t self;

/* This test looks around as well; and caches tell of what they have. */
static int is_counted(const char *path)
{
    return !pthread_equal(self, pthread_self()) && strstr(path, "/.veloc");
}

static int count_open(struct vel_fs *fs, const char *path, int flags, mode_t mode)
{
    (void)fs;
    opens += is_counted(path);
    return vel_fs_posix()->ops->open(vel_fs_posix(), path, flags, mode);
}

static int count_list(struct vel_fs *fs, const char *path, struct vel_vec *ret)
{
    (void)fs;
    lists += is_counted(path);
    return vel_fs_posix()->ops->list(vel_fs_posix(), path, ret);
}

static void run(struct filelab *lab, int n)
{
    char launch[16], name[16];
    struct vel_err err = {0};

    snprintf(launch, sizeof launch, "L%d", ++launches);
    filelab_begin(lab, launch);
    for (int i = 0; i < n; i++) {
        snprintf(name, sizeof name, "ck.%d", ++files);
        if (filelab_write(lab, 0, name, "some bytes", &err) < 0)
            bail_out("%s", err.text);
    }
    filelab_end(lab);
}

/* Two launches come first: one marks those before, one keeps what they say. */
static int measure(struct filelab *lab)
{
    int before;

    for (int i = 0; i < 2; i++)
        run(lab, 1);
    before = opens + lists;
    run(lab, 1);
    return opens + lists - before;
}

static void remove_digest(const struct filelab *lab)
{
    char path[300];

    snprintf(path, sizeof path, "%s/digest.%ld", lab->dir, (long)geteuid());
    ok(unlink(path) == 0, "there is a digest, which may go");
}

static void spoil_digest(const struct filelab *lab)
{
    char path[300];
    int fd;

    snprintf(path, sizeof path, "%s/digest.%ld", lab->dir, (long)geteuid());
    fd = open(path, O_WRONLY);
    ok(fd >= 0 && pwrite(fd, "spoilt", 6, 2000) == 6 && ftruncate(fd, 5000) == 0,
       "or be damaged");
    close(fd);
}

static void check_published(void)
{
    struct filelab lab;
    int few, many, later;

    filelab_init(&lab, "begincost", 1, 1, "DATASET=ck PATTERN=ck.{step}\n");
    lab.fs = &counting;
    while (launches < FEW)
        run(&lab, 1);
    few = measure(&lab);
    while (launches < MANY)
        run(&lab, 1);
    many = measure(&lab);
    note("%d after %d launches, %d after %d", few, FEW, many, MANY);
    ok(many <= few + NOISE,
       "a launch opens and lists no more after many launches than after a few");

    run(&lab, FILES);
    later = measure(&lab);
    note("%d after %d files in one launch", later, FILES);
    ok(later <= few + NOISE, "nor when one of them had many files");

    remove_digest(&lab);
    run(&lab, 1);
    is_int(filelab_published(&lab), files, "all datasets are known without it");
    spoil_digest(&lab);
    run(&lab, 1);
    is_int(filelab_published(&lab), files, "and with one that is not as it was");
    later = measure(&lab);
    ok(later <= few + NOISE, "who begins then finds it whole again");
    note("%d then", later);
    filelab_fini(&lab);
}

/* All are on the prefix as well. */
static void check_cached(void)
{
    struct filelab lab;
    int few, many, before;

    filelab_init(&lab, "begincached", 1, 1, "DATASET=ck PATTERN=ck.{step} KEEP=100\n");
    lab.fs = &counting;
    launches = files = 0;
    few = measure(&lab);
    before = launches;
    while (launches < before + CACHED)
        run(&lab, 1);
    many = measure(&lab);
    note("%d after %d launches with a file in the cache, %d after %d", few, before,
         many, launches);
    ok(many - few <= FOR_CACHED * (launches - before) + NOISE,
       "with one of each in the cache it is %d for each at most", FOR_CACHED);
    filelab_fini(&lab);
}

int main(void)
{
    self = pthread_self();
    ops = *vel_fs_posix()->ops;
    ops.open = count_open;
    ops.list = count_list;
    check_published();
    check_cached();
    return done_testing();
}
