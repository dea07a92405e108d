/* SPDX-License-Identifier: BSD-3-Clause */
/* Batches of which nothing is left, and directories that go. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "jobs/batches_in.h"
#include "meta/cache.h"
#include "meta/paths.h"

enum { MORE = 64 }; /* batches, until what is gone is looked for again */

bool vel_batches_have_dataset(const struct vel_batches *batches,
                              const struct vel_vec *levels, int64_t id)
{
    bool has = false;

    for (size_t k = 0; !has && k < levels->n; k++) {
        const char *name = *(char **)vel_vec_at(levels, k);
        int64_t index;
        char *level = vel_number_behind(name, "index.", &index)
                          ? vel_path_join(batches->of.home, name)
                          : NULL,
             *dir = level ? vel_cache_dataset_dir(level, id) : NULL;

        has = dir && !vel_batch_is_gone(batches->of.fs, dir);
        free(dir);
        free(level);
    }
    return has;
}

static bool has_dataset(const struct vel_batches *batches, const struct vel_vec *levels,
                        const struct vel_batch *batch)
{
    bool has = false;

    for (size_t i = 0; !has && i < batch->parts.n; i++)
        has = vel_batches_have_dataset(
            batches, levels,
            ((struct vel_batch_part *)vel_vec_at(&batch->parts, i))->id);
    return has;
}

void vel_batches_prune(struct vel_batches *batches, size_t from)
{
    struct vel_batch *items = batches->all.items;
    struct vel_vec names;
    size_t n = from;

    vel_vec_init(&names, sizeof(char *));
    if (vel_fs_list(batches->of.fs, batches->of.home, &names, NULL) < 0) {
        vel_fs_names_fini(&names);
        return;
    }
    for (size_t i = from; i < batches->all.n; i++)
        if (!vel_batch_is_gone(batches->of.fs, items[i].dir) ||
            has_dataset(batches, &names, &items[i]))
            items[n++] = items[i];
        else
            vel_batch_fini(&items[i]);
    batches->all.n = n;
    batches->many = n + MORE;
    vel_batches_prune_notes(batches, &names);
    vel_fs_names_fini(&names);
}

/* --- directories --- */

void vel_batches_doom(struct vel_batches *batches, const char *dir)
{
    char *path = strdup(dir);

    if (!path || !vel_vec_push(&batches->doomed, &path))
        free(path); /* the next begin sees it */
}

/* The directory of a turn goes with the last batch in it, but for our own: the next
 * one is soon there. */
static void remove_dir(struct vel_fs *fs, const char *dir, struct vel_ledger_name own)
{
    char *above = vel_path_dir(dir);
    int64_t launch, turn;

    vel_fs_remove_tree(fs, dir, NULL); /* else the next begin does */
    if (above && vel_batch_is_turn(vel_path_base(above), &launch, &turn) &&
        (launch != own.launch || turn != own.term))
        fs->ops->rmdir(fs, above);
    free(above);
}

void vel_batches_leave_turn(struct vel_batches *batches)
{
    const struct vel_batch_id id = {batches->known.launch, batches->known.term, 1};
    char *dir = vel_batch_dir(batches->of.home, &id),
         *above = dir ? vel_path_dir(dir) : NULL;

    if (above)
        batches->of.fs->ops->rmdir(batches->of.fs, above);
    free(above);
    free(dir);
}

void vel_batches_unlock(struct vel_batches *batches)
{
    const struct vel_ledger_name own = batches->known;
    struct vel_vec doomed = batches->doomed;

    vel_vec_init(&batches->doomed, sizeof(char *));
    pthread_mutex_unlock(&batches->lock);
    for (size_t i = 0; i < doomed.n; i++)
        remove_dir(batches->of.fs, *(char **)vel_vec_at(&doomed, i), own);
    vel_fs_names_fini(&doomed);
}

static bool has_batch(const struct vel_batches *batches, const char *dir)
{
    const struct vel_batch *batch = vel_batches_at(batches, dir);

    return batch && (batch->parts.n == 0 || vel_batch_has_left(batch));
}

static void sweep_turn(struct vel_batches *batches, const char *dir)
{
    struct vel_vec names;

    vel_vec_init(&names, sizeof(char *));
    vel_fs_list(batches->of.fs, dir, &names, NULL);
    for (size_t i = 0; i < names.n; i++) {
        char *path = vel_path_join(dir, *(char **)vel_vec_at(&names, i));

        if (path && vel_batch_is_dir(path) && !has_batch(batches, path))
            vel_batches_doom(batches, path);
        free(path);
    }
    vel_fs_names_fini(&names);
    batches->of.fs->ops->rmdir(batches->of.fs, dir);
}

/* Of a ledger that is damaged nobody knows what it had. */
static bool is_swept(const struct vel_ledger_text *text, int64_t launch)
{
    return text->name.launch == launch && text->wrong == 0 && !text->is_torn &&
           !text->is_lossy;
}

void vel_batches_sweep(struct vel_batches *batches, const struct vel_carry *carry)
{
    struct vel_vec names;

    vel_vec_init(&names, sizeof(char *));
    vel_fs_list(batches->of.fs, batches->of.home, &names, NULL);
    for (size_t i = 0; i < names.n; i++) {
        const char *name = *(char **)vel_vec_at(&names, i);
        int64_t launch, turn;
        bool is_ours = false;
        char *path = NULL;

        if (!vel_batch_is_turn(name, &launch, &turn))
            continue;
        for (size_t k = 0; !is_ours && k < carry->texts.n; k++)
            is_ours = is_swept(vel_vec_at(&carry->texts, k), launch);
        if (is_ours)
            path = vel_path_join(batches->of.home, name);
        if (path)
            sweep_turn(batches, path);
        free(path);
    }
    vel_fs_names_fini(&names);
}
