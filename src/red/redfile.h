/* SPDX-License-Identifier: BSD-3-Clause */
/* redfile - redundancy files in a directory: found, read, written whole, removed. */
#ifndef VEL_RED_REDFILE_H
#define VEL_RED_REDFILE_H

#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"
#include "red/header.h"
#include "red/member.h"
#include "sys/fs.h"

struct vel_redfile {
    char *path;
    struct vel_red_header header;
};

/* The redundancy files directly in `dir` whose header counts: items of *ret are struct
 * vel_redfile, the newest encoding first. With a label only files of that label and
 * rank. Damaged ones are left out and told in the log. A directory that is not there
 * holds none. */
int vel_redfile_scan(struct vel_fs *fs, const char *dir, const char *label,
                     uint32_t rank, struct vel_vec *ret, struct vel_err *err);
int vel_redfile_scan_all(struct vel_fs *fs, const char *dir, struct vel_vec *ret,
                         struct vel_err *err);
void vel_redfiles_fini(struct vel_vec *redfiles);

static inline struct vel_redfile *vel_redfile_at(const struct vel_vec *redfiles,
                                                 size_t i)
{
    return (struct vel_redfile *)redfiles->items + i;
}

/* That of an encoding; NULL: none of them. */
const struct vel_redfile *vel_redfile_find(const struct vel_vec *redfiles,
                                           const uint8_t id[VEL_ENCODING_ID]);

/* Are all files of list[0] in `dir`, with the recorded sizes, and times where they are
 * dated? The sentence names the first one that is not. Their bytes are read only where
 * they were not brought to the disk, and the machine has been started since. */
int vel_redfile_check_files(struct vel_fs *fs, const char *dir,
                            const struct vel_red_header *header, struct vel_err *err);

/* Bring them to the disk, with their names, and those of `dir` and the one above. */
int vel_redfile_sync_files(struct vel_fs *fs, const char *dir,
                           const struct vel_red_header *header, struct vel_err *err);

/* Put the header in front of a payload that is complete, and make it survive a power
 * loss, unless it is of this boot alone; the name is still the temporary one that the
 * member was opened with. */
int vel_redfile_seal(struct vel_member *member, const struct vel_red_header *header,
                     struct vel_err *err);

/* "<dir>/<name><VEL_RED_TEMPORARY>", a new string; NULL when out of memory. */
#define VEL_RED_TEMPORARY ".h5vtmp"
char *vel_red_temporary(const char *dir, const char *name);

/* Remove what a crash left of unfinished redundancy files of this label and rank. */
void vel_redfile_sweep(struct vel_fs *fs, const char *dir, const char *label,
                       uint32_t rank);

#endif
