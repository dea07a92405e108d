/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conf/file.h"
#include "conf/load.h"
#include "jobs/take.h"
#include "meta/cache.h"
#include "meta/paths.h"
#include "tap/files.h"
#include "tap/partlab.h"
#include "tap/tap.h"

enum { RANKS = 4 };

/* Rank 0 has a file in a directory and, unless an argument says otherwise, a late one,
 * rank 1 none; the others are on another node. */
static const char *const names[] = {"d/a.0", "late.0"}, *const spilt[] = {"d/b.1"};
bool partlab_is_spilt;

const char *partlab_in(const char *dir, const char *name)
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

void partlab_must(int rc, const struct vel_err *err)
{
    if (rc < 0)
        bail_out("%s", err->text);
}

/* The level has a store of its own. */
bool partlab_is_far;
const char *const partlab_caches[] = {"c/u/id", "f/u/id"};

/* Where its parts are, or are to be: in the store of the level, or where the files are
 * when that refuses. */
const char *partlab_cache_of_parts(const char *dir)
{
    const char *there =
        partlab_in(partlab_in(dir, partlab_caches[1]), "index.1/dataset.7");

    return partlab_is_far && access(there, F_OK) == 0 ? partlab_caches[1]
                                                      : partlab_caches[0];
}

const char *partlab_dataset_dir(const char *dir)
{
    return partlab_in(partlab_in(dir, partlab_cache_of_parts(dir)),
                      partlab_is_far ? "index.1/dataset.7" : "index.0/dataset.7");
}

/* --- before --- */

static const char launch_name[] = "L";

struct vel_batches *partlab_begin(struct vel_fs *fs, const char *dir, int cache)
{
    static char homes[2][600]; /* borrowed; there is one of each at a time */
    struct vel_batches_of of = {
        .fs = fs,
        .clock = vel_clock_system(),
        .home = strcpy(homes[cache], partlab_in(dir, partlab_caches[cache])),
        .node = "n0",
        .launch = launch_name};
    struct vel_batches *made;
    struct vel_err err = {0};

    partlab_must(vel_batches_create(&of, &made, &err), &err);
    return made;
}

static int put_file(struct vel_fs *fs, const char *path, const char *text,
                    struct vel_err *err)
{
    int fd = -1,
        rc = vel_fs_open(fs, path, O_WRONLY | O_CREAT | O_TRUNC, 0600, &fd, err);

    if (rc == 0)
        rc = vel_fs_write_at(fs, fd, text, strlen(text), 0, path, err);
    vel_fs_close(fs, fd, path, NULL);
    return rc;
}

/* In a batch of its own. The first of the first launch in each cache is 1.0/1. */
static int put_new(struct vel_fs *fs, const char *dir, int cache, int64_t rank,
                   const char *const *called, int files, struct vel_err *err)
{
    struct vel_batches *batches = partlab_begin(fs, dir, cache);
    struct vel_placeholders *placeholders = vel_placeholders_create(fs, &batches, 1);
    char launch[] = "L", template[] = "t", step[] = "1";
    const struct vel_batch_key key = {
        .launch = launch, .template = template, .step = step, .generation = 1};
    char *made = NULL;
    int rc = vel_batches_adopt(batches, err);

    if (rc == 0)
        rc = vel_batches_make(batches, &key, 0, 0, &made, err);
    for (int i = 0; rc == 0 && i < files; i++) {
        const struct vel_placeholder_file of = {made, rank, called[i]};
        const struct vel_stub_maker maker = {.launch = "L"};
        char *path = NULL;

        rc = vel_batches_open(batches, made, rank, called[i], &path, err);
        if (rc == 0)
            rc = put_file(fs, path, called[i], err);
        free(path);
        if (rc == 0)
            rc = vel_placeholders_set(placeholders, &of,
                                      partlab_in(partlab_in(dir, "p"), called[i]),
                                      &maker, err);
        if (rc == 0)
            rc = vel_batches_close(batches, made, rank, called[i], i + 1, 5, err);
    }
    free(made);
    vel_placeholders_destroy(placeholders);
    vel_batches_destroy(batches);
    return rc;
}

static void make_dirs(const char *dir)
{
    static const char *const dirs[] = {"p",      "p/d", "c",   "c/u",
                                       "c/u/id", "f",   "f/u", "f/u/id"};

    for (size_t i = 0; i < sizeof dirs / sizeof dirs[0]; i++)
        tap_fresh_dir(partlab_in(dir, dirs[i]));
}

void partlab_prepare(const char *dir, void *arg)
{
    struct vel_err err = {0};

    make_dirs(dir);
    partlab_must(put_new(vel_fs_posix(), dir, 0, 0, names, arg ? 1 : 2, &err), &err);
    if (partlab_is_spilt)
        partlab_must(put_new(vel_fs_posix(), dir, 1, 1, spilt, 1, &err), &err);
    /* written to another name, and renamed */
    rename(partlab_in(dir, "p/d/a.0"), partlab_in(dir, "p/d/A.0"));
}

/* --- taken --- */

bool partlab_has_none; /* of files: no part has */

static void make_seal(struct vel_seal *seal)
{
    char nodes[2][4] = {"n0", "n1"};
    struct vel_err err = {0};

    vel_seal_init(seal);
    seal->id = PARTLAB_ID;
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
                                         .level = partlab_is_far,
                                         .scheme = VEL_XOR,
                                         .failures = 1,
                                         .files = (i == 0 && !partlab_has_none) ||
                                                  (i == 1 && partlab_is_spilt),
                                         .upto = i <= partlab_is_spilt};

        partlab_must(vel_seal_add(seal, &member, &err), &err);
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
    partlab_must(vel_conf_create(&conf, &err), &err);
    partlab_must(vel_conf_parse(conf, VEL_LAYER_USER, "t.conf", text, strlen(text),
                                NULL, NULL, &err),
                 &err);
    partlab_must(vel_conf_finish(conf, &err), &err);
    return conf;
}

/* Its partlab_caches are different file systems. */
bool partlab_is_apart;
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

int partlab_take(struct vel_fs *fs, const char *dir, void *arg, struct vel_err *err)
{
    char name[] = "t";
    struct vel_dataset dataset = {.id = PARTLAB_ID,
                                  .name = name,
                                  .version = 1,
                                  .checkpoint = 1,
                                  .use = 1,
                                  .ranks = RANKS,
                                  .nodes = 2,
                                  .files = 1,
                                  .bytes = 5};
    struct vel_conf *conf = make_conf(dir);
    struct vel_batches *batches[] = {partlab_begin(fs, dir, 0),
                                     partlab_begin(fs, dir, 1)};
    struct vel_placeholders *placeholders =
        vel_placeholders_create(fs, batches, partlab_is_far ? 2 : 1);
    char *homes[] = {strdup(partlab_in(dir, partlab_caches[0])),
                     strdup(partlab_in(dir, partlab_caches[1]))};
    char *there = strdup(partlab_dataset_dir(dir));
    struct vel_take what = {.fs = fs,
                            .conf = conf,
                            .node = "n0",
                            .launch = "L",
                            .prefix = partlab_in(dir, "p"),
                            .homes = homes,
                            .batches = batches,
                            .n_homes = partlab_is_far ? 2 : 1,
                            .placeholders = placeholders,
                            .dataset = &dataset};
    struct vel_seal seal;
    int rc;

    (void)arg;
    make_seal(&seal);
    what.seal = &seal;
    what.home = access(there, F_OK) == 0 ? there : NULL;
    rc = vel_placeholders_load(placeholders, err);
    for (int i = 0; rc == 0 && i < (partlab_is_far ? 2 : 1); i++)
        rc = vel_batches_adopt(batches[i], err);
    if (rc == 0)
        rc = partlab_is_apart ? take_apart(fs, &what, err) : vel_take(&what, err);
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

/* --- from the beginning --- */

void partlab_prepare_nothing(const char *dir, void *arg)
{
    (void)arg;
    make_dirs(dir);
}

/* What a loss of power has left of an attempt before: none that is not whole counts. */
static int look_before(struct vel_fs *fs, const char *dir, bool *ret_has,
                       struct vel_err *err)
{
    struct vel_batches *batches = partlab_begin(fs, dir, 0);
    struct vel_vec found;
    int rc = vel_batches_adopt(batches, err);

    vel_vec_init(&found, sizeof(struct vel_batch));
    if (rc == 0)
        rc = vel_batches_list(batches, &found, err);
    for (size_t i = 0; rc == 0 && i < found.n; i++) {
        const struct vel_batch *batch = vel_vec_at(&found, i);
        const struct vel_batch_rank *rank = vel_batch_rank(batch, 0);
        const struct vel_batch_file *file =
            rank ? vel_batch_file(rank, names[0]) : NULL;
        char *path = NULL;

        if (!file)
            continue;
        rc = vel_batch_path(batch->dir, 0, names[0], &path, err);
        if (rc == 0 && file->order > 0 && tap_file_is(path, names[0]))
            *ret_has = true;
        else if (rc == 0)
            rc = vel_batches_give_up(batches, batch->dir, 0, names[0], err);
        free(path);
    }
    vel_batch_list_fini(&found);
    vel_batches_destroy(batches);
    return rc;
}

int partlab_write_and_take(struct vel_fs *fs, const char *dir, void *arg,
                           struct vel_err *err)
{
    bool has =
        tap_file_is(partlab_in(partlab_dataset_dir(dir), "rank.0/d/a.0"), names[0]);
    int rc = has ? 0 : look_before(fs, dir, &has, err);

    if (rc == 0 && !has)
        rc = put_new(fs, dir, 0, 0, names, 1, err);
    return rc == 0 ? partlab_take(fs, dir, arg, err) : rc;
}
