/* SPDX-License-Identifier: BSD-3-Clause */
/* What becomes of a session's dataset on the prefix, with a crash, a failure and a loss
 * of power at every operation: said again it is done. */
#include "config.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ident/once.h"
#include "jobs/mark.h"
#include "meta/current.h"
#include "meta/ids.h"
#include "meta/paths.h"
#include "tap/files.h"
#include "tap/indexlab.h"
#include "tap/sweep.h"
#include "tap/tap.h"
#include "xfer/crew.h"
#include "xfer/stands.h"
#include "xfer/temp.h"

enum { FILES = 2, LISTS = 2 };

/* A prefix in a directory of the test; `fs` is that of the action. */
struct lab {
    struct vel_fs *fs;
    char prefix[600], dir[700];
};

static void must(int rc, const struct vel_err *err)
{
    if (rc < 0)
        bail_out("%s", err->text);
}

static struct lab lab_in(struct vel_fs *fs, const char *dir)
{
    struct lab lab = {.fs = fs};

    snprintf(lab.prefix, sizeof lab.prefix, "%s", dir);
    snprintf(lab.dir, sizeof lab.dir, "%s/.veloc", dir);
    return lab;
}

/* --- who does it --- */

static int no_rivals(void *arg, const struct vel_entry *entry, struct vel_err *err)
{
    (void)arg, (void)entry, (void)err;
    return 0;
}

static struct vel_entry entry_of(int64_t id, enum vel_place_on_prefix place)
{
    return (struct vel_entry){.dataset = {.id = id,
                                          .name = (char *)(uintptr_t) "ck",
                                          .version = id,
                                          .checkpoint = id,
                                          .use = VEL_USE_CHECKPOINT,
                                          .ranks = LISTS,
                                          .nodes = LISTS,
                                          .files = FILES * LISTS},
                              .place = place,
                              .lists = LISTS};
}

static int mark(struct lab *lab, enum vel_mark what, int64_t id, struct vel_err *err)
{
    const struct vel_flushing flushing = {
        .fs = lab->fs,
        .clock = vel_clock_system(),
        .prefix = lab->prefix,
        .dir = lab->dir,
        .index = indexlab_keep(lab->fs, lab->dir),
        .node = "here",
        .copy = {.fs = lab->fs, .clock = vel_clock_system()}};
    const struct vel_marking marking = {
        .flushing = &flushing, .settle_rivals = no_rivals, .arg = lab};
    struct vel_entry entry = entry_of(id, VEL_ON_CACHE);
    struct vel_buf record;
    int rc;

    vel_buf_init(&record);
    must(vel_entry_encode(&entry, &record, err), err);
    rc = vel_mark(&marking, what, id, record.data, record.len, err);
    vel_buf_fini(&record);
    return rc;
}

/* --- a dataset of two files in each of two lists --- */

static void path_of(const struct lab *lab, int64_t id, int list, int file, char *ret,
                    size_t room)
{
    snprintf(ret, room, "%s/out/ck.%" PRId64 ".%d.%d", lab->prefix, id, list, file);
}

static void list_file(const struct lab *lab, const char *at, int64_t id, int list,
                      int file, struct vel_vec *files)
{
    struct vel_listed listed = {.rank = list, .container = -1};
    struct vel_crew crew = {
        .fs = lab->fs, .clock = vel_clock_system(), .copy = {.fs = lab->fs}};
    struct vel_err err = {0};
    char name[64];

    snprintf(name, sizeof name, "out/ck.%" PRId64 ".%d.%d", id, list, file);
    listed.name = strdup(name);
    must(vel_stands_record(&crew, at, &listed, &err), &err);
    if (!listed.name || !vel_vec_push(files, &listed))
        bail_out("no memory");
}

/* Its files, under their names or under temporary ones of a session. */
static void put_files(const struct lab *lab, int64_t id, bool are_named)
{
    struct vel_err err = {0};
    char path[800], text[64];

    snprintf(path, sizeof path, "%s/out", lab->prefix);
    must(vel_fs_make_dirs(lab->fs, path, 0777, &err), &err);
    snprintf(path, sizeof path, "%s/dataset.%" PRId64, lab->dir, id);
    must(vel_fs_make_dirs(lab->fs, path, 0777, &err), &err);
    snprintf(path, sizeof path, "%s/launch.lab", lab->dir);
    must(vel_fs_make_dirs(lab->fs, path, 0700, &err), &err);
    for (int l = 0; l < LISTS; l++) {
        struct vel_vec files;

        vel_vec_init(&files, sizeof(struct vel_listed));
        for (int i = 0; i < FILES; i++) {
            char *temporary = NULL;

            path_of(lab, id, l, i, path, sizeof path);
            must(vel_xfer_temp_name(path, (uint64_t)id, &temporary, &err), &err);
            snprintf(text, sizeof text, "of %" PRId64 ", %d %d", id, l, i);
            tap_put_file(are_named ? path : temporary, text);
            list_file(lab, are_named ? path : temporary, id, l, i, &files);
            free(temporary);
        }
        must(vel_filelist_save(lab->fs, lab->dir, id, l, &files, true, &err), &err);
        vel_filelist_fini(&files);
    }
}

static void put_entry(const struct lab *lab, int64_t id, enum vel_place_on_prefix place)
{
    struct vel_entry entry = entry_of(id, place);
    struct vel_err err = {0};

    must(indexlab_save(lab->fs, lab->dir, &entry, &err), &err);
}

/* How many of its files stand at their names. */
static int standing(const struct lab *lab, int64_t id)
{
    char path[800];
    int n = 0;

    for (int l = 0; l < LISTS; l++)
        for (int i = 0; i < FILES; i++) {
            path_of(lab, id, l, i, path, sizeof path);
            n += access(path, F_OK) == 0;
        }
    return n;
}

/* -1: it has no entry. */
static int place_of(const struct lab *lab, int64_t id)
{
    struct vel_entry entry = {0};
    int place = -1;

    if (indexlab_load(vel_fs_posix(), lab->dir, id, &entry, NULL) == 0)
        place = (int)entry.place;
    vel_entry_fini(&entry);
    return place;
}

static bool has_dir(const struct lab *lab, int64_t id)
{
    char *dir = vel_dataset_dir(lab->dir, id);
    bool has = dir && access(dir, F_OK) == 0;

    free(dir);
    return has;
}

/* --- sweeps --- */

static void make_published(const char *dir, void *arg)
{
    struct lab lab = lab_in(vel_fs_posix(), dir);

    (void)arg;
    put_files(&lab, 7, true);
    put_entry(&lab, 7, VEL_ON_PREFIX);
}

static void make_written(const char *dir, void *arg)
{
    struct lab lab = lab_in(vel_fs_posix(), dir);

    (void)arg;
    put_files(&lab, 7, false);
}

static int act(struct vel_fs *fs, const char *dir, void *arg, struct vel_err *err)
{
    struct lab lab = lab_in(fs, dir);

    return mark(&lab, *(enum vel_mark *)arg, 7, err);
}

/* Nobody takes one for whole that has lost a file. */
static enum sweep_state check_removed(const char *dir, void *arg)
{
    struct lab lab = lab_in(vel_fs_posix(), dir);
    int place = place_of(&lab, 7), n = standing(&lab, 7);

    (void)arg;
    if (place == VEL_ON_PREFIX && n == FILES * LISTS)
        return SWEEP_OLD;
    if (place == VEL_ON_PREFIX || (place < 0 && n > 0)) {
        note("the entry says %d, and %d files stand", place, n);
        return SWEEP_BROKEN;
    }
    return place < 0 && !has_dir(&lab, 7) ? SWEEP_NEW : SWEEP_OLD;
}

static enum sweep_state check_withdrawn(const char *dir, void *arg)
{
    struct lab lab = lab_in(vel_fs_posix(), dir);
    int place = place_of(&lab, 7), n = standing(&lab, 7);

    (void)arg;
    if (place < 0 || (place == VEL_ON_PREFIX && n < FILES * LISTS)) {
        note("the entry says %d, and %d files stand", place, n);
        return SWEEP_BROKEN;
    }
    return place == VEL_ON_CACHE && n == 0 ? SWEEP_NEW : SWEEP_OLD;
}

static enum sweep_state check_staged(const char *dir, void *arg)
{
    struct lab lab = lab_in(vel_fs_posix(), dir);
    int place = place_of(&lab, 7), n = standing(&lab, 7);

    (void)arg;
    if ((place == VEL_ON_PREFIX && n < FILES * LISTS) ||
        (place < VEL_ON_STAGED && n > 0)) {
        note("the entry says %d, and %d files stand", place, n);
        return SWEEP_BROKEN;
    }
    return place == VEL_ON_PREFIX ? SWEEP_NEW : SWEEP_OLD;
}

/* What a session has staged has such names; those of claims are other tests'. */
static bool is_never(const char *name)
{
    (void)name;
    return false;
}

static void sweeps(void)
{
    enum vel_mark remove = VEL_MARK_REMOVE, withdraw = VEL_MARK_WITHDRAW,
                  stage = VEL_MARK_STAGE;

    sweep_run(&(struct sweep){.name = "a dataset leaves the prefix",
                              .prepare = make_published,
                              .action = act,
                              .check = check_removed,
                              .arg = &remove,
                              .is_lazy = true,
                              .is_temporary = indexlab_is_temporary});
    sweep_run(&(struct sweep){.name = "it does, and caches hold it",
                              .prepare = make_published,
                              .action = act,
                              .check = check_withdrawn,
                              .arg = &withdraw,
                              .is_lazy = true,
                              .is_temporary = indexlab_is_temporary});
    sweep_run(&(struct sweep){.name = "what a session has staged gets its names",
                              .prepare = make_written,
                              .action = act,
                              .check = check_staged,
                              .arg = &stage,
                              .is_temporary = is_never});
}

/* --- the others --- */

static struct lab fresh(const char *name)
{
    return lab_in(vel_fs_posix(), tap_path(name));
}

static void said(void)
{
    struct lab lab = fresh("said");
    struct vel_entry entry = {0};
    struct vel_err err = {0};
    int64_t current;

    put_files(&lab, 3, true);
    is_int(mark(&lab, VEL_MARK_FETCH, 3, &err), VEL_ENOENT,
           "nothing is said of what is not in the index: %s", err.text);
    must(mark(&lab, VEL_MARK_ENTER, 3, &err), &err);
    is_int(place_of(&lab, 3), VEL_ON_CACHE, "a dataset of the caches is entered");
    put_entry(&lab, 3, VEL_ON_PREFIX);
    must(mark(&lab, VEL_MARK_ENTER, 3, &err), &err);
    is_int(place_of(&lab, 3), VEL_ON_PREFIX, "what leaders know of it stays");
    must(mark(&lab, VEL_MARK_EVICT, 3, &err), &err);
    is_int(place_of(&lab, 3), VEL_ON_PREFIX,
           "who evicts it from the caches takes nothing from the prefix");
    must(mark(&lab, VEL_MARK_CURRENT, 3, &err), &err);
    current = indexlab_current(lab.fs, lab.dir);
    is_int(current, 3, "it is current");
    must(mark(&lab, VEL_MARK_FAIL, 3, &err), &err);
    must(mark(&lab, VEL_MARK_REFUSE, 3, &err), &err);
    must(indexlab_load(lab.fs, lab.dir, 3, &entry, &err), &err);
    ok(entry.fetched > 0 && entry.failed > 0 && entry.refused > 0,
       "a fetch, its failure and a refusal are noted");
    vel_entry_fini(&entry);
    must(mark(&lab, VEL_MARK_REFUSE, 4, &err), &err);
    must(indexlab_load(lab.fs, lab.dir, 4, &entry, &err), &err);
    ok(entry.refused > 0, "what has no entry is refused as well");
    vel_entry_fini(&entry);
}

static void gone(void)
{
    struct lab lab = fresh("gone");
    struct vel_err err = {0};
    char path[800];

    put_files(&lab, 1, true);
    put_entry(&lab, 1, VEL_ON_PREFIX);
    put_files(&lab, 2, true);
    put_entry(&lab, 2, VEL_ON_PREFIX);
    path_of(&lab, 1, 0, 0, path, sizeof path);
    tap_put_file(path, "written by another");
    must(mark(&lab, VEL_MARK_REPLACE, 2, &err), &err);
    must(mark(&lab, VEL_MARK_REMOVE, 1, &err), &err);
    ok(standing(&lab, 1) == 1, "a file that another has written since stays");
    must(mark(&lab, VEL_MARK_DROP, 2, &err), &err);
    must(mark(&lab, VEL_MARK_FORGET, 2, &err), &err);
    ok(place_of(&lab, 2) < 0 && standing(&lab, 2) == FILES * LISTS,
       "a dataset that is forgotten leaves its files");
    snprintf(path, sizeof path, "%s/dropped.2", lab.dir);
    must(mark(&lab, VEL_MARK_UNDROP, 2, &err), &err);
    ok(access(path, F_OK) != 0, "its tombstone goes");
    put_entry(&lab, 9, VEL_ON_CACHE);
    must(mark(&lab, VEL_MARK_EVICT, 9, &err), &err);
    must(mark(&lab, VEL_MARK_EVICT, 9, &err), &err);
    is_int(place_of(&lab, 9), -1, "what no cache has any more leaves the index");
}

static void replaced(void)
{
    struct lab lab = fresh("replaced");
    struct vel_entry entry = {0};
    struct vel_err err = {0};
    char path[800];

    for (int64_t id = 1; id <= 3; id++) {
        put_files(&lab, id, true);
        put_entry(&lab, id, VEL_ON_PREFIX);
    }
    path_of(&lab, 1, 1, 1, path, sizeof path);
    tap_put_file(path, "of 3, which has a file of that name");
    must(mark(&lab, VEL_MARK_REPLACE, 3, &err), &err);
    must(indexlab_load(lab.fs, lab.dir, 1, &entry, &err), &err);
    is_int(entry.replaced, 3, "who has lost a file is replaced");
    vel_entry_fini(&entry);
    must(indexlab_load(lab.fs, lab.dir, 2, &entry, &err), &err);
    is_int(entry.replaced, 0, "and nobody else");
    vel_entry_fini(&entry);
}

/* Its files are not what was listed: newer ones are not kept from their names. */
static void lost(void)
{
    struct lab lab = fresh("lost");
    struct vel_entry entry = {0};
    struct vel_err err = {0};
    char path[800], *temporary = NULL;

    put_files(&lab, 5, false);
    path_of(&lab, 5, 1, 0, path, sizeof path);
    must(vel_xfer_temp_name(path, 5, &temporary, &err), &err);
    unlink(temporary);
    ok(mark(&lab, VEL_MARK_STAGE, 5, &err) < 0, "what is lost is not published: %s",
       err.text);
    must(indexlab_load(lab.fs, lab.dir, 5, &entry, &err), &err);
    ok(entry.place == VEL_ON_STAGED && entry.failed > 0, "and has failed for good");
    vel_entry_fini(&entry);
    free(temporary);
}

int main(void)
{
    sweeps();
    said();
    gone();
    replaced();
    lost();
    return done_testing();
}
