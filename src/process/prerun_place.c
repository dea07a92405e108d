/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdlib.h>

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

/* The tool on the node that has it; -1: nobody has it, or no tool is there. */
static int holder_of(const struct vel_prerun *p, const struct vel_view_place *part)
{
    return part->node < 0 ? -1 : p->tools[part->node];
}

enum {
    EMPTY,
    STRANGER,
    MEMBER
}; /* what a node has of the dataset: nothing, others'
      parts, parts of the set */

/* Of each tool; and how many parts of lower ranks nobody has, either. */
static int weigh(const struct vel_prerun *p, const struct vel_view_dataset *d, int rank,
                 uint8_t *weight)
{
    int before = 0;

    for (size_t s = 0; s < d->sets.n; s++) {
        const struct vel_view_set *set = vel_vec_at(&d->sets, s);
        bool is_its = false;

        for (size_t i = 0; i < set->places.n; i++)
            is_its |= vel_view_place_at(set, i)->rank == rank;
        for (size_t i = 0; i < set->places.n; i++) {
            const struct vel_view_place *place = vel_view_place_at(set, i);
            int tool = holder_of(p, place);

            if (tool < 0)
                before += place->rank < rank;
            else if (weight[tool] < MEMBER)
                weight[tool] = is_its ? MEMBER : STRANGER;
        }
    }
    return before;
}

/* What nobody has goes where it does its set least harm, one after the other. */
static int spare_for(const struct vel_prerun *p, const struct vel_view_dataset *d,
                     int rank)
{
    int nodes = p->of->nodes, n = 0, at, tool = 0;
    uint8_t *weight = calloc((size_t)nodes, 1), least = MEMBER;

    if (!weight)
        return rank % nodes;
    at = weigh(p, d, rank, weight);
    for (int i = 0; i < nodes; i++)
        if (weight[i] < least)
            least = weight[i];
    for (int i = 0; i < nodes; i++)
        n += weight[i] == least;
    at %= n;
    for (int i = 0; i < nodes; i++)
        if (weight[i] == least && at-- == 0)
            tool = i;
    free(weight);
    return tool;
}

int vel_prerun_place(const struct vel_prerun *p, const struct vel_view_dataset *d,
                     const struct vel_view_place *part)
{
    bool is_member = part->rank >= d->about.ranks; /* without files: no rank's */
    int tool = p->has_lists && !is_member ? lister_of(p, part->rank) : -1;

    if (tool >= 0)
        return tool;
    if (!p->has_lists && !p->of->keeps && !is_member)
        return block_of(p, part->rank, d->about.ranks);
    tool = holder_of(p, part);
    return tool >= 0 ? tool : spare_for(p, d, part->rank);
}
