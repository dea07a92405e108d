/* SPDX-License-Identifier: BSD-3-Clause */
/* What a flush left of a dataset that was lost before it was on the prefix goes, and
 * nothing that somebody may still need. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "jobs/sweep.h"
#include "meta/entry.h"
#include "meta/filelist.h"
#include "meta/ids.h"
#include "tap/files.h"
#include "tap/indexlab.h"
#include "tap/launchlab.h"
#include "tap/tap.h"
#include "xfer/patch.h"
#include "xfer/temp.h"

static char prefix[4096], dir[4200];
static struct vel_err err;

static struct vel_fs *fs(void)
{
    return vel_fs_posix();
}

static char *temporary(const char *name, int64_t id, int64_t owner)
{
    char path[4200], *ret = NULL;

    snprintf(path, sizeof path, "%s/%s", prefix, name);
    if (vel_xfer_temp_owned(path, (uint64_t)id, (uint64_t)owner, &ret, &err) < 0)
        bail_out("%s", err.text);
    return ret;
}

static void put_temporary(const char *name, int64_t id, int64_t owner)
{
    char *path = temporary(name, id, owner);

    tap_put_file(path, "half");
    free(path);
}

static bool has_temporary(const char *name, int64_t id, int64_t owner)
{
    char *path = temporary(name, id, owner);
    bool has = access(path, F_OK) == 0;

    free(path);
    return has;
}

/* What carrying out the patch under a temporary name has left half done. */
static char *work_of(const char *name, int64_t id, int64_t owner)
{
    char *path = temporary(name, id, owner), *work = NULL;

    if (vel_patch_work(path, id, &work, &err) < 0)
        bail_out("%s", err.text);
    free(path);
    return work;
}

static void put_work(const char *name, int64_t id, int64_t owner)
{
    char *work = work_of(name, id, owner);

    tap_put_file(work, "half");
    free(work);
}

static bool has_work(const char *name, int64_t id, int64_t owner)
{
    char *work = work_of(name, id, owner);
    bool has = access(work, F_OK) == 0;

    free(work);
    return has;
}

/* A dataset of `launch` whose file a and b two owners and a session have begun to
 * flush. */
static int64_t begin(const char *launch)
{
    const struct vel_id_owner maker = {.launch = launch, .is_leaders = true};
    struct vel_listed files[] = {
        {.name = (char[]){"a"}, .container = -1},
        {.name = (char[]){"b"}, .container = -1, .is_patch = true}};
    char path[4400];
    struct vel_vec list;
    int64_t id;

    vel_vec_init(&list, sizeof files[0]);
    list.items = files;
    list.n = 2;
    if (vel_ids_claim(fs(), dir, 0, 1, &maker, &id, &err) < 0 ||
        vel_filelist_save(fs(), dir, id, 1, &list, true, &err) < 0)
        bail_out("%s", err.text);
    snprintf(path, sizeof path, "%s/launch.%s", dir, launch);
    if (access(path, F_OK) != 0)
        tap_fresh_dir(path);
    indexlab_claim_up_to(fs(), dir, id, 2);
    put_temporary("a", id, 0); /* a session */
    put_temporary("a", id, 1);
    put_temporary("a", id, 2);
    put_temporary("b", id, 2);
    put_work("b", id, 2);
    return id;
}

static void end(const char *launch)
{
    char path[4400];

    snprintf(path, sizeof path, "%s/launch.%s", dir, launch);
    tap_end_launch(path);
}

static bool has_any(int64_t id)
{
    return has_temporary("a", id, 0) || has_temporary("a", id, 1) ||
           has_temporary("a", id, 2) || has_temporary("b", id, 2) ||
           has_work("b", id, 2);
}

static bool has_all(int64_t id)
{
    return has_temporary("a", id, 0) && has_temporary("a", id, 1) &&
           has_temporary("a", id, 2) && has_temporary("b", id, 2) &&
           has_work("b", id, 2);
}

int main(void)
{
    struct vel_view view = {.launch = (char[]){"now"}, .highest = 100};
    struct vel_sweep sweep = {
        .fs = fs(), .prefix = prefix, .dir = dir, .launch = "now", .view = &view};
    struct vel_entry entry = {.owner = 2, .lists = 2, .place = VEL_ON_STAGED};
    struct vel_view_lost some = {.reason = VEL_VIEW_PARTIAL, .why = (char[]){"late"}},
                         aside = {.reason = VEL_VIEW_INCOMPLETE,
                                  .why = (char[]){"one was lost"}};
    struct vel_swept swept;
    char path[4400];

    snprintf(prefix, sizeof prefix, "%s", tap_path("p"));
    snprintf(dir, sizeof dir, "%s/.veloc", prefix);
    tap_fresh_dir(prefix);
    tap_fresh_dir(dir);
    snprintf(path, sizeof path, "%s/launch.lives", dir);
    tap_fresh_dir(path);
    snprintf(path, sizeof path, "%s/launch.lives/about", dir);
    tap_put_file(path, "");
    sweep.index = indexlab_keep(fs(), dir);
    vel_vec_init(&view.nodes, sizeof(char *));
    vel_vec_init(&view.alive, sizeof(int64_t));
    vel_vec_init(&view.datasets, sizeof(struct vel_view_dataset));
    vel_vec_init(&view.lost, sizeof(struct vel_view_lost));
    vel_vec_init(&view.names, sizeof(struct vel_view_name));

    int64_t lost = begin("over"), alive = begin("lives"), staged = begin("over"),
            unread = begin("torn"), last;
    aside.id = begin("over");
    some.id = begin("over");
    vel_vec_push(&view.lost, &some); /* newest first */
    vel_vec_push(&view.lost, &aside);
    last = begin("over");
    entry.dataset = (struct vel_dataset){.id = staged,
                                         .name = (char[]){"s"},
                                         .version = 1,
                                         .checkpoint = staged,
                                         .use = 1,
                                         .ranks = 1,
                                         .nodes = 1};
    if (indexlab_save(fs(), dir, &entry, &err) < 0)
        bail_out("%s", err.text);
    entry.dataset.id = unread;
    entry.dataset.name = (char[]){"torn"};
    if (indexlab_save(fs(), dir, &entry, &err) < 0)
        bail_out("%s", err.text);
    end("over");
    end("torn");
    indexlab_damage(dir, "torn", "torn");
    put_temporary("a", 77, 1);

    ok(vel_sweep(&sweep, &swept, &err) == 0, "launches that are over are tidied");
    ok(!has_any(lost) && !has_any(aside.id) && !has_any(last),
       "of a dataset that was lost no temporary file is left");
    ok(has_all(alive), "those of a launch that lives stay");
    ok(has_all(staged) && has_all(unread),
       "and of one that is, or may be, to be renamed");
    ok(has_all(some.id), "and of one that is no checkpoint, and still to be flushed");
    ok(has_temporary("a", 77, 1), "and what nothing is known of");
    ok(vel_sweep(&sweep, &swept, &err) == 0 && swept.datasets == 0, "once is enough");
    vel_vec_fini(&view.lost);
    return done_testing();
}
