/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "sys/clock.h"
#include "sys/fs_limit.h"
#include "tap/files.h"
#include "tap/hangfs.h"
#include "tap/tap.h"

/* A prefix that may hang, and what is told of it. */
struct scene {
    sem_t lines;
    char heard[2048];
    struct hangfs under;
    struct vel_fs_limit *limit;
    struct vel_fs *fs;
    char prefix[1200];
};

static void hear(void *arg, enum vel_log_level level, const char *line, size_t len)
{
    struct scene *s = arg;

    (void)level, (void)len;
    snprintf(s->heard + strlen(s->heard), sizeof s->heard - strlen(s->heard), "%s",
             line);
    sem_post(&s->lines);
}

static void wait_on(sem_t *sem)
{
    while (sem_wait(sem) < 0 && errno == EINTR)
        continue;
}

static void begin(struct scene *s, uint64_t limit)
{
    struct vel_log_sink sink = {.level = VEL_LOG_WARN, .write = hear, .arg = s};

    memset(s, 0, sizeof *s);
    sem_init(&s->lines, 0, 0);
    snprintf(s->prefix, sizeof s->prefix, "%s", tap_path("prefix"));
    tap_fresh_dir(s->prefix);
    vel_log_open(&sink);
    hangfs_init(&s->under, s->prefix);
    if (vel_fs_limit_create(&s->under.twin.fs, s->prefix, limit, &s->limit, NULL) < 0)
        bail_out("no file system");
    s->fs = vel_fs_limit_fs(s->limit);
    vel_fs_limit_bind(s->limit);
}

/* It comes back, which is told. */
static void let_go(struct scene *s)
{
    hangfs_let_go(&s->under);
    while (!strstr(s->heard, "again"))
        wait_on(&s->lines);
}

static void end(struct scene *s)
{
    vel_fs_limit_destroy(s->limit);
    vel_log_open(NULL);
    sem_destroy(&s->lines);
    hangfs_fini(&s->under);
}

static const char *below(const struct scene *s, const char *name)
{
    static char path[4][1300];
    static unsigned next;
    char *ret = path[next++ % 4];

    snprintf(ret, sizeof path[0], "%s/%s", s->prefix, name);
    return ret;
}

/* By another thread: it waits as it would without a twin. */
static void *look(void *arg)
{
    struct scene *s = arg;
    struct stat st;

    return s->fs->ops->lstat(s->fs, s->prefix, &st) == 0 ? s : NULL;
}

static void hung(void)
{
    struct scene s;
    struct stat st;
    struct vel_vec names;
    void *seen;
    pthread_t other;

    begin(&s, 20 * VEL_CLOCK_MS);
    vel_vec_init(&names, sizeof(char *));
    hangfs_hang(&s.under);
    is_int(s.fs->ops->list(s.fs, s.prefix, &names), -ETIMEDOUT,
           "who asks is not kept waiting by an operation that hangs");
    ok(strstr(s.heard, s.prefix) && strstr(s.heard, "has not answered"),
       "and it is told");
    is_int(s.fs->ops->lstat(s.fs, below(&s, "x"), &st), -ETIMEDOUT,
           "nothing else is done there until it has come back");
    is_int(s.fs->ops->mkdir(s.fs, tap_path("elsewhere"), 0700), 0,
           "other file systems go on");
    if (pthread_create(&other, NULL, look, &s))
        bail_out("no thread");
    hangfs_wait(&s.under, 2);
    let_go(&s);
    pthread_join(other, &seen);
    ok(seen != NULL, "other threads wait, and are answered");
    ok(strstr(s.heard, "answers again"), "when it comes back, that is told");
    ok(names.n == 0 && s.fs->ops->list(s.fs, s.prefix, &names) == 0,
       "and all is as before");
    vel_fs_names_fini(&names);
    end(&s);
}

static int count_fds(void)
{
    int n = 0;

    for (int fd = 0; fd < 256; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

/* Waits until the thread has done what was left to it. */
static void settle(struct scene *s)
{
    struct stat st;

    while (s->fs->ops->lstat(s->fs, s->prefix, &st) < 0)
        usleep(1000);
}

static void open_files(void)
{
    struct scene s;
    struct stat st;
    int before, fd;

    begin(&s, 20 * VEL_CLOCK_MS);
    fd = s.fs->ops->open(s.fs, below(&s, "a"), O_RDWR | O_CREAT, 0600);
    before = count_fds();
    hangfs_hang(&s.under);
    is_int(s.fs->ops->fsync(s.fs, fd), -ETIMEDOUT, "a sync that hangs is given up");
    is_int(s.fs->ops->close(s.fs, fd), -ETIMEDOUT, "its file cannot be closed now");
    let_go(&s);
    settle(&s);
    is_int(count_fds(), before - 1, "it is closed later");

    before = count_fds();
    s.heard[0] = '\0';
    hangfs_hang(&s.under);
    is_int(s.fs->ops->open(s.fs, below(&s, "a"), O_RDONLY, 0), -ETIMEDOUT,
           "an open that hangs is given up");
    let_go(&s);
    settle(&s);
    is_int(count_fds(), before, "what it has opened in the end is closed");
    is_int(s.fs->ops->lstat(s.fs, below(&s, "a"), &st), 0, "and all is as before");
    end(&s);
}

/* All operations do what they do without a limit. */
static void passes_on(void)
{
    struct scene s;
    struct vel_vec names = {0};
    struct stat st;
    struct statvfs space;
    char bytes[8] = "";
    int fd, other;

    begin(&s, 3600 * VEL_CLOCK_S);
    struct vel_fs *fs = s.fs;
    const struct vel_fs_ops *o = fs->ops;
    char a[1300], b[1300], dir[1300], in[1310];
    snprintf(a, sizeof a, "%s", below(&s, "a"));
    snprintf(b, sizeof b, "%s", below(&s, "b"));
    snprintf(dir, sizeof dir, "%s", below(&s, "dir"));
    snprintf(in, sizeof in, "%s/a", dir);
    fd = o->open(fs, a, O_RDWR | O_CREAT | O_APPEND, 0600);
    other = o->open(fs, b, O_RDWR | O_CREAT, 0600);
    ok(fd >= 0 && other >= 0 && o->append(fs, fd, "abc", 3) == 3 &&
           o->pread(fs, fd, bytes, 8, 1) == 2 && strcmp(bytes, "bc") == 0 &&
           o->pwrite(fs, other, "xyz", 3, 0) == 3,
       "bytes are written and read");
    ok(o->truncate(fs, other, 2) == 0 && o->fsync(fs, other) == 0 &&
           o->fstat(fs, other, &st) == 0 && st.st_size == 2 &&
           o->set_mode(fs, other, 0640) == 0 && o->lstat(fs, b, &st) == 0 &&
           (st.st_mode & 07777) == 0640,
       "sizes and modes change");
    struct timespec times[2] = {{.tv_sec = 5}, {.tv_sec = 7}};
    ok(o->set_times(fs, other, times) == 0 && o->lstat(fs, b, &st) == 0 &&
           st.st_mtim.tv_sec == 7 && o->flock(fs, other, 6) == 0,
       "and times, and locks");
    ok(o->copy(fs, fd, 0, other, 0, 3) <= 3 && o->clone(fs, fd, other) <= 0 &&
           o->close(fs, fd) == 0 && o->close(fs, other) == 0 &&
           o->close(fs, other) == -EBADF,
       "what is closed is closed");
    ok(o->mkdir(fs, dir, 0700) == 0 && o->rename(fs, a, in) == 0 &&
           o->link(fs, b, a) == 0 && o->unlink(fs, b) == 0 &&
           o->rmdir(fs, dir) == -ENOTEMPTY && o->lstat(fs, b, &st) == -ENOENT,
       "names come and go");
    vel_vec_init(&names, sizeof(char *));
    ok(o->list(fs, s.prefix, &names) == 0 && names.n == 2 &&
           o->space(fs, dir, &space) == 0 && space.f_bsize > 0,
       "and are listed");
    vel_fs_names_fini(&names);
    ok(o->unlink(fs, in) == 0 && o->unlink(fs, a) == 0 && o->rmdir(fs, dir) == 0,
       "and removed");
    is_str(s.heard, "", "and nobody complains of what comes back");
    end(&s);
}

/* --- hints --- */

static int hints;

static void count_hint(struct vel_fs *fs, int fd, off_t at, off_t len)
{
    (void)fs, (void)fd, (void)at, (void)len;
    hints++;
}

struct copier {
    struct vel_fs *fs;
    int fd;
};

static void *hasten(void *arg)
{
    struct copier *copier = arg;

    vel_fs_hasten(copier->fs, copier->fd, 0, 1);
    return NULL;
}

/* That bytes are to be written soon is told the disk while a worker copies; the loop,
 * which waits for nothing, does not tell it. */
static void hints_pass_on(void)
{
    struct vel_fs_ops ops = *vel_fs_posix()->ops;
    struct vel_fs counting = {&ops};
    struct vel_fs_limit *limit;
    struct copier copier;
    pthread_t worker;

    ops.hasten = count_hint;
    tap_fresh_dir(tap_path("hints"));
    if (vel_fs_limit_create(&counting, tap_path("hints"), 3600 * VEL_CLOCK_S, &limit,
                            NULL) < 0)
        bail_out("no file system");
    vel_fs_limit_bind(limit);
    copier.fs = vel_fs_limit_fs(limit);
    copier.fd =
        copier.fs->ops->open(copier.fs, tap_path("hints/a"), O_RDWR | O_CREAT, 0600);
    if (pthread_create(&worker, NULL, hasten, &copier) != 0)
        bail_out("no thread");
    pthread_join(worker, NULL);
    is_int(hints, 1, "a worker's hint passes on");
    hasten(&copier);
    is_int(hints, 1, "that of the loop does not");
    copier.fs->ops->close(copier.fs, copier.fd);
    vel_fs_limit_destroy(limit);
}

int main(void)
{
    hints_pass_on();
    hung();
    open_files();
    passes_on();
    return done_testing();
}
