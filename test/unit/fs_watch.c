/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "sys/clock.h"
#include "tap/fs_fault.h"
#include "sys/fs_watch.h"
#include "tap/files.h"
#include "tap/tap.h"

/* What is logged, and a post for every line. */
struct heard {
    sem_t lines;
    char text[4096];
};

static void hear(void *arg, enum vel_log_level level, const char *line, size_t len)
{
    struct heard *h = arg;

    (void)level, (void)len;
    snprintf(h->text + strlen(h->text), sizeof h->text - strlen(h->text), "%s", line);
    sem_post(&h->lines);
}

/* An operation that hangs until somebody has said so. */
static void hang(void *arg)
{
    struct heard *h = arg;

    while (sem_wait(&h->lines) < 0 && errno == EINTR)
        continue;
}

struct scene {
    struct heard heard;
    struct vel_fs_fault *fault;
    struct vel_fs_watch *watch;
    struct vel_fs *fs;
};

static void begin(struct scene *s, uint64_t limit)
{
    struct vel_log_sink sink = {.level = VEL_LOG_WARN, .write = hear, .arg = &s->heard};

    memset(s, 0, sizeof *s);
    sem_init(&s->heard.lines, 0, 0);
    vel_log_open(&sink);
    if (vel_fs_fault_create(vel_fs_posix(), NULL, &s->fault, NULL) < 0 ||
        vel_fs_watch_create(vel_fs_fault_fs(s->fault), limit, &s->watch, NULL) < 0)
        bail_out("no file system");
    s->fs = vel_fs_watch_fs(s->watch);
}

static void end(struct scene *s)
{
    vel_fs_watch_destroy(s->watch);
    vel_fs_fault_destroy(s->fault);
    vel_log_open(NULL);
    sem_destroy(&s->heard.lines);
}

/* The next operation of that kind hangs. */
static void arm(struct scene *s, enum vel_fs_kind kind)
{
    struct vel_fs_fault_plan plan = {.mode = VEL_FS_FAULT_CRASH,
                                     .kinds = kind,
                                     .at = 1,
                                     .crash = hang,
                                     .arg = &s->heard};

    s->heard.text[0] = '\0';
    while (sem_trywait(&s->heard.lines) == 0)
        continue;
    vel_fs_fault_arm(s->fault, &plan);
}

static int count(const char *text, const char *words)
{
    int n = 0;

    for (; (text = strstr(text, words)); text++)
        n++;
    return n;
}

static void tells(void)
{
    struct scene s;
    char path[1200];
    int fd;

    snprintf(path, sizeof path, "%s", tap_path("some/file"));
    begin(&s, 20 * VEL_CLOCK_MS);
    arm(&s, VEL_FS_KIND_LIST);
    is_int(s.fs->ops->list(s.fs, path, NULL), -EIO, "an operation hangs, and ends");
    ok(strstr(s.heard.text, "listing") && strstr(s.heard.text, path) &&
           strstr(s.heard.text, "has not come back"),
       "meanwhile it is told which it is: %s", s.heard.text);
    ok(strstr(s.heard.text, "has come back after"), "and afterwards that it is over");
    is_int(count(s.heard.text, "has not come back"), 1, "once");

    arm(&s, VEL_FS_KIND_RENAME);
    s.fs->ops->rename(s.fs, "/nowhere/a", "/nowhere/b");
    ok(strstr(s.heard.text, "renaming to /nowhere/b"), "a new name is what is told");

    s.heard.text[0] = '\0';
    vel_fs_fault_arm(s.fault, &(struct vel_fs_fault_plan){0});
    fd = s.fs->ops->open(s.fs, tap_path("file"), O_RDWR | O_CREAT, 0600);
    arm(&s, VEL_FS_KIND_WRITE);
    s.fs->ops->pwrite(s.fs, fd, "x", 1, 0);
    ok(strstr(s.heard.text, "writing") && strstr(s.heard.text, tap_path("file")),
       "so is the path of a file that is open");
    arm(&s, VEL_FS_KIND_CLOSE);
    s.fs->ops->close(s.fs, fd);
    ok(strstr(s.heard.text, "closing") && strstr(s.heard.text, tap_path("file")),
       "until it is closed");
    arm(&s, VEL_FS_KIND_STAT);
    s.fs->ops->fstat(s.fs, fd, &(struct stat){0});
    ok(!strstr(s.heard.text, tap_path("file")) && strstr(s.heard.text, "looking at"),
       "and not longer");
    end(&s);
}

/* All operations do what they do without a watch. */
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
    char a[1200], b[1200], dir[1200];
    snprintf(a, sizeof a, "%s", tap_path("a"));
    snprintf(b, sizeof b, "%s", tap_path("b"));
    snprintf(dir, sizeof dir, "%s", tap_path("dir"));
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
    ok(o->copy(fs, fd, 0, other, 0, 3) <= 3 && o->close(fs, fd) == 0 &&
           o->close(fs, other) == 0 && o->close(fs, other) == -EBADF,
       "what is closed is closed");
    ok(o->mkdir(fs, dir, 0700) == 0 && o->rename(fs, a, tap_path("dir/a")) == 0 &&
           o->link(fs, b, tap_path("dir/b")) == 0 && o->unlink(fs, b) == 0 &&
           o->rmdir(fs, dir) == -ENOTEMPTY,
       "names come and go");
    vel_vec_init(&names, sizeof(char *));
    ok(o->list(fs, dir, &names) == 0 && names.n == 2 && o->space(fs, dir, &space) == 0,
       "and are listed");
    vel_fs_names_fini(&names);
    ok(o->unlink(fs, tap_path("dir/a")) == 0 && o->unlink(fs, tap_path("dir/b")) == 0 &&
           o->rmdir(fs, dir) == 0,
       "and removed");
    is_str(s.heard.text, "", "and nobody complains of what comes back");
    end(&s);
}

int main(void)
{
    tells();
    passes_on();
    return done_testing();
}
