/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/log.h"
#include "meta/paths.h"
#include "xfer/flush_in.h"
#include "xfer/stands.h"

struct flush {
    const struct vel_crew *crew;
    struct vel_vec *files;
    struct vel_entry *entry;
    struct vel_err *err;
};

void vel_flush_files_fini(struct vel_vec *files)
{
    struct vel_flush_file *f = files->items;

    for (size_t i = 0; i < files->n; i++) {
        free(f[i].from);
        vel_listed_fini(&f[i].listed);
    }
    vel_vec_fini(files);
}

/* The lists of all ranks of a node in one record, written by the lowest of them. */
static int write_list(struct flush *f)
{
    const struct vel_crew *crew = f->crew;
    const struct vel_flush_file *file = f->files->items;
    struct vel_vec mine, all;
    struct vel_buf bytes, gathered;
    size_t *lens = NULL, at = 0;
    int rc = 0;

    vel_vec_init(&mine, sizeof(struct vel_listed));
    vel_vec_init(&all, sizeof(struct vel_listed));
    vel_buf_init(&bytes);
    vel_buf_init(&gathered);
    for (size_t i = 0; rc == 0 && i < f->files->n; i++)
        if (!vel_vec_push(&mine, &file[i].listed))
            rc = vel_out_of_memory(f->err, "flushing");
    if (rc == 0)
        rc = vel_filelist_encode(&mine, &bytes, f->err);
    rc = vel_comm_agree(crew->node, rc, f->err);
    if (rc == 0)
        rc = vel_comm_gather(crew->node, 0, bytes.data, bytes.len, &gathered, &lens,
                             f->err);
    for (int i = 0; rc == 0 && crew->node->rank == 0 && i < crew->node->size; i++) {
        rc = vel_filelist_decode(gathered.data + at, lens[i], &all, f->err);
        at += lens[i];
    }
    if (rc == 0 && crew->node->rank == 0)
        rc = vel_filelist_save(crew->fs, crew->dir, f->entry->dataset.id, crew->node_id,
                               &all, true, f->err);
    free(lens);
    vel_buf_fini(&gathered);
    vel_buf_fini(&bytes);
    vel_filelist_fini(&all);
    vel_vec_fini(&mine); /* borrowed names */
    return vel_comm_agree(crew->world, rc, f->err);
}

int vel_flush_list(const struct vel_crew *crew, struct vel_vec *files,
                   struct vel_entry *entry, struct vel_err *err)
{
    struct flush f = {.crew = crew, .files = files, .entry = entry, .err = err};
    struct vel_flush_file *file = files->items;
    int rc = 0;

    entry->lists = crew->nodes;
    for (size_t i = 0; rc == 0 && i < files->n; i++)
        rc = vel_stands_record(crew, file[i].from, &file[i].listed, err);
    rc = vel_comm_agree(crew->world, rc, err);
    return rc == 0 ? write_list(&f) : rc;
}
