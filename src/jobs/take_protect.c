/* SPDX-License-Identifier: BSD-3-Clause */
/* The commit of a part that is taken: all that is in it, on disk and in a redundancy
 * file. */
#include "config.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "comm/comm.h"
#include "jobs/take_in.h"
#include "meta/cache.h"
#include "red/redfile.h"
#include "red/set.h"

/* What is in a part: names on disk, and their list. */
struct listing {
    struct vel_fs *fs;
    const char *dir;
    bool is_unsynced;
    struct vel_vec names; /* char * */
};

static bool ends_with(const char *name, const char *end)
{
    size_t len = strlen(name), of_end = strlen(end);

    return len > of_end && strcmp(name + len - of_end, end) == 0;
}

/* Also what an attempt before has left of one. */
static bool is_redundancy(const char *name)
{
    return !strchr(name, '/') &&
           (ends_with(name, VEL_RED_SUFFIX) ||
            ends_with(name, VEL_RED_SUFFIX VEL_RED_TEMPORARY)) &&
           strncmp(name, VEL_CACHE_LABEL ".", strlen(VEL_CACHE_LABEL) + 1) == 0;
}

static int sync_file(struct listing *listing, const char *path, bool is_dir,
                     struct vel_err *err)
{
    int fd = -1, rc;

    if (is_dir)
        return vel_fs_sync_dir(listing->fs, path, err);
    rc =
        vel_fs_open(listing->fs, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, &fd, err);
    if (rc == 0)
        rc = vel_fs_sync(listing->fs, fd, path, err);
    vel_fs_close(listing->fs, fd, path, NULL);
    return rc;
}

static int list_one(void *arg, enum vel_fs_visit what, const char *below,
                    const struct stat *st, struct vel_err *err)
{
    struct listing *listing = arg;
    char *path, *name = NULL;
    int rc;

    (void)st;
    /* the names in its own directory are synced with that of the redundancy file */
    if (what == VEL_FS_ENTER || !*below || is_redundancy(below))
        return 0;
    path = vel_path_join(listing->dir, below);
    if (!path)
        rc = vel_out_of_memory(err, "a part");
    else
        rc = listing->is_unsynced ? 0
                                  : sync_file(listing, path, what == VEL_FS_LEAVE, err);
    free(path);
    if (rc < 0 || what == VEL_FS_LEAVE)
        return rc;
    name = strdup(below);
    if (name && vel_vec_push(&listing->names, &name))
        return 0;
    free(name);
    return vel_out_of_memory(err, "a part");
}

bool vel_take_is_unsynced(const struct vel_take *take)
{
    bool knows_boot = true;

    for (size_t i = 0; i < take->n_homes; i++)
        knows_boot = knows_boot && vel_batches_boot(take->batches[i]) != 0;
    return knows_boot && take->seal->what == VEL_OWED_FLUSH;
}

int vel_take_protect(const struct vel_take *take, const uint8_t id[VEL_ENCODING_ID],
                     const struct vel_filemap *map,
                     const struct vel_seal_member *member, const char *dir,
                     struct vel_err *err)
{
    struct vel_comm *alone = NULL;
    struct vel_red_set set = {.scheme = VEL_SINGLE,
                              .set = (uint32_t)map->rank,
                              .sets = (uint32_t)take->dataset->ranks,
                              .rank = (uint32_t)map->rank,
                              .fs = take->fs,
                              .dir = dir,
                              .label = VEL_CACHE_LABEL,
                              .memory = (size_t)take->conf->memory,
                              .id = id,
                              .is_unsynced = vel_take_is_unsynced(take)};
    struct listing listing = {
        .fs = take->fs, .dir = dir, .is_unsynced = set.is_unsynced};
    struct vel_buf brief;
    int rc;

    vel_vec_init(&listing.names, sizeof(char *));
    vel_buf_init(&brief);
    rc = vel_comm_self(&alone, err);
    set.comm = alone;
    if (rc == 0)
        rc = vel_fs_walk(take->fs, dir, list_one, &listing, err);
    if (rc == 0 && listing.names.n == 0 && member->files > 0)
        rc = vel_fail(err, VEL_ENOENT, "its files are not in the cache any more");
    if (rc == 0)
        rc = vel_filemap_encode(map, &brief, err);
    if (rc == 0)
        rc = vel_red_apply(&set, listing.names.items, listing.names.n, brief.data,
                           brief.len, NULL, err);
    vel_buf_fini(&brief);
    vel_fs_names_fini(&listing.names);
    vel_comm_destroy(alone);
    return rc;
}

int vel_take_check_size(struct vel_fs *fs, const char *path, int64_t size,
                        struct vel_err *err)
{
    struct stat st;
    int rc = vel_fs_lstat(fs, path, &st, err);

    if (rc == VEL_ENOENT)
        return vel_fail(err, VEL_ECORRUPT, "%s is not in the cache any more", path);
    if (rc == 0 && st.st_size != size)
        rc = vel_fail(err, VEL_ECORRUPT,
                      "%s has %lld bytes, and had %lld when it was closed", path,
                      (long long)st.st_size, (long long)size);
    return rc;
}

bool vel_take_holds(const struct vel_take *take, const uint8_t id[VEL_ENCODING_ID],
                    int64_t rank, const char *dir)
{
    struct vel_red_set set = {.fs = take->fs,
                              .dir = dir,
                              .label = VEL_CACHE_LABEL,
                              .rank = (uint32_t)rank,
                              .id = id};
    bool holds = false;

    if (vel_red_holds(&set, &holds, NULL) == 0 && holds)
        return true;
    set.id = take->seal->encoding;
    return vel_red_holds(&set, &holds, NULL) == 0 && holds;
}

bool vel_take_was_protected(const struct vel_take *take, const char *dir)
{
    struct vel_vec names;
    bool was = false;

    if (vel_fs_list(take->fs, dir, &names, NULL) < 0)
        return false;
    for (size_t i = 0; i < names.n; i++)
        was |= vel_red_is_file_name(((char **)names.items)[i]);
    vel_fs_names_fini(&names);
    return was;
}

bool vel_take_was_synced(const struct vel_take *take, int64_t rank)
{
    bool is_told = false;

    for (size_t i = 0; !is_told && i < take->n_homes; i++)
        is_told = vel_batches_has_part(take->batches[i], take->seal->id, rank);
    return is_told && !vel_take_is_unsynced(take);
}
