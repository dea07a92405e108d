/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <string.h>

#include "topo/rankstr.h"
#include "topo/sorted.h"
#include "topo/spread.h"

/* What a position knows goes to the rank whose text lies there. */
static int rankstr_run(struct vel_comm *comm, const char *text, struct vel_rankstr *ret,
                       struct vel_err *err)
{
    struct vel_sorted sorted;
    int rc = vel_sorted(comm, text, &sorted, err);

    if (rc < 0)
        return rc;
    const struct vel_rankstr known = {.group = sorted.group,
                                      .groups = sorted.groups,
                                      .rank = sorted.place,
                                      .ranks = sorted.ranks};
    return vel_spread_deliver(comm, sorted.owner, &known, ret, sizeof known, true, err);
}

int vel_rankstr(struct vel_comm *comm, const char *text, struct vel_rankstr *ret,
                struct vel_err *err)
{
    struct vel_rankstr mine = {.groups = 0};
    struct vel_err cause = {0};
    size_t len = strnlen(text, VEL_RANKSTR_MAX + 1);
    int rc = 0;

    if (len > VEL_RANKSTR_MAX)
        rc = vel_fail(err, VEL_EINVAL, "a text of more than %d bytes: \"%.40s...\"",
                      VEL_RANKSTR_MAX, text);
    rc = vel_comm_agree(comm, rc, err);
    if (rc < 0)
        return rc;
    rc = rankstr_run(comm, text, &mine, &cause);
    if (rc < 0) {
        vel_comm_fail(comm, &cause);
        if (err)
            *err = cause;
        return rc;
    }
    *ret = mine;
    return 0;
}
