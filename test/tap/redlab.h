/* SPDX-License-Identifier: BSD-3-Clause */
/* redlab - members with files to protect, lose, damage and compare. Every member has a
 * directory "m<i>" below one root; sizes and contents follow from a seed. */
#ifndef TEST_TAP_REDLAB_H
#define TEST_TAP_REDLAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/vec.h"
#include "red/layout.h"
#include "sys/fs.h"

enum { REDLAB_FILES = 4 };

/* The real file system, but fsync does nothing: tests that make thousands of files and
 * lose no power do not wait for the disk. */
struct vel_fs *redlab_fs(void);

/* "<root>/m<i>"; the last 8 results stay good */
const char *redlab_dir(const char *root, size_t member);

/* Make the files of one member: none, empty ones, ones in subdirectories, sizes up to
 * `most` that are multiples of nothing. Names are items char * of *ret_names (free with
 * vel_fs_names_fini). */
void redlab_make(const char *root, size_t member, uint64_t seed, size_t most,
                 struct vel_vec *ret_names);

/* Protect the members 0 .. n-1 in this process. Returns a status. */
int redlab_apply(const char *root, const char *label, enum vel_scheme scheme, size_t n,
                 size_t m, uint64_t seed, size_t most);

/* The same with a descriptor for each member's list. */
typedef void redlab_describe_f(void *arg, size_t member, struct vel_buf *ret);
int redlab_apply_with(const char *root, const char *label, enum vel_scheme scheme,
                      size_t n, size_t m, uint64_t seed, size_t most,
                      redlab_describe_f *describe, void *arg);

/* The same for files that are there, in one of several sets: its members are those from
 * `first` on, which is a multiple of n. names has a list, char *, for each. */
struct redlab_set {
    enum vel_scheme scheme;
    size_t n, m;
    uint64_t seed; /* the same in all sets of an encoding */
    size_t first, sets;
};
int redlab_protect(const char *root, const char *label, const struct redlab_set *set,
                   const struct vel_vec *names, redlab_describe_f *describe, void *arg);

/* A checksum over names, bytes, modes and times of everything below a member's
 * directory. */
uint64_t redlab_state(const char *root, size_t member);
uint64_t redlab_state_of(const char *dir);

/* Remove the directory and all in it; or put it aside, and back in the place of
 * whatever is there now. */
void redlab_lose(const char *root, size_t member);
void redlab_put_aside(const char *root, size_t member);
void redlab_put_back(const char *root, size_t member);

/* Flip a bit of the i-th file (sorted, redundancy file included) of a member, as a disk
 * that lies does: its times stay. The same once more flips it back. False when it has
 * none of that number, or it is empty. */
bool redlab_damage(const char *root, size_t member, size_t i, uint64_t seed);

/* The same for bit `bit` of the header of a member's redundancy file; false behind its
 * end. */
bool redlab_damage_header(const char *root, size_t member, uint64_t bit);

#endif
