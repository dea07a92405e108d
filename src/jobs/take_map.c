/* SPDX-License-Identifier: BSD-3-Clause */
/* The map of a part that is taken: its level, and its place in the sets. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "jobs/take_in.h"
#include "topo/seats.h"

static const struct vel_seal_member *seat(const struct vel_seal *seal, int64_t set,
                                          int64_t place)
{
    for (size_t i = 0; i < seal->members.n; i++)
        if (vel_seal_member(seal, i)->set == set &&
            vel_seal_member(seal, i)->place == place)
            return vel_seal_member(seal, i);
    return NULL;
}

static int set_neighbour(const struct vel_seal_member *member,
                         struct vel_neighbour *ret, struct vel_err *err)
{
    ret->place = (uint32_t)member->place;
    ret->rank = (int)member->rank;
    ret->node = strdup(member->node);
    return ret->node ? 0 : vel_out_of_memory(err, "a map");
}

/* Its place among all sets, and who sits beside it. */
static int set_place(const struct vel_seal *seal, const struct vel_seal_member *member,
                     struct vel_reddesc *desc, struct vel_err *err)
{
    const struct vel_seal_member *lhs, *rhs;
    int64_t size = 0;
    int rc;

    for (size_t i = 0; i < seal->members.n; i++)
        size += vel_seal_member(seal, i)->set == member->set;
    desc->place = (struct vel_place){.set = (uint32_t)member->set,
                                     .sets = (uint32_t)vel_seal_sets(seal),
                                     .rank = (uint32_t)member->place,
                                     .ranks = (uint32_t)size};
    lhs = seat(seal, member->set, (member->place + size - 1) % size);
    rhs = seat(seal, member->set, (member->place + 1) % size);
    if (!lhs || !rhs)
        return vel_fail(err, VEL_ECORRUPT, "set %" PRId64 " lacks a place",
                        member->set);
    rc = set_neighbour(lhs, &desc->lhs, err);
    return rc == 0 ? set_neighbour(rhs, &desc->rhs, err) : rc;
}

int vel_take_map(const struct vel_take *take, const char *level,
                 const struct vel_seal_member *member, struct vel_filemap *ret,
                 struct vel_err *err)
{
    char *above = vel_path_dir(level);
    struct vel_reddesc desc;
    int rc =
        above ? vel_seats_describe(take->conf, (size_t)member->level, above, &desc, err)
              : vel_out_of_memory(err, "a map");

    free(above);
    if (rc < 0)
        return rc;
    desc.scheme = (enum vel_scheme)member->scheme;
    desc.m = (size_t)member->failures;
    rc = set_place(take->seal, member, &desc, err);
    *ret = (struct vel_filemap){.rank = (int)member->rank};
    if (rc == 0)
        rc = vel_dataset_copy(take->dataset, &ret->dataset, err);
    if (rc == 0 && !(ret->descriptor = vel_reddesc_to_node(&desc)))
        rc = vel_out_of_memory(err, "a map");
    vel_reddesc_fini(&desc);
    if (rc < 0)
        vel_filemap_fini(ret);
    return rc;
}
