/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that are of no dataset yet: closed by some of those who write it, or open; or
 * sealed, and not taken since, when the next launch does that. They have no checksums.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "cmd/ls.h"
#include "jobs/compose.h"
#include "red/header.h"
#include "view/batch.h"
#include "view/point.h"

/* --- what there is --- */

void vel_ls_opened_fini(struct vel_ls_opened *opened)
{
    vel_batch_fini(&opened->batch);
    free(opened->node);
    free(opened->launch);
    free(opened->name);
    vel_vec_fini(&opened->closed);
}

struct count {
    int64_t files, bytes;
};

static int count_file(void *arg, enum vel_fs_visit what, const char *below,
                      const struct stat *st, struct vel_err *err)
{
    struct count *count = arg;
    const char *slash = strchr(below, '/');

    (void)err;
    if (what == VEL_FS_FILE && slash && strncmp(below, "rank.", 5) == 0 &&
        !vel_red_is_file_name(vel_path_base(below))) {
        count->files++;
        count->bytes += st->st_size;
    }
    return 0;
}

static void count_open(struct vel_ls *ls, const struct vel_batch *part,
                       struct vel_ls_opened *ret)
{
    for (size_t r = 0; r < part->ranks.n; r++) {
        const struct vel_batch_rank *rank = vel_vec_at(&part->ranks, r);

        for (size_t i = 0; i < rank->files.n; i++) {
            const struct vel_batch_file *file = vel_vec_at(&rank->files, i);
            struct vel_vec points;

            if (file->order > 0)
                continue;
            vel_vec_init(&points, sizeof(int64_t));
            vel_point_list(ls->fs, part->dir, rank->rank, file->name, &points, NULL);
            ret->open++;
            ret->flushed += points.n > 0;
            vel_vec_fini(&points);
        }
    }
}

/* Are all files of the rank closed, and there? */
static bool is_closed(struct vel_ls *ls, const struct vel_batch *part,
                      const struct vel_batch_rank *rank)
{
    bool is = true;

    for (size_t i = 0; is && i < rank->files.n; i++) {
        const struct vel_batch_file *file = vel_vec_at(&rank->files, i);
        char *path = NULL;
        struct stat st;

        is = file->order > 0 &&
             vel_batch_path(part->dir, rank->rank, file->name, &path, NULL) == 0 &&
             vel_fs_lstat(ls->fs, path, &st, NULL) == 0 && st.st_size == file->size;
        free(path);
    }
    return is;
}

/* The dataset that files of a key are sealed as; 0: none. */
static int64_t sealed_as(const struct vel_evidence *evidence,
                         const struct vel_batch_key *key)
{
    for (size_t i = 0; i < evidence->seals.n; i++) {
        const struct vel_view_seal *of = vel_vec_at(&evidence->seals, i);
        const struct vel_seal *seal = &of->seal;

        if (seal->verdict == VEL_VERDICT_SEALED &&
            seal->generation == key->generation &&
            strcmp(of->launch, key->launch) == 0 &&
            strcmp(seal->template, key->template) == 0 &&
            strcmp(seal->step, key->step) == 0)
            return seal->id;
    }
    return 0;
}

static void tell_key(struct vel_ls *ls, const struct vel_ls_unit *unit,
                     const struct vel_batch_key *key, struct vel_ls_opened *ret)
{
    ret->launch = vel_ls_copy(key->launch);
    ret->name = vel_ls_need(
        vel_compose_name(vel_compose_line(ls->conf, key->template), key->template));
    ret->step = vel_compose_version(key->step, -1);
    ret->sealed = sealed_as(&unit->evidence, key);
}

static void tell_batch(struct vel_ls *ls, const struct vel_ls_unit *unit,
                       struct vel_ls_opened *ret)
{
    const struct vel_batch *batch = &ret->batch;

    tell_key(ls, unit, &batch->key, ret);
    count_open(ls, batch, ret);
    for (size_t r = 0; r < batch->ranks.n; r++) {
        const struct vel_batch_rank *rank = vel_vec_at(&batch->ranks, r);

        if (is_closed(ls, batch, rank))
            vel_ls_push(&ret->closed, &rank->rank);
    }
}

/* Takes *batch. */
static void add_batch(struct vel_ls *ls, struct vel_ls_unit *unit,
                      struct vel_batch *batch, const char *node)
{
    struct count count = {0};
    struct vel_ls_opened opened;

    if (vel_fs_walk(ls->fs, batch->dir, count_file, &count, NULL) < 0) {
        vel_batch_fini(batch);
        return;
    }
    opened = (struct vel_ls_opened){.index = batch->level,
                                    .batch = *batch,
                                    .node = vel_ls_copy(node),
                                    .files = count.files,
                                    .bytes = count.bytes,
                                    .step = -1};
    vel_vec_init(&opened.closed, sizeof(int64_t));
    if (batch->key.launch)
        tell_batch(ls, unit, &opened);
    vel_ls_push(&unit->opened, &opened);
}

static bool is_in(const struct vel_vec *batches, const char *dir)
{
    bool is = false;

    for (size_t i = 0; !is && i < batches->n; i++)
        is = strcmp(((struct vel_batch *)vel_vec_at(batches, i))->dir, dir) == 0;
    return is;
}

/* Directories of which no ledger says anything. */
static void add_unknown(struct vel_ls *ls, struct vel_ls_unit *unit, const char *home,
                        const char *turn, const char *node, const struct vel_vec *known)
{
    char *dir = vel_ls_join(home, turn);
    struct vel_vec names;

    vel_vec_init(&names, sizeof(char *));
    if (vel_fs_list(ls->fs, dir, &names, NULL) < 0)
        vel_vec_init(&names, sizeof(char *));
    for (size_t i = 0; i < names.n; i++) {
        struct vel_batch batch;
        char *path = vel_ls_join(dir, *(char **)vel_vec_at(&names, i));

        vel_batch_init(&batch);
        batch.dir = path;
        if (vel_batch_is_dir(path) && !is_in(known, path))
            add_batch(ls, unit, &batch, node);
        else
            vel_batch_fini(&batch);
    }
    vel_fs_names_fini(&names);
    free(dir);
}

void vel_ls_add_opened(struct vel_ls *ls, struct vel_ls_unit *unit, const char *home,
                       const char *node)
{
    struct vel_vec known, names;
    int64_t launch, turn;

    vel_vec_init(&known, sizeof(struct vel_batch));
    vel_vec_init(&names, sizeof(char *));
    vel_batches_read(ls->fs, home, 0, &known, NULL); /* what it says so far */
    if (vel_fs_list(ls->fs, home, &names, NULL) < 0)
        vel_vec_init(&names, sizeof(char *));
    for (size_t i = 0; i < names.n; i++)
        if (vel_batch_is_turn(*(char **)vel_vec_at(&names, i), &launch, &turn))
            add_unknown(ls, unit, home, *(char **)vel_vec_at(&names, i), node, &known);
    for (size_t i = 0; i < known.n; i++)
        add_batch(ls, unit, vel_vec_at(&known, i), node);
    vel_vec_fini(&known);
    vel_fs_names_fini(&names);
}

/* --- what leaders tell --- */

static bool is_same_key(const struct vel_batch_key *a, const struct vel_batch_key *b)
{
    return a->generation == b->generation && strcmp(a->launch, b->launch) == 0 &&
           strcmp(a->template, b->template) == 0 && strcmp(a->step, b->step) == 0;
}

static void add_told(struct vel_ls *ls, struct vel_ls_unit *unit, const char *node,
                     const struct vel_batch_key *key)
{
    struct vel_ls_opened *opened = vel_ls_push(&unit->opened, NULL);

    opened->index = -1;
    vel_batch_init(&opened->batch);
    opened->node = vel_ls_copy(node);
    tell_key(ls, unit, key, opened);
    vel_vec_init(&opened->closed, sizeof(int64_t));
}

/* Ranks of one batch follow each other. */
void vel_ls_told_opened(struct vel_ls *ls, struct vel_ls_unit *unit,
                        const struct vel_inventory *told)
{
    const struct vel_left *before = NULL;

    for (size_t i = 0; i < told->left.n; i++) {
        const struct vel_left *left = vel_vec_at(&told->left, i);
        struct vel_ls_opened *opened;

        if (!before || !is_same_key(&before->key, &left->key))
            add_told(ls, unit, told->node, &left->key);
        before = left;
        opened = vel_vec_at(&unit->opened, unit->opened.n - 1);
        opened->files += left->closed + left->open;
        opened->bytes += left->bytes;
        opened->open += left->open;
        opened->flushed += left->points.n > 0 ? left->open : 0;
        if (left->open == 0)
            vel_ls_push(&opened->closed, &left->rank);
    }
}

/* --- sealed, and left by a launch that is over --- */

static bool has_closed(const struct vel_ls_opened *opened,
                       const struct vel_seal_member *member)
{
    return strcmp(opened->node, member->node) == 0 &&
           vel_vec_has_number(&opened->closed, member->rank);
}

/* It was taken on its node, as all are to be. */
static bool is_held(const struct vel_ls_unit *unit, int64_t id, int64_t rank)
{
    for (size_t i = 0; i < unit->nodes.n; i++) {
        const struct vel_inventory *in = vel_vec_at(&unit->nodes, i);

        for (size_t k = 0; k < in->held.n; k++) {
            const struct vel_stock *held = vel_vec_at(&in->held, k);

            if (held->id == id && held->rank == rank && held->encodings.n > 0)
                return true;
        }
    }
    return false;
}

bool vel_ls_is_left(const struct vel_ls_unit *unit, int64_t id)
{
    const struct vel_seal *seal = vel_ls_seal_of(unit, id);
    bool is_left = false;

    if (!seal || seal->verdict != VEL_VERDICT_SEALED)
        return false;
    for (size_t i = 0; i < seal->members.n; i++) {
        const struct vel_seal_member *member = vel_seal_member(seal, i);
        bool is_here = is_held(unit, id, member->rank);

        for (size_t k = 0; !is_here && k < unit->opened.n; k++) {
            const struct vel_ls_opened *opened = vel_vec_at(&unit->opened, k);

            is_here = opened->sealed == id && has_closed(opened, member);
            is_left |= is_here;
        }
        if (!is_here)
            return false;
    }
    return is_left;
}

/* --- their files --- */

static void look_at(const struct vel_ls *ls, const struct vel_batch_file *file,
                    struct vel_ls_file *ret)
{
    struct stat st = {0};
    bool is_there = vel_fs_lstat(ls->fs, ret->path, &st, NULL) == 0;

    ret->size = (uint64_t)(file->order > 0 ? file->size : st.st_size);
    ret->health = file->order == 0           ? VEL_LS_OPEN
                  : !is_there                ? VEL_LS_MISSING
                  : st.st_size == file->size ? VEL_LS_THERE
                                             : VEL_LS_SHORT;
    if (ret->health == VEL_LS_MISSING)
        ret->why = vel_ls_copy("it is not there");
    else if (ret->health == VEL_LS_SHORT)
        ret->why = vel_ls_copy("it has not the size that it was closed with");
}

static void add_rank(struct vel_ls *ls, struct vel_ls_unit *unit,
                     const struct vel_ls_opened *opened,
                     const struct vel_batch_rank *rank)
{
    for (size_t i = 0; i < rank->files.n; i++) {
        const struct vel_batch_file *file = vel_vec_at(&rank->files, i);
        struct vel_ls_file *to = vel_ls_push(&unit->files, NULL);

        to->opened = opened;
        to->rank = (int)rank->rank;
        to->index = opened->index;
        to->node = opened->node;
        to->name = vel_ls_copy(file->name);
        if (vel_batch_path(opened->batch.dir, rank->rank, file->name, &to->path,
                           NULL) == 0)
            look_at(ls, file, to);
        else
            to->health = VEL_LS_MISSING;
    }
}

void vel_ls_opened_files(struct vel_ls *ls, struct vel_ls_unit *unit)
{
    for (size_t i = 0; i < unit->opened.n; i++) {
        const struct vel_ls_opened *opened = vel_vec_at(&unit->opened, i);

        for (size_t k = 0; k < opened->batch.ranks.n; k++)
            add_rank(ls, unit, opened, vel_vec_at(&opened->batch.ranks, k));
    }
}
