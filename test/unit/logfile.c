/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tap/fs_fault.h"
#include "sys/logfile.h"
#include "tap/files.h"
#include "tap/sweep.h"
#include "tap/tap.h"

static int real_stderr = -1;

/* standard error goes to a file until release() */
static void capture(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    fflush(stderr);
    real_stderr = dup(STDERR_FILENO);
    if (fd < 0 || real_stderr < 0 || dup2(fd, STDERR_FILENO) < 0)
        bail_out("cannot capture standard error");
    close(fd);
}

static void release(void)
{
    fflush(stderr);
    dup2(real_stderr, STDERR_FILENO);
    close(real_stderr);
}

static void lines(void)
{
    const char *path = tap_path("log");
    struct vel_logfile *file = NULL;
    struct vel_err err = {0};
    int fds = tap_open_fds();

    is_int(vel_logfile_open(vel_fs_posix(), path, &file, &err), 0,
           "a log file is opened");
    vel_log_open(&(struct vel_log_sink){.level = VEL_LOG_INFO,
                                        .who = "rank 3",
                                        .write = vel_logfile_write,
                                        .arg = file});
    vel_log(VEL_LOG_INFO, "flushed dataset %d", 7);
    vel_log(VEL_LOG_DEBUG, "not wanted");
    vel_log(VEL_LOG_ERROR, "the disk burns");
    vel_log_open(NULL);
    is_int(vel_logfile_close(file, &err), 0, "and closed");
    ok(tap_file_is(path, "h5veloc: info: rank 3: flushed dataset 7\n"
                         "h5veloc: error: rank 3: the disk burns\n"),
       "it has the lines that were wanted");
    tap_put_file(path, "whole\ntorn li");
    vel_logfile_open(vel_fs_posix(), path, &file, &err);
    vel_logfile_write(file, VEL_LOG_INFO, "next\n", 5);
    vel_logfile_close(file, &err);
    ok(tap_file_is(path, "whole\ntorn li\nnext\n"),
       "a line follows a torn one on a line of its own");
    is_int(vel_logfile_open(vel_fs_posix(), tap_path("no/log"), &file, &err),
           VEL_ENOENT, "a log file needs a directory");
    ok(strstr(err.text, "no/log") != NULL, "the sentence names the path");
    is_int(vel_logfile_close(NULL, &err), 0, "no log file is closed without harm");
    is_int(tap_open_fds(), fds, "no descriptor is left");
}

static void full_disk(void)
{
    const struct vel_fs_fault_plan plan = {.mode = VEL_FS_FAULT_ONCE,
                                           .kinds = VEL_FS_KIND_WRITE,
                                           .at = 2,
                                           .errnum = ENOSPC};
    struct vel_fs_fault *fault;
    struct vel_logfile *file = NULL;
    struct vel_err err = {0};

    unlink(tap_path("full"));
    if (vel_fs_fault_create(vel_fs_posix(), NULL, &fault, &err) < 0 ||
        vel_logfile_open(vel_fs_fault_fs(fault), tap_path("full"), &file, &err) < 0)
        bail_out("%s", err.text);
    vel_fs_fault_arm(fault, &plan);
    capture(tap_path("stderr"));
    for (int i = 1; i <= 3; i++) {
        char line[24];
        snprintf(line, sizeof line, "line %d\n", i);
        vel_logfile_write(file, VEL_LOG_INFO, line, strlen(line));
    }
    release();
    ok(tap_file_is(tap_path("full"), "line 1\n"),
       "lines go to the file while they can");
    char *said = tap_get_file(tap_path("stderr"), NULL);
    ok(said && strstr(said, "/full: No space left on device; log lines go here"),
       "standard error is told why");
    ok(said && strstr(said, "now on\nline 2\nline 3\n"),
       "once, and gets that line and all further ones");
    free(said);
    is_int(vel_logfile_close(file, &err), VEL_ENOSPC, "and closing tells it too");
    vel_fs_fault_destroy(fault);
}

static const char old_lines[] = "an old line\nanother\n";
static const char new_lines[] = "first\nsecond\nthird\n";

static void prepare_old(const char *dir, void *arg)
{
    char path[1200];

    (void)arg;
    snprintf(path, sizeof path, "%s/log", dir);
    tap_put_file(path, old_lines);
}

static int log_lines(struct vel_fs *fs, const char *dir, void *arg, struct vel_err *err)
{
    struct vel_logfile *file;
    char path[1200];

    (void)arg;
    snprintf(path, sizeof path, "%s/log", dir);
    int rc = vel_logfile_open(fs, path, &file, err);
    if (rc < 0)
        return rc;
    vel_logfile_write(file, VEL_LOG_INFO, "first\n", 6);
    vel_logfile_write(file, VEL_LOG_INFO, "second\n", 7);
    vel_logfile_write(file, VEL_LOG_INFO, "third\n", 6);
    return vel_logfile_close(file, err);
}

static enum sweep_state check_lines(const char *dir, void *arg)
{
    char path[1200];
    size_t len = 0, tail = strlen(new_lines);

    (void)arg;
    snprintf(path, sizeof path, "%s/log", dir);
    char *text = tap_get_file(path, &len);
    enum sweep_state state = SWEEP_OLD;
    if (!text || strncmp(text, old_lines, strlen(old_lines)) != 0)
        state = SWEEP_BROKEN;
    else if (len > tail && memcmp(text + len - tail, new_lines, tail) == 0)
        state = SWEEP_NEW;
    free(text);
    return state;
}

int main(void)
{
    const struct sweep sweep = {.name = "logging",
                                .prepare = prepare_old,
                                .action = log_lines,
                                .check = check_lines,
                                .is_lazy = true};

    lines();
    full_disk();
    capture(tap_path("stderr"));
    sweep_run(&sweep);
    release();
    return done_testing();
}
