/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tap/files.h"
#include "tap/proglab.h"
#include "tap/tap.h"

/* ms: the clocks of ranks are that far apart */
enum { HOURS = 2 * 3600 * 1000 };

char *proglab_read(const char *path)
{
    return tap_get_file(path, NULL);
}

void proglab_add(struct proglab_words *ops, const char *fmt, ...)
{
    va_list ap;

    if (ops->n == PROGLAB_WORDS)
        bail_out("too many words");
    va_start(ap, fmt);
    vsnprintf(ops->text[ops->n++], sizeof ops->text[0], fmt, ap);
    va_end(ap);
}

const char *proglab_output(int rank, const char *what)
{
    char name[40];

    snprintf(name, sizeof name, "%s.%d", what, rank);
    return tap_path(name);
}

/* What a program before has said there is not to be taken for its words. */
static void clear(int number)
{
    unlink(proglab_output(number, "out"));
    unlink(proglab_output(number, "err"));
}

static void redirect(int rank)
{
    if (!freopen(proglab_output(rank, "out"), "w", stdout) ||
        !freopen(proglab_output(rank, "err"), "w", stderr))
        _exit(125);
}

static void set_number(const char *name, int value)
{
    char text[20];

    snprintf(text, sizeof text, "%d", value);
    setenv(name, text, 1);
}

void proglab_start(struct proglab *p, int number, int rank, int of, const char *launch,
                   const char *command, const struct proglab_words *ops)
{
    char *argv[PROGLAB_WORDS + 2] = {(char *)(uintptr_t)command};
    pid_t pid;

    for (int i = 0; i < ops->n; i++)
        argv[i + 1] = (char *)(uintptr_t)ops->text[i];
    fflush(stdout);
    clear(number);
    pid = fork();
    if (pid == 0) {
        redirect(number);
        if (launch) {
            setenv("HDF5_VOL_CONNECTOR", "veloc", 1);
            setenv("VELOC_LAUNCH", launch, 1);
            set_number("PMI_RANK", rank);
            set_number("PMI_SIZE", of);
            set_number("POINT_AHEAD", rank * HOURS);
        }
        execv(command, argv);
        _exit(127);
    }
    p->pid[p->n++] = pid;
}

void proglab_kill(struct proglab *p)
{
    for (int i = 0; i < p->n; i++)
        kill(p->pid[i], SIGKILL);
    for (int i = 0; i < p->n; i++)
        waitpid(p->pid[i], NULL, 0);
    p->n = 0;
}

void proglab_pause(void)
{
    nanosleep(&(struct timespec){0, 3000000}, NULL);
}

double proglab_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

bool proglab_join(struct proglab *p)
{
    double end = proglab_seconds() + PROGLAB_LIMIT_S;
    int left = p->n;

    while (left > 0 && proglab_seconds() < end) {
        left = 0;
        for (int i = 0; i < p->n; i++)
            if (p->pid[i] > 0 && waitpid(p->pid[i], NULL, WNOHANG) == p->pid[i])
                p->pid[i] = -1;
            else
                left += p->pid[i] > 0;
        if (left > 0)
            proglab_pause();
    }
    for (int i = 0; i < p->n; i++)
        if (p->pid[i] > 0) {
            kill(p->pid[i], SIGKILL);
            waitpid(p->pid[i], NULL, 0);
        }
    p->n = 0;
    return left == 0;
}

static bool has_said(int rank, const char *word)
{
    char *text = proglab_read(proglab_output(rank, "out"));
    bool has = text && strstr(text, word);

    free(text);
    return has;
}

/* It is waited for later. */
static bool has_ended(pid_t pid)
{
    siginfo_t info = {.si_pid = 0};

    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == pid;
}

bool proglab_await(const struct proglab *p, int first, bool may_end)
{
    double end = proglab_seconds() + PROGLAB_LIMIT_S;

    for (int i = 0; i < p->n; i++)
        while (!has_said(first + i, "ready\n")) {
            bool is_over =
                has_ended(p->pid[i]) || (may_end && has_said(first + i, "cannot "));

            if (is_over && may_end)
                break;
            if (is_over || proglab_seconds() >= end)
                return false;
            proglab_pause();
        }
    return true;
}

/* Names of directories have the word as well. Of what it has tried h5dump tells the
 * last alone, which is a driver of HDF5. */
static bool is_ours(const char *line)
{
    return strstr(line, "h5veloc: ") || strstr(line, "cannot be ") ||
           strstr(line, "could be restored") || strstr(line, "h5dump error: ");
}

char *proglab_sentences(int rank)
{
    char *text = proglab_read(proglab_output(rank, "err")), *to = text;

    for (char *line = text, *next; line && *line; line = next) {
        char *end = strchr(line, '\n');

        next = end ? end + 1 : line + strlen(line);
        if (end)
            *end = '\0';
        if (!is_ours(line))
            continue;
        memmove(to, line, strlen(line) + 1);
        to += strlen(to);
        *to++ = '\n';
    }
    if (to)
        *to = '\0';
    return text;
}
