/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tap/fs_fault.h"
#include "tap/files.h"
#include "tap/tap.h"

static void transfers(struct vel_fs *fs, const char *how)
{
    const char *path = tap_path("transfer");
    char got[32] = "";
    struct vel_err err = {0};
    int fd = -1, fds = tap_open_fds();

    unlink(path);
    is_int(vel_fs_open(fs, path, O_RDWR | O_CREAT, 0600, &fd, &err), 0,
           "%s: a file is created", how);
    ok(fcntl(fd, F_GETFD) & FD_CLOEXEC, "%s: programs we start do not inherit it", how);
    is_int(vel_fs_write_at(fs, fd, "0123456789", 10, 5, path, &err), 0,
           "%s: all bytes are written", how);
    is_int(vel_fs_read_at(fs, fd, got, 15, 0, path, &err), 0, "%s: all bytes are read",
           how);
    ok(memcmp(got, "\0\0\0\0\0000123456789", 15) == 0, "%s: they are the same", how);
    is_int(vel_fs_read_at(fs, fd, got, 16, 0, path, &err), VEL_ECORRUPT,
           "%s: a file that ends too early is corrupt for its reader", how);
    ok(strstr(err.text, path) != NULL, "%s: the sentence names the path", how);
    is_int(vel_fs_truncate(fs, fd, 7, path, &err), 0, "%s: a file is cut", how);
    is_int(vel_fs_sync(fs, fd, path, &err), 0, "%s: a file is synced", how);
    struct stat st = {0};
    is_int(vel_fs_stat(fs, fd, path, &st, &err), 0, "%s: an open file is looked at",
           how);
    is_int(st.st_size, 7, "%s: it has the size set", how);
    is_int(vel_fs_close(fs, fd, path, &err), 0, "%s: a file is closed", how);
    is_int(tap_open_fds(), fds, "%s: no descriptor is left", how);
    is_int(vel_fs_close(fs, -1, path, &err), 0, "%s: -1 is closed without harm", how);
}

static void appends(struct vel_fs *fs, const char *how)
{
    const char *path = tap_path("append");
    struct vel_err err = {0};
    int fd = -1;

    tap_put_file(path, "first\n");
    vel_fs_open(fs, path, O_WRONLY | O_APPEND, 0, &fd, &err);
    is_int(vel_fs_append(fs, fd, "second\n", 7, path, &err), 0, "%s: appending works",
           how);
    vel_fs_close(fs, fd, path, &err);
    ok(tap_file_is(path, "first\nsecond\n"), "%s: at the end of the file", how);
}

static void copies(struct vel_fs *fs, const char *how)
{
    const char *from_path = tap_path("from"), *to_path = tap_path("to");
    struct vel_err err = {0};
    int from = -1, to = -1;

    tap_put_file(from_path, "abcdefghijklmnopqrstuvwxyz");
    tap_put_file(to_path, "0123456789");
    vel_fs_open(fs, from_path, O_RDONLY, 0, &from, &err);
    vel_fs_open(fs, to_path, O_WRONLY, 0, &to, &err);
    is_int(vel_fs_copy_at(fs, from, 2, from_path, to, 4, to_path, 20, &err), 0,
           "%s: a part of a file is copied", how);
    ok(tap_file_is(to_path, "0123cdefghijklmnopqrstuv"), "%s: to its place", how);
    is_int(vel_fs_copy_at(fs, from, 20, from_path, to, 0, to_path, 7, &err),
           VEL_ECORRUPT, "%s: a source that ends too early is corrupt", how);
    ok(strstr(err.text, from_path) != NULL, "%s: the sentence names the source", how);
    vel_fs_close(fs, from, from_path, NULL);
    vel_fs_close(fs, to, to_path, NULL);
}

static void whole_files(struct vel_fs *fs, const char *how)
{
    const char *path = tap_path("whole");
    struct vel_buf buf;
    struct vel_err err = {0};
    int fds = tap_open_fds();

    vel_buf_init(&buf);
    vel_buf_puts(&buf, "before:");
    tap_put_file(path, "twelve bytes");
    is_int(vel_fs_read_file(fs, path, 12, &buf, &err), 0, "%s: a file is read whole",
           how);
    is_str(vel_buf_text(&buf), "before:twelve bytes", "%s: behind what was there", how);
    is_int(vel_fs_read_file(fs, path, 11, &buf, &err), VEL_ECORRUPT,
           "%s: a file that is too long is refused", how);
    is_str(vel_buf_text(&buf), "before:twelve bytes",
           "%s: a failure leaves the buffer alone", how);
    is_int(vel_fs_read_file(fs, tap_path("none"), 11, &buf, &err), VEL_ENOENT,
           "%s: a missing file is not found", how);
    is_int(vel_fs_read_file(fs, tap_dir(), 11, &buf, &err), VEL_EINVAL,
           "%s: a directory is no file", how);
    unlink(tap_path("pipe"));
    if (mkfifo(tap_path("pipe"), 0600) < 0)
        bail_out("cannot make a pipe");
    is_int(vel_fs_read_file(fs, tap_path("pipe"), 11, &buf, &err), VEL_EINVAL,
           "%s: a pipe is refused, not waited for", how);
    is_int(vel_fs_read_file(fs, "/proc/self/stat", 65536, &buf, &err), 0,
           "%s: a file that claims no size is read to its end", how);
    ok(buf.len > strlen("before:twelve bytes"), "%s: and has content", how);
    is_int(vel_fs_read_file(fs, "/proc/self/stat", 2, &buf, &err), VEL_ECORRUPT,
           "%s: and is refused when too long", how);
    is_int(tap_open_fds(), fds, "%s: no descriptor is left by any of it", how);
    vel_buf_fini(&buf);
}

static void names(void)
{
    struct vel_fs *fs = vel_fs_posix();
    struct vel_err err = {0};
    struct stat st;

    tap_put_file(tap_path("a"), "a");
    is_int(vel_fs_rename(fs, tap_path("a"), tap_path("b"), &err), 0,
           "a file is renamed");
    ok(!vel_fs_exists(fs, tap_path("a")) && vel_fs_exists(fs, tap_path("b")),
       "and exists under its new name only");
    is_int(vel_fs_rename(fs, tap_path("a"), tap_path("b"), &err), VEL_ENOENT,
           "what is missing is not renamed");
    ok(strstr(err.text, tap_path("a")) && strstr(err.text, tap_path("b")),
       "the sentence names both names");
    is_int(vel_fs_link(fs, tap_path("b"), tap_path("c"), &err), 0,
           "a file gets a second name");
    ok(tap_file_is(tap_path("c"), "a"), "which leads to the same content");
    is_int(vel_fs_link(fs, tap_path("b"), tap_path("c"), &err), VEL_EEXIST,
           "but not in the place of another file");
    is_int(vel_fs_unlink(fs, tap_path("c"), &err), 0, "a name is removed");
    is_int(vel_fs_unlink(fs, tap_path("c"), &err), 0, "removing it again succeeds");
    is_int(vel_fs_unlink(fs, tap_dir(), &err) < 0, 1, "a directory is not unlinked");
    if (symlink("nowhere", tap_path("dangling")) < 0)
        bail_out("cannot make a link");
    ok(vel_fs_exists(fs, tap_path("dangling")), "a dangling link exists");
    is_int(vel_fs_lstat(fs, tap_path("dangling"), &st, &err), 0, "and is looked at");
    ok(S_ISLNK(st.st_mode), "as a link");
    is_int(vel_fs_lstat(fs, tap_path("none"), &st, &err), VEL_ENOENT,
           "what is missing is not found");
}

static void attributes(void)
{
    struct vel_fs *fs = vel_fs_posix();
    struct timespec times[2] = {{.tv_sec = 1000}, {.tv_sec = 2000}};
    uint64_t space = 0;
    struct vel_err err = {0};
    struct stat st = {0};
    int fd = -1;

    vel_fs_open(fs, tap_path("b"), O_RDWR, 0, &fd, &err);
    ok(fs->ops->set_times(fs, fd, times) == 0 && fs->ops->set_mode(fs, fd, 0640) == 0 &&
           fs->ops->fstat(fs, fd, &st) == 0,
       "times and mode are set");
    ok(st.st_mtime == 2000 && (st.st_mode & 0777) == 0640, "and found again");
    vel_fs_close(fs, fd, "b", NULL);
    is_int(fs->ops->fstat(fs, -1, &st), -EBADF,
           "an operation returns a negative errno");
    is_int(vel_fs_space(fs, tap_dir(), &space, &err), 0, "free space is told");
    ok(space > 0, "and there is some");
    is_int(vel_fs_space(fs, tap_path("none"), &space, &err), VEL_ENOENT,
           "but not of a place that is missing");
}

static void no_copy_in_the_kernel(void)
{
    const struct vel_fs_fault_plan plan = {.mode = VEL_FS_FAULT_LASTING,
                                           .kinds = VEL_FS_KIND_COPY,
                                           .at = 2,
                                           .errnum = EXDEV,
                                           .most_at_once = 5};
    struct vel_fs_fault *fault;

    if (vel_fs_fault_create(vel_fs_posix(), NULL, &fault, NULL) < 0)
        bail_out("cannot make a fault twin");
    vel_fs_fault_arm(fault, &plan);
    copies(vel_fs_fault_fs(fault), "copied through memory");
    ok(vel_fs_fault_fired(fault), "the kernel did refuse in the middle");
    vel_fs_fault_destroy(fault);
}

static void short_transfers(void)
{
    const struct vel_fs_fault_plan plan = {.mode = VEL_FS_FAULT_NONE,
                                           .most_at_once = 3};
    struct vel_fs_fault *fault;

    if (vel_fs_fault_create(vel_fs_posix(), NULL, &fault, NULL) < 0)
        bail_out("cannot make a fault twin");
    vel_fs_fault_arm(fault, &plan);
    struct vel_fs *fs = vel_fs_fault_fs(fault);
    transfers(fs, "three bytes at once");
    appends(fs, "three bytes at once");
    copies(fs, "three bytes at once");
    whole_files(fs, "three bytes at once");
    vel_fs_fault_destroy(fault);
}

int main(void)
{
    transfers(vel_fs_posix(), "posix");
    appends(vel_fs_posix(), "posix");
    copies(vel_fs_posix(), "posix");
    whole_files(vel_fs_posix(), "posix");
    names();
    attributes();
    no_copy_in_the_kernel();
    short_transfers();
    return done_testing();
}
