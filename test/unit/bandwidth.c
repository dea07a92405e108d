/* SPDX-License-Identifier: BSD-3-Clause */
/* BANDWIDTH of a STORE line holds for all that leaders do there: they encode, give
 * parts to other nodes, and make lost ones again. What they do takes at least as long
 * as that says. */
#include "config.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "brain/dataset_state.h"
#include "tap/filelab.h"
#include "tap/tap.h"

enum { BYTES = 200000, RATE = 600000 };

/* Nothing comes to the prefix. */
#define RULES "DATASET=ck PATTERN=ck.{step}.{rank}\nFLUSH_BANDWIDTH=1\n"
#define SINGLE "COPY_TYPE=SINGLE\nPEER_TIMEOUT=4\n"

static struct filelab lab;
static char *text;

/* Settings with a limit for the store of all nodes. */
static const char *rules(const char *name, const char *more, int bandwidth)
{
    static char all[1000];

    snprintf(all, sizeof all, RULES "%sSTORE=%s/cache BANDWIDTH=%d\n", more,
             tap_path(name), bandwidth);
    return all;
}

static void write_all(void)
{
    char name[32];
    struct vel_err err = {0};

    for (int rank = 0; rank < lab.ranks; rank++) {
        snprintf(name, sizeof name, "ck.1.%d", rank);
        if (filelab_write(&lab, rank, name, text, &err) < 0)
            bail_out("%s", err.text);
    }
}

/* SINGLE needs no encoding: it is flushed at once. */
static void wait_protected(void)
{
    struct vel_progress now = {0};

    while (!now.is_encoded && now.state != VEL_DATASET_FLUSHING) {
        if (vel_client_ask(lab.client[0], 1, &now, NULL) < 0)
            bail_out("the leader does not answer");
        vel_clock_sleep(vel_clock_system(), VEL_CLOCK_MS);
    }
}

/* The throttle's bucket may have held a tenth of a second. */
static void took(uint64_t begun, double bytes, int rate, const char *what)
{
    uint64_t now = vel_clock_monotonic(vel_clock_system());
    double spent = (double)(now - begun) / (double)VEL_CLOCK_S;

    ok(spent >= bytes / rate - 0.1, "%s as slowly as BANDWIDTH says", what);
    note("%.2f s", spent);
}

static void encodes(void)
{
    uint64_t begun;

    filelab_init(&lab, "encodes", 2, 2, rules("encodes", "", RATE / 2));
    filelab_begin(&lab, "A");
    begun = vel_clock_monotonic(vel_clock_system());
    write_all();
    wait_protected();
    took(begun, 2 * BYTES, RATE / 2,
         "files are read, and redundancy of their size is written,");
    filelab_drop(&lab);
}

/* Of the same dataset, whose part on node 0 is lost. */
static void rebuilds(void)
{
    uint64_t begun;

    filelab_lose(&lab, 0);
    filelab_begin(&lab, "B");
    begun = vel_clock_monotonic(vel_clock_system());
    ok(filelab_reads(&lab, 1, "ck.1.0", text), "a lost file is made again");
    took(begun, BYTES, RATE / 2, "that is done");
    filelab_drop(&lab);
    filelab_fini(&lab);
}

/* A launch has left files of both nodes. */
static void leave_files(const char *name)
{
    filelab_init(&lab, name, 2, 2, RULES SINGLE);
    filelab_begin(&lab, "A");
    write_all();
    wait_protected();
    filelab_drop(&lab);
}

static void pulls(void)
{
    uint64_t begun;

    leave_files("pulls");
    filelab_set(&lab, rules("pulls", SINGLE, RATE));
    filelab_begin(&lab, "B");
    begun = vel_clock_monotonic(vel_clock_system());
    ok(filelab_reads(&lab, 1, "ck.1.0", text), "a file comes from another node");
    took(begun, BYTES, RATE, "that is done");
    filelab_drop(&lab);
    filelab_fini(&lab);
}

/* --- nobody who ends waits for a throttle --- */

static atomic_bool has_read;

static ssize_t noted_pread(struct vel_fs *fs, int fd, void *buf, size_t len, off_t at)
{
    char link[64], path[4096] = "";

    (void)fs;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    if (readlink(link, path, sizeof path - 1) > 0 && strstr(path, "/rank.0/set."))
        has_read = true;
    return vel_fs_posix()->ops->pread(vel_fs_posix(), fd, buf, len, at);
}

static void *read_in_vain(void *arg)
{
    (void)arg;
    return filelab_read(&lab, 1, "ck.1.0", NULL);
}

/* A byte in a second: it would give for days. */
static void ends(void)
{
    static struct vel_fs_ops ops;
    static struct vel_fs fs = {&ops};
    pthread_t reader;
    void *got;

    ops = *vel_fs_posix()->ops;
    ops.pread = noted_pread;
    leave_files("ends");
    filelab_set(&lab, rules("ends", SINGLE, 1));
    lab.fs = &fs;
    filelab_begin(&lab, "B");
    has_read = false;
    if (pthread_create(&reader, NULL, read_in_vain, NULL) != 0)
        bail_out("no thread");
    while (!has_read)
        vel_clock_sleep(vel_clock_system(), VEL_CLOCK_MS);
    filelab_end_node(&lab, 0, false);
    ok(true, "a leader that gives to another node, ever so slowly, can end");
    pthread_join(reader, &got);
    ok(!got, "and the other one does not wait for it any more");
    filelab_drop(&lab);
    filelab_fini(&lab);
}

int main(void)
{
    text = malloc(BYTES + 1);
    if (!text)
        bail_out("no memory");
    memset(text, 'x', BYTES);
    text[BYTES] = '\0';
    encodes();
    rebuilds();
    pulls();
    ends();
    free(text);
    return done_testing();
}
