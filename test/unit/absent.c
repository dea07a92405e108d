/* SPDX-License-Identifier: BSD-3-Clause */
/* A checkpoint is in the caches of three nodes, and in them alone. In the next launch
 * two of them cannot tell what they hold: nothing is taken from it, and who comes when
 * they can has it. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "meta/cache.h"
#include "sys/lock.h"
#include "tap/filelab.h"
#include "tap/tap.h"
#include "view/inventory.h"

enum { NODES = 3, FIRST = 1 }; /* who cannot tell: those from there on */

static const char *const names[NODES] = {"ck.1.0", "ck.1.1", "ck.1.2"};

static void must(int rc, const struct vel_err *err)
{
    if (rc < 0)
        bail_out("%s", err->text);
}

/* Its flush has no end. */
static void leave_cached(struct filelab *lab, const char *name)
{
    struct vel_progress now = {0};
    struct vel_err err = {0};

    filelab_init(lab, name, NODES, NODES,
                 "FLUSH_BANDWIDTH=1\nPEER_TIMEOUT=1\nVIEW_WAIT=20\n"
                 "DATASET=ck PATTERN=ck.{step}.{rank}\n");
    filelab_begin(lab, "L1");
    for (int rank = 0; rank < NODES; rank++)
        must(filelab_write(lab, rank, names[rank], "first", &err), &err);
    while (!now.is_encoded) {
        must(vel_client_ask(lab->client[0], 1, &now, &err), &err);
        vel_clock_sleep(vel_clock_system(), VEL_CLOCK_MS);
    }
    filelab_drop(lab);
}

static bool stands(const struct filelab *lab)
{
    bool is = true;

    for (int rank = 0; rank < NODES; rank++)
        is = is && access(filelab_path(lab, names[rank]), F_OK) == 0;
    return is;
}

/* A launch that does not find it, and one that does. */
static void not_told(struct filelab *lab, const char *who)
{
    struct vel_err err = {0};
    char *text = filelab_read(lab, 0, names[0], &err);

    ok(!text && strstr(err.text, "n1, n2 did not tell"), "%s did not tell: %s", who,
       err.text);
    free(text);
    filelab_drop(lab);
    ok(stands(lab), "what stands at its names stays");
}

static void told(struct filelab *lab)
{
    bool reads = true;

    filelab_begin(lab, "L3");
    for (int rank = 0; rank < NODES; rank++)
        reads = filelab_reads(lab, rank, names[rank], "first") && reads;
    ok(reads, "and whoever comes when they tell it has it");
    filelab_drop(lab);
    filelab_fini(lab);
}

/* Agents of nodes without ranks look where the program's settings say. */
static void guests(void)
{
    struct filelab lab;
    char *homes[NODES];
    struct vel_err err = {0};

    leave_cached(&lab, "guests");
    memcpy(homes, lab.home, sizeof homes);
    for (int i = FIRST; i < NODES; i++) {
        char base[300];

        snprintf(base, sizeof base, "%s/other/n%d", lab.root, i);
        must(vel_cache_make_home(vel_fs_posix(), base, "u", lab.id, &lab.home[i], &err),
             &err);
    }
    lab.ranks = FIRST;
    lab.guests = NODES - FIRST;
    filelab_begin(&lab, "L2");
    not_told(&lab, "guests that look elsewhere");
    for (int i = FIRST; i < NODES; i++)
        free(lab.home[i]);
    memcpy(lab.home, homes, sizeof homes);
    lab.ranks = NODES;
    lab.guests = 0;
    told(&lab);
}

/* Somebody removes parts there, and has stopped in the middle. */
static void locked(void)
{
    struct filelab lab;
    struct vel_lock *lock[NODES];
    struct vel_err err = {0};

    leave_cached(&lab, "locked");
    for (int i = FIRST; i < NODES; i++) {
        char *path = vel_inventory_lock_path(lab.home[i]);

        must(vel_lock_try(vel_fs_posix(), &lab.host[i], path, &lock[i], &err), &err);
        free(path);
    }
    filelab_begin(&lab, "L2");
    not_told(&lab, "nodes whose caches cannot be looked at");
    for (int i = FIRST; i < NODES; i++)
        vel_lock_release(lock[i]);
    told(&lab);
}

int main(void)
{
    guests();
    locked();
    return done_testing();
}
