/* SPDX-License-Identifier: BSD-3-Clause */
/* placelab - a leader that follows a script, for programs that only have files: it
 * gives them places in a directory of its own, says of names what it was told to say,
 * and remembers what it was asked.
 */
#ifndef TEST_TAP_PLACELAB_H
#define TEST_TAP_PLACELAB_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/buf.h"
#include "base/vec.h"
#include "ident/role.h"
#include "link/link.h"

enum { PLACES = 16 };

struct placelab {
    /* the script; change it while nothing is asked */
    bool refuses_close; /* and all that could be tried instead */
    struct {
        char name[100];
        unsigned where; /* as in the message `place` */
    } says[PLACES];     /* of names; of others, what it has itself */
    int n_says;
    int64_t dataset;    /* that files in a cache are of; 0: none yet */
    const char *states; /* of it, as digits, one for each question; then the last */
    bool is_encoded;
    const char *text; /* told with the state; NULL: none */

    /* its own */
    char prefix[300], cache[300];
    struct vel_host host;
    struct vel_role *role;
    struct vel_links *links;
    pthread_t thread;
    atomic_bool stops;
    pthread_mutex_t lock; /* guards what follows */
    struct vel_buf heard; /* "create a.h5; close a.h5 0 2048; " */
    struct vel_vec files; /* struct placed, by number */
};

/* Lead launch "L" on this node, and set the environment so that this process and its
 * children find it: prefix, caches and control directory are below the test's. */
void placelab_start(struct placelab *lab);
void placelab_end(struct placelab *lab);

/* From now on it says that of the name. */
void placelab_say(struct placelab *lab, const char *name, unsigned where);

/* What was asked since the last call: good until the next. */
const char *placelab_heard(struct placelab *lab);

/* Where it places the file; good until the next call. */
const char *placelab_place(const struct placelab *lab, const char *name);

#endif
