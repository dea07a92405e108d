/* SPDX-License-Identifier: BSD-3-Clause */
/* links_in - who is connected to a leader, for the files of the brain. A chair has a
 * link to each other leader, and hears of all of them: none is searched for one by one.
 */
#ifndef VEL_BRAIN_LINKS_IN_H
#define VEL_BRAIN_LINKS_IN_H

#include "base/buf.h"
#include "brain/leader.h"

enum vel_leaving { VEL_STAYS, VEL_DRAINS, VEL_LEAVES, VEL_FAILS }; /* as it has said */

struct vel_leader_link {
    uint64_t number;
    uint64_t met; /* which it was of all that were met */
    enum vel_leader_role role;
    char *node;
    int64_t rank;
    uint64_t epoch;
    bool is_child; /* in the tree */
    enum vel_leaving leaving;
    uint64_t asked_at; /* it has pulled a piece of a part from here */
};

void vel_link_init(struct vel_leader *leader);

/* NULL: it is gone. */
struct vel_leader_link *vel_leader_link(const struct vel_leader *leader,
                                        uint64_t number);

/* A link to a node's leader, or NULL. */
struct vel_leader_link *vel_leader_link_to(const struct vel_leader *leader,
                                           const char *node);
/* Takes its node. NULL: out of memory, and the leader cannot go on. */
struct vel_leader_link *vel_link_add(struct vel_leader *leader,
                                     const struct vel_leader_link *link);
void vel_link_remove(struct vel_leader *leader, const struct vel_leader_link *link);
size_t vel_leader_processes(const struct vel_leader *leader);
struct vel_leader_link *vel_leader_process(const struct vel_leader *leader, size_t i);

/* Ranks that are here, as a text of the messages. */
void vel_leader_present(const struct vel_leader *leader, struct vel_buf *ret);

#endif
