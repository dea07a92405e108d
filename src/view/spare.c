/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdlib.h>

#include "view/view_in.h"

/* What a place has of the dataset: nothing, others' parts, parts of the set. */
enum { EMPTY, STRANGER, MEMBER };

/* Of each place; and how many parts of lower ranks nobody has, either. */
static int weigh(const struct vel_view_dataset *d, const int *place_of, int rank,
                 uint8_t *weight)
{
    int before = 0;

    for (size_t s = 0; s < d->sets.n; s++) {
        const struct vel_view_set *set = vel_vec_at(&d->sets, s);
        bool is_its = false;

        for (size_t i = 0; i < set->places.n; i++)
            is_its |= vel_view_place_at(set, i)->rank == rank;
        for (size_t i = 0; i < set->places.n; i++) {
            const struct vel_view_place *part = vel_view_place_at(set, i);
            int place = part->node < 0 ? -1 : place_of[part->node];

            if (place < 0)
                before += part->rank < rank;
            else if (weight[place] < MEMBER)
                weight[place] = is_its ? MEMBER : STRANGER;
        }
    }
    return before;
}

int vel_view_spare(const struct vel_view_dataset *dataset, const int *place_of,
                   int places, int rank)
{
    int n = 0, at, place = 0;
    uint8_t *weight = calloc((size_t)places, 1), least = MEMBER;

    if (!weight)
        return -1;
    at = weigh(dataset, place_of, rank, weight);
    for (int i = 0; i < places; i++)
        if (weight[i] < least)
            least = weight[i];
    for (int i = 0; i < places; i++)
        n += weight[i] == least;
    at %= n;
    for (int i = 0; i < places; i++)
        if (weight[i] == least && at-- == 0)
            place = i;
    free(weight);
    return place;
}
