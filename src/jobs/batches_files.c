/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of batches, one by one. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "jobs/batches_in.h"
#include "view/point.h"

/* The subject of a file's facts; they have it in common. */
struct vel_fact vel_batches_fact(enum vel_fact_kind kind, const struct vel_batch *batch,
                                 const struct vel_batch_file *file)
{
    struct vel_fact fact = {.kind = kind};

    fact.u.open.number = batch->id.launch;
    fact.u.open.turn = batch->id.turn;
    fact.u.open.batch = batch->id.number;
    fact.u.open.file = file->number;
    return fact;
}

static int say_open(struct vel_batches *batches, struct vel_batch *batch, int64_t rank,
                    const char *name, struct vel_err *err)
{
    const struct vel_batch_file file = {.number = batch->last_file + 1,
                                        .name = (char *)(uintptr_t)name};
    struct vel_batch_rank *of_rank = vel_batch_make_rank(batch, rank);
    struct vel_fact fact = vel_batches_fact(VEL_FACT_OPEN, batch, &file);
    int rc = of_rank ? 0 : vel_out_of_memory(err, "a batch");

    fact.u.open.rank = rank;
    fact.u.open.name = file.name;
    if (rc == 0)
        rc = vel_batches_say(batches, &fact, err);
    if (rc == 0)
        batch->last_file = file.number;
    return rc == 0 ? vel_batch_add_file(of_rank, &file, err) : rc;
}

/* Not synced: nor is the file before its part is. */
static int make_above(struct vel_fs *fs, const char *path, struct vel_err *err)
{
    char *above = vel_path_dir(path);
    int rc = above ? vel_fs_make_dirs_unsynced(fs, above, 0700, err)
                   : vel_out_of_memory(err, path);

    free(above);
    return rc;
}

int vel_batches_open(struct vel_batches *batches, const char *dir, int64_t rank,
                     const char *name, char **ret_path, struct vel_err *err)
{
    struct vel_fs *fs = batches->of.fs;
    struct vel_batch *batch;
    char *path = NULL;
    int rc = vel_batch_path(dir, rank, name, &path, err);

    if (rc < 0)
        return rc;
    pthread_mutex_lock(&batches->lock);
    rc = vel_batches_need(batches, err);
    batch = vel_batches_at(batches, dir);
    if (rc == 0 && (!batch || (batch->parts.n > 0 && !vel_batch_has_left(batch))))
        rc = vel_fail(err, VEL_ENOENT, "%s is no batch of ours", dir);
    if (rc == 0)
        rc = make_above(fs, path, err);
    if (rc == 0)
        rc = vel_point_remove(fs, dir, rank, name, err);
    if (rc == 0)
        rc = say_open(batches, batch, rank, name, err);
    vel_batches_unlock(batches);
    if (rc == 0)
        *ret_path = path;
    else
        free(path);
    return rc;
}

/* The file of a name in a batch, or NULL. */
static struct vel_batch_file *find_file(const struct vel_batches *batches,
                                        const char *dir, int64_t rank, const char *name,
                                        struct vel_batch **ret_batch)
{
    struct vel_batch *batch = vel_batches_at(batches, dir);
    struct vel_batch_rank *of_rank = batch ? vel_batch_rank(batch, rank) : NULL;

    *ret_batch = batch;
    return of_rank ? vel_batch_file(of_rank, name) : NULL;
}

int vel_batches_close(struct vel_batches *batches, const char *dir, int64_t rank,
                      const char *name, int64_t order, int64_t size,
                      struct vel_err *err)
{
    struct vel_batch_file *file;
    struct vel_batch *batch;
    struct vel_fact fact;
    int rc;

    pthread_mutex_lock(&batches->lock);
    rc = vel_batches_need(batches, err);
    file = find_file(batches, dir, rank, name, &batch);
    if (rc == 0 && !file)
        rc = vel_fail(err, VEL_ENOENT, "%s: rank %lld has no file %s", dir,
                      (long long)rank, name);
    if (rc == 0) {
        fact = vel_batches_fact(VEL_FACT_CLOSED, batch, file);
        fact.u.closed.order = order;
        fact.u.closed.size = size;
        rc = vel_batches_say(batches, &fact, err);
    }
    if (rc == 0 && order >= file->order) {
        file->order = order;
        file->size = size;
    }
    vel_batches_unlock(batches);
    return rc;
}

int vel_batches_give(struct vel_batches *batches, const char *dir, int64_t rank,
                     const char *name, bool before, struct vel_err *err)
{
    struct vel_batch_file *file;
    struct vel_batch *batch;
    struct vel_fact fact;
    struct vel_buf text;
    int rc = 0;

    vel_buf_init(&text);
    pthread_mutex_lock(&batches->lock);
    if (find_file(batches, dir, rank, name, &batch))
        rc = vel_batches_need(batches, err);
    file = find_file(batches, dir, rank, name, &batch);
    if (rc == 0 && file && file->order > 0) {
        fact = vel_batches_fact(VEL_FACT_GIVEN, batch, file);
        fact.u.given.order = file->order;
        fact.u.given.before = before;
        rc = vel_batches_put_fact(&fact, &text, err);
        if (rc == 0)
            rc = vel_batches_tell(batches, &text, err);
        if (rc == 0) {
            file->is_before = before || (file->given == file->order && file->is_before);
            file->given = file->order;
        }
    }
    vel_batches_unlock(batches);
    vel_buf_fini(&text);
    return rc;
}

static bool is_of_key(const struct vel_batch *batch, const struct vel_batch_key *key)
{
    return strcmp(batch->key.launch, key->launch) == 0 &&
           strcmp(batch->key.template, key->template) == 0 &&
           strcmp(batch->key.step, key->step) == 0;
}

/* Of a rank: what is of datasets up to this one ends here, in the order of closing. */
static int64_t end_of(const struct vel_batch *batch, int64_t rank, int64_t id)
{
    int64_t end = 0;

    for (size_t i = 0; i < batch->parts.n; i++) {
        const struct vel_batch_part *part = vel_vec_at(&batch->parts, i);

        if (part->rank == rank && part->id <= id && part->upto > end)
            end = part->upto;
    }
    return end;
}

bool vel_batches_is_given(struct vel_batches *batches, const struct vel_batch_key *key,
                          int64_t id, int64_t rank, const char *name)
{
    const struct vel_batch_file *last = NULL;

    pthread_mutex_lock(&batches->lock);
    for (size_t i = 0; i < batches->all.n; i++) {
        const struct vel_batch *batch = vel_vec_at(&batches->all, i);
        const struct vel_batch_rank *of_rank = vel_batch_rank(batch, rank);
        const struct vel_batch_file *file =
            of_rank && is_of_key(batch, key) ? vel_batch_file(of_rank, name) : NULL;

        if (file && file->order > 0 && file->order <= end_of(batch, rank, id) &&
            (!last || file->order > last->order))
            last = file;
    }
    bool is = last && vel_batch_is_given(last);
    vel_batches_unlock(batches);
    return is;
}

int64_t vel_batches_order(struct vel_batches *batches, const char *dir, int64_t rank,
                          const char *name)
{
    const struct vel_batch_file *file;
    struct vel_batch *batch;
    int64_t order = 0;

    pthread_mutex_lock(&batches->lock);
    file = find_file(batches, dir, rank, name, &batch);
    if (file && batch->id.launch == batches->number &&
        vel_batch_is_left(vel_batch_rank(batch, rank), file))
        order = file->order;
    vel_batches_unlock(batches);
    return order;
}

int vel_batches_unlink(struct vel_batches *batches, const char *dir, int64_t rank,
                       const char *name, struct vel_err *err)
{
    char *path = NULL;
    int rc = vel_batch_path(dir, rank, name, &path, err);

    if (rc == 0)
        rc = vel_fs_unlink(batches->of.fs, path, err);
    free(path);
    return rc;
}

int vel_batches_give_up(struct vel_batches *batches, const char *dir, int64_t rank,
                        const char *name, struct vel_err *err)
{
    struct vel_batch_file *file;
    struct vel_batch *batch;
    struct vel_fact fact;
    int rc = 0;

    pthread_mutex_lock(&batches->lock);
    if (find_file(batches, dir, rank, name, &batch))
        rc = vel_batches_need(batches, err);
    file = find_file(batches, dir, rank, name, &batch);
    if (rc == 0 && file && vel_batch_is_left(vel_batch_rank(batch, rank), file)) {
        fact = vel_batches_fact(VEL_FACT_UNWANTED, batch, file);
        rc = vel_batches_say(batches, &fact, err);
        if (rc == 0)
            vel_batch_remove_file(vel_batch_rank(batch, rank), name);
        if (rc == 0)
            rc = vel_batches_unlink(batches, dir, rank, name, err);
    }
    vel_batches_unlock(batches);
    return rc;
}
