/* SPDX-License-Identifier: BSD-3-Clause */
/* The life of a redundancy set whose members talk over sockets, and the same files as
 * over one process: what is kept on disk does not depend on who did the work. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "tap/redcases.h"
#include "tap/sockjob.h"
#include "tap/tap.h"

static void nobody_listens(void *arg, enum vel_log_level level, const char *line,
                           size_t len)
{
    (void)arg, (void)level, (void)line, (void)len;
}

static int losses(struct vel_comm *comm, void *arg)
{
    const struct redcase *c = arg;
    int tried;

    return redcase_losses(c, comm, &tried);
}

static int flips(struct vel_comm *comm, void *arg)
{
    const struct redcase *c = arg;
    int tried;

    return redcase_flips(c, comm, &tried);
}

struct faults {
    struct redcase c;
    int lost, faulty;
};

static int faults(struct vel_comm *comm, void *arg)
{
    const struct faults *f = arg;
    int tried;
    int bad = redcase_faults(&f->c, comm, f->lost, f->faulty, &tried);

    return bad || tried < 10; /* a recovery takes more operations than that */
}

static void failing_disks(void)
{
    static const struct {
        int lost, faulty;
        size_t m;
    } cases[] = {{-1, 1, 1}, {2, 1, 2}, {2, 1, 1}, {2, 2, 2}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct faults f = {.c = {.root = tap_dir(),
                                 .scheme = VEL_RS,
                                 .m = cases[i].m,
                                 .seed = 21,
                                 .most = 9000},
                           .lost = cases[i].lost,
                           .faulty = cases[i].faulty};

        is_int(sockjob_run(4, "unix", faults, &f), 0,
               "RS m=%zu, member %d lost: a fault at any operation of member %d is "
               "named and borne, or changes nothing",
               f.c.m, f.lost, f.faulty);
    }
}

int main(void)
{
    static const struct {
        const char *kind;
        int n;
        enum vel_scheme scheme;
        size_t m;
    } cases[] = {
        {"unix", 4, VEL_XOR, 1},     {"unix", 4, VEL_RS, 2},  {"unix", 4, VEL_RS, 3},
        {"unix", 4, VEL_PARTNER, 1}, {"unix", 6, VEL_RS, 2},  {"unix", 9, VEL_RS, 4},
        {"unix", 6, VEL_PARTNER, 2}, {"tcp", 4, VEL_XOR, 1},  {"tcp", 5, VEL_RS, 2},
        {"tcp", 4, VEL_PARTNER, 3},  {"unix", 17, VEL_RS, 3}, {"unix", 2, VEL_XOR, 1}};
    const struct vel_log_sink quiet = {.write = nobody_listens};

    vel_log_open(&quiet);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct redcase c = {.root = tap_dir(),
                            .scheme = cases[i].scheme,
                            .m = cases[i].m,
                            .seed = 70 + i,
                            .most = 60000,
                            .patterns = cases[i].n <= 4 ? 0 : 8};

        is_int(
            sockjob_run(cases[i].n, cases[i].kind, losses, &c), 0,
            "%d members over %s, %s m=%zu: losses in a row come back or change nothing",
            cases[i].n, cases[i].kind, vel_scheme_name(c.scheme), c.m);
    }
    struct redcase c = {
        .root = tap_dir(), .scheme = VEL_RS, .m = 2, .seed = 5, .most = 30000};
    is_int(sockjob_run(4, "unix", flips, &c), 0, "flipped bits are found and repaired");
    failing_disks();
    return done_testing();
}
