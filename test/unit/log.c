/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/log.h"
#include "tap/files.h"
#include "tap/tap.h"

static void collect(void *arg, enum vel_log_level level, const char *line, size_t len)
{
    vel_buf_printf(arg, "%d:", (int)level);
    vel_buf_append(arg, line, len);
    errno = EBADF;
}

static void sinks(void)
{
    struct vel_buf got;
    char who[] = "rank 3 on node7";
    struct vel_log_sink sink = {
        .level = VEL_LOG_INFO, .who = who, .write = collect, .arg = &got};

    vel_buf_init(&got);
    vel_log_open(&sink);
    who[0] = 'X';
    errno = ENOSPC;
    vel_log(VEL_LOG_INFO, "flushed dataset %d", 7);
    is_int(errno, ENOSPC, "logging keeps errno");
    vel_log(VEL_LOG_DEBUG, "not wanted");
    vel_log_shared(VEL_LOG_ERROR, "someone else tells this");
    is_str(vel_buf_text(&got), "2:h5veloc: info: rank 3 on node7: flushed dataset 7\n",
           "one line, with level and origin; no more than is wanted");
    vel_buf_clear(&got);
    sink.is_speaker = true;
    sink.who = NULL;
    vel_log_open(&sink);
    vel_log_shared(VEL_LOG_WARN, "told once");
    vel_log_shared(VEL_LOG_DEBUG, "not wanted");
    is_str(vel_buf_text(&got), "1:h5veloc: warn: told once\n",
           "the speaker tells what all see");
    vel_buf_fini(&got);
    vel_log_open(NULL);
}

static void standard_error(void)
{
    int fd = open(tap_path("stderr"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    int real = dup(STDERR_FILENO);

    if (fd < 0 || real < 0 || dup2(fd, STDERR_FILENO) < 0)
        bail_out("cannot capture standard error");
    vel_log(VEL_LOG_WARN, "spilling to the prefix");
    vel_log(VEL_LOG_INFO, "not wanted at first");
    fflush(stderr);
    dup2(real, STDERR_FILENO);
    close(real);
    close(fd);
    ok(tap_file_is(tap_path("stderr"), "h5veloc: warn: spilling to the prefix\n"),
       "without a sink warnings go to standard error");
}

static void *log_many(void *arg)
{
    for (int i = 0; i < 500; i++)
        vel_log(VEL_LOG_ERROR, "%s", (const char *)arg);
    return NULL;
}

static void threads(void)
{
    struct vel_buf got;
    pthread_t a, b;
    char left[] = "aaaaaaaaaaaaaaaaaaaaaaaaa", right[] = "bbbbbbbbbbbbbbbbbbbbbbbbb";
    size_t torn = 0, n = 0;

    vel_buf_init(&got);
    vel_log_open(&(struct vel_log_sink){.write = collect, .arg = &got});
    if (pthread_create(&a, NULL, log_many, left) != 0 ||
        pthread_create(&b, NULL, log_many, right) != 0)
        bail_out("cannot start threads");
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    vel_log_open(NULL);
    for (char *line = got.data, *end; (end = strchr(line, '\n')); line = end + 1, n++)
        torn += end - line != (long)strlen("0:h5veloc: error: ") + 25;
    ok(torn == 0 && n == 1000, "lines of several threads stay whole");
    vel_buf_fini(&got);
}

struct stuck {
    int entered[2], go[2];
};

/* a sink that is in the middle of a line until it is let go */
static void write_slowly(void *arg, enum vel_log_level level, const char *line,
                         size_t len)
{
    struct stuck *stuck = arg;
    char byte = 0;

    (void)level, (void)line, (void)len;
    if (write(stuck->entered[1], "x", 1) != 1 || read(stuck->go[0], &byte, 1) != 1)
        bail_out("cannot hold the sink");
}

static void *log_once(void *arg)
{
    (void)arg;
    vel_log(VEL_LOG_ERROR, "a line that takes long");
    return NULL;
}

/* What a forked child logs must not wait for a thread that it has not. */
static void forked_child(void)
{
    struct stuck stuck;
    pthread_t thread;
    char byte;
    int status = -1;

    if (pipe(stuck.entered) != 0 || pipe(stuck.go) != 0)
        bail_out("cannot make pipes");
    vel_log_open(&(struct vel_log_sink){.write = write_slowly, .arg = &stuck});
    if (pthread_create(&thread, NULL, log_once, NULL) != 0 ||
        read(stuck.entered[0], &byte, 1) != 1)
        bail_out("cannot start a thread");
    pid_t child = fork();
    if (child == 0) {
        alarm(30); /* the verdict of a child that hangs */
        vel_log_open(NULL);
        vel_log(VEL_LOG_DEBUG, "not told");
        _exit(0);
    }
    waitpid(child, &status, 0);
    ok(WIFEXITED(status) && WEXITSTATUS(status) == 0,
       "a child that is forked in the middle of a line can log");
    if (write(stuck.go[1], "x", 1) != 1)
        bail_out("cannot let the sink go");
    pthread_join(thread, NULL);
    vel_log_open(NULL);
    for (int i = 0; i < 2; i++)
        close(stuck.entered[i]), close(stuck.go[i]);
}

int main(void)
{
    sinks();
    standard_error();
    threads();
    forked_child();
    return done_testing();
}
