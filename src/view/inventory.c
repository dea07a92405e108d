/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/path.h"
#include "meta/cache.h"
#include "meta/filemap.h"
#include "meta/paths.h"
#include "red/redfile.h"
#include "sys/lock.h"
#include "view/inventory.h"

int vel_inventory_init(struct vel_inventory *inventory, const char *node,
                       struct vel_err *err)
{
    *inventory = (struct vel_inventory){.node = strdup(node)};
    vel_vec_init(&inventory->held, sizeof(struct vel_stock));
    vel_vec_init(&inventory->left, sizeof(struct vel_left));
    return inventory->node ? 0 : vel_out_of_memory(err, "an inventory");
}

static void list_fini(struct vel_stock_list *list)
{
    struct vel_stock_file *f = list->files.items;

    for (size_t i = 0; i < list->files.n; i++)
        free(f[i].name);
    vel_vec_fini(&list->files);
}

void vel_stock_encoding_fini(struct vel_stock_encoding *encoding)
{
    struct vel_stock_list *l = encoding->lists.items;

    for (size_t i = 0; i < encoding->lists.n; i++)
        list_fini(&l[i]);
    vel_vec_fini(&encoding->lists);
}

void vel_stock_fini(struct vel_stock *held)
{
    struct vel_stock_encoding *e = held->encodings.items;

    for (size_t i = 0; i < held->encodings.n; i++)
        vel_stock_encoding_fini(&e[i]);
    vel_vec_fini(&held->encodings);
    vel_dataset_fini(&held->about);
}

void vel_inventory_fini(struct vel_inventory *inventory)
{
    struct vel_stock *h = inventory->held.items;

    for (size_t i = 0; i < inventory->held.n; i++)
        vel_stock_fini(&h[i]);
    vel_vec_fini(&inventory->held);
    vel_lefts_fini(&inventory->left);
    free(inventory->node);
    inventory->node = NULL;
}

char *vel_inventory_lock_path(const char *home)
{
    return vel_path_join(home, "lock");
}

/* --- one part --- */

static int add_list(const struct vel_manifest *from,
                    struct vel_stock_encoding *encoding, struct vel_err *err)
{
    struct vel_stock_list *list = vel_vec_push(&encoding->lists, NULL);

    if (!list)
        return vel_out_of_memory(err, "an inventory");
    list->rank = (int)from->rank;
    vel_vec_init(&list->files, sizeof(struct vel_stock_file));
    for (size_t i = 0; i < from->files.n; i++) {
        const struct vel_red_file *f = vel_manifest_file(from, i);
        struct vel_stock_file file = {.name = strdup(f->name), .size = f->size};

        if (!file.name || !vel_vec_push(&list->files, &file)) {
            free(file.name);
            return vel_out_of_memory(err, "an inventory");
        }
    }
    return 0;
}

static int add_encoding(struct vel_fs *fs, const char *dir,
                        const struct vel_red_header *header, struct vel_stock *held,
                        struct vel_err *err)
{
    struct vel_stock_encoding *e = vel_vec_push(&held->encodings, NULL);
    int rc = e ? 0 : vel_out_of_memory(err, "an inventory");

    if (rc < 0)
        return rc;
    memcpy(e->id, header->id, sizeof e->id);
    e->sequence = header->sequence;
    e->scheme = header->layout.scheme;
    e->n = (uint32_t)header->layout.n;
    e->m = (uint32_t)header->layout.m;
    e->member = header->member;
    e->set = header->set;
    e->sets = header->sets;
    e->is_whole = vel_redfile_check_files(fs, dir, header, NULL) == 0;
    vel_vec_init(&e->lists, sizeof(struct vel_stock_list));
    for (size_t i = 0; rc == 0 && i < header->lists; i++)
        rc = header->list[i].rank > (uint32_t)VEL_RANKS_MAX
                 ? vel_fail(err, VEL_ECORRUPT, "%s: a rank that cannot be", dir)
                 : add_list(&header->list[i], e, err);
    return rc;
}

int vel_part_map(const struct vel_part *part, const struct vel_vec *red,
                 struct vel_filemap *ret, struct vel_err *err)
{
    const struct vel_buf *brief;
    int rc;

    if (red->n == 0)
        return vel_fail(err, VEL_ENOENT, "it has no redundancy file");
    brief = &vel_redfile_at(red, 0)->header.list[0].descriptor;
    rc = vel_filemap_decode(brief->data, brief->len, ret, err);
    if (rc == 0 && (ret->rank != part->rank || ret->dataset.id != part->id)) {
        rc = vel_fail(err, VEL_ECORRUPT,
                      "its file map is of rank %d of dataset %" PRId64, ret->rank,
                      ret->dataset.id);
        vel_filemap_fini(ret);
    }
    return rc;
}

int vel_part_map_of(struct vel_fs *fs, const char *dir, int rank,
                    const uint8_t *encoding, struct vel_filemap *ret,
                    enum vel_scheme *ret_scheme, struct vel_err *err)
{
    const struct vel_redfile *file = NULL;
    struct vel_vec red = {0};
    int rc = vel_redfile_scan(fs, dir, VEL_CACHE_LABEL, (uint32_t)rank, &red, err);

    if (rc == 0 && encoding)
        file = vel_redfile_find(&red, encoding);
    else if (rc == 0 && red.n > 0)
        file = vel_redfile_at(&red, 0);
    if (rc == 0 && !file)
        rc = vel_fail(err, VEL_ECORRUPT, "%s has no redundancy file that can be read",
                      dir);
    if (rc == 0) {
        const struct vel_buf *brief = &file->header.list[0].descriptor;

        if (ret_scheme)
            *ret_scheme = file->header.layout.scheme;
        rc = vel_filemap_decode(brief->data, brief->len, ret, err);
    }
    vel_redfiles_fini(&red);
    return rc;
}

bool vel_parts_map(struct vel_fs *fs, const struct vel_vec *parts, int64_t id,
                   const uint8_t encoding[VEL_ENCODING_ID], struct vel_filemap *ret)
{
    bool is_found = false;

    for (size_t i = 0; i < parts->n && !is_found; i++) {
        const struct vel_part *part = vel_vec_at(parts, i);
        char *dir;

        if (part->id != id)
            continue;
        dir = vel_cache_rank_dir(part->level, id, part->rank);
        is_found =
            dir && vel_part_map_of(fs, dir, part->rank, encoding, ret, NULL, NULL) == 0;
        free(dir);
    }
    return is_found;
}

static int tell_about(const struct vel_part *part, const struct vel_vec *red,
                      struct vel_stock *held, struct vel_err *err)
{
    struct vel_filemap map;
    int rc = vel_part_map(part, red, &map, NULL);

    if (rc < 0)
        return rc == VEL_ENOMEM ? vel_out_of_memory(err, "an inventory") : 0;
    rc = vel_dataset_copy(&map.dataset, &held->about, err);
    held->has_about = rc == 0;
    vel_filemap_fini(&map);
    return rc;
}

static int look_at(struct vel_fs *fs, const struct vel_part *part,
                   struct vel_stock *held, struct vel_err *err)
{
    char *dir = vel_cache_rank_dir(part->level, part->id, part->rank);
    struct vel_vec red = {0};
    int rc = dir ? vel_redfile_scan(fs, dir, VEL_CACHE_LABEL, (uint32_t)part->rank,
                                    &red, err)
                 : vel_out_of_memory(err, "an inventory");

    for (size_t i = 0; rc == 0 && i < red.n; i++)
        rc = add_encoding(fs, dir, &vel_redfile_at(&red, i)->header, held, err);
    if (rc == 0)
        rc = tell_about(part, &red, held, err);
    if (dir)
        vel_redfiles_fini(&red);
    free(dir);
    return rc;
}

static int add_part(struct vel_fs *fs, const struct vel_part *part,
                    struct vel_inventory *inventory, struct vel_err *err)
{
    struct vel_stock held = {
        .id = part->id, .rank = part->rank, .is_aside = part->is_aside};
    struct vel_err why = {0};
    int rc;

    if (!vel_number_behind(vel_path_base(part->level), "index.", &held.index))
        return 0;
    vel_vec_init(&held.encodings, sizeof(struct vel_stock_encoding));
    rc = look_at(fs, part, &held, &why);
    if (rc < 0 && rc != VEL_ENOMEM) {
        vel_log(VEL_LOG_WARN, "the part of rank %d of dataset %lld counts as lost: %s",
                part->rank, (long long)part->id, why.text);
        vel_stock_fini(&held);
        return 0;
    }
    if (rc == 0 && vel_vec_push(&inventory->held, &held))
        return 0;
    vel_stock_fini(&held);
    return vel_out_of_memory(err, "an inventory");
}

/* --- all of them --- */

static int by_id_and_rank(const void *a, const void *b)
{
    const struct vel_stock *x = a, *y = b;

    if (x->id != y->id)
        return x->id < y->id ? -1 : 1;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

static int read_home(struct vel_fs *fs, const char *home,
                     struct vel_inventory *inventory, struct vel_err *err)
{
    struct vel_vec parts;
    const struct vel_part *p;
    int rc;

    vel_vec_init(&parts, sizeof(struct vel_part));
    rc = vel_cache_scan(fs, home, &parts, err);
    p = parts.items;
    for (size_t i = 0; rc == 0 && i < parts.n; i++)
        rc = add_part(fs, &p[i], inventory, err);
    vel_parts_fini(&parts);
    return rc;
}

/* What was read of it is in order, or all is given back. */
static int settle(int rc, struct vel_inventory *inventory, struct vel_inventory *ret)
{
    if (rc < 0) {
        vel_inventory_fini(inventory);
        return rc;
    }
    vel_vec_sort(&inventory->held, by_id_and_rank);
    *ret = *inventory;
    return 0;
}

/* VEL_ETIMEOUT: someone else keeps the lock. */
static int take_home(const struct vel_inventory_of *of, const char *home,
                     uint64_t deadline, struct vel_inventory *inventory,
                     struct vel_err *err)
{
    uint64_t now = vel_clock_monotonic(of->clock);
    struct vel_lock *lock;
    struct stat st;
    char *path;
    int rc;

    if (of->fs->ops->lstat(of->fs, home, &st) < 0)
        return 0; /* as vel_cache_scan() of a home that is not there */
    path = vel_inventory_lock_path(home);
    rc = path ? vel_lock_wait(of->fs, of->host, of->clock,
                              now < deadline ? deadline - now : 0, path, &lock, err)
              : vel_out_of_memory(err, "an inventory");
    free(path);
    if (rc < 0)
        return rc;
    rc = read_home(of->fs, home, inventory, err);
    vel_lock_release(lock);
    return rc;
}

int vel_inventory_take(const struct vel_inventory_of *of, uint64_t limit,
                       struct vel_inventory *ret, struct vel_err *err)
{
    uint64_t deadline = vel_clock_deadline(of->clock, limit);
    struct vel_inventory inventory;
    int rc = vel_inventory_init(&inventory, of->host->node, err);

    if (rc < 0)
        return rc;
    for (size_t i = 0; rc == 0 && i < of->n_homes; i++)
        rc = take_home(of, of->homes[i], deadline, &inventory, err);
    return settle(rc, &inventory, ret);
}

int vel_inventory_look(struct vel_fs *fs, const char *node, char *const *homes,
                       size_t n_homes, struct vel_inventory *ret, struct vel_err *err)
{
    struct vel_inventory inventory;
    int rc = vel_inventory_init(&inventory, node, err);

    for (size_t i = 0; rc == 0 && i < n_homes; i++)
        rc = read_home(fs, homes[i], &inventory, err);
    return settle(rc, &inventory, ret);
}
