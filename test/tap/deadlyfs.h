/* SPDX-License-Identifier: BSD-3-Clause */
/* deadlyfs - the system's files, until an operation that changes one kills the process:
 * before it, in the middle of it, or after it. */
#ifndef TEST_TAP_DEADLYFS_H
#define TEST_TAP_DEADLYFS_H

#include <stdbool.h>

#include "sys/fs.h"

struct vel_fs *deadlyfs(void);

/* After so many operations that go well; how follows from their number. -1: never. */
void deadlyfs_kill_in(long operations);

/* Is it still to come? */
bool deadlyfs_is_due(void);

#endif
