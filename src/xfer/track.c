/* SPDX-License-Identifier: BSD-3-Clause */
/* The record is there before the service is told anything, and again when it has told
 * how to ask for its work: a crash between the two leaves one by which at least the
 * names are known that must not be used again. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "meta/transfer.h"
#include "xfer/track.h"

static int add_file(struct vel_vec *files, const struct vel_xfer_file *moved,
                    const char *name, struct vel_err *err)
{
    struct vel_transfer_file file = {
        .from = strdup(moved->from), .name = strdup(name), .size = moved->size};

    if (file.from && file.name && vel_vec_push(files, &file))
        return 0;
    free(file.from);
    free(file.name);
    return vel_out_of_memory(err, "a transfer");
}

static int describe(const struct vel_crew *crew, const struct vel_tracked *move,
                    struct vel_transfer_record *record, struct vel_err *err)
{
    int rc = 0;

    record->id = (struct vel_transfer_id){.node = strdup(crew->node_name),
                                          .dataset = move->id,
                                          .rank = crew->world->rank,
                                          .attempt = move->attempt};
    record->owner = move->owner;
    record->service = strdup(vel_transport_name(crew->transport));
    record->store = strdup(move->store);
    if (!record->id.node || !record->service || !record->store)
        return vel_out_of_memory(err, "a transfer");
    for (size_t i = 0; rc == 0 && i < move->n; i++)
        rc = add_file(&record->files, &move->files[i], move->names[i], err);
    return rc;
}

/* What the service gave; the record of files that it has refused goes. */
static int save_state(const struct vel_crew *crew, struct vel_transfer *transfer,
                      struct vel_transfer_record *record, bool *is_kept,
                      struct vel_err *err)
{
    struct vel_err why = {0};
    int rc;

    /* nobody else can ask for it: the record alone says which names are not free */
    if (vel_transfer_is_served(transfer) && !vel_transport_outlives(crew->transport))
        return 0;
    rc = vel_transfer_save(transfer, &record->state, &why);
    record->has_state = rc == 0;
    if (rc == 0)
        return vel_transfer_record_save(crew->fs, crew->dir, record, err);
    if (rc != VEL_EUNSUP)
        return vel_fail(err, (enum vel_status)rc, "%s", why.text);
    *is_kept = false;
    return vel_transfer_record_remove(crew->fs, crew->dir, &record->id, err);
}

/* Start, and wait for the end. */
static int run(const struct vel_crew *crew, const struct vel_tracked *move,
               struct vel_transfer_record *record, bool *is_kept, bool *ret_loose,
               struct vel_err *err)
{
    struct vel_xfer_copied *copied = calloc(move->n + 1, sizeof *copied);
    struct vel_transfer *transfer = NULL;
    int rc = copied ? vel_transfer_start(crew->transport, &crew->copy, move->store,
                                         move->files, move->n, &transfer, err)
                    : vel_out_of_memory(err, "flushing");

    if (rc == 0 && *is_kept)
        rc = save_state(crew, transfer, record, is_kept, err);
    if (rc == 0)
        rc = vel_transfer_wait(transfer, crew->copy.watch, copied, err);
    else if (transfer)
        vel_transfer_stop(transfer);
    *ret_loose = transfer && vel_transfer_is_loose(transfer);
    vel_transfer_destroy(transfer);
    free(copied);
    return rc;
}

int vel_track_move(const struct vel_crew *crew, const struct vel_tracked *move,
                   bool *ret_loose, struct vel_err *err)
{
    struct vel_transfer_record record;
    bool is_kept = move->n > 0 && vel_transport_is_service(crew->transport);
    int rc = 0, removed = 0;

    *ret_loose = false;
    vel_transfer_record_init(&record);
    if (is_kept) {
        rc = describe(crew, move, &record, err);
        if (rc == 0)
            rc = vel_transfer_record_save(crew->fs, crew->dir, &record, err);
    }
    if (rc == 0)
        rc = run(crew, move, &record, &is_kept, ret_loose, err);
    if (is_kept && record.id.node && !*ret_loose)
        removed = vel_transfer_record_remove(crew->fs, crew->dir, &record.id,
                                             rc == 0 ? err : NULL);
    vel_transfer_record_fini(&record);
    return rc < 0 ? rc : removed;
}
