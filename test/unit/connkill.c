/* SPDX-License-Identifier: BSD-3-Clause */
/* A program with its leaders is killed at seeded moments while it writes; the next
 * launch has each step whole, or not at all. */
#include "config.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/path.h"
#include "tap/rng.h"
#include "tap/fs_fault.h"
#include "tap/filelab.h"
#include "tap/tap.h"
#include "view/seals.h"

enum { STEPS = 5, KILLS = 10, MOST_MS = 3000 };

static const char *name_of(int rank, int step)
{
    static char names[4][64];
    static unsigned next;
    char *name = names[next++ % 4];

    snprintf(name, sizeof names[0], "ck.%d.%d.h5", step, rank);
    return name;
}

static void text_of(int rank, int step, char text[64])
{
    snprintf(text, 64, "rank %d of step %d\n", rank, step);
}

static void write_all(struct filelab *lab)
{
    struct vel_err err = {0};
    char text[64];

    filelab_begin(lab, "L1");
    for (int step = 1; step <= STEPS; step++)
        for (int rank = 0; rank < lab->ranks; rank++) {
            text_of(rank, step, text);
            filelab_write(lab, rank, name_of(rank, step), text, &err);
        }
    pause();
}

/* A child writes, until it is killed after so many ms. */
static void kill_one(struct filelab *lab, unsigned ms)
{
    pid_t pid = fork();

    if (pid < 0)
        bail_out("cannot fork");
    if (pid == 0) {
        write_all(lab);
        _exit(0);
    }
    vel_clock_sleep(vel_clock_system(), ms * VEL_CLOCK_MS);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

/* Ranks that read a step, as it was written; below 0: one reads something else. */
static int count_read(struct filelab *lab, int step)
{
    int n = 0;

    for (int rank = 0; rank < lab->ranks; rank++) {
        struct vel_err err = {0};
        char want[64], *got = filelab_read(lab, rank, name_of(rank, step), &err);

        text_of(rank, step, want);
        if (got && strcmp(got, want) != 0) {
            note("rank %d reads '%.40s'", rank, got);
            n = -STEPS;
        }
        if (!got)
            note("rank %d, step %d: %s", rank, step, err.text);
        n += got != NULL;
        free(got);
    }
    return n;
}

static bool has_seal(const struct filelab *lab)
{
    struct vel_seals *seals;
    struct vel_err err = {0};
    bool has;

    if (vel_seals_load(vel_fs_posix(), lab->dir, "L1", &seals, &err) < 0)
        bail_out("%s", err.text);
    has = seals->items.n > 0;
    vel_seals_destroy(seals);
    return has;
}

static void wait_for_seal(const struct filelab *lab)
{
    while (!has_seal(lab))
        vel_clock_sleep(vel_clock_system(), 10 * VEL_CLOCK_MS);
}

/* A program is killed when its dataset is sealed, and a node on which it wrote nothing
 * has not made its empty parts. */
static void untaken(void)
{
    struct filelab lab;
    struct vel_err err = {0};
    char text[64], *part;

    filelab_init(&lab, "untaken", 2, 4,
                 "COPY_TYPE=SINGLE\nDATASET=ck PATTERN=ck.{step}.{rank}.h5\n"
                 "FLUSH_BANDWIDTH=1\n");
    filelab_begin(&lab, "L1");
    for (int rank = 0; rank < 2; rank++) {
        text_of(rank, 1, text);
        filelab_write(&lab, rank, name_of(rank, 1), text, &err);
    }
    wait_for_seal(&lab);
    filelab_drop(&lab);
    part = vel_path_join(lab.home[1], "index.0/dataset.1");
    if (!part || vel_fs_remove_tree(vel_fs_posix(), part, &err) < 0)
        bail_out("%s", err.text);
    free(part);
    filelab_begin(&lab, "L2");
    text_of(0, 1, text);
    ok(filelab_reads(&lab, 0, name_of(0, 1), text),
       "what was sealed is there, though a node without files of it had not heard so");
    filelab_end(&lab);
    filelab_fini(&lab);
}

static const char *in_dir(int rank, int step)
{
    static char name[80];

    snprintf(name, sizeof name, "d/%s", name_of(rank, step));
    return name;
}

/* All is killed when the last file is about to get its stub: that it is closed must not
 * be known by then, or the others would find the step without it. */
static void unplaced(void)
{
    struct filelab lab;
    struct vel_fs_fault *fault;
    struct vel_fs_fault_plan plan = {
        .mode = VEL_FS_FAULT_CRASH, .kinds = VEL_FS_KIND_LINK, .at = 4};
    struct vel_err err = {0};
    char text[64];
    int n;

    filelab_init(&lab, "unplaced", 2, 4, "DATASET=ck PATTERN=d/ck.{step}.{rank}.h5\n");
    plan.below = filelab_path(&lab, "d");
    if (vel_fs_make_dirs(vel_fs_posix(), plan.below, 0700, &err) < 0 ||
        vel_fs_fault_create(vel_fs_posix(), NULL, &fault, &err) < 0)
        bail_out("%s", err.text);
    lab.fs = vel_fs_fault_fs(fault);
    filelab_begin(&lab, "L1");
    for (int step = 1; step <= 2; step++) {
        for (int rank = 0; rank < lab.ranks; rank++) {
            text_of(rank, step, text);
            filelab_write(&lab, rank, in_dir(rank, step), text, &err);
        }
        wait_for_seal(&lab);
        if (step == 1)
            vel_fs_fault_arm(fault, &plan);
    }
    if (!vel_fs_fault_fired(fault))
        bail_out("no stub is made");
    filelab_drop(&lab);
    lab.fs = NULL;
    filelab_begin(&lab, "L2");
    n = 0;
    for (int rank = 0; rank < lab.ranks; rank++) {
        text_of(rank, 2, text);
        n += filelab_reads(&lab, rank, in_dir(rank, 2), text);
    }
    ok(n == 0 || n == lab.ranks,
       "killed before a stub is made all ranks find the step, or none: %d of %d do", n,
       lab.ranks);
    filelab_end(&lab);
    filelab_fini(&lab);
    vel_fs_fault_destroy(fault);
}

int main(void)
{
    struct vel_rng rng;
    int wrong = 0, whole = 0;

    vel_rng_init(&rng, 7);
    for (int k = 0; k < KILLS; k++) {
        unsigned ms = (unsigned)vel_rng_below(&rng, MOST_MS);
        struct filelab lab;
        char name[16];

        snprintf(name, sizeof name, "kill%d", k);
        filelab_init(&lab, name, 2, 4, "DATASET=ck PATTERN=ck.{step}.{rank}.h5\n");
        kill_one(&lab, ms);
        filelab_begin(&lab, "L2");
        for (int step = 1; step <= STEPS; step++) {
            int n = count_read(&lab, step);

            whole += n == lab.ranks;
            if (n != 0 && n != lab.ranks) {
                note("killed after %u ms: %d ranks read step %d", ms, n, step);
                wrong++;
            }
        }
        filelab_end(&lab);
        filelab_fini(&lab);
    }
    is_int(wrong, 0, "each step is there for all ranks, or for none");
    ok(whole > 0, "%d steps are", whole);
    untaken();
    unplaced();
    return done_testing();
}
