/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "meta/cachename.h"
#include "xfer/stands.h"

static bool is_untouched(const struct stat *st, const struct vel_listed *file)
{
    return (uint64_t)st->st_size == file->size && st->st_mtim.tv_sec == file->mtime_s &&
           st->st_mtim.tv_nsec == file->mtime_ns;
}

bool vel_stands_untouched(struct vel_fs *fs, const char *path,
                          const struct vel_listed *file)
{
    struct stat st;

    return vel_fs_lstat(fs, path, &st, NULL) == 0 && is_untouched(&st, file);
}

int vel_stands_remove(struct vel_fs *fs, const char *path,
                      const struct vel_listed *file, struct vel_err *err)
{
    struct stat st;
    int rc = vel_fs_lstat(fs, path, &st, err);

    if (rc == 0 && is_untouched(&st, file))
        rc = vel_fs_unlink(fs, path, err);
    return rc == VEL_ENOENT ? 0 : rc;
}

/* Reads the file; with a checksum to compare it is compared. */
static int read_all(const struct vel_crew *crew, const char *path,
                    const struct vel_listed *file, bool has_crc,
                    struct vel_xfer_copied *ret_copied, struct vel_err *err)
{
    struct vel_copy_how how = crew->copy;
    struct vel_xfer_file self = {.from = path,
                                 .to = path,
                                 .size = file->size,
                                 .crc = file->crc,
                                 .has_crc = has_crc};

    how.keeps_metadata = false;
    how.wants_crc = true;
    return vel_copy_check(&how, &self, ret_copied, err);
}

int vel_stands_check(const struct vel_crew *crew, const char *path,
                     const struct vel_listed *file, struct vel_err *err)
{
    struct vel_xfer_copied copied;
    struct stat st;
    int rc = vel_fs_lstat(crew->fs, path, &st, err);

    if (rc < 0)
        return rc;
    if ((uint64_t)st.st_size != file->size)
        return vel_fail(err, VEL_ECORRUPT, "%s has %lld bytes, recorded are %llu", path,
                        (long long)st.st_size, (unsigned long long)file->size);
    if (is_untouched(&st, file))
        return 0;
    return read_all(crew, path, file, true, &copied, err);
}

int vel_stands_record(const struct vel_crew *crew, const char *path,
                      struct vel_listed *file, struct vel_err *err)
{
    struct vel_xfer_copied copied = {0};
    struct stat st;
    int rc = vel_fs_lstat(crew->fs, path, &st, err);

    if (rc < 0)
        return rc;
    file->size = (uint64_t)st.st_size;
    rc = read_all(crew, path, file, false, &copied, err);
    if (rc < 0)
        return rc;
    file->crc = copied.crc;
    file->mode = copied.mode;
    file->mtime_s = st.st_mtim.tv_sec;
    file->mtime_ns = (uint32_t)st.st_mtim.tv_nsec;
    return 0;
}

int vel_stands_sum_up(const struct vel_crew *crew, struct vel_vec *files,
                      struct vel_err *err)
{
    struct vel_flush_file *file = files->items;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < files->n; i++) {
        struct vel_listed now = file[i].listed;

        if (!file[i].is_dated)
            continue;
        rc = vel_stands_record(crew, file[i].from, &now, err);
        if (rc == 0 && !vel_stands_untouched(crew->fs, file[i].from, &file[i].listed))
            rc = vel_fail(err, VEL_ECORRUPT,
                          "%s was written to after it was complete, before its "
                          "checksum was taken",
                          file[i].from);
        if (rc < 0)
            break;
        file[i].listed.crc = now.crc;
        file[i].is_dated = false;
    }
    return rc;
}

int vel_stands_dataset(const struct vel_crew *crew, const struct vel_entry *entry,
                       bool *ret_stands, struct vel_err *err)
{
    bool stands = true;
    int rc = 0;

    for (int l = 0; rc == 0 && stands && l < entry->lists; l++) {
        struct vel_vec files;
        struct vel_listed *f;

        rc = vel_index_files(crew->index, entry->dataset.id, l, &files, err);
        if (rc < 0)
            break;
        f = files.items;
        for (size_t i = 0; rc == 0 && stands && i < files.n; i++) {
            char *path;

            if (f[i].container >= 0)
                continue;
            rc = vel_cachename_path(crew->prefix, f[i].name, &path, err);
            if (rc == 0) {
                stands = vel_stands_untouched(crew->fs, path, &f[i]);
                free(path);
            }
        }
        vel_filelist_fini(&files);
    }
    if (rc == 0)
        *ret_stands = stands;
    return rc;
}

struct putting {
    struct vel_index *index;
    const char *name, *path;
};

static int is_put(void *arg, const struct vel_listed *file)
{
    const struct putting *p = arg;

    return strcmp(file->name, p->name) == 0 &&
           vel_stands_untouched(vel_index_fs(p->index), p->path, file);
}

static int has_put(void *arg, struct vel_entry *entry, struct vel_err *err)
{
    struct putting *p = arg;
    int has = vel_index_each_file(p->index, entry, is_put, p);

    (void)err;
    vel_entry_fini(entry);
    return has;
}

bool vel_stands_put(struct vel_index *index, const struct vel_index_range *range,
                    const char *name, const char *path)
{
    struct putting p = {.index = index, .name = name, .path = path};
    struct vel_index_range readable = *range;
    size_t left_out = 0;

    readable.left_out = &left_out;
    return vel_index_each(index, &readable, has_put, &p, NULL) > 0;
}
