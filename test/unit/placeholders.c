/* SPDX-License-Identifier: BSD-3-Clause */
/* Several ranks of a node write one file in turn, while what one of them has closed
 * comes to its path: what is found there is the newest that was closed, whenever that
 * comes. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "jobs/placeholders.h"
#include "tap/files.h"
#include "tap/tap.h"

static char prefix[600], dirs[2][700], path[700];
static struct vel_placeholders *all;
static struct vel_fs_ops ops;
static struct vel_fs fs = {&ops};
static const struct vel_stub_maker maker = {.launch = "l", .drafts = prefix};

static const struct vel_placeholder_file *file_of(int64_t rank)
{
    static struct vel_placeholder_file files[3];

    files[rank] = (struct vel_placeholder_file){dirs[rank == 1], rank, "f.h5"};
    return &files[rank];
}

static void must(int rc, const struct vel_err *err)
{
    if (rc < 0)
        bail_out("%s", err->text);
}

/* What rank 1 has closed is of a dataset: it comes to its path. */
static void publish(void)
{
    struct vel_err err = {0};
    enum vel_anchor_end end;
    char temporary[800], *at = NULL;

    snprintf(temporary, sizeof temporary, "%s/.f.h5.tmp", prefix);
    tap_put_file(temporary, "of rank 1");
    must(vel_placeholders_publish(all, file_of(1), 1, temporary, &end, &at, &err),
         &err);
    if (end != VEL_ANCHOR_PUBLISHED || strcmp(at, path) != 0)
        bail_out("it is not published");
    free(at);
}

/* --- before operation n of who closes --- */

static struct {
    ino_t inode; /* of the placeholder */
    int left;
    bool is_over;
} until;

static void count(void)
{
    if (until.left > 0 && --until.left == 0) {
        publish();
        until.is_over = true;
    }
}

/* Of the path alone: records are written with the lock. */
static int count_open(struct vel_fs *self, const char *name, int flags, mode_t mode)
{
    if (strcmp(name, path) == 0)
        count();
    return vel_fs_posix()->ops->open(self, name, flags, mode);
}

static int count_lstat(struct vel_fs *self, const char *name, struct stat *ret)
{
    if (strcmp(name, path) == 0)
        count();
    return vel_fs_posix()->ops->lstat(self, name, ret);
}

static int count_fstat(struct vel_fs *self, int fd, struct stat *ret)
{
    int rc = vel_fs_posix()->ops->fstat(self, fd, ret);

    if (rc == 0 && ret->st_ino == until.inode) {
        count();
        rc = vel_fs_posix()->ops->fstat(self, fd, ret);
    }
    return rc;
}

/* --- the table --- */

static void close_it(int64_t rank)
{
    struct vel_err err = {0};

    must(vel_placeholders_close(all, file_of(rank), path, &maker, &err), &err);
}

static void begin(const char *name)
{
    tap_fresh_dir(name);
    snprintf(prefix, sizeof prefix, "%s/%s", tap_dir(), name);
    snprintf(path, sizeof path, "%s/f.h5", prefix);
    for (int i = 0; i < 2; i++) {
        snprintf(dirs[i], sizeof dirs[i], "%s/%s", prefix,
                 i == 0 ? "1.0/1" : "dataset.1");
        vel_fs_make_dirs(vel_fs_posix(), dirs[i], 0700, NULL);
    }
    until.left = 0;
    until.is_over = false;
    all = vel_placeholders_create(&fs);
}

/* Whose is what stands at the path? -1: nobody's here. */
static int64_t whose(void)
{
    char *dir = NULL, *name = NULL;
    int64_t rank = -1;

    if (vel_placeholders_whose(all, path, &dir, &rank, &name, NULL) < 0)
        return -1;
    free(dir);
    free(name);
    return rank;
}

static void older(void)
{
    struct vel_err err = {0};
    char *dir = NULL, *name = NULL;
    int64_t rank;

    begin("older");
    close_it(0);
    close_it(1);
    is_int(whose(), 1, "who has closed it last has it");
    publish();
    is_int(whose(), -1,
           "so when that is at its path, which is no file of who had it before");
    must(vel_placeholders_forget(all, dirs[1], -1, &err), &err);
    is_int(vel_placeholders_last_at(all, path, &dir, &rank, &name, &err), VEL_ENOENT,
           "nor when it is in no cache any more");
    vel_placeholders_destroy(all);
}

static void newer(void)
{
    struct vel_err err = {0};
    int64_t wrong = 0, n = 0;
    struct stat st;

    do {
        begin("newer");
        close_it(0);
        close_it(1);
        must(vel_placeholders_open(all, file_of(2), path, &err), &err);
        if (stat(path, &st) < 0)
            bail_out("there is no placeholder");
        until.inode = st.st_ino;
        until.left = (int)++n;
        close_it(2);
        until.left = 0;
        if (!until.is_over)
            publish();
        wrong += whose() != 2;
        vel_placeholders_destroy(all);
    } while (until.is_over);
    ok(n > 3, "what was closed before is published before each operation of a close");
    is_int(wrong, 0, "and what was closed has the name");
}

int main(void)
{
    ops = *vel_fs_posix()->ops;
    ops.open = count_open;
    ops.fstat = count_fstat;
    ops.lstat = count_lstat;
    older();
    newer();
    return done_testing();
}
