/* SPDX-License-Identifier: BSD-3-Clause */
/* What is owed for the parts that are taken. */
#include "config.h"

#include <string.h>

#include "base/path.h"
#include "jobs/promise.h"
#include "jobs/take_in.h"

static int list_ranks(const struct vel_take *take, struct vel_ranges *ret,
                      struct vel_err *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < take->seal->members.n; i++) {
        const struct vel_seal_member *member = vel_seal_member(take->seal, i);

        if (strcmp(member->node, take->node) == 0)
            rc = vel_ranges_add(ret, member->rank, err);
    }
    return rc;
}

struct vel_batches *vel_take_ledger(const struct vel_take *take, const char *home)
{
    for (size_t i = 0; i < take->n_homes; i++)
        if (vel_path_below(take->homes[i], home))
            return take->batches[i];
    return NULL;
}

int vel_take_promise(const struct vel_take *take, const char *home, bool is_synced,
                     struct vel_batches **ret, struct vel_err *err)
{
    struct vel_ranges ranks;
    int rc;

    *ret = vel_take_ledger(take, home);
    vel_ranges_init(&ranks);
    rc = list_ranks(take, &ranks, err);
    if (rc == 0 && *ret && take->seal->what && ranks.of.n > 0)
        rc = vel_promise_make(*ret, home, take->launch, &ranks, take->seal->what,
                              is_synced && !vel_take_is_unsynced(take), err);
    vel_ranges_fini(&ranks);
    return rc;
}
