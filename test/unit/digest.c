/* SPDX-License-Identifier: BSD-3-Clause */
/* What launches say that are over and marked is read from one file; never what they do
 * not say any more, and never of one that is not marked. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "meta/ids.h"
#include "meta/launch.h"
#include "meta/terms.h"
#include "tap/digestlab.h"
#include "tap/tap.h"

static const char all[] = DIGESTLAB_ALL;
static struct vel_err err;

static void must(int rc)
{
    if (rc < 0)
        bail_out("%s", err.text);
}

static void kept(void)
{
    digestlab_make();
    is_str(digestlab_hear(true), all, "who begins first reads all ledgers");
    ok(digestlab.reads >= 3 * DIGESTLAB_LAUNCHES, "each of them: %d", digestlab.reads);
    is_str(digestlab_hear(true), all, "then it is there");
    is_int(digestlab.reads, 0, "and who begins opens and lists nothing of any launch");
}

static void said_since(void)
{
    struct vel_index *old;

    digestlab_make();
    digestlab_hear(true);
    old = digestlab_begin();
    is_str(digestlab_tell(old), all, "one has begun");
    digestlab_save(7, VEL_ON_REMOVING);
    is_str(digestlab_tell(old), "10 9 8 7? 6 5 4 3 2 1 ",
           "it hears what others say then");
    is_str(digestlab_hear(true), "10 9 8 7? 6 5 4 3 2 1 ", "and so does who begins");
    ok(digestlab.reads > 0 && digestlab.reads <= 5, "which reads that ledger alone: %d",
       digestlab.reads);
    digestlab_forget(7);
    is_str(digestlab_tell(old), "10 9 8 6 5 4 3 2 1 ", "one that is gone is gone");
    is_str(digestlab_hear(true), "10 9 8 6 5 4 3 2 1 ", "for all");
    is_str(digestlab_hear(true), "10 9 8 6 5 4 3 2 1 ", "also when the digest says so");
    is_int(digestlab.reads, 0, "without reading");
    digestlab_save(2, VEL_ON_REMOVING);
    digestlab_hear(true);
    is_str(digestlab_hear(false), "10 9 8 6 5 4 3 2? 1 ",
           "of one launch the last line counts");
    vel_index_close(old);
}

/* Who has many questions hears the same until he goes on; but of one launch what he has
 * said himself. */
static void stands_still(void)
{
    struct vel_index *index;

    digestlab_make();
    digestlab_hear(true);
    index = digestlab_begin();
    vel_index_stand_still(index);
    is_str(digestlab_tell(index), all, "one has many questions");
    digestlab_save(7, VEL_ON_REMOVING);
    digestlab_save(9, VEL_ON_REMOVING);
    is_str(digestlab_tell(index), all, "and hears nothing new meanwhile");
    vel_index_look_anew(index, "L2");
    is_str(digestlab_tell(index), "10 9 8 7? 6 5 4 3 2 1 ",
           "but of a launch of which he has said it");
    vel_index_go_on(index);
    is_str(digestlab_tell(index), "10 9? 8 7? 6 5 4 3 2 1 ", "and all then");
    vel_index_close(index);
}

/* Directories and ledgers do not change their times: as on file systems that take the
 * clocks of clients, or whole seconds. */
static int lstat_timeless(struct vel_fs *fs, const char *path, struct stat *ret)
{
    int rc = vel_fs_posix()->ops->lstat(vel_fs_posix(), path, ret);

    (void)fs;
    if (strstr(path, "/launch."))
        ret->st_mtim = ret->st_ctim = (struct timespec){.tv_sec = 1000};
    return rc;
}

static void grow(const char *ledger)
{
    char path[600];
    FILE *file;

    snprintf(path, sizeof path, "%s/%s", digestlab.dir, ledger);
    file = fopen(path, "r+");
    if (!file || fseek(file, 0, SEEK_END) < 0 || fputs("half a line", file) < 0)
        bail_out("%s cannot be written", path);
    fclose(file);
}

static void timeless(void)
{
    digestlab_make();
    digestlab.ops.lstat = lstat_timeless;
    digestlab_hear(true);
    is_str(digestlab_hear(true), all, "where times tell nothing it is there, too");
    is_int(digestlab.reads, 0, "without reading");
    digestlab_save(7, VEL_ON_REMOVING);
    is_str(digestlab_hear(true), "10 9 8 7? 6 5 4 3 2 1 ",
           "and what is said since is heard");
    digestlab_hear(true);
    grow("launch.L3/1.1");
    is_str(digestlab_hear(true), "10 9 8 7? 6 5 4 3 2 1 ",
           "who has something more in its term");
    ok(digestlab.reads > 0 && digestlab.reads <= 4, "is read: %d", digestlab.reads);
    digestlab_save(7, VEL_ON_PREFIX);
    digestlab_save(7, VEL_ON_REMOVING);
    digestlab_save(7, VEL_ON_STAGED);
    is_str(digestlab_hear(true), "10 9 8 7? 6 5 4 3 2 1 ", "however often");
}

static void other_launches(void)
{
    char *dir;

    digestlab_make();
    dir = vel_launch_dir(digestlab.dir, "L3");
    digestlab_hear(true);
    digestlab_remove("L3");
    is_str(digestlab_hear(true), "10 9 7 6 5 4 2 1 ",
           "a launch that is removed says nothing");
    must(vel_fs_make_dirs(vel_fs_posix(), dir, 0700, &err));
    is_str(digestlab_hear(true), "10 9 7 6 5 4 2 1 ", "nor does one that has its name");
    digestlab_save(3, VEL_ON_PREFIX);
    is_str(digestlab_hear(true), "10 9 7 6 5 4 3 2 1 ", "before it says something");
    digestlab_hear(true);
    digestlab_hear(true);
    ok(digestlab.reads >= 2, "one that is not marked is read each time: %d",
       digestlab.reads);
    digestlab_mark("L3");
    is_str(digestlab_hear(true), "10 9 7 6 5 4 3 2 1 ", "and marked it is kept");
    digestlab_hear(true);
    is_int(digestlab.reads, 0, "like the others");
    free(dir);
}

static char *maker_of(struct vel_index *index, int64_t id)
{
    char *launch = NULL;

    must(vel_index_maker(index, id, &launch, NULL, &err));
    return launch;
}

static void is_maker(struct vel_index *index, const char *want, const char *what)
{
    char *launch = maker_of(index, 5);

    is_str(launch, want, "%s", what);
    free(launch);
}

/* An id whose block has gone with its launch may be claimed by another one. */
static void other_makers(void)
{
    struct vel_index *old, *index;

    digestlab_make();
    digestlab_hear(true);
    old = digestlab_begin();
    digestlab_tell(old);
    is_maker(old, "L0", "a dataset is its launch's");
    digestlab_remove("L0");
    digestlab_give(5, "B");
    is_str(digestlab_hear(true), "9 8 7 6 4 3 2 1 5=B ",
           "it is another's who has claimed it since");
    index = digestlab_begin();
    is_maker(index, "B", "who asks for that one alone hears so");
    digestlab_tell(index);
    is_maker(index, "B", "also when he has asked for all");
    vel_index_close(index);
    is_str(digestlab_tell(old), "9 8 7 6 4 3 2 1 5=B ", "so does who knew it before");
    is_maker(old, "B", "in all ways");
    vel_index_close(old);
    digestlab_save(10, VEL_ON_PREFIX);
    digestlab_mark("L0");
    is_str(digestlab_hear(true), "10 9 8 7 6 4 3 2 1 5=B ",
           "and it stays so when the launch is there again");
}

static bool is_over(struct vel_index *index, const char *launch)
{
    bool is = true;

    must(vel_index_is_over(index, launch, &is, &err));
    return is;
}

/* Names of launches come again. */
static void lives_again(void)
{
    const struct vel_terms_self self = {"L3", "node"};
    char *dir;
    struct vel_ledger *term = NULL;
    struct vel_index *old, *index;
    struct vel_vec blocks;
    bool is_first;

    digestlab_make();
    digestlab.ops.lstat = lstat_timeless;
    dir = vel_launch_dir(digestlab.dir, "L3");
    digestlab_hear(true);
    old = digestlab_begin();
    digestlab_tell(old);
    ok(is_over(old, "L3"), "a launch is over");
    digestlab_remove("L3");
    digestlab_tell(old);
    must(vel_fs_make_dirs(vel_fs_posix(), dir, 0700, &err));
    must(vel_terms_claim(vel_fs_posix(), dir, 1, &self, &term, &is_first, &err));
    ok(!is_over(old, "L3"), "the next one of its name is not, for who knew it");
    index = digestlab_begin();
    ok(!is_over(index, "L3"), "nor for who begins");
    digestlab_tell(index);
    ok(!is_over(index, "L3"), "and has read all");
    vel_index_close(index);
    index = digestlab_begin();
    must(vel_index_blocks(index, &blocks, &err));
    vel_ids_list_fini(&blocks);
    ok(!is_over(index, "L3"), "or the blocks alone");
    vel_index_close(index);
    vel_index_close(old);
    vel_ledger_close(term);
    free(dir);
}

static ssize_t fail_append(struct vel_fs *fs, int fd, const void *buf, size_t len)
{
    (void)fs;
    return vel_fs_posix()->ops->append(vel_fs_posix(), fd, buf, len / 2) < 0 ? -EIO
                                                                             : -ENOSPC;
}

/* On a disk that is full for a while. */
static void written_later(void)
{
    struct vel_index *index;

    digestlab_make();
    index = digestlab_begin();
    digestlab_tell(index);
    digestlab.ops.append = fail_append;
    vel_index_digest(index);
    digestlab.ops.append = vel_fs_posix()->ops->append;
    vel_index_digest(index);
    vel_index_close(index);
    is_str(digestlab_hear(true), all, "what could not be written all is the same");
    is_int(digestlab.reads, 0, "and is written later");
}

int main(void)
{
    kept();
    said_since();
    stands_still();
    timeless();
    other_launches();
    other_makers();
    lives_again();
    written_later();
    return done_testing();
}
