/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "meta/cachename.h"
#include "xfer/container.h"
#include "xfer/fetch.h"
#include "xfer/stands.h"
#include "xfer/temp.h"

/* --- whose files are where --- */

static int by_rank(const void *a, const void *b)
{
    const struct vel_listed *x = a, *y = b;

    return (x->rank > y->rank) - (x->rank < y->rank);
}

/* One parcel per rank that the list names; `files` is sorted by rank. */
static int address(const struct vel_vec *files, int ranks, struct vel_vec *out,
                   struct vel_err *err)
{
    struct vel_listed *f = files->items;
    int rc = 0;

    for (size_t i = 0, end; rc == 0 && i < files->n; i = end) {
        struct vel_vec part = {.items = &f[i], .item_size = sizeof *f};
        struct vel_parcel parcel = {.peer = f[i].rank % ranks};
        struct vel_buf bytes;

        for (end = i; end < files->n && f[end].rank == f[i].rank; end++)
            part.n++;
        vel_buf_init(&bytes);
        rc = vel_filelist_encode(&part, &bytes, err);
        parcel.bytes = vel_buf_take(&bytes, &parcel.len);
        if (rc == 0 && (!parcel.bytes || !vel_vec_push(out, &parcel)))
            rc = vel_out_of_memory(err, "fetching");
        if (rc < 0)
            free(parcel.bytes);
    }
    return rc;
}

static int load_lists(const struct vel_crew *crew, const struct vel_entry *entry,
                      struct vel_vec *out, struct vel_err *err)
{
    int rc = 0;

    for (int l = crew->world->rank; rc == 0 && l < entry->lists;
         l += crew->world->size) {
        struct vel_vec files;

        rc = vel_index_files(crew->index, entry->dataset.id, l, &files, err);
        if (rc < 0)
            break;
        vel_vec_sort(&files, by_rank);
        rc = address(&files, crew->world->size, out, err);
        vel_filelist_fini(&files);
    }
    return rc;
}

int vel_fetch_lists(const struct vel_crew *crew, const struct vel_entry *entry,
                    struct vel_vec *ret_files, struct vel_err *err)
{
    struct vel_vec out, in = {0}, files;
    struct vel_parcel *p;
    int rc;

    vel_vec_init(&out, sizeof(struct vel_parcel));
    vel_vec_init(&files, sizeof(struct vel_listed));
    rc = vel_comm_agree(crew->world, load_lists(crew, entry, &out, err), err);
    if (rc == 0)
        rc = vel_comm_exchange(crew->world, &out, &in, err);
    if (rc == 0) {
        p = in.items;
        for (size_t i = 0; rc == 0 && i < in.n; i++)
            rc = vel_filelist_decode(p[i].bytes, p[i].len, &files, err);
        vel_parcels_fini(&in);
        rc = vel_comm_agree(crew->world, rc, err);
    }
    p = out.items;
    for (size_t i = 0; i < out.n; i++)
        free(p[i].bytes);
    vel_vec_fini(&out);
    if (rc < 0)
        vel_filelist_fini(&files);
    else
        *ret_files = files;
    return rc;
}

/* --- their bytes --- */

static int fetch_plain(const struct vel_crew *crew, int64_t id,
                       const struct vel_listed *file, const char *to,
                       struct vel_err *err)
{
    struct vel_xfer_copied copied;
    struct vel_xfer_file copy = {
        .size = file->size, .crc = file->crc, .has_crc = crew->checks_crc};
    char *from, *temp = NULL;
    int rc = vel_cachename_path(crew->prefix, file->name, &from, err);

    if (rc < 0)
        return rc;
    rc = vel_xfer_temp_name(to, (uint64_t)id, &temp, err);
    copy.from = from;
    copy.to = temp;
    /* a newer dataset, or a user, may have put another file there */
    copy.has_crc |= !vel_stands_untouched(crew->fs, from, file);
    if (rc == 0)
        rc = vel_copy_file(&crew->copy, &copy, &copied, err);
    if (rc == 0)
        rc = vel_copy_publish(crew->fs, temp, to, err);
    free(temp);
    free(from);
    return rc;
}

/* It was never in a cache, and comes in none now. */
static int check_through(const struct vel_crew *crew, const struct vel_listed *file,
                         struct vel_err *err)
{
    char *path;
    int rc = vel_cachename_path(crew->prefix, file->name, &path, err);

    if (rc < 0)
        return rc;
    rc = vel_stands_check(crew, path, file, err);
    free(path);
    return rc;
}

static int fetch_each(const struct vel_crew *crew, int64_t id,
                      const struct vel_vec *files, const char *dir, struct vel_err *err)
{
    const struct vel_listed *f = files->items;
    int rc = vel_fs_make_dirs(crew->fs, dir, 0700, err);

    for (size_t i = 0; rc == 0 && i < files->n; i++) {
        char *to = vel_path_join(dir, f[i].name);

        if (f[i].is_through)
            rc = check_through(crew, &f[i], err);
        else if (!to)
            rc = vel_out_of_memory(err, "fetching");
        else if (f[i].container >= 0)
            rc = vel_container_get(crew, id, &f[i], to, err);
        else
            rc = fetch_plain(crew, id, &f[i], to, err);
        free(to);
    }
    return rc;
}

int vel_fetch_files(const struct vel_crew *crew, const struct vel_entry *entry,
                    const struct vel_vec *files, const char *dir, struct vel_err *err)
{
    struct vel_err turn = {0};
    int rc = vel_crew_enter(crew, crew->fetch_width, err), left;

    if (rc == 0)
        rc = fetch_each(crew, entry->dataset.id, files, dir, err);
    left = vel_crew_leave(crew, crew->fetch_width, &turn);
    if (rc == 0 && left < 0)
        rc = vel_fail(err, (enum vel_status)left, "%s", turn.text);
    rc = vel_comm_agree(crew->world, rc, err);
    if (rc < 0) {
        vel_fs_remove_tree(crew->fs, dir, NULL);
        return vel_wrap(err, rc, "fetching dataset %" PRId64, entry->dataset.id);
    }
    return 0;
}

int vel_fetch_check(const struct vel_crew *crew, const struct vel_entry *entry,
                    const struct vel_vec *files, struct vel_err *err)
{
    const struct vel_listed *f = files->items;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < files->n; i++) {
        char *path;

        if (f[i].container >= 0)
            return vel_fail(err, VEL_EUNSUP,
                            "dataset %" PRId64
                            " lies in containers: it can only be read through a fetch",
                            entry->dataset.id);
        rc = vel_cachename_path(crew->prefix, f[i].name, &path, err);
        if (rc < 0)
            break;
        rc = vel_stands_check(crew, path, &f[i], err);
        free(path);
    }
    return rc;
}
