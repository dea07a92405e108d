/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "meta/cache.h"
#include "meta/cachename.h"
#include "jobs/part_files.h"
#include "red/redfile.h"
#include "xfer/flush.h"

static int add_file(struct vel_vec *files, int rank, const char *dir,
                    const struct vel_red_file *red, struct vel_err *err)
{
    struct vel_flush_file file = {.from = vel_path_join(dir, red->name),
                                  .listed = {.rank = rank,
                                             .name = strdup(red->name),
                                             .size = red->size,
                                             .crc = red->crc,
                                             .mode = red->mode & 07777,
                                             .mtime_s = red->mtime_s,
                                             .mtime_ns = red->mtime_ns,
                                             .container = -1},
                                  .is_dated = red->is_dated};

    if (file.from && file.listed.name && vel_vec_push(files, &file))
        return 0;
    free(file.from);
    vel_listed_fini(&file.listed);
    return vel_out_of_memory(err, "a list of files");
}

static int add_through(struct vel_fs *fs, const char *prefix, const char *dir,
                       struct vel_vec *files, struct vel_err *err)
{
    char *path = vel_path_join(dir, VEL_THROUGH_LIST);
    struct vel_vec listed;
    int rc;

    vel_vec_init(&listed, sizeof(struct vel_listed));
    rc = path ? vel_filelist_load_at(fs, path, &listed, err)
              : vel_out_of_memory(err, "a list of files");
    for (size_t i = 0; rc == 0 && i < listed.n; i++) {
        struct vel_listed *l = vel_vec_at(&listed, i);
        struct vel_flush_file file = {.listed = *l};

        rc = vel_cachename_path(prefix, l->name, &file.from, err);
        if (rc == 0 && !vel_vec_push(files, &file)) {
            free(file.from);
            rc = vel_out_of_memory(err, "a list of files");
        }
        if (rc == 0)
            l->name = NULL; /* the other list's now */
    }
    vel_filelist_fini(&listed);
    free(path);
    return rc;
}

int vel_part_files(struct vel_fs *fs, const char *prefix, const char *dir, int rank,
                   struct vel_vec *files, struct vel_err *err)
{
    struct vel_vec red = {0};
    int rc = vel_redfile_scan(fs, dir, VEL_CACHE_LABEL, (uint32_t)rank, &red, err);

    if (rc == 0 && !red.n)
        rc = vel_fail(err, VEL_ENOENT, "%s has no redundancy file that can be read",
                      dir);
    if (rc == 0) {
        const struct vel_manifest *list = &vel_redfile_at(&red, 0)->header.list[0];

        for (size_t i = 0; rc == 0 && i < list->files.n; i++) {
            const struct vel_red_file *file = vel_manifest_file(list, i);

            rc = strcmp(file->name, VEL_THROUGH_LIST) == 0
                     ? add_through(fs, prefix, dir, files, err)
                     : add_file(files, rank, dir, file, err);
        }
    }
    vel_redfiles_fini(&red);
    return rc;
}
