/* SPDX-License-Identifier: BSD-3-Clause */
/* Flushing into containers beside the program: what comes there, and what is given up.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "comm/comm.h"
#include "jobs/sweep_temps.h"
#include "meta/paths.h"
#include "tap/files.h"
#include "tap/indexlab.h"
#include "tap/packlab.h"
#include "tap/tap.h"
#include "xfer/container.h"
#include "xfer/flush_in.h"

/* --- the whole way --- */

static bool ask(void *arg, const struct vel_flush_job *job,
                const struct vel_listed *file)
{
    (void)job, (void)file;
    ++*(int *)arg;
    return false;
}

static char *ask_where(void *arg, const struct vel_flush_job *job,
                       const struct vel_listed *file)
{
    ask(arg, job, file);
    return NULL;
}

static int ask_name(void *arg, const struct vel_flush_job *job, const char *temporary,
                    const struct vel_listed *file, char **ret_path, struct vel_err *err)
{
    (void)temporary, (void)ret_path, (void)err;
    ask(arg, job, file);
    return VEL_EEXIST;
}

static void whole(void)
{
    static const struct vel_flushing_names names = {
        .is_wanted = ask, .publish = ask_name, .recorded = ask_where};
    struct vel_flush_copied copied = {0};
    struct packlab_node pack;
    struct flushlab lab;
    struct vel_err err = {0};
    int asked = 0, rc = 0;

    packlab_fresh(&lab, "whole");
    packlab_parts(&lab, 1);
    flushlab_begin(&lab, 1, 1);
    for (int n = 0; rc == 0 && n < PACKLAB_NODES; n++) {
        packlab_node(&lab, vel_fs_posix(), 1, 1, n, PACKLAB_NODES, &pack);
        pack.node.flushing.names = &names;
        pack.node.flushing.arg = &asked;
        pack.node.flushing.has_delta = true;
        rc = vel_flushing_copy(&pack.node.flushing, &pack.node.job, &copied, &err);
    }
    ok(rc == 0 && copied.files == PACKLAB_PARTS * FLUSHLAB_FILES &&
           copied.bytes == PACKLAB_PARTS * (PACKLAB_LARGE + 100),
       "nodes copy their files: %s", err.text);
    ok(packlab_count(&lab, 1, "container.") == 0 && flushlab_strays(&lab) == 0 &&
           packlab_count(&lab, 1, ".container.") == PACKLAB_NODES * PACKLAB_CONTAINERS,
       "into containers, which have no names yet");
    ok(packlab_owner(&lab, vel_fs_posix(), 1, 1, vel_flushing_stage, &err) == 0 &&
           flushlab_place(&lab, 1, NULL) == VEL_ON_STAGED,
       "that ranks have files of the same names is no hindrance: %s", err.text);
    for (int n = 0; rc == 0 && n < PACKLAB_NODES; n++) {
        packlab_node(&lab, vel_fs_posix(), 1, 1, n, PACKLAB_NODES, &pack);
        pack.node.flushing.names = &names;
        pack.node.flushing.arg = &asked;
        for (int i = 0; rc == 0 && i < 2; i++)
            rc = vel_flushing_name(&pack.node.flushing, &pack.node.job, &err);
    }
    ok(rc == 0 &&
           packlab_owner(&lab, vel_fs_posix(), 1, 1, vel_flushing_publish, &err) == 0,
       "they get their names, once and again: %s", err.text);
    ok(packlab_is_whole(&lab, 1), "and every file of every rank is in them");
    ok(packlab_count(&lab, 1, "container.") == PACKLAB_NODES * PACKLAB_CONTAINERS &&
           flushlab_shows(&lab, 1, 0) == 0,
       "%d files are %d on the prefix", PACKLAB_FILES,
       PACKLAB_NODES * PACKLAB_CONTAINERS);
    ok(asked == 0 && packlab_count(&lab, 1, "hashes.") == 0,
       "nobody is asked about names of files that have none there");
}

/* A file that is larger than a container, and all files in one. */
static void sizes(void)
{
    static const uint64_t rooms[] = {1000, PACKLAB_LARGE, 1 << 20};
    struct flushlab lab;
    struct vel_err err = {0};

    for (size_t i = 0; i < sizeof rooms / sizeof *rooms; i++) {
        packlab_fresh(&lab, "sizes");
        packlab_parts(&lab, 1);
        packlab_room = rooms[i];
        ok(packlab_flush(&lab, vel_fs_posix(), 1, 1, &err) == 0 &&
               packlab_is_whole(&lab, 1),
           "containers of %d bytes hold all: %s", (int)packlab_room, err.text);
    }
    is_int(packlab_count(&lab, 1, "container."), PACKLAB_NODES, "a node has its own");
}

/* The owner before has made nothing, not even a directory. */
static void later_owner(void)
{
    struct flushlab lab;
    struct vel_err err = {0};
    char *dir;
    int rc = 0;

    packlab_fresh(&lab, "later");
    packlab_parts(&lab, 1);
    flushlab_begin(&lab, 1, 2);
    dir = vel_dataset_dir(lab.dir, 1);
    if (rmdir(dir) < 0)
        bail_out("rmdir %s", dir);
    free(dir);
    for (int n = 0; rc == 0 && n < PACKLAB_NODES; n++)
        rc = packlab_copy(&lab, vel_fs_posix(), 1, 2, n, &err);
    is_int(rc, 0, "the second owner begins where the first has made nothing: %s",
           err.text);
}

static void numbers(void)
{
    struct vel_flush_file files[3] = {
        {.listed = {.container = -1, .size = UINT64_C(1) << 30}},
        {.listed = {.container = -1, .is_through = true, .size = 7}},
        {.listed = {.container = -1, .size = 1}}};
    struct vel_vec vec = {.items = files, .n = 3};
    struct vel_err err = {0};

    ok(vel_container_plan(&vec, 1 << 20, 3, 5, &err) == 0 &&
           files[0].listed.container == 3 && files[1].listed.container == -1 &&
           files[2].listed.container == 1024 * 5 + 3,
       "what was written through is in none");
    ok(vel_container_plan(&vec, 1, 3, 5, &err) == VEL_EUNSUP &&
           strstr(err.text, "CONTAINER_SIZE"),
       "more of them than have numbers are refused: %s", err.text);
}

/* Datasets in containers take no names from each other, nor from files. */
static void apart(void)
{
    struct flushlab lab;
    struct vel_err err = {0};
    struct vel_entry entry;

    packlab_fresh(&lab, "apart");
    for (int64_t id = 2; id < 4; id++)
        packlab_parts(&lab, id);
    lab.are_ranks_alike = false;
    flushlab_parts(&lab, 1);
    ok(flushlab_flush(&lab, 1, 1), "an older dataset has files of these names");
    lab.are_ranks_alike = true;
    ok(packlab_stage(&lab, vel_fs_posix(), 2, 1, &err) == 0 &&
           packlab_flush(&lab, vel_fs_posix(), 3, 1, &err) == 0 &&
           packlab_is_whole(&lab, 3),
       "a newer one overtakes another in containers: %s", err.text);
    ok(packlab_settle(&lab, 2, 2, &err) == 0 && packlab_is_whole(&lab, 2) &&
           packlab_is_whole(&lab, 3),
       "which has all of its own as well");
    for (int64_t id = 1; id < 4; id++) {
        packlab_must(indexlab_load(vel_fs_posix(), lab.dir, id, &entry, &err), &err);
        ok(entry.replaced == 0 && vel_entry_is_fetchable(&entry),
           "dataset %d can be fetched", (int)id);
        vel_entry_fini(&entry);
    }
    lab.are_ranks_alike = false;
    ok(flushlab_shows_all(&lab, 1, 1), "and the files are as they were");
}

/* Nor does a dataset of files wait for one in containers, or the other way. */
static void rivals(void)
{
    struct flushlab lab;
    struct packlab_node pack;
    struct vel_entry entry;
    struct vel_vec found;
    struct vel_err err = {0};
    int n = 0;

    packlab_fresh(&lab, "rivals");
    packlab_parts(&lab, 1);
    packlab_must(packlab_stage(&lab, vel_fs_posix(), 1, 1, &err), &err);
    lab.are_ranks_alike = false;
    flushlab_parts(&lab, 2);
    flushlab_begin(&lab, 2, 1);
    if (!flushlab_copy_all(&lab, 2, 1))
        bail_out("it is not copied");
    packlab_must(flushlab_owner(&lab, 2, 1, vel_flushing_stage, &err), &err);
    packlab_node(&lab, vel_fs_posix(), 1, 1, 0, PACKLAB_NODES, &pack);
    for (int64_t id = 1; id < 3; id++) {
        packlab_must(indexlab_load(vel_fs_posix(), lab.dir, id, &entry, &err), &err);
        packlab_must(vel_flushing_rivals(&pack.node.flushing, &entry, &found, &err),
                     &err);
        n += (int)found.n;
        vel_vec_fini(&found);
        vel_entry_fini(&entry);
    }
    is_int(n, 0, "of two that are staged neither is settled for the other");
}

/* --- what is given up --- */

static void taken_back(void)
{
    struct flushlab lab;
    struct packlab_node pack;
    struct vel_err err = {0};
    int rc = 0;

    packlab_fresh(&lab, "back");
    packlab_parts(&lab, 1);
    packlab_must(packlab_stage(&lab, vel_fs_posix(), 1, 1, &err), &err);
    for (int n = 0; rc == 0 && n < PACKLAB_NODES; n++) {
        packlab_node(&lab, vel_fs_posix(), 1, 1, n, PACKLAB_NODES, &pack);
        for (int i = 0; rc == 0 && i < 2; i++)
            rc = vel_flushing_retreat(&pack.node.flushing, &pack.node.job, &err);
    }
    ok(rc == 0 && packlab_temporaries(&lab, 1) == 0 &&
           packlab_count(&lab, 1, "files.") == 0,
       "what was copied is taken back: %s", err.text);
    flushlab_begin(&lab, 1, 1);
    packlab_must(packlab_copy(&lab, vel_fs_posix(), 1, 1, 0, &err), &err);
    ok(packlab_settle(&lab, 1, 2, &err) == 0 && packlab_temporaries(&lab, 1) == 0 &&
           flushlab_place(&lab, 1, NULL) == VEL_ON_CACHE,
       "so does the next owner");
    ok(packlab_flush(&lab, vel_fs_posix(), 1, 3, &err) == 0 &&
           packlab_is_whole(&lab, 1),
       "and it can be flushed then");

    packlab_parts(&lab, 2);
    packlab_must(packlab_stage(&lab, vel_fs_posix(), 2, 1, &err), &err);
    ok(vel_sweep_temps(indexlab_keep(vel_fs_posix(), lab.dir), lab.prefix, 2, false,
                       &err) == 0 &&
           packlab_temporaries(&lab, 2) == 0 && packlab_count(&lab, 2, "files.") == 0,
       "a sweep finds what nobody goes on with");
}

/* Whoever comes next finds what leaders have staged. */
static void finished(void)
{
    struct flushlab lab;
    struct flushlab_node node;
    struct vel_crew crew = {.fs = vel_fs_posix(),
                            .clock = vel_clock_system(),
                            .prefix = lab.prefix,
                            .dir = lab.dir};
    struct vel_entry entry;
    struct vel_err err = {0};

    packlab_fresh(&lab, "finished");
    crew.index = indexlab_keep(vel_fs_posix(), lab.dir);
    packlab_parts(&lab, 1);
    packlab_must(packlab_stage(&lab, vel_fs_posix(), 1, 1, &err), &err);
    packlab_must(packlab_name(&lab, vel_fs_posix(), 1, 1, 0, &err), &err);
    flushlab_claim(&lab, 1, 2);
    flushlab_node(&lab, vel_fs_posix(), 1, 2, 0, &node);
    ok(vel_flushing_settle(&node.flushing, &node.job, 0, &entry, &err) == 0 &&
           packlab_is_whole(&lab, 1),
       "what is staged gets its names from whoever comes next: %s", err.text);
    ok(vel_flush_remove(&crew, &entry, &err) == 0 &&
           !vel_fs_exists(vel_fs_posix(), tap_path("finished/prefix/.veloc/dataset.1")),
       "and is removed with its containers");
    vel_entry_fini(&entry);
}

static void lost(void)
{
    struct flushlab lab;
    struct vel_err err = {0};
    char *path;

    packlab_fresh(&lab, "lost");
    packlab_parts(&lab, 1);
    packlab_must(packlab_stage(&lab, vel_fs_posix(), 1, 1, &err), &err);
    packlab_must(packlab_name(&lab, vel_fs_posix(), 1, 1, 1, &err), &err);
    path = vel_container_path(lab.dir, 1, 1);
    if (truncate(path, 10) < 0)
        bail_out("cannot cut %s", path);
    is_int(packlab_name(&lab, vel_fs_posix(), 1, 1, 1, &err), VEL_ECORRUPT,
           "a container that has lost bytes is none");
    unlink(path);
    is_int(packlab_name(&lab, vel_fs_posix(), 1, 1, 1, &err), VEL_ENOENT,
           "nor is one that is gone");
    free(path);
}

/* --- damaged sources --- */

static void damaged(void)
{
    struct flushlab lab;
    struct vel_err err = {0};
    char path[700];
    size_t len;
    char *bytes;

    packlab_fresh(&lab, "damaged");
    packlab_parts(&lab, 1);
    flushlab_begin(&lab, 1, 1);
    snprintf(path, sizeof path, "%s/dataset.1/rank.2/out.0/r0.1", lab.cache);
    bytes = tap_get_file(path, &len);
    if (rename(path, tap_path("kept")) < 0)
        bail_out("no %s", path);
    bytes[4000] ^= 1;
    tap_put_bytes(path, bytes, len);
    is_int(packlab_copy(&lab, vel_fs_posix(), 1, 1, 0, &err), VEL_ECORRUPT,
           "a damaged file is not put into a container");
    ok(strstr(err.text, "rank.2/out.0/r0.1") != NULL, "and is named: %s", err.text);
    bytes[4000] ^= 1;
    tap_put_bytes(path, bytes, len + 1);
    is_int(packlab_copy(&lab, vel_fs_posix(), 1, 1, 0, &err), VEL_ECORRUPT,
           "nor is one that is longer than it was");
    tap_put_bytes(path, bytes, len - 1);
    is_int(packlab_copy(&lab, vel_fs_posix(), 1, 1, 0, &err), VEL_ECORRUPT,
           "or shorter");
    unlink(path);
    is_int(packlab_copy(&lab, vel_fs_posix(), 1, 1, 0, &err), VEL_ENOENT, "or gone");
    free(bytes);
    if (rename(tap_path("kept"), path) < 0)
        bail_out("it is not mended");
    ok(packlab_flush(&lab, vel_fs_posix(), 1, 1, &err) == 0 &&
           packlab_is_whole(&lab, 1),
       "mended it is flushed");
}

int main(void)
{
    whole();
    sizes();
    later_owner();
    numbers();
    apart();
    rivals();
    taken_back();
    finished();
    lost();
    damaged();
    flushlab_leave();
    return done_testing();
}
