/* SPDX-License-Identifier: BSD-3-Clause */
/* agree - one result for all: the failure of the lowest member that failed. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
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

/* `first`, the lowest member that failed, was folded with the result `broken`. */
static int conclude(struct vel_comm *comm, int rc, int64_t first, int broken,
                    const struct vel_err *why, struct vel_err *err)
{
    struct verdict verdict;
    struct vel_err cause = *why;

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

int vel_comm_agree_fold(struct vel_comm *comm, int rc, enum vel_comm_fold fold,
                        int64_t *values, size_t n, struct vel_err *err)
{
    struct vel_err cause = {0};
    int64_t few[16], *numbers = few;
    int broken;

    if (n + 1 > sizeof few / sizeof *few && !(numbers = calloc(n + 1, sizeof *few))) {
        vel_out_of_memory(&cause, "numbers to fold");
        return vel_coll_end(comm, VEL_ENOMEM, &cause, err);
    }
    numbers[0] = rc < 0 ? comm->rank : comm->size;
    if (n > 0)
        memcpy(numbers + 1, values, n * sizeof *values);
    broken = vel_coll_fold(comm, VEL_COMM_MIN, fold, numbers, n + 1, &cause);
    rc = conclude(comm, rc, numbers[0], broken, &cause, err);
    if (rc == 0 && n > 0)
        memcpy(values, numbers + 1, n * sizeof *values);
    if (numbers != few)
        free(numbers);
    return rc;
}

int vel_comm_agree(struct vel_comm *comm, int rc, struct vel_err *err)
{
    return vel_comm_agree_fold(comm, rc, VEL_COMM_MIN, NULL, 0, err);
}
