/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "meta/cache.h"
#include "meta/paths.h"
#include "tap/files.h"
#include "tap/indexlab.h"
#include "tap/packlab.h"
#include "tap/tap.h"
#include "xfer/container.h"

uint64_t packlab_room;

void packlab_fresh(struct flushlab *lab, const char *name)
{
    flushlab_leave();
    vel_fs_remove_tree(vel_fs_posix(), tap_path(name), NULL);
    flushlab_init(lab, name, PACKLAB_LARGE);
    lab->has_same_names = true;
    lab->are_ranks_alike = true;
    packlab_room = PACKLAB_ROOM;
}

void packlab_parts(const struct flushlab *lab, int64_t id)
{
    for (int rank = 0; rank < PACKLAB_NODES * PACKLAB_PARTS; rank++)
        flushlab_part(lab, id, rank);
}

void packlab_node(const struct flushlab *lab, struct vel_fs *fs, int64_t id,
                  int64_t owner, int n, int nodes, struct packlab_node *ret)
{
    int parts = PACKLAB_NODES * PACKLAB_PARTS / nodes;

    flushlab_node(lab, fs, id, owner, n, &ret->node);
    for (int i = 0; i < parts; i++) {
        int rank = n * parts + i;

        snprintf(ret->dirs[i], sizeof ret->dirs[i], "%s/rank.%d", ret->node.home, rank);
        ret->parts[i] = (struct vel_flush_part){.rank = rank, .dir = ret->dirs[i]};
    }
    ret->node.job.parts = ret->parts;
    ret->node.job.n = (size_t)parts;
    ret->node.job.may_resume = true;
    ret->node.job.container_size = packlab_room;
    ret->node.job.lists = nodes;
}

/* --- steps --- */

int packlab_copy(const struct flushlab *lab, struct vel_fs *fs, int64_t id,
                 int64_t owner, int n, struct vel_err *err)
{
    struct vel_flush_copied copied;
    struct packlab_node pack;

    packlab_node(lab, fs, id, owner, n, PACKLAB_NODES, &pack);
    return vel_flushing_copy(&pack.node.flushing, &pack.node.job, &copied, err);
}

int packlab_owner(const struct flushlab *lab, struct vel_fs *fs, int64_t id,
                  int64_t owner,
                  int (*act)(const struct vel_flushing *, struct vel_entry *,
                             struct vel_err *),
                  struct vel_err *err)
{
    struct packlab_node pack;
    struct vel_entry entry;
    int rc = indexlab_load(vel_fs_posix(), lab->dir, id, &entry, err);

    if (rc < 0)
        return rc;
    packlab_node(lab, fs, id, owner, 0, PACKLAB_NODES, &pack);
    entry.owner = owner;
    rc = act(&pack.node.flushing, &entry, err);
    vel_entry_fini(&entry);
    return rc;
}

int packlab_name(const struct flushlab *lab, struct vel_fs *fs, int64_t id,
                 int64_t owner, int n, struct vel_err *err)
{
    struct packlab_node pack;

    packlab_node(lab, fs, id, owner, n, PACKLAB_NODES, &pack);
    return vel_flushing_name(&pack.node.flushing, &pack.node.job, err);
}

int packlab_stage(const struct flushlab *lab, struct vel_fs *fs, int64_t id,
                  int64_t owner, struct vel_err *err)
{
    int rc = 0;

    flushlab_begin(lab, id, owner);
    for (int n = 0; rc == 0 && n < PACKLAB_NODES; n++)
        rc = packlab_copy(lab, fs, id, owner, n, err);
    return rc == 0 ? packlab_owner(lab, fs, id, owner, vel_flushing_stage, err) : rc;
}

int packlab_flush(const struct flushlab *lab, struct vel_fs *fs, int64_t id,
                  int64_t owner, struct vel_err *err)
{
    int rc = packlab_stage(lab, fs, id, owner, err);

    for (int n = 0; rc == 0 && n < PACKLAB_NODES; n++)
        rc = packlab_name(lab, fs, id, owner, n, err);
    return rc == 0 ? packlab_owner(lab, fs, id, owner, vel_flushing_publish, err) : rc;
}

int packlab_settle(const struct flushlab *lab, int64_t id, int64_t owner,
                   struct vel_err *err)
{
    struct packlab_node pack;
    struct vel_entry entry;
    int rc;

    flushlab_claim(lab, id, owner);
    packlab_node(lab, vel_fs_posix(), id, owner, 0, PACKLAB_NODES, &pack);
    rc = vel_flushing_settle(&pack.node.flushing, &pack.node.job, 0, &entry, err);
    if (rc == 0)
        vel_entry_fini(&entry);
    return rc;
}

void packlab_must(int rc, const struct vel_err *err)
{
    if (rc < 0)
        bail_out("%s", err->text);
}

/* --- what is there --- */

int packlab_count(const struct flushlab *lab, int64_t id, const char *begin)
{
    char *dir = vel_dataset_dir(lab->dir, id);
    struct vel_vec names;
    int n = 0;

    vel_vec_init(&names, sizeof(char *));
    vel_fs_list(vel_fs_posix(), dir, &names, NULL);
    for (size_t i = 0; i < names.n; i++)
        n += strncmp(((char **)names.items)[i], begin, strlen(begin)) == 0;
    vel_fs_names_fini(&names);
    free(dir);
    return n;
}

int packlab_temporaries(const struct flushlab *lab, int64_t id)
{
    return packlab_count(lab, id, ".container.") + flushlab_strays(lab);
}

/* A listed file out of its container has the bytes of its source, and its time. */
static bool is_right(const struct flushlab *lab, int64_t id,
                     const struct vel_listed *file)
{
    const struct vel_crew crew = {.fs = vel_fs_posix(),
                                  .prefix = lab->prefix,
                                  .dir = lab->dir,
                                  .copy = {.fs = vel_fs_posix()},
                                  .checks_crc = true};
    char *dir = vel_cache_rank_dir(lab->cache, id, file->rank), source[1300];
    size_t len, want_len;
    struct vel_err err = {0};
    char *is, *want;
    struct stat st;
    bool right;

    snprintf(source, sizeof source, "%s/%s", dir, file->name);
    free(dir);
    unlink(tap_path("out"));
    if (file->container < 0 ||
        vel_container_get(&crew, id, file, tap_path("out"), &err) < 0) {
        note("%s of rank %d: %s", file->name, file->rank, err.text);
        return false;
    }
    is = tap_get_file(tap_path("out"), &len);
    want = tap_get_file(source, &want_len);
    right = is && want && len == want_len && memcmp(is, want, len) == 0 &&
            stat(source, &st) == 0 && st.st_mtim.tv_sec == file->mtime_s &&
            st.st_mtim.tv_nsec == file->mtime_ns;
    free(is);
    free(want);
    return right;
}

/* How many files of a dataset come out of its containers as they went in. */
static int right_files(const struct flushlab *lab, int64_t id)
{
    struct vel_entry entry;
    int n = 0;

    if (indexlab_load(vel_fs_posix(), lab->dir, id, &entry, NULL) < 0)
        return -1;
    for (int l = 0; l < entry.lists; l++) {
        struct vel_vec files;

        if (indexlab_files(vel_fs_posix(), lab->dir, id, l, &files, NULL) < 0)
            continue;
        for (size_t i = 0; i < files.n; i++)
            n += is_right(lab, id, vel_vec_at(&files, i));
        vel_filelist_fini(&files);
    }
    vel_entry_fini(&entry);
    return n;
}

bool packlab_is_whole(const struct flushlab *lab, int64_t id)
{
    return flushlab_place(lab, id, NULL) == VEL_ON_PREFIX &&
           right_files(lab, id) == PACKLAB_FILES && packlab_temporaries(lab, id) == 0;
}
