/* SPDX-License-Identifier: BSD-3-Clause */
/* A file of the cache comes to its own path by its process alone: no leader takes it,
 * the cache is full or was emptied, or others read it while it is written. */
#include "config.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "jobs/anchor.h"
#include "jobs/writing.h"
#include "process/files_open_in.h"
#include "xfer/copy.h"

/* The copy gets its name, as if it had been written there: but what somebody else has
 * put there stays, and where the name was taken away there is none. */
static int name_it(const struct vel_file *file, enum vel_hold_now now, const char *path,
                   const char *temporary, struct vel_err *err)
{
    struct vel_fs *fs = vel_fs_posix();
    char *beside = NULL;
    int rc;

    if (now == VEL_HOLD_GONE)
        return vel_fs_unlink(fs, temporary, err);
    if (now == VEL_HOLD_STANDS)
        return vel_copy_publish(fs, temporary, path, err);
    rc = vel_anchor_publish_beside(fs, path, file->pid, temporary, &beside, err);
    if (rc == 0)
        vel_log(
            VEL_LOG_WARN,
            "%s was written by someone else while it was open, and stays: what this "
            "process has written is %s",
            path, beside);
    free(beside);
    return rc;
}

int vel_file_bring_home(const struct vel_file *file, const char *from, uint64_t size,
                        int *ret_fd, struct vel_err *err)
{
    struct vel_fs *fs = vel_fs_posix();
    const struct vel_copy_how how = {
        .fs = fs, .keeps_metadata = true, .clock = vel_clock_system()};
    char *where = NULL, *dir = vel_files_launch_dir();
    enum vel_hold_now now = vel_hold_look(file->hold, file->name, &where);
    const char *path = where ? where : file->path;
    struct vel_xfer_copied copied;
    struct vel_writing writing;
    int fd = -1, rc = vel_writing_begin(fs, dir, path, &writing, err);
    const struct vel_xfer_file copy = {
        .from = from, .to = writing.temporary, .size = size};

    if (rc == 0)
        rc = vel_copy_file(&how, &copy, &copied, err);
    if (rc == 0 && ret_fd)
        rc = vel_fs_open(fs, writing.temporary, O_RDWR, 0, &fd, err);
    if (rc == 0)
        rc = name_it(file, now, path, writing.temporary, err);
    if (rc == 0 && ret_fd)
        *ret_fd = fd;
    else if (fd >= 0)
        vel_fs_close(fs, fd, path, NULL);
    if (rc < 0)
        rc = vel_wrap(err, rc, "%s was not brought from the cache to its own path",
                      path);
    vel_writing_end(fs, &writing);
    free(where);
    free(dir);
    return rc;
}

/* Of a file, or of a descriptor by its name in /proc. */
static int size_of(const char *path, uint64_t *ret_size, struct vel_err *err)
{
    struct vel_fs *fs = vel_fs_posix();
    struct stat st;
    int fd, rc = vel_fs_open(fs, path, O_RDONLY, 0, &fd, err);

    if (rc < 0)
        return rc;
    rc = vel_fs_stat(fs, fd, path, &st, err);
    vel_fs_close(fs, fd, path, NULL);
    if (rc == 0)
        *ret_size = (uint64_t)st.st_size;
    return rc;
}

int vel_file_move_home(struct vel_file *file, const char *from, const char *why,
                       bool locks, int *ret_fd, struct vel_err *err)
{
    uint64_t size = 0;
    int fd = -1,
        rc = file->pid == getpid()
                 ? size_of(from ? from : file->place, &size, err)
                 : vel_fail(err, VEL_ESTATE, "%s belongs to the parent", file->path);

    if (rc == 0)
        rc = vel_file_bring_home(file, from ? from : file->place, size, &fd, err);
    if (rc == 0 && file->dataset)
        rc = vel_files_session_move(file->path, file->dataset, err);
    if (rc < 0) {
        if (fd >= 0)
            close(fd);
        return rc;
    }
    vel_file_end_points(file);
    file->is_home = true;
    vel_hold_move(file->hold, fd, locks);
    vel_files_tell_home(file->path, why);
    *ret_fd = fd;
    return 0;
}
