/* SPDX-License-Identifier: BSD-3-Clause */
/* pages - memory straight from the system, for large buffers through which files and
 * messages pass.
 *
 * Who moves a message from one process to another without a copy between looks up every
 * page of it; with small pages that costs as much as the bytes. So what is long enough
 * lies on huge pages, where the system has them. And it goes back to the system when it
 * is freed.
 */
#ifndef VEL_SYS_PAGES_H
#define VEL_SYS_PAGES_H

#include <stddef.h>

/* `len` > 0 bytes of zeros, at the beginning of a page; freed by vel_pages_free() with
 * the same length. NULL when memory is short. */
void *vel_pages_alloc(size_t len);

/* The first `len` bytes of an open file, which has them, as memory: what is stored
 * there is in the file, also when the process is killed. Freed like pages; the file may
 * be closed before. NULL when it cannot be. */
void *vel_pages_map(int fd, size_t len);

/* NULL is nothing. Keeps errno. */
void vel_pages_free(void *pages, size_t len);

#endif
