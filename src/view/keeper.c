/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdlib.h>

#include "view/view_in.h"

/* What a place has of the dataset: nothing, others' parts, parts of the set. */
enum { EMPTY, STRANGER, MEMBER };

/* Below 0: nobody has it, or no place is there. */
static int holder_of(const struct vel_view_place *part, const int *place_of)
{
    return part->node < 0 || !place_of ? part->node : place_of[part->node];
}

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
            int place = holder_of(part, place_of);

            if (place < 0)
                before += part->rank < rank;
            else if (weight[place] < MEMBER)
                weight[place] = is_its ? MEMBER : STRANGER;
        }
    }
    return before;
}

/* Where a part that nobody has is made again so that it does its set least harm, one
 * after the other. */
static int find_spare(const struct vel_view_dataset *d, const int *place_of, int places,
                      int rank)
{
    int n = 0, at, place = 0;
    uint8_t *weight = calloc((size_t)places, 1), least = MEMBER;

    if (!weight)
        return -1;
    at = weigh(d, place_of, rank, weight);
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

int vel_view_keeper(const struct vel_view_dataset *dataset,
                    const struct vel_view_place *part, const int *place_of, int places)
{
    int place = holder_of(part, place_of);

    return place >= 0 ? place : find_spare(dataset, place_of, places, part->rank);
}
