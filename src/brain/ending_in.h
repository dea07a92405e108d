/* SPDX-License-Identifier: BSD-3-Clause */
/* ending_in - a leader ends, as the files of the brain see it: what it waits for, and
 * whom it asks. */
#ifndef VEL_BRAIN_ENDING_IN_H
#define VEL_BRAIN_ENDING_IN_H

#include "brain/leader_in.h"

/* --- ending: what a leader without processes waits for --- */

/* Is there anything to be done? */
bool vel_ending_owes(const struct vel_leader *leader);
/* To the chair: have all others left, and will nobody come any more? */
bool vel_ending_is_alone(struct vel_leader *leader);
bool vel_ending_is_drained(struct vel_leader *leader);
/* Is it certain that a lost node does not come back? */
bool vel_ending_is_dead(struct vel_leader *leader, struct vel_roster_member *member);
/* It leaves: whom it has waited for in vain. */
void vel_ending_tell_missed(struct vel_leader *leader);

/* A wait has ended by its time limit. */
void vel_leader_in_vain(const struct vel_leader *leader, uint64_t since,
                        const char *whom, const char *which);

/* --- parting: a node leaves --- */

/* May it? Asks the chair, for T at most. */
bool vel_parting_may(struct vel_leader *leader);
/* It has something to do: the chair is to take it in again if it let it go. */
void vel_parting_stays(struct vel_leader *leader);
void vel_parting_let(struct vel_leader *leader, const struct vel_leader_link *from,
                     uint64_t seq);
/* Tell the chair that it leaves, unless that has let it go. */
void vel_parting_tell(struct vel_leader *leader);
/* To the chair: is that node to take files for a dataset? */
bool vel_parting_is_needed(const struct vel_leader *leader, const char *node);

#endif
