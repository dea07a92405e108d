/* SPDX-License-Identifier: BSD-3-Clause */
/* What a leader finds of a dataset that one before it has led. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "brain/roster.h"
#include "ident/role.h"
#include "jobs/promise.h"
#include "meta/entry.h"
#include "meta/filelist.h"
#include "meta/ids.h"
#include "meta/launch.h"
#include "node/service_in.h"
#include "tap/files.h"
#include "tap/indexlab.h"
#include "tap/launchlab.h"
#include "tap/tap.h"
#include "view/view_in.h"

enum { ID = 3 };

static struct vel_err err;
static struct vel_service service;

static void must(int rc)
{
    if (rc < 0)
        bail_out("%s", err.text);
}

/* One part, on another node. template "": of the API. */
static void put_seal(const char *launch, int64_t id, const char *template,
                     const char *step)
{
    struct vel_seal seal;
    const struct vel_seal_member member = {
        .rank = 0, .node = (char *)"n2", .scheme = VEL_XOR};

    vel_seal_init(&seal);
    seal.id = id;
    seal.verdict = VEL_VERDICT_SEALED;
    seal.what = VEL_OWED_ENCODE;
    seal.template = strdup(template);
    seal.step = strdup(step);
    seal.generation = *template ? 1 : 0;
    must(vel_seal_add(&seal, &member, &err));
    char dir[3100];

    snprintf(dir, sizeof dir, "%s/launch.%s", service.dir, launch);
    tap_put_seal(dir, &seal);
    vel_seal_fini(&seal);
}

static void finds(enum vel_place_on_prefix place, bool is_encoded,
                  enum vel_dataset_state state, const char *what)
{
    struct vel_entry entry = {
        .dataset = {.id = ID, .use = VEL_USE_CHECKPOINT, .ranks = 1, .nodes = 1},
        .owner = 1,
        .place = place,
        .is_encoded = is_encoded};
    struct vel_leader_found *found;
    struct vel_vec all;

    entry.dataset.name = strdup("ck");
    must(indexlab_save(service.fs, service.dir, &entry, &err));
    vel_entry_fini(&entry);
    vel_vec_init(&all, sizeof *found);
    must(vel_service_find(&service, VEL_LOOK_ONE, &(struct vel_seal){.id = ID}, &all,
                          &err));
    if (all.n != 1)
        bail_out("%zu datasets are found", all.n);
    found = vel_vec_at(&all, 0);
    ok(vel_dataset_found(&found->found) == state &&
           found->seal.is_encoded == is_encoded,
       "%s", what);
    vel_seal_fini(&found->seal);
    vel_vec_fini(&all);
}

static int previous(void)
{
    struct vel_leader_previous ret = {0};
    struct vel_err why = {0};
    int rc = vel_service_previous(&service, "ck", &ret, &why);

    service.has_latest = false;
    return rc;
}

static int open_fails(struct vel_fs *fs, const char *path, int flags, mode_t mode)
{
    (void)fs, (void)path, (void)flags, (void)mode;
    return -EIO;
}

/* Seals tell who is expected: what cannot be known is no reason to expect fewer. */
static void unread(void)
{
    struct vel_fs_ops ops = *vel_fs_posix()->ops;
    struct vel_fs fs = {&ops};
    char path[3100];

    is_int(previous(), VEL_ENOENT, "no dataset of a template was sealed yet");
    snprintf(path, sizeof path, "%s/1.0", service.launch_dir);
    tap_put_file(path, "{}");
    is_int(previous(), VEL_ENOENT, "a ledger that is damaged is told, and passed over");
    ops.open = open_fails;
    service.fs = &fs;
    ok(previous() < 0 && previous() != VEL_ENOENT,
       "while one cannot be read nobody knows whether there is one");
    service.fs = vel_fs_posix();
}

static struct vel_batches *begin_ledger(const char *cache)
{
    const struct vel_batches_of of = {.fs = service.fs,
                                      .clock = vel_clock_system(),
                                      .home = cache,
                                      .node = "n1",
                                      .launch = service.launch};
    struct vel_batches *made;

    must(vel_batches_create(&of, &made, &err));
    return made;
}

/* A session rested it, could not restore it, and gave the promise back. */
static void of_another(void)
{
    char *cache = strdup(tap_path("cache"));
    const struct vel_id_owner owner = {.launch = "M"};
    struct vel_leader_found *found;
    struct vel_batches *batches;
    struct vel_vec all;
    int64_t id;
    char home[3100];

    must(vel_ids_claim(service.fs, service.dir, ID, 1, &owner, &id, &err));
    service.homes = &cache;
    service.n_homes = 1;
    snprintf(home, sizeof home, "%s/index.0/dataset.%lld", cache, (long long)id);
    must(vel_fs_make_dirs(service.fs, home, 0700, &err));
    batches = begin_ledger(cache);
    service.batches = &batches;
    must(vel_promise_owe(batches, home, service.launch, 0,
                         VEL_PROMISE_ENCODE | VEL_PROMISE_FLUSH, &err));
    vel_vec_init(&all, sizeof *found);
    must(vel_service_find(&service, VEL_LOOK_ONE, &(struct vel_seal){.id = id}, &all,
                          &err));
    if (all.n != 1)
        bail_out("%zu datasets are found", all.n);
    found = vel_vec_at(&all, 0);
    ok(found->is_aside && found->owed,
       "what is owed for a dataset that this launch has not restored is set aside");
    vel_seal_fini(&found->seal);
    vel_vec_fini(&all);
    service.n_homes = 0;
    vel_batches_destroy(batches);
    free(cache);
}

/* What another node has copied of dataset `id`. */
static void put_list(int64_t id, const char *name)
{
    struct vel_listed file = {.name = strdup(name), .container = -1};
    struct vel_vec files;
    char of[3100];

    snprintf(of, sizeof of, "%s/dataset.%lld", service.dir, (long long)id);
    must(vel_fs_make_dirs(service.fs, of, 0700, &err));
    vel_vec_init(&files, sizeof file);
    vel_vec_push(&files, &file);
    must(vel_filelist_save(service.fs, service.dir, id, 0, &files, true, &err));
    vel_filelist_fini(&files);
}

static bool shares(int64_t id, int64_t other, bool are_listed)
{
    const struct vel_seal of = {.id = id}, newer = {.id = other};

    return vel_service_shares(&service, &of, &newer, are_listed);
}

/* An older dataset is not to come over a newer one, also where no file of either is. */
static void names(void)
{
    put_list(10, "state.3.h5");
    put_list(14, "state.3.h5");
    put_list(15, "state.4.h5");
    service.flushing = (struct vel_flushing){
        .fs = service.fs, .dir = service.dir, .index = service.index};
    ok(!shares(10, 14, false),
       "a chair with no file of two datasets does not know their names");
    ok(shares(10, 14, true), "but by the lists on the prefix");
    ok(!shares(10, 15, true), "and which are others");
}

/* --- one of many --- */

enum { MANY = 8, OLD = 40 };

static unsigned opened; /* terms of ledgers */
static bool is_down;    /* and none can be */

static int open_counted(struct vel_fs *fs, const char *path, int flags, mode_t mode)
{
    bool is_seal = strstr(path, "/1.") != NULL;
    int fd = is_seal && is_down
                 ? -EIO
                 : vel_fs_posix()->ops->open(vel_fs_posix(), path, flags, mode);

    (void)fs;
    opened += is_seal && fd >= 0;
    return fd;
}

/* Its rc; in *ret_is_it: that one, with its seal, and nothing else. */
static int look_for(int64_t id, const char *template, const char *step, bool *ret_is_it)
{
    const struct vel_seal of = {.id = id,
                                .template = (char *)(uintptr_t) template,
                                .step = (char *)(uintptr_t)step,
                                .generation = 1};
    struct vel_vec all;
    int rc;

    vel_vec_init(&all, sizeof(struct vel_leader_found));
    opened = 0;
    rc = vel_service_find(&service, VEL_LOOK_ONE, &of, &all, NULL);
    *ret_is_it = all.n == 1;
    for (size_t i = 0; i < all.n; i++) {
        struct vel_leader_found *found = vel_vec_at(&all, i);

        *ret_is_it = *ret_is_it && found->seal.id == id && found->seal.members.n == 1;
        vel_seal_fini(&found->seal);
    }
    vel_vec_fini(&all);
    return rc;
}

/* A dataset of launch M with a part in a cache, as the view says. */
static void put_old(struct vel_view *view)
{
    const struct vel_id_owner owner = {.launch = "M"};
    struct vel_view_dataset dataset;
    int64_t id;

    must(vel_ids_claim(service.fs, service.dir, OLD - 1, 1, &owner, &id, &err));
    if (id != OLD)
        bail_out("dataset %d is there", OLD);
    must(vel_fs_make_dirs(service.fs, tap_path("veloc/launch.M"), 0700, &err));
    for (int i = 0; i < MANY; i++) {
        char step[16];

        snprintf(step, sizeof step, "%d", i);
        put_seal("M", OLD + i, "old", step);
    }
    put_seal("L", 30, "old", "0"); /* of the same key */
    must(vel_view_init(view, "L", &err));
    vel_view_dataset_init(&dataset);
    dataset.about.id = OLD;
    dataset.is_cached = true;
    if (!vel_vec_push(&view->datasets, &dataset))
        bail_out("no memory");
    service.view = view;
}

/* A new chair looks for all that it knows. */
static void by_key(void)
{
    struct vel_fs_ops ops = *vel_fs_posix()->ops;
    struct vel_fs fs = {&ops};
    struct vel_view view;
    bool is_it;

    for (int i = 0; i < MANY; i++) {
        char step[16];

        snprintf(step, sizeof step, "%d", i);
        put_seal("L", 20 + i, "ck", step);
    }
    put_old(&view);
    ops.open = open_counted;
    vel_seals_destroy(service.seals);
    service.seals = NULL;
    service.fs = &fs;
    ok(look_for(20 + MANY - 1, "ck", "7", &is_it) == 0 && is_it,
       "whoever looks for a dataset of this launch finds its seal");
    ok(look_for(20, "ck", "0", &is_it) == 0 && is_it && opened <= 2,
       "and reads of the next one that alone: %u opens", opened);
    ok(look_for(OLD, "old", "0", &is_it) == 0 && is_it,
       "so it is of one of a launch before, whose key another one has here");
    ok(look_for(20 + MANY - 1, NULL, NULL, &is_it) == 0 && is_it,
       "by its id alone it is found, too");
    ok(look_for(60, "ck", "60", &is_it) == 0 && !is_it, "one that has no seal is none");
    is_down = true;
    ok(look_for(20, "ck", "0", &is_it) < 0,
       "a seal that cannot be read now is no such");
    ok(look_for(20, NULL, NULL, &is_it) < 0, "nor is one that is looked for by its id");
    is_down = false;
    vel_seals_destroy(service.seals);
    service.seals = NULL;
    service.fs = vel_fs_posix();
    service.view = NULL;
    vel_view_fini(&view);
}

/* --- launches that are over here --- */

static bool is_over(const char *launch)
{
    struct vel_buf over;
    bool is;

    vel_buf_init(&over);
    must(vel_service_over(&service, &over, &err));
    is = vel_words_have(vel_buf_text(&over), launch);
    vel_buf_fini(&over);
    return is;
}

/* Ranks make the directory of their launch before anybody of it lives here. */
static void begun(void)
{
    struct vel_endpoint endpoint = {.ranks = (char *)"0",
                                    .endpoints = (char *)"unix:/s"};
    struct vel_conf conf = {.cntl_base = (char *)tap_dir()};
    char *dir = vel_launch_dir(service.dir, "begun");
    struct vel_role *role;

    service.conf = &conf;
    must(vel_host_init(&service.host, &err));
    must(vel_host_set_node(&service.host, "n1", &err));
    endpoint.node = service.host.node;
    must(vel_fs_make_dirs(service.fs, dir, 0700, &err));
    ok(!is_over("begun"), "a launch of which nobody has been here may have just begun");
    must(
        vel_role_open(service.fs, &service.host, conf.cntl_base, "begun", &role, &err));
    must(vel_role_live(role, &err));
    must(vel_endpoint_save(service.fs, dir, &endpoint, &err));
    ok(!is_over("begun"), "one that has a process here lives");
    vel_role_close(role);
    ok(is_over("begun"), "and is over when that is gone");
    ok(tap_damage(dir, "unix:/s") > 0 && is_over("begun"),
       "also when nobody can read any more who was here");
    vel_host_fini(&service.host);
    service.conf = NULL;
    free(dir);
}

int main(void)
{
    char dir[3000];

    snprintf(dir, sizeof dir, "%s", tap_path("veloc"));
    service = (struct vel_service){.fs = vel_fs_posix(),
                                   .dir = dir,
                                   .launch = (char *)"L",
                                   .launch_dir = strdup(tap_path("veloc/launch.L")),
                                   .host = {.node = (char *)"n1"}};
    must(vel_fs_make_dirs(service.fs, service.launch_dir, 0700, &err));
    service.index = indexlab_keep(service.fs, dir);
    put_seal("L", ID, "", "");
    finds(VEL_ON_CACHE, true, VEL_DATASET_ENCODED,
          "who did not hear that it is encoded finds it so");
    finds(VEL_ON_FLUSHING, true, VEL_DATASET_ENCODED,
          "also where the flush may have begun, which it does in its turn");
    finds(VEL_ON_STAGED, true, VEL_DATASET_FLUSHING, "but not when all is copied");
    finds(VEL_ON_FLUSHING, false, VEL_DATASET_FLUSHING,
          "one that is flushed because it cannot be encoded is not");
    of_another();
    names();
    unread();
    by_key();
    begun();
    free(service.launch_dir);
    return done_testing();
}
