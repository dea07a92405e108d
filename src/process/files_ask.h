/* SPDX-License-Identifier: BSD-3-Clause */
/* files_ask - what has become of a file, and which files can be restored: for programs
 * that want to know, as those do that include H5VLveloc.h. Nothing is made or moved.
 */
#ifndef VEL_PROCESS_FILES_ASK_H
#define VEL_PROCESS_FILES_ASK_H

#include "base/vec.h"
#include "process/files.h"

/* How safe the newest version of a file is: each includes those before it. */
enum vel_file_safety {
    VEL_SAFETY_LOST = -1,  /* that version is: `why` */
    VEL_SAFETY_ABSENT = 0, /* there is no such file */
    VEL_SAFETY_INCOMPLETE, /* it, or another file of its dataset, is written */
    VEL_SAFETY_COMPLETE,   /* the dataset is complete, in the caches of its nodes */
    VEL_SAFETY_PROTECTED,  /* and survives the loss of nodes that the settings name */
    VEL_SAFETY_FLUSHED,    /* it stands at its own path */
};

struct vel_file_standing {
    enum vel_file_safety safety;
    int64_t dataset; /* 0: it has none yet, or stands at its own path */
    uint64_t left;   /* bytes of the dataset that this node has still to move */
    char *why;       /* it is lost, or does not come further; NULL: nothing to say */
};
void vel_file_standing_fini(struct vel_file_standing *standing);

/* Asks until the file is as safe as `wanted`, or lost, but for `seconds` at most: less
 * than that is no failure then. */
int vel_files_await(const struct vel_files_of *of, const char *name,
                    enum vel_file_safety wanted, double seconds,
                    struct vel_file_standing *ret, struct vel_err *err);

/* A file that programs before this launch have left. */
struct vel_file_version {
    char *path;
    int64_t dataset; /* that is the newest with it; a higher one is newer */
    int64_t created; /* seconds since 1970; 0: nobody knows */
    uint64_t size;
    bool is_own;       /* this rank wrote it */
    bool is_cached;    /* the caches give all of the dataset */
    bool is_published; /* the prefix has it */
    char *why;         /* it cannot be restored; NULL: it can */
};

/* Files that fit the pattern (conf/rules.h): struct vel_file_version, the newest
 * dataset first, of each this rank's files first, and of each file the newest version;
 * what is lost comes last. Not of more than `most` datasets, and nothing that is lost
 * then; 0: all. *ret is to be ended after a success.
 *
 * What has been removed by its names is no more. Of a dataset one name is looked for,
 * this rank's if it has one: all files of it are there, or none. */
int vel_files_list(const struct vel_files_of *of, const char *pattern, size_t most,
                   struct vel_vec *ret, struct vel_err *err);
void vel_file_versions_fini(struct vel_vec *versions);

#endif
