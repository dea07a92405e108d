/* SPDX-License-Identifier: BSD-3-Clause */
/* How many nodes move a dataset at once, and how fast each of their ranks. */
#include "config.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

#include "tap/manual_clock.h"
#include "tap/crewlab.h"
#include "tap/crowd.h"
#include "tap/indexlab.h"
#include "tap/tap.h"
#include "xfer/fetch.h"

enum { RANKS = 16, NODES = 8 };

/* --- the width --- */

struct gate {
    const struct crewlab *lab;
    int width;
    int failing; /* a rank that fails while it is inside; -1: none */
    atomic_int inside[NODES], nodes, most, entered;
};

/* This rank is at work: its node is, as long as one of its ranks is. */
static void work(struct gate *gate, const struct crewlab_rank *r)
{
    int node = r->crew.node_id, now, most;

    if (atomic_fetch_add(&gate->inside[node], 1) == 0) {
        now = atomic_fetch_add(&gate->nodes, 1) + 1;
        most = atomic_load(&gate->most);
        while (now > most && !atomic_compare_exchange_weak(&gate->most, &most, now))
            ;
    }
    atomic_fetch_add(&gate->entered, 1);
    /* let the others have a chance to come in */
    for (int i = 0; i < 50; i++)
        sched_yield();
    if (atomic_fetch_sub(&gate->inside[node], 1) == 1)
        atomic_fetch_sub(&gate->nodes, 1);
}

static int pass_gate(struct vel_comm *comm, void *arg)
{
    struct gate *gate = arg;
    struct crewlab_rank r;
    int rc = crewlab_join(gate->lab, comm, vel_fs_posix(), &r), left;

    if (rc < 0)
        return rc;
    rc = vel_crew_enter(&r.crew, gate->width, &r.err);
    if (rc == 0)
        work(gate, &r);
    if (comm->rank == gate->failing)
        rc = vel_fail(&r.err, VEL_EIO, "a disk");
    left = vel_crew_leave(&r.crew, gate->width, NULL);
    rc = vel_comm_agree(comm, rc, &r.err);
    crewlab_leave(&r);
    return left < 0 || rc != (gate->failing < 0 ? 0 : VEL_EIO);
}

static void test_width(const struct crewlab *lab, int width, int failing)
{
    struct gate gate = {.lab = lab, .width = width, .failing = failing};

    is_int(crowd_run(RANKS, NULL, pass_gate, &gate, NULL), 0,
           "of %d nodes %d (0: all) move at once%s", NODES, width,
           failing < 0 ? "" : ", and one that fails stops none");
    is_int(gate.entered, RANKS, "all have their turn");
    ok(gate.most >= 1 && (width == 0 || gate.most <= width),
       "never more than %d are at work", width ? width : NODES);
}

/* --- the same counted where bytes are written and read --- */

struct twin {
    struct vel_fs fs;
    struct vel_fs_ops ops;
    int node;
    struct counted *counted;
};

struct counted {
    const struct crewlab *lab;
    bool fetches;
    struct vel_entry entry;
    struct gate gate;
    struct twin twins[RANKS];
};

/* Nodes that have begun to write, or read, and have not come to their last sync. */
static ssize_t counted_pwrite(struct vel_fs *fs, int fd, const void *buf, size_t len,
                              off_t at)
{
    const struct twin *twin = (struct twin *)fs;
    struct gate *gate = &twin->counted->gate;
    int now = 0, most = atomic_load(&gate->most);
    ssize_t rc;

    atomic_fetch_add(&gate->inside[twin->node], 1);
    for (int i = 0; i < NODES; i++)
        now += atomic_load(&gate->inside[i]) > 0;
    while (now > most && !atomic_compare_exchange_weak(&gate->most, &most, now))
        ;
    sched_yield();
    rc = vel_fs_posix()->ops->pwrite(vel_fs_posix(), fd, buf, len, at);
    atomic_fetch_add(&gate->entered, 1);
    atomic_fetch_sub(&gate->inside[twin->node], 1);
    return rc;
}

static int move(struct vel_comm *comm, void *arg)
{
    struct counted *counted = arg;
    struct twin *twin = &counted->twins[comm->rank];
    struct crewlab_rank r;
    struct vel_entry entry = {0};
    struct vel_vec files;
    char dir[600];
    int rc;

    *twin = (struct twin){.ops = *vel_fs_posix()->ops,
                          .node = comm->rank * NODES / RANKS,
                          .counted = counted};
    twin->ops.pwrite = counted_pwrite;
    twin->fs.ops = &twin->ops;
    rc = crewlab_join(counted->lab, comm, vel_fs_posix(), &r);
    if (rc < 0)
        return rc;
    if (!counted->fetches) {
        r.crew.copy.fs = &twin->fs; /* not what is written of records */
        rc = crewlab_flush(&r, 1, &entry);
    } else {
        rc = indexlab_load(r.crew.fs, r.crew.dir, 1, &entry, &r.err);
        if (rc == 0)
            rc = vel_fetch_lists(&r.crew, &entry, &files, &r.err);
        r.crew.copy.fs = &twin->fs;
        snprintf(dir, sizeof dir, "%s/fetched.%d", counted->lab->cache, comm->rank);
        if (rc == 0) {
            rc = vel_fetch_files(&r.crew, &entry, &files, dir, &r.err);
            vel_filelist_fini(&files);
        }
    }
    vel_entry_fini(&entry);
    if (rc < 0)
        note("rank %d: %s", comm->rank, r.err.text);
    crewlab_leave(&r);
    return rc;
}

static void test_moves(int width)
{
    struct crewlab lab;
    struct counted counted = {.lab = &lab};

    crewlab_init(&lab, NODES);
    lab.packs = true; /* every byte of a container goes through crew->copy */
    lab.fetch_width = width;
    is_int(crowd_run(RANKS, NULL, move, &counted, NULL), 0, "a dataset of %d nodes",
           NODES);
    counted = (struct counted){.lab = &lab, .fetches = true};
    is_int(crowd_run(RANKS, NULL, move, &counted, NULL), 0, "a fetch, %d at once",
           width);
    ok(counted.gate.entered >= RANKS && counted.gate.most <= width,
       "never do more than %d read", width);
}

/* --- the bandwidth --- */

struct slow {
    const struct crewlab *lab;
    uint64_t bytes; /* of rank 0 */
};

static int flush_slowly(struct vel_comm *comm, void *arg)
{
    struct slow *slow = arg;
    struct crewlab_rank r;
    struct vel_entry entry = {0};
    struct vel_vec files;
    int rc = crewlab_join(slow->lab, comm, vel_fs_posix(), &r);

    if (rc < 0)
        return rc;
    crewlab_write(&r, 9, &files);
    slow->bytes = 0;
    for (size_t i = 0; i < files.n; i++)
        slow->bytes += ((struct vel_flush_file *)vel_vec_at(&files, i))->listed.size;
    vel_flush_files_fini(&files);
    rc = crewlab_flush(&r, 1, &entry);
    vel_entry_fini(&entry);
    crewlab_leave(&r);
    return rc;
}

static void test_bandwidth(void)
{
    struct vel_manual_clock clock;
    struct crewlab lab;
    struct slow slow = {.lab = &lab};
    double seconds;

    vel_manual_clock_init(&clock, 5000 * VEL_CLOCK_S, 0);
    crewlab_init(&lab, 1);
    lab.clock = &clock.clock;
    lab.rate = 1000;
    is_int(crowd_run(1, NULL, flush_slowly, &slow, NULL), 0, "a copy at %d bytes/s",
           (int)lab.rate);
    seconds = (double)(clock.monotonic - 5000 * VEL_CLOCK_S) / (double)VEL_CLOCK_S;
    /* the bucket holds a tenth of a second */
    ok(slow.bytes > 0 && seconds > (double)slow.bytes / 1000 - 0.2 &&
           seconds < (double)slow.bytes / 1000 + 1,
       "of %d bytes takes %.2f s", (int)slow.bytes, seconds);
    vel_manual_clock_fini(&clock);
}

int main(void)
{
    struct crewlab lab;

    crewlab_init(&lab, NODES);
    for (int width = 0; width <= 4; width++)
        test_width(&lab, width, -1);
    test_width(&lab, 2, 5);
    test_width(&lab, NODES + 1, -1);
    test_moves(1);
    test_moves(3);
    test_bandwidth();
    return done_testing();
}
