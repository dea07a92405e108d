/* SPDX-License-Identifier: BSD-3-Clause */
/* What becomes of a dataset whose store has room for its files, and not for their
 * redundancy: the files go to the prefix. A program never fails because a cache is
 * full. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "engine/session_in.h"
#include "meta/cache.h"
#include "xfer/stands.h"

/* Nothing is recorded of them yet. Those that were written through are on the prefix
 * already. */
static int list_files(struct vel_session *s, const struct vel_map *names,
                      bool is_through, struct vel_vec *files, struct vel_err *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < vel_map_count(names); i++) {
        const char *name = vel_map_key(names, i);
        struct vel_flush_file file = {.listed = {.rank = s->world->rank,
                                                 .name = strdup(name),
                                                 .container = -1,
                                                 .is_through = is_through}};

        rc = file.listed.name ? vel_session_place(s, name, &file.from, err)
                              : vel_out_of_memory(err, "a dataset");
        if (rc == 0)
            rc = vel_stands_record(&s->crew, file.from, &file.listed, err);
        if (rc == 0 && !vel_vec_push(files, &file))
            rc = vel_out_of_memory(err, "a dataset");
        if (rc < 0) {
            free(file.from);
            vel_listed_fini(&file.listed);
        }
    }
    return rc;
}

/* What is on the prefix needs no cache, and no directories there any more. */
static void leave_cache(struct vel_session *s)
{
    struct vel_writing *w = &s->writing;
    struct vel_err why = {0};

    if (vel_cache_remove_part(s->fs, w->level, w->map.dataset.id, s->world->rank,
                              &why) < 0)
        vel_log(VEL_LOG_WARN, "files that are on the prefix stay in the cache: %s",
                why.text);
    free(w->level);
    free(w->dir);
    w->level = w->dir = NULL;
    w->is_bypass = true;
}

int vel_session_spill(struct vel_session *s, struct vel_held *held, struct vel_err *err)
{
    struct vel_writing *w = &s->writing;
    struct vel_vec files;
    int rc;

    s->writing.was_full = true;
    vel_session_learn_size(s);
    vel_log_shared(VEL_LOG_WARN,
                   "store %s has no room for the redundancy of dataset %" PRId64
                   ": its files go straight to the prefix",
                   w->desc->store->name, w->map.dataset.id);
    vel_vec_init(&files, sizeof(struct vel_flush_file));
    rc = list_files(s, w->routed, false, &files, err);
    if (rc == 0)
        rc = list_files(s, w->through, true, &files, err);
    rc = vel_comm_agree(s->world, rc, err);
    if (rc == 0)
        rc = vel_session_adopt(s, held, w->desc->store, &files, err);
    vel_flush_files_fini(&files);
    if (rc == 0)
        leave_cache(s);
    return rc;
}
