/* SPDX-License-Identifier: BSD-3-Clause */
/* files - what tests do with files by the C library alone, so that nothing is tested
 * with itself. A file that cannot be made ends the test program. */
#ifndef TEST_TAP_FILES_H
#define TEST_TAP_FILES_H

#include <stdbool.h>
#include <stddef.h>

/* Make or overwrite a file. */
void tap_put_file(const char *path, const char *text);
void tap_put_bytes(const char *path, const void *bytes, size_t len);

/* In the files of a directory this text gets another first byte, wherever it is: at so
 * many places. */
int tap_damage(const char *dir, const char *text);

/* Is the file's whole content this text? A file that cannot be read is not. */
bool tap_file_is(const char *path, const char *text);

/* The content with a zero byte behind it, NULL when there is no such file; the caller
 * frees it. ret_len may be NULL. */
char *tap_get_file(const char *path, size_t *ret_len);

/* The text of a *.hex file becomes its bytes, in place; their number. Digits become
 * bytes, '#' begins a comment, "@N" at the end fills with zeros up to N bytes, which
 * are at most `room`. A zero byte stands behind the text. */
size_t tap_decode_hex(unsigned char *bytes, size_t len, size_t room);

/* Make a directory, and remove whatever was there. */
void tap_fresh_dir(const char *path);

#endif
