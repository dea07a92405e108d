/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "jobs/compose.h"
#include "meta/entry.h"
#include "meta/filelist.h"
#include "meta/ids.h"
#include "meta/launch.h"
#include "tap/launchlab.h"
#include "tap/files.h"
#include "tap/indexlab.h"
#include "tap/sweeplab.h"
#include "tap/tap.h"

char sweeplab_prefix[4096], sweeplab_dir[4200];
struct vel_view sweeplab_view;

static struct vel_err err;

static struct vel_fs *fs(void)
{
    return vel_fs_posix();
}

static void must(int rc)
{
    if (rc < 0)
        bail_out("%s", err.text);
}

void sweeplab_fresh(void)
{
    char path[4400];
    char *node = strdup("n");

    snprintf(sweeplab_prefix, sizeof sweeplab_prefix, "%s", tap_path("p"));
    snprintf(sweeplab_dir, sizeof sweeplab_dir, "%s/.veloc", sweeplab_prefix);
    tap_fresh_dir(sweeplab_prefix);
    tap_fresh_dir(sweeplab_dir);
    snprintf(path, sizeof path, "%s/index", sweeplab_dir);
    tap_fresh_dir(path);
    vel_view_fini(&sweeplab_view);
    sweeplab_view = (struct vel_view){.launch = strdup("now"), .highest = 100000};
    vel_vec_init(&sweeplab_view.nodes, sizeof(char *));
    vel_vec_init(&sweeplab_view.alive, sizeof(int64_t));
    vel_vec_init(&sweeplab_view.datasets, sizeof(struct vel_view_dataset));
    vel_vec_init(&sweeplab_view.lost, sizeof(struct vel_view_lost));
    vel_vec_init(&sweeplab_view.names, sizeof(struct vel_view_name));
    vel_vec_push(&sweeplab_view.nodes, &node);
}

void sweeplab_see(int64_t id, bool is_cached)
{
    struct vel_view_dataset seen = {.about = {.id = id, .name = strdup("seen")},
                                    .is_cached = is_cached,
                                    .is_published = !is_cached};
    struct vel_vec *all = &sweeplab_view.datasets;
    size_t at = 0;

    vel_vec_init(&seen.sets, sizeof(struct vel_view_set));
    while (at < all->n &&
           ((struct vel_view_dataset *)vel_vec_at(all, at))->about.id > id)
        at++; /* the newest first */
    vel_vec_insert(all, at, &seen);
}

int sweeplab_sweep(struct vel_fs *by, struct vel_swept *swept)
{
    const struct vel_sweep of = {.fs = by,
                                 .prefix = sweeplab_prefix,
                                 .dir = sweeplab_dir,
                                 .index = indexlab_keep(by, sweeplab_dir),
                                 .launch = "now",
                                 .view = &sweeplab_view};
    int rc = vel_sweep(&of, swept, &err);

    if (rc < 0)
        printf("# %s\n", err.text);
    return rc;
}

/* Of one that is marked nobody asks for seals. */
static bool is_gone(const char *launch)
{
    bool is;

    must(vel_launch_is_gone(fs(), sweeplab_dir, launch, &is, &err));
    return is;
}

bool sweeplab_has_seal(const char *launch, int64_t id)
{
    struct vel_seals *seals;
    bool has = false;

    if (is_gone(launch))
        return false;
    must(vel_seals_load(fs(), sweeplab_dir, launch, &seals, &err));
    for (size_t i = 0; i < seals->items.n; i++) {
        struct vel_seal seal;

        must(vel_seals_at(seals, i, &seal, &err));
        has = has || seal.generation == id;
        vel_seal_fini(&seal);
    }
    vel_seals_destroy(seals);
    return has;
}

bool sweeplab_is_recorded(int64_t id)
{
    struct vel_entry entry = {0};
    char records[4400], gone[4400];
    bool has_entry = indexlab_load(fs(), sweeplab_dir, id, &entry, NULL) == 0;

    vel_entry_fini(&entry);
    snprintf(records, sizeof records, "%s/dataset.%lld", sweeplab_dir, (long long)id);
    snprintf(gone, sizeof gone, "%s/.dataset.%lld.h5v-tmp", sweeplab_dir,
             (long long)id);
    return has_entry || access(records, F_OK) == 0 || access(gone, F_OK) == 0;
}

int64_t sweeplab_publish(const char *launch, const char *name, const char *file,
                         const char *node)
{
    const struct vel_id_owner maker = {.launch = launch, .is_leaders = true};
    struct vel_listed listed = {.name = (char *)file, .container = -1};
    struct vel_vec list = {.items = &listed, .n = 1};
    struct vel_entry entry = {.owner = 1, .lists = 1, .place = VEL_ON_PREFIX};
    char path[4400];
    char *own;
    int64_t id;

    snprintf(path, sizeof path, "%s/%s", sweeplab_prefix, file);
    tap_put_file(path, "data");
    own = vel_compose_name(NULL, path);
    must(vel_ids_claim(fs(), sweeplab_dir, 0, 1, &maker, &id, &err));
    must(vel_filelist_save(fs(), sweeplab_dir, id, 0, &list, true, &err));
    entry.dataset = (struct vel_dataset){.id = id,
                                         .name = name ? (char *)name : own,
                                         .version = 1,
                                         .checkpoint = id,
                                         .use = VEL_USE_CHECKPOINT,
                                         .ranks = 1,
                                         .nodes = 1,
                                         .files = 1};
    if (strcmp(node, "n") != 0)
        sweeplab_put_verdict(launch, id, own, VEL_VERDICT_SEALED, node);
    must(indexlab_save(fs(), sweeplab_dir, &entry, &err));
    free(own);
    return id;
}

void sweeplab_put_seal(const char *launch, int64_t id, const char *template)
{
    sweeplab_put_verdict(launch, id, template, VEL_VERDICT_SEALED, "n");
}

void sweeplab_put_verdict(const char *launch, int64_t id, const char *template,
                          enum vel_verdict verdict, const char *node)
{
    const struct vel_seal_member member = {.node = (char *)node, .scheme = VEL_SINGLE};
    struct vel_seal seal;
    char path[4400];

    vel_seal_init(&seal);
    seal.id = verdict == VEL_VERDICT_VOID ? 0 : id;
    seal.verdict = verdict;
    seal.template = strdup(template);
    seal.step = strdup("");
    seal.generation = id; /* of no other one */
    must(vel_seal_add(&seal, &member, &err));
    snprintf(path, sizeof path, "%s/launch.%s", sweeplab_dir, launch);
    tap_put_seal(path, &seal);
    vel_seal_fini(&seal);
}

void sweeplab_end(const char *launch)
{
    char path[4400];

    snprintf(path, sizeof path, "%s/launch.%s", sweeplab_dir, launch);
    tap_end_launch(path);
}

const char *sweeplab_sealed(const char *launch)
{
    static char ids[4096];
    struct vel_seals *seals;

    ids[0] = '\0';
    if (is_gone(launch))
        return ids;
    must(vel_seals_load(fs(), sweeplab_dir, launch, &seals, &err));
    for (size_t i = 0; i < seals->items.n; i++) {
        int64_t id = vel_seals_item(seals, i)->id;

        snprintf(ids + strlen(ids), sizeof ids - strlen(ids), "%lld ", (long long)id);
    }
    vel_seals_destroy(seals);
    return ids;
}

void sweeplab_make_launch(const char *launch)
{
    char path[4400];

    snprintf(path, sizeof path, "%s/launch.%s", sweeplab_dir, launch);
    tap_fresh_dir(path);
}

void sweeplab_fail(int64_t id)
{
    struct vel_entry entry;

    must(indexlab_load(fs(), sweeplab_dir, id, &entry, &err));
    entry.failed = 12345;
    must(indexlab_save(fs(), sweeplab_dir, &entry, &err));
    vel_entry_fini(&entry);
}
