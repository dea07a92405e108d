/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tap/batchlab.h"
#include "tap/files.h"
#include "tap/tap.h"

char batchlab_home[600];

void batchlab_must(int rc, const struct vel_err *err)
{
    if (rc < 0)
        bail_out("%s", err->text);
}

struct vel_batches *batchlab_begin_on(struct vel_fs *fs, const char *node,
                                      const char *launch)
{
    const struct vel_batches_of of = {.fs = fs,
                                      .clock = vel_clock_system(),
                                      .home = batchlab_home,
                                      .node = node,
                                      .launch = launch,
                                      .ranks = BATCHLAB_RANKS};
    struct vel_batches *made;
    struct vel_err err = {0};

    batchlab_must(vel_batches_create(&of, &made, &err), &err);
    return made;
}

struct vel_batches *batchlab_begin(const char *launch)
{
    return batchlab_begin_on(vel_fs_posix(), "n1", launch);
}

struct vel_batch_key batchlab_key(const char *launch, const char *template,
                                  const char *step, int64_t generation)
{
    return (struct vel_batch_key){.launch = (char *)(uintptr_t)launch,
                                  .template = (char *)(uintptr_t) template,
                                  .step = (char *)(uintptr_t)step,
                                  .generation = generation,
                                  .ranks = BATCHLAB_RANKS,
                                  .above = 7};
}

char *batchlab_make(struct vel_batches *batches, const char *launch, const char *step)
{
    const struct vel_batch_key key =
        batchlab_key(launch, "ck ck.{step}.{rank}.h5", step, 1);
    struct vel_err err = {0};
    char *dir = NULL;

    batchlab_must(
        vel_batches_make(batches, &key, 0, VEL_LINE_IS_CHECKPOINT, &dir, &err), &err);
    return dir;
}

void batchlab_write(struct vel_batches *batches, const char *dir, int64_t rank,
                    const char *name, const char *text)
{
    struct vel_err err = {0};
    char *path = NULL;

    batchlab_must(vel_batches_open(batches, dir, rank, name, &path, &err), &err);
    unlink(path);
    tap_put_file(path, text);
    free(path);
}

void batchlab_close(struct vel_batches *batches, const char *dir, int64_t rank,
                    const char *name, int64_t order)
{
    struct vel_err err = {0};

    batchlab_must(vel_batches_close(batches, dir, rank, name, order, 5, &err), &err);
}

void batchlab_fresh(const char *name)
{
    snprintf(batchlab_home, sizeof batchlab_home, "%s", tap_path(name));
    tap_fresh_dir(batchlab_home);
}

bool batchlab_has(struct vel_batches *batches, const char *launch, const char *name)
{
    struct vel_vec list;
    struct vel_err err = {0};
    bool has = false;

    vel_vec_init(&list, sizeof(struct vel_batch));
    batchlab_must(vel_batches_list(batches, &list, &err), &err);
    for (size_t i = 0; i < list.n; i++) {
        const struct vel_batch *batch = vel_vec_at(&list, i);
        const struct vel_batch_rank *rank = vel_batch_rank(batch, 0);

        has |= strcmp(batch->key.launch, launch) == 0 && rank &&
               vel_batch_file(rank, name);
    }
    vel_batch_list_fini(&list);
    return has;
}

/* --- as text, that two can be compared --- */

static int by_dir(const void *a, const void *b)
{
    return strcmp(((const struct vel_batch *)a)->dir,
                  ((const struct vel_batch *)b)->dir);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct vel_batch_file *)a)->name,
                  ((const struct vel_batch_file *)b)->name);
}

static char *tell(struct vel_vec *list)
{
    struct vel_buf text;

    vel_buf_init(&text);
    vel_vec_sort(list, by_dir);
    for (size_t i = 0; i < list->n; i++) {
        const struct vel_batch *batch = vel_vec_at(list, i);

        vel_buf_printf(
            &text, "%s %s %s %s %lld%s%s\n", batch->dir + strlen(batchlab_home),
            batch->key.launch, batch->key.template, batch->key.step,
            (long long)batch->key.generation, batch->key.is_late ? " late" : "",
            batch->key.is_alone ? " alone" : "");
        for (size_t r = 0; r < batch->ranks.n; r++) {
            struct vel_batch_rank *rank = vel_vec_at(&batch->ranks, r);

            vel_vec_sort(&rank->files, by_name);
            for (size_t k = 0; k < rank->files.n; k++) {
                const struct vel_batch_file *file = vel_vec_at(&rank->files, k);

                vel_buf_printf(&text, "  %lld %s %lld %lld%s%s\n",
                               (long long)rank->rank, file->name,
                               (long long)file->order, (long long)file->size,
                               vel_batch_is_given(file) ? " given" : "",
                               vel_batch_is_given_before(file) ? " before" : "");
            }
        }
    }
    vel_batch_list_fini(list);
    return vel_buf_take(&text, NULL);
}

static char *tell_own(struct vel_batches *batches)
{
    struct vel_err err = {0};
    struct vel_vec list;

    vel_vec_init(&list, sizeof(struct vel_batch));
    batchlab_must(vel_batches_list(batches, &list, &err), &err);
    return tell(&list);
}

static char *tell_read(void)
{
    struct vel_err err = {0};
    struct vel_vec list;

    vel_vec_init(&list, sizeof(struct vel_batch));
    batchlab_must(vel_batches_read(vel_fs_posix(), batchlab_home, 0, &list, &err),
                  &err);
    return tell(&list);
}

bool batchlab_is_told(struct vel_batches *batches, const char *when)
{
    char *own = tell_own(batches), *read = tell_read();
    bool is = strcmp(own, read) == 0;

    if (!is)
        note("%s:\n%s\nand who reads finds\n%s", when, own, read);
    free(own);
    free(read);
    return is;
}

struct vel_batches *batchlab_adopt(const char *launch)
{
    struct vel_batches *batches = batchlab_begin(launch);
    struct vel_err err = {0};

    batchlab_must(vel_batches_adopt(batches, &err), &err);
    return batches;
}
