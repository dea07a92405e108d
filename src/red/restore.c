/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "red/redfile.h"
#include "red/restore.h"

static size_t count(const struct vel_restore *restore)
{
    return restore->header->list[0].files.n;
}

static const struct vel_red_file *file_of(const struct vel_restore *restore, size_t i)
{
    return vel_manifest_file(&restore->header->list[0], i);
}

/* do something with a path below dir, and forget the path */
static int with_path(const struct vel_restore *restore, const char *name,
                     int (*action)(struct vel_fs *fs, const char *path,
                                   struct vel_err *err),
                     struct vel_err *err)
{
    char *path = vel_path_join(restore->dir, name);
    int rc = path ? action(restore->fs, path, err) : vel_out_of_memory(err, name);

    free(path);
    return rc;
}

static int make_parent(struct vel_fs *fs, const char *path, struct vel_err *err)
{
    char *dir = vel_path_dir(path);
    int rc = dir ? vel_fs_make_dirs(fs, dir, 0700, err) : vel_out_of_memory(err, path);

    free(dir);
    return rc;
}

static int prepare_names(struct vel_restore *restore, struct vel_err *err)
{
    restore->names = calloc(count(restore) + 1, sizeof *restore->names);
    if (!restore->names)
        return vel_out_of_memory(err, "restoring files");
    for (size_t i = 0; i < count(restore); i++) {
        const char *name = file_of(restore, i)->name;
        int rc;

        restore->names[i] = vel_red_temporary("", name);
        if (!restore->names[i])
            return vel_out_of_memory(err, name);
        rc = strchr(name, '/') ? with_path(restore, name, make_parent, err) : 0;
        if (rc == 0)
            rc = with_path(restore, restore->names[i], vel_fs_unlink, err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

int vel_restore_open(struct vel_restore *restore, struct vel_fs *fs, const char *dir,
                     const char *label, struct vel_red_header *header,
                     struct vel_err *err)
{
    *restore = (struct vel_restore){.fs = fs, .dir = dir, .header = header};
    char *name = vel_red_file_name(header, label);
    int rc;

    restore->path = name ? vel_path_join(dir, name) : NULL;
    restore->temporary = name ? vel_red_temporary(dir, name) : NULL;
    free(name);
    if (!restore->path || !restore->temporary)
        rc = vel_out_of_memory(err, "restoring files");
    else
        rc = vel_fs_make_dirs(fs, dir, 0700, err);
    if (rc == 0)
        rc = prepare_names(restore, err);
    if (rc == 0)
        rc = vel_fs_unlink(fs, restore->temporary, err);
    if (rc == 0)
        rc = vel_member_open(&restore->member, fs, dir, restore->temporary,
                             vel_red_header_size(header), header, restore->names,
                             VEL_MEMBER_WRITE, err);
    if (rc < 0)
        vel_restore_close(restore);
    return rc;
}

int vel_restore_check(struct vel_restore *restore, struct vel_err *err)
{
    struct vel_red_header *header = restore->header;
    size_t crcs = header->crcs;
    int rc;

    header->crcs =
        0; /* those of the payload are not known yet: only the files are compared */
    rc = vel_member_check_crcs(&restore->member, header, err);
    header->crcs = crcs;
    return rc < 0 ? vel_wrap(err, rc, "rebuilding") : 0;
}

/* mode and times, and the bytes to disk */
static int settle_file(struct vel_restore *restore, size_t i, struct vel_err *err)
{
    const struct vel_red_file *file = file_of(restore, i);
    const struct timespec times[2] = {
        {.tv_nsec = UTIME_OMIT}, {.tv_sec = file->mtime_s, .tv_nsec = file->mtime_ns}};
    struct vel_fs *fs = restore->fs;
    char *path = vel_path_join(restore->dir, restore->names[i]);
    int fd, rc;

    if (!path)
        return vel_out_of_memory(err, file->name);
    rc = vel_fs_open(fs, path, O_RDWR | O_NOFOLLOW, 0, &fd, err);
    if (rc == 0) {
        rc = fs->ops->set_mode(fs, fd, file->mode);
        if (rc == 0)
            rc = fs->ops->set_times(fs, fd, times);
        if (rc == 0)
            rc = fs->ops->fsync(fs, fd);
        if (rc < 0)
            rc = vel_fail_errno(err, -rc, "%s: restoring its mode and times", path);
        int closed = vel_fs_close(fs, fd, path, rc == 0 ? err : NULL);
        rc = rc < 0 ? rc : closed;
    }
    free(path);
    return rc;
}

int vel_restore_settle(struct vel_restore *restore, struct vel_err *err)
{
    int rc;

    vel_member_store_crcs(&restore->member, restore->header);
    restore->header->boot = 0; /* it is brought to the disk here */
    rc = vel_lofi_sync(restore->member.lofi, err);
    for (size_t i = 0; rc == 0 && i < count(restore); i++)
        rc = settle_file(restore, i, err);
    return rc < 0 ? rc : vel_redfile_seal(&restore->member, restore->header, err);
}

static int commit_file(struct vel_restore *restore, size_t i, struct vel_err *err)
{
    char *from = vel_path_join(restore->dir, restore->names[i]);
    char *to = vel_path_join(restore->dir, file_of(restore, i)->name);
    int rc = from && to ? vel_fs_rename(restore->fs, from, to, err)
                        : vel_out_of_memory(err, "restoring files");

    /* files of one directory follow one another as a rule: its last one syncs them all
     */
    const char *next = i + 1 < count(restore) ? file_of(restore, i + 1)->name : NULL;
    if (rc == 0 && next) {
        const char *name = file_of(restore, i)->name;
        size_t len = (size_t)(vel_path_base(name) - name);
        bool is_same = len == (size_t)(vel_path_base(next) - next) &&
                       strncmp(name, next, len) == 0;
        rc = is_same ? 0 : vel_fs_sync_parent(restore->fs, to, err);
    } else if (rc == 0) {
        rc = vel_fs_sync_parent(restore->fs, to, err);
    }
    free(from);
    free(to);
    return rc;
}

int vel_restore_commit(struct vel_restore *restore, struct vel_err *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < count(restore); i++)
        rc = commit_file(restore, i, err);
    if (rc == 0)
        rc = vel_fs_rename(restore->fs, restore->temporary, restore->path, err);
    return rc < 0 ? rc : vel_fs_sync_dir(restore->fs, restore->dir, err);
}

void vel_restore_close(struct vel_restore *restore)
{
    if (!restore->fs)
        return;
    vel_member_close(&restore->member);
    for (size_t i = 0; restore->names && restore->names[i]; i++) {
        with_path(restore, restore->names[i], vel_fs_unlink, NULL);
        free(restore->names[i]);
    }
    if (restore->temporary)
        vel_fs_unlink(restore->fs, restore->temporary, NULL);
    free(restore->names);
    free(restore->path);
    free(restore->temporary);
    *restore = (struct vel_restore){.fs = NULL};
}
