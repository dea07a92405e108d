/* SPDX-License-Identifier: BSD-3-Clause */
/* What becomes of a dataset whose store has room for its files, and not for their
 * redundancy: the files go to the prefix, as if they had been written there. A program
 * never fails because a cache is full. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/path.h"
#include "engine/session_in.h"
#include "meta/cache.h"

/* Those that were written through are on the prefix already. */
static int copy_one(struct vel_session *s, const char *name, struct vel_err *err)
{
    const struct vel_crew crew = vel_session_crew(s, s->writing.desc->store->index);
    struct vel_xfer_file file = {0};
    struct vel_xfer_copied copied;
    char *from = vel_path_join(s->writing.dir, name), *to = NULL;
    struct stat st;
    int rc = from ? vel_fs_lstat(s->fs, from, &st, err)
                  : vel_out_of_memory(err, "a dataset");

    if (rc == 0)
        rc = vel_session_place(s, name, &to, err);
    if (rc == 0) {
        file = (struct vel_xfer_file){
            .from = from, .to = to, .size = (uint64_t)st.st_size};
        rc = vel_copy_file(&crew.copy, &file, &copied, err);
    }
    free(to);
    free(from);
    return rc;
}

int vel_session_spill(struct vel_session *s, struct vel_err *err)
{
    struct vel_writing *w = &s->writing;
    int rc = 0;

    w->was_full = true;
    vel_session_learn_size(s);
    vel_log_shared(VEL_LOG_WARN,
                   "store %s has no room for the redundancy of dataset %" PRId64
                   ": its files go straight to the prefix",
                   w->desc->store->name, w->map.dataset.id);
    w->is_bypass = true;
    for (size_t i = 0; rc == 0 && i < vel_map_count(w->routed); i++)
        rc = copy_one(s, vel_map_key(w->routed, i), err);
    return rc;
}

/* What was written to the prefix itself, as a flush would have listed it. */
static int list_bypassed(struct vel_session *s, const struct vel_map *names,
                         struct vel_vec *files, struct vel_err *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < vel_map_count(names); i++) {
        struct vel_flush_file file = {
            .listed = {.rank = s->world->rank, .container = -1}};

        file.listed.name = strdup(vel_map_key(names, i));
        rc = file.listed.name ? vel_session_place(s, file.listed.name, &file.from, err)
                              : vel_out_of_memory(err, "a dataset");
        if (rc == 0 && vel_vec_push(files, &file))
            continue;
        rc = rc < 0 ? rc : vel_out_of_memory(err, "a dataset");
        free(file.from);
        vel_listed_fini(&file.listed);
    }
    return rc;
}

int vel_session_list_written(struct vel_session *s, struct vel_vec *files,
                             struct vel_err *err)
{
    int rc = list_bypassed(s, s->writing.routed, files, err);

    return rc == 0 ? list_bypassed(s, s->writing.through, files, err) : rc;
}

void vel_session_leave_cache(struct vel_session *s)
{
    struct vel_writing *w = &s->writing;
    struct vel_err why = {0};

    if (w->level && vel_cache_remove_part(s->fs, w->level, w->map.dataset.id,
                                          s->world->rank, &why) < 0)
        vel_log(VEL_LOG_WARN, "files that are on the prefix stay in the cache: %s",
                why.text);
    free(w->level);
    free(w->dir);
    w->level = w->dir = NULL;
}
