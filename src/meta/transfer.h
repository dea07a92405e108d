/* SPDX-License-Identifier: BSD-3-Clause */
/* transfer - record "transfer": what a transfer service was told to move, for as long
 * as it may be at it (doc/format-meta.txt). When the process that told it dies, a later
 * one on the same node finds out by this record how that has ended, or ends it.
 */
#ifndef VEL_META_TRANSFER_H
#define VEL_META_TRANSFER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"
#include "sys/fs.h"

/* Which transfer; its name on disk says as much. */
struct vel_transfer_id {
    char *node;      /* whose service has it: nobody else may touch it */
    int64_t dataset; /* id */
    int rank;        /* that handed the files over */
    int attempt;     /* of the dataset's flush, as in its entry */
};

/* One of its files. */
struct vel_transfer_file {
    char *from;    /* absolute */
    char *name;    /* its cached name: it tells where the file goes */
    uint64_t size; /* bytes */
};

struct vel_transfer_record {
    struct vel_transfer_id id;
    int64_t owner; /* of the dataset's flush, as in its entry; 0: none */
    char *service; /* name of the plug-in */
    char *store;   /* directory of the store that the files lie on */
    bool has_state;
    struct vel_buf state; /* what the plug-in resumes it by; none: perhaps not begun */
    struct vel_vec files; /* struct vel_transfer_file */
};

void vel_transfer_id_fini(struct vel_transfer_id *id);
void vel_transfer_record_init(struct vel_transfer_record *record);
void vel_transfer_record_fini(struct vel_transfer_record *record);

/* The name of its file, and back: false for any other name. ret_id is to be freed. */
char *vel_transfer_name(const struct vel_transfer_id *id);
bool vel_transfer_name_parse(const char *name, struct vel_transfer_id *ret_id);

/* `dir` is PREFIX/.veloc everywhere below. */
int vel_transfer_record_save(struct vel_fs *fs, const char *dir,
                             const struct vel_transfer_record *record,
                             struct vel_err *err);
/* VEL_ECORRUPT also for the record of another transfer. */
int vel_transfer_record_load(struct vel_fs *fs, const char *dir,
                             const struct vel_transfer_id *id,
                             struct vel_transfer_record *ret, struct vel_err *err);
int vel_transfer_record_remove(struct vel_fs *fs, const char *dir,
                               const struct vel_transfer_id *id, struct vel_err *err);

/* The bytes of the record. */
int vel_transfer_record_encode(const struct vel_transfer_record *record,
                               struct vel_buf *ret, struct vel_err *err);
int vel_transfer_record_decode(const void *bytes, size_t len,
                               struct vel_transfer_record *ret, struct vel_err *err);

/* The names of all that are there, items char *, freed by vel_fs_names_fini(): also of
 * what is none, but for temporaries, which are removed. No directory is an empty one.
 */
int vel_transfer_list(struct vel_fs *fs, const char *dir, struct vel_vec *ret_names,
                      struct vel_err *err);

#endif
