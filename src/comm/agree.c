/* SPDX-License-Identifier: BSD-3-Clause */
/* agree - one result for all: the failure of the lowest member that failed. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "comm/coll.h"
#include "comm/tags.h"

struct verdict {
    int32_t status;
    char text[VEL_ERR_TEXT];
};

/* Everyone learns what rank `first` says. */
static int verdict_spread(struct vel_comm *comm, int first, int rc,
                          struct verdict *verdict, const struct vel_err *own,
                          struct vel_err *err)
{
    memset(verdict, 0, sizeof *verdict);
    if (comm->rank == first) {
        const char *text =
            own != NULL && own->text[0] ? own->text : vel_status_text(rc);
        verdict->status = rc;
        snprintf(verdict->text, sizeof verdict->text, "%s", text);
    }
    rc =
        vel_coll_bcast_bytes(comm, first, VEL_TAG_AGREE, verdict, sizeof *verdict, err);
    if (rc < 0)
        return rc;
    verdict->text[sizeof verdict->text - 1] = '\0';
    if (verdict->status >= 0)
        return vel_fail(err, VEL_ECORRUPT, "rank %d reported a failure with status %d",
                        first, verdict->status);
    return 0;
}

int vel_comm_agree(struct vel_comm *comm, int rc, struct vel_err *err)
{
    struct vel_err cause = {0};
    struct verdict verdict;
    int64_t first = rc < 0 ? comm->rank : comm->size;

    int broken = vel_comm_allreduce(comm, VEL_COMM_MIN, &first, 1, &cause);
    if (broken == 0 && first >= comm->size)
        return 0;
    if (broken == 0)
        broken = verdict_spread(comm, (int)first, rc, &verdict, err, &cause);
    if (broken < 0) {
        struct vel_err own = {0};
        if (rc < 0 && err != NULL)
            own = *err;
        vel_coll_end(comm, broken, &cause, err);
        /* what happened here is not lost with the comm, unless it is just that */
        if (own.text[0] != '\0' && strcmp(own.text, cause.text) != 0)
            vel_fail(err, broken, "%s (and before that, here: %s)", cause.text,
                     own.text);
        return broken;
    }
    if (comm->rank == first)
        return rc;
    return vel_fail(err, verdict.status, "rank %d: %s", (int)first, verdict.text);
}
