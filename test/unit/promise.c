/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "jobs/promise.h"
#include "meta/cache.h"
#include "tap/batchlab.h"
#include "tap/files.h"
#include "tap/sweep.h"
#include "tap/tap.h"

static char home[700];
static struct vel_err err;

static void must(int rc)
{
    batchlab_must(rc, &err);
}

/* "what, of which ranks" and the launch; "" when there is no promise. */
static const char *text_of(const struct vel_promise *p)
{
    static char text[300];
    struct vel_buf ranks;

    vel_buf_init(&ranks);
    vel_buf_puts(&ranks, "encode ");
    vel_ranges_put(&p->encode, &ranks);
    vel_buf_puts(&ranks, ", flush ");
    vel_ranges_put(&p->flush, &ranks);
    snprintf(text, sizeof text, "%s for %s", vel_buf_text(&ranks), p->launch);
    vel_buf_fini(&ranks);
    return text;
}

static const char *owed(struct vel_batches *ledger)
{
    struct vel_promise promise;
    const char *text;
    int rc = vel_promise_find(ledger, home, &promise, &err);

    if (rc == VEL_ENOENT)
        return "";
    must(rc);
    text = text_of(&promise);
    vel_promise_fini(&promise);
    return text;
}

/* As whoever reads the cache finds it. */
static const char *read_owed(const char *cache, const char *node)
{
    struct vel_vec found;
    const char *text = "";

    vel_vec_init(&found, sizeof(struct vel_promise));
    must(vel_promises_scan(vel_fs_posix(), cache, node, &found, &err));
    if (found.n == 1)
        text = text_of(vel_vec_at(&found, 0));
    else if (found.n > 1)
        text = "several";
    vel_promises_fini(&found);
    return text;
}

static void fresh(const char *name)
{
    batchlab_fresh(name);
    snprintf(home, sizeof home, "%s/index.0/dataset.7", batchlab_home);
    must(vel_fs_make_dirs(vel_fs_posix(), home, 0700, &err));
}

static void owing(void)
{
    struct vel_batches *ledger, *next;

    fresh("owing");
    ledger = batchlab_begin("L1");
    is_str(owed(ledger), "", "at first nothing is owed");
    ok(vel_promise_owe(ledger, home, "L1", 5, VEL_PROMISE_ENCODE, &err) == 0 &&
           vel_promise_owe(ledger, home, "L1", 2, VEL_PROMISE_FLUSH, &err) == 0 &&
           vel_promise_owe(ledger, home, "L1", 5, VEL_PROMISE_FLUSH, &err) == 0 &&
           vel_promise_owe(ledger, home, "L1", 5, VEL_PROMISE_FLUSH, &err) == 0 &&
           vel_promise_owe(ledger, home, "L1", 3, VEL_PROMISE_FLUSH, &err) == 0,
       "promises are made, and one is said again");
    is_str(owed(ledger), "encode 5, flush 2-3 5 for L1", "they add up");
    is_str(read_owed(batchlab_home, "n1"), "encode 5, flush 2-3 5 for L1",
           "whoever reads the cache finds them");
    is_str(read_owed(batchlab_home, "n2"), "", "and whose they are");
    next = batchlab_adopt("L1");
    is_str(owed(next), "encode 5, flush 2-3 5 for L1", "so does the next leader");
    ok(vel_promise_owe(next, home, "L2", 2, VEL_PROMISE_FLUSH, &err) == 0,
       "another launch takes them over");
    is_str(owed(next), "encode 5, flush 2-3 5 for L2", "as they are");
    ok(vel_promise_keep(next, home, -1, VEL_PROMISE_FLUSH, &err) == 0,
       "all flushes are kept");
    is_str(owed(next), "encode 5, flush  for L2", "what is left is owed");
    ok(vel_promise_keep(next, home, 5, VEL_PROMISE_ENCODE, &err) == 0 && !*owed(next) &&
           !*read_owed(batchlab_home, NULL),
       "and nothing when that is done");
    ok(vel_promise_keep(next, home, -1, 3, &err) == 0, "and once more");
    is_int(vel_promise_owe(next, tap_path("elsewhere"), "L", 0, 1, &err), VEL_EINVAL,
           "nothing is owed in another place");
    vel_batches_destroy(ledger);
    vel_batches_destroy(next);
}

/* Of a launch that is over, by a leader that is not its heir. */
static void others(void)
{
    struct vel_batches *old, *heir, *beside;

    fresh("others");
    old = batchlab_begin("L1");
    must(vel_promise_owe(old, home, "L1", 1, 3, &err));
    vel_batches_destroy(old);
    heir = batchlab_adopt("L2");
    must(vel_promise_owe(heir, home, "L2", 1, 3, &err));
    beside = batchlab_adopt("L3");
    is_str(owed(beside), "encode 1, flush 1 for L2", "what others owe is known");
    must(vel_promise_keep(beside, home, 1, 3, &err));
    is_str(read_owed(batchlab_home, NULL), "", "and can be taken back");
    vel_batches_destroy(heir);
    vel_batches_destroy(beside);
}

static void failing(void)
{
    struct vel_batches *ledger;
    struct vel_promise p;
    struct vel_err why = {0};
    bool is_new = false;

    fresh("failing");
    ledger = batchlab_begin("L");
    vel_fail(&why, VEL_ENOSPC, "the prefix is full: \xff\n");
    is_int(vel_promise_failed(ledger, home, &why, &is_new, &err), VEL_ENOENT,
           "what nobody owes does not fail");
    must(vel_promise_owe(ledger, home, "L", 1, VEL_PROMISE_FLUSH, &err));
    ok(vel_promise_failed(ledger, home, &why, &is_new, &err) == 0 && is_new,
       "why it is not kept is kept");
    ok(vel_promise_failed(ledger, home, &why, &is_new, &err) == 0 && !is_new,
       "and told once");
    must(vel_promise_owe(ledger, home, "L", 2, VEL_PROMISE_FLUSH, &err));
    must(vel_promise_find(ledger, home, &p, &err));
    ok(p.last.status == VEL_ENOSPC && strcmp(p.last.text, why.text) == 0,
       "as it was said");
    vel_promise_fini(&p);
    vel_batches_destroy(ledger);
}

static bool is_faulty;

static int list_fails(struct vel_fs *self, const char *path, struct vel_vec *ret)
{
    (void)self;
    return is_faulty ? -EIO : vel_fs_posix()->ops->list(vel_fs_posix(), path, ret);
}

static ssize_t no_room(struct vel_fs *self, int fd, const void *bytes, size_t len,
                       off_t at)
{
    (void)self;
    return is_faulty ? -ENOSPC
                     : vel_fs_posix()->ops->pwrite(vel_fs_posix(), fd, bytes, len, at);
}

/* A cache that cannot be read, or written, for a moment. */
static void faults(void)
{
    struct vel_fs_ops ops = *vel_fs_posix()->ops;
    struct vel_fs fs = {&ops};
    struct vel_batches *ledger, *next;
    struct vel_promise promise;
    int rc;

    fresh("faults");
    ledger = batchlab_begin("L1");
    must(vel_promise_owe(ledger, home, "L1", 1, 3, &err));
    vel_batches_destroy(ledger);
    ops.list = list_fails;
    ops.pwrite = no_room;
    next = batchlab_begin_on(&fs, "n1", "L1");
    is_faulty = true;
    ok(vel_batches_adopt(next, &err) < 0, "a leader cannot read what was owed");
    rc = vel_promise_find(next, home, &promise, &err);
    ok(rc < 0 && rc != VEL_ENOENT, "and does not say that nothing is: %s", err.text);
    is_faulty = false;
    is_str(owed(next), "encode 1, flush 1 for L1", "when it can it knows");
    is_faulty = true;
    ok(vel_promise_keep(next, home, 1, 3, &err) == 0 && !*owed(next),
       "what is kept is kept, though the cache is full");
    is_faulty = false;
    must(vel_promise_owe(next, home, "L1", 2, 1, &err));
    is_str(read_owed(batchlab_home, "n1"), "encode 2, flush  for L1",
           "and is said when there is room");
    vel_batches_destroy(next);
}

/* A promise with one thing wrong. */
static void refused(const char *dir, const char *encode, const char *what)
{
    char *no_text = (char[]){""};
    struct vel_fact fact = {.kind = VEL_FACT_OWES,
                            .u.owes = {.dir = (char *)(uintptr_t)dir,
                                       .node = (char[]){"n1"},
                                       .launch = (char[]){"L"},
                                       .encode = (char *)(uintptr_t)encode,
                                       .flush = no_text,
                                       .text = no_text}};
    struct vel_batches *ledger;

    fresh("refused");
    ledger = batchlab_begin("L");
    must(vel_batches_note(ledger, fact, true, &err));
    is_str(read_owed(batchlab_home, NULL), "", "%s is no promise", what);
    must(vel_promise_owe(ledger, home, "L", 3, VEL_PROMISE_FLUSH, &err));
    is_str(read_owed(batchlab_home, NULL), "encode , flush 3 for L",
           "and makes way for one");
    vel_batches_destroy(ledger);
}

static void scanning(void)
{
    struct vel_batches *ledger, *of_other;
    const struct vel_promise *p;
    struct vel_vec found;
    char other[700], *path;

    fresh("scanning");
    snprintf(other, sizeof other, "%s/index.1/dataset.3", batchlab_home);
    path = vel_path_join(other, "rank.0");
    must(vel_fs_make_dirs(vel_fs_posix(), path, 0700, &err));
    free(path);
    ledger = batchlab_begin("L");
    of_other = batchlab_begin_on(vel_fs_posix(), "n2", "L");
    must(vel_promise_owe(ledger, home, "L", 1, VEL_PROMISE_ENCODE, &err));
    must(vel_promise_owe(ledger, other, "L", 0, VEL_PROMISE_FLUSH, &err));
    must(vel_promise_owe(of_other, other, "L", 1, VEL_PROMISE_FLUSH, &err));
    vel_vec_init(&found, sizeof *p);
    must(vel_promises_list(ledger, &found, &err));
    p = found.items;
    ok(found.n == 2 && p[0].id == 3 && strcmp(p[0].home, other) == 0 && p[1].id == 7 &&
           strcmp(p[1].home, home) == 0,
       "what a node owes is found, the oldest dataset first");
    vel_promises_fini(&found);
    vel_vec_init(&found, sizeof *p);
    ok(vel_promises_scan(vel_fs_posix(), batchlab_home, NULL, &found, &err) == 0 &&
           found.n == 3,
       "and what all owe");
    vel_promises_fini(&found);
    path = vel_path_dir(other);
    ok(vel_cache_remove_part(vel_fs_posix(), path, 3, 0, &err) == 0 &&
           strcmp(read_owed(batchlab_home, NULL), "encode 1, flush  for L") == 0,
       "with the last part of a dataset the promises for it go");
    free(path);
    vel_batches_destroy(ledger);
    vel_batches_destroy(of_other);
}

/* --- what a crash leaves --- */

static struct vel_batches *begin_in(struct vel_fs *fs, const char *dir)
{
    snprintf(batchlab_home, sizeof batchlab_home, "%s", dir);
    snprintf(home, sizeof home, "%s/index.0/dataset.7", dir);
    return batchlab_begin_on(fs, "n1", "L1");
}

static void prepare(const char *dir, void *arg)
{
    struct vel_batches *ledger = begin_in(vel_fs_posix(), dir);

    (void)arg;
    must(vel_fs_make_dirs(vel_fs_posix(), home, 0700, &err));
    must(vel_promise_owe(ledger, home, "L1", 1, VEL_PROMISE_ENCODE, &err));
    vel_batches_destroy(ledger);
}

static int more(struct vel_fs *fs, const char *dir, void *arg, struct vel_err *ret)
{
    struct vel_batches *ledger = begin_in(fs, dir);
    int rc = vel_batches_adopt(ledger, ret);

    (void)arg;
    if (rc == 0)
        rc = vel_promise_owe(ledger, home, "L1", 1, VEL_PROMISE_FLUSH, ret);
    vel_batches_destroy(ledger);
    return rc;
}

static enum sweep_state check(const char *dir, void *arg)
{
    const char *is = read_owed(dir, "n1");

    (void)arg;
    return strcmp(is, "encode 1, flush 1 for L1") == 0  ? SWEEP_NEW
           : strcmp(is, "encode 1, flush  for L1") == 0 ? SWEEP_OLD
                                                        : SWEEP_BROKEN;
}

int main(void)
{
    const struct sweep sweep = {
        .name = "a promise", .prepare = prepare, .action = more, .check = check};

    owing();
    others();
    failing();
    faults();
    refused("index.0/dataset.7", "1 0", "what has ranks in no order");
    refused("index.0/dataset.7", "99999999999", "what has a rank that is none");
    refused("index.0/../dataset.7", "1", "what leads elsewhere");
    refused("1.0/1", "1", "what is of no dataset");
    scanning();
    sweep_run(&sweep);
    return done_testing();
}
