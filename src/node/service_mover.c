/* SPDX-License-Identifier: BSD-3-Clause */
/* Who moves the parts of a store to the prefix (FLUSH of its STORE line, else
 * FLUSH_PLUGIN or FLUSH_TYPE), and how fast its disks may be read and written by all
 * jobs of this node together (BANDWIDTH): one throttle for each store, which copies of
 * a flush ask themselves, and which slows the files that others work with; what goes
 * into containers (CONTAINERS) is copied here: datasets of the API, whose files nobody
 * opens on the prefix. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "node/service_in.h"
#include "node/service_mover.h"
#include "topo/seats.h"

/* The same for all stores that want the same. */
static int open_transport(struct vel_service *service, int flush, struct vel_err *err)
{
    const struct vel_conf *conf = service->conf;
    struct vel_transport **slot = &service->transports[flush - VEL_STORE_PLUGIN];
    bool is_plugin = flush == VEL_STORE_PLUGIN;
    const struct vel_transport_setup setup = {
        .type = is_plugin ? VEL_FLUSH_POSIX : flush,
        .plugin = is_plugin ? conf->flush_plugin : NULL,
        .width = (unsigned)conf->flush_width,
        .clock = service->clock};

    return *slot ? 0 : vel_transport_open(&setup, slot, err);
}

int vel_service_open_movers(struct vel_service *service, struct vel_err *err)
{
    const struct vel_conf *conf = service->conf;
    int rc = 0;

    const char *const here[] = {service->host.node};

    service->movers = calloc(service->n_homes + 1, sizeof *service->movers);
    service->paces = calloc(service->n_homes + 1, sizeof *service->paces);
    if (!service->movers || !service->paces)
        return vel_out_of_memory(err, "a leader");
    for (size_t i = 0; rc == 0 && i < service->n_homes; i++) {
        struct vel_service_mover *mover = &service->movers[i];

        mover->line = vel_seats_store(conf, service->homes[i]);
        mover->flush = mover->line && vel_conf_gives(mover->line, "FLUSH")
                           ? ((const struct vel_store_line *)mover->line->data)->flush
                       : conf->flush_plugin ? VEL_STORE_PLUGIN
                                            : conf->flush_type;
        vel_throttle_init(&mover->device, service->clock, 0);
        service->paces[i] = (struct vel_paced_dir){service->homes[i], &mover->device};
        service->n_movers++;
        if (vel_seats_uses(conf, service->homes[i])) /* else it is not asked for */
            rc = open_transport(service, mover->flush, err);
    }
    vel_service_share_stores(service, here, 1); /* others are not known yet */
    return rc;
}

void vel_service_close_movers(struct vel_service *service)
{
    for (size_t i = 0; i < service->n_movers; i++)
        vel_throttle_fini(&service->movers[i].device);
    free(service->movers);
    free(service->paces);
    for (size_t i = 0; i < VEL_SERVICE_TRANSPORTS; i++)
        vel_transport_close(service->transports[i]);
}

/* --- how fast --- */

void vel_service_share_stores(struct vel_service *service, const char *const *nodes,
                              size_t n)
{
    for (size_t i = 0; i < service->n_movers; i++)
        vel_throttle_set_rate(&service->movers[i].device,
                              vel_seats_bandwidth(service->conf,
                                                  service->movers[i].line,
                                                  service->host.node, nodes, n));
}

int vel_service_share_of_seal(struct vel_service *service, const struct vel_seal *seal,
                              struct vel_err *err)
{
    struct vel_seal_nodes nodes;
    int rc = vel_seal_nodes(seal, &nodes, err);

    if (rc == 0)
        vel_service_share_stores(service, nodes.names, nodes.n);
    vel_seal_nodes_fini(&nodes);
    return rc;
}

void vel_service_pace(struct vel_service *service, const struct vel_watch *watch,
                      struct vel_paced *ret)
{
    vel_paced_init(ret, service->fs, service->paces, service->n_movers, watch);
}

/* NULL: it is in none of ours. */
static struct vel_service_mover *find_mover(const struct vel_service *service,
                                            const char *home)
{
    for (size_t i = 0; i < service->n_movers; i++)
        if (vel_path_below(service->homes[i], home))
            return &service->movers[i];
    return NULL;
}

uint64_t vel_service_pace_ms(const struct vel_service *service, const char *home,
                             uint64_t bytes)
{
    struct vel_service_mover *mover = find_mover(service, home);

    return mover ? vel_throttle_time(&mover->device, bytes) / VEL_CLOCK_MS : 0;
}

/* --- who moves --- */

bool vel_service_packs(const struct vel_service *service, const struct vel_seal *seal)
{
    return service->conf->containers && seal->template && !*seal->template &&
           !seal->is_plain;
}

int vel_service_move(struct vel_service *service, const char *home,
                     const struct vel_seal *seal, struct vel_flush_job *job,
                     struct vel_err *err)
{
    struct vel_service_mover *mover;

    if (vel_service_packs(service, seal))
        job->container_size = (uint64_t)service->conf->container_size;
    mover = find_mover(service, home);
    if (!mover)
        return 0;
    job->transport = service->transports[mover->flush - VEL_STORE_PLUGIN];
    job->device = &mover->device;
    return vel_service_share_of_seal(service, seal, err);
}
