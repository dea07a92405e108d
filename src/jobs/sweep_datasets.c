/* SPDX-License-Identifier: BSD-3-Clause */
/* Datasets of which nobody has anything any more, what flushes have left, and ids that
 * nothing is said of any more. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "jobs/forget.h"
#include "jobs/sweep_in.h"
#include "jobs/sweep_single.h"
#include "jobs/sweep_temps.h"
#include "meta/cachename.h"
#include "meta/filelist.h"
#include "meta/launch.h"
#include "meta/paths.h"

/* A program that has ended waits for it. */
enum { DATASETS_AT_ONCE = 256 };

static int by_number(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static bool has_number(const struct vel_vec *sorted, int64_t number)
{
    bool has;

    vel_vec_place(sorted, &number, by_number, &has);
    return has;
}

/* Of a file that is listed nothing stands at its path, be it ours or not. */
static bool is_unlinked(const struct vel_sweeping *s, const struct vel_listed *file)
{
    char *path = NULL;
    bool is = file->container < 0 &&
              vel_cachename_path(s->of->prefix, file->name, &path, NULL) == 0 &&
              vel_sweep_is_absent(s, path);

    free(path);
    return is;
}

/* The program has removed all that it wrote, as one does that keeps its last three. */
static bool are_unlinked(const struct vel_sweeping *s, const struct vel_entry *entry)
{
    bool are = entry->lists > 0;

    for (int l = 0; are && l < entry->lists; l++) {
        struct vel_vec files;

        are = vel_index_files(s->of->index, entry->dataset.id, l, &files, NULL) == 0;
        if (!are)
            break;
        for (size_t i = 0; are && i < files.n; i++)
            are = is_unlinked(s, vel_vec_at(&files, i));
        vel_filelist_fini(&files);
    }
    return are;
}

/* It is in no cache. */
static bool is_single(struct vel_sweeping *s, const struct vel_entry *entry)
{
    return entry->dataset.files == 1 && ++s->singles > VEL_SINGLES_KEPT &&
           !has_number(&s->sealed, entry->dataset.id) &&
           vel_sweep_is_single(s->of->index, &s->seals, s->of->prefix, s->of->view,
                               entry);
}

/* Of which nobody can have anything any more: it is in no cache, and its files are not
 * on the prefix, or nothing but files there. What a session has there may be on a disk
 * that is away, and stays; of what is newer the view does not know where it is. */
static bool is_forgotten(struct vel_sweeping *s, const struct vel_entry *entry)
{
    const struct vel_view_dataset *dataset =
        vel_view_find_dataset(s->of->view, entry->dataset.id);
    const struct vel_ids_block *block = vel_ids_find(&s->blocks, entry->dataset.id);

    if (entry->dataset.id > s->of->view->highest || !block || !block->launch ||
        has_number(&s->of->view->alive, block->first) ||
        (entry->place != VEL_ON_PREFIX &&
         (entry->place != VEL_ON_CACHE || !entry->replaced)) ||
        (dataset && dataset->is_cached) ||
        vel_view_find_lost(s->of->view, entry->dataset.id))
        return false;
    return vel_sweep_is_over(s, block->launch) &&
           (entry->replaced > 0 ||
            (block->is_leaders && (are_unlinked(s, entry) || is_single(s, entry))));
}

/* All of it is there, and has its names or is still to get them. */
static bool is_staged(enum vel_place_on_prefix place)
{
    return place == VEL_ON_STAGED || place == VEL_ON_PREFIX;
}

static int sweep_dataset(void *arg, struct vel_entry *entry, struct vel_err *err)
{
    struct vel_sweeping *s = arg;
    struct vel_vec *of = is_forgotten(s, entry)    ? &s->over
                         : is_staged(entry->place) ? &s->known
                                                   : NULL;
    int rc = 0;

    if (of && !vel_vec_push(of, &entry->dataset.id))
        rc = vel_out_of_memory(err, "records");
    vel_entry_fini(entry);
    s->is_cut = s->over.n >= DATASETS_AT_ONCE;
    return rc == 0 && s->is_cut ? 1 : rc; /* no more of them */
}

/* Has it an entry that says it is staged, or one that nobody can read? */
static bool may_be_staged(const struct vel_sweeping *s, int64_t id)
{
    struct vel_index_where where;
    int rc = vel_index_where(s->of->index, id, &where, NULL);

    return rc == 0 ? is_staged(where.place) : rc != VEL_ENOENT;
}

/* It was lost on its way to the prefix, and no node is away that may have more of it.
 * What is no checkpoint is on its way if all its nodes are here, and else it begins
 * anew when they are. */
static bool is_stranded(struct vel_sweeping *s, int64_t id)
{
    const struct vel_view_dataset *dataset = vel_view_find_dataset(s->of->view, id);
    const struct vel_view_lost *lost = vel_view_find_lost(s->of->view, id);
    const struct vel_ids_block *block = vel_ids_find(&s->blocks, id);
    bool is_partial = lost && lost->reason == VEL_VIEW_PARTIAL;

    return id <= s->of->view->highest && block && block->launch &&
           !has_number(&s->known, id) && has_number(&s->away, id) == is_partial &&
           !(dataset && dataset->is_cached) && vel_sweep_is_over(s, block->launch) &&
           !may_be_staged(s, id);
}

/* By a list of its launch: a client of NFS hears late of a term that enters it again.
 */
static bool is_gone(struct vel_sweeping *s, int64_t id)
{
    const struct vel_ids_block *block = vel_ids_find(&s->blocks, id);

    if (!block || !vel_index_is_gone(s->of->index, id))
        return false;
    if (block->launch)
        vel_index_look_anew(s->of->index, block->launch);
    return vel_index_is_gone(s->of->index, id);
}

/* Who forgot it was interrupted, or its launch was removed, or somebody has written
 * there since. */
static int remove_gone(struct vel_sweeping *s, int64_t id, struct vel_err *err)
{
    int rc = vel_sweep_temps(s->of->index, s->of->prefix, id, true, err);

    return rc == 0 ? vel_forget_lists(s->of->fs, s->of->dir, id, err) : rc;
}

int vel_sweep_look(struct vel_sweeping *s, struct vel_err *err)
{
    size_t left_out = 0;
    const struct vel_index_range all = {
        .above = INT64_MIN, .below = INT64_MAX, .left_out = &left_out};
    int rc;

    vel_vec_sort(&s->sealed, by_number);
    rc = vel_index_each(s->of->index, &all, sweep_dataset, s, err);
    return rc < 0 ? rc : 0;
}

int vel_sweep_datasets(struct vel_sweeping *s, struct vel_err *err)
{
    int64_t id;
    int rc;

    s->ret.datasets +=
        vel_forget_datasets(s->of->index, s->of->prefix, s->over.items, s->over.n);
    if (s->is_cut)
        return 0;
    rc = 0;
    vel_vec_sort(&s->known, by_number);
    vel_vec_sort(&s->away, by_number);
    for (size_t i = 0; rc == 0 && i < s->names.n; i++) {
        const char *name = *(char **)vel_vec_at(&s->names, i);

        if (!vel_number_behind(name, "dataset.", &id) || has_number(&s->known, id))
            continue;
        if (is_gone(s, id))
            rc = remove_gone(s, id, err);
        else if (is_stranded(s, id))
            rc = vel_sweep_temps(s->of->index, s->of->prefix, id, false, err);
    }
    return rc;
}

/* --- ids --- */

static bool has_id(const struct vel_ids_block *block, int64_t id)
{
    return id >= block->first && id <= block->last;
}

static bool is_needed(const struct vel_sweeping *s, const struct vel_ids_block *block)
{
    int64_t id;
    char *dir = vel_launch_dir(s->of->dir, block->launch);
    bool is = strcmp(block->launch, s->of->launch) == 0 || !vel_sweep_is_absent(s, dir);

    for (size_t i = 0; !is && i < s->of->view->datasets.n; i++) {
        const struct vel_view_dataset *d = vel_vec_at(&s->of->view->datasets, i);

        is = has_id(block, d->about.id);
    }
    for (size_t i = 0; !is && i < s->names.n; i++)
        is = vel_number_behind(*(char **)vel_vec_at(&s->names, i), "dataset.", &id) &&
             has_id(block, id);
    free(dir);
    return is;
}

/* Of a launch without a directory nothing is known, and nothing is needed any more but
 * what caches have of it, or flushes have left; nor of one that nobody has said
 * anything of, for a later one is there. Ids go on above the last block. */
int vel_sweep_blocks(struct vel_sweeping *s, struct vel_err *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i + 1 < s->blocks.n; i++) {
        const struct vel_ids_block *block = vel_vec_at(&s->blocks, i);

        if (!block->launch || !is_needed(s, block))
            rc = vel_ids_remove(s->of->fs, s->of->dir, block, err);
    }
    return rc;
}
