/* SPDX-License-Identifier: BSD-3-Clause */
/* bundle - a tree of small files as one text that people can read and compare.
 *
 *   # a comment
 *   == d PATH MODE                 a directory
 *   == f PATH MODE SECONDS NANO    a file, its time, and behind it its bytes:
 *
 * Printable ASCII stands for itself, every other byte and '%' is %XX, N zero bytes in a
 * row are %{N}. Ends of lines mean nothing. A path is encoded in the same way, a blank
 * too.
 */
#ifndef TEST_TAP_BUNDLE_H
#define TEST_TAP_BUNDLE_H

#include "base/buf.h"

/* Everything below `dir`, appended in sorted order. Ends the program when a file cannot
 * be read. */
void bundle_pack(const char *dir, struct vel_buf *text);

/* The other way round, below `dir`, which is there. The first `from` in a path becomes
 * `to`, unless it is NULL. Ends the program when the text is no bundle. */
void bundle_unpack(const char *text, const char *dir, const char *from, const char *to);

#endif
