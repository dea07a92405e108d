/* SPDX-License-Identifier: BSD-3-Clause */
/* pull - one part comes to this node, by the first way that works: it is here; from the
 * node that has it; rebuilt for this opener alone from the others of its set; from the
 * prefix (doc/life.txt, 14).
 *
 * Sources are only read, so several nodes may pull the same part. A part gets its name
 * when every byte has the checksum that was recorded; until then it is rank.R.new,
 * which nobody looks at.
 */
#ifndef VEL_PULL_PULL_H
#define VEL_PULL_PULL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "meta/index.h"
#include "pull/give.h"
#include "sys/fs.h"
#include "view/view.h"
#include "xfer/watch.h"

/* One `want` under way. The asker owns it and its room until it is done or dropped. */
struct vel_get {
    const char *node; /* who is asked */
    struct vel_want want;
    void *bytes; /* room for want.len */

    /* the answer */
    int rc; /* above 0: none yet; 0; VEL_ELOST: the node is gone; or what it said */
    struct vel_err err;
    uint64_t size; /* of the file */
    uint32_t got;
};

/* How other nodes are read: over connections, or in tests as one likes. One thread uses
 * a source. */
struct vel_pull_source {
    const struct vel_pull_source_ops
        *ops; /* a source embeds this as its first member */
};

struct vel_pull_source_ops {
    /* Ask. Returns at once; many may be under way. A failure is of this one alone, as
     * if it had been answered so. */
    int (*begin)(struct vel_pull_source *source, struct vel_get *get,
                 struct vel_err *err);
    /* The next one that is done, in any order, and not before is its answer written. It
     * bounds every wait: a node that is silent for T is gone. Only called while one is
     * under way. */
    struct vel_get *(*next)(struct vel_pull_source *source);
    /* Forget all that are under way: their rooms are not touched any more. */
    void (*drop)(struct vel_pull_source *source);
};

/* Put the answer to a `want` into its get: `give`, `no`, or NULL when the node is gone.
 * Checks the checksum of the bytes on their way. */
void vel_get_answer(struct vel_get *get, const struct vel_msg *answer);

/* Parts that are being pulled to this node: a second opener waits for the first. And
 * those that were: a byte is compared with its checksum once. */
struct vel_pulls;
struct vel_pulls *vel_pulls_create(void); /* NULL when out of memory */
void vel_pulls_destroy(struct vel_pulls *pulls);

enum { VEL_PULL_WINDOW = 4 << 20 };

/* How a node pulls. Everything is borrowed. */
struct vel_pull_how {
    struct vel_fs *fs;
    const char *node;   /* this one, as the view names it */
    char *const *homes; /* its caches, "CACHE/USER/ID" */
    size_t n_homes;
    const char *prefix;             /* NULL: it is not there */
    struct vel_index *index;        /* of that */
    bool may_fetch;                 /* out of containers there, to a cache (FETCH) */
    struct vel_pull_source *source; /* NULL: no other node can be asked */
    bool asks_itself;               /* this node is read through the source, too */
    bool trusts_sizes;              /* what is here is whole when its sizes are right */
    size_t window;                  /* bytes under way; 0: VEL_PULL_WINDOW */
    const struct vel_watch *watch;  /* told the bytes that have come; may say stop */
    struct vel_pulls *pulls;        /* NULL: the caller pulls one at a time */
};

struct vel_pull {
    const struct vel_view_dataset *dataset;
    const struct vel_view *view;   /* that has it: for the names of nodes */
    const struct vel_entry *entry; /* of the prefix; NULL: none */
    int rank;
    const char *home; /* one of homes, where the part comes to lie */
    bool is_suspect;  /* it is read again, also when a pull before has done so */
    bool no_rebuild;  /* the others of its set are asked together, by whoever pulls */
};

enum vel_pull_way {
    VEL_PULL_HERE,    /* it was in a cache of this node */
    VEL_PULL_OWNER,   /* copied from the node that has it */
    VEL_PULL_REBUILT, /* from the others of its set */
    VEL_PULL_NATIVE,  /* nothing came: its files stand on the prefix, whole */
    VEL_PULL_FETCHED, /* out of containers on the prefix, without redundancy */
    VEL_PULL_WAYS
};

struct vel_pulled {
    enum vel_pull_way way;
    char *dir;      /* rank.R with the files; NULL: native */
    uint64_t bytes; /* that were asked of other nodes, or read here instead */
};

/* Blocks; for a worker thread. What was damaged or rebuilt is told in a warning. The
 * failure names part and node, and why each way did not work; nothing half-made is left
 * then. VEL_ECANCEL: the watch said stop. */
int vel_pull(const struct vel_pull_how *how, const struct vel_pull *what,
             struct vel_pulled *ret, struct vel_err *err);

/* Is all of a part there, with its size, in a dataset's directory `home`? For one that
 * is kept there alone. */
int vel_pull_check_part(struct vel_fs *fs, const char *home, int64_t rank,
                        struct vel_err *err);
void vel_pulled_fini(struct vel_pulled *pulled);

#endif
