/* SPDX-License-Identifier: BSD-3-Clause */
/* Links are found by their numbers, and those of processes are also listed by
 * themselves.
 */
#include "config.h"

#include <string.h>

#include "brain/leader_in.h"

struct vel_link_number {
    uint64_t number, met;
};

static int compare_numbers(const void *a, const void *b)
{
    const struct vel_link_number *left = a, *right = b;

    return (left->number > right->number) - (left->number < right->number);
}

static int compare_met(const void *a, const void *b)
{
    const struct vel_leader_link *left = a, *right = b;

    return (left->met > right->met) - (left->met < right->met);
}

void vel_link_init(struct vel_leader *leader)
{
    vel_vec_init(&leader->links, sizeof(struct vel_leader_link));
    vel_vec_init(&leader->numbers, sizeof(struct vel_link_number));
    vel_vec_init(&leader->processes, sizeof(uint64_t));
}

struct vel_leader_link *vel_leader_link(const struct vel_leader *leader,
                                        uint64_t number)
{
    struct vel_link_number known = {.number = number};
    struct vel_leader_link key = {.number = number};
    bool is_there;
    size_t i = vel_vec_place(&leader->numbers, &known, compare_numbers, &is_there);

    if (!is_there)
        return NULL;
    key.met = ((struct vel_link_number *)vel_vec_at(&leader->numbers, i))->met;
    i = vel_vec_place(&leader->links, &key, compare_met, &is_there);
    return is_there ? vel_vec_at(&leader->links, i) : NULL;
}

struct vel_leader_link *vel_leader_link_to(const struct vel_leader *leader,
                                           const char *node)
{
    bool is_other = node && strcmp(node, leader->conf.node) != 0;

    for (size_t i = leader->links.n; is_other && i > 0; i--) {
        struct vel_leader_link *link = vel_vec_at(&leader->links, i - 1);

        if (link->role == VEL_ROLE_LEADER && strcmp(link->node, node) == 0)
            return link;
    }
    return NULL;
}

size_t vel_leader_processes(const struct vel_leader *leader)
{
    return leader->processes.n;
}

struct vel_leader_link *vel_leader_process(const struct vel_leader *leader, size_t i)
{
    return vel_leader_link(leader, *(uint64_t *)vel_vec_at(&leader->processes, i));
}

void vel_leader_present(const struct vel_leader *leader, struct vel_buf *ret)
{
    for (size_t i = 0; i < leader->processes.n; i++) {
        const struct vel_leader_link *link = vel_leader_process(leader, i);

        if (link->rank != VEL_MSG_NO_RANK)
            vel_buf_printf(ret, "%s%lld", ret->len > 0 ? " " : "",
                           (long long)link->rank);
    }
}

struct vel_leader_link *vel_link_add(struct vel_leader *leader,
                                     const struct vel_leader_link *link)
{
    struct vel_link_number known = {link->number, ++leader->last_met};
    struct vel_leader_link met = *link;
    bool is_there;
    size_t at = vel_vec_place(&leader->numbers, &known, compare_numbers, &is_there);

    met.met = known.met;
    if (!vel_vec_insert(&leader->numbers, at, &known) ||
        !vel_vec_push(&leader->links, &met) ||
        (link->role == VEL_ROLE_PROCESS &&
         !vel_vec_push(&leader->processes, &link->number)))
        return NULL;
    return vel_vec_at(&leader->links, leader->links.n - 1);
}

void vel_link_remove(struct vel_leader *leader, const struct vel_leader_link *link)
{
    struct vel_link_number known = {.number = link->number};
    bool is_there;
    size_t at = vel_vec_place(&leader->numbers, &known, compare_numbers, &is_there);

    for (size_t i = leader->processes.n; i > 0; i--)
        if (*(uint64_t *)vel_vec_at(&leader->processes, i - 1) == link->number)
            vel_vec_remove(&leader->processes, i - 1);
    if (is_there)
        vel_vec_remove(&leader->numbers, at);
    vel_vec_remove(&leader->links,
                   (size_t)(link - (struct vel_leader_link *)leader->links.items));
}
