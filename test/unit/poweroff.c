/* SPDX-License-Identifier: BSD-3-Clause */
/* All nodes lose their power at any operation of their leaders while steps of a line
 * are written, and written anew. When the machines have been started again each step is
 * what all ranks had closed at one time, wherever it is read; what had come to the
 * prefix by then is there. */
#include "config.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap/filelab.h"
#include "tap/files.h"
#include "tap/fs_fault.h"
#include "tap/seeds.h"
#include "tap/tap.h"

enum { LEN = 3 * 4096 + 100 };

static const char *name_of(int step, int rank)
{
    static char names[4][16];
    static unsigned next;
    char *name = names[next++ % 4];

    snprintf(name, sizeof names[0], "ck.%d.%d", step, rank);
    return name;
}

/* So large that a part of it may be lost. */
static const char *text_of(const char *name, int version)
{
    static char text[LEN + 1];

    for (int i = 0; i < LEN; i++)
        text[i] = (char)('a' + (name[3] + 3 * name[5] + 7 * version + i / 512) % 26);
    return text;
}

/* --- before --- */

struct scene {
    struct filelab lab;
    struct vel_fs_fault *fault;
    enum vel_fs_loss loss;
    uint64_t at;
    atomic_bool is_off;
    int *drained; /* how often all was on the prefix; in memory that both share */
};

/* In a child: nobody else hears it. */
static void must(int rc, const struct vel_err *err)
{
    if (rc == 0)
        return;
    note("%s", err->text);
    fflush(stdout);
    _exit(2);
}

static void lose_power(void *arg)
{
    struct scene *s = arg;
    struct vel_err err = {0};

    s->is_off = true;
    must(vel_fs_fault_power_loss(s->fault, s->loss, s->at, &err), &err);
    _exit(0);
}

static int put(struct vel_fs *fs, const char *path, const char *text,
               struct vel_err *err)
{
    int fd, rc = vel_fs_open(fs, path, O_WRONLY | O_CREAT | O_TRUNC, 0600, &fd, err);

    if (rc == 0)
        rc = vel_fs_write_at(fs, fd, text, LEN, 0, path, err);
    return rc == 0 ? vel_fs_close(fs, fd, path, err) : rc;
}

static void write_one(struct scene *s, int rank, const char *name, int version)
{
    struct vel_place place = {0};
    struct vel_err err = {0};

    if (filelab_create(&s->lab, rank, name, &place, &err) < 0 || place.where != 1 ||
        put(s->lab.fs, place.path, text_of(name, version), &err) < 0 ||
        vel_client_file_close(s->lab.client[rank], place.file, VEL_CLOSE_COMPLETE, LEN,
                              NULL, &err) < 0) {
        while (s->is_off || vel_fs_fault_fired(s->fault))
            pause(); /* whoever has lost the power ends the process */
        must(VEL_EIO, &err);
    }
    vel_place_fini(&place);
}

static void write_step(struct scene *s, int step, int version)
{
    for (int rank = 0; rank < s->lab.ranks; rank++)
        write_one(s, rank, name_of(step, rank), version);
}

/* A first version is on the prefix for good before anything is counted: the begin of
 * the next launch is. */
static void write_all(struct scene *s)
{
    struct vel_fs_fault_plan plan = {
        .mode = VEL_FS_FAULT_CRASH, .at = s->at, .crash = lose_power, .arg = s};
    struct vel_err err = {0};

    must(vel_fs_fault_create(vel_fs_posix(), tap_path("aside"), &s->fault, &err), &err);
    s->lab.fs = vel_fs_fault_fs(s->fault);
    filelab_begin(&s->lab, "L1");
    write_step(s, 1, 1);
    filelab_drain(&s->lab);
    must(filelab_leave(&s->lab) < 0 ? 0 : VEL_EIO, &err);
    vel_fs_fault_arm(s->fault, &plan);
    filelab_begin(&s->lab, "L2");
    write_step(s, 1, 2);
    write_step(s, 2, 1);
    filelab_drain(&s->lab);
    ++*s->drained;
    write_step(s, 2, 2);
    filelab_drain(&s->lab);
    ++*s->drained;
    s->loss = VEL_FS_LOSS_DROP;
    must(vel_fs_fault_power_loss(s->fault, s->loss, s->at, &err), &err);
    _exit(1); /* it has not come so far */
}

/* --- afterwards --- */

static int open_of_another_boot(struct vel_fs *fs, const char *path, int flags,
                                mode_t mode)
{
    (void)fs;
    if (strcmp(path, "/proc/sys/kernel/random/boot_id") == 0)
        path = tap_path("boot");
    return vel_fs_posix()->ops->open(vel_fs_posix(), path, flags, mode);
}

/* 0: it is nothing, or a stub, of which a loss of power may have left the name alone;
 * below that it is none. */
static int version_of(const char *text, const char *name)
{
    if (!text || !*text || strstr(text, "h5veloc"))
        return 0;
    return strcmp(text, text_of(name, 1)) == 0   ? 1
           : strcmp(text, text_of(name, 2)) == 0 ? 2
                                                 : -1;
}

static bool is_well(struct scene *s, int step, int oldest)
{
    int versions[2] = {0}, stand[2] = {0};
    bool is = true;

    for (int rank = 0; rank < s->lab.ranks; rank++) {
        const char *name = name_of(step, rank);
        struct vel_err err = {0};
        char *text = filelab_read(&s->lab, rank, name, &err);

        versions[rank] = version_of(text, name);
        free(text);
        text = tap_get_file(filelab_path(&s->lab, name), NULL);
        stand[rank] = version_of(text, name);
        free(text);
        is = is && versions[rank] >= oldest && versions[rank] == versions[0] &&
             stand[rank] >= 0;
    }
    if (!is)
        note("at %d, loss %d: of step %d versions %d and %d are read, %d and %d stand "
             "there",
             (int)s->at, (int)s->loss, step, versions[0], versions[1], stand[0],
             stand[1]);
    return is;
}

static void read_all(struct scene *s)
{
    static struct vel_fs_ops ops;
    static struct vel_fs fs = {&ops};
    bool is;

    ops = *vel_fs_posix()->ops;
    ops.open = open_of_another_boot;
    tap_put_file(tap_path("boot"), "another one\n");
    s->lab.fs = &fs;
    filelab_begin(&s->lab, "L3");
    is = is_well(s, 1, *s->drained > 0 ? 2 : 1) & is_well(s, 2, *s->drained);
    fflush(stdout);
    _exit(filelab_leave(&s->lab) < 0 && is ? 0 : 1);
}

/* In a process of its own: its exit status. */
static int run(struct scene *s, void (*what)(struct scene *s))
{
    pid_t pid = fork();
    int status;

    if (pid == 0)
        what(s);
    if (pid < 0 || waitpid(pid, &status, 0) < 0 || !WIFEXITED(status))
        bail_out("a process is lost");
    return WEXITSTATUS(status);
}

static bool try_one(int nodes, enum vel_fs_loss loss, uint64_t at, int *drained,
                    int *wrong)
{
    struct scene s = {.loss = loss, .at = at, .drained = drained};
    int ended;

    *drained = 0;
    tap_fresh_dir(tap_path("aside"));
    rmdir(tap_path("aside"));
    filelab_init(
        &s.lab, "off", nodes, nodes,
        "DATASET=ck PATTERN=ck.{step}.{rank}\nLOG_LEVEL=ERROR\nSEAL_AFTER=0.2\n");
    ended = run(&s, write_all);
    if (ended > 1)
        bail_out("the writer ends with %d", ended);
    *wrong += run(&s, read_all) != 0;
    filelab_fini(&s.lab);
    return ended == 0;
}

/* At every so many operations, from one on that the seed tells: of one node that is
 * over is known at once, others are waited for. */
static void lose_often(int nodes, enum vel_fs_loss loss, const char *text, int *drained)
{
    struct tap_seeds seeds = tap_seeds(1);
    uint64_t every = nodes == 1 ? 131 : 1009;
    int wrong = 0, n = 0;

    for (uint64_t seed = seeds.first; seed <= seeds.last; seed++)
        for (uint64_t at = 1 + seed * 97 % every;
             try_one(nodes, loss, at, drained, &wrong); at += every)
            n++;
    is_int(wrong, 0, "%d node%s, %d losses of power, of %s: each step is whole", nodes,
           nodes > 1 ? "s" : "", n, text);
}

int main(void)
{
    int *drained = mmap(NULL, sizeof *drained, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    for (int nodes = 1; nodes <= 2; nodes++) {
        lose_often(nodes, VEL_FS_LOSS_DROP, "all that was not synced", drained);
        lose_often(nodes, VEL_FS_LOSS_RANDOM, "what a journal may lose", drained);
    }
    return done_testing();
}
