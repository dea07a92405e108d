/* SPDX-License-Identifier: BSD-3-Clause */
/* The scheme of a level applied to a rank's files: the commit of a dataset. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "engine/session_in.h"
#include "meta/cache.h"
#include "red/set.h"

/* A level whose encoding is not due, or is the background's, keeps the files, their
 * names and checksums, and no redundancy. */
static void without_scheme(struct vel_session *s, struct vel_red_set *set)
{
    set->comm = s->alone;
    set->scheme = VEL_SINGLE;
    set->m = 0;
    set->set = (uint32_t)s->world->rank;
    set->sets = (uint32_t)s->world->size;
}

/* Without memory it is read after all. */
void vel_session_note_sum(struct vel_session *session, const char *path, uint64_t size,
                          uint32_t crc)
{
    struct vel_writing *w = &session->writing;
    size_t len = w->dir ? strlen(w->dir) : 0;
    struct vel_red_sum *sum = malloc(sizeof *sum);
    void *old = NULL;

    if (!w->sums)
        w->sums = vel_map_create();
    if (!sum || !w->sums || session->state != VEL_WRITING || len == 0 ||
        strncmp(path, w->dir, len) != 0 || path[len] != '/') {
        free(sum);
        return;
    }
    *sum = (struct vel_red_sum){size, crc};
    if (vel_map_set(w->sums, path + len + 1, sum, &old) < 0)
        old = sum;
    free(old);
}

int vel_session_protect(struct vel_session *s, const struct vel_writing *w, int rc,
                        char *const *names, size_t n, struct vel_err *err)
{
    struct vel_red_set set = {.comm = w->desc->comm,
                              .all = s->world,
                              .scheme = w->desc->scheme,
                              .m = w->desc->m,
                              .set = w->desc->place.set,
                              .sets = w->desc->place.sets,
                              .rank = (uint32_t)s->world->rank,
                              .fs = s->fs,
                              .dir = w->dir,
                              .label = VEL_CACHE_LABEL,
                              .memory = (size_t)s->conf->memory,
                              .sums = w->sums,
                              .is_dated = w->is_later};
    uint64_t begun = vel_clock_monotonic(s->clock);
    struct vel_buf brief;

    vel_buf_init(&brief);
    if (!w->is_encoded || w->is_later)
        without_scheme(s, &set);
    if (rc == 0)
        rc = vel_filemap_encode(&w->map, &brief, err);
    rc = vel_red_apply_after(&set, rc, names, n, brief.data, brief.len, NULL, err);
    vel_buf_fini(&brief);
    if (w->is_encoded)
        vel_policy_note_encode(&s->policy);
    if (w->is_later && rc == 0) /* that is told when it is */
        return rc;
    vel_session_tell(
        s,
        (struct vel_event){.kind = VEL_EVENT_ENCODE,
                           .result = rc == 0 ? VEL_EVENT_OK : VEL_EVENT_FAILED,
                           .seconds = vel_session_seconds(s, begun)},
        &w->map.dataset);
    return rc;
}
