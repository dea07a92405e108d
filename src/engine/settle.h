/* SPDX-License-Identifier: BSD-3-Clause */
/* settle - all processes of a communicator owe for their parts of a dataset, and the
 * first one settles it (doc/life.txt, 15): those of a session, and the tools
 * before a program.
 */
#ifndef VEL_ENGINE_SETTLE_H
#define VEL_ENGINE_SETTLE_H

#include "brain/seal.h"
#include "comm/comm.h"
#include "engine/background.h"
#include "meta/filemap.h"
#include "recover/kept.h"

struct vel_settle {
    struct vel_comm *comm;
    struct vel_background *background;
    const char *node;
    const struct vel_filemap *map;        /* of any part: dataset and level */
    const struct vel_brought_part *parts; /* with their places */
    size_t n;                             /* members without files owe nothing */
    unsigned owed;                        /* bits of enum vel_background_owed */
    bool is_plain;                        /* as in the seal */

    /* Where everyone has one part, and always the same place: the first one's members,
     * asked for once. NULL: they are this dataset's. */
    struct vel_seal *seats;
    bool *is_seated; /* everyone's: they are known */

    bool is_settling; /* told to the caller: perhaps it was settled */
};

/* Collective. */
int vel_settle(struct vel_settle *of, struct vel_err *err);

/* Local. The places of parts of a dataset of so many ranks, as their maps say.
 * *ret_lacks: some have no redundancy yet, and their level has some. */
int vel_settle_look(struct vel_fs *fs, int ranks, struct vel_brought_part *parts,
                    size_t n, int64_t *ret_lacks, struct vel_err *err);

#endif
