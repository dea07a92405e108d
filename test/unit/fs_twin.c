/* SPDX-License-Identifier: BSD-3-Clause */
/* The hook of a twin gets every operation, with what it works on. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>

#include "sys/fs_twin.h"
#include "tap/files.h"
#include "tap/tap.h"

/* Notes the call and carries it out, unless it is told what to return. */
struct noting {
    struct vel_fs_twin twin;
    struct vel_fs_call last;
    size_t most; /* bytes at once; 0: all */
    ssize_t refuses;
};

static struct noting noting;
static struct vel_fs *fs = &noting.twin.fs;
static char a[1200], b[1200], dir[1200];

static ssize_t note_call(struct vel_fs_twin *twin, struct vel_fs_call *call)
{
    struct noting *n = (struct noting *)twin;

    n->last = *call;
    if (n->refuses)
        return n->refuses;
    if (n->most && call->len > n->most)
        call->len = n->most;
    return vel_fs_call_run(twin->under, call);
}

/* The last call works on this open file, and comes from that one. */
static bool is_on_fd(enum vel_fs_op op, int fd, int from_fd)
{
    const struct vel_fs_call *c = &noting.last;

    return c->op == op && c->fd == fd && c->from_fd == from_fd && !c->path &&
           !c->from_path;
}

static bool is_same(const char *one, const char *other)
{
    return one && other ? strcmp(one, other) == 0 : one == other;
}

static bool is_on_path(enum vel_fs_op op, const char *path, const char *from_path)
{
    const struct vel_fs_call *c = &noting.last;

    return c->op == op && is_same(c->path, path) && is_same(c->from_path, from_path) &&
           c->fd == -1 && c->from_fd == -1;
}

static void moves_bytes(int fd, int to)
{
    const struct vel_fs_ops *o = fs->ops;
    char bytes[8] = "";

    ok(o->append(fs, fd, "abc", 3) == 3 && is_on_fd(VEL_FS_OP_APPEND, fd, -1) &&
           noting.last.len == 3,
       "append");
    ok(o->pread(fs, fd, bytes, 8, 1) == 2 && strcmp(bytes, "bc") == 0 &&
           is_on_fd(VEL_FS_OP_PREAD, fd, -1) && noting.last.len == 8,
       "pread");
    ok(o->pwrite(fs, to, "xyz", 3, 1) == 3 && is_on_fd(VEL_FS_OP_PWRITE, to, -1) &&
           noting.last.at == 1,
       "pwrite");
    ssize_t copied = o->copy(fs, fd, 1, to, 0, 2);
    ok(is_on_fd(VEL_FS_OP_COPY, to, fd) && noting.last.from_at == 1 &&
           noting.last.at == 0 && noting.last.len == 2,
       "copy");
    memset(bytes, 0, sizeof bytes);
    ok(copied < 0 || (o->pread(fs, to, bytes, 2, 0) == 2 && strcmp(bytes, "bc") == 0),
       "it goes from the first to the second");
    o->hasten(fs, to, 1, 2);
    ok(is_on_fd(VEL_FS_OP_HASTEN, to, -1) && noting.last.at == 1 &&
           noting.last.size == 2,
       "hasten");
    ok(o->truncate(fs, to, 0) == 0 && is_on_fd(VEL_FS_OP_TRUNCATE, to, -1), "truncate");
    ok(o->clone(fs, fd, to) <= 0 && is_on_fd(VEL_FS_OP_CLONE, to, fd), "clone");
    ok(o->fsync(fs, to) == 0 && is_on_fd(VEL_FS_OP_FSYNC, to, -1), "fsync");
}

static void changes_files(int fd)
{
    const struct vel_fs_ops *o = fs->ops;
    struct timespec times[2] = {{.tv_sec = 5}, {.tv_sec = 7}};
    struct stat st;

    ok(o->flock(fs, fd, LOCK_EX | LOCK_NB) == 0 && is_on_fd(VEL_FS_OP_FLOCK, fd, -1),
       "flock");
    ok(o->set_times(fs, fd, times) == 0 && is_on_fd(VEL_FS_OP_SET_TIMES, fd, -1),
       "set_times");
    ok(o->set_mode(fs, fd, 0640) == 0 && is_on_fd(VEL_FS_OP_SET_MODE, fd, -1),
       "set_mode");
    ok(o->fstat(fs, fd, &st) == 0 && is_on_fd(VEL_FS_OP_FSTAT, fd, -1) &&
           st.st_mtim.tv_sec == 7 && (st.st_mode & 07777) == 0640,
       "fstat");
}

static void changes_names(void)
{
    const struct vel_fs_ops *o = fs->ops;
    struct vel_vec names;
    struct statvfs space;
    struct stat st;
    char in[1210];

    snprintf(in, sizeof in, "%s/a", dir);
    ok(o->mkdir(fs, dir, 0700) == 0 && is_on_path(VEL_FS_OP_MKDIR, dir, NULL), "mkdir");
    ok(o->rename(fs, a, in) == 0 && is_on_path(VEL_FS_OP_RENAME, in, a), "rename");
    ok(o->link(fs, in, a) == 0 && is_on_path(VEL_FS_OP_LINK, a, in), "link");
    ok(o->lstat(fs, a, &st) == 0 && is_on_path(VEL_FS_OP_LSTAT, a, NULL) &&
           st.st_nlink == 2,
       "lstat");
    vel_vec_init(&names, sizeof(char *));
    ok(o->list(fs, dir, &names) == 0 && is_on_path(VEL_FS_OP_LIST, dir, NULL) &&
           names.n == 1,
       "list");
    vel_fs_names_fini(&names);
    ok(o->unlink(fs, in) == 0 && is_on_path(VEL_FS_OP_UNLINK, in, NULL), "unlink");
    ok(o->space(fs, dir, &space) == 0 && is_on_path(VEL_FS_OP_SPACE, dir, NULL) &&
           space.f_bsize > 0,
       "space");
    ok(o->shows_all(fs, dir) == vel_fs_posix()->ops->shows_all(vel_fs_posix(), dir) &&
           is_on_path(VEL_FS_OP_SHOWS_ALL, dir, NULL),
       "shows_all");
    ok(o->rmdir(fs, dir) == 0 && is_on_path(VEL_FS_OP_RMDIR, dir, NULL), "rmdir");
}

static void decides(void)
{
    const struct vel_fs_ops *o = fs->ops;
    int fd = o->open(fs, b, O_RDWR | O_TRUNC, 0);
    struct stat st;

    noting.most = 2;
    is_int(o->pwrite(fs, fd, "xyz", 3, 0), 2, "a hook can make a call shorter");
    noting.most = 0;
    noting.refuses = -EIO;
    is_int(o->unlink(fs, b), -EIO, "a hook decides what an operation returns");
    noting.refuses = 0;
    ok(o->lstat(fs, b, &st) == 0 && st.st_size == 2, "and whether it is carried out");
    o->close(fs, fd);
}

/* Such as fs_fault. */
static void takes_no_hints(void)
{
    struct vel_fs_ops without = *vel_fs_posix()->ops;
    struct vel_fs under = {.ops = &without};

    without.hasten = NULL;
    vel_fs_twin_init(&noting.twin, &under, note_call);
    fs->ops->hasten(fs, -1, 0, 1);
    ok(is_on_fd(VEL_FS_OP_HASTEN, -1, -1),
       "a file system that takes no hints need not be given any");
}

int main(void)
{
    int fd, to;

    snprintf(a, sizeof a, "%s", tap_path("a"));
    snprintf(b, sizeof b, "%s", tap_path("b"));
    snprintf(dir, sizeof dir, "%s", tap_path("dir"));
    vel_fs_twin_init(&noting.twin, vel_fs_posix(), note_call);
    fd = fs->ops->open(fs, a, O_RDWR | O_CREAT | O_APPEND, 0600);
    ok(fd >= 0 && is_on_path(VEL_FS_OP_OPEN, a, NULL) && noting.last.mode == 0600,
       "open");
    to = fs->ops->open(fs, b, O_RDWR | O_CREAT, 0600);
    moves_bytes(fd, to);
    changes_files(to);
    ok(fs->ops->close(fs, fd) == 0 && is_on_fd(VEL_FS_OP_CLOSE, fd, -1) &&
           fs->ops->close(fs, to) == 0 && fs->ops->close(fs, to) == -EBADF,
       "close");
    changes_names();
    decides();
    takes_no_hints();
    return done_testing();
}
