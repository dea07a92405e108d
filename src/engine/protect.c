/* SPDX-License-Identifier: BSD-3-Clause */
/* The scheme of a level applied to a rank's files: the commit of a dataset. */
#include "config.h"

#include <stdlib.h>

#include "engine/session_in.h"
#include "meta/cache.h"
#include "red/set.h"

/* A level whose encoding is not due keeps the files, their names and checksums, and no
 * redundancy. */
static void without_scheme(struct vel_session *s, struct vel_red_set *set)
{
    set->comm = s->alone;
    set->scheme = VEL_SINGLE;
    set->m = 0;
    set->set = (uint32_t)s->world->rank;
    set->sets = (uint32_t)s->world->size;
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
                              .memory = (size_t)s->conf->memory};
    uint64_t begun = vel_clock_monotonic(s->clock);
    struct vel_buf brief;

    vel_buf_init(&brief);
    if (!w->is_encoded)
        without_scheme(s, &set);
    if (rc == 0)
        rc = vel_filemap_encode(&w->map, &brief, err);
    rc = vel_red_apply_after(&set, rc, names, n, brief.data, brief.len, NULL, err);
    vel_buf_fini(&brief);
    if (w->is_encoded)
        vel_policy_note_encode(&s->policy);
    vel_session_tell(
        s,
        (struct vel_event){.kind = VEL_EVENT_ENCODE,
                           .result = rc == 0 ? VEL_EVENT_OK : VEL_EVENT_FAILED,
                           .seconds = vel_session_seconds(s, begun)},
        &w->map.dataset);
    return rc;
}
