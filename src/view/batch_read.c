/* SPDX-License-Identifier: BSD-3-Clause */
/* Batches as the ledgers of a cache tell them. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/map.h"
#include "base/path.h"
#include "ident/launchid.h"
#include "ledger/read.h"
#include "view/batch.h"

enum { KEY = 80 };

/* A fold under way. */
struct fold {
    const struct vel_catalog *catalog;
    const char *home;
    struct vel_vec *ret;
    struct vel_map *at; /* place in *ret and 1 more, by "N K B" */
    struct vel_err *err;
};

static void name_it(char ret[KEY], const struct vel_batch_id *id)
{
    snprintf(ret, KEY, "%" PRId64 " %" PRId64 " %" PRId64, id->launch, id->turn,
             id->number);
}

/* NULL: nothing is known of it. */
static struct vel_batch *find(const struct fold *f, struct vel_batch_id id)
{
    char name[KEY];
    size_t at;

    name_it(name, &id);
    at = (size_t)(uintptr_t)vel_map_get(f->at, name);
    return at > 0 ? vel_vec_at(f->ret, at - 1) : NULL;
}

/* --- keys --- */

static int set_launch(const struct fold *f, struct vel_batch *batch)
{
    const struct vel_fact subject = {.kind = VEL_FACT_LAUNCH,
                                     .u.launch = {.number = batch->id.launch}};
    struct vel_fact fact;
    int rc = vel_catalog_find(f->catalog, &subject, &fact, f->err);

    if (rc < 0)
        return rc;
    batch->key.ranks = fact.u.launch.ranks;
    batch->key.boot = fact.u.launch.boot;
    if (vel_launch_is_name(fact.u.launch.name))
        batch->key.launch = strdup(fact.u.launch.name);
    rc = !vel_launch_is_name(fact.u.launch.name)
             ? vel_fail(f->err, VEL_ECORRUPT, "'%s' is no name of a launch",
                        fact.u.launch.name)
         : batch->key.launch ? 0
                             : vel_out_of_memory(f->err, "a batch");
    vel_fact_fini(&fact);
    return rc;
}

/* "NAME PATTERN", or a pattern alone. */
static int set_template(const struct fold *f, struct vel_batch *batch)
{
    const struct vel_fact subject = {
        .kind = VEL_FACT_LINE,
        .u.line = {.number = batch->id.launch, .line = batch->line}};
    struct vel_fact fact;
    struct vel_buf text;
    int rc = vel_catalog_find(f->catalog, &subject, &fact, f->err);

    if (rc < 0)
        return rc;
    vel_buf_init(&text);
    if (*fact.u.line.name)
        vel_buf_printf(&text, "%s ", fact.u.line.name);
    vel_buf_puts(&text, fact.u.line.pattern);
    batch->key.is_alone = fact.u.line.kind & VEL_LINE_IS_ALONE;
    batch->kind = (int)fact.u.line.kind & ~VEL_LINE_IS_ALONE;
    batch->key.template = vel_buf_take(&text, NULL);
    vel_fact_fini(&fact);
    return batch->key.template ? 0 : vel_out_of_memory(f->err, "a batch");
}

static int set_batch(const struct fold *f, const struct vel_fact_batch *fact,
                     struct vel_batch *ret)
{
    int rc;

    ret->id = (struct vel_batch_id){fact->number, fact->turn, fact->batch};
    ret->count = fact->count;
    ret->level = fact->level;
    ret->line = fact->line;
    ret->key.generation = fact->generation;
    ret->key.above = fact->above;
    ret->key.is_late = fact->late;
    ret->key.step = strdup(fact->step);
    ret->dir = vel_batch_dir(f->home, &ret->id);
    rc = ret->key.step && ret->dir ? set_launch(f, ret)
                                   : vel_out_of_memory(f->err, "a batch");
    return rc == 0 ? set_template(f, ret) : rc;
}

static int add_batch(const struct fold *f, const struct vel_fact_batch *fact)
{
    struct vel_batch batch;
    char name[KEY];
    int rc;

    vel_batch_init(&batch);
    rc = set_batch(f, fact, &batch);
    if (rc < 0)
        vel_batch_fini(&batch);
    if (rc == VEL_ENOENT || rc == VEL_ECORRUPT) {
        vel_log(VEL_LOG_WARN,
                "files in %s/%" PRId64 ".%" PRId64 "/%" PRId64 " do not count: %s",
                f->home, fact->number, fact->turn, fact->batch, f->err->text);
        return 0;
    }
    if (rc < 0)
        return rc;
    name_it(name, &batch.id);
    if (!vel_vec_push(f->ret, &batch)) {
        vel_batch_fini(&batch);
        return vel_out_of_memory(f->err, "batches");
    }
    return vel_map_set(f->at, name, (void *)(uintptr_t)f->ret->n, NULL) == 0
               ? 0
               : vel_out_of_memory(f->err, "batches");
}

/* --- files --- */

/* The number behind the file's name in the fact of a kind; 0: there is none. */
static int look_up(const struct fold *f, enum vel_fact_kind kind,
                   const struct vel_fact_open *open, struct vel_fact *ret)
{
    struct vel_fact subject = {.kind = kind};

    subject.u.closed.number = open->number;
    subject.u.closed.turn = open->turn;
    subject.u.closed.batch = open->batch;
    subject.u.closed.file = open->file;
    return vel_catalog_find(f->catalog, &subject, ret, NULL);
}

static int add_file(const struct fold *f, const struct vel_fact_open *open)
{
    struct vel_batch *batch =
        find(f, (struct vel_batch_id){open->number, open->turn, open->batch});
    struct vel_batch_file file = {.number = open->file, .name = open->name};
    struct vel_batch_rank *rank;
    struct vel_fact fact;

    if (batch && batch->last_file < open->file)
        batch->last_file = open->file;
    if (!batch || !vel_path_is_inner(open->name))
        return 0;
    if (look_up(f, VEL_FACT_CLOSED, open, &fact) == 0) {
        file.order = fact.u.closed.order;
        file.size = fact.u.closed.size;
    }
    if (look_up(f, VEL_FACT_GIVEN, open, &fact) == 0) {
        file.given = fact.u.given.order;
        file.is_before = fact.u.given.before;
    }
    rank = vel_batch_make_rank(batch, open->rank);
    return rank ? vel_batch_add_file(rank, &file, f->err)
                : vel_out_of_memory(f->err, "a batch");
}

/* Of the last one of its name; it goes when all are there. */
static void remove_unwanted(const struct fold *f, const struct vel_fact_open *open)
{
    struct vel_batch *batch =
        find(f, (struct vel_batch_id){open->number, open->turn, open->batch});
    struct vel_batch_rank *rank = batch ? vel_batch_rank(batch, open->rank) : NULL;
    const struct vel_batch_file *file = rank ? vel_batch_file(rank, open->name) : NULL;
    struct vel_fact fact;

    if (file && file->number == open->file &&
        look_up(f, VEL_FACT_UNWANTED, open, &fact) == 0)
        vel_batch_remove_file(rank, open->name);
}

static int add_part(const struct fold *f, const struct vel_fact_part *part)
{
    const struct vel_batch_part of = {part->id, part->rank, part->upto};
    struct vel_batch *batch =
        find(f, (struct vel_batch_id){part->number, part->turn, part->batch});
    struct vel_batch_rank *rank = batch ? vel_batch_make_rank(batch, part->rank) : NULL;

    if (!batch)
        return 0;
    if (!rank || !vel_vec_push(&batch->parts, &of))
        return vel_out_of_memory(f->err, "a batch");
    if (rank->upto < part->upto)
        rank->upto = part->upto;
    return 0;
}

/* Its bytes need not be what they were. */
static void open_again(const struct fold *f, int64_t boot)
{
    for (size_t i = 0; boot && i < f->ret->n; i++) {
        struct vel_batch *batch = vel_vec_at(f->ret, i);

        if (!batch->key.boot || batch->key.boot == boot)
            continue;
        for (size_t r = 0; r < batch->ranks.n; r++) {
            struct vel_batch_rank *rank = vel_vec_at(&batch->ranks, r);

            for (size_t k = 0; k < rank->files.n; k++) {
                struct vel_batch_file *file = vel_vec_at(&rank->files, k);

                if (vel_batch_is_left(rank, file))
                    file->order = 0;
            }
        }
    }
}

/* --- all --- */

static int add_fact(const struct fold *f, const struct vel_fact *fact, bool is_again)
{
    switch (fact->kind) {
    case VEL_FACT_BATCH:
        return add_batch(f, &fact->u.batch);
    case VEL_FACT_OPEN:
        if (is_again)
            remove_unwanted(f, &fact->u.open);
        return is_again ? 0 : add_file(f, &fact->u.open);
    case VEL_FACT_PART:
        return add_part(f, &fact->u.part);
    default:
        return 0;
    }
}

static int add_all(const struct fold *f, enum vel_fact_kind kind, bool is_again)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < vel_catalog_count(f->catalog, kind); i++) {
        struct vel_fact fact;

        rc = vel_catalog_at(f->catalog, kind, i, &fact, f->err);
        if (rc < 0)
            break;
        rc = add_fact(f, &fact, is_again);
        vel_fact_fini(&fact);
    }
    return rc;
}

int vel_batches_fold(const struct vel_catalog *catalog, const char *home, int64_t boot,
                     struct vel_vec *ret, struct vel_err *err)
{
    struct vel_err why = {0};
    struct fold f = {catalog, home, ret, vel_map_create(), &why};
    int rc =
        f.at ? add_all(&f, VEL_FACT_BATCH, false) : vel_out_of_memory(&why, "batches");

    if (rc == 0)
        rc = add_all(&f, VEL_FACT_OPEN, false);
    if (rc == 0)
        rc = add_all(&f, VEL_FACT_OPEN, true);
    if (rc == 0)
        rc = add_all(&f, VEL_FACT_PART, false);
    if (rc == 0)
        open_again(&f, boot);
    if (f.at)
        vel_map_destroy(f.at, NULL);
    return rc < 0 ? vel_fail(err, (enum vel_status)rc, "%s", why.text) : 0;
}

/* --- everybody's --- */

int vel_batches_fold_text(struct vel_catalog *catalog,
                          const struct vel_ledger_text *text, struct vel_err *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < text->facts.n; i++) {
        const struct vel_ledger_fact *fact = vel_vec_at(&text->facts, i);
        struct vel_err why = {0};

        rc = vel_catalog_fold(catalog, &fact->line, &why);
        if (rc == VEL_ECORRUPT) {
            vel_log(VEL_LOG_WARN, "ledger %" PRId64 ".%" PRId64 ": %s", fact->of.launch,
                    fact->of.term, why.text);
            rc = 0;
        }
        if (rc < 0)
            vel_fail(err, (enum vel_status)rc, "%s", why.text);
    }
    return rc;
}

static int fold_texts(struct vel_catalog *catalog, const struct vel_vec *texts,
                      struct vel_err *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < texts->n; i++)
        rc = vel_batches_fold_text(catalog, vel_vec_at(texts, i), err);
    return rc;
}

int vel_batches_read_ledgers(const struct vel_ledger_dir *dir, struct vel_vec *ret,
                             struct vel_err *err)
{
    struct vel_err why = {0};
    struct stat st;
    int rc = vel_fs_lstat(dir->fs, dir->path, &st, &why);

    if (rc == 0)
        return vel_ledger_read_all(dir, ret, err);
    vel_vec_init(ret, sizeof(struct vel_ledger_text));
    return rc == VEL_ENOENT ? 0 : vel_fail(err, (enum vel_status)rc, "%s", why.text);
}

/* Those that are of datasets as a whole are none of these, nor are those that went. */
static bool is_wanted(struct vel_fs *fs, const struct vel_batch *batch)
{
    return (batch->parts.n == 0 || vel_batch_has_left(batch)) &&
           !vel_batch_is_gone(fs, batch->dir);
}

static int keep_left(struct vel_fs *fs, const struct vel_vec *all, struct vel_vec *ret,
                     struct vel_err *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < all->n; i++) {
        const struct vel_batch *batch = vel_vec_at(all, i);
        struct vel_batch copy;

        if (!is_wanted(fs, batch))
            continue;
        rc = vel_batch_copy_left(batch, &copy, err);
        if (rc == 0 && !vel_vec_push(ret, &copy)) {
            vel_batch_fini(&copy);
            rc = vel_out_of_memory(err, "batches");
        }
    }
    return rc;
}

int vel_batches_read_catalog(struct vel_fs *fs, const char *home,
                             struct vel_catalog **ret, struct vel_err *err)
{
    char *path = vel_batches_path(home);
    const struct vel_ledger_dir dir = {.fs = fs, .path = path};
    struct vel_catalog *catalog = vel_catalog_create();
    struct vel_vec texts;
    int rc = path && catalog ? vel_batches_read_ledgers(&dir, &texts, err)
                             : vel_out_of_memory(err, "batches");

    if (rc == 0) {
        rc = fold_texts(catalog, &texts, err);
        vel_ledger_texts_fini(&texts);
    }
    free(path);
    if (rc < 0)
        vel_catalog_destroy(catalog);
    else
        *ret = catalog;
    return rc;
}

int vel_batches_read(struct vel_fs *fs, const char *home, int64_t boot,
                     struct vel_vec *ret, struct vel_err *err)
{
    struct vel_catalog *catalog = NULL;
    struct vel_vec all;
    int rc = vel_batches_read_catalog(fs, home, &catalog, err);

    vel_vec_init(&all, sizeof(struct vel_batch));
    if (rc == 0)
        rc = vel_batches_fold(catalog, home, boot, &all, err);
    if (rc == 0)
        rc = keep_left(fs, &all, ret, err);
    vel_batch_list_fini(&all);
    vel_catalog_destroy(catalog);
    return rc;
}
