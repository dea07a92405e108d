/* SPDX-License-Identifier: BSD-3-Clause */
/* pulllab - nodes with caches of their own in one process: a dataset of one set, a part
 * on each node, one more node with nothing; and sources that read other nodes in any
 * order, and fail as one likes. */
#ifndef TEST_TAP_PULLLAB_H
#define TEST_TAP_PULLLAB_H

#include "tap/rng.h"
#include "pull/pull.h"
#include "red/layout.h"
#include "view/view.h"

enum { PULLLAB_NODES = 12, PULLLAB_DATASET = 7 };

struct pulllab {
    const char *root;
    size_t n; /* members; node n has nothing */
    size_t m;
    enum vel_scheme scheme;
    char *home[PULLLAB_NODES];
    char node[PULLLAB_NODES][8];
    uint64_t state[PULLLAB_NODES]; /* of each part, as it was made */
    bool is_dead[PULLLAB_NODES];
    struct vel_view view;
    bool has_view;
};

/* Make it below root, which is removed first. */
void pulllab_make(struct pulllab *lab, const char *root, enum vel_scheme scheme,
                  size_t n, size_t m, uint64_t seed, size_t most);
void pulllab_fini(struct pulllab *lab);

/* Take the inventories of all nodes that are not dead, and make the view of them. */
void pulllab_look(struct pulllab *lab);

/* "<home>/index.0/dataset.7/rank.<rank>"; the last 8 results stay good */
const char *pulllab_dir(const struct pulllab *lab, size_t node, size_t rank);

/* A node loses its cache. */
void pulllab_lose(struct pulllab *lab, size_t node);

/* Flip a bit of the i-th file of a part; false when there is none, or it is empty. */
bool pulllab_damage(const struct pulllab *lab, size_t node, size_t i, uint64_t seed);

/* Does anything of a part lie on this node, half-made or not? */
bool pulllab_is_clean(const struct pulllab *lab, size_t node);

/* A source that reads the caches of living nodes. */
struct pulllab_source {
    struct vel_pull_source source;
    struct pulllab *lab;
    struct vel_rng rng;
    struct vel_vec under_way; /* struct vel_get * */
    size_t most;              /* bytes that were under way at once */
    size_t answers;
    size_t dies_at; /* the node that is asked for this answer dies before it; 0: none */
    bool has_died;
};
void pulllab_source_init(struct pulllab_source *source, struct pulllab *lab,
                         uint64_t seed);
void pulllab_source_fini(struct pulllab_source *source);

/* Pull a part to a node. */
int pulllab_pull(struct pulllab *lab, struct vel_pull_source *source, size_t to,
                 int rank, struct vel_pulled *ret, struct vel_err *err);

#endif
