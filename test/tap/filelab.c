/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conf/file.h"
#include "conf/load.h"
#include "meta/cache.h"
#include "meta/entry.h"
#include "meta/prefix.h"
#include "tap/filelab.h"
#include "tap/files.h"
#include "tap/indexlab.h"
#include "tap/tap.h"

static void must(int rc, const struct vel_err *err)
{
    if (rc < 0)
        bail_out("%s", err->text);
}

static void make_conf(struct filelab *lab, const char *text)
{
    struct vel_err err = {0};
    char *all = malloc(strlen(text) + 1024);

    if (!all)
        bail_out("out of memory");
    sprintf(all,
            "PREFIX=%s\nCACHE_BASE=%s/cache\nCNTL_BASE=%s\nVIRTUAL_NODES=%d\n"
            "%s%s%s%s%s",
            lab->prefix, lab->root, lab->cntl, lab->nodes,
            strstr(text, "SEAL_AFTER") ? "" : "SEAL_AFTER=1\n",
            strstr(text, "COPY_TYPE") ? "" : "COPY_TYPE=XOR\n",
            strstr(text, "FLUSH_STALL") ? "" : "FLUSH_STALL=5\n",
            strstr(text, "PEER_TIMEOUT") ? "" : "PEER_TIMEOUT=5\n", text);
    must(vel_conf_create(&lab->conf, &err), &err);
    must(vel_conf_parse(lab->conf, VEL_LAYER_USER, "lab.conf", all, strlen(all), NULL,
                        NULL, &err),
         &err);
    must(vel_conf_finish(lab->conf, &err), &err);
    free(all);
}

void filelab_init(struct filelab *lab, const char *name, int nodes, int ranks,
                  const char *text)
{
    struct vel_err err = {0};

    *lab = (struct filelab){.nodes = nodes, .ranks = ranks};
    snprintf(lab->root, sizeof lab->root, "%s", tap_path(name));
    snprintf(lab->prefix, sizeof lab->prefix, "%s/p", lab->root);
    snprintf(lab->dir, sizeof lab->dir, "%s/.veloc", lab->prefix);
    snprintf(lab->cntl, sizeof lab->cntl, "%s/c", lab->root);
    tap_fresh_dir(lab->root);
    tap_fresh_dir(lab->prefix);
    tap_fresh_dir(lab->cntl);
    must(vel_prefix_open(vel_fs_posix(), lab->dir, lab->id, &err), &err);
    make_conf(lab, text);
    for (int i = 0; i < nodes; i++) {
        char node[16], base[260];

        snprintf(node, sizeof node, "n%d", i);
        snprintf(base, sizeof base, "%s/cache/%s", lab->root, node);
        lab->host[i].node = strdup(node);
        lab->host[i].user = strdup("u");
        must(vel_cache_make_home(vel_fs_posix(), base, "u", lab->id, &lab->home[i],
                                 &err),
             &err);
    }
}

void filelab_fini(struct filelab *lab)
{
    for (int i = 0; i < lab->nodes; i++) {
        free(lab->home[i]);
        vel_host_fini(&lab->host[i]);
    }
    vel_conf_destroy(lab->conf);
}

void filelab_set(struct filelab *lab, const char *text)
{
    vel_conf_destroy(lab->conf);
    make_conf(lab, text);
}

/* --- a launch --- */

static void begin_node(struct filelab *lab, int i)
{
    const struct vel_service_of of = {.fs = lab->fs ? lab->fs : vel_fs_posix(),
                                      .clock = vel_clock_system(),
                                      .host = &lab->host[i],
                                      .conf = lab->conf,
                                      .launch = lab->launch,
                                      .prefix = lab->prefix,
                                      .dir = lab->dir,
                                      .prefix_id = lab->id,
                                      .named = "",
                                      .homes = &lab->home[i],
                                      .n_homes = 1,
                                      .is_guest = i >= lab->nodes - lab->guests};
    struct vel_role *role;
    struct vel_err err = {0};

    must(vel_role_open(of.fs, of.host, lab->cntl, lab->launch, &lab->alive[i], &err),
         &err);
    must(vel_role_live(lab->alive[i], &err), &err);
    must(vel_role_open(of.fs, of.host, lab->cntl, lab->launch, &role, &err), &err);
    must(vel_role_take(role, &err), &err);
    must(vel_service_start(&of, role, &lab->service[i], &err), &err);
}

void filelab_lead_again(struct filelab *lab, int node)
{
    vel_service_ask_stop(lab->service[node]);
    vel_service_stop(lab->service[node]);
    vel_role_close(lab->alive[node]);
    begin_node(lab, node);
}

static void begin_rank(struct filelab *lab, int rank)
{
    int node = rank * lab->nodes / lab->ranks;
    const struct vel_client_conf conf = {
        .role = VEL_PEER_PROCESS,
        .rank = rank,
        .launch = lab->launch,
        .node = lab->host[node].node,
        .leader = vel_role_endpoint(lab->alive[node]),
        .user = geteuid(),
        .limit_ms = (unsigned)(lab->conf->peer_timeout * 1000)};
    struct vel_err err = {0};

    must(vel_client_open(&conf, &lab->client[rank], &err), &err);
}

void filelab_begin(struct filelab *lab, const char *launch)
{
    snprintf(lab->launch, sizeof lab->launch, "%s", launch);
    for (int i = 0; i < lab->nodes; i++)
        begin_node(lab, i);
    for (int rank = 0; rank < lab->ranks; rank++)
        begin_rank(lab, rank);
}

static void end_ranks(struct filelab *lab, int node, bool is_well)
{
    struct vel_err err = {0};

    for (int rank = 0; rank < lab->ranks; rank++) {
        if (rank * lab->nodes / lab->ranks != node || !lab->client[rank])
            continue;
        if (is_well)
            must(vel_client_leave(lab->client[rank], VEL_LEAVE_IN_ORDER, &err), &err);
        vel_client_close(lab->client[rank]);
        lab->client[rank] = NULL;
    }
}

/* Does nothing stay undone? */
static bool end_leader(struct filelab *lab, int node, bool is_well)
{
    if (!lab->service[node])
        return true;
    vel_role_close(lab->alive[node]);
    if (is_well)
        vel_service_wait(lab->service[node], 30 * VEL_CLOCK_S);
    return !is_well || vel_service_is_over(lab->service[node]);
}

static void stop_leader(struct filelab *lab, int node)
{
    if (lab->service[node])
        vel_service_stop(lab->service[node]);
    lab->service[node] = NULL;
    lab->alive[node] = NULL;
}

static int end(struct filelab *lab, bool is_well)
{
    int behind = -1;

    for (int i = 0; i < lab->nodes; i++)
        end_ranks(lab, i, is_well);
    for (int i = 0; i < lab->nodes; i++)
        if (!end_leader(lab, i, is_well))
            behind = i;
    for (int i = 0; i < lab->nodes; i++)
        stop_leader(lab, i);
    return behind;
}

int filelab_leave(struct filelab *lab)
{
    return end(lab, true);
}

void filelab_end(struct filelab *lab)
{
    is_int(end(lab, true), -1, "no leader of %s leaves anything undone", lab->launch);
}

void filelab_end_node(struct filelab *lab, int node, bool is_well)
{
    if (is_well)
        end_ranks(lab, node, true);
    else
        vel_service_ask_stop(lab->service[node]);
    ok(end_leader(lab, node, is_well), "the leader of node %d leaves nothing undone",
       node);
    stop_leader(lab, node);
    end_ranks(lab, node, false); /* it has not seen them go */
}

void filelab_drop(struct filelab *lab)
{
    for (int i = 0; i < lab->nodes; i++)
        if (lab->service[i])
            vel_service_ask_stop(lab->service[i]);
    end(lab, false);
}

void filelab_lose(struct filelab *lab, int node)
{
    struct vel_err err = {0};

    must(vel_fs_remove_tree(vel_fs_posix(), lab->home[node], &err), &err);
}

/* --- files --- */

const char *filelab_path(const struct filelab *lab, const char *name)
{
    static _Thread_local char paths[8][300];
    static _Thread_local unsigned next;
    char *path = paths[next++ % 8];

    snprintf(path, sizeof paths[0], "%s/%s", lab->prefix, name);
    return path;
}

int filelab_create(struct filelab *lab, int rank, const char *name,
                   struct vel_place *ret, struct vel_err *err)
{
    return vel_client_file_create(lab->client[rank], VEL_CREATE_NEW,
                                  filelab_path(lab, name), ret, err);
}

int filelab_close(struct filelab *lab, int rank, const struct vel_place *place,
                  const char *text, struct vel_err *err)
{
    tap_put_file(place->path, text);
    return vel_client_file_close(lab->client[rank], place->file, VEL_CLOSE_COMPLETE,
                                 strlen(text), NULL, err);
}

int filelab_write(struct filelab *lab, int rank, const char *name, const char *text,
                  struct vel_err *err)
{
    struct vel_place place = {0};
    int rc = filelab_create(lab, rank, name, &place, err);

    if (rc == 0 && place.where != 1)
        bail_out("%s gets no place in the cache: %s", name, place.why);
    if (rc == 0)
        rc = filelab_close(lab, rank, &place, text, err);
    vel_place_fini(&place);
    return rc;
}

char *filelab_read(struct filelab *lab, int rank, const char *name, struct vel_err *err)
{
    const char *path = filelab_path(lab, name);
    struct vel_place place = {0};
    char *text = NULL;

    /* a leader may move it between the answer and the open: it is asked again, as the
     * connector does */
    do {
        vel_place_fini(&place);
        if (vel_client_file_look(lab->client[rank], VEL_LOOK_HERE, path, &place, err) <
            0)
            return NULL;
        text = place.where == 1 ? tap_get_file(place.path, NULL) : NULL;
    } while (place.where == 1 && !text);
    if (place.where == 2 || place.where == 5)
        text = tap_get_file(path, NULL);
    else if (place.where != 1)
        vel_fail(err, VEL_ENOENT, "%s is %s: %s", name,
                 place.where == 3 ? "lost" : "not there", place.why ? place.why : "");
    vel_place_fini(&place);
    return text;
}

bool filelab_reads(struct filelab *lab, int rank, const char *name, const char *text)
{
    struct vel_err err = {0};
    char *got = filelab_read(lab, rank, name, &err);
    bool is = got && strcmp(got, text) == 0;

    if (!got)
        note("%s", err.text);
    else if (!is)
        note("rank %d reads '%.60s' in %s", rank, got, name);
    free(got);
    return is;
}

bool filelab_stands(const struct filelab *lab, const char *name, const char *text)
{
    return tap_file_is(filelab_path(lab, name), text);
}

void filelab_drain(struct filelab *lab)
{
    struct vel_progress progress;
    struct vel_err err = {0};

    for (int rank = 0; rank < lab->ranks; rank++)
        must(vel_client_drain(lab->client[rank], 0, 0, &progress, &err), &err);
}

int filelab_published(const struct filelab *lab)
{
    struct vel_vec entries;
    struct vel_err err = {0};
    int n = 0;

    must(indexlab_load_all(vel_fs_posix(), lab->dir, &entries, &err), &err);
    for (size_t i = 0; i < entries.n; i++)
        n += ((struct vel_entry *)vel_vec_at(&entries, i))->place == VEL_ON_PREFIX;
    vel_index_fini(&entries);
    return n;
}
