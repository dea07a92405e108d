/* SPDX-License-Identifier: BSD-3-Clause */
/* A share that a vendor's service moves: it goes on while no leader is there, and the
 * next one takes it over. What came is under the names of the owner that began it. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "jobs/flushing_in.h"

bool vel_share_is_moved(const struct vel_share *s)
{
    const struct vel_transport *t = s->crew.transport;

    return t && vel_transport_is_service(t);
}

/* What the service is moving for an owner before us, or begin. */
static int start_transfer(struct vel_share *s, const struct vel_xfer_file *list,
                          size_t n, struct vel_transfer **ret, struct vel_err *err)
{
    struct vel_transport *t = s->crew.transport;
    struct vel_err why = {0};
    int rc = vel_transfer_start(t, &s->crew.copy, s->job->store, list, n, ret, err);

    if (rc < 0)
        return rc;
    s->note.transfer.len = 0;
    if (vel_transfer_save(*ret, &s->note.transfer, &why) < 0) {
        s->note.transfer.len = 0; /* it ends with this process */
        return 0;
    }
    rc = s->files.n > 0 ? vel_share_note(s, 0, 0, 0) : 0;
    if (rc < 0) {
        vel_transfer_destroy(*ret);
        *ret = NULL;
    }
    return rc;
}

/* The files under the names of an owner; freed by free_list(). */
static int make_list(struct vel_share *s, int64_t owner,
                     struct vel_xfer_file **ret_list, size_t *ret_n)
{
    struct vel_xfer_file *list = calloc(s->files.n + 1, sizeof *list);
    int rc = list ? 0 : vel_out_of_memory(s->err, "flushing");
    size_t n = 0;

    for (size_t i = 0; rc == 0 && i < s->files.n; i++) {
        const struct vel_flush_file *file = vel_share_file(s, i);
        struct vel_flush_target target = {0};

        if (!s->targets[i].temporary)
            continue;
        rc = vel_share_target(s, owner, i, &target, s->err);
        free(target.dest);
        list[n++] = (struct vel_xfer_file){.from = file->from,
                                           .to = target.temporary,
                                           .size = file->listed.size,
                                           .crc = file->listed.crc,
                                           .has_crc = s->flushing->checks_crc};
    }
    *ret_list = list;
    *ret_n = n;
    return rc;
}

static void free_list(struct vel_xfer_file *list, size_t n)
{
    for (size_t i = 0; list && i < n; i++)
        free((char *)list[i].to);
    free(list);
}

/* A transfer of an owner before us goes on, if there is one: under its names. */
static bool resume_transfer(struct vel_share *s, const struct vel_copying *old,
                            struct vel_xfer_file **ret_list, size_t *ret_n,
                            struct vel_transfer **ret)
{
    struct vel_err why = {0};

    if (!old->transfer.len || make_list(s, old->owner, ret_list, ret_n) < 0)
        return false;
    if (vel_transfer_resume(s->crew.transport, &s->crew.copy, s->job->store, *ret_list,
                            *ret_n, old->transfer.data, old->transfer.len, ret,
                            &why) == 0)
        return true;
    vel_log(VEL_LOG_INFO, "a transfer is begun anew: %s", why.text);
    free_list(*ret_list, *ret_n);
    *ret_list = NULL;
    return false;
}

/* What came under the names of another owner gets ours. */
static int take_names(struct vel_share *s, const struct vel_xfer_file *list)
{
    int rc = 0;
    size_t n = 0;

    for (size_t i = 0; rc == 0 && i < s->files.n; i++)
        if (s->targets[i].temporary &&
            strcmp(list[n++].to, s->targets[i].temporary) != 0)
            rc = vel_fs_rename(s->crew.fs, list[n - 1].to, s->targets[i].temporary,
                               s->err);
    return rc;
}

int vel_share_move(struct vel_share *s)
{
    struct vel_xfer_file *list = NULL;
    struct vel_xfer_copied *copied = calloc(s->files.n + 1, sizeof *copied);
    struct vel_transfer *transfer = NULL;
    struct vel_copying old;
    size_t n = 0;
    int rc = vel_share_noted(s, &old);

    if (rc == 0 && !copied)
        rc = vel_out_of_memory(s->err, "flushing");
    if (rc == 0 && !resume_transfer(s, &old, &list, &n, &transfer)) {
        rc = vel_share_forget(s);
        if (rc == 0)
            rc = vel_share_remove_past(s);
        if (rc == 0)
            rc = make_list(s, s->job->owner, &list, &n);
        if (rc == 0)
            rc = start_transfer(s, list, n, &transfer, s->err);
    }
    if (rc == 0)
        rc = vel_transfer_wait(transfer, s->job->watch, copied, s->err);
    vel_transfer_destroy(transfer);
    if (rc == 0)
        rc = take_names(s, list);
    if (rc == 0)
        rc = vel_share_remove_past(s);
    if (rc == 0) /* it would be looked for in vain */
        rc = vel_share_forget(s);
    vel_copying_fini(&old);
    free_list(list, n);
    free(copied);
    return rc;
}

/* Where the files of a list lie in the cache: all of them. */
static bool find_sources(struct vel_share *s)
{
    bool has_all = true;

    for (size_t i = 0; has_all && i < s->files.n; i++)
        has_all = vel_share_find_source(s, i);
    return has_all;
}

/* A service that still moves it is stopped. */
void vel_share_stop(struct vel_share *s)
{
    struct vel_xfer_file *list = NULL;
    struct vel_transfer *transfer = NULL;
    struct vel_copying old;
    size_t n = 0;

    if (!vel_share_is_moved(s) || vel_share_noted(s, &old) < 0)
        return;
    if (find_sources(s) && resume_transfer(s, &old, &list, &n, &transfer))
        vel_transfer_destroy(transfer);
    free_list(list, n);
    vel_copying_fini(&old);
}
