/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "topo/sortnet.h"

static void pass_begin(struct vel_sortnet *net, int64_t p)
{
    net->p = p;
    net->q = net->top;
    net->r = 0;
    net->d = p;
}

bool vel_sortnet_begin(struct vel_sortnet *net, int size)
{
    net->size = size;
    net->top = 1;
    while (net->top * 2 < size)
        net->top *= 2;
    pass_begin(net, net->top);
    return size > 1;
}

bool vel_sortnet_next(struct vel_sortnet *net)
{
    if (net->q != net->p) {
        net->d = net->q - net->p;
        net->q /= 2;
        net->r = net->p;
        return true;
    }
    pass_begin(net, net->p / 2);
    return net->p > 0;
}

/* The pairs of a round are (i, i + d) where bit p of i is as in r; of i + d it is the
 * other way, so nobody is in two pairs. */
int vel_sortnet_partner(const struct vel_sortnet *net, int rank)
{
    int64_t above = rank + net->d, below = rank - net->d;

    if ((rank & net->p) == net->r)
        return above < net->size ? (int)above : -1;
    return below >= 0 ? (int)below : -1;
}
