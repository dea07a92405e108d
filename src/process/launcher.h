/* SPDX-License-Identifier: BSD-3-Clause */
/* launcher - what the launcher of this process has said in its environment: which of
 * how many ranks it is, and what its launch is called (doc/protocol.txt, 2).
 *
 * conf/ asks the environment; here is known what launchers call things.
 */
#ifndef VEL_PROCESS_LAUNCHER_H
#define VEL_PROCESS_LAUNCHER_H

#include <stdbool.h>
#include <stdint.h>

#include "ident/launchid.h"

struct vel_launcher {
    bool has_rank;
    int64_t rank, ranks;
    struct vel_launch_texts texts; /* without the setting LAUNCH; the environment's */
    bool is_here;                  /* a hydra has all its ranks on this machine */
};

/* `variable` gives a variable of the environment or NULL (vel_conf_variable()). What is
 * no number, or no rank of so many, is as if it was not said. */
void vel_launcher_ask(const char *(*variable)(void *arg, const char *name), void *arg,
                      struct vel_launcher *ret);

/* MPICH's hydra names no launch. Where all ranks are of one machine the process that
 * has started them does, "BOOT.PID.START", for all and for nobody else; `ret` is empty
 * where there is none. */
void vel_launcher_find(struct vel_fs *fs, const struct vel_launcher *launcher,
                       struct vel_buf *ret);

#endif
