/* SPDX-License-Identifier: BSD-3-Clause */
/* movelab - a few files to be moved by some transport, and what is expected of any of
 * them. Time is a manual clock; warnings are kept. */
#ifndef TEST_TAP_MOVELAB_H
#define TEST_TAP_MOVELAB_H

#include <stdbool.h>

#include "tap/manual_clock.h"
#include "xfer/transport.h"

enum { MOVELAB_FILES = 3 };

struct movelab {
    char from_dir[1100], to_dir[1100];
    char from[MOVELAB_FILES][1200], to[MOVELAB_FILES][1200];
    struct vel_xfer_file files[MOVELAB_FILES];
    struct vel_xfer_copied copied[MOVELAB_FILES];
    uint64_t bytes; /* of all files */
    struct vel_manual_clock clock;
    struct vel_transport_setup setup;
    struct vel_copy_how how;
    struct vel_transport *transport;
    struct vel_transfer *transfer;

    int steps_left; /* how often the watch says go on; below 0: always */
    uint64_t moved; /* as the watch was told */
    char warnings[4096];
    int nwarnings;
    struct vel_err err;
};

/* Files a, b (empty) and c in <tap_dir>/from, to be moved to <tap_dir>/to/sub under
 * their temporary names; the transport of that type with the stand-in plug-ins, rank 3.
 * setup.plugin may be changed before movelab_open. */
void movelab_init(struct movelab *lab, int type);
int movelab_open(struct movelab *lab);
void movelab_close(struct movelab *lab);

/* Start and wait, with the lab's watch. The transfer stays, for vel_transfer_destroy.
 */
int movelab_start(struct movelab *lab);
int movelab_wait(struct movelab *lab);
int movelab_move(struct movelab *lab); /* both, and destroy */

/* Is every copy whole, with the mode and time of its source, and every source there? */
bool movelab_arrived(const struct movelab *lab);

/* Is there nothing at any temporary name, and every source there? */
bool movelab_clean(const struct movelab *lab);

/* Does the last failure or one of the warnings have this part? */
bool movelab_says(const struct movelab *lab, const char *part);
bool movelab_warned(const struct movelab *lab, const char *part);

#endif
