/* SPDX-License-Identifier: BSD-3-Clause */
/* Who of this launch will not come any more: by its records, and by the locks of this
 * machine (doc/life.txt, 6). */
#include "config.h"

#include <string.h>

#include "ident/endpoint.h"
#include "node/service_in.h"

struct vel_role_here vel_service_locks(const struct vel_service *service)
{
    return (struct vel_role_here){.fs = service->fs,
                                  .host = &service->host,
                                  .is_virtual = service->conf->virtual_nodes > 0,
                                  .base = service->conf->cntl_base};
}

bool vel_service_has_left(struct vel_service *service, const char *node)
{
    struct vel_endpoint endpoint;
    int rc = vel_endpoint_load(service->fs, service->launch_dir, node, &endpoint, NULL);

    if (rc == 0)
        vel_endpoint_fini(&endpoint);
    return rc == VEL_ENOENT;
}

/* An agent that leads there may join yet. */
bool vel_service_is_gone(void *arg, const char *node)
{
    struct vel_service *service = arg;
    const struct vel_role_here here = vel_service_locks(service);
    struct vel_endpoint endpoint;
    int rc = vel_endpoint_load(service->fs, service->launch_dir, node, &endpoint, NULL);

    if (rc < 0)
        return rc == VEL_ENOENT;
    bool is_dead = vel_role_ask(&here, service->launch, &endpoint) == VEL_ROLE_DEAD;
    vel_endpoint_fini(&endpoint);
    return is_dead;
}

bool vel_service_is_last(void *arg, struct vel_buf *ret_other)
{
    struct vel_service *service = arg;
    const struct vel_role_here here = vel_service_locks(service);
    struct vel_vec nodes;
    bool is_last = true;

    if (vel_endpoint_list(service->fs, service->launch_dir, &nodes, NULL) < 0) {
        vel_buf_puts(ret_other, "any");
        return false;
    }
    for (size_t i = 0; is_last && i < nodes.n; i++) {
        const struct vel_endpoint *endpoint = vel_vec_at(&nodes, i);

        is_last = strcmp(endpoint->node, service->host.node) == 0 ||
                  vel_role_ask(&here, service->launch, endpoint) == VEL_ROLE_DEAD;
        if (!is_last)
            vel_buf_puts(ret_other, endpoint->node);
    }
    vel_endpoint_list_fini(&nodes);
    return is_last;
}

void vel_service_left_nodes(void *arg, struct vel_roster *ret, uint64_t now)
{
    struct vel_service *service = arg;
    struct vel_vec nodes;

    if (vel_endpoint_list_left(service->fs, service->launch_dir, &nodes, NULL) < 0)
        return;
    for (size_t i = 0; i < nodes.n; i++) {
        const struct vel_endpoint *endpoint = vel_vec_at(&nodes, i);
        struct vel_buf present;

        vel_buf_init(&present);
        vel_endpoint_put_ended(endpoint, &present);
        if (present.len > 0)
            vel_roster_left(ret, endpoint->node, vel_buf_text(&present), now);
        vel_buf_fini(&present);
    }
    vel_endpoint_list_fini(&nodes);
}
