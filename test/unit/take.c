/* SPDX-License-Identifier: BSD-3-Clause */
/* Files become parts of a dataset, with every operation failing or crashing in turn. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "jobs/promise.h"
#include "meta/cache.h"
#include "meta/cachename.h"
#include "meta/filemap.h"
#include "meta/paths.h"
#include "red/redfile.h"
#include "tap/files.h"
#include "tap/partlab.h"
#include "tap/sweep.h"
#include "tap/tap.h"
#include "topo/reddesc.h"
#include "view/batch.h"
#include "view/inventory.h"

/* --- after --- */

/* Is a part there, with a redundancy file that lists so many files, and says what it is
 * and at which level? */
static bool is_part(const char *dir, int rank, size_t files)
{
    char *level = strdup(partlab_in(partlab_in(dir, partlab_cache_of_parts(dir)),
                                    partlab_is_far ? "index.1" : "index.0"));
    const struct vel_part what = {.level = level, .id = PARTLAB_ID, .rank = rank};
    char part[400];
    struct vel_filemap map;
    struct vel_reddesc desc;
    struct vel_vec red;
    bool is;

    snprintf(part, sizeof part, "%s/dataset.%d/rank.%d", level, PARTLAB_ID, rank);
    is = vel_redfile_scan(vel_fs_posix(), part, VEL_CACHE_LABEL, (uint32_t)rank, &red,
                          NULL) == 0;
    if (is) {
        is = red.n == 1 && vel_redfile_at(&red, 0)->header.list[0].files.n == files &&
             vel_redfile_check_files(vel_fs_posix(), part,
                                     &vel_redfile_at(&red, 0)->header, NULL) == 0 &&
             vel_part_map(&what, &red, &map, NULL) == 0;
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
    const char *part = partlab_in(partlab_dataset_dir(dir), "rank.0/d");

    return tap_file_is(partlab_in(dir, "c/u/id/1.0/1/rank.0/d/a.0"), "d/a.0") ||
           tap_file_is(partlab_in(part, "A.0"), "d/a.0") ||
           tap_file_is(partlab_in(part, "a.0"), "d/a.0");
}

/* The same of what rank 1 has. */
static bool is_spilt_somewhere(const char *dir)
{
    return !partlab_is_spilt ||
           tap_file_is(partlab_in(dir, "f/u/id/1.0/1/rank.1/d/b.1"), "d/b.1") ||
           tap_file_is(partlab_in(partlab_dataset_dir(dir), "rank.1/d/b.1"), "d/b.1");
}

/* Is it still of no dataset? */
static bool is_listed(const char *dir)
{
    struct vel_vec found;
    bool is = false;

    vel_vec_init(&found, sizeof(struct vel_batch));
    if (vel_batches_read(vel_fs_posix(), partlab_in(dir, "c/u/id"), 0, &found, NULL) <
            0 ||
        vel_batches_read(vel_fs_posix(), partlab_in(dir, "f/u/id"), 0, &found, NULL) <
            0)
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

    partlab_must(vel_batches_read_catalog(vel_fs_posix(), cache, &catalog, &err), &err);
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
    return tap_file_is(partlab_in(dir, "c/u/id/1.0/1/rank.0/late.0"), "late.0") &&
           is_said(partlab_in(dir, "c/u/id"), "1.0/1", "late.0");
}

/* What is taken under which names, with where it stands. */
static bool has_anchors(const char *dir)
{
    const char *where = partlab_is_far ? "index.1/dataset.7" : "index.0/dataset.7";
    const char *cache = partlab_in(dir, partlab_cache_of_parts(dir));

    return is_said(cache, where, "d/a.0") != is_said(cache, where, "d/A.0");
}

/* At the latest when the next leader comes. */
static bool is_gone(const char *dir)
{
    struct vel_batches *next = partlab_begin(vel_fs_posix(), dir, 0);
    struct vel_err err = {0};

    partlab_must(vel_batches_adopt(next, &err), &err);
    vel_batches_destroy(next);
    return access(partlab_in(dir, "c/u/id/1.0/1"), F_OK) < 0;
}

/* What node n0 owes for dataset 7. */
static unsigned owed(const char *dir)
{
    struct vel_vec found;
    struct vel_err err = {0};
    unsigned what = 0;

    vel_vec_init(&found, sizeof(struct vel_promise));
    for (int i = 0; i < 2; i++)
        partlab_must(vel_promises_scan(vel_fs_posix(),
                                       partlab_in(dir, partlab_caches[i]), "n0", &found,
                                       &err),
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

    if (!is_somewhere(dir) || !is_spilt_somewhere(dir) || (!arg && !has_late(dir))) {
        note("a file is not where it can be");
        return SWEEP_BROKEN;
    }
    if (told && !owes) {
        note("a part was told, and nothing is owed for it");
        return SWEEP_BROKEN;
    }
    return told && is_part(dir, 0, 1) && is_part(dir, 1, partlab_is_spilt) &&
                   has_anchors(dir) && owes && (!arg || is_gone(dir))
               ? SWEEP_NEW
               : SWEEP_OLD;
}

/* --- parts without files --- */

static void prepare_none(const char *dir, void *arg)
{
    (void)arg;
    tap_fresh_dir(partlab_in(dir, "p"));
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
                                .action = partlab_take,
                                .check = check_none};

    partlab_has_none = true;
    sweep_run(&sweep);
    partlab_has_none = false;
}

/* --- from the beginning --- */

static bool is_told(const char *dir)
{
    struct vel_catalog *catalog;
    struct vel_err err = {0};
    bool is;

    partlab_must(vel_batches_read_catalog(vel_fs_posix(), partlab_in(dir, "c/u/id"),
                                          &catalog, &err),
                 &err);
    is = vel_catalog_count(catalog, VEL_FACT_PART) > 0;
    vel_catalog_destroy(catalog);
    return is;
}

static char none[] = "";

static bool is_batch(const struct vel_catalog *catalog, int64_t turn, int64_t batch)
{
    const struct vel_fact subject = {
        .kind = VEL_FACT_BATCH,
        .u.batch = {.number = 1, .turn = turn, .batch = batch, .step = none}};
    struct vel_fact fact;

    if (vel_catalog_find(catalog, &subject, &fact, NULL) < 0)
        return false;
    vel_fact_fini(&fact);
    return true;
}

/* Is there a directory of which nothing is said? It goes when the next leader comes. */
static bool has_stray(const char *dir)
{
    struct vel_catalog *catalog;
    struct vel_err err = {0};
    bool has = false;

    is_gone(dir);
    partlab_must(vel_batches_read_catalog(vel_fs_posix(), partlab_in(dir, "c/u/id"),
                                          &catalog, &err),
                 &err);
    for (int64_t turn = 0; turn < 9; turn++)
        for (int64_t batch = 1; batch < 9; batch++) {
            char name[40];

            snprintf(name, sizeof name, "c/u/id/1.%d/%d", (int)turn, (int)batch);
            has |= access(partlab_in(dir, name), F_OK) == 0 &&
                   !is_batch(catalog, turn, batch);
        }
    vel_catalog_destroy(catalog);
    return has;
}

/* A part that is told is whole, and owed. Before that nothing is promised: one that is
 * whole when all is lost that was said of it is restored all the same. */
static enum sweep_state check_whole(const char *dir, void *arg)
{
    bool is_whole = is_part(dir, 0, 1) && is_part(dir, 1, 0) && is_somewhere(dir);
    bool is_well = owed(dir) == 3 &&
                   is_said(partlab_in(dir, "c/u/id"), "index.0/dataset.7", "d/a.0");

    (void)arg;
    if (is_told(dir) && (!is_whole || !is_well)) {
        note("a part was told, and is not there, or nothing is owed for it");
        return SWEEP_BROKEN;
    }
    return is_whole && !has_stray(dir) ? SWEEP_NEW : SWEEP_OLD;
}

static void from_the_beginning(void)
{
    const struct sweep sweep = {.name = "writing and taking a file",
                                .prepare = partlab_prepare_nothing,
                                .action = partlab_write_and_take,
                                .check = check_whole};

    sweep_run(&sweep);
}

/* --- plainly --- */

/* What is owed is done. */
static void keep(const char *dir)
{
    struct vel_batches *batches = partlab_begin(vel_fs_posix(), dir, 0);
    char home[700];
    struct vel_err err = {0};

    snprintf(home, sizeof home, "%s", partlab_in(dir, "c/u/id/index.0/dataset.7"));
    partlab_must(vel_batches_adopt(batches, &err), &err);
    partlab_must(vel_promise_keep(batches, home, -1, 3, &err), &err);
    vel_batches_destroy(batches);
}

static void plainly(void)
{
    const char *dir = tap_path("plain");
    struct vel_err err = {0};
    char command[700];

    tap_fresh_dir(dir);
    partlab_prepare(dir, NULL);
    is_int(partlab_take(vel_fs_posix(), dir, NULL, &err), 0, "files are taken");
    ok(check(dir, NULL) == SWEEP_NEW &&
           access(partlab_in(dir, "c/u/id/index.0/dataset.7/rank.0/d/A.0"), F_OK) == 0,
       "under the names that they have been renamed to, the late one stays");
    keep(dir);
    is_int(partlab_take(vel_fs_posix(), dir, NULL, &err), 0, "once more");
    is_int(owed(dir), 0, "what was done is not owed again");
    snprintf(command, sizeof command, "rm '%s'/set.*",
             partlab_in(dir, "c/u/id/index.0/dataset.7/rank.0"));
    if (system(command) != 0)
        bail_out("no redundancy file");
    is_int(partlab_take(vel_fs_posix(), dir, NULL, &err), 0,
           "again, without its redundancy file: %s", err.text);
    ok(check(dir, NULL) == SWEEP_NEW &&
           access(partlab_in(dir, "c/u/id/index.0/dataset.7/rank.0/d/A.0"), F_OK) == 0,
       "what is there stays, and is protected again");
    vel_fs_remove_tree(vel_fs_posix(),
                       partlab_in(dir, "c/u/id/index.0/dataset.7/rank.0"), NULL);
    ok(partlab_take(vel_fs_posix(), dir, NULL, &err) == VEL_ENOENT &&
           strstr(err.text, "rank 0"),
       "files that are gone make no empty part: %s", err.text);
}

/* --- a place is made --- */

static int make(struct vel_fs *fs, const char *dir, void *arg, struct vel_err *err)
{
    char launch[] = "L", template[] = "t", step[] = "2";
    const struct vel_batch_key key = {
        .launch = launch, .template = template, .step = step, .generation = 1};
    struct vel_batches *batches = partlab_begin(fs, dir, 0);
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
    if (vel_batches_read(vel_fs_posix(), partlab_in(dir, "c/u/id"), 0, &found, &err) <
        0)
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
    struct sweep sweep = {.name = "taking files",
                          .prepare = partlab_prepare,
                          .action = partlab_take,
                          .check = check};

    const struct sweep made = {.name = "making a place for files",
                               .prepare = partlab_prepare,
                               .action = make,
                               .check = check_made,
                               .is_lazy = true};
    struct sweep whole = sweep;
    bool none_late = true;

    whole.name = "taking all files there are";
    whole.arg = &none_late;
    plainly();
    sweep_run(&sweep);
    sweep_run(&whole);
    sweep_run(&made);
    without_files();
    from_the_beginning();
    partlab_is_far = true; /* each store that refuses is a warning */
    vel_log_open(&(struct vel_log_sink){.level = VEL_LOG_ERROR});
    sweep.name = "taking files into another store";
    sweep_run(&sweep);
    partlab_is_apart = true;
    whole.name = "taking all files there are to another disk";
    sweep_run(&whole);
    partlab_is_spilt = true;
    whole.name = "taking files that are in two stores";
    sweep_run(&whole);
    return done_testing();
}
