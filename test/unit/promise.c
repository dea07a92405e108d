/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "jobs/promise.h"
#include "meta/cache.h"
#include "record/record.h"
#include "tap/files.h"
#include "tap/sweep.h"
#include "tap/tap.h"

static char home[600], cache[500];

static int owe(struct vel_fs *fs, const char *dir, int rank, unsigned what,
               struct vel_err *err)
{
    return vel_promise_owe(fs, dir, 7, "n0", "L1", rank, what, err);
}

/* "rank:what" of all parts, and the launch; "" when there is no promise. */
static const char *owed(const char *dir)
{
    static char text[200];
    struct vel_promise p;

    text[0] = '\0';
    if (vel_promise_load(vel_fs_posix(), dir, "n0", &p, NULL) < 0)
        return text;
    for (size_t i = 0; i < p.part.n; i++) {
        const struct vel_promise_part *part = vel_vec_at(&p.part, i);

        snprintf(text + strlen(text), sizeof text - strlen(text), "%d:%u ", part->rank,
                 part->what);
    }
    snprintf(text + strlen(text), sizeof text - strlen(text), "%s", p.launch);
    vel_promise_fini(&p);
    return text;
}

static void owing(void)
{
    struct vel_fs *fs = vel_fs_posix();
    struct vel_err err = {0};

    is_str(owed(home), "", "at first nothing is owed");
    ok(owe(fs, home, 5, VEL_PROMISE_ENCODE, &err) == 0 &&
           owe(fs, home, 2, VEL_PROMISE_FLUSH, &err) == 0 &&
           owe(fs, home, 5, VEL_PROMISE_FLUSH, &err) == 0 &&
           owe(fs, home, 5, VEL_PROMISE_FLUSH, &err) == 0,
       "promises are made, and one is said again");
    is_str(owed(home), "2:2 5:3 L1", "they add up");
    ok(vel_promise_owe(fs, home, 7, "n0", "L2", 2, VEL_PROMISE_FLUSH, &err) == 0,
       "another launch takes them over");
    is_str(owed(home), "2:2 5:3 L2", "as they are");
    ok(vel_promise_keep(fs, home, "n0", -1, VEL_PROMISE_FLUSH, &err) == 0,
       "all flushes are kept");
    is_str(owed(home), "5:1 L2", "what is left is owed");
    ok(vel_promise_keep(fs, home, "n0", 5, VEL_PROMISE_ENCODE, &err) == 0 &&
           !vel_fs_exists(fs, tap_path("u/index.0/dataset.7/owed.n0")),
       "the record goes with the last of it");
    ok(vel_promise_keep(fs, home, "n0", -1, 3, &err) == 0, "and once more");
    is_int(vel_promise_owe(fs, home, 7, "a/b", "L", 0, 1, &err), VEL_EINVAL,
           "a node's name leads nowhere else");
}

static void failing(void)
{
    struct vel_fs *fs = vel_fs_posix();
    struct vel_promise p;
    struct vel_err err = {0}, why = {0};
    bool is_new = false;

    vel_fail(&why, VEL_ENOSPC, "the prefix is full: \xff");
    owe(fs, home, 1, VEL_PROMISE_FLUSH, &err);
    ok(vel_promise_failed(fs, home, "n0", &why, &is_new, &err) == 0 && is_new,
       "why it is not kept is kept");
    ok(vel_promise_failed(fs, home, "n0", &why, &is_new, &err) == 0 && !is_new,
       "and told once");
    ok(vel_promise_load(fs, home, "n0", &p, &err) == 0 && p.last.status == VEL_ENOSPC &&
           strcmp(p.last.text, why.text) == 0,
       "as it was said");
    vel_promise_fini(&p);
    vel_promise_keep(fs, home, "n0", -1, 3, &err);
}

/* A promise with one thing wrong. */
static void refused(const char *key, int64_t value, const char *what)
{
    struct vel_fs *fs = vel_fs_posix();
    struct vel_node *body = vel_node_object(), *list = vel_node_list(),
                    *part = vel_node_object();
    struct vel_promise p;
    struct vel_err err = {0};

    vel_node_set_int(part, "rank", strcmp(key, "rank") == 0 ? value : 1);
    vel_node_set_int(part, "what", strcmp(key, "what") == 0 ? value : 1);
    vel_node_append(list, part);
    vel_node_set_int(body, "dataset", strcmp(key, "dataset") == 0 ? value : 7);
    vel_node_set_name(body, "node", strcmp(key, "node") == 0 ? "other" : "n0");
    vel_node_set_name(body, "launch", "L");
    vel_node_adopt(body, "parts", list);
    if (strcmp(key, "status") == 0)
        vel_node_set_int(body, "status", value);
    vel_record_save(fs, tap_path("u/index.0/dataset.7/owed.n0"), "owed", 1, body, NULL);
    vel_node_destroy(body);
    is_int(vel_promise_load(fs, home, "n0", &p, &err), VEL_ECORRUPT, "%s is refused",
           what);
    is_int(owe(fs, home, 3, VEL_PROMISE_FLUSH, &err), 0,
           "and replaced by a new promise");
    vel_promise_keep(fs, home, "n0", -1, 3, &err);
}

static void scanning(void)
{
    struct vel_fs *fs = vel_fs_posix();
    struct vel_vec found;
    const struct vel_owing *o;
    struct vel_err err = {0};
    char other[600];

    vel_vec_init(&found, sizeof *o);
    snprintf(other, sizeof other, "%s/index.1/dataset.3", cache);
    vel_fs_make_dirs(fs, other, 0700, &err);
    tap_put_file(tap_path("u/index.1/dataset.3/map.0"), "x");
    tap_put_file(tap_path("u/index.0/dataset.7/map.1"), "x");
    vel_promise_owe(fs, other, 3, "n0", "L", 0, VEL_PROMISE_FLUSH, &err);
    vel_promise_owe(fs, other, 3, "n1", "L", 1, VEL_PROMISE_FLUSH, &err);
    owe(fs, home, 1, VEL_PROMISE_ENCODE, &err);
    tap_put_file(tap_path("u/index.0/dataset.7/owed.n9"), "torn");
    ok(vel_promises_scan(fs, cache, "n0", &found, &err) == 0 && found.n == 2,
       "what a node owes is found");
    o = found.items;
    ok(found.n == 2 && o[0].promise.id == 3 && o[1].promise.id == 7 &&
           strcmp(o[1].home, home) == 0,
       "the oldest dataset first");
    vel_promises_fini(&found);
    vel_vec_init(&found, sizeof *o);
    ok(vel_promises_scan(fs, cache, NULL, &found, &err) == 0 && found.n == 3,
       "and what all owe, without what is torn");
    vel_promises_fini(&found);
    ok(vel_cache_remove_part(fs, tap_path("u/index.1"), 3, 0, &err) == 0 &&
           !vel_fs_exists(fs, other),
       "with the last part of a dataset the promises for it go");
    vel_promise_keep(fs, home, "n0", -1, 3, &err);
}

/* --- what a crash leaves --- */

static void prepare(const char *dir, void *arg)
{
    (void)arg;
    if (owe(vel_fs_posix(), dir, 1, VEL_PROMISE_ENCODE, NULL) < 0)
        bail_out("cannot write in %s", dir);
}

static int more(struct vel_fs *fs, const char *dir, void *arg, struct vel_err *err)
{
    (void)arg;
    return owe(fs, dir, 1, VEL_PROMISE_FLUSH, err);
}

static enum sweep_state check(const char *dir, void *arg)
{
    const char *is = owed(dir);

    (void)arg;
    return strcmp(is, "1:3 L1") == 0   ? SWEEP_NEW
           : strcmp(is, "1:1 L1") == 0 ? SWEEP_OLD
                                       : SWEEP_BROKEN;
}

int main(void)
{
    const struct sweep sweep = {
        .name = "a promise", .prepare = prepare, .action = more, .check = check};

    snprintf(cache, sizeof cache, "%s", tap_path("u"));
    snprintf(home, sizeof home, "%s/index.0/dataset.7", cache);
    if (vel_fs_make_dirs(vel_fs_posix(), home, 0700, NULL) < 0)
        bail_out("cannot make %s", home);
    owing();
    failing();
    refused("rank", -1, "a rank below 0");
    refused("what", 0, "a promise of nothing");
    refused("what", 4, "a promise that nobody knows");
    refused("dataset", 0, "a dataset without an id");
    refused("node", 0, "another node's promise");
    refused("status", 999, "a failure that is none");
    scanning();
    sweep_run(&sweep);
    return done_testing();
}
