/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "meta/cache.h"
#include "meta/filemap.h"
#include "sys/clock.h"
#include "tap/pulllab.h"
#include "tap/redlab.h"
#include "tap/tap.h"

static void must(int rc, const struct vel_err *err)
{
    if (rc < 0)
        bail_out("pulllab: %s", err->text);
}

const char *pulllab_dir(const struct pulllab *lab, size_t node, size_t rank)
{
    static char dirs[8][1024];
    static unsigned turn;
    char *dir = dirs[turn++ % 8];

    snprintf(dir, sizeof dirs[0], "%s/index.0/dataset.%d/rank.%zu", lab->home[node],
             PULLLAB_DATASET, rank);
    return dir;
}

static void describe(void *arg, size_t member, struct vel_buf *ret)
{
    const struct pulllab *lab = arg;
    struct vel_err err = {0};
    struct vel_filemap map = {.rank = (int)member,
                              .dataset = {.id = PULLLAB_DATASET,
                                          .name = (char *)"heat",
                                          .version = 3,
                                          .checkpoint = 1,
                                          .use = VEL_USE_CHECKPOINT,
                                          .ranks = (int)lab->n,
                                          .nodes = (int)lab->n},
                              .descriptor = vel_node_object()};

    must(vel_node_set_text(map.descriptor, "scheme", vel_scheme_name(lab->scheme)),
         &err);
    must(vel_filemap_encode(&map, ret, &err), &err);
    vel_node_destroy(map.descriptor);
}

static void put_in_cache(struct pulllab *lab, size_t node)
{
    const char *dir = pulllab_dir(lab, node, node);
    char *parent = vel_path_dir(dir);
    struct vel_err err = {0};

    must(vel_cache_make_dir(redlab_fs(), parent, &err), &err);
    must(vel_fs_rename(redlab_fs(), redlab_dir(lab->root, node), dir, &err), &err);
    lab->state[node] = redlab_state_of(dir);
    free(parent);
}

void pulllab_make(struct pulllab *lab, const char *root, enum vel_scheme scheme,
                  size_t n, size_t m, uint64_t seed, size_t most)
{
    struct vel_err err = {0};

    *lab = (struct pulllab){.root = root, .n = n, .m = m, .scheme = scheme};
    must(vel_fs_remove_tree(redlab_fs(), root, &err), &err);
    must(vel_fs_make_dirs(redlab_fs(), root, 0700, &err), &err);
    must(redlab_apply_with(root, VEL_CACHE_LABEL, scheme, n, m, seed, most, describe,
                           lab),
         &err);
    for (size_t i = 0; i <= n; i++) {
        char home[1024];

        snprintf(lab->node[i], sizeof lab->node[i], "n%zu", i);
        snprintf(home, sizeof home, "%s/%s/me/id", root, lab->node[i]);
        lab->home[i] = strdup(home);
        if (i < n)
            put_in_cache(lab, i);
    }
}

void pulllab_fini(struct pulllab *lab)
{
    for (size_t i = 0; i <= lab->n; i++)
        free(lab->home[i]);
    if (lab->has_view)
        vel_view_fini(&lab->view);
    lab->has_view = false;
}

void pulllab_look(struct pulllab *lab)
{
    struct vel_inventory nodes[PULLLAB_NODES];
    struct vel_view_of of = {.launch = "L", .nodes = nodes};
    struct vel_err err = {0};

    for (size_t i = 0; i <= lab->n; i++) {
        struct vel_host host = {.node = lab->node[i], .user = (char *)"me"};
        struct vel_inventory_of caches = {.fs = redlab_fs(),
                                          .clock = vel_clock_system(),
                                          .host = &host,
                                          .homes = &lab->home[i],
                                          .n_homes = 1};

        if (!lab->is_dead[i])
            must(vel_inventory_take(&caches, VEL_CLOCK_S, &nodes[of.n_nodes++], &err),
                 &err);
    }
    if (lab->has_view)
        vel_view_fini(&lab->view);
    must(vel_view_make(&of, &lab->view, &err), &err);
    lab->has_view = true;
    for (size_t i = 0; i < of.n_nodes; i++)
        vel_inventory_fini(&nodes[i]);
}

void pulllab_lose(struct pulllab *lab, size_t node)
{
    struct vel_err err = {0};

    must(vel_fs_remove_tree(redlab_fs(), lab->home[node], &err), &err);
}

struct pick {
    const char *dir;
    size_t left;
    char *path;
    uint64_t size;
};

static int pick_file(void *arg, enum vel_fs_visit what, const char *below,
                     const struct stat *st, struct vel_err *err)
{
    struct pick *pick = arg;

    (void)err;
    if (what != VEL_FS_FILE || pick->left-- > 0)
        return 0;
    pick->path = vel_path_join(pick->dir, below);
    pick->size = (uint64_t)st->st_size;
    return VEL_ECANCEL; /* found: end the walk */
}

bool pulllab_damage(const struct pulllab *lab, size_t node, size_t i, uint64_t seed)
{
    struct pick pick = {.dir = pulllab_dir(lab, node, node), .left = i};
    struct vel_err err = {0};
    uint8_t byte;
    int fd;

    vel_fs_walk(redlab_fs(), pick.dir, pick_file, &pick, &err);
    if (pick.path && pick.size > 0) {
        must(vel_fs_open(redlab_fs(), pick.path, O_RDWR, 0, &fd, &err), &err);
        off_t at = (off_t)(seed % pick.size);
        must(vel_fs_read_at(redlab_fs(), fd, &byte, 1, at, pick.path, &err), &err);
        byte ^= 0x10;
        must(vel_fs_write_at(redlab_fs(), fd, &byte, 1, at, pick.path, &err), &err);
        must(vel_fs_close(redlab_fs(), fd, pick.path, &err), &err);
    }
    free(pick.path);
    return pick.path && pick.size > 0;
}

bool pulllab_is_clean(const struct pulllab *lab, size_t node)
{
    char dir[1024];

    snprintf(dir, sizeof dir, "%s/index.0/dataset.%d", lab->home[node],
             PULLLAB_DATASET);
    return !vel_fs_exists(redlab_fs(), dir);
}

/* --- a source --- */

static size_t number_of(const struct pulllab *lab, const char *node)
{
    size_t i = 0;

    while (i <= lab->n && strcmp(lab->node[i], node) != 0)
        i++;
    if (i > lab->n)
        bail_out("pulllab: no node %s", node);
    return i;
}

static int source_begin(struct vel_pull_source *source, struct vel_get *get,
                        struct vel_err *err)
{
    struct pulllab_source *s = (struct pulllab_source *)source;
    size_t bytes = 0;

    if (s->lab->is_dead[number_of(s->lab, get->node)])
        return vel_fail(err, VEL_ELOST, "node %s is gone", get->node);
    vel_vec_push(&s->under_way, &get);
    for (size_t i = 0; i < s->under_way.n; i++)
        bytes += (*(struct vel_get **)vel_vec_at(&s->under_way, i))->want.len;
    s->most = bytes > s->most ? bytes : s->most;
    return 0;
}

static struct vel_get *source_next(struct vel_pull_source *source)
{
    struct pulllab_source *s = (struct pulllab_source *)source;
    size_t i = vel_rng_below(&s->rng, s->under_way.n);
    struct vel_get *get = *(struct vel_get **)vel_vec_at(&s->under_way, i);
    size_t node = number_of(s->lab, get->node);
    struct vel_giver giver = {redlab_fs(), &s->lab->home[node], 1};

    vel_vec_remove(&s->under_way, i);
    if (++s->answers == s->dies_at) {
        s->lab->is_dead[node] = true;
        s->has_died = true;
    }
    if (s->lab->is_dead[node])
        vel_get_answer(get, NULL);
    else
        get->rc =
            vel_give(&giver, &get->want, get->bytes, &get->size, &get->got, &get->err);
    return get;
}

static void source_drop(struct vel_pull_source *source)
{
    struct pulllab_source *s = (struct pulllab_source *)source;

    s->under_way.n = 0;
}

static const struct vel_pull_source_ops source_ops = {source_begin, source_next,
                                                      source_drop};

void pulllab_source_init(struct pulllab_source *source, struct pulllab *lab,
                         uint64_t seed)
{
    *source = (struct pulllab_source){.source.ops = &source_ops, .lab = lab};
    vel_rng_init(&source->rng, seed);
    vel_vec_init(&source->under_way, sizeof(struct vel_get *));
}

void pulllab_source_fini(struct pulllab_source *source)
{
    vel_vec_fini(&source->under_way);
}

int pulllab_pull(struct pulllab *lab, struct vel_pull_source *source, size_t to,
                 int rank, struct vel_pulled *ret, struct vel_err *err)
{
    struct vel_pull_how how = {.fs = redlab_fs(),
                               .node = lab->node[to],
                               .homes = &lab->home[to],
                               .n_homes = 1,
                               .source = source,
                               .window = 64 << 10};
    struct vel_pull what = {.view = &lab->view,
                            .dataset =
                                vel_view_find_dataset(&lab->view, PULLLAB_DATASET),
                            .rank = rank,
                            .home = lab->home[to]};

    if (!what.dataset)
        return vel_fail(err, VEL_ENOENT, "the view does not restore it");
    return vel_pull(&how, &what, ret, err);
}
