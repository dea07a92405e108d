/* SPDX-License-Identifier: BSD-3-Clause */
/* The sort network: who compares with whom. */
#include "config.h"

#include <stdlib.h>

#include "base/rng.h"
#include "tap/tap.h"
#include "topo/sortnet.h"

enum { RANKS_MOST = 1100 };

/* Play all rounds; false when somebody is in two pairs at once. */
static bool play(int *values, int size, int *ret_rounds)
{
    struct vel_sortnet net;
    int rounds = 0;

    for (bool more = vel_sortnet_begin(&net, size); more;
         more = vel_sortnet_next(&net)) {
        rounds++;
        for (int i = 0; i < size; i++) {
            int peer = vel_sortnet_partner(&net, i);
            if (peer >= size || peer == i ||
                (peer >= 0 && vel_sortnet_partner(&net, peer) != i))
                return false;
            if (peer > i && values[peer] < values[i]) {
                int lesser = values[peer];
                values[peer] = values[i];
                values[i] = lesser;
            }
        }
    }
    *ret_rounds = rounds;
    return true;
}

static bool is_sorted(const int *values, int size)
{
    for (int i = 1; i < size; i++)
        if (values[i] < values[i - 1])
            return false;
    return true;
}

/* A network sorts everything when it sorts all zeros and ones. */
static void all_zeros_and_ones(void)
{
    int values[14], rounds = 0, bad = 0;

    for (int size = 1; size <= 14; size++)
        for (unsigned bits = 0; bits < 1u << size; bits++) {
            for (int i = 0; i < size; i++)
                values[i] = bits >> i & 1;
            bad += !play(values, size, &rounds) || !is_sorted(values, size);
        }
    is_int(bad, 0, "up to 14 ranks sort everything, each with one partner at a time");
}

static void sizes(void)
{
    static int values[RANKS_MOST];
    struct vel_rng rng;
    int bad = 0, many = 0;

    vel_rng_init(&rng, 4);
    for (int size = 15; size <= RANKS_MOST; size += 1 + size / 40) {
        int rounds = 0, t = 0;
        while (1 << t < size)
            t++;
        for (int i = 0; i < size; i++)
            values[i] = (int)vel_rng_below(&rng, 1000);
        bad += !play(values, size, &rounds) || !is_sorted(values, size);
        many += rounds != t * (t + 1) / 2;
    }
    is_int(bad, 0, "so do more ranks, whether a power of two or not");
    is_int(many, 0, "in as many rounds as the network of that size has");
}

int main(void)
{
    all_zeros_and_ones();
    sizes();
    return done_testing();
}
