/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of a dataset in caches: by their redundancy first, and where that is not
 * enough with good files from a prefix. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/path.h"
#include "meta/cachename.h"
#include "meta/index.h"
#include "meta/paths.h"
#include "recover/scrub_in.h"
#include "red/rebuild.h"
#include "xfer/container.h"

static struct vel_scrub_member *member_at(const struct vel_scrub *s, size_t i)
{
    return vel_vec_at(&s->members, i);
}

/* --- by redundancy --- */

static int note_sets(struct vel_scrub *s, const struct vel_vec *sets,
                     const char *from_prefix)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < sets->n; i++) {
        const struct vel_rebuilt_set *set = vel_vec_at(sets, i);

        if (set->rc < 0)
            rc = vel_scrub_note(s, VEL_SCRUB_LOST, "a redundancy set", set->err.text,
                                "");
        for (size_t k = 0; rc == 0 && set->rc == 0 && k < set->members.n; k++) {
            const struct vel_rebuilt_member *m = vel_vec_at(&set->members, k);

            rc = vel_scrub_note(s, VEL_SCRUB_REPAIRED, m->dir, m->why,
                                from_prefix ? from_prefix : "its redundancy set");
        }
    }
    return rc;
}

static bool all_whole(const struct vel_vec *sets)
{
    for (size_t i = 0; i < sets->n; i++)
        if (((const struct vel_rebuilt_set *)vel_vec_at(sets, i))->rc < 0)
            return false;
    return true;
}

static int rebuild(struct vel_scrub *s, size_t first, size_t end, bool dry_run,
                   struct vel_vec *ret_sets)
{
    char **dirs = calloc(end - first, sizeof *dirs);
    char *into = vel_path_dir(member_at(s, first)->dir);
    struct vel_rebuild_options options = {
        .into = into, .dry_run = dry_run, .memory = s->options->memory};
    int rc;

    for (size_t i = first; dirs && i < end; i++)
        dirs[i - first] = member_at(s, i)->dir;
    rc = dirs && into
             ? vel_rebuild(s->fs, dirs, end - first, &options, ret_sets, s->err)
             : vel_out_of_memory(s->err, "scrubbing");
    free(into);
    free(dirs);
    return rc;
}

/* --- from a prefix --- */

/* Put the good file of the prefix into the rank's directory, if the one there is bad.
 */
static int take_file(struct vel_scrub *s, const char *prefix, int64_t dataset,
                     const char *dir, const struct vel_listed *listed,
                     size_t *ret_taken)
{
    char *to = vel_path_join(dir, listed->name), *from = NULL, *veloc = NULL;
    int rc = to ? vel_scrub_check(s, to, listed, NULL)
                : vel_out_of_memory(s->err, "scrubbing");

    if (rc == VEL_ENOMEM || rc == 0)
        goto out;
    rc = 0;
    if (vel_scrub_check_published(s, prefix, dataset, listed, NULL) < 0)
        goto out;
    (*ret_taken)++;
    if (s->options->dry_run)
        goto out;
    if (listed->container < 0) {
        rc = vel_cachename_path(prefix, listed->name, &from, s->err);
        if (rc == 0)
            rc = vel_scrub_mend(s, from, to, listed, s->err);
        goto out;
    }
    veloc = vel_veloc_dir(prefix);
    if (!veloc) {
        rc = vel_out_of_memory(s->err, "scrubbing");
        goto out;
    }
    struct vel_crew crew = vel_scrub_crew(s, prefix, veloc);
    rc = vel_fs_unlink(s->fs, to, s->err);
    if (rc == 0)
        rc = vel_container_get(&crew, dataset, listed, to, s->err);
out:
    free(veloc);
    free(from);
    free(to);
    return rc;
}

static int take_listed(struct vel_scrub *s, const char *prefix, struct vel_index *index,
                       const struct vel_entry *entry, size_t first, size_t end,
                       size_t *ret_taken)
{
    int64_t dataset = entry->dataset.id;
    int rc = 0;

    for (int l = 0; rc == 0 && l < entry->lists; l++) {
        struct vel_vec files;
        const struct vel_listed *f;

        if (vel_index_files(index, dataset, l, &files, NULL) < 0)
            continue;
        f = files.items;
        for (size_t i = 0; rc == 0 && i < files.n; i++)
            for (size_t m = first; rc == 0 && m < end; m++)
                if (member_at(s, m)->rank == f[i].rank && !f[i].is_through)
                    rc = take_file(s, prefix, dataset, member_at(s, m)->dir, &f[i],
                                   ret_taken);
        vel_filelist_fini(&files);
    }
    return rc;
}

static int take_files(struct vel_scrub *s, const char *prefix, size_t first, size_t end,
                      size_t *ret_taken)
{
    char *dir = vel_veloc_dir(prefix);
    struct vel_index *index = NULL;
    struct vel_entry entry;
    int rc = dir ? vel_index_open(s->fs, dir, &index, s->err)
                 : vel_out_of_memory(s->err, "scrubbing");

    if (rc == 0 &&
        vel_entry_load(index, member_at(s, first)->dataset, &entry, NULL) == 0) {
        if (entry.place == VEL_ON_PREFIX)
            rc = take_listed(s, prefix, index, &entry, first, end, ret_taken);
        vel_entry_fini(&entry);
    }
    vel_index_close(index);
    free(dir);
    return rc;
}

/* Good files make members good, and then the rest may be rebuilt. */
static int with_prefixes(struct vel_scrub *s, size_t first, size_t end,
                         struct vel_vec *sets)
{
    size_t taken = 0;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < s->prefixes.n && taken == 0; i++) {
        const char *prefix = ((char **)s->prefixes.items)[i];
        struct vel_vec again = {0};

        rc = take_files(s, prefix, first, end, &taken);
        if (rc < 0 || taken == 0)
            continue;
        if (s->options->dry_run)
            return vel_scrub_note(s, VEL_SCRUB_REPAIRED, member_at(s, first)->dir,
                                  "more is damaged than its redundancy bears", prefix);
        rc = rebuild(s, first, end, false, &again);
        if (rc < 0)
            return rc;
        if (all_whole(&again))
            rc = vel_scrub_note(s, VEL_SCRUB_REPAIRED, member_at(s, first)->dir,
                                "more was damaged than its redundancy bears", prefix);
        else
            rc = note_sets(s, &again, prefix);
        vel_rebuilt_fini(&again);
    }
    return rc < 0 || taken ? rc : note_sets(s, sets, NULL);
}

int vel_scrub_cache(struct vel_scrub *s, size_t first, size_t end)
{
    struct vel_vec sets = {0};
    int rc = rebuild(s, first, end, s->options->dry_run, &sets);

    if (rc < 0)
        return rc;
    for (size_t i = 0; i < sets.n; i++)
        s->out.files += ((const struct vel_rebuilt_set *)vel_vec_at(&sets, i))->n;
    if (all_whole(&sets) || member_at(s, first)->dataset == 0)
        rc = note_sets(s, &sets, NULL);
    else
        rc = with_prefixes(s, first, end, &sets);
    vel_rebuilt_fini(&sets);
    return rc;
}
