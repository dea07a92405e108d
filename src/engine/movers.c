/* SPDX-License-Identifier: BSD-3-Clause */
/* How files of a session are moved that it moves itself: to its caches from the prefix
 * and from other nodes, and past a full cache. As fast as a store's BANDWIDTH lets
 * them, and FLUSH_BANDWIDTH for the prefix. */
#include "config.h"

#include <stdlib.h>

#include "engine/session_in.h"

/* --- how fast --- */

/* What one process may take of the bandwidth of all that move at once; 0: no limit. */
static uint64_t share(int64_t bandwidth, int64_t ranks)
{
    if (!bandwidth)
        return 0;
    return (uint64_t)(bandwidth > ranks ? bandwidth / ranks : 1);
}

/* Those that write to the prefix at once. */
static int64_t writers(const struct vel_session *s, int64_t nodes)
{
    int64_t width = s->conf->flush_width, ranks = s->world->size;

    return width && width < nodes ? (ranks * width + nodes - 1) / nodes : ranks;
}

static int make_throttles(struct vel_session *s, int64_t nodes, struct vel_err *err)
{
    vel_throttle_init(&s->throttle, s->clock,
                      share(s->conf->flush_bandwidth, writers(s, nodes)));
    s->throttles = calloc(s->stores->n + 1, sizeof *s->throttles);
    if (!s->throttles) {
        vel_throttle_fini(&s->throttle);
        return vel_out_of_memory(err, "stores");
    }
    for (size_t i = 0; i < s->stores->n; i++) {
        const struct vel_store *store = &s->stores->items[i];

        vel_throttle_init(&s->throttles[i], s->clock,
                          share(store->bandwidth, store->comm->size));
    }
    return 0;
}

/* --- a crew --- */

int vel_session_make_crew(struct vel_session *s, struct vel_err *err)
{
    const struct vel_group *node = vel_groups_find(s->groups, "NODE");
    int rc = make_throttles(s, (int64_t)node->count, err);

    if (rc < 0)
        return rc;
    s->crew = (struct vel_crew){
        .world = s->world,
        .node = node->comm,
        .leaders = s->leaders,
        .node_id = (int)node->id,
        .nodes = (int)node->count,
        .fs = s->fs,
        .clock = s->clock,
        .prefix = s->prefix,
        .dir = s->dir,
        .index = s->index,
        .copy = {.fs = s->fs,
                 .chunk = (size_t)s->conf->file_buf_size,
                 .throttle = &s->throttle,
                 .keeps_metadata = s->conf->copy_metadata,
                 .wants_crc = s->conf->crc_on_flush},
        .fetch_width = (int)s->conf->fetch_width,
        .checks_crc = s->conf->crc_on_flush,
    };
    return 0;
}

struct vel_crew vel_session_crew(struct vel_session *s, size_t store)
{
    struct vel_crew crew = s->crew;

    if (store >= s->stores->n)
        return crew;
    crew.copy.device = &s->throttles[store];
    return crew;
}

void vel_session_leave_crew(struct vel_session *s)
{
    if (!s->throttles)
        return;
    for (size_t i = 0; i < s->stores->n; i++)
        vel_throttle_fini(&s->throttles[i]);
    free(s->throttles);
    vel_throttle_fini(&s->throttle);
}
