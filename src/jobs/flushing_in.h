/* SPDX-License-Identifier: BSD-3-Clause */
/* flushing_in - a node's share of a flush under way. */
#ifndef VEL_JOBS_FLUSHING_IN_H
#define VEL_JOBS_FLUSHING_IN_H

#include "jobs/copying.h"
#include "jobs/flushing.h"
#include "xfer/crew.h"
#include "xfer/flush_in.h"

struct vel_share {
    const struct vel_flushing *flushing;
    const struct vel_flush_job *job;
    struct vel_err *err;
    struct vel_crew crew;             /* of this process alone */
    struct vel_vec files;             /* struct vel_flush_file */
    struct vel_flush_target *targets; /* one per file; empty for those that were
                                         written through. Of a container the last
                                         file has it */
    struct vel_copying note;          /* what was noted last */
    struct vel_buf saved;             /* the list as this share has saved it last, */
    bool has_lasting;                 /* and so that it lasts */
    size_t first;                     /* the file to go on with */
    uint64_t since;                   /* bytes since the last note */
    struct vel_delta *delta;          /* NULL: files are copied whole */
    struct vel_flush_copied copied;
};

/* Without files; vel_share_fini() is due whatever comes of it. */
int vel_share_init(struct vel_share *s, const struct vel_flushing *flushing,
                   const struct vel_flush_job *job, struct vel_err *err);
void vel_share_fini(struct vel_share *s);

/* The files of all parts, by rank, from what is in the cache; or those that are listed
 * on the prefix, of which VEL_ENOENT: none; or, when that list is lost, what may have
 * come there. */
int vel_share_find(struct vel_share *s);
int vel_share_list(struct vel_share *s);
int vel_share_guess(struct vel_share *s);
struct vel_flush_file *vel_share_file(const struct vel_share *s, size_t i);

/* Into containers, beginning anew: plan it when the files are found, before they are
 * listed; and copy them then. */
int vel_share_pack(struct vel_share *s);
int vel_share_fill(struct vel_share *s);

/* Find where a listed file lies in the cache: false, no part of the job has it. */
bool vel_share_find_source(struct vel_share *s, size_t i);

/* File i came as a patch, and takes its name; *ret_path: where it is, if that is not
 * where it was to be. VEL_EEXIST: somebody else's stands there, and stays. */
int vel_share_name_patch(struct vel_share *s, size_t i, char **ret_path);

/* File i as it is copied. */
struct vel_xfer_file vel_share_what(const struct vel_share *s, size_t i);
/* Files whose names the program has removed are not flushed: file i is none of the
 * dataset's on the prefix then, and its temporary goes. */
bool vel_share_is_wanted(const struct vel_share *s, size_t i);
int vel_share_leave_out(struct vel_share *s, size_t i);
int vel_share_drop_unwanted(struct vel_share *s);

/* The names of all files, where it is known which are in containers. */
int vel_share_find_targets(struct vel_share *s);
/* Whose number is in the temporary names of this share. */
int64_t vel_share_whose(const struct vel_share *s);
/* Where file i goes for an owner. */
int vel_share_target(const struct vel_share *s, int64_t owner, size_t i,
                     struct vel_flush_target *ret, struct vel_err *err);

/* List the files on the prefix, if they are not listed so. A short list lasts if it
 * must: the entry is to have it when all are copied. */
int vel_share_save(struct vel_share *s, bool must_last);

/* Remove the temporary names of a file, of all owners up to ours; of all files those of
 * one owner, 0: of a session; of all before ours but whose we name. */
int vel_share_remove_file(struct vel_share *s, size_t i);
int vel_share_remove_of(struct vel_share *s, int64_t owner);
int vel_share_remove_past(struct vel_share *s);

/* Note where the copy is: at file `i`, of which so much is there. VEL_ESTATE: there is
 * a newer owner. */
int vel_share_note(struct vel_share *s, size_t i, uint64_t offset, uint32_t crc);

/* What was noted, by whomever; and that it is so no more: on the disk, before files
 * are made anew. */
int vel_share_noted(struct vel_share *s, struct vel_copying *ret);
int vel_share_forget(struct vel_share *s);

/* Does a vendor's service move it? Let it, or go on with what it moves already; or stop
 * what it moves of the files listed. */
bool vel_share_is_moved(const struct vel_share *s);
int vel_share_move(struct vel_share *s);
void vel_share_stop(struct vel_share *s);

/* Of one process. */
struct vel_crew vel_flushing_crew(const struct vel_flushing *f);

/* Says of a published dataset that it has lost files to dataset `by`, if it has: it
 * cannot be fetched any more. */
int vel_flushing_mark_lost(const struct vel_crew *crew, struct vel_entry *e, int64_t by,
                           struct vel_err *err);

#endif
