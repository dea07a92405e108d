/* SPDX-License-Identifier: BSD-3-Clause */
/* First every rank makes the list by itself, from its settings alone; when all lists
 * are the same, the communicators follow in the order of the list. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/crc.h"
#include "base/path.h"
#include "base/vec.h"
#include "topo/group_lines.h"
#include "topo/same.h"
#include "topo/store.h"

struct build {
    const struct vel_conf *conf;
    const struct vel_groups *groups;
    struct vel_vec items; /* of struct vel_store, without communicators */
    struct vel_err *err;
};

static void store_fini(struct vel_store *store)
{
    free(store->name);
    free(store->base);
    vel_comm_destroy(store->comm);
}

/* --- the list */

/* The bytes that a CACHEDIR line gives a directory; 0: there is none. */
static int64_t capacity(const struct vel_conf *conf, const char *name)
{
    const struct vel_line *line;

    for (size_t i = 0; (line = vel_conf_line(conf, VEL_CACHEDIR, i)); i++)
        if (vel_path_is_same(line->name, name))
            return ((const struct vel_dir_line *)line->data)->bytes;
    return 0;
}

int64_t vel_store_limit(const struct vel_conf *conf, const char *dir)
{
    const struct vel_line *line;

    for (size_t i = 0; (line = vel_conf_line(conf, VEL_STORE, i)); i++)
        if (vel_path_is_same(line->name, dir) &&
            ((const struct vel_store_line *)line->data)->bytes > 0)
            return ((const struct vel_store_line *)line->data)->bytes;
    return capacity(conf, dir);
}

/* Virtual nodes share a file system, and must not share what a real node has alone. A
 * value may be any text, so only the name of a node becomes part of a path as it is. */
static char *base_of(const struct vel_conf *conf, const char *name, const char *group,
                     const char *value)
{
    struct vel_buf own;

    if (conf->virtual_nodes == 0 || strcmp(group, "WORLD") == 0)
        return strdup(name);
    vel_buf_init(&own);
    if (strcmp(group, "NODE") == 0)
        vel_buf_puts(&own, value);
    else
        vel_buf_printf(&own, "group.%08x",
                       (unsigned)vel_crc32c(0, value, strlen(value)));
    char *base = own.failed ? NULL : vel_path_join(name, vel_buf_text(&own));
    vel_buf_fini(&own);
    return base;
}

char *vel_store_base(const struct vel_conf *conf, const char *dir, const char *node)
{
    const struct vel_line *line;
    const char *group = "NODE", *value;

    for (size_t i = 0; (line = vel_conf_line(conf, VEL_STORE, i)); i++)
        if (vel_path_is_same(line->name, dir))
            group = ((const struct vel_store_line *)line->data)->group;
    value = vel_group_value(conf, node, group);
    return value ? base_of(conf, dir, group, value) : NULL;
}

static int set_group(const struct build *b, struct vel_store *store, const char *key,
                     const char *name)
{
    store->group = vel_groups_find(b->groups, name);
    if (!store->group)
        return vel_fail(b->err, VEL_ECONFIG,
                        "%s=%s: GROUP=%s is unknown, since no GROUPS line defines it",
                        key, store->name, name);
    store->base =
        base_of(b->conf, store->name, store->group->name, store->group->value);
    return store->base ? 0 : vel_out_of_memory(b->err, "describing stores");
}

/* conf/check has seen that it is a whole path. */
static int set_name(const struct build *b, struct vel_store *store, const char *dir)
{
    store->name = vel_path_absolute("/", dir);
    return store->name ? 0 : vel_out_of_memory(b->err, "describing stores");
}

/* A store without a line. */
static int imply(const struct build *b, struct vel_store *store, const char *key,
                 const char *dir, const char *group)
{
    *store = (struct vel_store){.enabled = true,
                                .count = b->conf->cache_size,
                                .type = VEL_STORE_SSD,
                                .flush = b->conf->flush_plugin ? VEL_STORE_PLUGIN
                                                               : b->conf->flush_type,
                                .can_mkdir = true};
    int rc = set_name(b, store, dir);
    return rc < 0 ? rc : set_group(b, store, key, group);
}

static struct vel_store *find(struct vel_store *items, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(items[i].name, name) == 0)
            return &items[i];
    return NULL;
}

/* Takes the store. */
static int add(struct build *b, struct vel_store *store)
{
    if (vel_vec_push(&b->items, store))
        return 0;
    store_fini(store);
    return vel_out_of_memory(b->err, "describing stores");
}

static int add_line(struct build *b, const struct vel_line *line)
{
    const struct vel_store_line *data = line->data;
    struct vel_store store;
    int rc = imply(b, &store, "STORE", line->name, data->group);

    if (rc < 0) {
        store_fini(&store);
        return rc;
    }
    store.enabled = data->enabled;
    store.count = data->count;
    store.type = data->type;
    if (vel_conf_gives(line, "FLUSH"))
        store.flush = data->flush;
    store.bytes = vel_store_limit(b->conf, store.name);
    store.bandwidth = data->bandwidth;
    store.mtbf = data->mtbf;
    store.can_mkdir = data->mkdir;
    return add(b, &store);
}

/* A directory that is used must be a store; all-or-nothing lists were a trap. */
static int add_implied(struct build *b, const char *key, const char *dir)
{
    struct vel_store store;
    int rc = imply(b, &store, key, dir, "NODE");

    if (rc < 0 || find(b->items.items, b->items.n, store.name)) {
        store_fini(&store);
        return rc;
    }
    store.bytes = vel_store_limit(b->conf, store.name);
    return add(b, &store);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct vel_store *)a)->name,
                  ((const struct vel_store *)b)->name);
}

static int make_list(struct build *b)
{
    const struct vel_line *line;
    int rc = 0;

    for (size_t i = 0; rc == 0 && (line = vel_conf_line(b->conf, VEL_STORE, i)); i++)
        rc = add_line(b, line);
    if (rc == 0)
        rc = add_implied(b, "CACHE_BASE", b->conf->cache_base);
    for (size_t i = 0; rc == 0 && (line = vel_conf_line(b->conf, VEL_CKPT, i)); i++)
        rc = add_implied(b, "STORE", ((const struct vel_ckpt *)line->data)->store);
    if (rc == 0)
        vel_vec_sort(&b->items, by_name);
    for (size_t i = 0; i < b->items.n; i++)
        ((struct vel_store *)vel_vec_at(&b->items, i))->index = (uint32_t)i;
    return rc;
}

/* --- the same everywhere, and shared */

/* What must not differ between ranks; base does, from node to node. */
static void describe(const struct vel_store *store, struct vel_buf *text)
{
    vel_buf_printf(text, "%s ENABLED=%d GROUP=%s COUNT=%lld TYPE=%d FLUSH=%d\n",
                   store->name, store->enabled, store->group->name,
                   (long long)store->count, store->type, store->flush);
}

/* Collective. */
static int check_same(struct vel_comm *world, const struct build *b, int rc)
{
    struct vel_buf text;

    vel_buf_init(&text);
    for (size_t i = 0; rc == 0 && i < b->items.n; i++)
        describe(vel_vec_at(&b->items, i), &text);
    rc = vel_topo_same(world, "stores", &text, rc, b->err);
    vel_buf_fini(&text);
    return rc;
}

/* Collective over world: all members of a group come here in the same order. */
static int share(struct vel_comm *world, struct vel_store *store, struct vel_err *err)
{
    struct vel_comm *members = store->group->comm;

    return vel_comm_agree(
        world, vel_comm_split(members, 0, members->rank, &store->comm, err), err);
}

int vel_stores_create(struct vel_comm *world, const struct vel_conf *conf,
                      const struct vel_groups *groups, struct vel_stores **ret_stores,
                      struct vel_err *err)
{
    struct vel_stores *stores = calloc(1, sizeof *stores);
    struct build b = {.conf = conf, .groups = groups, .err = err};

    vel_vec_init(&b.items, sizeof(struct vel_store));
    int rc = stores ? make_list(&b) : vel_out_of_memory(err, "describing stores");
    rc = check_same(world, &b, rc);
    for (size_t i = 0; rc == 0 && i < b.items.n; i++)
        rc = share(world, vel_vec_at(&b.items, i), err);
    if (stores)
        *stores = (struct vel_stores){.items = b.items.items, .n = b.items.n};
    if (rc < 0)
        vel_stores_destroy(stores);
    else
        *ret_stores = stores;
    return rc;
}

void vel_stores_destroy(struct vel_stores *stores)
{
    if (!stores)
        return;
    for (size_t i = 0; i < stores->n; i++)
        store_fini(&stores->items[i]);
    free(stores->items);
    free(stores);
}

const struct vel_store *vel_stores_find(const struct vel_stores *stores,
                                        const char *name)
{
    char *dir = vel_path_absolute("/", name);
    const struct vel_store *store = dir ? find(stores->items, stores->n, dir) : NULL;

    free(dir);
    return store;
}

int vel_store_check(const struct vel_store *store, struct vel_fs *fs,
                    struct vel_err *err)
{
    struct vel_err why = {0};
    struct stat st;
    char *dir;
    int rc;

    if (store->can_mkdir)
        return 0;
    dir = vel_path_join(store->name, "."); /* a link to it will do */
    rc = dir ? vel_fs_lstat(fs, dir, &st, &why) : vel_out_of_memory(&why, store->name);
    free(dir);
    if (rc == VEL_ENOENT)
        return vel_fail(err, VEL_ENOENT,
                        "%s is not there, and is not made because of MKDIR=0: make or "
                        "mount it before the program starts",
                        store->name);
    return rc < 0 ? vel_fail(err, (enum vel_status)rc, "%s", why.text) : 0;
}

int vel_store_check_control(const struct vel_conf *conf, struct vel_fs *fs,
                            struct vel_err *err)
{
    const struct vel_line *line;
    struct vel_store control = {.name = conf->cntl_base, .can_mkdir = true};
    int rc;

    for (size_t i = 0; (line = vel_conf_line(conf, VEL_STORE, i)); i++)
        if (vel_path_is_same(line->name, conf->cntl_base))
            control.can_mkdir = ((const struct vel_store_line *)line->data)->mkdir;
    rc = vel_store_check(&control, fs, err);
    return rc < 0 ? vel_wrap(err, rc, "CNTL_BASE") : 0;
}
