/* SPDX-License-Identifier: BSD-3-Clause */
/* Files become parts of a dataset, with every operation failing or crashing in turn. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "conf/file.h"
#include "conf/load.h"
#include "jobs/anchor.h"
#include "jobs/promise.h"
#include "jobs/take.h"
#include "meta/cache.h"
#include "meta/cachename.h"
#include "meta/filemap.h"
#include "meta/paths.h"
#include "red/redfile.h"
#include "tap/files.h"
#include "tap/sweep.h"
#include "tap/tap.h"
#include "topo/reddesc.h"
#include "view/batch.h"
#include "view/inventory.h"

enum { ID = 7, RANKS = 4 };

/* Rank 0 has a file in a directory and, unless an argument says otherwise, a late one,
 * rank 1 none; the others are on another node. */
static const char *const names[] = {"d/a.0", "late.0"};

static const char *in(const char *dir, const char *name)
{
    static char paths[8][600];
    static unsigned next;
    char *path = paths[next++ % 8];

    if (strlen(dir) + strlen(name) + 2 > sizeof paths[0])
        bail_out("%s is too long", dir);
    strcpy(path, dir);
    strcat(path, "/");
    strcat(path, name);
    return path;
}

static void must(int rc, const struct vel_err *err)
{
    if (rc < 0)
        bail_out("%s", err->text);
}

/* The level has a store of its own. */
static bool is_far;
static const char *const caches[] = {"c/u/id", "f/u/id"};

/* Where its parts are, or are to be: in the store of the level, or where the files are
 * when that refuses. */
static const char *cache_of_parts(const char *dir)
{
    const char *there = in(in(dir, caches[1]), "index.1/dataset.7");

    return is_far && access(there, F_OK) == 0 ? caches[1] : caches[0];
}

static const char *dataset_dir(const char *dir)
{
    return in(in(dir, cache_of_parts(dir)),
              is_far ? "index.1/dataset.7" : "index.0/dataset.7");
}

/* --- before --- */

static const char launch_name[] = "L";

static struct vel_batches *begin_batches(struct vel_fs *fs, const char *dir, int cache)
{
    static char homes[2][600]; /* borrowed; there is one of each at a time */
    struct vel_batches_of of = {.fs = fs,
                                .clock = vel_clock_system(),
                                .home = strcpy(homes[cache], in(dir, caches[cache])),
                                .node = "n0",
                                .launch = launch_name};
    struct vel_batches *made;
    struct vel_err err = {0};

    must(vel_batches_create(&of, &made, &err), &err);
    return made;
}

/* The first of the first launch is 1.0/1. */
static void put_new(const char *dir, int files)
{
    struct vel_batches *batches = begin_batches(vel_fs_posix(), dir, 0);
    struct vel_placeholders *placeholders =
        vel_placeholders_create(vel_fs_posix(), &batches, 1);
    char launch[] = "L", template[] = "t", step[] = "1";
    const struct vel_batch_key key = {
        .launch = launch, .template = template, .step = step, .generation = 1};
    struct vel_err err = {0};
    char *made;

    must(vel_batches_make(batches, &key, 0, 0, &made, &err), &err);
    for (int i = 0; i < files; i++) {
        const struct vel_placeholder_file of = {made, 0, names[i]};
        const struct vel_stub_maker maker = {.launch = "L"};
        char *path = NULL;

        must(vel_batches_open(batches, made, 0, names[i], &path, &err), &err);
        tap_put_file(path, names[i]);
        free(path);
        must(vel_batches_close(batches, made, 0, names[i], i + 1, 5, &err), &err);
        must(vel_placeholders_set(placeholders, &of, in(in(dir, "p"), names[i]), &maker,
                                  &err),
             &err);
    }
    free(made);
    vel_placeholders_destroy(placeholders);
    vel_batches_destroy(batches);
}

static void prepare(const char *dir, void *arg)
{
    static const char *const dirs[] = {"p",      "p/d", "c",   "c/u",
                                       "c/u/id", "f",   "f/u", "f/u/id"};

    for (size_t i = 0; i < sizeof dirs / sizeof dirs[0]; i++)
        tap_fresh_dir(in(dir, dirs[i]));
    put_new(dir, arg ? 1 : 2);
    /* written to another name, and renamed */
    rename(in(dir, "p/d/a.0"), in(dir, "p/d/A.0"));
}

/* --- taken --- */

static bool has_none; /* of files: no part has */

static void make_seal(struct vel_seal *seal)
{
    char nodes[2][4] = {"n0", "n1"};
    struct vel_err err = {0};

    vel_seal_init(seal);
    seal->id = ID;
    seal->what = VEL_OWED_ENCODE | VEL_OWED_FLUSH;
    seal->template = strdup("t");
    seal->step = strdup("1");
    seal->generation = 1;
    memset(seal->encoding, 9, sizeof seal->encoding);
    for (int64_t i = 0; i < RANKS; i++) {
        struct vel_seal_member member = {.rank = i,
                                         .node = i < 2 ? nodes[0] : nodes[1],
                                         .set = i % 2,
                                         .place = i / 2,
                                         .level = is_far,
                                         .scheme = VEL_XOR,
                                         .failures = 1,
                                         .files = i == 0 && !has_none,
                                         .upto = i == 0};

        must(vel_seal_add(seal, &member, &err), &err);
    }
}

static struct vel_conf *make_conf(const char *dir)
{
    struct vel_conf *conf;
    struct vel_err err = {0};
    char text[2000];

    snprintf(text, sizeof text,
             "CACHE_BASE=%s/c\nPREFIX=%s/p\nCKPT=0 TYPE=XOR\n"
             "CKPT=1 TYPE=XOR INTERVAL=2 STORE=%s/f\n",
             dir, dir, dir);
    must(vel_conf_create(&conf, &err), &err);
    must(vel_conf_parse(conf, VEL_LAYER_USER, "t.conf", text, strlen(text), NULL, NULL,
                        &err),
         &err);
    must(vel_conf_finish(conf, &err), &err);
    return conf;
}

/* Its caches are different file systems. */
static bool is_apart;
static const struct vel_fs_ops *linking;

static int link_within(struct vel_fs *fs, const char *from, const char *to)
{
    return !strstr(from, "/f/u/") == !strstr(to, "/f/u/") ? linking->link(fs, from, to)
                                                          : -EXDEV;
}

static int take_apart(struct vel_fs *fs, const struct vel_take *what,
                      struct vel_err *err)
{
    struct vel_fs_ops ops = *fs->ops;
    int rc;

    linking = fs->ops;
    ops.link = link_within;
    fs->ops = &ops;
    rc = vel_take(what, err);
    fs->ops = linking;
    return rc;
}

static int take(struct vel_fs *fs, const char *dir, void *arg, struct vel_err *err)
{
    char name[] = "t";
    struct vel_dataset dataset = {.id = ID,
                                  .name = name,
                                  .version = 1,
                                  .checkpoint = 1,
                                  .use = 1,
                                  .ranks = RANKS,
                                  .nodes = 2,
                                  .files = 1,
                                  .bytes = 5};
    struct vel_conf *conf = make_conf(dir);
    struct vel_batches *batches[] = {begin_batches(fs, dir, 0),
                                     begin_batches(fs, dir, 1)};
    struct vel_placeholders *placeholders =
        vel_placeholders_create(fs, batches, is_far ? 2 : 1);
    char *homes[] = {strdup(in(dir, caches[0])), strdup(in(dir, caches[1]))};
    char *there = strdup(dataset_dir(dir));
    struct vel_take what = {.fs = fs,
                            .conf = conf,
                            .node = "n0",
                            .launch = "L",
                            .prefix = in(dir, "p"),
                            .homes = homes,
                            .batches = batches,
                            .n_homes = is_far ? 2 : 1,
                            .placeholders = placeholders,
                            .dataset = &dataset};
    struct vel_seal seal;
    int rc;

    (void)arg;
    make_seal(&seal);
    what.seal = &seal;
    what.home = access(there, F_OK) == 0 ? there : NULL;
    rc = vel_placeholders_load(placeholders, err);
    for (int i = 0; rc == 0 && i < (is_far ? 2 : 1); i++)
        rc = vel_batches_adopt(batches[i], err);
    if (rc == 0)
        rc = is_apart ? take_apart(fs, &what, err) : vel_take(&what, err);
    vel_placeholders_destroy(placeholders);
    for (int i = 0; i < 2; i++) {
        vel_batches_destroy(batches[i]);
        free(homes[i]);
    }
    vel_seal_fini(&seal);
    vel_conf_destroy(conf);
    free(there);
    return rc;
}

/* --- after --- */

/* Is a part there, with a redundancy file that lists so many files, and says what it is
 * and at which level? */
static bool is_part(const char *dir, int rank, size_t files)
{
    char *level =
        strdup(in(in(dir, cache_of_parts(dir)), is_far ? "index.1" : "index.0"));
    const struct vel_part what = {.level = level, .id = ID, .rank = rank};
    char part[400];
    struct vel_filemap map;
    struct vel_reddesc desc;
    struct vel_vec red;
    bool is;

    snprintf(part, sizeof part, "%s/dataset.%d/rank.%d", level, ID, rank);
    is = vel_redfile_scan(vel_fs_posix(), part, VEL_CACHE_LABEL, (uint32_t)rank, &red,
                          NULL) == 0;
    if (is) {
        is = red.n == 1 && vel_redfile_at(&red, 0)->header.list[0].files.n == files &&
             vel_redfile_check_files(vel_fs_posix(), part,
                                     &vel_redfile_at(&red, 0)->header, NULL) == 0 &&
             vel_part_map(vel_fs_posix(), &what, &red, &map, NULL) == 0;
        vel_redfiles_fini(&red);
    }
    if (is) {
        is = vel_reddesc_from_node(map.descriptor, &desc, NULL) == 0;
        if (is)
            vel_reddesc_fini(&desc);
        vel_filemap_fini(&map);
    }
    free(level);
    return is;
}

/* Whole: where it was, or in the part, by its present name or, when the prefix could
 * not tell, its old one. */
static bool is_somewhere(const char *dir)
{
    const char *part = in(dataset_dir(dir), "rank.0/d");

    return tap_file_is(in(dir, "c/u/id/1.0/1/rank.0/d/a.0"), "d/a.0") ||
           tap_file_is(in(part, "A.0"), "d/a.0") ||
           tap_file_is(in(part, "a.0"), "d/a.0");
}

/* Is it still of no dataset? */
static bool is_listed(const char *dir)
{
    struct vel_vec found;
    bool is = false;

    vel_vec_init(&found, sizeof(struct vel_batch));
    if (vel_batches_read(vel_fs_posix(), in(dir, "c/u/id"), &found, NULL) < 0)
        return true;
    for (size_t i = 0; i < found.n; i++) {
        const struct vel_batch_rank *rank = vel_batch_rank(vel_vec_at(&found, i), 0);

        is |= rank && vel_batch_file(rank, "d/a.0");
    }
    vel_batch_list_fini(&found);
    return is;
}

/* Is anything said of what stands at the name of this file? */
static bool is_said(const char *cache, const char *where, const char *name)
{
    const struct vel_fact subject = {
        .kind = VEL_FACT_STANDS,
        .u.stands = {.dir = (char *)(uintptr_t)where, .name = (char *)(uintptr_t)name}};
    struct vel_catalog *catalog;
    struct vel_fact fact;
    struct vel_err err = {0};
    bool is;

    must(vel_batches_read_catalog(vel_fs_posix(), cache, &catalog, &err), &err);
    is = vel_catalog_find(catalog, &subject, &fact, NULL) == 0;
    if (is) {
        is = *fact.u.stands.path != '\0';
        vel_fact_fini(&fact);
    }
    vel_catalog_destroy(catalog);
    return is;
}

/* The file that came late is left where it was, with its placeholder. */
static bool has_late(const char *dir)
{
    return tap_file_is(in(dir, "c/u/id/1.0/1/rank.0/late.0"), "late.0") &&
           is_said(in(dir, "c/u/id"), "1.0/1", "late.0");
}

/* What is taken under which names, with where it stands. */
static bool has_anchors(const char *dir)
{
    const char *where = is_far ? "index.1/dataset.7" : "index.0/dataset.7";
    const char *cache = in(dir, cache_of_parts(dir));

    return is_said(cache, where, "d/a.0") != is_said(cache, where, "d/A.0");
}

/* At the latest when the next leader comes. */
static bool is_gone(const char *dir)
{
    struct vel_batches *next = begin_batches(vel_fs_posix(), dir, 0);
    struct vel_err err = {0};

    must(vel_batches_adopt(next, &err), &err);
    vel_batches_destroy(next);
    return access(in(dir, "c/u/id/1.0/1"), F_OK) < 0;
}

/* What node n0 owes for dataset 7. */
static unsigned owed(const char *dir)
{
    struct vel_vec found;
    struct vel_err err = {0};
    unsigned what = 0;

    vel_vec_init(&found, sizeof(struct vel_promise));
    for (int i = 0; i < 2; i++)
        must(vel_promises_scan(vel_fs_posix(), in(dir, caches[i]), "n0", &found, &err),
             &err);
    for (size_t i = 0; i < found.n; i++)
        what |= vel_promise_what(vel_vec_at(&found, i));
    vel_promises_fini(&found);
    return what;
}

static enum sweep_state check(const char *dir, void *arg)
{
    bool told = !is_listed(dir);
    bool owes = owed(dir) == 3;

    if (!is_somewhere(dir) || (!arg && !has_late(dir))) {
        note("a file is not where it can be");
        return SWEEP_BROKEN;
    }
    if (told && !owes) {
        note("a part was told, and nothing is owed for it");
        return SWEEP_BROKEN;
    }
    return told && is_part(dir, 0, 1) && is_part(dir, 1, 0) && has_anchors(dir) &&
                   owes && (!arg || is_gone(dir))
               ? SWEEP_NEW
               : SWEEP_OLD;
}

/* --- parts without files --- */

static void prepare_none(const char *dir, void *arg)
{
    (void)arg;
    tap_fresh_dir(in(dir, "p"));
}

static enum sweep_state check_none(const char *dir, void *arg)
{
    bool are_parts = is_part(dir, 0, 0) && is_part(dir, 1, 0);

    (void)arg;
    if (are_parts && owed(dir) != 3) {
        note("there are parts, and nothing is owed for them");
        return SWEEP_BROKEN;
    }
    return are_parts ? SWEEP_NEW : SWEEP_OLD;
}

static void without_files(void)
{
    const struct sweep sweep = {.name = "taking parts without files",
                                .prepare = prepare_none,
                                .action = take,
                                .check = check_none};

    has_none = true;
    sweep_run(&sweep);
    has_none = false;
}

/* --- plainly --- */

/* What is owed is done. */
static void keep(const char *dir)
{
    struct vel_batches *batches = begin_batches(vel_fs_posix(), dir, 0);
    char home[700];
    struct vel_err err = {0};

    snprintf(home, sizeof home, "%s", in(dir, "c/u/id/index.0/dataset.7"));
    must(vel_batches_adopt(batches, &err), &err);
    must(vel_promise_keep(batches, home, -1, 3, &err), &err);
    vel_batches_destroy(batches);
}

static void plainly(void)
{
    const char *dir = tap_path("plain");
    struct vel_err err = {0};
    char command[700];

    tap_fresh_dir(dir);
    prepare(dir, NULL);
    is_int(take(vel_fs_posix(), dir, NULL, &err), 0, "files are taken");
    ok(check(dir, NULL) == SWEEP_NEW &&
           access(in(dir, "c/u/id/index.0/dataset.7/rank.0/d/A.0"), F_OK) == 0,
       "under the names that they have been renamed to, the late one stays");
    keep(dir);
    is_int(take(vel_fs_posix(), dir, NULL, &err), 0, "once more");
    is_int(owed(dir), 0, "what was done is not owed again");
    snprintf(command, sizeof command, "rm '%s'/set.*",
             in(dir, "c/u/id/index.0/dataset.7/rank.0"));
    if (system(command) != 0)
        bail_out("no redundancy file");
    is_int(take(vel_fs_posix(), dir, NULL, &err), 0,
           "again, without its redundancy file: %s", err.text);
    ok(check(dir, NULL) == SWEEP_NEW &&
           access(in(dir, "c/u/id/index.0/dataset.7/rank.0/d/A.0"), F_OK) == 0,
       "what is there stays, and is protected again");
    vel_fs_remove_tree(vel_fs_posix(), in(dir, "c/u/id/index.0/dataset.7/rank.0"),
                       NULL);
    ok(take(vel_fs_posix(), dir, NULL, &err) == VEL_ENOENT &&
           strstr(err.text, "rank 0"),
       "files that are gone make no empty part: %s", err.text);
}

/* --- a place is made --- */

static int make(struct vel_fs *fs, const char *dir, void *arg, struct vel_err *err)
{
    char launch[] = "L", template[] = "t", step[] = "2";
    const struct vel_batch_key key = {
        .launch = launch, .template = template, .step = step, .generation = 1};
    struct vel_batches *batches = begin_batches(fs, dir, 0);
    char *made = NULL;
    int rc = vel_batches_adopt(batches, err);

    (void)arg;
    if (rc == 0)
        rc = vel_batches_make(batches, &key, 0, 0, &made, err);
    free(made);
    vel_batches_destroy(batches);
    return rc;
}

/* Who has made one finds it, and what was there before. */
static enum sweep_state check_made(const char *dir, void *arg)
{
    struct vel_vec found;
    bool has_old = false, has_new = false;
    struct vel_err err = {0};

    (void)arg;
    vel_vec_init(&found, sizeof(struct vel_batch));
    if (vel_batches_read(vel_fs_posix(), in(dir, "c/u/id"), &found, &err) < 0)
        note("%s", err.text);
    for (size_t i = 0; i < found.n; i++) {
        const struct vel_batch *batch = vel_vec_at(&found, i);

        has_old |= strcmp(batch->key.step, "1") == 0 && batch->ranks.n == 1;
        has_new |= strcmp(batch->key.step, "2") == 0 &&
                   vel_fs_exists(vel_fs_posix(), batch->dir);
    }
    vel_batch_list_fini(&found);
    return !has_old ? SWEEP_BROKEN : has_new ? SWEEP_NEW : SWEEP_OLD;
}

int main(void)
{
    struct sweep sweep = {
        .name = "taking files", .prepare = prepare, .action = take, .check = check};

    const struct sweep made = {.name = "making a place for files",
                               .prepare = prepare,
                               .action = make,
                               .check = check_made};
    struct sweep whole = sweep;
    bool none_late = true;

    whole.name = "taking all files there are";
    whole.arg = &none_late;
    plainly();
    sweep_run(&sweep);
    sweep_run(&whole);
    sweep_run(&made);
    without_files();
    is_far = true; /* each store that refuses is a warning */
    vel_log_open(&(struct vel_log_sink){.level = VEL_LOG_ERROR});
    sweep.name = "taking files into another store";
    sweep_run(&sweep);
    is_apart = true;
    whole.name = "taking all files there are to another disk";
    sweep_run(&whole);
    return done_testing();
}
