/* SPDX-License-Identifier: BSD-3-Clause */
/* take - files whose dataset has an id become a node's parts of it
 * (doc/life.txt, 8).
 *
 * What is owed is said with the parts, and each step can be done again: whoever is
 * interrupted calls it once more. In the end every part here has a redundancy file of
 * the scheme SINGLE, under an identity that all nodes make of the seal: with it the
 * dataset can be restored as any other.
 */
#ifndef VEL_JOBS_TAKE_H
#define VEL_JOBS_TAKE_H

#include "base/err.h"
#include "brain/seal.h"
#include "conf/conf.h"
#include "jobs/batches.h"
#include "jobs/placeholders.h"
#include "meta/dataset.h"
#include "sys/fs.h"

/* Everything is borrowed. */
struct vel_take {
    struct vel_fs *fs;
    const struct vel_conf *conf;
    const char *node, *launch;
    const char *prefix;
    char *const *homes;                 /* "CACHE/USER/ID" */
    struct vel_batches *const *batches; /* of each */
    size_t n_homes;
    struct vel_placeholders *placeholders;
    bool is_over; /* the launch: other leaders may have its files in their ledgers */
    const struct vel_seal *seal;
    const struct vel_dataset *dataset; /* as it was settled */
    const char *home;  /* where parts of it are already: LEVEL/dataset.D; or NULL */
    const char *after; /* the same of seal->after */

    /* In which cache parts are made; `from` is where files of it are, NULL: nowhere. No
     * function: in that of the level's store. */
    const char *(*choose)(void *arg, const struct vel_seal *seal, const char *from);
    void *arg;
};

int vel_take(const struct vel_take *take, struct vel_err *err);

#endif
