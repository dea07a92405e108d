/* SPDX-License-Identifier: BSD-3-Clause */
/* veloc_redset.h - protect lists of files across ranks, and get them back after some
 * are lost. Needs MPI and nothing else of VELOC: neither VELOC_Init nor a
 * configuration.
 *
 * Every rank names the files it wrote in a directory of its own (node-local storage,
 * say). Ranks of different failure groups form sets; applying the set puts one more
 * file into the directory of each rank, from which the members of a set make again what
 * some of them have lost. A later run gets all back with VELOC_Redset_recover(),
 * whatever the scheme was.
 *
 * Calls return VELOC_SUCCESS or VELOC_FAILURE; VELOC_Redset_error() tells what failed.
 * Those that say "Collective." are made by all ranks of the communicator, and succeed
 * or fail on all of them. A set is used by one thread at a time. */
#ifndef VELOC_REDSET_H
#define VELOC_REDSET_H

#include <mpi.h>
#include <stddef.h>

#include "veloc.h"

/* How files are protected. The numbers stand in files. */
#define VELOC_REDSET_SINGLE 1  /* not at all: no member may be lost */
#define VELOC_REDSET_PARTNER 2 /* copies on the next members of the set */
#define VELOC_REDSET_XOR 3     /* parity over the set: any one member may be lost */
#define VELOC_REDSET_RS 4      /* Reed-Solomon: any `failures` members may be lost */

/* VELOC_Redset_recover(): there is nothing to recover, as before the first run. */
#define VELOC_REDSET_NONE 1

#ifdef __cplusplus
extern "C" {
#endif

typedef struct VELOC_Redset_s *VELOC_Redset;

/* 0 and NULL stand for the defaults. All but `directory` is the same on all ranks. */
typedef struct VELOC_Redset_options {
    size_t options_size;   /* of this struct: VELOC_REDSET_OPTIONS sets it */
    int set_size;          /* least number of members of a set; default 8 */
    int failures;          /* PARTNER: copies, default 1; RS: parity blocks, default
                              half of the set */
    int hop_distance;      /* neighbours in a set are so many failure groups apart;
                              default 1 */
    size_t memory;         /* bytes of buffers, from 1 MiB to 1 TiB; default 16 MiB */
    const char *directory; /* of this rank's files; default: the working directory */
    const char *label;     /* begins the names of the files that we add, and tells apart
                              several lists in one directory; default "redset" */
} VELOC_Redset_options;

/* VELOC_Redset_options options = VELOC_REDSET_OPTIONS; */
#define VELOC_REDSET_OPTIONS                                                           \
    {                                                                                  \
        sizeof(VELOC_Redset_options), 0, 0, 0, 0, NULL, NULL                           \
    }

/* Collective. Form sets of the ranks of `comm`, of which a duplicate is kept. Ranks
 * with the same text `group` are likely to be lost together (those of a node: its
 * name), and no two of them are in one set; NULL stands for the name of the node.
 * options may be NULL. On failure *rs is a set of which only VELOC_Redset_error() and
 * VELOC_Redset_delete() are of use, or NULL when memory is short. */
int VELOC_Redset_create(int type, MPI_Comm comm, const char *group,
                        const VELOC_Redset_options *options, VELOC_Redset *rs);

/* Collective. Bring all files back that an earlier run, or this one, protected, and
 * make *rs the set that it used. The type, the groups and the numbers of then are found
 * in the files; of the options only directory, label and memory are looked at. Rank r
 * finds the directory of rank r of then, wherever it is now, or nothing.
 * VELOC_REDSET_NONE: nothing was protected, and *rs is NULL. VELOC_FAILURE: as
 * VELOC_Redset_create(); when too much is lost, nothing was changed. */
int VELOC_Redset_recover(MPI_Comm comm, const VELOC_Redset_options *options,
                         VELOC_Redset *rs);

/* Add a file of this rank to its list: a name relative to the directory, or an absolute
 * one below it. It need not exist yet. Not collective, like the calls below. */
int VELOC_Redset_add(VELOC_Redset rs, const char *file);

/* Empty the list of this rank. Nothing changes on disk. */
int VELOC_Redset_clear(VELOC_Redset rs);

/* The list of this rank, relative to the directory: *n names in *names, which belong to
 * the set until the next call with it. */
int VELOC_Redset_files(VELOC_Redset rs, int *n, const char *const **names);

/* The files that are protected in the directory of this rank as it is on disk, and as
 * the last one the file that we added. Names as with VELOC_Redset_files(). Fails where
 * nothing is protected. */
int VELOC_Redset_protected(VELOC_Redset rs, int *n, const char *const **names);

/* This rank is member *member of *members of set *set of *sets, from 0. Pointers may be
 * NULL. Fails for a rank that was in no set of the run that was recovered. */
int VELOC_Redset_place(VELOC_Redset rs, int *set, int *sets, int *member, int *members);

/* Collective. Protect the files in the lists as they are now. What was protected under
 * the same label before stays so until all is in place, and when this fails. */
int VELOC_Redset_apply(VELOC_Redset rs);

/* Collective. Take the protection off: remove the files that we added. */
int VELOC_Redset_unapply(VELOC_Redset rs);

/* What failed last, as one sentence, "" when nothing did; belongs to the set. rs may be
 * NULL. */
const char *VELOC_Redset_error(VELOC_Redset rs);

/* What VELOC_Redset_recover() made again in the set of this rank: a line for each
 * member that was lost, with the reason; "" when none was. Belongs to the set. */
const char *VELOC_Redset_report(VELOC_Redset rs);

/* Collective. Free the set, and put NULL into *rs. Files stay as they are. */
int VELOC_Redset_delete(VELOC_Redset *rs);

#ifdef __cplusplus
}
#endif

#endif
