/* SPDX-License-Identifier: BSD-3-Clause */
/* What thousands of files and steps leave does not stay: seals that nobody wants go
 * from launches that are still needed, and the records of files by themselves that are
 * files as any by now. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/settlement.h"
#include "jobs/compose.h"
#include "jobs/sweep.h"
#include "jobs/sweep_single.h"
#include "meta/entry.h"
#include "meta/filelist.h"
#include "meta/ids.h"
#include "record/record.h"
#include "tap/files.h"
#include "tap/tap.h"

static char prefix[4096], dir[4200];
static struct vel_err err;
static struct vel_view view = {.launch = (char[]){"now"}, .highest = 100000};

static void must(int rc)
{
    if (rc < 0)
        bail_out("%s", err.text);
}

static struct vel_fs *fs(void)
{
    return vel_fs_posix();
}

static bool has_seal(const char *launch, int64_t id)
{
    char path[4400];

    snprintf(path, sizeof path, "%s/launch.%s/seal.%lld", dir, launch, (long long)id);
    return access(path, F_OK) == 0;
}

/* Its entry, or its directory. */
static bool is_recorded(int64_t id)
{
    char entry[4400], records[4400];

    snprintf(entry, sizeof entry, "%s/index/dataset.%lld.1", dir, (long long)id);
    snprintf(records, sizeof records, "%s/dataset.%lld", dir, (long long)id);
    return access(entry, F_OK) == 0 || access(records, F_OK) == 0;
}

/* --- what is there --- */

/* A dataset of `file` on the prefix, of a rank on `node`; without a name it is the file
 * by itself. */
static int64_t publish(const char *launch, const char *name, const char *file,
                       const char *node)
{
    const struct vel_id_owner maker = {.launch = launch, .is_leaders = true};
    struct vel_listed listed = {.name = (char *)file, .container = -1};
    struct vel_vec list = {.items = &listed, .n = 1};
    struct vel_entry entry = {.owner = 1, .lists = 1, .place = VEL_ON_PREFIX};
    struct vel_seat seat = {0};
    struct vel_settlement settlement = {

        .scheme = VEL_SINGLE,
        .is_flushed = true,
        .nodes = (char **)&node,
        .n_nodes = 1,
        .seats = &seat};
    struct vel_buf bytes;
    char path[4400];
    char *own;
    int64_t id;

    snprintf(path, sizeof path, "%s/%s", prefix, file);
    tap_put_file(path, "data");
    own = vel_compose_name(NULL, path);
    must(vel_id_claim(fs(), dir, 0, &maker, &id, &err));
    must(vel_filelist_save(fs(), dir, id, 0, &list, &err));
    snprintf(path, sizeof path, "%s/dataset.%lld/owner.1", dir, (long long)id);
    tap_put_file(path, "");
    entry.dataset = (struct vel_dataset){.id = id,
                                         .name = name ? (char *)name : own,
                                         .version = 1,
                                         .checkpoint = id,
                                         .use = VEL_USE_CHECKPOINT,
                                         .ranks = 1,
                                         .nodes = 1,
                                         .files = 1};
    must(vel_entry_save(fs(), dir, &entry, &err));
    settlement.dataset = entry.dataset;
    vel_buf_init(&bytes);
    must(vel_settlement_encode(&settlement, &bytes, &err));
    snprintf(path, sizeof path, "%s/dataset.%lld/settlement", dir, (long long)id);
    must(vel_fs_replace(fs(), path, bytes.data, bytes.len, 0600, &err));
    vel_buf_fini(&bytes);
    free(own);
    return id;
}

static void put_seal(const char *launch, int64_t id, const char *template)
{
    const struct vel_seal_member member = {.node = (char *)"n", .scheme = VEL_SINGLE};
    struct vel_node *body = NULL;
    struct vel_buf text;
    struct vel_seal seal;
    char path[4400];

    vel_seal_init(&seal);
    seal.id = id;
    seal.verdict = VEL_VERDICT_SEALED;
    seal.template = strdup(template);
    seal.step = strdup("");
    must(vel_seal_add(&seal, &member, &err));
    vel_buf_init(&text);
    must(vel_seal_encode(&seal, &text, &err));
    must(vel_node_parse(text.data, text.len, &body, &err));
    snprintf(path, sizeof path, "%s/launch.%s/seal.%lld", dir, launch, (long long)id);
    must(vel_record_save(fs(), path, "seal", 1, body, &err));
    vel_node_destroy(body);
    vel_buf_fini(&text);
    vel_seal_fini(&seal);
}

/* It is over, and has listed these seals. */
static void end(const char *launch, const int64_t *ids, size_t n)
{
    struct vel_node *body = vel_node_object(), *list = vel_node_list();
    char path[4400], name[64];

    for (size_t i = 0; i < n; i++) {
        snprintf(name, sizeof name, "seal.%lld", (long long)ids[i]);
        vel_node_append_name(list, name);
    }
    vel_node_adopt(body, "seals", list);
    snprintf(path, sizeof path, "%s/launch.%s/seals", dir, launch);
    must(vel_record_save(fs(), path, "seals", 1, body, &err));
    vel_node_destroy(body);
    snprintf(path, sizeof path, "%s/launch.%s/end", dir, launch);
    tap_put_file(path, "");
}

/* Names in the list, one after the other. */
static const char *listed(const char *launch)
{
    static char names[256];
    const struct vel_node *list;
    struct vel_node *body = NULL;
    char path[4400];
    int version;

    snprintf(path, sizeof path, "%s/launch.%s/seals", dir, launch);
    must(vel_record_load(fs(), path, "seals", 1, &version, &body, &err));
    must(vel_node_get_list(body, "seals", &list, &err));
    names[0] = '\0';
    for (size_t i = 0; i < vel_node_count(list); i++) {
        char *name;

        must(vel_node_name_at(list, i, &name, &err));
        strcat(strcat(names, name), " ");
        free(name);
    }
    vel_node_destroy(body);
    return names;
}

static void make_launch(const char *launch)
{
    char path[4400];

    snprintf(path, sizeof path, "%s/launch.%s", dir, launch);
    tap_fresh_dir(path);
}

static int sweep(struct vel_swept *swept)
{
    const struct vel_sweep of = {
        .fs = fs(), .prefix = prefix, .dir = dir, .launch = "now", .view = &view};

    return vel_sweep(&of, swept, &err);
}

/* --- */

static void seals_go(void)
{
    struct vel_view_dataset held = {.about = {.name = (char[]){"held"}},
                                    .is_cached = true};
    struct vel_swept swept;
    char left[256];
    int64_t id[5];

    make_launch("steps");
    id[0] = publish("steps", "ck", "ck.1", "n");
    id[1] = publish("steps", "ck", "ck.2", "n");
    id[2] = publish("steps", NULL, "file", "n");
    id[3] = publish("steps", NULL, "held", "n");
    put_seal("steps", id[0], "ck.{step}");
    put_seal("steps", id[1], "ck.{step}");
    put_seal("steps", id[2], "file");
    put_seal("steps", id[3], "held");
    held.about.id = id[3];
    vel_vec_push(&view.datasets, &held);
    end("steps", id, 4);
    make_launch("done");
    id[4] = publish("done", NULL, "other", "n");
    put_seal("done", id[4], "other");
    end("done", id + 4, 1);

    ok(sweep(&swept) == 0 && swept.launches == 1,
       "a launch whose seals nobody wants goes");
    ok(!has_seal("steps", id[0]) && !has_seal("steps", id[2]),
       "of one that is needed those of datasets that are only on the prefix go");
    ok(has_seal("steps", id[3]), "but not of one that a cache has");
    ok(has_seal("steps", id[1]), "nor the newest of a pattern: it tells who writes");
    snprintf(left, sizeof left, "seal.%lld seal.%lld ", (long long)id[1],
             (long long)id[3]);
    is_str(listed("steps"), left, "and the list of those that count is of these");
    ok(is_recorded(id[0]) && is_recorded(id[2]), "their datasets stay");
    vel_vec_fini(&view.datasets);
    vel_vec_init(&view.datasets, sizeof(struct vel_view_dataset));
}

static void singles_go(void)
{
    struct vel_swept swept;
    int64_t goes, away, line, newest[2] = {0};
    char name[64];

    goes = publish("gone", NULL, "single", "n");
    away = publish("gone", NULL, "away", "elsewhere");
    line = publish("gone", "ck", "ck.7", "n");
    for (int i = 0; i < VEL_SINGLES_KEPT; i++) {
        snprintf(name, sizeof name, "f%d", i);
        newest[i > 0] = publish("gone", NULL, name, "n");
    }
    ok(sweep(&swept) == 0 && !is_recorded(goes),
       "the records of a file by itself go when there are %d newer", VEL_SINGLES_KEPT);
    ok(is_recorded(newest[0]) && is_recorded(newest[1]), "and only then");
    ok(is_recorded(away), "not when a node is away that had it");
    ok(is_recorded(line), "nor when it is a step of something");
    ok(access(tap_path("p/single"), F_OK) == 0, "the file stays where it is");
}

int main(void)
{
    char path[4400];
    char *node = (char[]){"n"};

    snprintf(prefix, sizeof prefix, "%s", tap_path("p"));
    snprintf(dir, sizeof dir, "%s/.veloc", prefix);
    tap_fresh_dir(prefix);
    tap_fresh_dir(dir);
    snprintf(path, sizeof path, "%s/index", dir);
    tap_fresh_dir(path);
    vel_vec_init(&view.nodes, sizeof(char *));
    vel_vec_init(&view.alive, sizeof(int64_t));
    vel_vec_init(&view.datasets, sizeof(struct vel_view_dataset));
    vel_vec_init(&view.lost, sizeof(struct vel_view_lost));
    vel_vec_init(&view.names, sizeof(struct vel_view_name));
    vel_vec_push(&view.nodes, &node);
    seals_go();
    singles_go();
    vel_vec_fini(&view.nodes);
    return done_testing();
}
