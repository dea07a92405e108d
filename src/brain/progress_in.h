/* SPDX-License-Identifier: BSD-3-Clause */
/* progress_in - how far datasets are, as processes and tools are told; 0: all. */
#ifndef VEL_BRAIN_PROGRESS_IN_H
#define VEL_BRAIN_PROGRESS_IN_H

#include "brain/leader_in.h"

/* Is it announced, and have all processes of this node been gone for T? Nobody here
 * seals it any more, and nobody waits for that. */
bool vel_progress_is_deserted(const struct vel_leader *leader,
                              const struct vel_lead *lead);

/* Bytes that are still to be moved, and all that were. */
uint64_t vel_progress_left(const struct vel_leader *leader, int64_t id);
uint64_t vel_progress_moved(const struct vel_leader *leader);

/* Answer by `state`; rc below 0: with that and its text. */
void vel_progress_answer(struct vel_leader *leader, uint64_t link, uint64_t seq,
                         int64_t id, int rc, const char *text);

/* Who drains is answered when nothing is left, or nothing has moved for too long; of
 * one dataset by the chair, and who wants so when it has failed once more. It is tried
 * at once then. */
void vel_progress_once(struct vel_leader *leader, struct vel_leader_wait *wait);
bool vel_progress_drain(struct vel_leader *leader, struct vel_leader_wait *wait);

#endif
