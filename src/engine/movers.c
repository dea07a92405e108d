/* SPDX-License-Identifier: BSD-3-Clause */
/* Who moves the files of a session, and how fast: a transport for each kind that a
 * store wants (FLUSH of its line, else FLUSH_PLUGIN or FLUSH_TYPE), and a throttle for
 * each store (BANDWIDTH) beside the one for the prefix (FLUSH_BANDWIDTH). */
#include "config.h"

#include <stdlib.h>
#include <string.h>

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

static struct vel_transport_setup setup_of(const struct vel_session *s, int flush)
{
    bool is_plugin = flush == VEL_STORE_PLUGIN;

    return (struct vel_transport_setup){.type = is_plugin ? VEL_FLUSH_POSIX : flush,
                                        .plugin =
                                            is_plugin ? s->conf->flush_plugin : NULL,
                                        .rank = (unsigned)s->world->rank,
                                        .width = (unsigned)s->conf->flush_width,
                                        .clock = s->clock};
}

static int open_transport(struct vel_session *s, int flush, struct vel_err *err)
{
    struct vel_transport_setup setup = setup_of(s, flush);

    return *slot(s, flush) ? 0 : vel_transport_open(&setup, slot(s, flush), err);
}

/* Is it that service? Nothing is told of one that is not there. */
static bool reach(struct vel_session *s, int flush, const char *service,
                  struct vel_transport **ret, struct vel_err *why)
{
    struct vel_transport_setup setup = setup_of(s, flush);
    struct vel_transport **t = slot(s, flush);

    if (!*t && vel_transport_reach(&setup, t, why) < 0)
        return false;
    if (strcmp(vel_transport_name(*t), service) != 0)
        return false;
    *ret = *t;
    return true;
}

/* That of a service by its name: FLUSH_PLUGIN, whatever stores use it, or one of those
 * that FLUSH_TYPE may name. No record tells what to load into this process. */
static int find_transport(void *arg, const char *service, struct vel_transport **ret,
                          struct vel_err *err)
{
    struct vel_session *s = arg;
    struct vel_err why = {0};
    int type = vel_transport_type(service);

    if ((s->conf->flush_plugin && reach(s, VEL_STORE_PLUGIN, service, ret, &why)) ||
        (type >= 0 && reach(s, type, service, ret, &why)))
        return 0;
    return vel_fail(err, VEL_EUNSUP,
                    "the service '%s' is not to be had now, set FLUSH_TYPE or "
                    "FLUSH_PLUGIN as they were%s%s",
                    service, why.text[0] ? ": " : "", why.text);
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
        .node_name = s->node,
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

int vel_session_take_over(struct vel_session *s, const struct vel_vec *entries,
                          struct vel_err *err)
{
    const struct vel_takeover_how how = {.find = find_transport,
                                         .arg = s,
                                         .patience = (uint64_t)s->conf->flush_stall *
                                                     VEL_CLOCK_S};

    return vel_takeover_begin(&s->crew, &how, entries, &s->takeover, err);
}

void vel_session_leave_crew(struct vel_session *s)
{
    vel_takeover_destroy(s->takeover);
    for (size_t i = 0; i < VEL_SESSION_TRANSPORTS; i++)
        vel_transport_close(s->transports[i]);
    if (!s->throttles)
        return;
    for (size_t i = 0; i < s->stores->n; i++)
        vel_throttle_fini(&s->throttles[i]);
    free(s->throttles);
    vel_throttle_fini(&s->throttle);
}
