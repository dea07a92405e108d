/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdlib.h>

#include "recover/ranks.h"

enum { RUNS_MOST = 8 };

static size_t run_end(const struct vel_buf *flags, size_t at)
{
    while (at < flags->len && flags->data[at])
        at++;
    return at;
}

void vel_ranks_print(const struct vel_buf *flags, struct vel_buf *ret)
{
    size_t n = 0, runs = 0;

    for (size_t i = 0; i < flags->len; i++)
        n += flags->data[i] != 0;
    for (size_t at = 0; at < flags->len; at++) {
        size_t end = run_end(flags, at);

        if (end == at)
            continue;
        if (++runs > RUNS_MOST) {
            vel_buf_puts(ret, ", ...");
            return;
        }
        vel_buf_puts(ret, runs > 1 ? ", " : n > 1 ? "ranks " : "rank ");
        vel_buf_printf(ret, "%zu", at);
        if (end - at > 1)
            vel_buf_printf(ret, "-%zu", end - 1);
        at = end;
    }
}

int vel_ranks_tell(struct vel_comm *comm, bool is_among, struct vel_buf *ret,
                   struct vel_err *err)
{
    const char mine = is_among;
    struct vel_buf flags;
    size_t *lens = NULL;
    int rc;

    vel_buf_init(&flags);
    rc = vel_comm_allgather(comm, &mine, 1, &flags, &lens, err);
    if (rc == 0)
        vel_ranks_print(&flags, ret);
    free(lens);
    vel_buf_fini(&flags);
    return rc;
}
