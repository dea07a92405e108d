/* SPDX-License-Identifier: BSD-3-Clause */
/* part_new - parts of a node whose dataset has no id yet: "new.N" in a level's
 * directory, with what a leader must know of them when another one was there before
 * (doc/protocol-leader.txt, 2).
 *
 *   about      record "new": the key, and who made it; before the first file
 *   rank.R/    files of rank R under their cached names, as in a dataset
 *   closed.R   record "closed": those files, with size and order when they are complete
 *   given.R/   an empty file for each that a rank of another node has closed later
 *   anchors.R  record "anchors" (jobs/anchor.h)
 *
 * Written by this node's leader alone, one job of a rank at a time. A file that
 * closed.R does not name is none.
 */
#ifndef VEL_VIEW_PART_NEW_H
#define VEL_VIEW_PART_NEW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"
#include "sys/fs.h"

/* Which dataset they will be of. */
struct vel_new_key {
    char *launch;
    char *template;
    char *step;
    int64_t generation;
    bool is_alone, is_late;
    int64_t ranks; /* of the launch; 0: not known */
    int64_t above; /* no dataset was newer when the first file was made, but of its own
                      launch */
};

void vel_new_key_fini(struct vel_new_key *key);

struct vel_new_file {
    char *name;    /* cached name */
    int64_t order; /* of closing, on this node; 0: it is open */
    int64_t size;
    bool is_given; /* a rank of another node has closed it later, and has it; as loaded
                    */
};

struct vel_new_rank {
    int64_t rank;
    struct vel_vec files; /* struct vel_new_file */
};

struct vel_part_new {
    char *dir; /* LEVEL/new.N */
    int64_t number;
    struct vel_new_key key;
    struct vel_vec ranks; /* struct vel_new_rank, by rank */
};

void vel_part_new_fini(struct vel_part_new *part);

/* "LEVEL/new.N"; NULL when out of memory. */
char *vel_part_new_dir(const char *level, int64_t number);

/* Make one in a level's directory, with a number that none has had. */
int vel_part_new_make(struct vel_fs *fs, const char *level,
                      const struct vel_new_key *key, int64_t *ret_number,
                      struct vel_err *err);

/* It belongs to this key now; what is told of its launch stays. */
int vel_part_new_renumber(struct vel_fs *fs, const char *dir,
                          const struct vel_new_key *key, struct vel_err *err);

/* The path of a rank's file, a new string. */
int vel_part_new_path(const char *dir, int64_t rank, const char *name, char **ret_path,
                      struct vel_err *err);

/* A rank will write a file of this cached name: it is open, and its directory there. */
int vel_part_new_open(struct vel_fs *fs, const char *dir, int64_t rank,
                      const char *name, char **ret_path, struct vel_err *err);

/* It is complete, of this size; said again, what is said last counts. */
int vel_part_new_close(struct vel_fs *fs, const char *dir, int64_t rank,
                       const struct vel_new_file *file, struct vel_err *err);

/* A rank of another node has closed it later: it is none of the dataset, and stays
 * until that is decided. Or, in a dataset's directory: it is none of those after it. */
int vel_part_new_give(struct vel_fs *fs, const char *dir, int64_t rank,
                      const char *name, struct vel_err *err);
bool vel_part_new_is_given(struct vel_fs *fs, const char *dir, int64_t rank,
                           const char *name);

/* It is no file of the dataset any more. What is not there is none. */
int vel_part_new_give_up(struct vel_fs *fs, const char *dir, int64_t rank,
                         const char *name, struct vel_err *err);

/* What one has. VEL_ENOENT: it has no key yet, or is gone. A rank whose record is
 * damaged has closed nothing. */
int vel_part_new_load(struct vel_fs *fs, const char *dir, struct vel_part_new *ret,
                      struct vel_err *err);

/* The files of one rank, struct vel_new_file; none when nothing says so. */
int vel_part_new_files(struct vel_fs *fs, const char *dir, int64_t rank,
                       struct vel_vec *ret, struct vel_err *err);
void vel_new_files_fini(struct vel_vec *files);

/* All below "CACHE/USER/ID", appended to *ret, struct vel_part_new. What is damaged
 * is told in the log and left out; what a crash has left without a key goes. */
int vel_parts_new_scan(struct vel_fs *fs, const char *home, struct vel_vec *ret,
                       struct vel_err *err);
void vel_parts_new_fini(struct vel_vec *parts);

/* The files that are complete up to `upto` belong to a dataset now: they are none here
 * any more. The directory goes with its last file. */
int vel_part_new_leave(struct vel_fs *fs, const char *dir, int64_t rank, int64_t upto,
                       struct vel_err *err);

/* All of it, with the files. */
int vel_part_new_remove(struct vel_fs *fs, const char *dir, struct vel_err *err);

#endif
