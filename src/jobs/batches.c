/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "jobs/batches_in.h"
#include "sys/host.h"
#include "sys/entropy.h"

int vel_batches_create(const struct vel_batches_of *of, struct vel_batches **ret,
                       struct vel_err *err)
{
    struct vel_batches *made = calloc(1, sizeof *made);
    uint64_t self = 0;
    int rc = vel_entropy(&self, sizeof self, err);

    if (made) {
        made->path = vel_batches_path(of->home);
        made->notes = vel_catalog_create();
        made->heard = vel_catalog_create();
    }
    if (rc == 0 && (!made || !made->path || !made->notes || !made->heard))
        rc = vel_out_of_memory(err, "batches");
    if (rc < 0) {
        if (made) {
            vel_catalog_destroy(made->heard);
            vel_catalog_destroy(made->notes);
            free(made->path);
        }
        free(made);
        return rc;
    }
    made->of = *of;
    snprintf(made->self, sizeof made->self, "%016" PRIx64, self);
    made->dir = (struct vel_ledger_dir){
        .fs = of->fs, .path = made->path, .is_shared = of->is_shared};
    made->claimed = made->known.term = -1;
    vel_vec_init(&made->doomed, sizeof(char *));
    vel_vec_init(&made->all, sizeof(struct vel_batch));
    pthread_mutex_init(&made->lock, NULL);
    *ret = made;
    return 0;
}

void vel_batches_destroy(struct vel_batches *batches)
{
    if (!batches)
        return;
    if (batches->ledger)
        vel_batches_leave_turn(batches);
    vel_ledger_close(batches->ledger);
    vel_batch_list_fini(&batches->all);
    vel_catalog_destroy(batches->notes);
    vel_catalog_destroy(batches->heard);
    vel_fs_names_fini(&batches->doomed);
    pthread_mutex_destroy(&batches->lock);
    free(batches->level);
    free(batches->path);
    free(batches);
}

int64_t vel_batches_boot(const struct vel_batches *batches)
{
    return batches->of.is_shared ? 0 : vel_host_boot_number(batches->of.fs);
}

const char *vel_batches_home(const struct vel_batches *batches)
{
    return batches->of.home;
}

const char *vel_batches_node(const struct vel_batches *batches)
{
    return batches->of.node;
}

struct vel_fs *vel_batches_fs(const struct vel_batches *batches)
{
    return batches->of.fs;
}

/* --- under the lock --- */

struct vel_batch *vel_batches_at(const struct vel_batches *batches, const char *dir)
{
    for (size_t i = batches->all.n; i-- > 0;) {
        struct vel_batch *batch = vel_vec_at(&batches->all, i);

        if (strcmp(batch->dir, dir) == 0)
            return batch;
    }
    return NULL;
}

static int find_batch(const struct vel_batches *batches, const char *dir,
                      struct vel_batch **ret, struct vel_err *err)
{
    *ret = vel_batches_at(batches, dir);
    return *ret ? 0 : vel_fail(err, VEL_ENOENT, "%s is no batch of ours", dir);
}

/* Say it: only then it is so. */
static int append(struct vel_batches *batches, const struct vel_buf *text,
                  struct vel_err *err)
{
    return vel_ledger_append(batches->ledger, vel_buf_text(text), text->len, err);
}

static int put(struct vel_batches *batches, const struct vel_buf *text, bool is_synced,
               struct vel_err *err)
{
    int rc =
        vel_ledger_append_joined(batches->ledger, vel_buf_text(text), text->len, err);

    if (rc == 0 && is_synced)
        rc = vel_ledger_sync(batches->ledger, err);
    if (rc == 0)
        rc = vel_ledger_look(batches->ledger, err);
    batches->is_out = batches->is_out || rc == VEL_ECANCEL;
    return rc;
}

int vel_batches_tell(struct vel_batches *batches, const struct vel_buf *text,
                     struct vel_err *err)
{
    return put(batches, text, true, err);
}

int vel_batches_join(struct vel_batches *batches, const struct vel_buf *text,
                     struct vel_err *err)
{
    return put(batches, text, false, err);
}

int vel_batches_say(struct vel_batches *batches, const struct vel_fact *fact,
                    struct vel_err *err)
{
    struct vel_buf text;
    int rc;

    vel_buf_init(&text);
    rc = vel_batches_put_fact(fact, &text, err);
    if (rc == 0)
        rc = append(batches, &text, err);
    vel_buf_fini(&text);
    return rc;
}

/* --- batches --- */

/* Lines of the settings have a number for each of them. */
static int64_t line_of(const struct vel_batches *batches,
                       const struct vel_batch_key *key)
{
    for (size_t i = batches->all.n; i-- > 0;) {
        const struct vel_batch *batch = vel_vec_at(&batches->all, i);

        if (batch->id.launch == batches->number &&
            batch->key.is_alone == key->is_alone &&
            strcmp(batch->key.template, key->template) == 0)
            return batch->line;
    }
    return -1;
}

static int say_batch(struct vel_batches *batches, struct vel_batch *batch,
                     struct vel_err *err)
{
    struct vel_buf text;
    int64_t line = line_of(batches, &batch->key);
    int rc = 0;

    vel_buf_init(&text);
    batch->line = line >= 0 ? line : batches->last_line + 1;
    if (line < 0)
        rc = vel_batches_put_line(batch, &text, err);
    if (rc == 0)
        rc = vel_batches_put(batch, &text, err);
    if (rc == 0)
        rc = append(batches, &text, err);
    if (rc == 0 && line < 0)
        batches->last_line = batch->line;
    vel_buf_fini(&text);
    return rc;
}

/* Nothing is synced: nor is a file before its part is. A directory of which a loss of
 * power has left nothing in the ledger goes with the next begin. */
static int make(struct vel_batches *batches, const struct vel_batch_key *key,
                int64_t level, int kind, struct vel_batch *batch, struct vel_err *err)
{
    int rc = vel_batch_key_copy(key, &batch->key, err);

    if (rc < 0)
        return rc;
    batch->level = level;
    batch->count = 1;
    batch->kind = kind;
    do { /* what others have left there is not ours */
        free(batch->dir);
        batch->id = (struct vel_batch_id){batches->number,
                                          vel_ledger_name(batches->ledger).term,
                                          ++batches->last_batch};
        batch->dir = vel_batch_dir(batches->of.home, &batch->id);
    } while (batch->dir && vel_fs_exists(batches->of.fs, batch->dir));
    rc =
        batch->dir ? say_batch(batches, batch, err) : vel_out_of_memory(err, "a batch");
    if (rc == 0)
        rc = vel_fs_make_dirs_unsynced(batches->of.fs, batch->dir, 0700, err);
    return rc;
}

int vel_batches_make(struct vel_batches *batches, const struct vel_batch_key *key,
                     int64_t level, int kind, char **ret_dir, struct vel_err *err)
{
    struct vel_batch batch;
    char *dir = NULL;
    int rc;

    vel_batch_init(&batch);
    pthread_mutex_lock(&batches->lock);
    rc = vel_batches_need(batches, err);
    if (batches->all.n > batches->many)
        vel_batches_prune(batches, 0);
    if (rc == 0)
        rc = make(batches, key, level, kind, &batch, err);
    if (rc == 0)
        dir = strdup(batch.dir);
    if (rc == 0 && (!dir || !vel_vec_push(&batches->all, &batch)))
        rc = vel_out_of_memory(err, "a batch");
    if (rc == 0)
        *ret_dir = dir;
    vel_batches_unlock(batches);
    if (rc < 0) {
        vel_batch_fini(&batch);
        free(dir);
    }
    return rc;
}

int vel_batches_renumber(struct vel_batches *batches, const char *dir,
                         const struct vel_batch_key *key, struct vel_err *err)
{
    struct vel_batch *batch, was;
    struct vel_buf text;
    int rc;

    vel_buf_init(&text);
    pthread_mutex_lock(&batches->lock);
    rc = vel_batches_need(batches, err);
    if (rc == 0)
        rc = find_batch(batches, dir, &batch, err);
    if (rc == 0) {
        was = *batch;
        batch->count++;
        batch->key.generation = key->generation;
        batch->key.is_late = key->is_late;
        rc = vel_batches_put(batch, &text, err);
        if (rc == 0)
            rc = vel_batches_tell(batches, &text, err);
        if (rc < 0)
            *batch = was;
    }
    vel_batches_unlock(batches);
    vel_buf_fini(&text);
    return rc;
}

static void forget(struct vel_batches *batches, struct vel_batch *batch)
{
    size_t i = (size_t)(batch - (struct vel_batch *)batches->all.items);

    vel_batch_fini(batch);
    vel_vec_remove(&batches->all, i);
}

static int put_unwanted(const struct vel_batch *batch, struct vel_buf *text,
                        struct vel_err *err)
{
    int rc = 0;

    for (size_t r = 0; r < batch->ranks.n; r++) {
        const struct vel_batch_rank *rank = vel_vec_at(&batch->ranks, r);

        for (size_t i = 0; rc == 0 && i < rank->files.n; i++) {
            const struct vel_batch_file *file = vel_vec_at(&rank->files, i);
            const struct vel_fact fact =
                vel_batches_fact(VEL_FACT_UNWANTED, batch, file);

            if (vel_batch_is_left(rank, file))
                rc = vel_batches_put_fact(&fact, text, err);
        }
    }
    return rc;
}

/* A cache that is full takes no fact, but gives the room: without its directory it is
 * none. */
int vel_batches_remove(struct vel_batches *batches, const char *dir,
                       struct vel_err *err)
{
    struct vel_batch *batch;
    struct vel_buf text;
    int rc = 0;

    vel_buf_init(&text);
    pthread_mutex_lock(&batches->lock);
    if (vel_batches_at(batches, dir))
        rc = vel_batches_need(batches, err);
    batch = vel_batches_at(batches, dir); /* a new turn moves them */
    if (batch && rc == 0)
        rc = put_unwanted(batch, &text, err);
    if (batch && rc == 0)
        rc = vel_batches_tell(batches, &text, err);
    if (batch && rc != VEL_ECANCEL) {
        vel_batches_doom(batches, dir);
        forget(batches, batch);
    }
    vel_batches_unlock(batches);
    vel_buf_fini(&text);
    return rc == VEL_ECANCEL ? rc : 0;
}

/* --- to be read --- */

static bool is_wanted(const struct vel_batch *batch)
{
    return batch->parts.n == 0 || vel_batch_has_left(batch);
}

int vel_batches_list(struct vel_batches *batches, struct vel_vec *ret,
                     struct vel_err *err)
{
    int rc = 0;

    pthread_mutex_lock(&batches->lock);
    for (size_t i = 0; rc == 0 && i < batches->all.n; i++) {
        const struct vel_batch *batch = vel_vec_at(&batches->all, i);
        struct vel_batch copy;

        if (!is_wanted(batch))
            continue;
        rc = vel_batch_copy_left(batch, &copy, err);
        if (rc == 0 && !vel_vec_push(ret, &copy)) {
            vel_batch_fini(&copy);
            rc = vel_out_of_memory(err, "batches");
        }
    }
    vel_batches_unlock(batches);
    return rc;
}

static bool is_in(const struct vel_vec *list, size_t from, const char *dir)
{
    bool is = false;

    for (size_t i = from; !is && i < list->n; i++)
        is = strcmp(((struct vel_batch *)vel_vec_at(list, i))->dir, dir) == 0;
    return is;
}

int vel_batches_list_all(struct vel_batches *batches, struct vel_vec *ret,
                         struct vel_err *err)
{
    size_t own = ret->n;
    struct vel_vec read;
    int rc = vel_batches_list(batches, ret, err);

    vel_vec_init(&read, sizeof(struct vel_batch));
    if (rc == 0)
        rc = vel_batches_read(batches->of.fs, batches->of.home,
                              vel_batches_boot(batches), &read, err);
    for (size_t i = read.n; i-- > 0;) {
        struct vel_batch *batch = vel_vec_at(&read, i);

        if (rc < 0 || is_in(ret, own, batch->dir) ||
            vel_batches_has(batches, batch->dir))
            continue;
        if (vel_vec_push(ret, batch))
            vel_vec_remove(&read, i);
        else
            rc = vel_out_of_memory(err, "batches");
    }
    vel_batch_list_fini(&read);
    return rc;
}

bool vel_batches_has(struct vel_batches *batches, const char *dir)
{
    pthread_mutex_lock(&batches->lock);
    bool has = vel_batches_at(batches, dir) != NULL;
    vel_batches_unlock(batches);
    return has;
}

int vel_batches_find(struct vel_batches *batches, const char *dir,
                     struct vel_batch *ret, struct vel_err *err)
{
    struct vel_batch *batch;
    int rc;

    pthread_mutex_lock(&batches->lock);
    rc = find_batch(batches, dir, &batch, err);
    if (rc == 0 && !is_wanted(batch))
        rc = vel_fail(err, VEL_ENOENT, "what was in %s is of datasets", dir);
    if (rc == 0)
        rc = vel_batch_copy_left(batch, ret, err);
    vel_batches_unlock(batches);
    return rc;
}

/* Whoever has made it may have died before he brought it to the disk, so that is done
 * once; mostly all datasets are in one. */
int vel_batches_make_level(struct vel_batches *batches, const char *level,
                           struct vel_err *err)
{
    int rc = 0;

    pthread_mutex_lock(&batches->lock);
    if (!batches->level || strcmp(batches->level, level) != 0 ||
        !vel_fs_exists(batches->of.fs, level)) {
        rc = vel_fs_make_own_dir(batches->of.fs, level, 0700, err);
        free(batches->level);
        batches->level = rc == 0 ? strdup(level) : NULL; /* else it is done again */
    }
    pthread_mutex_unlock(&batches->lock);
    return rc;
}

static int tell(struct vel_batches *batches, bool is_synced, struct vel_err *err)
{
    const struct vel_buf nothing = {0};
    int rc = 0;

    pthread_mutex_lock(&batches->lock);
    if (batches->number > 0 || batches->is_out)
        rc = vel_batches_need(batches, err);
    if (rc == 0 && batches->ledger)
        rc = is_synced ? vel_batches_tell(batches, &nothing, err)
                       : vel_ledger_look(batches->ledger, err);
    batches->is_out = batches->is_out || rc == VEL_ECANCEL;
    vel_batches_unlock(batches);
    return rc;
}

int vel_batches_look(struct vel_batches *batches, struct vel_err *err)
{
    return tell(batches, false, err);
}

int vel_batches_settle(struct vel_batches *batches, struct vel_err *err)
{
    return tell(batches, true, err);
}
