/* SPDX-License-Identifier: BSD-3-Clause */
/* The datasets on a prefix: every file against its record, made good from a cache. The
 * newest first: what stands under a name is the file of the newest dataset that has
 * one of that name, and nothing is wrong with it when it is not that of an older. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/map.h"
#include "base/path.h"
#include "meta/cachename.h"
#include "meta/index.h"
#include "meta/paths.h"
#include "recover/scrub_in.h"
#include "xfer/container.h"

struct target {
    struct vel_scrub *s;
    const char *prefix, *dir; /* dir: its .veloc */
    struct vel_index *index;
    struct vel_map *taken; /* names -> id of the newest dataset that has them */
    int64_t dataset;
    bool is_whole; /* on the prefix, under its own names */
};

/* The same file, good, in one of the caches that were named: a new path, or NULL. */
static char *good_copy(const struct target *t, const struct vel_listed *listed)
{
    const struct vel_scrub_member *m = t->s->members.items;

    for (size_t i = 0; i < t->s->members.n; i++) {
        char *path;

        if (m[i].dataset != t->dataset || m[i].rank != listed->rank)
            continue;
        path = vel_path_join(m[i].dir, listed->name);
        if (path && vel_scrub_check(t->s, path, listed, NULL) == 0)
            return path;
        free(path);
    }
    return NULL;
}

static int put(const struct target *t, const char *from, struct vel_listed *listed,
               const char *to)
{
    struct vel_crew crew = vel_scrub_crew(t->s, t->prefix, t->dir);

    if (t->s->options->dry_run)
        return 0;
    if (listed->container >= 0)
        return vel_container_put(&crew, t->dataset, from, listed, t->s->err);
    return vel_scrub_mend(t->s, from, to, listed, t->s->err);
}

static int scrub_file(const struct target *t, struct vel_listed *listed)
{
    struct vel_err why = {0};
    char *path = NULL, *copy = NULL;
    int rc = vel_scrub_check_published(t->s, t->prefix, t->dataset, listed, &why);

    if (rc == 0 || rc == VEL_ENOMEM)
        return rc;
    rc = vel_cachename_path(t->prefix, listed->name, &path, t->s->err);
    if (rc < 0)
        return rc;
    copy = good_copy(t, listed);
    if (copy) {
        rc = put(t, copy, listed, path);
        if (rc == 0)
            rc = vel_scrub_note(t->s, VEL_SCRUB_REPAIRED, path, why.text, copy);
    } else {
        rc = vel_scrub_note(t->s, VEL_SCRUB_LOST, path, why.text, "");
    }
    free(copy);
    free(path);
    return rc;
}

/* Is the file under that name to be the one of this dataset? */
static int claim(const struct target *t, const struct vel_listed *listed,
                 bool *ret_ours)
{
    uintptr_t id = (uintptr_t)t->dataset;

    *ret_ours = true;
    if (listed->container >= 0)
        return 0;
    if (vel_map_has(t->taken, listed->name)) {
        *ret_ours = (uintptr_t)vel_map_get(t->taken, listed->name) == id;
        return 0;
    }
    return vel_map_set(t->taken, listed->name, (void *)id, NULL) < 0
               ? vel_out_of_memory(t->s->err, "scrubbing")
               : 0;
}

static int scrub_list(const struct target *t, int list)
{
    struct vel_err why = {0};
    struct vel_vec files;
    struct vel_listed *f;
    int rc = vel_index_files(t->index, t->dataset, list, &files, &why);

    if (rc == VEL_ENOMEM)
        return vel_out_of_memory(t->s->err, "scrubbing");
    if (rc < 0 && !t->is_whole)
        return 0;
    if (rc < 0) {
        char *path = vel_files_path(t->dir, t->dataset, list);

        rc = path ? vel_scrub_note(t->s, VEL_SCRUB_LOST, path, why.text, "")
                  : vel_out_of_memory(t->s->err, "scrubbing");
        free(path);
        return rc;
    }
    f = files.items;
    for (size_t i = 0; rc == 0 && i < files.n; i++) {
        bool is_ours;

        rc = claim(t, &f[i], &is_ours);
        if (rc == 0 && is_ours && t->is_whole)
            rc = scrub_file(t, &f[i]);
    }
    vel_filelist_fini(&files);
    return rc;
}

int vel_scrub_prefix(struct vel_scrub *s, const char *prefix)
{
    char *dir = vel_veloc_dir(prefix);
    struct target t = {.s = s, .prefix = prefix, .dir = dir, .taken = vel_map_create()};
    struct vel_vec entries = {0};
    const struct vel_entry *e;
    int rc = dir && t.taken ? vel_index_open(s->fs, dir, &t.index, s->err)
                            : vel_out_of_memory(s->err, "scrubbing");

    if (rc == 0)
        rc = vel_index_load(t.index, NULL, &entries, s->err);
    e = entries.items;
    for (size_t i = 0; rc == 0 && i < entries.n; i++) {
        if (e[i].place < VEL_ON_STAGED)
            continue;
        t.dataset = e[i].dataset.id;
        t.is_whole = e[i].place == VEL_ON_PREFIX;
        s->out.datasets += t.is_whole;
        for (int l = 0; rc == 0 && l < e[i].lists; l++)
            rc = scrub_list(&t, l);
    }
    vel_index_fini(&entries);
    vel_index_close(t.index);
    vel_map_destroy(t.taken, NULL);
    free(dir);
    return rc;
}
