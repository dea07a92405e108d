/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "ident/endpoint.h"
#include "ident/joined.h"
#include "ident/role.h"

static void look_at(const struct vel_vec *list, int64_t rank, struct vel_joined *ret)
{
    for (size_t i = 0; i < list->n; i++) {
        const struct vel_endpoint *endpoint = vel_vec_at(list, i);

        ret->has_any = true;
        ret->has_rank = ret->has_rank || vel_endpoint_has_rank(endpoint->ranks, rank);
        ret->has_lost = ret->has_lost || endpoint->has_lost;
    }
}

/* Those who have joined, and how the locks of this machine tell that they are. */
struct members {
    struct vel_vec list; /* struct vel_endpoint */
    enum vel_role_life *lives;
    bool is_anyone_here; /* also one that is about to join */
};

static void members_fini(struct members *members)
{
    free(members->lives);
    vel_endpoint_list_fini(&members->list);
}

static int list_members(struct vel_fs *fs, const struct vel_launch_self *self,
                        const char *launch, const char *dir, struct members *ret,
                        struct vel_err *err)
{
    const struct vel_role_here here = {fs, self->host, self->is_virtual,
                                       self->cntl_base};
    int rc = vel_endpoint_list(fs, dir, &ret->list, err);

    if (rc < 0)
        return rc;
    ret->lives = calloc(ret->list.n + 1, sizeof *ret->lives);
    if (!ret->lives) {
        vel_endpoint_list_fini(&ret->list);
        return vel_out_of_memory(err, launch);
    }
    for (size_t i = 0; i < ret->list.n; i++)
        ret->lives[i] = vel_role_ask(&here, launch, vel_vec_at(&ret->list, i));
    ret->is_anyone_here = ret->list.n > 0 && self->host &&
                          vel_role_is_alive(fs, self->host, self->cntl_base, launch);
    return 0;
}

static bool has_left(const struct vel_vec *left, const struct vel_endpoint *member)
{
    for (size_t i = 0; i < left->n; i++) {
        const struct vel_endpoint *endpoint = vel_vec_at(left, i);

        if (strcmp(endpoint->node, member->node) == 0 &&
            endpoint->epoch == member->epoch &&
            strcmp(endpoint->endpoints, member->endpoints) == 0)
            return true;
    }
    return false;
}

static void look_who_lives(const struct members *members, const struct vel_vec *left,
                           struct vel_joined *ret)
{
    size_t n = 0, dead = 0;

    for (size_t i = 0; i < members->list.n; i++) {
        enum vel_role_life life = members->lives[i];

        if (has_left(left, vel_vec_at(&members->list, i)))
            continue;
        n++;
        dead += life == VEL_ROLE_DEAD || life == VEL_ROLE_LED;
        ret->is_alive = ret->is_alive || life == VEL_ROLE_LIVING;
    }
    ret->is_left = n == 0 && left->n > 0;
    ret->is_dead = n > 0 && dead == n;
    ret->is_alive = ret->is_alive || (n > 0 && members->is_anyone_here);
}

/* Those who have left are looked at last: so whoever leaves meanwhile is seen. */
int vel_joined_find(struct vel_fs *fs, const struct vel_launch_self *self,
                    const char *launch, const char *dir, struct vel_joined *ret,
                    struct vel_err *err)
{
    struct members members = {0};
    struct vel_vec left;
    int rc = list_members(fs, self, launch, dir, &members, err);

    if (rc < 0)
        return rc;
    rc = vel_endpoint_list_left(fs, dir, &left, err);
    *ret = (struct vel_joined){0};
    if (rc == 0) {
        look_at(&members.list, self->rank, ret);
        look_at(&left, self->rank, ret);
        look_who_lives(&members, &left, ret);
        vel_endpoint_list_fini(&left);
    }
    members_fini(&members);
    return rc;
}
