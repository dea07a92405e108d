/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <string.h>

#include "base/map.h"
#include "red/listing.h"
#include "red/redfile.h"

void vel_listing_init(struct vel_listing *listing, const struct vel_red_set *set)
{
    *listing = (struct vel_listing){.set = set};
    vel_manifest_init(&listing->own, set->rank);
    vel_vec_init(&listing->before, sizeof(struct vel_redfile));
}

void vel_listing_fini(struct vel_listing *listing)
{
    vel_manifest_fini(&listing->own);
    vel_redfiles_fini(&listing->before);
}

static int scan(struct vel_listing *l, struct vel_err *err)
{
    const struct vel_red_set *set = l->set;
    int rc = vel_red_check_label(set->label, err);

    return rc < 0 ? rc
                  : vel_redfile_scan(set->fs, set->dir, set->label, set->rank,
                                     &l->before, err);
}

static int describe(struct vel_listing *l, const void *descriptor, size_t len,
                    struct vel_err *err)
{
    if (len > VEL_DESCRIPTOR_MAX)
        return vel_fail(err, VEL_EINVAL, "a descriptor of %zu bytes: %d are the most",
                        len, VEL_DESCRIPTOR_MAX);
    vel_buf_append(&l->own.descriptor, descriptor, len);
    return vel_buf_status(&l->own.descriptor, err);
}

static int add_files(struct vel_listing *l, char *const *names, size_t n,
                     struct vel_err *err)
{
    struct vel_map *seen = vel_map_create();
    int rc = seen ? 0 : vel_out_of_memory(err, "listing files");

    for (size_t i = 0; rc == 0 && i < n; i++) {
        if (vel_map_has(seen, names[i]))
            rc = vel_fail(err, VEL_EINVAL, "%s: is in the list twice", names[i]);
        else if (vel_map_set(seen, names[i], NULL, NULL) < 0)
            rc = vel_out_of_memory(err, "listing files");
        else
            rc = vel_manifest_add(&l->own, l->set->fs, l->set->dir, names[i], err);
    }
    if (seen)
        vel_map_destroy(seen, NULL);
    return rc;
}

int vel_listing_make(struct vel_listing *listing, char *const *names, size_t n,
                     const void *descriptor, size_t len, struct vel_err *err)
{
    int rc = describe(listing, descriptor, len, err);

    if (rc == 0)
        rc = add_files(listing, names, n, err);
    return rc == 0 ? scan(listing, err) : rc;
}

static bool is_given(const struct vel_listing *l, const struct vel_redfile *redfile)
{
    return l->set->id &&
           memcmp(redfile->header.id, l->set->id, sizeof redfile->header.id) == 0;
}

int vel_listing_again(struct vel_listing *listing, const void *descriptor, size_t len,
                      struct vel_err *err)
{
    struct vel_listing *l = listing;
    const struct vel_redfile *last = NULL;
    struct vel_manifest list;
    int rc = scan(l, err);

    if (rc < 0)
        return rc;
    for (size_t i = 0; i < l->before.n && (!last || is_given(l, last)); i++)
        last = vel_redfile_at(&l->before, i);
    if (!last)
        return describe(l, descriptor, len, err);
    rc = vel_manifest_copy(&last->header.list[0], &list, err);
    if (rc < 0)
        return rc;
    vel_manifest_fini(&l->own);
    l->own = list;
    l->recorded = &last->header;
    for (size_t i = 0; i < l->own.files.n; i++)
        vel_manifest_file(&l->own, i)->is_dated = false;
    return vel_redfile_check_files(l->set->fs, l->set->dir, &last->header, err);
}

int64_t vel_listing_newest(const struct vel_listing *listing)
{
    for (size_t i = 0; i < listing->before.n; i++) {
        const struct vel_redfile *redfile = vel_redfile_at(&listing->before, i);

        if (!is_given(listing, redfile))
            return (int64_t)redfile->header.sequence;
    }
    return 0;
}

int vel_listing_fits(const struct vel_listing *listing,
                     const struct vel_red_header *header, bool *ret_stood,
                     struct vel_err *err)
{
    const struct vel_red_header *h = header;

    *ret_stood = false;
    for (size_t i = 0; i < listing->before.n; i++) {
        const struct vel_redfile *redfile = vel_redfile_at(&listing->before, i);
        const struct vel_red_header *b = &redfile->header;

        if (!is_given(listing, redfile))
            continue;
        if (b->layout.scheme != h->layout.scheme || b->layout.n != h->layout.n ||
            b->layout.m != h->layout.m || b->member != h->member || b->set != h->set ||
            b->sets != h->sets)
            return vel_fail(err, VEL_EINVAL,
                            "%s: an encoding of this identity was made in other sets; "
                            "sets that are formed anew need another one",
                            redfile->path);
        *ret_stood = true;
    }
    return 0;
}

int vel_listing_compare(const struct vel_listing *listing,
                        const struct vel_manifest *now, struct vel_err *err)
{
    const struct vel_red_header *h = listing->recorded;

    for (size_t i = 0; h && i < h->list[0].files.n; i++) {
        const struct vel_red_file *file = vel_manifest_file(&h->list[0], i);

        if (!file->is_dated && file->crc != vel_manifest_file(now, i)->crc)
            return vel_fail(err, VEL_ECORRUPT,
                            "%s/%s: its bytes are not those that were protected before",
                            listing->set->dir, file->name);
    }
    /* what is dated may have been written to while it was read */
    return h ? vel_redfile_check_files(listing->set->fs, listing->set->dir, h, err) : 0;
}

static bool is_same(const struct vel_red_file *a, const struct vel_red_file *b)
{
    return strcmp(a->name, b->name) == 0 && a->size == b->size &&
           (a->is_dated || b->is_dated || a->crc == b->crc);
}

int vel_listing_compare_other(const struct vel_listing *listing, size_t place,
                              const struct vel_manifest *now, struct vel_err *err)
{
    for (size_t i = 0; listing->recorded && i < listing->before.n; i++) {
        const struct vel_redfile *redfile = vel_redfile_at(&listing->before, i);
        const struct vel_manifest *then;
        bool same;

        if (!is_given(listing, redfile)) /* it may have fewer lists */
            continue;
        then = &redfile->header.list[place];
        same = then->files.n == now->files.n;
        for (size_t k = 0; same && k < now->files.n; k++)
            same = is_same(vel_manifest_file(then, k), vel_manifest_file(now, k));
        if (!same)
            return vel_fail(err, VEL_ECORRUPT,
                            "rank %u: its files are not those that %s protects",
                            now->rank, redfile->path);
    }
    return 0;
}
