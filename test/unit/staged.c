/* SPDX-License-Identifier: BSD-3-Clause */
/* A launch is killed when all of a dataset is on the prefix under temporary names: the
 * next one gives the files their names, but where somebody has written since; and where
 * the program has renamed them to. */
#define _GNU_SOURCE
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/path.h"
#include "meta/entry.h"
#include "tap/filelab.h"
#include "tap/files.h"
#include "tap/indexlab.h"
#include "tap/tap.h"

enum { NODES = 3 };

static const char *name_of(int rank)
{
    static const char *const names[NODES] = {"state.0", "state.1", "state.2"};

    return names[rank];
}

/* No file gets its name. */
static int rename_records(struct vel_fs *fs, const char *from, const char *to)
{
    (void)fs;
    if (strncmp(vel_path_base(to), "state.", 6) == 0)
        return -EIO;
    return vel_fs_posix()->ops->rename(vel_fs_posix(), from, to);
}

static void wait_staged(const struct filelab *lab)
{
    enum vel_place_on_prefix place = VEL_ON_CACHE;

    for (int i = 0; i < 1000 && place != VEL_ON_STAGED; i++) {
        struct vel_entry entry = {0};

        if (indexlab_load(vel_fs_posix(), lab->dir, 1, &entry, NULL) == 0)
            place = entry.place;
        vel_entry_fini(&entry);
        vel_clock_sleep(vel_clock_system(), 10 * VEL_CLOCK_MS);
    }
    ok(place == VEL_ON_STAGED, "a dataset is on the prefix, and has no names");
}

static void leave_staged(struct filelab *lab)
{
    static struct vel_fs_ops ops;
    static struct vel_fs fs = {&ops};
    struct vel_err err = {0};
    int rc = 0;

    ops = *vel_fs_posix()->ops;
    ops.rename = rename_records;
    lab->fs = &fs;
    filelab_begin(lab, "L1");
    for (int rank = 0; rc == 0 && rank < lab->ranks; rank++)
        rc = filelab_write(lab, rank, name_of(rank), "first", &err);
    if (rc < 0)
        bail_out("%s", err.text);
    wait_staged(lab);
    filelab_drop(lab);
    lab->fs = NULL;
}

/* What knows where it is now is on the node of the chair. */
static void renamed(void)
{
    struct filelab lab;
    struct vel_err err = {0};

    filelab_init(&lab, "renamed", 1, 1,
                 "DATASET=s PATTERN=state.{rank}\nDATASET=o PATTERN=out.h5\n");
    leave_staged(&lab);
    if (rename(filelab_path(&lab, name_of(0)), filelab_path(&lab, "final.0")) < 0)
        bail_out("cannot rename what stands for %s", name_of(0));
    filelab_begin(&lab, "L2");
    is_int(filelab_write(&lab, 0, "out.h5", "another", &err), 0,
           "the next launch writes something: %s", err.text);
    filelab_drain(&lab);
    ok(filelab_stands(&lab, "final.0", "first") &&
           access(filelab_path(&lab, name_of(0)), F_OK) < 0,
       "a file gets the name that the program has given it since");
    filelab_end(&lab);
    filelab_fini(&lab);
}

/* All of it is on the prefix, and nowhere else, or a part of it alone. */
static void uncached(int lost)
{
    struct filelab lab;

    filelab_init(&lab, "uncached", NODES, NODES,
                 "COPY_TYPE=SINGLE\nDATASET=s PATTERN=state.{rank}\n");
    leave_staged(&lab);
    for (int node = NODES - lost; node < NODES; node++)
        filelab_lose(&lab, node);
    filelab_begin(&lab, "L2");
    ok(filelab_reads(&lab, 2, name_of(2), "first"),
       "it is read, though caches are lost");
    ok(filelab_stands(&lab, name_of(0), "first") &&
           filelab_stands(&lab, name_of(1), "first") &&
           filelab_stands(&lab, name_of(2), "first"),
       "and all its files have got their names");
    filelab_end(&lab);
    filelab_fini(&lab);
}

/* A node that had a part is not in the next launch, and nobody has that. */
static void fewer(void)
{
    struct filelab lab;
    struct vel_err err = {0};

    filelab_init(&lab, "fewer", NODES, NODES,
                 "COPY_TYPE=SINGLE\nDATASET=s PATTERN=state.{rank}\n"
                 "DATASET=o PATTERN=out.h5\nVIEW_WAIT=1\n");
    leave_staged(&lab);
    filelab_lose(&lab, NODES - 1);
    lab.nodes = lab.ranks = NODES - 1;
    filelab_begin(&lab, "L2");
    ok(filelab_reads(&lab, 0, name_of(0), "first"), "it is read by fewer ranks");
    is_int(filelab_write(&lab, 0, "out.h5", "another", &err), 0, "they write: %s",
           err.text);
    filelab_drain(&lab);
    ok(filelab_stands(&lab, name_of(0), "first") &&
           filelab_stands(&lab, name_of(1), "first") &&
           filelab_stands(&lab, name_of(2), "first"),
       "and all its files have got their names");
    filelab_end(&lab);
    lab.nodes = lab.ranks = NODES;
    filelab_fini(&lab);
}

int main(void)
{
    struct filelab lab;
    struct vel_err err = {0};

    renamed();
    uncached(NODES);
    uncached(1);
    fewer();

    filelab_init(&lab, "staged", NODES, NODES,
                 "DATASET=s PATTERN=state.{rank}\nDATASET=o PATTERN=out.h5\n");
    leave_staged(&lab);
    unlink(filelab_path(&lab, name_of(1)));
    tap_put_file(filelab_path(&lab, name_of(1)), "second");
    filelab_begin(&lab, "L2");
    is_int(filelab_write(&lab, 0, "out.h5", "another", &err), 0,
           "the next launch writes something: %s", err.text);
    ok(filelab_reads(&lab, 0, name_of(1), "second"), "what was written since is read");
    filelab_drain(&lab);
    ok(filelab_stands(&lab, name_of(0), "first") &&
           filelab_stands(&lab, name_of(2), "first"),
       "files get their names");
    ok(filelab_stands(&lab, name_of(1), "second"),
       "but not that of what was written since");
    filelab_end(&lab);
    filelab_fini(&lab);
    return done_testing();
}
