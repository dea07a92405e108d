/* SPDX-License-Identifier: BSD-3-Clause */
/* Facts of files that are no facts of batches: of each subject the last one, in this
 * ledger or in one that it goes on with. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "jobs/batches_in.h"

/* --- what is kept --- */

static const enum vel_fact_kind kinds[] = {VEL_FACT_STANDS};

enum { KINDS = sizeof kinds / sizeof *kinds };

int vel_batches_learn_notes(struct vel_batches *batches,
                            const struct vel_catalog *catalog, struct vel_err *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < KINDS; i++)
        rc = vel_catalog_copy(batches->notes, catalog, kinds[i], err);
    return rc;
}

/* Where the directory of a file is gone, so is the file. */
struct last {
    const struct vel_batches *batches;
    char *dir;
    bool is_gone; /* that one, which is that of most that follow */
};

static bool is_there(void *arg, const struct vel_fact *fact)
{
    struct last *last = arg;
    const char *dir = fact->u.stands.dir;
    char *path;

    if (last->dir && strcmp(last->dir, dir) == 0)
        return !last->is_gone;
    free(last->dir);
    last->dir = strdup(dir);
    path = vel_path_join(last->batches->of.home, dir);
    last->is_gone = path && vel_batch_is_gone(last->batches->of.fs, path);
    free(path);
    return !last->is_gone;
}

void vel_batches_prune_notes(struct vel_batches *batches)
{
    struct last last = {.batches = batches};

    vel_catalog_keep(batches->notes, VEL_FACT_STANDS, is_there, &last, NULL);
    free(last.dir);
}

/* --- what is said --- */

static int say(struct vel_batches *batches, const struct vel_buf *text, bool is_synced,
               struct vel_err *err)
{
    const struct vel_ledger_line line = {vel_buf_text(text), text->len - 1};
    int rc = vel_batches_need(batches, err);

    if (rc == 0)
        rc = is_synced ? vel_batches_tell(batches, text, err)
                       : vel_ledger_append(batches->ledger, vel_buf_text(text),
                                           text->len, err);
    return rc == 0 ? vel_catalog_fold(batches->notes, &line, err) : rc;
}

int vel_batches_note(struct vel_batches *batches, const struct vel_fact *fact,
                     bool is_synced, struct vel_err *err)
{
    struct vel_buf text;
    int rc;

    vel_buf_init(&text);
    rc = vel_batches_put_fact(fact, &text, err);
    if (rc == 0) {
        pthread_mutex_lock(&batches->lock);
        rc = say(batches, &text, is_synced, err);
        vel_batches_unlock(batches);
    }
    vel_buf_fini(&text);
    return rc;
}
