/* SPDX-License-Identifier: BSD-3-Clause */
/* settle - all processes of a communicator owe for their parts of a dataset, and the
 * first one settles it (doc/protocol-leader.txt, 11): those of a session, and the tools
 * before a program.
 */
#ifndef VEL_ENGINE_SETTLE_H
#define VEL_ENGINE_SETTLE_H

#include "brain/seal.h"
#include "comm/comm.h"
#include "engine/background.h"
#include "meta/filemap.h"
#include "topo/reddesc.h"

/* A part for which a process owes. */
struct vel_settle_part {
    int rank;
    const char *dir;
    struct vel_place place; /* in the sets of its level */
};

struct vel_settle {
    struct vel_comm *comm;
    struct vel_background *background;
    const char *node;
    const struct vel_filemap *map; /* of any part: dataset and level */
    const struct vel_settle_part *parts;
    size_t n;
    unsigned owed; /* bits of enum vel_background_owed */
    bool is_plain; /* as in the seal */

    /* Where everyone has one part, and always the same place: the first one's members,
     * asked for once. NULL: they are this dataset's. */
    struct vel_seal *seats;
    bool *is_seated; /* everyone's: they are known */

    bool is_settling; /* told to the caller: perhaps it was settled */
};

/* Collective. */
int vel_settle(struct vel_settle *of, struct vel_err *err);

/* Local. The place of a part, as its map says. *ret_lacks: it has no redundancy yet,
 * and its level has some. */
int vel_settle_look(struct vel_fs *fs, struct vel_settle_part *part, bool *ret_lacks,
                    struct vel_err *err);

#endif
