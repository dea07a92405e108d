/* SPDX-License-Identifier: BSD-3-Clause */
/* What is owed for the parts that are taken. */
#include "config.h"

#include <string.h>

#include "base/path.h"
#include "jobs/promise.h"
#include "jobs/take_in.h"

static int list_ranks(const struct vel_take *take, struct vel_buf *ret,
                      struct vel_err *err)
{
    struct vel_ranges ranks;
    int rc = 0;

    vel_ranges_init(&ranks);
    for (size_t i = 0; rc == 0 && i < take->seal->members.n; i++) {
        const struct vel_seal_member *member = vel_seal_member(take->seal, i);

        if (strcmp(member->node, take->node) == 0)
            rc = vel_ranges_add(&ranks, member->rank, err);
    }
    vel_ranges_put(&ranks, ret);
    vel_ranges_fini(&ranks);
    return rc == 0 ? vel_buf_status(ret, err) : rc;
}

int vel_take_promise(const struct vel_take *take, const char *home,
                     struct vel_buf *ranks, struct vel_fact *ret_owes,
                     struct vel_batches **ret, struct vel_err *err)
{
    struct vel_batches *ledger = NULL;
    int rc = 0;

    *ret = NULL;
    for (size_t i = 0; !ledger && i < take->n_homes; i++)
        if (vel_path_below(take->homes[i], home))
            ledger = take->batches[i];
    if (ledger && take->seal->what)
        rc = list_ranks(take, ranks, err);
    if (rc < 0 || ranks->len == 0)
        return rc;
    rc = vel_promise_put(ledger, home, take->launch, vel_buf_text(ranks),
                         take->seal->what, ret_owes, err);
    *ret = rc == 0 ? ledger : NULL;
    return rc;
}
