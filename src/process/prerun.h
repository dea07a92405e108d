/* SPDX-License-Identifier: BSD-3-Clause */
/* prerun - before a program starts: a launch of tools, one on each node, brings what it
 * can restart from to where its ranks will run (doc/protocol.txt, 11).
 */
#ifndef VEL_PROCESS_PRERUN_H
#define VEL_PROCESS_PRERUN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "conf/conf.h"
#include "meta/dataset.h"
#include "sys/clock.h"
#include "sys/fs.h"
#include "sys/host.h"

/* What came of a dataset, parts of all nodes counted. */
struct vel_prerun_dataset {
    const struct vel_dataset *about;
    const struct vel_err *failed; /* NULL: it is in place */
    int64_t here;                 /* parts that were where they are to be */
    int64_t copied;               /* that came from the node that had them */
    int64_t rebuilt;              /* from the others of their sets */
    int64_t on_prefix;            /* whose files stand there, in no cache any more */
    int64_t exposed;              /* sets that have several parts on one node now */
    double seconds;
    bool is_encoded, is_flushed; /* now, since that was still owed */
};

/* Everything is borrowed. */
struct vel_prerun_of {
    struct vel_fs *fs;
    struct vel_clock *clock;
    const struct vel_host *host; /* the machine, and the user */
    const struct vel_conf *conf;
    const char *prefix; /* the directory itself */
    int node, nodes;    /* this tool's number, from 0, of so many */
    const char *ranks;  /* those that will run here, "0-3 7"; NULL: not said */
    bool keeps;         /* parts stay where they are; without ranks */

    /* On node 0: a dataset is done. */
    void (*tell)(void *arg, const struct vel_prerun_dataset *dataset);
    void *arg;
};

struct vel_prerun_done {
    int64_t datasets, failed; /* all, and those that are not in place */
    int64_t stubs;            /* that were removed */
    uint64_t left;            /* bytes that could not be encoded or flushed now, */
    struct vel_err why;       /* for this reason */
};

/* Collective over the tools. VEL_ENOENT: no program has worked with the prefix. */
int vel_prerun_recover(const struct vel_prerun_of *of, struct vel_prerun_done *ret,
                       struct vel_err *err);

#endif
