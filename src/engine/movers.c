/* SPDX-License-Identifier: BSD-3-Clause */
/* Who moves the files of a session, and how fast: a transport for each kind that a
 * store wants (FLUSH of its line, else FLUSH_PLUGIN or FLUSH_TYPE), and a throttle for
 * each store (BANDWIDTH) beside the one for the prefix (FLUSH_BANDWIDTH). */
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

/* --- who --- */

static struct vel_transport **slot(struct vel_session *s, int flush)
{
    return &s->transports[flush - VEL_STORE_PLUGIN];
}

static int open_transport(struct vel_session *s, int flush, struct vel_err *err)
{
    struct vel_transport_setup setup = {.rank = (unsigned)s->world->rank,
                                        .width = (unsigned)s->conf->flush_width,
                                        .clock = s->clock};

    if (*slot(s, flush))
        return 0;
    if (flush == VEL_STORE_PLUGIN)
        setup.plugin = s->conf->flush_plugin;
    else
        setup.type = flush;
    return vel_transport_open(&setup, slot(s, flush), err);
}

/* Those of the stores that levels use, so that what is not to be had is told when the
 * program starts. */
static int open_transports(struct vel_session *s, struct vel_err *err)
{
    int rc = open_transport(s, VEL_FLUSH_POSIX, err);

    for (size_t i = 0; rc == 0 && i < s->descs->n; i++) {
        const struct vel_reddesc *desc = &s->descs->items[i];

        if (desc->enabled && desc->store)
            rc = open_transport(s, desc->store->flush, err);
    }
    return rc;
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
        .copy = {.fs = s->fs,
                 .chunk = (size_t)s->conf->file_buf_size,
                 .throttle = &s->throttle,
                 .keeps_metadata = s->conf->copy_metadata,
                 .wants_crc = s->conf->crc_on_flush},
        .flush_width = (int)s->conf->flush_width,
        .fetch_width = (int)s->conf->fetch_width,
        .checks_crc = s->conf->crc_on_flush,
        .packs = s->conf->containers,
        .container_size = (uint64_t)s->conf->container_size,
    };
    rc = open_transports(s, err);
    s->crew.transport = *slot(s, VEL_FLUSH_POSIX);
    return rc;
}

struct vel_crew vel_session_crew(struct vel_session *s, size_t store)
{
    struct vel_crew crew = s->crew;

    if (store >= s->stores->n)
        return crew;
    if (open_transport(s, s->stores->items[store].flush, NULL) == 0)
        crew.transport = *slot(s, s->stores->items[store].flush);
    crew.copy.device = &s->throttles[store];
    return crew;
}

void vel_session_leave_crew(struct vel_session *s)
{
    for (size_t i = 0; i < VEL_SESSION_TRANSPORTS; i++)
        vel_transport_close(s->transports[i]);
    if (!s->throttles)
        return;
    for (size_t i = 0; i < s->stores->n; i++)
        vel_throttle_fini(&s->throttles[i]);
    free(s->throttles);
    vel_throttle_fini(&s->throttle);
}
