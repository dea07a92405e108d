/* SPDX-License-Identifier: BSD-3-Clause */
/* What one small file of a line costs from its creation until it is on the prefix: how
 * often something is brought to the disk, and how many names change. The same for each,
 * however many there were; and what stays beside them does not grow with them. And what
 * a launch costs from its leader's first step to its last. */
#include "config.h"

#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tap/filelab.h"
#include "tap/tap.h"

/* Of a node without others: what survives nothing but its program is brought to the
 * disk on the prefix alone. */
enum { FILES = 200, SYNCS = 5, NAMES = 26, BESIDE = 20 };
enum { LAUNCH_SYNCS = 23, LAUNCH_NAMES = 46 }; /* beside those of its file */

static atomic_int syncs, names;

static int count_open(struct vel_fs *fs, const char *path, int flags, mode_t mode)
{
    (void)fs;
    if (flags & O_CREAT && !vel_fs_exists(vel_fs_posix(), path))
        names++;
    return vel_fs_posix()->ops->open(vel_fs_posix(), path, flags, mode);
}

static int count_unlink(struct vel_fs *fs, const char *path)
{
    int rc = vel_fs_posix()->ops->unlink(vel_fs_posix(), path);

    (void)fs;
    names += rc == 0;
    return rc;
}

static int count_mkdir(struct vel_fs *fs, const char *path, mode_t mode)
{
    int rc = vel_fs_posix()->ops->mkdir(vel_fs_posix(), path, mode);

    (void)fs;
    names += rc == 0;
    return rc;
}

static int count_rmdir(struct vel_fs *fs, const char *path)
{
    int rc = vel_fs_posix()->ops->rmdir(vel_fs_posix(), path);

    (void)fs;
    names += rc == 0;
    return rc;
}

static int count_sync(struct vel_fs *fs, int fd)
{
    (void)fs;
    syncs++;
    return vel_fs_posix()->ops->fsync(vel_fs_posix(), fd);
}

static int count_rename(struct vel_fs *fs, const char *from, const char *to)
{
    (void)fs;
    names++;
    return vel_fs_posix()->ops->rename(vel_fs_posix(), from, to);
}

static int count_link(struct vel_fs *fs, const char *from, const char *to)
{
    (void)fs;
    names++;
    return vel_fs_posix()->ops->link(vel_fs_posix(), from, to);
}

static int by_size(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* What one costs when nothing else is done: beside a busy machine two records of one
 * leader are now and then written one after the other, not together. */
static int usual(const int *counts, int n)
{
    int sorted[FILES];

    for (int i = 0; i < n; i++)
        sorted[i] = counts[i];
    qsort(sorted, (size_t)n, sizeof sorted[0], by_size);
    return sorted[n / 4];
}

/* What else a launch with one file costs. */
static void count_launch(struct filelab *lab, int number, int *ret_syncs,
                         int *ret_names)
{
    int before = syncs, named = names;
    struct vel_err err = {0};
    char name[32];

    snprintf(name, sizeof name, "L%d", number);
    filelab_begin(lab, name);
    snprintf(name, sizeof name, "ck.100%d", number);
    if (filelab_write(lab, 0, name, "some bytes", &err) < 0)
        bail_out("%s", err.text);
    filelab_drain(lab);
    filelab_end(lab);
    *ret_syncs = syncs - before;
    *ret_names = names - named;
}

/* Those before the first have left it something to do. */
static void count_launches(struct filelab *lab, int of_file, int names_of_file)
{
    int least = INT_MAX, least_names = INT_MAX;

    for (int i = 2; i < 8; i++) {
        int n, named;

        count_launch(lab, i, &n, &named);
        least = n < least ? n : least;
        least_names = named < least_names ? named : least_names;
    }
    note("a launch: %d to the disk, %d names", least - of_file,
         least_names - names_of_file);
    ok(least - of_file <= LAUNCH_SYNCS,
       "a launch begins and ends with %d more that are brought to the disk",
       LAUNCH_SYNCS);
    ok(least_names - names_of_file <= LAUNCH_NAMES, "and %d names", LAUNCH_NAMES);
}

static int beside;

static int count_file(const char *path, const struct stat *st, int type,
                      struct FTW *where)
{
    (void)st;
    beside += type == FTW_F && strncmp(path + where->base, "ck.", 3) != 0;
    return 0;
}

/* Files below a directory that are not the program's. */
static int count_beside(const char *dir)
{
    beside = 0;
    if (nftw(dir, count_file, 16, FTW_PHYS) < 0)
        bail_out("cannot look through %s", dir);
    return beside;
}

int main(void)
{
    static struct vel_fs_ops ops;
    static struct vel_fs fs = {&ops};
    struct filelab lab;
    struct vel_err err = {0};
    int of_syncs[FILES], of_names[FILES];

    ops = *vel_fs_posix()->ops;
    ops.open = count_open;
    ops.unlink = count_unlink;
    ops.mkdir = count_mkdir;
    ops.rmdir = count_rmdir;
    ops.fsync = count_sync;
    ops.rename = count_rename;
    ops.link = count_link;
    filelab_init(&lab, "cost", 1, 1, "DATASET=ck PATTERN=ck.{step}\n");
    lab.fs = &fs;
    filelab_begin(&lab, "L1");
    for (int i = 0; i < FILES; i++) {
        int before = syncs, named = names;
        char name[32];

        snprintf(name, sizeof name, "ck.%d", i);
        if (filelab_write(&lab, 0, name, "some bytes", &err) < 0)
            bail_out("%s", err.text);
        filelab_drain(&lab);
        of_syncs[i] = syncs - before;
        of_names[i] = names - named;
    }
    filelab_end(&lab);
    is_int(filelab_published(&lab), FILES, "each file is a dataset on the prefix");
    note("the last: %d to the disk, %d names", usual(of_syncs + FILES / 2, FILES / 2),
         usual(of_names + FILES / 2, FILES / 2));
    ok(usual(of_syncs + FILES / 2, FILES / 2) <= SYNCS,
       "%d times something is brought to the disk for it at most", SYNCS);
    ok(usual(of_names + FILES / 2, FILES / 2) <= NAMES,
       "and %d names are made, changed or removed", NAMES);
    ok(usual(of_syncs + FILES / 2, FILES / 2) <= usual(of_syncs, FILES / 2) &&
           usual(of_names + FILES / 2, FILES / 2) <= usual(of_names, FILES / 2),
       "later ones cost no more than the first");
    ok(count_beside(lab.prefix) <= BESIDE && count_beside(lab.home[0]) <= BESIDE,
       "on the prefix and in the cache few files tell of all");
    note("%d on the prefix, %d in the cache", count_beside(lab.prefix),
         count_beside(lab.home[0]));
    count_launches(&lab, usual(of_syncs + FILES / 2, FILES / 2),
                   usual(of_names + FILES / 2, FILES / 2));
    filelab_fini(&lab);
    return done_testing();
}
