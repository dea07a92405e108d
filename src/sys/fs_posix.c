/* SPDX-License-Identifier: BSD-3-Clause */
/* fs_posix - the operations of fs.h by system calls, with nothing of our own but the
 * repetition of interrupted calls and negative errnos. */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/vfs.h>
#include <unistd.h>
#ifdef HAVE_LINUX_FS_H
#include <linux/fs.h>
#include <linux/magic.h>
#endif

#include "base/path.h"
#include "sys/fs.h"

static bool again(long result)
{
    return result < 0 && errno == EINTR;
}

static int outcome(int result)
{
    return result < 0 ? -errno : result;
}

static int posix_open(struct vel_fs *fs, const char *path, int flags, mode_t mode)
{
    int fd;

    (void)fs;
    do
        fd = open(path, flags | O_CLOEXEC, mode);
    while (again(fd));
    return outcome(fd);
}

static int posix_close(struct vel_fs *fs, int fd)
{
    (void)fs;
    /* Linux has closed the descriptor even when it says EINTR; a second close might hit
     * one that another thread has just opened */
    return close(fd) < 0 && errno != EINTR ? -errno : 0;
}

static ssize_t posix_pread(struct vel_fs *fs, int fd, void *buf, size_t len, off_t at)
{
    ssize_t n;

    (void)fs;
    do
        n = pread(fd, buf, len, at);
    while (again(n));
    return n < 0 ? -errno : n;
}

static ssize_t posix_pwrite(struct vel_fs *fs, int fd, const void *buf, size_t len,
                            off_t at)
{
    ssize_t n;

    (void)fs;
    do
        n = pwrite(fd, buf, len, at);
    while (again(n));
    return n < 0 ? -errno : n;
}

static ssize_t posix_append(struct vel_fs *fs, int fd, const void *buf, size_t len)
{
    ssize_t n;

    (void)fs;
    do
        n = write(fd, buf, len);
    while (again(n));
    return n < 0 ? -errno : n;
}

#ifdef HAVE_COPY_FILE_RANGE
static ssize_t posix_copy(struct vel_fs *fs, int from, off_t from_at, int to,
                          off_t to_at, size_t len)
{
    ssize_t n;

    (void)fs;
    do {
        off64_t in = from_at, out = to_at;
        n = copy_file_range(from, &in, to, &out, len, 0);
    } while (again(n));
    if (n < 0)
        return errno == ENOSYS ? -EOPNOTSUPP : -errno;
    return n;
}
#else
static ssize_t posix_copy(struct vel_fs *fs, int from, off_t from_at, int to,
                          off_t to_at, size_t len)
{
    (void)fs, (void)from, (void)from_at, (void)to, (void)to_at, (void)len;
    return -EOPNOTSUPP;
}
#endif

static int posix_clone(struct vel_fs *fs, int from, int to)
{
    int rc;

    (void)fs;
#ifdef FICLONE
    do
        rc = ioctl(to, FICLONE, from);
    while (again(rc));
    return outcome(rc);
#else
    (void)from, (void)to, (void)rc;
    return -EOPNOTSUPP;
#endif
}

static int posix_truncate(struct vel_fs *fs, int fd, off_t size)
{
    int rc;

    (void)fs;
    do
        rc = ftruncate(fd, size);
    while (again(rc));
    return outcome(rc);
}

static int posix_fsync(struct vel_fs *fs, int fd)
{
    int rc;

    (void)fs;
    do
        rc = fsync(fd);
    while (again(rc));
    return outcome(rc);
}

static void posix_hasten(struct vel_fs *fs, int fd, off_t at, off_t len)
{
    (void)fs;
#ifdef HAVE_SYNC_FILE_RANGE
    sync_file_range(fd, at, len, SYNC_FILE_RANGE_WRITE);
#else
    (void)fd, (void)at, (void)len;
#endif
}

static int posix_flock(struct vel_fs *fs, int fd, int how)
{
    int rc;

    (void)fs;
    do
        rc = flock(fd, how);
    while (again(rc));
    return outcome(rc);
}

static int posix_fstat(struct vel_fs *fs, int fd, struct stat *ret)
{
    (void)fs;
    return outcome(fstat(fd, ret));
}

static int posix_set_times(struct vel_fs *fs, int fd, const struct timespec times[2])
{
    (void)fs;
    return outcome(futimens(fd, times));
}

static int posix_set_mode(struct vel_fs *fs, int fd, mode_t mode)
{
    (void)fs;
    return outcome(fchmod(fd, mode));
}

static int posix_lstat(struct vel_fs *fs, const char *path, struct stat *ret)
{
    (void)fs;
    return outcome(lstat(path, ret));
}

/* every name that readdir gives from now on */
static int read_names(DIR *dir, struct vel_vec *names)
{
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(dir);
        if (!entry)
            return -errno;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        char *name = strdup(entry->d_name);
        if (!name || !vel_vec_push(names, &name)) {
            free(name);
            return -ENOMEM;
        }
    }
}

static int posix_list(struct vel_fs *fs, const char *path, struct vel_vec *ret_names)
{
    int fd = posix_open(fs, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);

    if (fd < 0)
        return fd;
    DIR *dir = fdopendir(fd);
    if (!dir) {
        int rc = -errno;
        close(fd);
        return rc;
    }
    size_t before = ret_names->n;
    int rc = read_names(dir, ret_names);
    if (rc < 0)
        while (ret_names->n > before) {
            free(*(char **)vel_vec_at(ret_names, ret_names->n - 1));
            vel_vec_remove(ret_names, ret_names->n - 1);
        }
    closedir(dir);
    return rc;
}

static int posix_rename(struct vel_fs *fs, const char *from, const char *to)
{
    (void)fs;
    return outcome(rename(from, to));
}

static int posix_link(struct vel_fs *fs, const char *from, const char *to)
{
    (void)fs;
    return outcome(linkat(AT_FDCWD, from, AT_FDCWD, to, 0));
}

static int posix_unlink(struct vel_fs *fs, const char *path)
{
    (void)fs;
    return outcome(unlink(path));
}

static int posix_mkdir(struct vel_fs *fs, const char *path, mode_t mode)
{
    (void)fs;
    return outcome(mkdir(path, mode));
}

static int posix_rmdir(struct vel_fs *fs, const char *path)
{
    (void)fs;
    return outcome(rmdir(path));
}

static int posix_space(struct vel_fs *fs, const char *path, struct statvfs *ret)
{
    int rc;

    (void)fs;
    do
        rc = statvfs(path, ret);
    while (again(rc));
    return outcome(rc);
}

static int posix_shows_all(struct vel_fs *fs, const char *path)
{
    (void)fs;
    return vel_fs_is_local(path);
}

static const struct vel_fs_ops posix_ops = {
    .open = posix_open,
    .close = posix_close,
    .pread = posix_pread,
    .pwrite = posix_pwrite,
    .append = posix_append,
    .copy = posix_copy,
    .clone = posix_clone,
    .truncate = posix_truncate,
    .fsync = posix_fsync,
    .hasten = posix_hasten,
    .flock = posix_flock,
    .fstat = posix_fstat,
    .set_times = posix_set_times,
    .set_mode = posix_set_mode,
    .lstat = posix_lstat,
    .list = posix_list,
    .rename = posix_rename,
    .link = posix_link,
    .unlink = posix_unlink,
    .mkdir = posix_mkdir,
    .rmdir = posix_rmdir,
    .space = posix_space,
    .shows_all = posix_shows_all,
};

struct vel_fs *vel_fs_posix(void)
{
    /* never written; not const because the operations of a twin change their struct */
    static struct vel_fs posix = {.ops = &posix_ops};

    return &posix;
}

int vel_fs_working_dir(char **ret_dir, struct vel_err *err)
{
    char dir[VEL_PATH_MAX];

    if (!getcwd(dir, sizeof dir))
        return vel_fail_errno(err, errno, "cannot tell the working directory");
    char *copy = strdup(dir);
    if (!copy)
        return vel_out_of_memory(err, dir);
    *ret_dir = copy;
    return 0;
}

int vel_fs_path_of(int fd, char **ret_path, struct vel_err *err)
{
    char name[32], path[VEL_PATH_MAX];
    ssize_t len;

    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    len = readlink(name, path, sizeof path - 1);
    if (len < 0)
        return vel_fail_errno(err, errno, "%s", name);
    path[len] = 0;
    char *copy = path[0] == '/' ? strdup(path) : NULL;
    if (!copy)
        return path[0] == '/' ? vel_out_of_memory(err, path)
                              : vel_fail(err, VEL_ENOENT, "'%s' is no path", path);
    *ret_path = copy;
    return 0;
}

bool vel_fs_ends_without_link(const char *path)
{
    const char *base = vel_path_base(path);
    struct stat st;

    return *base && strcmp(base, ".") != 0 && strcmp(base, "..") != 0 &&
           (lstat(path, &st) == 0 ? !S_ISLNK(st.st_mode) : errno == ENOENT);
}

/* A name that is no link is itself in its directory. */
static int real_name(const char *path, char **ret_path, struct vel_err *err)
{
    char *dir = vel_path_dir(path), *parent = dir ? realpath(dir, NULL) : NULL;
    int rc = dir ? errno : ENOMEM;

    *ret_path = parent ? vel_path_join(parent, vel_path_base(path)) : NULL;
    rc = *ret_path ? 0
         : parent  ? vel_out_of_memory(err, path)
                   : vel_fail_errno(err, rc, "the directory of %s", path);
    free(dir);
    free(parent);
    return rc;
}

int vel_fs_real_path(const char *path, char **ret_path, struct vel_err *err)
{
    char *real;

    if (vel_fs_ends_without_link(path))
        return real_name(path, ret_path, err);
    real = realpath(path, NULL);
    if (real)
        *ret_path = real;
    else if (errno == ENOENT) /* it is no name that could be told from others */
        return vel_fail(err, VEL_ENOENT, "%s is a link to nothing", path);
    return real ? 0 : vel_fail_errno(err, errno, "%s", path);
}

bool vel_fs_is_allowed(const char *path, bool writes)
{
    return faccessat(AT_FDCWD, path, writes ? W_OK : R_OK, AT_EACCESS) == 0;
}

/* Those that are known to be; any other may belong to many. */
bool vel_fs_is_local(const char *path)
{
    struct statfs st;

    if (statfs(path, &st) < 0)
        return false;
    switch ((unsigned long)st.f_type) {
    case BTRFS_SUPER_MAGIC:
    case EXT4_SUPER_MAGIC:
    case F2FS_SUPER_MAGIC:
    case OVERLAYFS_SUPER_MAGIC:
    case RAMFS_MAGIC:
    case TMPFS_MAGIC:
    case XFS_SUPER_MAGIC:
        return true;
    default:
        return false;
    }
}

bool vel_fs_overwrites_in_place(const char *path)
{
    struct statfs st;

    if (statfs(path, &st) < 0)
        return false;
    switch ((unsigned long)st.f_type) {
    case EXT4_SUPER_MAGIC:
    case RAMFS_MAGIC:
    case TMPFS_MAGIC:
    case XFS_SUPER_MAGIC:
        return true;
    default:
        return false;
    }
}
