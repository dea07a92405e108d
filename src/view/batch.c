/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "meta/paths.h"
#include "view/batch.h"

/* --- memory --- */

void vel_batch_key_fini(struct vel_batch_key *key)
{
    free(key->launch);
    free(key->template);
    free(key->step);
    *key = (struct vel_batch_key){0};
}

int vel_batch_key_copy(const struct vel_batch_key *key, struct vel_batch_key *ret,
                       struct vel_err *err)
{
    *ret = *key;
    ret->launch = strdup(key->launch);
    ret->template = strdup(key->template);
    ret->step = strdup(key->step);
    if (ret->launch && ret->template && ret->step)
        return 0;
    vel_batch_key_fini(ret);
    return vel_out_of_memory(err, "a batch");
}

void vel_batch_init(struct vel_batch *batch)
{
    *batch = (struct vel_batch){0};
    vel_vec_init(&batch->ranks, sizeof(struct vel_batch_rank));
    vel_vec_init(&batch->parts, sizeof(struct vel_batch_part));
}

static void rank_fini(struct vel_batch_rank *rank)
{
    for (size_t i = 0; i < rank->files.n; i++)
        free(((struct vel_batch_file *)vel_vec_at(&rank->files, i))->name);
    vel_vec_fini(&rank->files);
}

void vel_batch_fini(struct vel_batch *batch)
{
    for (size_t i = 0; i < batch->ranks.n; i++)
        rank_fini(vel_vec_at(&batch->ranks, i));
    vel_vec_fini(&batch->ranks);
    vel_vec_fini(&batch->parts);
    vel_batch_key_fini(&batch->key);
    free(batch->dir);
    vel_batch_init(batch);
}

void vel_batch_list_fini(struct vel_vec *list)
{
    for (size_t i = 0; i < list->n; i++)
        vel_batch_fini(vel_vec_at(list, i));
    vel_vec_fini(list);
}

/* --- paths --- */

char *vel_batch_numbered(const char *dir, const char *what, int64_t number)
{
    struct vel_buf path;

    vel_buf_init(&path);
    vel_buf_printf(&path, "%s/%s.%" PRId64, dir, what, number);
    return vel_buf_take(&path, NULL);
}

char *vel_batch_dir(const char *home, const struct vel_batch_id *id)
{
    struct vel_buf path;

    vel_buf_init(&path);
    vel_buf_printf(&path, "%s/%" PRId64 ".%" PRId64 "/%" PRId64, home, id->launch,
                   id->turn, id->number);
    return vel_buf_take(&path, NULL);
}

bool vel_batch_is_turn(const char *name, int64_t *ret_launch, int64_t *ret_turn)
{
    const char *dot = strchr(name, '.');
    char *launch = dot ? strndup(name, (size_t)(dot - name)) : NULL;
    bool is = launch && vel_number_behind(launch, "", ret_launch) &&
              vel_number_behind(dot, ".", ret_turn);

    free(launch);
    return is;
}

bool vel_batch_is_dir(const char *dir)
{
    char *above = vel_path_dir(dir);
    int64_t number, turn;
    bool is = above && vel_number_behind(vel_path_base(dir), "", &number) &&
              vel_batch_is_turn(vel_path_base(above), &number, &turn);

    free(above);
    return is;
}

int vel_batch_path(const char *dir, int64_t rank, const char *name, char **ret_path,
                   struct vel_err *err)
{
    char *of_rank;

    if (!vel_path_is_inner(name))
        return vel_fail(err, VEL_EINVAL, "'%s' is no name of a file in a cache", name);
    of_rank = vel_batch_numbered(dir, "rank", rank);
    *ret_path = of_rank ? vel_path_join(of_rank, name) : NULL;
    free(of_rank);
    return *ret_path ? 0 : vel_out_of_memory(err, name);
}

bool vel_batch_is_gone(struct vel_fs *fs, const char *dir)
{
    struct stat st;

    return vel_fs_lstat(fs, dir, &st, NULL) == VEL_ENOENT;
}

char *vel_batches_path(const char *home)
{
    return vel_path_join(home, "ledger");
}

/* --- what it has --- */

static int compare_ranks(const void *a, const void *b)
{
    const struct vel_batch_rank *x = a, *y = b;

    return (x->rank > y->rank) - (x->rank < y->rank);
}

struct vel_batch_rank *vel_batch_rank(const struct vel_batch *batch, int64_t rank)
{
    const struct vel_batch_rank wanted = {.rank = rank};
    bool is_there;
    size_t i = vel_vec_place(&batch->ranks, &wanted, compare_ranks, &is_there);

    return is_there ? vel_vec_at(&batch->ranks, i) : NULL;
}

struct vel_batch_rank *vel_batch_make_rank(struct vel_batch *batch, int64_t rank)
{
    struct vel_batch_rank made = {.rank = rank};
    bool is_there;
    size_t i = vel_vec_place(&batch->ranks, &made, compare_ranks, &is_there);

    vel_vec_init(&made.files, sizeof(struct vel_batch_file));
    return is_there || vel_vec_insert(&batch->ranks, i, &made)
               ? vel_vec_at(&batch->ranks, i)
               : NULL;
}

struct vel_batch_file *vel_batch_file(const struct vel_batch_rank *rank,
                                      const char *name)
{
    for (size_t i = 0; rank && i < rank->files.n; i++) {
        struct vel_batch_file *file = vel_vec_at(&rank->files, i);

        if (strcmp(file->name, name) == 0)
            return file;
    }
    return NULL;
}

int vel_batch_add_file(struct vel_batch_rank *rank, const struct vel_batch_file *file,
                       struct vel_err *err)
{
    struct vel_batch_file *known = vel_batch_file(rank, file->name), made = *file;

    if (known && known->number > file->number)
        return 0;
    made.name = known ? known->name : strdup(file->name);
    if (known) {
        *known = made;
        return 0;
    }
    if (made.name && vel_vec_push(&rank->files, &made))
        return 0;
    free(made.name);
    return vel_out_of_memory(err, "a batch");
}

void vel_batch_remove_file(struct vel_batch_rank *rank, const char *name)
{
    for (size_t i = rank->files.n; i-- > 0;) {
        struct vel_batch_file *file = vel_vec_at(&rank->files, i);

        if (strcmp(file->name, name) != 0)
            continue;
        free(file->name);
        vel_vec_remove(&rank->files, i);
    }
}

bool vel_batch_is_given(const struct vel_batch_file *file)
{
    return file->given > 0 && file->given >= file->order;
}

bool vel_batch_is_given_before(const struct vel_batch_file *file)
{
    return vel_batch_is_given(file) && file->is_before;
}

bool vel_batch_is_left(const struct vel_batch_rank *rank,
                       const struct vel_batch_file *file)
{
    return file->order == 0 || file->order > rank->upto;
}

bool vel_batch_has_left(const struct vel_batch *batch)
{
    for (size_t r = 0; r < batch->ranks.n; r++) {
        const struct vel_batch_rank *rank = vel_vec_at(&batch->ranks, r);

        for (size_t i = 0; i < rank->files.n; i++)
            if (vel_batch_is_left(rank, vel_vec_at(&rank->files, i)))
                return true;
    }
    return false;
}

static int copy_rank(const struct vel_batch_rank *rank, struct vel_batch *ret,
                     struct vel_err *err)
{
    struct vel_batch_rank *copy = NULL;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < rank->files.n; i++) {
        const struct vel_batch_file *file = vel_vec_at(&rank->files, i);

        if (!vel_batch_is_left(rank, file))
            continue;
        if (!copy)
            copy = vel_batch_make_rank(ret, rank->rank);
        rc = copy ? vel_batch_add_file(copy, file, err)
                  : vel_out_of_memory(err, "a batch");
    }
    return rc;
}

int vel_batch_copy_left(const struct vel_batch *batch, struct vel_batch *ret,
                        struct vel_err *err)
{
    struct vel_batch copy;
    int rc;

    vel_batch_init(&copy);
    copy.id = batch->id;
    copy.count = batch->count;
    copy.level = batch->level;
    copy.line = batch->line;
    copy.dir = strdup(batch->dir);
    rc = copy.dir ? vel_batch_key_copy(&batch->key, &copy.key, err)
                  : vel_out_of_memory(err, "a batch");
    for (size_t i = 0; rc == 0 && i < batch->ranks.n; i++)
        rc = copy_rank(vel_vec_at(&batch->ranks, i), &copy, err);
    if (rc == 0)
        *ret = copy;
    else
        vel_batch_fini(&copy);
    return rc;
}
