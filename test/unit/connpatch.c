/* SPDX-License-Identifier: BSD-3-Clause */
/* FLUSH_DELTA=PATCH through the leader: the version on the prefix is changed in place,
 * while newer ones are closed, and whatever becomes of the leader in the middle. And
 * ENCODE_DELTA: the redundancy of a version is that of the one before, changed. */
#include "config.h"

#include <errno.h>
#include <glob.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap/eventlab.h"
#include "tap/filelab.h"
#include "tap/files.h"
#include "tap/tap.h"

enum { BLOCK = 65536, BLOCKS = 12 };

#define RULE "DATASET=x PATTERN=x.h5 KIND=OUTPUT PUBLISH=BEHIND\n"

/* --- files that share no blocks, and one whose writer is stopped --- */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t moved;
    ino_t inode;                      /* 0: none */
    bool kills, has_renames;          /* renames of version 2 are what is watched */
    bool has_begun, has_come, may_go; /* who writes to it */
} gate = {.lock = PTHREAD_MUTEX_INITIALIZER, .moved = PTHREAD_COND_INITIALIZER};

static int clone_never(struct vel_fs *fs, int from, int to)
{
    (void)fs, (void)from, (void)to;
    return -EOPNOTSUPP;
}

/* The first bytes are written, the rest is not: a mix. */
static ssize_t write_watched(struct vel_fs *fs, int fd, const void *buf, size_t len,
                             off_t at)
{
    struct stat st;
    bool stops;

    (void)fs;
    pthread_mutex_lock(&gate.lock);
    stops = gate.inode && fstat(fd, &st) == 0 && st.st_ino == gate.inode;
    if (stops && gate.has_begun && gate.kills)
        raise(SIGKILL);
    if (stops && gate.has_begun) {
        gate.has_come = true;
        pthread_cond_broadcast(&gate.moved);
        while (!gate.may_go)
            pthread_cond_wait(&gate.moved, &gate.lock);
    }
    gate.has_begun |= stops;
    pthread_mutex_unlock(&gate.lock);
    if (stops && len > 100)
        len = 100;
    return vel_fs_posix()->ops->pwrite(vel_fs_posix(), fd, buf, len, at);
}

/* For ever. */
static int rename_watched(struct vel_fs *fs, const char *from, const char *to)
{
    (void)fs;
    pthread_mutex_lock(&gate.lock);
    if (gate.has_renames && strstr(from, ".x.h5.h5v-2.")) {
        gate.has_come = true;
        pthread_cond_broadcast(&gate.moved);
        while (!gate.may_go)
            pthread_cond_wait(&gate.moved, &gate.lock);
    }
    pthread_mutex_unlock(&gate.lock);
    return vel_fs_posix()->ops->rename(vel_fs_posix(), from, to);
}

static struct vel_fs *watched_fs(void)
{
    static struct vel_fs_ops ops;
    static struct vel_fs fs = {&ops};

    ops = *vel_fs_posix()->ops;
    ops.clone = clone_never;
    ops.pwrite = write_watched;
    ops.rename = rename_watched;
    return &fs;
}

static void watch(const struct filelab *lab, bool kills)
{
    struct stat st;

    if (stat(filelab_path(lab, "x.h5"), &st) < 0)
        bail_out("there is nothing to watch");
    pthread_mutex_lock(&gate.lock);
    gate.inode = st.st_ino;
    gate.kills = kills;
    gate.has_begun = gate.has_come = gate.may_go = false;
    pthread_mutex_unlock(&gate.lock);
}

static void watch_nothing(bool but_renames)
{
    pthread_mutex_lock(&gate.lock);
    gate.inode = 0;
    gate.has_renames = but_renames;
    pthread_mutex_unlock(&gate.lock);
}

static void wait_for_writer(void)
{
    pthread_mutex_lock(&gate.lock);
    while (!gate.has_come)
        pthread_cond_wait(&gate.moved, &gate.lock);
    pthread_mutex_unlock(&gate.lock);
}

static void let_go(void)
{
    pthread_mutex_lock(&gate.lock);
    gate.may_go = true;
    pthread_cond_broadcast(&gate.moved);
    pthread_mutex_unlock(&gate.lock);
}

/* --- versions --- */

/* Each differs from the one before in two blocks. */
static const char *text_of(int version)
{
    static char texts[4][BLOCK * BLOCKS + 1];
    static unsigned next;
    char *text = texts[next++ % 4];

    for (int i = 0; i < BLOCKS; i++)
        memset(text + i * BLOCK, 'a' + i, BLOCK);
    text[0] = (char)('0' + version);
    for (int v = 1; v <= version; v++) {
        memset(text + v * BLOCK, '0' + v, BLOCK);
        memset(text + (v + 2) * BLOCK, '0' + v, BLOCK);
    }
    return text;
}

static bool write_version(struct filelab *lab, int version)
{
    struct vel_err err = {0};
    bool is = filelab_write(lab, 0, "x.h5", text_of(version), &err) == 0;

    if (!is)
        note("%s", err.text);
    return is;
}

static bool stands(const struct filelab *lab, int version)
{
    return filelab_stands(lab, "x.h5", text_of(version));
}

static ino_t inode_of(const struct filelab *lab)
{
    struct stat st;

    return stat(filelab_path(lab, "x.h5"), &st) == 0 ? st.st_ino : 0;
}

static void begin(struct filelab *lab, const char *name, const char *setting)
{
    char text[200];

    snprintf(text, sizeof text, RULE "FLUSH_DELTA=%s\nWORKERS=2\n", setting);
    filelab_init(lab, name, 2, 2, text);
    lab->fs = watched_fs();
    watch_nothing(false);
    filelab_begin(lab, "L1");
    ok(write_version(lab, 1), "a file is written");
    filelab_drain(lab);
    ok(stands(lab, 1), "and flushed");
}

static void end(struct filelab *lab)
{
    watch_nothing(false);
    filelab_end(lab);
    filelab_fini(lab);
}

/* --- what is shown --- */

/* The setting asks for it, nothing else does. */
static void asked_for(const char *setting, bool in_place)
{
    struct filelab lab;
    ino_t before;

    begin(&lab, setting, setting);
    before = inode_of(&lab);
    ok(write_version(&lab, 2), "with FLUSH_DELTA=%s the next version is written",
       setting);
    filelab_drain(&lab);
    ok(stands(&lab, 2), "and flushed");
    ok((inode_of(&lab) == before) == in_place, "%s",
       in_place ? "in place" : "in a file of its own");
    end(&lab);
}

static void closed_meanwhile(void)
{
    struct filelab lab;

    begin(&lab, "meanwhile", "PATCH");
    watch(&lab, false);
    ok(write_version(&lab, 2), "the next version is written");
    wait_for_writer();
    ok(filelab_reads(&lab, 0, "x.h5", text_of(2)),
       "while a part of it is in place the program reads it whole");
    ok(write_version(&lab, 3), "and one more is written");
    ok(filelab_reads(&lab, 0, "x.h5", text_of(3)), "which is what the program reads");
    let_go();
    filelab_drain(&lab);
    ok(stands(&lab, 3), "and what stands there in the end");
    end(&lab);
}

static void killed(void)
{
    struct filelab lab;
    ino_t before;
    pid_t pid;

    begin(&lab, "killed", "PATCH");
    before = inode_of(&lab);
    filelab_end(&lab);
    pid = fork();
    if (pid < 0)
        bail_out("cannot fork");
    if (pid == 0) {
        filelab_begin(&lab, "L2");
        watch(&lab, true);
        write_version(&lab, 2);
        pause();
    }
    waitpid(pid, NULL, 0);
    ok(!stands(&lab, 1) && !stands(&lab, 2) && inode_of(&lab) == before,
       "leader and program are killed in the middle: the file is a mix");
    filelab_begin(&lab, "L3");
    ok(filelab_reads(&lab, 0, "x.h5", text_of(2)) &&
           filelab_reads(&lab, 1, "x.h5", text_of(2)),
       "the next launch reads the new version on every node");
    filelab_end(&lab);
    ok(stands(&lab, 2), "and its leader carries the journal out");
    filelab_begin(&lab, "L4");
    ok(filelab_reads(&lab, 0, "x.h5", text_of(2)), "which is read after that, too");
    ok(write_version(&lab, 3), "the version after that is written");
    filelab_drain(&lab);
    ok(stands(&lab, 3), "and flushed");
    end(&lab);
}

/* A node has its part of a version, whole. */
static void wait_for_part(const struct filelab *lab, int version, int node)
{
    char pattern[700];
    glob_t found;

    snprintf(pattern, sizeof pattern, "%s/index.0/dataset.%d/rank.%d/*.h5vr",
             lab->home[node], version, node);
    while (glob(pattern, 0, NULL, &found) != 0)
        vel_clock_sleep(vel_clock_system(), VEL_CLOCK_MS);
    globfree(&found);
}

/* Version 2 is on its way to its name and version 3 is sealed when the leader dies. */
static void die_with_two(struct filelab *lab, bool in_place)
{
    filelab_begin(lab, "L2");
    watch(lab, false);
    if (!in_place)
        watch_nothing(true);
    filelab_reads(lab, 1, "x.h5", text_of(1)); /* it is known then, and has parts */
    write_version(lab, 2);
    wait_for_writer();
    write_version(lab, 3);
    for (int node = 0; node < 2; node++)
        wait_for_part(lab, 3, node);
    raise(SIGKILL);
}

static void killed_with_two(const char *setting)
{
    struct filelab lab;
    pid_t pid;

    begin(&lab, setting, setting);
    filelab_end(&lab);
    pid = fork();
    if (pid < 0)
        bail_out("cannot fork");
    if (pid == 0)
        die_with_two(&lab, strcmp(setting, "PATCH") == 0);
    waitpid(pid, NULL, 0);
    ok(!stands(&lab, 2) && !stands(&lab, 3),
       "FLUSH_DELTA=%s: killed with a version on its way, and a newer one sealed",
       setting);
    filelab_begin(&lab, "L3");
    ok(filelab_reads(&lab, 0, "x.h5", text_of(3)), "the next launch reads the newest");
    filelab_drain(&lab); /* who only reads would not wait for it */
    filelab_end(&lab);
    ok(stands(&lab, 3), "which comes to the prefix");
    filelab_begin(&lab, "L4");
    ok(filelab_reads(&lab, 0, "x.h5", text_of(3)) &&
           filelab_reads(&lab, 1, "x.h5", text_of(3)),
       "and is what all read then");
    end(&lab);
}

/* A launch that is killed before it has flushed version 2. */
static void leave_owed(struct filelab *lab)
{
    pid_t pid;

    filelab_end(lab);
    pid = fork();
    if (pid < 0)
        bail_out("cannot fork");
    if (pid == 0) {
        filelab_set(lab, RULE "FLUSH_DELTA=PATCH\nFLUSH_BANDWIDTH=1\n");
        filelab_begin(lab, "L2");
        filelab_reads(lab, 1, "x.h5",
                      text_of(1)); /* it is known then, and has a part */
        write_version(lab, 2);
        for (int node = 0; node < 2; node++)
            wait_for_part(lab, 2, node);
        raise(SIGKILL);
    }
    waitpid(pid, NULL, 0);
}

/* What was said of what stood there is lost: the file itself, which is being changed in
 * place, must not look like one that somebody has written since. */
static void without_record(void)
{
    struct filelab lab;
    char ledgers[700];

    begin(&lab, "record", "PATCH");
    leave_owed(&lab);
    ok(stands(&lab, 1), "killed with a version that is in caches alone");
    snprintf(ledgers, sizeof ledgers, "%s/ledger", lab.home[0]);
    ok(tap_damage(ledgers, "stands index.0/dataset.2") > 0,
       "and what it was to replace nobody knows");
    watch(&lab, false);
    filelab_begin(&lab, "L3");
    ok(filelab_reads(&lab, 1, "x.h5", text_of(2)),
       "the next launch reads that version");
    wait_for_writer();
    ok(filelab_reads(&lab, 0, "x.h5", text_of(2)) &&
           filelab_reads(&lab, 1, "x.h5", text_of(2)),
       "also while a part of it is in place");
    let_go();
    filelab_drain(&lab);
    ok(stands(&lab, 2), "and it stands there in the end");
    end(&lab);
}

static int add_event(void *arg, const struct vel_event *event, struct vel_err *err)
{
    struct vel_event *sum = arg;

    (void)err;
    if (event->kind == VEL_EVENT_ENCODE_DELTA) {
        sum->compared += event->compared;
        sum->cloned += event->cloned;
        sum->written += event->written;
    }
    return 0;
}

static void encoded_by_difference(void)
{
    struct filelab lab;
    struct vel_event sum = {0};
    struct vel_err err = {0};

    filelab_init(&lab, "encoded", 3, 3,
                 "DATASET=x PATTERN=x.h5 PUBLISH=BEHIND\nENCODE_DELTA=1\n"
                 "DATASET=all PATTERN=all.{rank} PUBLISH=BEHIND\n");
    filelab_begin(&lab, "L1");
    for (int rank = 0; rank < 3; rank++) {
        char name[16];

        snprintf(name, sizeof name, "all.%d", rank);
        filelab_write(&lab, rank, name, "here", &err);
    }
    filelab_drain(&lab); /* all nodes are there: x is protected */
    ok(write_version(&lab, 1), "a version is written");
    filelab_drain(&lab);
    ok(write_version(&lab, 2), "and the next one, with ENCODE_DELTA=1");
    filelab_drain(&lab);
    filelab_end(&lab);
    is_int(eventlab_read(lab.dir, add_event, &sum, NULL, &err), 0,
           "the log of events tells what that saved");
    ok(sum.compared == BLOCK * BLOCKS && sum.cloned > 0 && sum.cloned < sum.compared &&
           sum.written > 0,
       "of %lld bytes %lld were not sent", (long long)sum.compared,
       (long long)sum.cloned);
    filelab_fini(&lab);
}

int main(void)
{
    asked_for("PATCH", true);
    asked_for("CLONE", false);
    closed_meanwhile();
    killed();
    without_record();
    killed_with_two("OFF");
    killed_with_two("PATCH");
    encoded_by_difference();
    return done_testing();
}
