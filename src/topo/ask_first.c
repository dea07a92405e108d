/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "topo/ask_first.h"

/* What rank 0 has of all. */
struct all {
    struct vel_buf bytes;
    size_t *lens;
    const char **texts;
    char *records;
};

static void all_fini(struct all *all)
{
    free(all->records);
    free(all->texts);
    free(all->lens);
    vel_buf_fini(&all->bytes);
}

static int work_out(struct all *all, size_t n, vel_answer_f *answer, void *arg,
                    size_t len, struct vel_err *err)
{
    size_t at = 0;

    all->texts = calloc(n, sizeof *all->texts);
    all->records = calloc(n, len);
    if (!all->texts || !all->records)
        return vel_out_of_memory(err, "the texts of all ranks");
    for (size_t i = 0; i < n; i++) {
        all->texts[i] = all->bytes.data + at;
        at += all->lens[i];
    }
    return answer(arg, all->texts, n, all->records, err);
}

/* How it went at rank 0, in its words. */
static int tell_all(struct vel_comm *comm, struct vel_err *why, struct vel_err *err)
{
    struct vel_buf told;
    int rc;

    vel_buf_init(&told);
    vel_buf_append(&told, why, sizeof *why);
    rc = vel_comm_agree(comm, vel_buf_status(&told, err), err);
    if (rc == 0)
        rc = vel_comm_bcast(comm, 0, &told, err);
    if (rc == 0)
        memcpy(why, told.data, sizeof *why);
    vel_buf_fini(&told);
    if (rc < 0 || why->status == VEL_OK)
        return rc;
    return vel_fail(err, why->status, "%s", why->text);
}

static int give_each(struct vel_comm *comm, const char *records, void *ret_record,
                     size_t len, struct vel_err *err)
{
    struct vel_vec out, in;
    int rc = 0;

    vel_vec_init(&out, sizeof(struct vel_parcel));
    for (int i = 0; rc == 0 && records && i < comm->size; i++) {
        const struct vel_parcel parcel = {
            i, (char *)(uintptr_t)records + (size_t)i * len, len};

        if (!vel_vec_push(&out, &parcel))
            rc = vel_out_of_memory(err, "what each rank is told");
    }
    rc = vel_comm_agree(comm, rc, err);
    if (rc == 0)
        rc = vel_comm_exchange(comm, &out, &in, err);
    vel_vec_fini(&out);
    if (rc < 0)
        return rc;
    if (in.n == 1 && ((struct vel_parcel *)in.items)->len == len)
        memcpy(ret_record, ((struct vel_parcel *)in.items)->bytes, len);
    else
        rc = vel_fail(err, VEL_ECORRUPT, "rank 0 has told this rank something else");
    vel_parcels_fini(&in);
    return rc;
}

int vel_ask_first(struct vel_comm *comm, const char *text, vel_answer_f *answer,
                  void *arg, void *ret_record, size_t len, struct vel_err *err)
{
    struct all all = {.lens = NULL};
    struct vel_err why = {0};
    int rc;

    vel_buf_init(&all.bytes);
    rc = vel_comm_gather(comm, 0, text, strlen(text) + 1, &all.bytes, &all.lens, err);
    if (rc == 0 && comm->rank == 0)
        work_out(&all, (size_t)comm->size, answer, arg, len, &why);
    if (rc == 0)
        rc = tell_all(comm, &why, err);
    if (rc == 0)
        rc = give_each(comm, all.records, ret_record, len, err);
    all_fini(&all);
    return rc;
}
