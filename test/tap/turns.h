/* SPDX-License-Identifier: BSD-3-Clause */
/* turns - actors of a test that work in one directory at once, one operation at a time:
 * before each of them others may have their turn, and whoever never has one again is
 * frozen. Which it is, and all that is left to chance, comes from one seed.
 *
 * Each has a client of a network file system: that shows a directory as it was, until
 * the actor itself changes it, and what comes or goes while it is listed is in the list
 * or not; the answer to a link may be lost. That not all is shown it says itself, on
 * whatever file system the test is. */
#ifndef TEST_TAP_TURNS_H
#define TEST_TAP_TURNS_H

#include <stdbool.h>

#include "tap/rng.h"
#include "sys/fs.h"

enum { TURNS_MOST = 6 };

/* Actors 0 to n-1, each in a thread of its own that waits for its first turn. */
void turns_begin(int n, void (*what)(int i), const char *dir, struct vel_rng *rng);

/* One operation of actor i, or what it does without any; false: it is done. */
bool turns_give(int i);
bool turns_are_done(int i);

/* Has anything been written, linked or removed since this was asked last? */
bool turns_have_changed(void);

/* All that are not done fail from now on, and end. */
void turns_end(void);

/* An actor waits for its turn; false: it never has one again. */
bool turns_step(void);

/* Their file system; to anybody else it is the real one. */
struct vel_fs *turns_fs(void);

#endif
