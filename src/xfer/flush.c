/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/path.h"
#include "meta/cachename.h"
#include "meta/paths.h"
#include "xfer/container.h"
#include "xfer/flush_in.h"
#include "xfer/names.h"
#include "xfer/stands.h"
#include "xfer/track.h"

struct flush {
    const struct vel_crew *crew;
    const char *store;
    struct vel_vec *files;
    struct vel_entry *entry;
    struct vel_flush_target *targets; /* one per file; empty for files in containers,
                                         and for those that were written through */
    bool is_loose; /* a service may still write to this rank's temporary names */
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

static int find_targets(struct flush *f)
{
    const struct vel_flush_file *file = f->files->items;
    int rc = 0;

    f->targets = calloc(f->files->n + 1, sizeof *f->targets);
    if (!f->targets)
        return vel_out_of_memory(f->err, "flushing");
    for (size_t i = 0; rc == 0 && i < f->files->n; i++)
        if (file[i].listed.is_through)
            rc = vel_stands_check(f->crew, file[i].from, &file[i].listed, f->err);
        else if (!f->crew->packs)
            rc = vel_flush_target(f->crew, f->entry, &file[i].listed, &f->targets[i],
                                  f->err);
    return rc;
}

/* --- stage: every byte on the prefix --- */

static int stage_plain(struct flush *f)
{
    struct vel_flush_file *file = f->files->items;
    struct vel_tracked move = {.id = f->entry->dataset.id,
                               .owner = f->entry->owner,
                               .attempt = f->entry->attempt,
                               .store = f->store};
    struct vel_xfer_file *list = calloc(f->files->n + 1, sizeof *list);
    const char **names = calloc(f->files->n + 1, sizeof *names);
    int rc = list && names ? 0 : vel_out_of_memory(f->err, "flushing");

    move.files = list;
    move.names = names;
    for (size_t i = 0; rc == 0 && i < f->files->n; i++) {
        if (!f->targets[i].temporary)
            continue;
        names[move.n] = file[i].listed.name;
        list[move.n++] = (struct vel_xfer_file){.from = file[i].from,
                                                .to = f->targets[i].temporary,
                                                .size = file[i].listed.size,
                                                .crc = file[i].listed.crc,
                                                .has_crc = f->crew->checks_crc};
    }
    if (rc == 0)
        rc = vel_track_move(f->crew, &move, &f->is_loose, f->err);
    free(names);
    free(list);
    return rc;
}

static int stage_packed(struct flush *f)
{
    struct vel_flush_file *file = f->files->items;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < f->files->n; i++)
        if (!file[i].listed.is_through)
            rc = vel_container_put(f->crew, f->entry->dataset.id, file[i].from,
                                   &file[i].listed, f->err);
    return rc;
}

/* What stands on the prefix now has these times: by them a later removal knows it. */
static int note_times(struct flush *f)
{
    struct vel_flush_file *file = f->files->items;
    struct stat st;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < f->files->n; i++) {
        if (!f->targets[i].temporary)
            continue;
        rc = vel_fs_lstat(f->crew->fs, f->targets[i].temporary, &st, f->err);
        if (rc < 0)
            break;
        file[i].listed.mtime_s = st.st_mtim.tv_sec;
        file[i].listed.mtime_ns = (uint32_t)st.st_mtim.tv_nsec;
    }
    return rc;
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
                               &all, f->err);
    free(lens);
    vel_buf_fini(&gathered);
    vel_buf_fini(&bytes);
    vel_filelist_fini(&all);
    vel_vec_fini(&mine); /* borrowed names */
    return vel_comm_agree(crew->world, rc, f->err);
}

static int make_room(struct flush *f, int containers)
{
    int64_t id = f->entry->dataset.id;
    char *list = vel_files_path(f->crew->dir, id, 0), *dir = NULL;
    int rc;

    if (f->crew->world->rank != 0) {
        free(list);
        return 0;
    }
    dir = list ? vel_path_dir(list) : NULL;
    rc = dir ? vel_fs_make_dirs(f->crew->fs, dir, 0777, f->err)
             : vel_out_of_memory(f->err, "flushing");
    if (rc == 0)
        rc = vel_container_make(f->crew, id, containers, f->err);
    free(dir);
    free(list);
    return rc;
}

/* Collective. Of a dataset of a time when its completion did not look. One that is
 * written through has its place, whoever wrote to it. */
static int check_names(struct flush *f)
{
    const struct vel_flush_file *file = f->files->items;
    const char **names = calloc(f->files->n + 1, sizeof *names);
    size_t n = 0;
    int rc = names ? 0 : vel_out_of_memory(f->err, "names of files");

    for (size_t i = 0; rc == 0 && i < f->files->n; i++)
        if (!file[i].listed.is_through)
            names[n++] = file[i].listed.name;
    rc = vel_names_check(f->crew->world, rc, names, n, f->err);
    free(names);
    return rc;
}

static int stage(struct flush *f)
{
    const struct vel_crew *crew = f->crew;
    int containers = 0, rc;

    rc = vel_comm_agree(crew->world, find_targets(f), f->err);
    if (rc == 0)
        rc = crew->packs ? vel_container_plan(crew, f->files, &containers, f->err)
                         : check_names(f);
    if (rc == 0)
        rc = vel_comm_agree(crew->world, make_room(f, containers), f->err);
    /* already now, so that what a crash leaves can be found and removed */
    if (rc == 0)
        rc = write_list(f);
    if (rc < 0)
        return rc;
    rc = vel_crew_enter(crew, crew->flush_width, f->err);
    if (rc == 0)
        rc = crew->packs ? stage_packed(f) : stage_plain(f);
    if (rc == 0)
        rc = note_times(f);
    if (rc == 0)
        rc = vel_flush_sync_names(crew, f->targets, f->files->n, f->err);
    /* whoever failed still lets the next node begin */
    struct vel_err turn = {0};
    int left = vel_crew_leave(crew, crew->flush_width, &turn);
    if (rc == 0 && left < 0)
        rc = vel_fail(f->err, (enum vel_status)left, "%s", turn.text);
    rc = vel_comm_agree(crew->world, rc, f->err);
    return rc < 0 ? rc : write_list(f);
}

/* --- publish --- */

static int name_files(struct flush *f)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < f->files->n; i++)
        if (f->targets[i].temporary)
            rc = vel_copy_publish(f->crew->fs, f->targets[i].temporary,
                                  f->targets[i].dest, f->err);
    return rc;
}

/* Collective. A full prefix gets its space back. */
static void discard(struct flush *f)
{
    const struct vel_crew *crew = f->crew;
    int64_t is_loose = f->is_loose;

    /* of a job that broke nobody knows how far the others are: what it leaves is found
     * by the entry and the lists */
    if (vel_comm_allreduce(crew->world, VEL_COMM_MAX, &is_loose, 1, NULL) < 0)
        return;
    for (size_t i = 0; f->targets && i < f->files->n; i++)
        if (f->targets[i].temporary)
            vel_fs_unlink(crew->fs, f->targets[i].temporary, NULL);
    if (vel_comm_barrier(crew->world, NULL) < 0)
        return;
    if (crew->world->rank == 0)
        vel_flush_remove_lists(crew, f->entry->dataset.id, NULL);
    f->entry->attempt += is_loose != 0; /* not those names again */
    vel_flush_mark(crew, f->entry, VEL_ON_CACHE, NULL);
}

/* Collective. Everything is copied; from here on it goes forward only. */
static int publish(struct flush *f)
{
    const struct vel_crew *crew = f->crew;
    int rc = vel_flush_mark(crew, f->entry, VEL_ON_STAGED, f->err);

    if (rc == 0)
        rc = vel_comm_agree(crew->world, name_files(f), f->err);
    if (rc == 0)
        rc = vel_flush_mark(crew, f->entry, VEL_ON_PREFIX, f->err);
    /* the entry may have been changed although that failed */
    if (rc < 0)
        f->entry->place = VEL_ON_STAGED;
    return rc;
}

int vel_flush(const struct vel_crew *crew, const char *store, struct vel_vec *files,
              struct vel_entry *entry, struct vel_err *err)
{
    struct flush f = {
        .crew = crew, .store = store, .files = files, .entry = entry, .err = err};
    int rc;

    entry->lists = crew->nodes;
    rc = vel_flush_mark(crew, entry, VEL_ON_FLUSHING, err);
    if (rc == 0)
        rc = stage(&f);
    if (rc < 0)
        discard(&f);
    else
        rc = publish(&f);
    for (size_t i = 0; f.targets && i < files->n; i++)
        vel_flush_target_fini(&f.targets[i]);
    free(f.targets);
    return rc < 0 ? vel_wrap(err, rc, "flushing dataset %" PRId64, entry->dataset.id)
                  : 0;
}

/* --- what was written on the prefix --- */

/* Collective. Files that are not adopted are nobody's; the entry may be there although
 * writing it failed. Of a job that broke others may have adopted them. */
static void forget(struct flush *f)
{
    int64_t id = f->entry->dataset.id;

    if (vel_comm_barrier(f->crew->world, NULL) < 0 || f->crew->world->rank != 0)
        return;
    vel_entry_remove(f->crew->fs, f->crew->dir, id, NULL);
    vel_flush_remove_lists(f->crew, id, NULL);
}

int vel_flush_adopt(const struct vel_crew *crew, struct vel_vec *files,
                    struct vel_entry *entry, struct vel_err *err)
{
    struct flush f = {.crew = crew, .files = files, .entry = entry, .err = err};
    struct vel_flush_file *file = files->items;
    int rc = 0;

    entry->lists = crew->nodes;
    for (size_t i = 0; rc == 0 && i < files->n; i++)
        rc = vel_stands_record(crew, file[i].from, &file[i].listed, err);
    if (rc == 0)
        rc = make_room(&f, 0);
    rc = vel_comm_agree(crew->world, rc, err);
    if (rc == 0)
        rc = write_list(&f);
    if (rc == 0)
        rc = vel_flush_mark(crew, entry, VEL_ON_STAGED, err);
    if (rc < 0)
        forget(&f);
    if (rc == 0) {
        for (size_t i = 0; rc == 0 && i < files->n; i++)
            rc = vel_flush_name_one(crew, entry, &file[i].listed, err);
        rc = vel_comm_agree(crew->world, rc, err);
        if (rc == 0)
            rc = vel_flush_mark(crew, entry, VEL_ON_PREFIX, err);
    }
    return rc < 0 ? vel_wrap(err, rc, "recording dataset %" PRId64, entry->dataset.id)
                  : 0;
}
