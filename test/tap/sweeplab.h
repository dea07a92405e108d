/* SPDX-License-Identifier: BSD-3-Clause */
/* sweeplab - what launches have left on a prefix, for sweeps: datasets of one file,
 * seals, and the view of who sweeps. */
#ifndef TEST_TAP_SWEEPLAB_H
#define TEST_TAP_SWEEPLAB_H

#include "brain/seal.h"
#include "jobs/sweep.h"

extern char sweeplab_prefix[4096], sweeplab_dir[4200]; /* PREFIX, PREFIX/.veloc */
extern struct vel_view sweeplab_view;

/* An empty prefix; node "n" has told the view that it holds nothing. */
void sweeplab_fresh(void);

/* A launch begins. */
void sweeplab_make_launch(const char *launch);

/* A dataset of `file` on the prefix, of a rank on `node`; without a name it is the file
 * by itself. Node "n" is here: its seal is not wanted any more. */
int64_t sweeplab_publish(const char *launch, const char *name, const char *file,
                         const char *node);

/* Its files on the prefix could not be fetched. */
void sweeplab_fail(int64_t id);

/* Its seal: with one member, on node "n" if not told otherwise. */
void sweeplab_put_seal(const char *launch, int64_t id, const char *template);
void sweeplab_put_verdict(const char *launch, int64_t id, const char *template,
                          enum vel_verdict verdict, const char *node);

/* A launch is over. */
void sweeplab_end(const char *launch);

/* The view has it, in a cache or on the prefix; the newest is told last. */
void sweeplab_see(int64_t id, bool is_cached);

/* Sweep by that view. */
int sweeplab_sweep(struct vel_fs *by, struct vel_swept *swept);

/* Datasets that are sealed of a launch, "ID ID ". */
const char *sweeplab_sealed(const char *launch);
bool sweeplab_has_seal(const char *launch, int64_t id);
/* Its entry, or its directory, be that on its way out. */
bool sweeplab_is_recorded(int64_t id);

#endif
