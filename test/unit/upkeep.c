/* SPDX-License-Identifier: BSD-3-Clause */
/* What leaders do beside files: they bear a prefix that hangs, keep to what stores
 * allow, and remove what launches before have left. */
#include "config.h"

#include <glob.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "brain/dataset_state.h"
#include "engine/background.h"
#include "jobs/stub.h"
#include "jobs/work.h"
#include "tap/filelab.h"
#include "tap/files.h"
#include "tap/hangfs.h"
#include "tap/tap.h"

#define RULE "DATASET=ck PATTERN=ck.{step}.{rank}.h5\n"

static const char *text_of(int rank, int step)
{
    static char texts[8][64];
    static unsigned next;
    char *text = texts[next++ % 8];

    snprintf(text, sizeof texts[0], "rank %d of step %d\n", rank, step);
    return text;
}

static const char *name_of(int rank, int step)
{
    static char names[8][64];
    static unsigned next;
    char *name = names[next++ % 8];

    snprintf(name, sizeof names[0], "ck.%d.%d.h5", step, rank);
    return name;
}

static bool is_stub(const struct filelab *lab, const char *name)
{
    struct vel_stub stub;

    return vel_stub_read(vel_fs_posix(), filelab_path(lab, name), &stub, NULL) == 0;
}

static int save(struct filelab *lab, int step)
{
    struct vel_err err = {0};
    int rc = 0;

    for (int rank = 0; rc == 0 && rank < lab->ranks; rank++)
        rc = filelab_write(lab, rank, name_of(rank, step), text_of(rank, step), &err);
    if (rc < 0)
        note("%s", err.text);
    return rc;
}

static bool all_stand(const struct filelab *lab, int step)
{
    bool all = true;

    for (int rank = 0; rank < lab->ranks; rank++)
        all = filelab_stands(lab, name_of(rank, step), text_of(rank, step)) && all;
    return all;
}

static bool all_read(struct filelab *lab, int step)
{
    bool all = true;

    for (int rank = 0; rank < lab->ranks; rank++)
        all = filelab_reads(lab, rank, name_of(rank, step), text_of(rank, step)) && all;
    return all;
}

/* Is each leader there, again and again for longer than a silent one would be waited
 * for? Each answer takes a little: so many in a row is a matter of order, not of time.
 */
static bool all_answer(struct filelab *lab, uint64_t limit)
{
    uint64_t until = vel_clock_deadline(vel_clock_system(), limit);
    struct vel_err err = {0};
    uint64_t value;
    bool all = true;

    while (all && vel_clock_monotonic(vel_clock_system()) < until) {
        for (int rank = 0; all && rank < lab->ranks; rank++)
            all = vel_client_ping(lab->client[rank], 0, &value, &err) == 0;
        usleep(20000);
    }
    if (!all)
        note("%s", err.text);
    return all;
}

static struct {
    pthread_mutex_t lock;
    int lost;
} told = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void hear(void *arg, enum vel_log_level level, const char *line, size_t len)
{
    (void)arg, (void)level, (void)len;
    pthread_mutex_lock(&told.lock);
    told.lost += strstr(line, "lost") || strstr(line, "silent");
    pthread_mutex_unlock(&told.lock);
}

/* A file system of the prefix that hangs for longer than leaders wait for each other.
 */
static void hung(void)
{
    struct vel_log_sink sink = {.level = VEL_LOG_INFO, .write = hear};
    struct hangfs prefix;
    struct filelab lab;

    vel_log_open(&sink);
    filelab_init(&lab, "hung", 2, 2, RULE "PEER_TIMEOUT=1\n");
    hangfs_init(&prefix, lab.prefix);
    lab.fs = &prefix.twin.fs;
    filelab_begin(&lab, "L1");
    is_int(save(&lab, 1), 0, "files are written");
    filelab_drain(&lab);
    hangfs_hang(&prefix);
    hangfs_wait(&prefix, 1);
    ok(all_answer(&lab, 3 * VEL_CLOCK_S),
       "while the prefix hangs, its leaders answer their processes");
    hangfs_let_go(&prefix);
    is_int(save(&lab, 2), 0, "when it answers again files are written as before");
    filelab_drain(&lab);
    ok(all_stand(&lab, 1) && all_stand(&lab, 2), "and come to the prefix");
    is_int(told.lost, 0, "and no leader has given up another");
    filelab_end(&lab);
    filelab_fini(&lab);
    hangfs_fini(&prefix);
    vel_log_open(NULL);
}

/* Until its leader's workers take jobs, or take none. */
static bool comes_to_take(struct filelab *lab, bool takes)
{
    uint64_t until = vel_clock_deadline(vel_clock_system(), 60 * VEL_CLOCK_S);
    uint64_t value = 0;
    struct vel_err err = {0};

    while (vel_clock_monotonic(vel_clock_system()) < until) {
        if (vel_client_ping(lab->client[0], VEL_PING_WORKER, &value, &err) < 0) {
            note("%s", err.text);
            return false;
        }
        if ((value == 0) == takes)
            return true;
        usleep(20000);
    }
    return false;
}

/* The caches hang, and more is left to do than there are spare workers. */
static void no_worker(void)
{
    char cache[300], rules[600];
    struct hangfs caches;
    struct filelab lab;

    snprintf(cache, sizeof cache, "%s/cache", tap_path("stuck"));
    snprintf(rules, sizeof rules, RULE "PEER_TIMEOUT=1\nSTORE=%s BANDWIDTH=50\n",
             cache);
    filelab_init(&lab, "stuck", 2, 2, rules);
    hangfs_init(&caches, cache);
    lab.fs = &caches.twin.fs;
    filelab_begin(&lab, "L1");
    for (int step = 1; step <= VEL_WORK_SPARE + 4; step++)
        save(&lab, step);
    ok(comes_to_take(&lab, true), "workers that are slow take jobs");
    hangfs_hang(&caches);
    ok(comes_to_take(&lab, false), "when all hang a leader that answers says so");
    hangfs_let_go(&caches);
    ok(comes_to_take(&lab, true), "and that they take jobs again");
    filelab_drop(&lab);
    filelab_fini(&lab);
    hangfs_fini(&caches);
}

/* What a STORE line says of its disks, which two nodes share here. */
static void stores(void)
{
    enum { BYTES = 100000 };
    char rules[1000], *text = calloc(1, BYTES + 1);
    struct filelab lab;
    struct vel_err err = {0};
    uint64_t begun, spent;

    if (!text)
        bail_out("out of memory");
    memset(text, 'x', BYTES);
    snprintf(rules, sizeof rules,
             RULE "FLUSH_PLUGIN=/nowhere/plugin.so\nGROUPS=n0 RACK=one\n"
                  "GROUPS=n1 RACK=one\nSTORE=%s/cache GROUP=RACK FLUSH=POSIX "
                  "BANDWIDTH=%d\n",
             tap_path("stores"), 2 * BYTES);
    filelab_init(&lab, "stores", 2, 2, rules);
    filelab_begin(&lab, "L1");
    ok(true, "FLUSH of a STORE line is who moves: FLUSH_PLUGIN is not loaded");
    begun = vel_clock_monotonic(vel_clock_system());
    for (int rank = 0; rank < 2; rank++)
        is_int(filelab_write(&lab, rank, name_of(rank, 1), text, &err), 0,
               "rank %d writes", rank);
    filelab_drain(&lab);
    spent = vel_clock_monotonic(vel_clock_system()) - begun;
    ok(filelab_stands(&lab, name_of(0, 1), text) &&
           filelab_stands(&lab, name_of(1, 1), text),
       "the files come to the prefix");
    ok(spent >= VEL_CLOCK_S * 9 / 10,
       "no faster than BANDWIDTH allows to all who share the store");
    filelab_end(&lab);
    filelab_fini(&lab);
    free(text);
}

static void wait_encoded(struct filelab *lab, int64_t id)
{
    struct vel_progress now = {0};
    struct vel_err err = {0};

    for (int i = 0; i < 1000 && !now.is_encoded; i++) {
        if (vel_client_ask(lab->client[0], id, &now, &err) < 0)
            bail_out("%s", err.text);
        vel_clock_sleep(vel_clock_system(), 10 * VEL_CLOCK_MS);
    }
    ok(now.is_encoded && now.state < VEL_DATASET_FLUSHED,
       "dataset %d is encoded and not flushed", (int)id);
}

static int count_names(const char *dir, const char *begin)
{
    struct vel_vec names;
    int n = 0;

    vel_vec_init(&names, sizeof(char *));
    if (vel_fs_list(vel_fs_posix(), dir, &names, NULL) < 0)
        bail_out("no %s", dir);
    for (size_t i = 0; i < names.n; i++)
        n += strncmp(*(char **)vel_vec_at(&names, i), begin, strlen(begin)) == 0;
    vel_fs_names_fini(&names);
    return n;
}

/* What is over and needed by nobody goes when there is a view; it waits for that. */
static void comes_to(const char *dir, const char *begin, int most, const char *text)
{
    int n = count_names(dir, begin);

    for (int i = 0; i < 6000 && n > most; i++) {
        usleep(10000);
        n = count_names(dir, begin);
    }
    ok(n <= most, "%s: %d", text, n);
}

/* A launch that has datasets on the prefix keeps its ledger. */
static int count_launches(const struct filelab *lab)
{
    char pattern[600];
    glob_t found;
    int n = 0;

    snprintf(pattern, sizeof pattern, "%s/launch.*/node.*", lab->dir);
    if (glob(pattern, 0, NULL, &found) == 0)
        n = (int)found.gl_pathc;
    globfree(&found);
    return n;
}

static void records_come_to(const struct filelab *lab, int most)
{
    int nodes = lab->nodes, n = count_launches(lab);

    for (int i = 0; i < 6000 && n > most * nodes; i++) {
        usleep(10000);
        n = count_launches(lab);
    }
    ok(n <= most * nodes, "records of nodes of launches do not pile up: %d", n);
}

/* What is evicted beside all else may not come to it before its launch ends, and then
 * keeps that from being removed. */
static void wait_evicted(const struct filelab *lab, int most)
{
    for (int node = 0; node < lab->nodes; node++) {
        char path[600];

        snprintf(path, sizeof path, "%s/index.0", lab->home[node]);
        for (int i = 0; i < 6000 && count_names(path, "dataset.") > most; i++)
            usleep(10000);
    }
}

static void swept(void)
{
    enum { LAUNCHES = 5 };
    struct filelab lab;
    char name[600];

    filelab_init(&lab, "swept", 2, 2, RULE);
    for (int k = 1; k <= 3; k++) {
        snprintf(name, sizeof name, "%s/meet.0123456789abcdef.%d", lab.dir, k);
        tap_put_file(name, "x");
    }
    for (int i = 1; i <= LAUNCHES; i++) {
        snprintf(name, sizeof name, "S%d", i);
        filelab_begin(&lab, name);
        is_int(save(&lab, i), 0, "step %d is written", i);
        ok(all_read(&lab, i), "and is read");
        filelab_drain(&lab);
        wait_evicted(&lab, 2);
        if (i == LAUNCHES) {
            records_come_to(&lab, 3);
            comes_to(lab.dir, "view.", 3, "nor do their views");
            comes_to(lab.dir, "meet.", 1, "nor claims of meetings");
            snprintf(name, sizeof name, "%s/index.0", lab.home[1]);
            comes_to(name, "dataset.", 2, "nor datasets in caches");
        }
        filelab_end(&lab);
    }
    filelab_begin(&lab, "S9");
    for (int i = 1; i <= LAUNCHES; i++)
        ok(all_read(&lab, i), "what launch %d has written is there", i);
    filelab_end(&lab);
    filelab_fini(&lab);
}

static int step_over(struct filelab *lab, const char *name, int step)
{
    struct vel_err err = {0};
    int rc = filelab_write(lab, 0, name, text_of(0, step), &err);

    if (rc < 0)
        note("%s", err.text);
    filelab_drain(lab);
    return rc;
}

static int count_in(const struct filelab *lab, const char *below, const char *begin)
{
    char dir[600];

    snprintf(dir, sizeof dir, "%s/%s", lab->dir, below);
    return count_names(dir, begin);
}

/* A program that writes the same name again and again. */
static void the_same_name(void)
{
    enum { STEPS = 40, MOST = 30 };
    struct filelab lab;
    int bad = 0;

    filelab_init(&lab, "same", 1, 1, "DATASET=s PATTERN=s.h5 PUBLISH=BEHIND\n");
    filelab_begin(&lab, "L1");
    for (int i = 1; i <= STEPS; i++)
        bad += step_over(&lab, "s.h5", i) < 0;
    is_int(bad, 0, "a name is written %d times", STEPS);
    ok(filelab_stands(&lab, "s.h5", text_of(0, STEPS)),
       "the last version stands there");
    ok(count_in(&lab, "", "dataset.") <= MOST, "older ones leave the index: %d",
       count_in(&lab, "", "dataset."));
    ok(count_in(&lab, ".", "dataset.") <= MOST, "and no directories: %d",
       count_in(&lab, ".", "dataset."));
    filelab_end(&lab);
    filelab_begin(&lab, "L2");
    ok(filelab_reads(&lab, 0, "s.h5", text_of(0, STEPS)), "the next launch reads it");
    comes_to(lab.dir, "dataset.", 2, "and removes what the last one has left");
    filelab_end(&lab);
    filelab_fini(&lab);
}

/* One that keeps its last file alone. */
static void unlinked(void)
{
    enum { STEPS = 6 };
    struct filelab lab;

    filelab_init(&lab, "unlinked", 1, 1, RULE "CACHE_SIZE=1\n");
    filelab_begin(&lab, "L1");
    for (int i = 1; i <= STEPS; i++) {
        is_int(step_over(&lab, name_of(0, i), i), 0, "step %d is written", i);
        if (i > 1)
            unlink(filelab_path(&lab, name_of(0, i - 1)));
    }
    filelab_end(&lab);
    filelab_begin(&lab, "L2");
    ok(filelab_reads(&lab, 0, name_of(0, STEPS), text_of(0, STEPS)),
       "the last file is there");
    comes_to(lab.dir, "dataset.", 2, "of those that were unlinked nothing is left");
    is_int(step_over(&lab, name_of(0, 9), 9), 0, "and the next is written");
    filelab_end(&lab);
    filelab_fini(&lab);
}

/* More nodes lose their caches than an encoding bears. */
static void stubs_of_lost(void)
{
    struct filelab lab;

    filelab_init(&lab, "stubs", 3, 3, RULE "FLUSH_BANDWIDTH=1\n");
    filelab_begin(&lab, "L1");
    is_int(save(&lab, 1), 0, "a step is written");
    wait_encoded(&lab, 1);
    filelab_drop(&lab);
    ok(is_stub(&lab, name_of(1, 1)), "a file has a stub");
    filelab_lose(&lab, 0);
    filelab_lose(&lab, 1);
    filelab_begin(&lab, "L2");
    ok(!filelab_reads(&lab, 2, name_of(2, 1), text_of(2, 1)),
       "what too few nodes still have is lost");
    for (int i = 0; i < 1000 && is_stub(&lab, name_of(1, 1)); i++)
        usleep(10000);
    ok(!is_stub(&lab, name_of(1, 1)),
       "and its stub goes, though who made it knows nothing of it any more");
    filelab_end(&lab);
    filelab_fini(&lab);
}

int main(void)
{
    hung();
    no_worker();
    stores();
    swept();
    the_same_name();
    unlinked();
    stubs_of_lost();
    return done_testing();
}
