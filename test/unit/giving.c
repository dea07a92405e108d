/* SPDX-License-Identifier: BSD-3-Clause */
/* A disk that does not answer while another node reads from it: the leader there goes
 * on with everything else. */
#include "config.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "tap/filelab.h"
#include "tap/tap.h"

#define RULES "DATASET=ck PATTERN=ck.{step}.{rank}\n"

static struct filelab lab;

/* Reads of what rank 0 has written do not return before they may. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool is_held;
static int held;

static bool is_part(int fd)
{
    char link[64], path[4096] = "";

    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    return readlink(link, path, sizeof path - 1) > 0 && strstr(path, "/rank.0/");
}

static ssize_t held_pread(struct vel_fs *fs, int fd, void *buf, size_t len, off_t at)
{
    (void)fs;
    pthread_mutex_lock(&lock);
    if (is_held && is_part(fd)) {
        held++;
        pthread_cond_broadcast(&changed);
        while (is_held)
            pthread_cond_wait(&changed, &lock);
    }
    pthread_mutex_unlock(&lock);
    return vel_fs_posix()->ops->pread(vel_fs_posix(), fd, buf, len, at);
}

static void hold(bool is)
{
    pthread_mutex_lock(&lock);
    is_held = is;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static void wait_until_held(void)
{
    pthread_mutex_lock(&lock);
    while (held == 0)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}

static void *read_there(void *arg)
{
    struct vel_err err = {0};
    char *text;

    (void)arg;
    text = filelab_read(&lab, 1, "ck.1.0", &err);
    if (!text)
        note("%s", err.text);
    return text;
}

/* --- at once in both directions --- */

enum { LARGE = 16 << 20, RANKS = 8 };

static char *large(int of)
{
    char *text = malloc(LARGE + 1);

    if (!text)
        bail_out("no memory");
    memset(text, 'a' + of, LARGE);
    text[LARGE] = '\0';
    return text;
}

static void *read_large(void *arg)
{
    int rank = *(int *)arg, other = (rank + RANKS / 2) % RANKS;
    char name[32], *text = large(other);
    bool is = false;

    snprintf(name, sizeof name, "ck.3.%d", other);
    is = filelab_reads(&lab, rank, name, text);
    free(text);
    return is ? arg : NULL;
}

static void wait_encoded(void)
{
    struct vel_progress now = {0};

    while (!now.is_encoded) {
        if (vel_client_ask(lab.client[0], 1, &now, NULL) < 0)
            bail_out("the leader does not answer");
        vel_clock_sleep(vel_clock_system(), VEL_CLOCK_MS);
    }
}

static atomic_int warnings;

static void count_warnings(void *arg, enum vel_log_level level, const char *line,
                           size_t len)
{
    (void)arg, (void)line, (void)len;
    warnings += level <= VEL_LOG_WARN;
}

/* Each node has much for the other, more than a connection holds. */
static void both_ways(void)
{
    const struct vel_log_sink sink = {.level = VEL_LOG_WARN, .write = count_warnings};
    int rank[RANKS], n = 0;
    pthread_t reader[RANKS];
    struct vel_err err = {0};

    filelab_init(&lab, "large", 2, RANKS, RULES "FLUSH_BANDWIDTH=1\n");
    filelab_begin(&lab, "A");
    for (int i = 0; i < RANKS; i++) {
        char name[32], *text = large(i);

        snprintf(name, sizeof name, "ck.3.%d", i);
        if (filelab_write(&lab, i, name, text, &err) < 0)
            bail_out("%s", err.text);
        free(text);
    }
    wait_encoded();
    filelab_drop(&lab);
    filelab_begin(&lab, "B");
    vel_log_open(&sink);
    for (int i = 0; i < RANKS; i++) {
        rank[i] = i;
        if (pthread_create(&reader[i], NULL, read_large, &rank[i]) != 0)
            bail_out("no thread");
    }
    for (int i = 0; i < RANKS; i++) {
        void *is;

        pthread_join(reader[i], &is);
        n += is != NULL;
    }
    vel_log_open(NULL);
    is_int(n, RANKS, "ranks of two nodes read much of each other at once");
    is_int(warnings, 0, "and none takes the other node for gone");
    filelab_drop(&lab);
    filelab_fini(&lab);
}

int main(void)
{
    static struct vel_fs_ops ops;
    static struct vel_fs fs = {&ops};
    struct vel_err err = {0};
    pthread_t reader;
    void *text = NULL;

    ops = *vel_fs_posix()->ops;
    ops.pread = held_pread;
    filelab_init(&lab, "lab", 2, 2, RULES);
    lab.fs = &fs;
    filelab_begin(&lab, "A");
    is_int(filelab_write(&lab, 0, "ck.1.0", "what rank 0 has written", &err), 0,
           "a rank writes a file");
    hold(true);
    if (pthread_create(&reader, NULL, read_there, NULL) != 0)
        bail_out("no thread");
    wait_until_held();
    ok(true, "another node reads it, and the disk does not answer");
    is_int(filelab_write(&lab, 0, "ck.2.0", "the next", &err), 0,
           "the leader of that disk still takes files: %s", err.text);
    hold(false);
    pthread_join(reader, &text);
    is_str(text, "what rank 0 has written", "and what was wanted comes in the end");
    free(text);
    filelab_write(&lab, 1, "ck.1.1", "what rank 1 has written", &err);
    filelab_write(&lab, 1, "ck.2.1", "the next of rank 1", &err);
    filelab_end(&lab);
    filelab_fini(&lab);
    both_ways();
    return done_testing();
}
