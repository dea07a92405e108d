/* SPDX-License-Identifier: BSD-3-Clause */
/* sparse - large files that take no room: a file system that leaves a hole where zeros
 * would be written, and files that are mostly holes. */
#ifndef TEST_TAP_SPARSE_H
#define TEST_TAP_SPARSE_H

#include <stdbool.h>
#include <stdint.h>

#include "sys/fs.h"

/* redlab_fs(), but pwrite passes over blocks of zeros. What is written must be new, and
 * be given its size by truncate. */
struct vel_fs *sparse_fs(void);

/* Make a file of that size with some bytes, chosen by the seed, at both ends and around
 * each multiple of 1 GiB. False when it cannot be, or is not sparse here. */
bool sparse_make(const char *path, uint64_t size, uint64_t seed);

/* Are all bytes of two files the same? */
bool sparse_same(const char *a, const char *b);

#endif
