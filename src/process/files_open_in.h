/* SPDX-License-Identifier: BSD-3-Clause */
/* files_open_in - a file that is open: what files_open (until its last close),
 * files_point (its version points) and files_version (those that others see) share.
 */
#ifndef VEL_PROCESS_FILES_OPEN_IN_H
#define VEL_PROCESS_FILES_OPEN_IN_H

#include <stdatomic.h>
#include <sys/types.h>

#include "process/files_in.h"
#include "view/point.h"

struct vel_file_points {
    struct vel_point *point; /* NULL: there was none yet */
    atomic_bool is_at_one;   /* nothing was written since */
    bool has_no_head;        /* that would be another one if the file were closed */
    bool has_changed;        /* since it was opened */
    int64_t flushes;      /* by which points are numbered: those of all ranks alike */
    uint64_t spent, cost; /* how long copies took; the last one */
    uint64_t retry_at;
    bool knows_rule;
    int64_t every; /* so many flushes are a version; 0: none is */
};

struct vel_file {
    char *path, *place, *why;
    char *name;      /* in the cache */
    uint64_t handle; /* the leader's */
    pid_t pid;
    unsigned opens;   /* by the driver */
    unsigned answers; /* not yet settled */
    bool is_used;     /* it was open for the program */
    bool is_removed;  /* the program has removed it since */
    bool is_home;     /* it goes on at its own path */
    bool is_astray;   /* it is not at the version at which those of other ranks are */
    int64_t dataset;  /* the session's; 0: the leader's */
    bool is_fresh;    /* and it is a part only since this open */
    enum vel_file_was was;
    struct vel_hold *hold; /* NULL: none */
    uint64_t begun;
    struct vel_file_points points;
};

/* It is as it was flushed: that is a point from now on. False: it is none. */
bool vel_file_point(struct vel_file *file, vel_file_head_f *head);

/* Is the last flush the end of a version? Then it is to be ended. */
bool vel_file_ends_version(struct vel_file *file);
void vel_file_end_version(struct vel_file *file, vel_file_head_f *head);

/* What lies at its place is complete; *ret_dataset: for which vel_files_wait_for(). */
int vel_file_complete(const struct vel_file *file, struct vel_client *client,
                      int64_t *ret_dataset, struct vel_err *err);

/* Its bytes, which are `from`, come to its own path. ret_fd may be NULL: they are open
 * for it there. */
int vel_file_bring_home(const struct vel_file *file, const char *from, uint64_t size,
                        int *ret_fd, struct vel_err *err);

/* What was flushed counts no more: it is closed, given up, or elsewhere. */
void vel_file_end_points(struct vel_file *file);

#endif
