/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the files of a dataset are on the prefix is known after a loss of power, and
 * when a ledger cannot be read for once: of nothing that came there nobody knows. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "meta/launch.h"
#include "meta/paths.h"
#include "meta/terms.h"
#include "tap/files.h"
#include "tap/flushlab.h"
#include "tap/fs_fault.h"
#include "tap/indexlab.h"
#include "tap/tap.h"
#include "xfer/flush.h"

enum { SEEDS = 20, DATASETS = 5 };

static struct vel_err err;

static void must(int rc)
{
    if (rc < 0)
        bail_out("%s", err.text);
}

/* Another one each time. */
static void begin(struct flushlab *lab, const char *name)
{
    static int n;
    char one[64];

    snprintf(one, sizeof one, "%s%d", name, n++);
    flushlab_init(lab, one, 1000);
}

/* A file system that can lose its power, and the index of a chair in it. */
struct power {
    struct vel_fs_fault *fault;
    struct vel_fs *fs;
    struct vel_index *chair;
    char *launch_dir;
};

static void turn_on(const struct flushlab *lab, struct power *ret)
{
    const struct vel_fs_fault_plan none = {.mode = VEL_FS_FAULT_NONE};
    const struct vel_terms_self self = {"lab", "labnode"};
    bool is_first;

    ret->launch_dir = vel_launch_dir(lab->dir, "lab");
    tap_fresh_dir(tap_path("aside"));
    rmdir(tap_path("aside"));
    must(vel_fs_fault_create(vel_fs_posix(), tap_path("aside"), &ret->fault, &err));
    vel_fs_fault_arm(ret->fault, &none);
    ret->fs = vel_fs_fault_fs(ret->fault);
    must(vel_index_open(ret->fs, lab->dir, &ret->chair, &err));
    must(vel_index_sign(ret->chair, "lab", "labnode", NULL, NULL, &err));
    must(vel_index_hold(ret->chair, &err));
    must(vel_terms_claim(ret->fs, ret->launch_dir, 1, &self, vel_index_term(ret->chair),
                         &is_first, &err));
    vel_index_release(ret->chair);
}

static void lose(struct power *power, enum vel_fs_loss loss, uint64_t seed)
{
    vel_index_close(power->chair);
    free(power->launch_dir);
    must(vel_fs_fault_power_loss(power->fault, loss, seed, &err));
    vel_fs_fault_destroy(power->fault);
}

static struct vel_entry entry_of(int64_t id, enum vel_place_on_prefix place)
{
    static char name[] = "ck";

    return (struct vel_entry){.dataset = {.id = id,
                                          .name = name,
                                          .version = id,
                                          .use = VEL_USE_CHECKPOINT,
                                          .ranks = FLUSHLAB_RANKS,
                                          .nodes = FLUSHLAB_RANKS,
                                          .files = FLUSHLAB_RANKS * FLUSHLAB_FILES},
                              .owner = 1,
                              .place = place,
                              .lists = FLUSHLAB_RANKS};
}

/* The node whose share `list` is, with the chair's index. */
static void node_of(const struct flushlab *lab, const struct power *power, int list,
                    struct flushlab_node *ret)
{
    flushlab_node(lab, power->fs, 1, 1, list, ret);
    ret->flushing.index = power->chair;
}

static void copy_all(const struct flushlab *lab, const struct power *power,
                     const struct vel_flushing_names *names)
{
    for (int l = 0; l < FLUSHLAB_RANKS; l++) {
        struct vel_flush_copied copied;
        struct flushlab_node node;

        node_of(lab, power, l, &node);
        node.flushing.names = names;
        must(vel_flushing_copy(&node.flushing, &node.job, &copied, &err));
    }
}

/* The next owner goes on with what is staged; *ret is how it was published. */
static int go_on(const struct flushlab *lab, const struct vel_flushing_names *names,
                 struct vel_entry *ret)
{
    struct flushlab_node node;

    flushlab_claim(lab, 1, 2);
    flushlab_node(lab, vel_fs_posix(), 1, 2, 0, &node);
    node.flushing.names = names;
    return vel_flushing_settle(
        &node.flushing, &(struct vel_flush_job){.id = 1, .owner = 2}, 0, ret, &err);
}

/* --- published, and not on the disk yet --- */

static bool is_whole_after(const struct flushlab *lab)
{
    struct vel_entry entry;
    int place = flushlab_place(lab, 1, NULL), rc = 0;

    if (place != VEL_ON_PREFIX) {
        rc = go_on(lab, NULL, &entry);
        if (rc == 0)
            vel_entry_fini(&entry);
    }
    for (int l = 0; rc == 0 && l < FLUSHLAB_RANKS; l++) {
        struct vel_vec files;

        rc = indexlab_files(vel_fs_posix(), lab->dir, 1, l, &files, &err);
        if (rc == 0)
            vel_filelist_fini(&files);
    }
    if (rc < 0)
        note("place %d: %s", place, err.text);
    return rc == 0 && flushlab_shows_all(lab, 1, 1);
}

/* STAGED has the lists, or has not, as when a session has staged it. */
static bool publish_and_lose(bool has_lists, uint64_t seed)
{
    struct vel_entry entry = entry_of(1, VEL_ON_FLUSHING);
    struct flushlab_node node;
    struct flushlab lab;
    struct power power;

    begin(&lab, "published");
    flushlab_parts(&lab, 1);
    flushlab_begin(&lab, 1, 1);
    turn_on(&lab, &power);
    copy_all(&lab, &power, NULL);
    node_of(&lab, &power, 0, &node);
    if (has_lists) {
        must(vel_flushing_stage(&node.flushing, &entry, &err));
    } else {
        for (int l = 0; l < FLUSHLAB_RANKS; l++) { /* a session's records are synced */
            struct vel_vec files;

            must(vel_filelist_load(power.fs, lab.dir, 1, l, &files, &err));
            must(vel_filelist_save(power.fs, lab.dir, 1, l, &files, true, &err));
            vel_filelist_fini(&files);
        }
        entry.place = VEL_ON_STAGED;
        must(vel_entry_save(power.chair, &entry, &err));
    }
    for (int l = 0; l < FLUSHLAB_RANKS; l++) {
        node_of(&lab, &power, l, &node);
        must(vel_flushing_name(&node.flushing, &node.job, &err));
    }
    must(vel_flushing_publish(&node.flushing, &entry, &err));
    lose(&power, seed ? VEL_FS_LOSS_RANDOM : VEL_FS_LOSS_DROP, seed);
    return is_whole_after(&lab);
}

static void published(void)
{
    int with = 0, without = 0;

    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        with += publish_and_lose(true, seed);
        without += publish_and_lose(false, seed);
    }
    is_int(with, SEEDS, "power is lost when it is published: its files are known");
    is_int(without, SEEDS, "also of what a session has staged");
}

/* --- the ledger --- */

static void put_names(struct vel_vec *files, int n)
{
    vel_vec_init(files, sizeof(struct vel_listed));
    for (int i = 0; i < n; i++) {
        struct vel_listed file = {.rank = i, .container = -1, .size = 77};
        char name[300];

        snprintf(name, sizeof name, "%0200d", i);
        file.name = strdup(name);
        if (!file.name || !vel_vec_push(files, &file))
            bail_out("no memory");
    }
}

/* Several are published, one after the other, and nothing is synced between. Of the
 * ledger no line is damaged: the last ones may be missing. */
static bool publish_many_and_lose(uint64_t seed)
{
    struct vel_entry_list list = {.list = 0};
    struct vel_index *reader;
    struct vel_vec lists;
    struct flushlab lab;
    struct power power;
    bool is_good = true;
    int64_t owner;

    begin(&lab, "ledger");
    for (int64_t id = 1; id <= DATASETS + 1; id++)
        flushlab_claim(&lab, id, 1);
    turn_on(&lab, &power);
    put_names(&list.files, 12);
    vel_vec_init(&lists, sizeof list);
    vel_vec_push(&lists, &list);
    for (int64_t id = 1; id <= DATASETS; id++) {
        struct vel_entry entry = entry_of(id, VEL_ON_STAGED);

        must(vel_entry_save_lists(power.chair, &entry, &lists, &err));
    }
    for (int64_t id = 1; id <= DATASETS; id++) {
        struct vel_entry entry = entry_of(id, VEL_ON_PREFIX);

        must(vel_entry_save_lists(power.chair, &entry, &lists, &err));
    }
    vel_entry_lists_fini(&lists);
    lose(&power, VEL_FS_LOSS_RANDOM, seed);
    must(vel_index_open(vel_fs_posix(), lab.dir, &reader, &err)); /* of nobody */
    if (vel_index_owner(reader, DATASETS + 1, &owner, NULL, &err) < 0) {
        note("%s", err.text);
        is_good = false;
    }
    for (int64_t id = 1; id <= DATASETS; id++) {
        struct vel_entry entry;

        if (vel_entry_load(reader, id, &entry, &err) < 0) {
            note("%s", err.text);
            is_good = false;
            continue;
        }
        is_good = is_good && entry.place >= VEL_ON_STAGED;
        vel_entry_fini(&entry);
    }
    vel_index_close(reader);
    return is_good;
}

static void ledgers(void)
{
    int good = 0;

    for (uint64_t seed = 1; seed <= 2 * SEEDS; seed++)
        good += publish_many_and_lose(seed);
    is_int(good, 2 * SEEDS, "what was said and not synced is no damage of the ledger");
}

/* --- a file was left out --- */

static bool is_no_first(void *arg, const struct vel_flush_job *job,
                        const struct vel_listed *file)
{
    (void)arg;
    (void)job;
    return file->name[strlen(file->name) - 1] != '1';
}

static int as_listed(void *arg, const struct vel_flush_job *job, const char *temporary,
                     const struct vel_listed *file, char **ret, struct vel_err *why)
{
    (void)arg;
    (void)job;
    (void)temporary;
    (void)file;
    (void)ret;
    (void)why;
    return VEL_ENOENT;
}

static char *nowhere(void *arg, const struct vel_flush_job *job,
                     const struct vel_listed *file)
{
    (void)arg;
    (void)job;
    (void)file;
    return NULL;
}

static void left_out(void)
{
    const struct vel_flushing_names names = {
        .is_wanted = is_no_first, .publish = as_listed, .recorded = nowhere};
    struct vel_entry entry = entry_of(1, VEL_ON_FLUSHING);
    struct flushlab_node node;
    struct flushlab lab;
    struct power power;
    char *its;
    int rc;

    begin(&lab, "left");
    flushlab_parts(&lab, 1);
    flushlab_begin(&lab, 1, 1);
    its = vel_dataset_dir(lab.dir, 1);
    must(vel_fs_remove_tree(vel_fs_posix(), its, &err));
    free(its);
    turn_on(&lab, &power);
    copy_all(&lab, &power, &names);
    node_of(&lab, &power, 0, &node);
    must(vel_flushing_stage(&node.flushing, &entry, &err));
    lose(&power, VEL_FS_LOSS_DROP, 0);
    rc = go_on(&lab, &names, &entry);
    ok(rc == 0 && !vel_entry_is_fetchable(&entry),
       "what has lost a file is not taken for whole after a loss of power: %s",
       rc < 0 ? err.text : "");
    if (rc == 0)
        vel_entry_fini(&entry);
}

/* --- removal --- */

static int left_files(const struct flushlab *lab)
{
    int n = 0;

    for (int rank = 0; rank < FLUSHLAB_RANKS; rank++)
        for (int file = 0; file < FLUSHLAB_FILES; file++)
            n += access(flushlab_path(lab, 1, rank, file), F_OK) == 0;
    return n;
}

/* Removal says that it is done only when nothing is left. */
static void removed(void)
{
    struct vel_fs_fault_plan plan = {.mode = VEL_FS_FAULT_ONCE,
                                     .kinds = VEL_FS_KIND_OPEN | VEL_FS_KIND_READ |
                                              VEL_FS_KIND_LIST | VEL_FS_KIND_STAT};
    bool has_fired = true;
    int strays = 0;

    while (has_fired && strays == 0) {
        struct vel_fs_fault *fault;
        struct flushlab_node node;
        struct vel_entry entry;
        struct vel_crew crew;
        struct flushlab lab;

        begin(&lab, "removed");
        flushlab_parts(&lab, 1);
        if (!flushlab_flush(&lab, 1, 1))
            bail_out("no flush");
        must(vel_fs_fault_create(vel_fs_posix(), NULL, &fault, &err));
        flushlab_node(&lab, vel_fs_fault_fs(fault), 1, 1, 0, &node);
        must(indexlab_load(vel_fs_posix(), lab.dir, 1, &entry, &err));
        crew =
            (struct vel_crew){.fs = vel_fs_fault_fs(fault),
                              .prefix = lab.prefix,
                              .dir = lab.dir,
                              .index = indexlab_open(vel_fs_fault_fs(fault), lab.dir)};
        plan.at++;
        vel_fs_fault_arm(fault, &plan);
        if (vel_flush_remove(&crew, &entry, &err) == 0)
            strays = left_files(&lab);
        has_fired = vel_fs_fault_fired(fault);
        vel_entry_fini(&entry);
        vel_index_close(crew.index);
        flushlab_leave();
        vel_fs_fault_destroy(fault);
    }
    ok(strays == 0 && plan.at > 20,
       "a removal during which something cannot be read for once leaves nothing, or "
       "says so: %d of operation %d",
       strays, (int)plan.at);
}

static void tear(const struct flushlab *lab, int list)
{
    char *path = vel_files_path(lab->dir, 1, list);
    FILE *torn = fopen(path, "w");

    free(path);
    if (!torn || fclose(torn) != 0)
        bail_out("cannot tear a record");
}

static void torn(void)
{
    struct flushlab_node node;
    struct vel_entry entry;
    struct vel_crew crew;
    struct flushlab lab;
    int rc = 0;

    begin(&lab, "torn");
    flushlab_parts(&lab, 1);
    flushlab_begin(&lab, 1, 1);
    if (!flushlab_copy_all(&lab, 1, 1))
        bail_out("no copy");
    for (int l = 0; l < FLUSHLAB_RANKS; l++)
        tear(&lab, l);
    for (int l = 0; rc == 0 && l < FLUSHLAB_RANKS; l++) {
        flushlab_node(&lab, vel_fs_posix(), 1, 1, l, &node);
        rc = vel_flushing_retreat(&node.flushing, &node.job, &err);
    }
    ok(rc == 0 && flushlab_strays(&lab) == 0,
       "a node that takes back a flush knows the names whose list was torn: %d",
       flushlab_strays(&lab));
    flushlab_copy_all(&lab, 1, 1);
    tear(&lab, 1);
    must(indexlab_load(vel_fs_posix(), lab.dir, 1, &entry, &err));
    crew = (struct vel_crew){.fs = vel_fs_posix(),
                             .prefix = lab.prefix,
                             .dir = lab.dir,
                             .index = indexlab_open(vel_fs_posix(), lab.dir)};
    rc = vel_flush_remove(&crew, &entry, &err);
    ok(rc == 0 && flushlab_place(&lab, 1, NULL) == -1,
       "whose list was torn while it was copied can be removed: %s",
       rc < 0 ? err.text : "");
    vel_entry_fini(&entry);
    vel_index_close(crew.index);
}

int main(void)
{
    published();
    ledgers();
    left_out();
    removed();
    torn();
    flushlab_leave();
    return done_testing();
}
