/* SPDX-License-Identifier: BSD-3-Clause */
/* The ledger of a launch: chairs follow each other, and one end is for good, whoever is
 * held up at what. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "meta/launch.h"
#include "meta/terms.h"
#include "tap/files.h"
#include "tap/tap.h"

static struct vel_fs *fs;
static char dir[300], launch_dir[320];
static struct vel_err err;
static bool is_first; /* the last claim */

static void fresh(const char *name)
{
    fs = vel_fs_posix();
    snprintf(dir, sizeof dir, "%s", tap_path(name));
    snprintf(launch_dir, sizeof launch_dir, "%s/launch.L", dir);
    tap_fresh_dir(dir);
    tap_fresh_dir(launch_dir);
}

static int claim(int64_t term, const char *node, struct vel_ledger **ret)
{
    const struct vel_terms_self self = {.launch = "L", .node = node};

    *ret = NULL;
    return vel_terms_claim(fs, launch_dir, term, &self, ret, &is_first, &err);
}

static int go_on(int64_t term, const char *node, struct vel_ledger **ret)
{
    const struct vel_terms_self self = {.launch = "L", .node = node};

    *ret = NULL;
    return vel_terms_go_on(fs, launch_dir, term, &self, ret, &err);
}

static int end_by(const char *launch, struct vel_ledger *own, bool *ret_is_mine)
{
    const struct vel_terms_self self = {.launch = launch, .node = "n9"};

    return vel_terms_end(fs, launch_dir, &self, own, ret_is_mine, &err);
}

static bool is_over(void)
{
    bool is = false;

    is_int(vel_launch_is_over(fs, dir, "L", &is, &err), 0, "it can be told");
    return is;
}

/* "CHAIR NODE" */
static const char *newest(void)
{
    static char text[80];
    int64_t term = -1;
    char *node;

    if (vel_terms_chair(fs, launch_dir, &term, &node, &err) < 0)
        return err.text;
    snprintf(text, sizeof text, "%lld %s", (long long)term, node ? node : "-");
    free(node);
    return text;
}

static void chairs(void)
{
    struct vel_ledger *first, *second, *none;
    bool is_mine;

    fresh("chairs");
    is_str(newest(), "0 -", "a launch has no chair");
    ok(!is_over(), "and is not over");
    is_int(claim(1, "n0", &first), 0, "a leader claims the first term");
    ok(is_first, "of all");
    is_int(claim(1, "n1", &none), VEL_EEXIST, "which no other has then");
    is_str(newest(), "1 n0", "it is the chair");
    is_int(claim(2, "n1", &second), 0, "another claims the next");
    ok(!is_first, "which is not the first");
    is_int(vel_ledger_look(first, &err), VEL_ECANCEL, "who had the first is none now");
    is_int(vel_ledger_look(second, &err), 0, "who has the second is");
    is_int(end_by("L", second, &is_mine), 0, "and ends the launch");
    ok(is_mine && is_over(), "which is over");
    is_int(end_by("M", NULL, &is_mine), 0, "another launch ends it");
    ok(!is_mine, "and hears that it was over");
    is_int(claim(3, "n0", &none), VEL_ECANCEL, "nobody is its chair any more");
    ok(is_over(), "whoever tries that");
    vel_ledger_close(first);
    vel_ledger_close(second);
}

static void ended(void)
{
    struct vel_ledger *chair;
    bool is_mine;

    fresh("ended");
    is_int(claim(1, "n0", &chair), 0, "a launch has a chair");
    is_int(end_by("M", NULL, &is_mine), 0, "another launch ends it");
    ok(is_mine && is_over(), "it is over");
    is_str(newest(), "1 n0", "and has had this chair");
    is_int(vel_ledger_look(chair, &err), VEL_ECANCEL, "its chair finds that");
    is_int(end_by("L", chair, &is_mine), 0, "and may say so as well");
    ok(!is_mine && is_over(), "in vain");
    vel_ledger_close(chair);
    fresh("never");
    is_int(end_by("M", NULL, &is_mine), 0, "one that never had a chair is ended, too");
    ok(is_mine && is_over(), "for good");
    is_int(claim(1, "n0", &chair), VEL_ECANCEL, "and gets none");
    ok(is_over(), "whoever tries that");
}

/* Whoever was ending it died after its claim. */
static void half_ended(void)
{
    const struct vel_ledger_dir ledgers = {.fs = fs, .path = launch_dir};
    const struct vel_ledger_self ender = {.node = "n9", .address = "other 1 n0"};
    struct vel_ledger *chair, *dead, *next;
    bool is_mine;

    fresh("half");
    is_int(claim(1, "n0", &chair), 0, "a launch has a chair");
    is_int(
        vel_ledger_claim(&ledgers, (struct vel_ledger_name){1, 1}, &ender, &dead, &err),
        0, "another launch is about to end it, and dies");
    ok(!is_over(), "it is not over");
    is_str(newest(), "1 n0", "and its chair is the same");
    is_int(vel_ledger_look(chair, &err), VEL_ECANCEL, "which cannot write any more");
    is_int(go_on(1, "n0", &next), 0, "and goes on in another term");
    is_str(newest(), "1 n0", "as the same chair");
    is_int(end_by("M", NULL, &is_mine), 0, "and it can be ended");
    ok(is_mine && is_over(), "all the same");
    vel_ledger_close(chair);
    vel_ledger_close(dead);
    vel_ledger_close(next);
}

/* A leader of the launch has claimed a term, and read what counts, before it was ended;
 * one of another launch does no harm so. */
static void unsure(void)
{
    static const char *const addresses[] = {"chair 2 n1", "leader 1 n0", "other 1 n0"};
    const struct vel_ledger_dir ledgers = {.fs = fs, .path = launch_dir};
    struct vel_ledger *chair, *slow;
    bool is_mine, is;

    for (int i = 0; i < 3; i++) {
        const struct vel_ledger_self self = {.node = "n1", .address = addresses[i]};

        fresh("unsure");
        is_int(claim(1, "n0", &chair), 0, "a launch has a chair");
        is_int(end_by("L", chair, &is_mine), 0, "which ends it");
        is_int(vel_ledger_claim(&ledgers, (struct vel_ledger_name){1, 1}, &self, &slow,
                                &err),
               0, "'%s' is claimed above that, and not begun", addresses[i]);
        is_int(vel_launch_is_over(fs, dir, "L", &is, &err), i < 2 ? VEL_EBUSY : 0,
               i < 2 ? "nobody knows whether it says so" : "it is over");
        is_int(end_by("M", NULL, &is_mine), 0, "whoever needs to know ends it");
        ok(is_over(), "for good");
        vel_ledger_close(chair);
        vel_ledger_close(slow);
    }
}

static void damaged(void)
{
    char path[340];
    struct vel_ledger *chair, *next;
    bool is_mine;

    fresh("damaged");
    is_int(claim(1, "n0", &chair), 0, "a launch has a chair");
    snprintf(path, sizeof path, "%s/1.0", launch_dir);
    tap_put_file(path, "not a ledger\n");
    ok(!is_over(), "its term is damaged: it is not over");
    is_int(vel_ledger_look(chair, &err), VEL_ECANCEL, "its chair sees that");
    is_str(newest(), "1 -", "nobody else knows whose it is");
    is_int(claim(1, "n1", &next), VEL_EEXIST, "but that there is one");
    is_int(claim(2, "n1", &next), 0, "there is a next one");
    is_str(newest(), "2 n1", "which all find");
    vel_ledger_close(chair);
    vel_ledger_close(next);
    fresh("all");
    tap_put_file(strcat(strcpy(path, launch_dir), "/1.0"), "not a ledger\n");
    is_int(end_by("M", NULL, &is_mine), 0, "one that has nothing else is ended");
    ok(is_mine && is_over(), "and is over");
}

/* A sweep removes the directory between a look at it and the listing of it. */
static int list_late(struct vel_fs *self, const char *path, struct vel_vec *ret_names)
{
    (void)self;
    rename(launch_dir, tap_path("late/away"));
    return vel_fs_posix()->ops->list(vel_fs_posix(), path, ret_names);
}

static void gone_late(void)
{
    struct vel_fs_ops ops = *vel_fs_posix()->ops;
    struct vel_fs twin = {&ops};
    struct vel_ledger_text text;
    bool is, has;

    ops.list = list_late;
    fresh("late");
    is_int(vel_terms_load(&twin, launch_dir, &text, &has, &err), VEL_ENOENT,
           "what is removed while it is read is not there");
    fresh("late");
    is_int(vel_terms_are_over(&twin, launch_dir, &is, &err), VEL_ENOENT,
           "also for who asks whether it is over");
}

static void gone(void)
{
    enum vel_launch_fate fate = VEL_LAUNCH_OPEN;
    struct vel_ledger *chair;

    fresh("gone");
    is_int(claim(1, "n0", &chair), 0, "a launch has a chair");
    if (rename(launch_dir, tap_path("gone/away")) < 0)
        bail_out("no rename");
    is_int(vel_ledger_look(chair, &err), VEL_ENOENT, "its directory is removed");
    is_int(vel_launch_fate(fs, dir, "L", &fate, &err), 0, "what became of it is known");
    is_int(fate, VEL_LAUNCH_GONE, "it is gone");
    vel_ledger_close(chair);
}

/* Says once that dataset 7 is gone, as another launch may. */
static int say_gone(void *arg, const struct vel_ledger_text *now, struct vel_buf *facts,
                    struct vel_err *why)
{
    struct vel_ranges gone;
    int rc;

    (void)arg;
    vel_ranges_init(&gone);
    for (size_t i = 0; now && i < now->facts.n; i++)
        vel_terms_fold_gone(
            &((struct vel_ledger_fact *)vel_vec_at(&now->facts, i))->line, &gone, why);
    rc = !vel_ranges_has(&gone, 7);
    if (rc > 0 && (vel_ranges_add(&gone, 7, why) < 0 ||
                   vel_terms_put_gone(&gone, facts, why) < 0))
        rc = VEL_ENOMEM;
    vel_ranges_fini(&gone);
    return rc;
}

static int said; /* by the other, while a term was begun */

static void say_once(void)
{
    const struct vel_terms_self other = {.launch = "M", .node = "n9"};
    bool is_changed = false;

    if (said > 0)
        return;
    is_int(vel_terms_change(vel_fs_posix(), launch_dir, &other, say_gone, NULL,
                            &is_changed, &err),
           0, "another launch says something meanwhile");
    said = is_changed;
}

/* What is written behind the title is the begin. */
static ssize_t write_late(struct vel_fs *self, int fd, const void *bytes, size_t len,
                          off_t at)
{
    (void)self;
    if (at > 0)
        say_once();
    return vel_fs_posix()->ops->pwrite(vel_fs_posix(), fd, bytes, len, at);
}

static int lists; /* since the name of a term was made */

static int link_noted(struct vel_fs *self, const char *from, const char *to)
{
    (void)self;
    lists = 0;
    return vel_fs_posix()->ops->link(vel_fs_posix(), from, to);
}

/* The first term has its begin with its name; then there is no other, and then there is
 * none above it. */
static int list_second(struct vel_fs *self, const char *path, struct vel_vec *ret)
{
    (void)self;
    if (lists >= 0 && ++lists == 2)
        say_once();
    return vel_fs_posix()->ops->list(vel_fs_posix(), path, ret);
}

static bool says_gone(void)
{
    struct vel_ledger_text text;
    struct vel_buf none;
    bool has = false, is;

    vel_buf_init(&none);
    if (vel_terms_load(vel_fs_posix(), launch_dir, &text, &has, &err) < 0 || !has)
        return false;
    is = say_gone(NULL, &text, &none, &err) == 0;
    vel_ledger_text_fini(&text);
    vel_buf_fini(&none);
    return is;
}

/* Who has one thing to say overtakes a chair that begins a term: it is the chair. */
static void overtaken(void)
{
    struct vel_fs_ops ops = *vel_fs_posix()->ops;
    struct vel_fs twin = {&ops};
    struct vel_ledger *chair, *next;

    ops.pwrite = write_late;
    ops.link = link_noted;
    ops.list = list_second;
    lists = -1;
    fresh("overtaken");
    fs = &twin;
    said = 0;
    is_int(claim(1, "n0", &chair), 0, "a chair that is overtaken as it begins is one");
    ok(said && chair && vel_ledger_look(chair, &err) == 0, "its term is the newest");
    ok(says_gone(), "and says what the other said");
    vel_ledger_close(chair);
    ops.list = vel_fs_posix()->ops->list;
    fresh("goes on");
    is_int(claim(1, "n0", &chair), 0, "a chair");
    fs = &twin;
    said = 0;
    is_int(go_on(1, "n0", &next), 0, "goes on when it is overtaken as it does");
    ok(said && next && vel_ledger_look(next, &err) == 0, "its term is the newest");
    ok(says_gone(), "and says what the other said");
    vel_ledger_close(next);
    vel_ledger_close(chair);
    said = 1;
}

int main(void)
{
    chairs();
    overtaken();
    ended();
    half_ended();
    unsure();
    damaged();
    gone();
    gone_late();
    return done_testing();
}
