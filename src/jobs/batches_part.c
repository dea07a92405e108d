/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of batches become those of datasets. */
#include "config.h"

#include "jobs/batches_in.h"

/* Those of a rank up to an order that are of no dataset yet. */
static bool has_some(const struct vel_batch_rank *rank, int64_t upto)
{
    for (size_t i = 0; rank && i < rank->files.n; i++) {
        const struct vel_batch_file *file = vel_vec_at(&rank->files, i);

        if (file->order > 0 && file->order <= upto && vel_batch_is_left(rank, file))
            return true;
    }
    return false;
}

static int put_part(const struct vel_batches *batches, int64_t id,
                    const struct vel_batches_taken *taken, struct vel_buf *text,
                    struct vel_err *err)
{
    const struct vel_batch *batch = vel_batches_at(batches, taken->dir);
    struct vel_fact fact = {.kind = VEL_FACT_PART};

    if (!batch || !has_some(vel_batch_rank(batch, taken->rank), taken->upto))
        return 0;
    fact.u.part.id = id;
    fact.u.part.rank = taken->rank;
    fact.u.part.number = batch->id.launch;
    fact.u.part.turn = batch->id.turn;
    fact.u.part.batch = batch->id.number;
    fact.u.part.upto = taken->upto;
    return vel_batches_put_fact(&fact, text, err);
}

static int learn_part(struct vel_batches *batches, int64_t id,
                      const struct vel_batches_taken *taken, struct vel_err *err)
{
    const struct vel_batch_part part = {id, taken->rank, taken->upto};
    struct vel_batch *batch = vel_batches_at(batches, taken->dir);
    struct vel_batch_rank *rank = batch ? vel_batch_rank(batch, taken->rank) : NULL;

    if (!has_some(rank, taken->upto))
        return 0;
    if (!vel_vec_push(&batch->parts, &part))
        return vel_out_of_memory(err, "a batch");
    rank->upto = rank->upto > taken->upto ? rank->upto : taken->upto;
    return 0;
}

/* What was said before comes to the disk with it: of two writes a loss of power may
 * take the first alone, and then the second one does not count. */
int vel_batches_part(struct vel_batches *batches, int64_t id,
                     const struct vel_batches_taken *taken, size_t n, bool is_synced,
                     struct vel_err *err)
{
    struct vel_buf text;
    int rc = 0;

    vel_buf_init(&text);
    pthread_mutex_lock(&batches->lock);
    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = put_part(batches, id, &taken[i], &text, err);
    if (rc == 0 && text.len > 0)
        rc = vel_batches_need(batches, err);
    if (rc == 0 && batches->ledger) /* or said before, and it is for us */
        rc = is_synced ? vel_batches_tell(batches, &text, err)
                       : vel_batches_join(batches, &text, err);
    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = learn_part(batches, id, &taken[i], err);
    vel_batches_unlock(batches);
    vel_buf_fini(&text);
    return rc;
}

bool vel_batches_has_part(struct vel_batches *batches, int64_t id, int64_t rank)
{
    bool has = false;

    pthread_mutex_lock(&batches->lock);
    for (size_t i = 0; !has && i < batches->all.n; i++) {
        const struct vel_batch *batch = vel_vec_at(&batches->all, i);

        for (size_t k = 0; !has && k < batch->parts.n; k++) {
            const struct vel_batch_part *part = vel_vec_at(&batch->parts, k);

            has = part->id == id && part->rank == rank;
        }
    }
    pthread_mutex_unlock(&batches->lock);
    return has;
}

static int leave(struct vel_batches *batches, const struct vel_batches_taken *taken,
                 struct vel_err *err)
{
    struct vel_batch *batch = vel_batches_at(batches, taken->dir);
    struct vel_batch_rank *rank = batch ? vel_batch_rank(batch, taken->rank) : NULL;
    int rc = 0;

    if (!rank || batch->parts.n == 0)
        return 0;
    for (size_t i = 0; rc == 0 && i < rank->files.n; i++) {
        const struct vel_batch_file *file = vel_vec_at(&rank->files, i);

        if (!vel_batch_is_left(rank, file))
            rc = vel_batches_unlink(batches, taken->dir, taken->rank, file->name, err);
    }
    if (rc == 0 && !vel_batch_has_left(batch))
        vel_batches_doom(batches, batch->dir);
    return rc;
}

int vel_batches_leave(struct vel_batches *batches,
                      const struct vel_batches_taken *taken, size_t n,
                      struct vel_err *err)
{
    int rc = 0;

    pthread_mutex_lock(&batches->lock);
    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = leave(batches, &taken[i], err);
    vel_batches_unlock(batches);
    return rc;
}
