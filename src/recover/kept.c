/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdlib.h>

#include "base/path.h"
#include "meta/cache.h"
#include "meta/paths.h"
#include "recover/kept.h"
#include "topo/reddesc.h"
#include "view/inventory.h"
#include "view/view_in.h"

void vel_brought_parts_fini(struct vel_vec *parts)
{
    struct vel_brought_part *p = parts->items;

    for (size_t i = 0; i < parts->n; i++)
        free(p[i].dir);
    vel_vec_fini(parts);
}

void vel_kept_fini(struct vel_kept *kept)
{
    vel_brought_parts_fini(&kept->parts);
    vel_filemap_fini(&kept->map);
}

int vel_kept_learn(struct vel_kept *kept, const struct vel_vec *parts, bool is_needed,
                   struct vel_err *err)
{
    const struct vel_view_dataset *d = kept->what.dataset;
    int rc;

    kept->has_map =
        vel_parts_map(kept->how.fs, parts, d->about.id, d->encoding, &kept->map);
    rc = vel_filemap_share(kept->comm, &kept->map, &kept->has_map, err);
    if (rc == 0 && !kept->has_map && is_needed)
        rc = vel_fail(err, VEL_ECORRUPT, "none of its redundancy files can be read");
    return rc;
}

int vel_kept_choose(struct vel_kept *kept, struct vel_err *err)
{
    const struct vel_store *store;
    int rc = vel_reddesc_home(kept->map.descriptor, kept->stores, &store, err);

    if (rc == 0)
        kept->store = store->index;
    return rc;
}

int vel_kept_list(struct vel_kept *kept,
                  int (*place)(const void *arg, const struct vel_view_dataset *dataset,
                               const struct vel_view_place *part),
                  const void *arg, struct vel_err *err)
{
    const struct vel_view_dataset *d = kept->what.dataset;

    vel_vec_init(&kept->parts, sizeof(struct vel_brought_part));
    for (size_t s = 0; s < d->sets.n; s++) {
        const struct vel_view_set *set = vel_vec_at(&d->sets, s);
        int keeper[VEL_SET_MAX];
        bool is_exposed = false;

        for (size_t i = 0; i < set->places.n; i++) {
            const struct vel_view_place *of = vel_view_place_at(set, i);
            const struct vel_brought_part part = {.rank = of->rank, .way = -1};

            keeper[i] = place(arg, d, of);
            for (size_t k = 0; k < i; k++)
                is_exposed |= keeper[k] == keeper[i];
            if (keeper[i] < 0 ||
                (keeper[i] == kept->comm->rank && !vel_vec_push(&kept->parts, &part)))
                return vel_out_of_memory(err, "restoring a dataset");
        }
        kept->exposed += is_exposed;
    }
    return 0;
}

/* A part of which nothing is here comes to the store that was chosen. */
static int make_home(const struct vel_kept *kept, struct vel_err *err)
{
    int rc = vel_store_check(&kept->stores->items[kept->store], kept->how.fs, err);

    return rc < 0 ? rc : vel_cache_make_dir(kept->how.fs, kept->what.home, err);
}

int vel_kept_bring(struct vel_kept *kept, struct vel_pull_source *source,
                   struct vel_err *err)
{
    struct vel_brought_part *p = kept->parts.items;
    int rc = 0;

    kept->how.source = source;
    kept->what.home = kept->how.homes[kept->store];
    for (size_t i = 0; rc == 0 && i < kept->parts.n; i++) {
        bool was_here = vel_kept_has(kept, p[i].rank);
        struct vel_pulled pulled;

        kept->what.rank = p[i].rank;
        rc = was_here ? 0 : make_home(kept, err);
        if (rc == 0)
            rc = vel_pull(&kept->how, &kept->what, &pulled, err);
        if (rc < 0)
            break;
        p[i].dir = pulled.dir;
        p[i].way = (int)pulled.way;
        p[i].has_come = !was_here;
        kept->came[pulled.way]++;
    }
    return rc;
}

char *vel_kept_dir(const struct vel_kept *kept, size_t store, int rank)
{
    const struct vel_view_dataset *d = kept->what.dataset;
    char *level = vel_path_level(kept->how.homes[store], d->index);
    char *dir = level ? vel_cache_rank_dir(level, d->about.id, rank) : NULL;

    free(level);
    return dir;
}

bool vel_kept_has(const struct vel_kept *kept, int rank)
{
    bool has = false;

    for (size_t i = 0; !has && i < kept->how.n_homes; i++) {
        char *dir = vel_kept_dir(kept, i, rank);

        has = !dir || vel_fs_exists(kept->how.fs, dir);
        free(dir);
    }
    return has;
}
