/* SPDX-License-Identifier: BSD-3-Clause */
/* Redundancy sets whose members are MPI ranks: of all loss patterns, those that a
 * scheme bears come back byte for byte, one after the other; the others give a clean
 * error and change nothing; flipped bits are found and repaired. SEEDS=n for other
 * files. */
#include "config.h"

#include <stdlib.h>

#include "base/log.h"
#include "comm/mpi.h"
#include "red/layout.h"
#include "tap/mtap.h"
#include "tap/redcases.h"

static void nobody_listens(void *arg, enum vel_log_level level, const char *line,
                           size_t len)
{
    (void)arg, (void)level, (void)line, (void)len;
}

int main(int argc, char **argv)
{
    const struct vel_log_sink quiet = {.write = nobody_listens};
    static const struct {
        enum vel_scheme scheme;
        size_t m;
    } schemes[] = {{VEL_XOR, 1}, {VEL_RS, 1},      {VEL_RS, 2},      {VEL_RS, 3},
                   {VEL_RS, 4},  {VEL_PARTNER, 1}, {VEL_PARTNER, 2}, {VEL_PARTNER, 3}};
    struct vel_comm *comm;
    struct vel_err err = {0};
    const char *seed = getenv("SEEDS");

    mtap_init(&argc, &argv);
    vel_log_open(&quiet);
    if (!mok(vel_comm_mpi(MPI_COMM_WORLD, &comm, &err) == 0, "a communicator %s",
             err.text))
        return mtap_done();
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++) {
        struct redcase c = {.root = mtap_dir(),
                            .scheme = schemes[i].scheme,
                            .m = schemes[i].m,
                            .seed = (seed ? strtoull(seed, NULL, 10) : 1) * 100 + i,
                            .most = comm->size <= 4 ? 60000 : 20000};
        int tried;

        if (c.m >= (size_t)comm->size)
            continue;
        int bad = redcase_losses(&c, comm, &tried);
        mis_int(bad, 0, "%s m=%zu: %d losses in a row come back or change nothing",
                vel_scheme_name(c.scheme), c.m, tried);
    }
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i += 2) {
        struct redcase c = {.root = mtap_dir(),
                            .scheme = schemes[i].scheme,
                            .m = schemes[i].m,
                            .seed = 9 + i,
                            .most = 30000};
        int tried;

        if (c.m >= (size_t)comm->size)
            continue;
        int bad = redcase_flips(&c, comm, &tried);
        mis_int(bad, 0, "%s m=%zu: %d flipped bits are found and repaired",
                vel_scheme_name(c.scheme), c.m, tried);
    }
    vel_comm_destroy(comm);
    return mtap_done();
}
