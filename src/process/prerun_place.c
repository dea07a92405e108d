/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "ident/endpoint.h"
#include "process/prerun_in.h"
#include "view/view_in.h"

/* As launchers put ranks on nodes in blocks: each node as many as the others, the first
 * ones one more. Virtual nodes are dealt as topo/group.h says. */
static int block_of(const struct vel_prerun *p, int rank, int ranks)
{
    int nodes = p->of->nodes, each = ranks / nodes, more = ranks % nodes;

    if (p->of->conf->virtual_nodes > 0)
        return (int)((int64_t)rank * nodes / ranks);
    return rank < more * (each + 1) ? rank / (each + 1)
                                    : more + (rank - more * (each + 1)) / each;
}

static int lister_of(const struct vel_prerun *p, int rank)
{
    for (int i = 0; i < p->of->nodes; i++)
        if (vel_endpoint_has_rank(p->lists[i], rank))
            return i;
    return -1;
}

int vel_prerun_place(const void *prerun, const struct vel_view_dataset *d,
                     const struct vel_view_place *part)
{
    const struct vel_prerun *p = prerun;
    bool is_member = part->rank >= d->about.ranks; /* without files: no rank's */
    int tool = p->has_lists && !is_member ? lister_of(p, part->rank) : -1;

    if (tool >= 0)
        return tool;
    if (!p->has_lists && !p->of->keeps && !is_member)
        return block_of(p, part->rank, d->about.ranks);
    return vel_view_keeper(d, part, p->tools, p->of->nodes);
}
