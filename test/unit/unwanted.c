/* SPDX-License-Identifier: BSD-3-Clause */
/* Files whose names the program has removed while they were on their way to the prefix:
 * nothing of them stays, whoever had begun to copy them and wherever a crash comes. And
 * one whose placeholder an older version is just replacing is wanted. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "meta/paths.h"
#include "node/service_in.h"
#include "tap/files.h"
#include "tap/flushlab.h"
#include "tap/indexlab.h"
#include "tap/tap.h"

enum { LARGE = 100000 };

/* --- who has removed what --- */

static bool is_removed(const struct vel_listed *file)
{
    return strstr(file->name, "r0.1") != NULL;
}

static bool want_others(void *arg, const struct vel_flush_job *job,
                        const struct vel_listed *file)
{
    (void)arg, (void)job;
    return !is_removed(file);
}

/* somebody else's file stands there, and stays */
static int publish_others(void *arg, const struct vel_flush_job *job,
                          const char *temporary, const struct vel_listed *file,
                          char **ret_path, struct vel_err *err)
{
    (void)arg, (void)job, (void)temporary, (void)ret_path, (void)err;
    return is_removed(file) ? VEL_EEXIST : VEL_ENOENT;
}

static bool want_all(void *arg, const struct vel_flush_job *job,
                     const struct vel_listed *file)
{
    (void)arg, (void)job, (void)file;
    return true;
}

static char *know_none(void *arg, const struct vel_flush_job *job,
                       const struct vel_listed *file)
{
    (void)arg, (void)job, (void)file;
    return NULL;
}

static const struct vel_flushing_names removed = {
    .is_wanted = want_others, .publish = publish_others, .recorded = know_none};
static const struct vel_flushing_names taken = {
    .is_wanted = want_all, .publish = publish_others, .recorded = know_none};

/* --- an owner before us had begun --- */

static void earlier_owner(void)
{
    struct flushlab lab;
    struct flushlab_node node;
    struct vel_flush_copied copied;
    struct vel_err err = {0};

    flushlab_init(&lab, "earlier", LARGE);
    flushlab_parts(&lab, 1);
    flushlab_begin(&lab, 1, 1);
    flushlab_copy(&lab, vel_fs_posix(), 1, 1, 0, false, NULL, &err);
    is_int(flushlab_strays(&lab), FLUSHLAB_FILES, "an owner has copied a node's files");
    flushlab_claim(&lab, 1, 2);
    flushlab_entry(&lab, 1, 2, FLUSHLAB_RANKS, VEL_ON_FLUSHING);
    flushlab_node(&lab, vel_fs_posix(), 1, 2, 0, &node);
    node.flushing.names = &removed;
    node.job.may_resume = true;
    is_int(vel_flushing_copy(&node.flushing, &node.job, &copied, &err), 0,
           "the next one goes on, without the file that the program has removed: %s",
           err.text);
    is_int(flushlab_strays(&lab), FLUSHLAB_FILES - 1, "nothing of that stays");
}

/* --- the program has removed the directory, and with it what was on its way --- */

static bool want_none(void *arg, const struct vel_flush_job *job,
                      const struct vel_listed *file)
{
    (void)arg, (void)job, (void)file;
    return false;
}

static const struct vel_flushing_names emptied = {
    .is_wanted = want_none, .publish = publish_others, .recorded = know_none};

static void directory(void)
{
    struct flushlab lab;
    struct flushlab_node node;
    struct vel_err err = {0};
    char dir[700];

    flushlab_init(&lab, "directory", LARGE);
    flushlab_parts(&lab, 1);
    flushlab_begin(&lab, 1, 1);
    flushlab_copy_all(&lab, 1, 1);
    if (flushlab_owner(&lab, 1, 1, vel_flushing_stage, &err) < 0)
        bail_out("%s", err.text);
    snprintf(dir, sizeof dir, "%s/out.1", lab.prefix);
    tap_fresh_dir(dir);
    rmdir(dir);
    for (int rank = 0; rank < FLUSHLAB_RANKS; rank++) {
        flushlab_node(&lab, vel_fs_posix(), 1, 1, rank, &node);
        node.flushing.names = &emptied;
        is_int(vel_flushing_name(&node.flushing, &node.job, &err), 0,
               "files whose directory goes before they have names get none: %s",
               err.text);
    }
    is_int(flushlab_owner(&lab, 1, 1, vel_flushing_publish, &err), 0,
           "and the dataset is finished without them: %s", err.text);
}

/* --- a crash between a file's removal and the list without it --- */

/* The list is that of before, and the temporary is gone. */
static void crashed(const char *what, const struct vel_flushing_names *names)
{
    struct flushlab lab;
    struct flushlab_node node;
    struct vel_err err = {0};
    char list[1200], *before;
    size_t len;

    flushlab_init(&lab, what, LARGE);
    flushlab_parts(&lab, 1);
    flushlab_begin(&lab, 1, 1);
    flushlab_copy_all(&lab, 1, 1);
    if (flushlab_owner(&lab, 1, 1, vel_flushing_stage, &err) < 0)
        bail_out("%s", err.text);
    snprintf(list, sizeof list, "%s/dataset.1/files.0", lab.dir);
    before = tap_get_file(list, &len);
    if (!before)
        bail_out("no list");
    flushlab_node(&lab, vel_fs_posix(), 1, 1, 0, &node);
    node.flushing.names = names;
    is_int(vel_flushing_name(&node.flushing, &node.job, &err), 0,
           "a file %s gets no name: %s", what, err.text);
    tap_put_bytes(list, before, len);
    free(before);
    tap_put_file(flushlab_path(&lab, 1, 0, 1), "somebody else's");
    is_int(vel_flushing_name(&node.flushing, &node.job, &err), 0,
           "nor after a crash before the list was written: %s", err.text);
    flushlab_name(&lab, 1, 1, 1, &err);
    is_int(flushlab_owner(&lab, 1, 1, vel_flushing_publish, &err), 0,
           "and the dataset is published without it: %s", err.text);
    is_int(flushlab_strays(&lab), 0, "nothing of it stays");
}

/* --- a crash between a file's name beside somebody else's and the list with it --- */

static int publish_beside(void *arg, const struct vel_flush_job *job,
                          const char *temporary, const struct vel_listed *file,
                          char **ret_path, struct vel_err *err)
{
    struct flushlab *lab = arg;

    return is_removed(file)
               ? vel_anchor_publish_beside(vel_fs_posix(), flushlab_path(lab, 1, 0, 1),
                                           job->id, temporary, ret_path, err)
               : VEL_ENOENT;
}

static const struct vel_flushing_names besides = {
    .is_wanted = want_all, .publish = publish_beside, .recorded = know_none};

static void beside(void)
{
    struct flushlab lab;
    struct flushlab_node node;
    struct vel_err err = {0};
    char list[1200], *before;
    size_t len;

    flushlab_init(&lab, "beside", LARGE);
    flushlab_parts(&lab, 1);
    flushlab_begin(&lab, 1, 1);
    flushlab_copy_all(&lab, 1, 1);
    if (flushlab_owner(&lab, 1, 1, vel_flushing_stage, &err) < 0)
        bail_out("%s", err.text);
    tap_put_file(flushlab_path(&lab, 1, 0, 1), "somebody else's");
    snprintf(list, sizeof list, "%s/dataset.1/files.0", lab.dir);
    before = tap_get_file(list, &len);
    flushlab_node(&lab, vel_fs_posix(), 1, 1, 0, &node);
    node.flushing.names = &besides;
    node.flushing.arg = &lab;
    is_int(vel_flushing_name(&node.flushing, &node.job, &err), 0,
           "a file comes beside somebody else's: %s", err.text);
    tap_put_bytes(list, before, len);
    free(before);
    is_int(vel_flushing_name(&node.flushing, &node.job, &err), 0,
           "and is found there after a crash before the list was written: %s",
           err.text);
    flushlab_name(&lab, 1, 1, 1, &err);
    is_int(flushlab_owner(&lab, 1, 1, vel_flushing_publish, &err), 0,
           "the dataset is published: %s", err.text);
}

/* --- an older version comes to the name between two looks --- */

static struct {
    const struct flushlab *lab;
    ino_t inode; /* of the placeholder */
    int looks;
} race;

static int look_and_publish(struct vel_fs *fs, int fd, struct stat *ret)
{
    int rc = vel_fs_posix()->ops->fstat(vel_fs_posix(), fd, ret);

    (void)fs;
    if (rc < 0 || ret->st_ino != race.inode || ++race.looks != 2)
        return rc;
    if (!flushlab_flush(race.lab, 1, 1))
        bail_out("the older one is not flushed");
    return vel_fs_posix()->ops->fstat(vel_fs_posix(), fd, ret);
}

static void between_looks(void)
{
    static struct vel_fs_ops ops;
    static struct vel_fs fs = {&ops};
    struct flushlab lab;
    struct flushlab_node node;
    char launch[] = "l", dir[700];
    struct vel_listed listed = {.rank = 0};
    struct vel_err err = {0};
    struct stat st;

    ops = *vel_fs_posix()->ops;
    ops.fstat = look_and_publish;
    flushlab_init(&lab, "between", LARGE);
    lab.has_same_names = true;
    flushlab_parts(&lab, 1);
    flushlab_parts(&lab, 2);
    snprintf(dir, sizeof dir, "%s/out.0", lab.prefix);
    vel_fs_make_dirs(vel_fs_posix(), dir, 0700, NULL);
    flushlab_node(&lab, vel_fs_posix(), 2, 1, 0, &node);

    const char *path = flushlab_path(&lab, 2, 0, 1);
    const struct vel_stub_maker maker = {.launch = launch, .drafts = lab.dir};
    const struct vel_placeholder_file of = {node.job.home, 0, "out.0/r0.1"};
    struct vel_service service = {.fs = &fs,
                                  .dir = lab.dir,
                                  .index = indexlab_keep(&fs, lab.dir),
                                  .flushing = node.flushing,
                                  .launch = launch,
                                  .launch_dir = lab.dir,
                                  .placeholders =
                                      vel_placeholders_create(&fs, NULL, 0)};

    if (vel_placeholders_set(service.placeholders, &of, path, &maker, &err) < 0 ||
        stat(path, &st) < 0)
        bail_out("%s", err.text);
    listed.name = strdup(of.name);
    race.lab = &lab;
    race.inode = st.st_ino;
    ok(vel_service_names.is_wanted(&service, &node.job, &listed),
       "a file is wanted whose stub an older version replaces between two looks");
    ok(race.looks >= 2 && flushlab_shows_all(&lab, 1, 1), "which it does");
    unlink(path);
    ok(!vel_service_names.is_wanted(&service, &node.job, &listed),
       "and not when the program removes it");
    vel_placeholders_destroy(service.placeholders);
    free(listed.name);
}

int main(void)
{
    earlier_owner();
    directory();
    crashed("that the program has removed", &removed);
    crashed("at whose name somebody else's stands", &taken);
    beside();
    between_looks();
    return done_testing();
}
