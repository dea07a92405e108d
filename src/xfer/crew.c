/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "xfer/crew.h"

enum { TAG_TURN = 0x5800 };

static bool is_narrow(const struct vel_crew *crew, int width)
{
    return width > 0 && width < crew->nodes;
}

int vel_crew_enter(const struct vel_crew *crew, int width, struct vel_err *err)
{
    char turn;
    int rc = 0;

    if (!is_narrow(crew, width))
        return 0;
    if (crew->leaders && crew->node_id >= width)
        rc = vel_comm_recv(crew->leaders, crew->node_id - width, TAG_TURN, &turn, 1,
                           err);
    return vel_comm_agree(crew->node, rc, err);
}

int vel_crew_leave(const struct vel_crew *crew, int width, struct vel_err *err)
{
    char turn = 0;
    int rc;

    if (!is_narrow(crew, width))
        return 0;
    rc = vel_comm_barrier(crew->node, err);
    if (rc == 0 && crew->leaders && crew->node_id + width < crew->nodes)
        rc = vel_comm_send(crew->leaders, crew->node_id + width, TAG_TURN, &turn, 1,
                           err);
    return rc;
}
