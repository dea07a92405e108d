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

static char launch[] = "l", prefix[600], dirs[2][700], path[700];
static struct vel_batches *ledger;
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
    static int64_t order;
    struct vel_err err = {0};
    char *made = NULL;

    if (rank == 0) {
        must(vel_batches_open(ledger, dirs[0], rank, "f.h5", &made, &err), &err);
        tap_put_file(made, "it");
        must(vel_batches_close(ledger, dirs[0], rank, "f.h5", ++order, 2, &err), &err);
        free(made);
    }
    must(vel_placeholders_close(all, file_of(rank), path, &maker, &err), &err);
}

/* A leader, the next one. */
static void lead(void)
{
    const struct vel_batches_of of = {.fs = vel_fs_posix(),
                                      .clock = vel_clock_system(),
                                      .home = prefix,
                                      .node = "n",
                                      .launch = launch};
    struct vel_err err = {0};

    must(vel_batches_create(&of, &ledger, &err), &err);
    must(vel_batches_adopt(ledger, &err), &err);
    all = vel_placeholders_create(&fs, &ledger, 1);
    must(vel_placeholders_load(all, &err), &err);
}

static void leave(void)
{
    vel_placeholders_destroy(all);
    vel_batches_destroy(ledger);
}

static void follow(void)
{
    leave();
    lead();
}

static void begin(const char *name)
{
    const struct vel_batch_key key = {
        .launch = launch, .template = launch, .step = launch, .generation = 1};
    struct vel_err err = {0};
    char *batch;

    snprintf(prefix, sizeof prefix, "%s/%s", tap_dir(), name);
    tap_fresh_dir(prefix);
    snprintf(path, sizeof path, "%s/f.h5", prefix);
    until.left = 0;
    until.is_over = false;
    lead();
    must(vel_batches_make(ledger, &key, 0, 0, &batch, &err), &err);
    snprintf(dirs[0], sizeof dirs[0], "%s", batch);
    snprintf(dirs[1], sizeof dirs[1], "%s/index.0/dataset.1", prefix);
    must(vel_fs_make_dirs(vel_fs_posix(), dirs[1], 0700, &err), &err);
    free(batch);
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
    vel_placeholders_forget(all, dirs[1], -1);
    is_int(vel_placeholders_last_at(all, path, &dir, &rank, &name, &err), VEL_ENOENT,
           "nor when it is in no cache any more");
    leave();
}

/* One is opened before another is closed; then a file of another node comes to the path
 * of both. */
static void closed_last(void)
{
    struct vel_err err = {0};
    char *dir = NULL, *name = NULL, other[800];
    int64_t rank = -1;

    begin("last");
    close_it(1);
    must(vel_placeholders_open(all, file_of(2), path, &err), &err);
    close_it(0);
    snprintf(other, sizeof other, "%s/.f.h5.other", prefix);
    tap_put_file(other, "of another node");
    must(vel_fs_rename(vel_fs_posix(), other, path, &err), &err);
    close_it(2);
    must(vel_placeholders_last_at(all, path, &dir, &rank, &name, &err), &err);
    is_int(rank, 2, "who has closed last has the newest, whoever has opened first");
    free(dir);
    free(name);
    leave();
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
        leave();
    } while (until.is_over);
    ok(n > 3, "what was closed before is published before each operation of a close");
    is_int(wrong, 0, "and what was closed has the name");
}

/* The last one of these directories where the name is, and nothing else. */
static bool is_newest_in(const char *base)
{
    char *dir = NULL, *name = NULL;
    int64_t rank;
    bool is = vel_placeholders_whose(all, path, &dir, &rank, &name, NULL) == 0 &&
              strcmp(strrchr(dir, '/') + 1, base) == 0;

    if (!is)
        note("it is that of %s", dir ? dir : "nobody");
    free(dir);
    free(name);
    return is;
}

/* A name is written twice, and a dataset that is sealed afterwards has a link to the
 * first version. */
static void linked_later(void)
{
    static char places[2][700];
    const struct vel_placeholder_file of[] = {{places[0], 0, "f.h5"},
                                              {places[1], 0, "f.h5"}};
    struct vel_err err = {0};

    begin("linked");
    for (int i = 0; i < 2; i++) {
        snprintf(places[i], sizeof places[i], "%s/index.0/dataset.%d", prefix, 9 + i);
        must(vel_fs_make_dirs(vel_fs_posix(), places[i], 0700, &err), &err);
    }
    must(vel_placeholders_set(all, &of[0], path, &maker, &err), &err);
    close_it(0);
    must(vel_placeholders_share(all, &of[0], &of[1], path, &err), &err);
    ok(is_newest_in("1"),
       "a link to an older version that is made later is no newer version");
    follow();
    ok(is_newest_in("1"), "nor is it for the next leader");
    vel_placeholders_forget(all, dirs[0], -1);
    ok(is_newest_in("dataset.10"), "of datasets the highest has the newest");
    leave();
}

/* The file is taken into its dataset; false: it is not this one that comes to its path.
 */
static bool publishes(const struct vel_placeholder_file *from)
{
    char home[700], temporary[800], *at = NULL;
    const struct vel_placeholder_file taken = {home, from->rank, from->name};
    enum vel_anchor_end end = VEL_ANCHOR_LEFT;
    struct vel_err err = {0};

    snprintf(home, sizeof home, "%s/index.0/dataset.2", prefix);
    snprintf(temporary, sizeof temporary, "%s/.f.h5.2", prefix);
    must(vel_fs_make_dirs(vel_fs_posix(), home, 0700, &err), &err);
    must(vel_placeholders_share(all, from, &taken, NULL, &err), &err);
    until.left = 0;
    must(vel_placeholders_hand_over(all, from, home, &err), &err);
    if (!until.is_over)
        publish();
    tap_put_file(temporary, "of rank 0");
    must(vel_placeholders_publish(all, &taken, 2, temporary, &end, &at, &err), &err);
    free(at);
    return end == VEL_ANCHOR_PUBLISHED;
}

/* Of three versions the first is published while the second is taken. */
static void taken(void)
{
    struct vel_err err = {0};
    int64_t wrong = 0, lost = 0, n = 0;
    enum vel_anchor_now now;
    char *at = NULL;

    do {
        begin("taken");
        close_it(1);
        close_it(0);
        must(vel_placeholders_set(all, file_of(2), path, &maker, &err), &err);
        until.left = (int)++n;
        wrong += !publishes(file_of(0));
        must(vel_placeholders_follow(all, file_of(2), &now, &at, &err), &err);
        lost += now != VEL_ANCHOR_STANDS;
        free(at);
        at = NULL;
        leave();
    } while (until.is_over);
    ok(n > 1, "what was closed before is published before each operation of a take");
    is_int(wrong, 0, "what is taken comes to its path");
    is_int(lost, 0, "and what was closed after it has the name");
}

/* A dataset has a link to a file that an older one has published. */
static void linked_published(void)
{
    const struct vel_placeholder_file newer = {dirs[1], 0, "f.h5"};
    enum vel_anchor_now now = VEL_ANCHOR_STANDS;
    char *at = NULL;
    struct vel_err err = {0};

    begin("published");
    tap_put_file(path, "somebody's");
    must(vel_placeholders_share(all, file_of(0), &newer, path, &err), &err);
    must(vel_placeholders_follow(all, &newer, &now, &at, &err), &err);
    ok(now == VEL_ANCHOR_UNLINKED,
       "what an older dataset has published is not published again");
    free(at);
    leave();
}

/* Whoever leads next knows what was said, and no more. */
static void told(void)
{
    struct vel_err err = {0};
    char moved[700], ledgers[700];

    begin("told");
    close_it(1);
    close_it(0);
    follow();
    is_int(whose(), 0, "the next leader knows whose a placeholder is");
    snprintf(moved, sizeof moved, "%s/g.h5", prefix);
    rename(path, moved);
    strcpy(path, moved);
    publish();
    is_int(whose(), 0,
           "and publishes an older file where it is, which is another's then");
    follow();
    is_int(whose(), 0, "and so it is for the one after it");
    vel_placeholders_forget(all, dirs[0], -1);
    follow();
    is_int(whose(), -1, "what is forgotten is nobody's");
    must(vel_placeholders_set(all, file_of(0), path, &maker, &err), &err);
    follow();
    is_int(whose(), 0, "what is said later counts, by whomever");
    must(vel_placeholders_open(all, file_of(0), path, &err), &err);
    follow();
    is_int(whose(), -1, "what is open again is no placeholder that is looked for");
    must(vel_placeholders_close(all, file_of(0), path, &maker, &err), &err);
    follow();
    is_int(whose(), 0, "when it is closed it is");
    leave();
    snprintf(ledgers, sizeof ledgers, "%s/ledger", prefix);
    ok(tap_damage(ledgers, "/g.h5") > 0, "then what is said of it is damaged");
    lead();
    is_int(whose(), -1, "and it is nobody's");
    leave();
}

static int is_over(void *arg, const char *name, bool *ret_is, struct vel_err *err)
{
    (void)arg, (void)name, (void)err;
    *ret_is = true;
    return 0;
}

/* A leader begins while another one works, and ends its launch later. */
static void heir(void)
{
    struct vel_batches_of of = {.fs = vel_fs_posix(),
                                .clock = vel_clock_system(),
                                .home = prefix,
                                .node = "n",
                                .launch = "heir"};
    struct vel_batches *ended;
    struct vel_placeholders *of_ended;
    struct vel_err err = {0};

    begin("heir");
    close_it(1);
    ended = ledger;
    of_ended = all;
    must(vel_batches_create(&of, &ledger, &err), &err);
    must(vel_batches_adopt(ledger, &err), &err);
    all = vel_placeholders_create(&fs, &ledger, 1);
    must(vel_placeholders_load(all, &err), &err);
    is_int(whose(), 1, "of several leaders all know whose a placeholder is");
    for (int i = 0; i < 5; i++)
        must(vel_placeholders_close(of_ended, file_of(1), path, &maker, &err), &err);
    must(vel_batches_take_over(ledger, is_over, NULL, &err), &err);
    vel_placeholders_forget(all, dirs[1], -1);
    vel_placeholders_destroy(of_ended);
    vel_batches_destroy(ended);
    follow();
    is_int(whose(), -1, "what the heir says counts, however much was said before");
    leave();
}

int main(void)
{
    ops = *vel_fs_posix()->ops;
    ops.open = count_open;
    ops.fstat = count_fstat;
    ops.lstat = count_lstat;
    older();
    closed_last();
    newer();
    linked_later();
    taken();
    linked_published();
    told();
    heir();
    return done_testing();
}
