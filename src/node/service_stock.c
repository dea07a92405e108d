/* SPDX-License-Identifier: BSD-3-Clause */
/* What this node's caches hold, for a tool that tells people. A worker reads them anew
 * for each piece, so that nothing has to be kept for whoever may not come back. */
#include "config.h"

#include <stdlib.h>

#include "node/service_in.h"

static int look(void *arg, const struct vel_work_job *how, struct vel_err *err)
{
    struct vel_service_job *job = arg;
    struct vel_service *service = job->service;
    struct vel_inventory inventory;
    int rc = vel_inventory_look(service->fs, service->host.node, service->homes,
                                service->n_homes, &inventory, err);

    (void)how;
    if (rc < 0)
        return rc;
    rc = vel_service_opened(service, &inventory.left, err);
    if (rc == 0)
        rc = vel_inventory_encode(&inventory, &job->bytes, err);
    vel_inventory_fini(&inventory);
    return rc;
}

static void say_no(struct vel_service *service, uint64_t link, uint64_t seq,
                   const struct vel_err *why)
{
    struct vel_msg no = {.kind = VEL_MSG_NO, .seq = seq};

    no.u.no.status = (uint64_t)-why->status;
    no.u.no.text = why->text;
    vel_service_send(service, link, &no);
}

void vel_service_stock(struct vel_service *service, uint64_t link,
                       const struct vel_msg *ask)
{
    const struct vel_work_plan plan = {.order = {.urgency = VEL_URGENT_LOOK}};
    struct vel_service_job *job = calloc(1, sizeof *job);
    struct vel_err why = {0};
    int rc = job && vel_vec_push(&service->jobs, &job)
                 ? 0
                 : vel_out_of_memory(&why, "an inventory");

    if (rc == 0) {
        job->service = service;
        job->asker = link;
        job->seq = ask->seq;
        job->piece = (size_t)ask->u.stock.part;
        vel_buf_init(&job->bytes);
        vel_seal_init(&job->seal);
        rc = vel_work_submit(service->work, &plan, look, job, &job->work, &why);
        if (rc < 0)
            vel_vec_remove(&service->jobs, service->jobs.n - 1);
    }
    if (rc == 0)
        return;
    free(job);
    say_no(service, link, ask->seq, &why);
}

void vel_service_stock_answer(struct vel_service_job *job, int rc,
                              const struct vel_err *why)
{
    struct vel_msg answer = {.kind = VEL_MSG_STOCKED, .seq = job->seq};
    const size_t len = job->bytes.len, at = job->piece * VEL_STOCK_PIECE,
                 pieces = len ? (len - 1) / VEL_STOCK_PIECE + 1 : 1;
    struct vel_err other = {0};

    if (rc == 0 && job->piece >= pieces)
        rc = vel_fail(&other, VEL_EINVAL, "the inventory has no piece %zu", job->piece);
    if (rc < 0) {
        say_no(job->service, job->asker, job->seq, other.status ? &other : why);
        return;
    }
    answer.u.stocked.part = job->piece;
    answer.u.stocked.parts = pieces;
    answer.u.stocked.record.at = job->bytes.data + at;
    answer.u.stocked.record.len =
        len - at < VEL_STOCK_PIECE ? len - at : VEL_STOCK_PIECE;
    vel_service_send(job->service, job->asker, &answer);
}
