/* SPDX-License-Identifier: BSD-3-Clause */
/* A dataset that may lie in caches that nobody looked at: its seal, its launch, what
 * stands at names, and what a flush has begun stay until it is lost. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "jobs/stub.h"
#include "meta/entry.h"
#include "tap/files.h"
#include "tap/indexlab.h"
#include "tap/sweeplab.h"
#include "tap/tap.h"
#include "xfer/temp.h"

static struct vel_err err;
static char temporary[4400], stub[4400], dir[4400];

static void must(int rc)
{
    if (rc < 0)
        bail_out("%s", err.text);
}

static struct vel_fs *fs(void)
{
    return vel_fs_posix();
}

static bool is_there(const char *path)
{
    return access(path, F_OK) == 0;
}

/* A flush of it has begun. */
static int64_t begin(const char *launch, const char *file)
{
    int64_t id = sweeplab_publish(launch, "ck", file, "n");
    struct vel_entry entry;
    char path[4400], *at;

    must(indexlab_load(fs(), sweeplab_dir, id, &entry, &err));
    entry.place = VEL_ON_FLUSHING;
    must(indexlab_save(fs(), sweeplab_dir, &entry, &err));
    vel_entry_fini(&entry);
    snprintf(path, sizeof path, "%s/%s", sweeplab_prefix, file);
    must(unlink(path));
    must(vel_xfer_temp_owned(path, (uint64_t)id, 1, &at, &err));
    tap_put_file(at, "half");
    snprintf(temporary, sizeof temporary, "%s", at);
    free(at);
    return id;
}

static void lose(int64_t id, enum vel_view_reason reason)
{
    struct vel_view_lost lost = {
        .id = id, .reason = reason, .why = strdup("it is not there")};

    vel_vec_insert(&sweeplab_view.lost, 0, &lost);
}

/* At a name of another dataset, which is lost for good. */
static void put_stub(const char *launch, int64_t id)
{
    const struct vel_stub_maker maker = {.launch = launch};
    struct vel_view_name name = {.name = strdup("other"), .lost = id};
    struct vel_stub made;

    snprintf(stub, sizeof stub, "%s/other", sweeplab_prefix);
    unlink(stub);
    must(vel_stub_make(fs(), stub, &maker, &made, &err));
    vel_vec_push(&sweeplab_view.names, &name);
}

/* By a view that misses a dataset for this reason. */
static struct vel_swept sweep(enum vel_view_reason reason)
{
    struct vel_swept swept;
    int64_t id, other;

    sweeplab_fresh();
    sweeplab_make_launch("m");
    snprintf(dir, sizeof dir, "%s/launch.m", sweeplab_dir);
    other = sweeplab_publish("m", "ck", "other", "n");
    id = begin("m", "ck.1");
    sweeplab_publish("gone", NULL, "last", "n");
    sweeplab_put_seal("m", id, "ck ck.{step}");
    sweeplab_end("m");
    lose(other, VEL_VIEW_INCOMPLETE);
    lose(id, reason);
    put_stub("m", other);
    must(sweeplab_sweep(fs(), &swept));
    return swept;
}

int main(void)
{
    struct vel_swept swept = sweep(VEL_VIEW_UNSEEN);

    ok(swept.launches == 0 && is_there(dir) && *sweeplab_sealed("m"),
       "what nobody has seen keeps its seal, which counts, and its launch");
    ok(is_there(temporary), "and what a flush of it has begun");
    ok(swept.stubs == 0 && is_there(stub),
       "no stub goes, for nobody knows which are at its names");
    must(sweeplab_sweep(fs(), &swept));
    ok(is_there(dir) && is_there(temporary) && is_there(stub), "that holds again");
    swept = sweep(VEL_VIEW_INCOMPLETE);
    ok(!*sweeplab_sealed("m") && !is_there(temporary), "of what is lost nothing stays");
    ok(swept.stubs == 1 && !is_there(stub), "nor stubs at names of lost files");
    vel_view_fini(&sweeplab_view);
    return done_testing();
}
