/* SPDX-License-Identifier: BSD-3-Clause */
/* Records that are made once: by one of many, whatever the file system answers, and
 * whole whatever happens to their makers. */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ident/once.h"
#include "record/record.h"
#include "tap/files.h"
#include "tap/sweep.h"
#include "tap/tap.h"

enum { MAKERS = 8, ROUNDS = 20 };

static struct vel_node *record_of(int64_t who)
{
    struct vel_node *record = vel_node_object();

    if (!record || vel_node_set_int(record, "who", who) < 0)
        bail_out("no memory");
    return record;
}

static int make(struct vel_fs *fs, const char *path, int64_t who, bool *ret_is_mine,
                struct vel_err *err)
{
    struct vel_node *record = record_of(who);
    int rc = vel_once(fs, path, "test", 1, record, ret_is_mine, err);

    vel_node_destroy(record);
    return rc;
}

/* Who made it; -1: it cannot be read. */
static int64_t maker_of(const char *path)
{
    struct vel_node *record = NULL;
    int64_t who = -1;
    int version;

    if (vel_record_load(vel_fs_posix(), path, "test", 1, &version, &record, NULL) == 0)
        vel_node_get_int(record, "who", 0, INT64_MAX, &who, NULL);
    vel_node_destroy(record);
    return who;
}

/* --- many makers --- */

struct maker {
    pthread_t thread;
    const char *path;
    int64_t who;
    int rc;
    bool is_mine;
};

static void *run_maker(void *arg)
{
    struct maker *maker = arg;

    maker->rc = make(vel_fs_posix(), maker->path, maker->who, &maker->is_mine, NULL);
    return NULL;
}

static void many(void)
{
    int wrong = 0;

    for (int round = 0; round < ROUNDS; round++) {
        struct maker makers[MAKERS];
        char name[32];
        int mine = 0;
        int64_t winner = -2;

        snprintf(name, sizeof name, "race.%d", round);
        const char *path = tap_path(name);
        for (int i = 0; i < MAKERS; i++) {
            makers[i] = (struct maker){.path = path, .who = i};
            if (pthread_create(&makers[i].thread, NULL, run_maker, &makers[i]) != 0)
                bail_out("no thread");
        }
        for (int i = 0; i < MAKERS; i++) {
            pthread_join(makers[i].thread, NULL);
            wrong += makers[i].rc != 0;
            mine += makers[i].is_mine;
            if (makers[i].is_mine)
                winner = i;
        }
        wrong += mine != 1 || maker_of(path) != winner;
    }
    is_int(wrong, 0, "of many makers at once one succeeds, and its record is there");
}

/* --- file systems that lie --- */

static int link_answer;   /* what link says */
static bool link_is_made; /* whether it was made before */
static int sweeps_left;   /* so often the temporary is gone before it is linked */

static int lying_link(struct vel_fs *fs, const char *from, const char *to)
{
    int rc = 0;

    if (sweeps_left-- > 0)
        vel_fs_posix()->ops->unlink(fs, from);
    if (link_is_made || link_answer == 0)
        rc = vel_fs_posix()->ops->link(fs, from, to);
    return rc < 0 ? rc : link_answer;
}

static int try_lie(const char *path, int answer, bool is_made, bool *ret_is_mine,
                   struct vel_err *err)
{
    struct vel_fs_ops ops = *vel_fs_posix()->ops;
    struct vel_fs fs = {.ops = &ops};

    ops.link = lying_link;
    link_answer = answer;
    link_is_made = is_made;
    return make(&fs, path, 7, ret_is_mine, err);
}

static int temporaries(const char *dir)
{
    struct vel_vec names;
    int n = 0;

    if (vel_fs_list(vel_fs_posix(), dir, &names, NULL) < 0)
        return -1;
    for (size_t i = 0; i < names.n; i++)
        n += vel_fs_is_temporary(*(char **)vel_vec_at(&names, i));
    vel_fs_names_fini(&names);
    return n;
}

static void lies(void)
{
    const char *path = tap_path("lie");
    struct vel_err err = {0};
    bool is_mine = false;

    ok(try_lie(path, -EIO, true, &is_mine, &err) == 0 && is_mine,
       "a lost answer is settled by what is there");
    unlink(path);
    is_mine = false;
    ok(try_lie(path, -EEXIST, true, &is_mine, &err) == 0 && is_mine,
       "a question repeated by the system is not another's record");
    is_mine = true;
    ok(try_lie(path, -EIO, false, &is_mine, &err) == 0 && !is_mine,
       "an error with another's record there: it is decided");
    unlink(path);
    is_int(try_lie(path, -EIO, false, &is_mine, &err), VEL_EIO,
           "an error and nothing there is an error");
    is_int(try_lie(path, -EPERM, false, &is_mine, &err), VEL_EUNSUP,
           "a file system without hard links is told as such");
    ok(strstr(err.text, "name a directory") != NULL, "with what to do: %s", err.text);
    sweeps_left = 2;
    ok(try_lie(path, 0, false, &is_mine, &err) == 0 && is_mine && maker_of(path) == 7,
       "a temporary that others have swept away is made again");
    sweeps_left = 1000;
    ok(try_lie(tap_path("never"), 0, false, &is_mine, &err) < 0, "but not for ever: %s",
       err.text);
    sweeps_left = 0;
    is_int(temporaries(tap_dir()), 0, "nothing temporary is left");
}

/* --- what is there already --- */

static void there(void)
{
    const char *path = tap_path("there");
    bool is_mine = true;
    struct vel_err err = {0};

    tap_put_file(path,
                 "no record at all, and longer than what is made here: "
                 "0123456789012345678901234567890123456789012345678901234567890123"
                 "0123456789012345678901234567890123456789012345678901234567890123"
                 "0123456789012345678901234567890123456789012345678901234567890123"
                 "0123456789012345678901234567890123456789012345678901234567890123"
                 "0123456789012345678901234567890123456789012345678901234567890123");
    ok(make(vel_fs_posix(), path, 1, &is_mine, &err) == 0 && !is_mine,
       "what is there is never replaced, whatever it is");
    is_mine = true;
    ok(make(vel_fs_posix(), tap_dir(), 1, &is_mine, &err) == 0 && !is_mine,
       "a directory of that name, too");
    is_int(make(vel_fs_posix(), tap_path("no/dir"), 1, &is_mine, &err), VEL_ENOENT,
           "without its directory nothing is made");
}

/* --- claims --- */

static int claim(const char *dir, int64_t above, int64_t *ret_k, struct vel_err *err)
{
    struct vel_node *record = record_of(above);
    int rc =
        vel_claim(vel_fs_posix(), dir, "chair", above, "test", 1, record, ret_k, err);

    vel_node_destroy(record);
    return rc;
}

static void claims(void)
{
    static const char *const others[] = {
        "chair.01",
        "chair.",
        "chair.7x",
        "chair",
        "chairs.9",
        "chair.-3",
        "chair.99999999999999999999999999",
        "other.8",
    };
    char dir[4096], path[4200];
    struct vel_node *record = NULL;
    struct vel_err err = {0};
    int64_t k = -1, who = -1;

    snprintf(dir, sizeof dir, "%s", tap_path("claims"));
    ok(vel_claim_newest(vel_fs_posix(), dir, "chair", &k, &err) == 0 && k == 0,
       "no directory: no claim");
    tap_fresh_dir(dir);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        snprintf(path, sizeof path, "%s/%s", dir, others[i]);
        tap_put_file(path, "");
    }
    ok(vel_claim_newest(vel_fs_posix(), dir, "chair", &k, &err) == 0 && k == 0,
       "other names are no claims");
    ok(claim(dir, 0, &k, &err) == 0 && k == 1, "the first claim is 1");
    k = -1;
    ok(claim(dir, 0, &k, &err) == VEL_EEXIST && k == -1, "it is claimed once: %s",
       err.text);
    for (int64_t above = 1; above < 11; above++)
        if (claim(dir, above, &k, &err) != 0)
            note("claim above %" PRId64 ": %s", above, err.text);
    ok(vel_claim_newest(vel_fs_posix(), dir, "chair", &k, &err) == 0 && k == 11,
       "claims are compared as numbers");
    ok(vel_claim_load(vel_fs_posix(), dir, "chair", 11, "test", 1, &record, &err) ==
               0 &&
           vel_node_get_int(record, "who", 0, 100, &who, &err) == 0 && who == 10,
       "and read again");
    vel_node_destroy(record);
    is_int(claim(dir, -1, &k, &err), VEL_EINVAL, "no claim is below 1");
    is_int(claim(dir, INT64_MAX, &k, &err), VEL_EINVAL, "none is above the last");
}

/* --- crashes --- */

static void path_in(const char *dir, char path[1200])
{
    snprintf(path, 1200, "%s/seal", dir);
}

static void prepare(const char *dir, void *arg)
{
    (void)dir, (void)arg;
}

static int action(struct vel_fs *fs, const char *dir, void *arg, struct vel_err *err)
{
    char path[1200];
    bool is_mine;

    (void)arg;
    path_in(dir, path);
    int rc = make(fs, path, 5, &is_mine, err);
    return rc < 0 ? rc : vel_fs_once_sweep(fs, dir, err);
}

static enum sweep_state check(const char *dir, void *arg)
{
    char path[1200];

    (void)arg;
    path_in(dir, path);
    if (access(path, F_OK) != 0)
        return SWEEP_OLD;
    return maker_of(path) == 5 ? SWEEP_NEW : SWEEP_BROKEN;
}

static void sweeping(void)
{
    static const char undecided[] = ".open.0123456789abcdef.h5v-tmp";
    char path[4300], dir[4096];
    struct vel_err err = {0};

    snprintf(dir, sizeof dir, "%s", tap_path("sweep"));
    tap_fresh_dir(dir);
    snprintf(path, sizeof path, "%s/decided", dir);
    tap_put_file(path, "x");
    snprintf(path, sizeof path, "%s/.decided.0123456789abcdef.h5v-tmp", dir);
    tap_put_file(path, "x");
    snprintf(path, sizeof path, "%s/.decided.h5v-tmp", dir);
    tap_put_file(path, "of vel_fs_replace");
    snprintf(path, sizeof path, "%s/%s", dir, undecided);
    tap_put_file(path, "x");
    ok(vel_fs_once_sweep(vel_fs_posix(), dir, &err) == 0 && temporaries(dir) == 2 &&
           access(path, F_OK) == 0,
       "temporaries of what is decided are removed, and no others");
    is_int(vel_fs_once_sweep(vel_fs_posix(), tap_path("nowhere"), &err), 0,
           "nothing is to be done without a directory");
}

int main(void)
{
    const struct sweep sweep = {.name = "a record made once",
                                .prepare = prepare,
                                .action = action,
                                .check = check};

    many();
    lies();
    there();
    claims();
    sweeping();
    sweep_run(&sweep);
    return done_testing();
}
