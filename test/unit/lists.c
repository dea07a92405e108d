/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the files of a dataset are on the prefix: few are told by its entry, and leave
 * no record; many by records. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jobs/sweep_temps.h"
#include "meta/paths.h"
#include "tap/filelab.h"
#include "tap/files.h"
#include "tap/flushlab.h"
#include "tap/fs_fault.h"
#include "tap/indexlab.h"
#include "tap/tap.h"
#include "xfer/flush.h"

static struct vel_err err;

static void must(int rc)
{
    if (rc < 0)
        bail_out("%s", err.text);
}

static bool has_dir(const char *veloc, int64_t id)
{
    char *dir = vel_dataset_dir(veloc, id);
    bool has = vel_fs_exists(vel_fs_posix(), dir);

    free(dir);
    return has;
}

/* Files that the lists of a dataset tell of. */
static int count_listed(const char *veloc, int64_t id, int lists)
{
    int n = 0;

    for (int l = 0; l < lists; l++) {
        struct vel_vec files;

        if (indexlab_files(vel_fs_posix(), veloc, id, l, &files, NULL) < 0)
            return -1;
        n += (int)files.n;
        vel_filelist_fini(&files);
    }
    return n;
}

static bool are_all_listed(const struct flushlab *lab, int64_t id)
{
    return count_listed(lab->dir, id, FLUSHLAB_RANKS) ==
           FLUSHLAB_RANKS * FLUSHLAB_FILES;
}

static void stage(struct flushlab *lab, const char *name)
{

    flushlab_init(lab, name, 100000);
    flushlab_parts(lab, 1);
    flushlab_begin(lab, 1, 1);
    if (!flushlab_copy_all(lab, 1, 1) ||
        flushlab_owner(lab, 1, 1, vel_flushing_stage, &err) < 0)
        bail_out("%s", err.text);
}

/* The next owner goes on with what is staged. */
static bool go_on(const struct flushlab *lab)
{
    struct flushlab_node node;
    struct vel_entry entry;
    int rc;

    flushlab_claim(lab, 1, 2);
    flushlab_node(lab, vel_fs_posix(), 1, 2, 0, &node);
    rc = vel_flushing_settle(
        &node.flushing, &(struct vel_flush_job){.id = 1, .owner = 2}, 0, &entry, &err);
    if (rc < 0)
        note("%s", err.text);
    else
        vel_entry_fini(&entry);
    return rc == 0 && flushlab_place(lab, 1, NULL) == VEL_ON_PREFIX &&
           flushlab_shows_all(lab, 1, 1) && flushlab_strays(lab) == 0;
}

static void few(void)
{
    struct flushlab lab;
    struct vel_entry entry;

    flushlab_init(&lab, "few", 100000);
    flushlab_parts(&lab, 1);
    ok(flushlab_flush(&lab, 1, 1) && !has_dir(lab.dir, 1) && are_all_listed(&lab, 1),
       "the entry of a dataset with few files lists them, and no record does");
    if (indexlab_load(vel_fs_posix(), lab.dir, 1, &entry, &err) < 0)
        bail_out("%s", err.text);
    entry.fetched = 1;
    ok(indexlab_save(vel_fs_posix(), lab.dir, &entry, &err) == 0 &&
           are_all_listed(&lab, 1),
       "so it is when something else is said of it");
    entry.place = VEL_ON_CACHE;
    is_int(indexlab_save(vel_fs_posix(), lab.dir, &entry, &err), 0,
           "and when nothing of it is on the prefix any more");
    is_int(count_listed(lab.dir, 1, 1), -1, "nothing is listed");
    vel_entry_fini(&entry);
}

/* What a power loss may leave of records that were not synced. */
static void lost(void)
{
    struct flushlab lab;
    char *path;
    FILE *torn;

    stage(&lab, "gone");
    for (int l = 0; l < FLUSHLAB_RANKS; l++)
        vel_filelist_remove(vel_fs_posix(), lab.dir, 1, l);
    vel_filelist_remove_dir(vel_fs_posix(), lab.dir, 1);
    ok(!has_dir(lab.dir, 1) && go_on(&lab) && are_all_listed(&lab, 1),
       "what is staged gets its names without any record");
    stage(&lab, "torn");
    path = vel_files_path(lab.dir, 1, 1);
    torn = fopen(path, "w");
    free(path);
    if (!torn || fclose(torn) != 0)
        bail_out("cannot tear a record");
    ok(go_on(&lab) && !has_dir(lab.dir, 1) && are_all_listed(&lab, 1),
       "and beside one that was torn");
}

enum { EACH = 3 };

static const char *name_of(int rank, int file)
{
    static char name[300];

    snprintf(name, sizeof name, "ck.1.%d.%d%0200d", rank, file, 0);
    return name;
}

static void many(void)
{
    struct filelab lab;

    filelab_init(&lab, "many", 1, FILELAB_RANKS,
                 "DATASET=ck PATTERN=ck.{step}.{rank}.*\n");
    filelab_begin(&lab, "L1");
    for (int file = 0; file < EACH; file++)
        for (int rank = 0; rank < lab.ranks; rank++)
            if (filelab_write(&lab, rank, name_of(rank, file), "some bytes", &err) < 0)
                bail_out("%s", err.text);
    filelab_drain(&lab);
    filelab_end(&lab);
    ok(filelab_published(&lab) == 1 && has_dir(lab.dir, 1) &&
           count_listed(lab.dir, 1, 1) == EACH * lab.ranks,
       "many files with long names are in a record");
    filelab_lose(&lab, 0);
    filelab_begin(&lab, "L2");
    ok(filelab_reads(&lab, 3, name_of(3, 2), "some bytes"), "by which they are found");
    filelab_end(&lab);
    filelab_fini(&lab);
}

/* --- an entry and a record --- */

static struct vel_entry of_place(enum vel_place_on_prefix place)
{
    static char name[] = "ck";

    return (struct vel_entry){.dataset = {.id = 1,
                                          .name = name,
                                          .version = 1,
                                          .use = VEL_USE_CHECKPOINT,
                                          .ranks = FLUSHLAB_RANKS,
                                          .nodes = FLUSHLAB_RANKS,
                                          .files = FLUSHLAB_RANKS * FLUSHLAB_FILES},
                              .owner = 1,
                              .place = place,
                              .lists = FLUSHLAB_RANKS};
}

/* The name of the first file that counts. */
static const char *first_of(const struct flushlab *lab)
{
    static char name[300];
    struct vel_vec files;

    must(indexlab_files(vel_fs_posix(), lab->dir, 1, 0, &files, &err));
    snprintf(name, sizeof name, "%s", ((struct vel_listed *)files.items)[0].name);
    vel_filelist_fini(&files);
    return name;
}

/* Record 0, with one file; below 0: a patch. */
static void save_one(const struct flushlab *lab, const char *name, int64_t mtime)
{
    struct vel_listed file = {.name = strdup(name),
                              .container = -1,
                              .size = 7,
                              .mtime_s = mtime < 0 ? -mtime : mtime,
                              .is_patch = mtime < 0};
    struct vel_vec files;

    vel_vec_init(&files, sizeof file);
    if (!file.name || !vel_vec_push(&files, &file))
        bail_out("no memory");
    must(vel_filelist_save(vel_fs_posix(), lab->dir, 1, 0, &files, false, &err));
    vel_filelist_fini(&files);
}

static void say(const struct flushlab *lab, enum vel_place_on_prefix place)
{
    struct vel_entry entry = of_place(place);

    must(indexlab_save(vel_fs_posix(), lab->dir, &entry, &err));
}

/* Staged, with the list of one file in the entry. */
static void stage_one(struct flushlab *lab, const char *name)
{
    struct vel_entry entry = of_place(VEL_ON_STAGED);
    struct vel_entry_list list = {.list = 0};
    struct vel_listed file = {
        .name = strdup("staged"), .container = -1, .size = 7, .mtime_s = 5};
    struct vel_index *index;
    struct vel_vec lists;

    flushlab_init(lab, name, 100);
    flushlab_claim(lab, 1, 1);
    vel_vec_init(&lists, sizeof list);
    vel_vec_init(&list.files, sizeof file);
    vel_vec_push(&list.files, &file);
    vel_vec_push(&lists, &list);
    index = indexlab_open(vel_fs_posix(), lab->dir);
    must(vel_entry_save_lists(index, &entry, &lists, &err));
    vel_entry_lists_fini(&lists);
    vel_index_close(index);
}

static void both(void)
{
    struct flushlab lab;

    stage_one(&lab, "both");
    save_one(&lab, "before", 1);
    is_str(first_of(&lab), "staged",
           "a record from before it was staged does not count");
    save_one(&lab, "patch", -5);
    is_str(first_of(&lab), "staged", "nor does one that takes a file for a patch");
    save_one(&lab, "renamed", 5);
    is_str(first_of(&lab), "renamed",
           "one that has another name for the same file does");
    say(&lab, VEL_ON_FLUSHING);
    save_one(&lab, "anew", 9);
    is_str(first_of(&lab), "anew", "so does that of who copies it once more");
}

/* A record that has the right name cannot be read for once, at each operation. */
static void unread(void)
{
    struct vel_fs_fault_plan plan = {.mode = VEL_FS_FAULT_ONCE,
                                     .kinds = VEL_FS_KIND_OPEN | VEL_FS_KIND_READ |
                                              VEL_FS_KIND_LIST | VEL_FS_KIND_STAT};
    bool has_fired = true, is_good = true;
    struct flushlab lab;

    stage_one(&lab, "unread");
    save_one(&lab, "renamed", 5);
    while (has_fired) {
        struct vel_fs_fault *fault;
        struct vel_index *index;
        struct vel_vec files;

        plan.at++;
        must(vel_fs_fault_create(vel_fs_posix(), NULL, &fault, &err));
        index = indexlab_open(vel_fs_fault_fs(fault), lab.dir);
        vel_fs_fault_arm(fault, &plan);
        if (vel_index_files(index, 1, 0, &files, &err) == 0) {
            is_good = is_good && strcmp(((struct vel_listed *)files.items)[0].name,
                                        "renamed") == 0;
            vel_filelist_fini(&files);
        }
        has_fired = vel_fs_fault_fired(fault);
        vel_index_close(index);
        vel_fs_fault_destroy(fault);
    }
    ok(is_good && plan.at > 5,
       "a record that cannot be read for once is not taken for none");
}

/* --- removal --- */

static struct vel_crew crew_of(const struct flushlab *lab)
{
    return (struct vel_crew){.fs = vel_fs_posix(),
                             .prefix = lab->prefix,
                             .dir = lab->dir,
                             .index = indexlab_open(vel_fs_posix(), lab->dir)};
}

/* What was written through is the dataset's also while others are on their way. */
static void through(void)
{
    struct vel_listed file = {
        .name = strdup("direct"), .container = -1, .size = 5, .is_through = true};
    struct vel_entry entry;
    struct vel_crew crew;
    struct flushlab lab;
    struct vel_vec files;
    struct stat st;
    char path[800];

    flushlab_init(&lab, "through", 100);
    flushlab_begin(&lab, 1, 1);
    snprintf(path, sizeof path, "%s/direct", lab.prefix);
    tap_put_file(path, "bytes");
    must(vel_fs_lstat(vel_fs_posix(), path, &st, &err));
    file.mtime_s = st.st_mtim.tv_sec;
    file.mtime_ns = (uint32_t)st.st_mtim.tv_nsec;
    vel_vec_init(&files, sizeof file);
    vel_vec_push(&files, &file);
    must(vel_filelist_save(vel_fs_posix(), lab.dir, 1, 0, &files, false, &err));
    vel_filelist_fini(&files);
    must(indexlab_load(vel_fs_posix(), lab.dir, 1, &entry, &err));
    crew = crew_of(&lab);
    must(vel_flush_remove(&crew, &entry, &err));
    ok(!vel_fs_exists(vel_fs_posix(), path),
       "removed in mid-flush, what was written through goes as well");
    vel_entry_fini(&entry);
    vel_index_close(crew.index);
}

/* Published, taken back, beside a record that a loss of power has brought back. */
static void withdrawn(void)
{
    struct vel_entry entry;
    struct vel_crew crew;
    struct flushlab lab;
    int left = 0;

    flushlab_init(&lab, "withdrawn", 100);
    flushlab_parts(&lab, 1);
    if (!flushlab_flush(&lab, 1, 1))
        bail_out("no flush");
    save_one(&lab, "before", 1);
    must(indexlab_load(vel_fs_posix(), lab.dir, 1, &entry, &err));
    crew = crew_of(&lab);
    must(vel_flush_take_back(&crew, &entry, &err));
    for (int rank = 0; rank < FLUSHLAB_RANKS; rank++)
        for (int file = 0; file < FLUSHLAB_FILES; file++)
            left += vel_fs_exists(vel_fs_posix(), flushlab_path(&lab, 1, rank, file));
    is_int(left, 0, "what is taken back goes by what the entry has listed");
    vel_entry_fini(&entry);
    vel_index_close(crew.index);
}

/* A flush that has begun anew, and whose caches are lost: what the entry has is of the
 * flush before, and there is no record. */
static void stranded(void)
{
    struct vel_index *index;
    struct vel_entry entry;
    struct flushlab lab;

    stage(&lab, "stranded");
    must(indexlab_load(vel_fs_posix(), lab.dir, 1, &entry, &err));
    entry.place = VEL_ON_FLUSHING;
    must(indexlab_save(vel_fs_posix(), lab.dir, &entry, &err));
    vel_entry_fini(&entry);
    for (int l = 0; l < FLUSHLAB_RANKS; l++)
        vel_filelist_remove(vel_fs_posix(), lab.dir, 1, l);
    vel_filelist_remove_dir(vel_fs_posix(), lab.dir, 1);
    index = indexlab_open(vel_fs_posix(), lab.dir);
    must(vel_sweep_temps(index, lab.prefix, 1, true, &err));
    is_int(flushlab_strays(&lab), 0,
           "of a flush that nobody goes on with nothing stays, wherever it is listed");
    vel_index_close(index);
}

int main(void)
{
    few();
    lost();
    many();
    both();
    unread();
    through();
    withdrawn();
    stranded();
    flushlab_leave();
    return done_testing();
}
