/* SPDX-License-Identifier: BSD-3-Clause */
/* Files become parts of a dataset, with every operation failing or crashing in turn. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "conf/file.h"
#include "conf/load.h"
#include "jobs/anchor.h"
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
#include "view/part_new.h"

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

/* --- before --- */

/* Numbers are random: this one is 1. */
static void name_first(const char *dir, int64_t number, const char *first)
{
    char *random = vel_part_new_dir(in(dir, "c/u/id/index.0"), number);

    if (!random || rename(random, first) < 0)
        bail_out("no %s", first);
    free(random);
}

static void put_new(const char *dir, struct vel_placeholders *placeholders, int files)
{
    struct vel_fs *fs = vel_fs_posix();
    char launch[] = "L", template[] = "t", step[] = "1";
    const struct vel_new_key key = {
        .launch = launch, .template = template, .step = step, .generation = 1};
    struct vel_err err = {0};
    int64_t number;
    char *made = vel_part_new_dir(in(dir, "c/u/id/index.0"), 1);

    must(vel_part_new_make(fs, in(dir, "c/u/id/index.0"), &key, &number, &err), &err);
    name_first(dir, number, made);
    for (int i = 0; i < files; i++) {
        struct vel_new_file file = {
            .name = (char *)(uintptr_t)names[i], .order = i + 1, .size = 5};
        const struct vel_placeholder_file of = {made, 0, names[i]};
        const struct vel_stub_maker maker = {.launch = "L"};
        char *path = NULL;

        must(vel_part_new_open(fs, made, 0, names[i], &path, &err), &err);
        tap_put_file(path, names[i]);
        free(path);
        must(vel_part_new_close(fs, made, 0, &file, &err), &err);
        must(vel_placeholders_set(placeholders, &of, in(in(dir, "p"), names[i]), &maker,
                                  &err),
             &err);
    }
    free(made);
}

static void prepare(const char *dir, void *arg)
{
    static const char *const dirs[] = {"p", "p/d", "c", "c/u", "c/u/id"};
    struct vel_placeholders *placeholders = vel_placeholders_create(vel_fs_posix());

    for (size_t i = 0; i < sizeof dirs / sizeof dirs[0]; i++)
        tap_fresh_dir(in(dir, dirs[i]));
    put_new(dir, placeholders, arg ? 1 : 2);
    vel_placeholders_destroy(placeholders);
    /* written to another name, and renamed */
    rename(in(dir, "p/d/a.0"), in(dir, "p/d/A.0"));
}

/* --- taken --- */

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
                                         .scheme = VEL_XOR,
                                         .failures = 1,
                                         .files = i == 0,
                                         .upto = i == 0};

        must(vel_seal_add(seal, &member, &err), &err);
    }
}

static struct vel_conf *make_conf(const char *dir)
{
    struct vel_conf *conf;
    struct vel_err err = {0};
    char text[500];

    snprintf(text, sizeof text, "CACHE_BASE=%s/c\nPREFIX=%s/p\n", dir, dir);
    must(vel_conf_create(&conf, &err), &err);
    must(vel_conf_parse(conf, VEL_LAYER_USER, "t.conf", text, strlen(text), NULL, NULL,
                        &err),
         &err);
    must(vel_conf_finish(conf, &err), &err);
    return conf;
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
    struct vel_placeholders *placeholders = vel_placeholders_create(fs);
    char *home = strdup(in(dir, "c/u/id"));
    char *there = strdup(in(dir, "c/u/id/index.0/dataset.7"));
    struct vel_take what = {.fs = fs,
                            .conf = conf,
                            .node = "n0",
                            .launch = "L",
                            .prefix = in(dir, "p"),
                            .homes = &home,
                            .n_homes = 1,
                            .placeholders = placeholders,
                            .dataset = &dataset};
    struct vel_seal seal;
    int rc;

    (void)arg;
    make_seal(&seal);
    what.seal = &seal;
    what.home = access(there, F_OK) == 0 ? there : NULL;
    rc = vel_placeholders_load(placeholders, &home, 1, err);
    if (rc == 0)
        rc = vel_take(&what, err);
    vel_seal_fini(&seal);
    vel_placeholders_destroy(placeholders);
    vel_conf_destroy(conf);
    free(there);
    free(home);
    return rc;
}

/* --- after --- */

/* Is a part there, with its map and a redundancy file that lists so many files? */
static bool is_part(const char *dir, int rank, size_t files)
{
    char *level = strdup(in(dir, "c/u/id/index.0"));
    char part[400], *map_path = vel_cache_map_path(level, ID, rank);
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
                                     &vel_redfile_at(&red, 0)->header, NULL) == 0;
        vel_redfiles_fini(&red);
    }
    if (is && (is = vel_filemap_load(vel_fs_posix(), map_path, &map, NULL) == 0)) {
        is = vel_reddesc_from_node(map.descriptor, &desc, NULL) == 0;
        if (is)
            vel_reddesc_fini(&desc);
        vel_filemap_fini(&map);
    }
    free(map_path);
    free(level);
    return is;
}

/* Whole: where it was, or in the part, by its present name or, when the prefix could
 * not tell, its old one. */
static bool is_somewhere(const char *dir)
{
    const char *part = "c/u/id/index.0/dataset.7/rank.0/d";

    return tap_file_is(in(dir, "c/u/id/index.0/new.1/rank.0/d/a.0"), "d/a.0") ||
           tap_file_is(in(in(dir, part), "A.0"), "d/a.0") ||
           tap_file_is(in(in(dir, part), "a.0"), "d/a.0");
}

/* Does new.1 still say that it has it? */
static bool is_listed(const char *dir)
{
    struct vel_vec files;
    bool is = false;

    if (vel_part_new_files(vel_fs_posix(), in(dir, "c/u/id/index.0/new.1"), 0, &files,
                           NULL) < 0)
        return true;
    for (size_t i = 0; i < files.n; i++)
        is |=
            strcmp(((struct vel_new_file *)vel_vec_at(&files, i))->name, "d/a.0") == 0;
    vel_new_files_fini(&files);
    return is;
}

/* The file that came late is left where it was, with its placeholder. */
static bool has_late(const char *dir)
{
    return tap_file_is(in(dir, "c/u/id/index.0/new.1/rank.0/late.0"), "late.0") &&
           access(in(dir, "c/u/id/index.0/new.1/anchors.0"), F_OK) == 0;
}

/* What is taken under which names, with where it stands. */
static bool has_anchors(const char *dir)
{
    struct vel_vec anchors;
    bool has;

    if (vel_anchors_load(vel_fs_posix(), in(dir, "c/u/id/index.0/dataset.7/anchors.0"),
                         &anchors, NULL) < 0)
        return false;
    has =
        anchors.n == 1 &&
        strcasecmp(((struct vel_anchor *)vel_vec_at(&anchors, 0))->name, "d/A.0") == 0;
    vel_anchors_fini(&anchors);
    return has;
}

static enum sweep_state check(const char *dir, void *arg)
{
    bool moved = access(in(dir, "c/u/id/index.0/dataset.7/rank.0/d"), F_OK) == 0;
    bool owes = access(in(dir, "c/u/id/index.0/dataset.7/owed.n0"), F_OK) == 0;

    if (!is_somewhere(dir) || (!arg && !has_late(dir))) {
        note("a file is not where it can be");
        return SWEEP_BROKEN;
    }
    if (moved && !owes) {
        note("a file was taken before anything was owed");
        return SWEEP_BROKEN;
    }
    return !is_listed(dir) && is_part(dir, 0, 1) && is_part(dir, 1, 0) &&
                   has_anchors(dir) && owes &&
                   (!arg || access(in(dir, "c/u/id/index.0/new.1"), F_OK) < 0)
               ? SWEEP_NEW
               : SWEEP_OLD;
}

/* --- plainly --- */

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
    unlink(in(dir, "c/u/id/index.0/dataset.7/owed.n0"));
    is_int(take(vel_fs_posix(), dir, NULL, &err), 0, "once more");
    ok(access(in(dir, "c/u/id/index.0/dataset.7/owed.n0"), F_OK) < 0,
       "what was done is not owed again");
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
    const struct vel_new_key key = {
        .launch = launch, .template = template, .step = step, .generation = 1};
    struct vel_vec found;
    int64_t number;
    int rc;

    (void)arg;
    vel_vec_init(&found, sizeof(struct vel_part_new));
    rc = vel_parts_new_scan(fs, in(dir, "c/u/id"), &found, err);
    if (rc == 0)
        rc = vel_part_new_make(fs, in(dir, "c/u/id/index.0"), &key, &number, err);
    vel_parts_new_fini(&found);
    return rc;
}

/* Who has made one finds it, and all that is there has a key. */
static enum sweep_state check_made(const char *dir, void *arg)
{
    const char *level = in(dir, "c/u/id/index.0");
    int with = 0, without = 0;
    struct vel_vec found;

    (void)arg;
    vel_vec_init(&found, sizeof(char *));
    must(vel_fs_list(vel_fs_posix(), level, &found, NULL), &(struct vel_err){0});
    for (size_t i = 0; i < found.n; i++) {
        const char *name = *(char **)vel_vec_at(&found, i);

        if (strncmp(name, "new.", 4) != 0)
            continue;
        bool has = access(in(in(level, name), "about"), F_OK) == 0;
        with += has;
        without += !has;
    }
    vel_fs_names_fini(&found);
    return with > 1 && without == 0 ? SWEEP_NEW : SWEEP_OLD;
}

/* A file system on which somebody scans just before a record gets its name. */
static const char *scanned;

static int rename_after_scan(struct vel_fs *fs, const char *from, const char *to)
{
    struct vel_vec found;
    const char *home = scanned;

    (void)fs;
    scanned = NULL;
    vel_vec_init(&found, sizeof(struct vel_part_new));
    if (home)
        vel_parts_new_scan(vel_fs_posix(), home, &found, NULL);
    vel_parts_new_fini(&found);
    return vel_fs_posix()->ops->rename(vel_fs_posix(), from, to);
}

static void made_while_scanned(void)
{
    struct vel_fs_ops ops = *vel_fs_posix()->ops;
    struct vel_fs fs = {.ops = &ops};
    const char *dir = tap_path("scanned");
    struct vel_err err = {0};

    tap_fresh_dir(dir);
    prepare(dir, NULL);
    ops.rename = rename_after_scan;
    scanned = in(dir, "c/u/id");
    ok(make(&fs, dir, NULL, &err) == 0 && !scanned &&
           check_made(dir, NULL) == SWEEP_NEW,
       "who makes a place while another looks what is there has one");
}

/* --- which version --- */

static bool is_newest_in(struct vel_placeholders *all, const char *dir,
                         const char *base)
{
    char *found = NULL, *name = NULL;
    int64_t rank;
    int rc = vel_placeholders_whose(all, in(dir, "p/x.h5"), &found, &rank, &name, NULL);
    bool is = rc == 0 && strcmp(strrchr(found, '/') + 1, base) == 0;

    if (!is)
        note("it is that of %s", rc == 0 ? found : "nobody");
    free(found);
    free(name);
    return is;
}

/* A name is written twice, and a dataset that is sealed afterwards has a link to the
 * first version. */
static void linked_later(void)
{
    static const char *const dirs[] = {"dataset.9", "dataset.10", "new.3"};
    struct vel_placeholders *all = vel_placeholders_create(vel_fs_posix());
    const char *dir = tap_path("linked");
    struct vel_placeholder_file of[3];
    char places[3][600], home[600];
    char *homes[] = {strcpy(home, in(dir, "c"))};
    const struct vel_stub_maker maker = {.launch = "L"};
    struct vel_err err = {0};

    tap_fresh_dir(dir);
    tap_fresh_dir(in(dir, "p"));
    for (int i = 0; i < 3; i++) {
        snprintf(places[i], sizeof places[i], "%s/%s", in(dir, "c/index.0"), dirs[i]);
        must(vel_fs_make_dirs(vel_fs_posix(), places[i], 0700, &err), &err);
        of[i] = (struct vel_placeholder_file){places[i], 0, "x.h5"};
    }
    must(vel_placeholders_set(all, &of[0], in(dir, "p/x.h5"), &maker, &err), &err);
    must(vel_placeholders_set(all, &of[2], in(dir, "p/x.h5"), &maker, &err), &err);
    must(vel_placeholders_share(all, &of[0], &of[1], in(dir, "p/x.h5"), &err), &err);
    ok(is_newest_in(all, dir, "new.3"),
       "a link to an older version that is made later is no newer version");
    vel_placeholders_destroy(all);
    all = vel_placeholders_create(vel_fs_posix());
    must(vel_placeholders_load(all, homes, 1, &err), &err);
    ok(is_newest_in(all, dir, "new.3"), "nor is it for the next leader");
    must(vel_placeholders_forget(all, places[2], -1, &err), &err);
    ok(is_newest_in(all, dir, "dataset.10"), "of datasets the highest has the newest");
    vel_placeholders_destroy(all);
}

/* A dataset has a link to a file that an older one has published. */
static void linked_published(void)
{
    struct vel_placeholders *all = vel_placeholders_create(vel_fs_posix());
    const char *dir = tap_path("published");
    const struct vel_placeholder_file older = {in(dir, "dataset.1"), 0, "x.h5"},
                                      newer = {in(dir, "dataset.2"), 0, "x.h5"};
    enum vel_anchor_now now = VEL_ANCHOR_STANDS;
    char *path = NULL;
    struct vel_err err = {0};

    tap_fresh_dir(dir);
    tap_fresh_dir(newer.dir);
    tap_put_file(in(dir, "x.h5"), "somebody's");
    must(vel_placeholders_share(all, &older, &newer, in(dir, "x.h5"), &err), &err);
    must(vel_placeholders_follow(all, &newer, &now, &path, &err), &err);
    ok(now == VEL_ANCHOR_UNLINKED,
       "what an older dataset has published is not published again");
    free(path);
    vel_placeholders_destroy(all);
}

int main(void)
{
    const struct sweep sweep = {
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
    made_while_scanned();
    linked_later();
    linked_published();
    return done_testing();
}
