/* SPDX-License-Identifier: BSD-3-Clause */
/* What the caches of all ranks hold, as one view. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "meta/paths.h"
#include "recover/ranks.h"
#include "recover/recovery.h"
#include "red/redfile.h"
#include "view/inventory.h"

/* --- what is told --- */

static struct vel_stock *stock_at(const struct vel_inventory *inventory, size_t i)
{
    return vel_vec_at(&inventory->held, i);
}

static int by_id_and_rank(const void *a, const void *b)
{
    const struct vel_stock *x = a, *y = b;

    if (x->id != y->id)
        return x->id < y->id ? -1 : 1;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

/* Those of leaders are none of ours, whatever their number. */
static void mark_leaders(struct vel_recovery *r, const struct vel_inventory *inventory)
{
    for (size_t i = 0; i < r->spoken.n; i++) {
        struct vel_spoken *s = vel_spoken_at(r, i);
        const struct vel_stock key = {.id = s->part.id, .rank = s->part.rank};
        bool is_there;
        size_t at = vel_vec_place(&inventory->held, &key, by_id_and_rank, &is_there);

        while (is_there && at > 0 &&
               by_id_and_rank(&key, stock_at(inventory, at - 1)) == 0)
            at--;
        s->is_theirs = false;
        for (; is_there && at < inventory->held.n &&
               by_id_and_rank(&key, stock_at(inventory, at)) == 0;
             at++)
            s->is_theirs |= stock_at(inventory, at)->has_about &&
                            stock_at(inventory, at)->about.is_leaders;
    }
}

/* An encoding is the last step of completing a dataset. A redundancy file that cannot
 * be read says that it was, too, and so does a directory that does not tell what is in
 * it. */
static bool has_trace(const struct vel_recovery *r, const struct vel_part *part)
{
    char *dir = vel_cache_rank_dir(part->level, part->id, part->rank);
    struct vel_vec names = {0};
    bool is_there = !dir;
    int rc = dir ? vel_fs_list(r->of.fs, dir, &names, NULL) : 0;

    is_there |= rc < 0 && rc != VEL_ENOENT;
    for (size_t i = 0; rc == 0 && i < names.n; i++)
        is_there |= vel_red_is_file_name(((char **)names.items)[i]);
    vel_fs_names_fini(&names);
    free(dir);
    return is_there;
}

/* Collective. Has a dataset parts of leaders, of sessions, or parts that were protected
 * once? What leaders have forgotten a node that was away has still: then nothing but
 * its parts says whose they are, and the number may have been given again. */
static int tell_kinds(struct vel_recovery *r, int rc,
                      const struct vel_inventory *inventory, struct vel_err *err)
{
    size_t n = r->ids.n;
    int64_t *is = calloc(3 * n + 1, sizeof *is);

    if (rc == 0 && !is)
        rc = vel_recovery_no_memory(err);
    for (size_t i = 0; rc == 0 && i < n; i++) {
        int64_t id = vel_recovery_id_at(r, i)->id;

        for (size_t k = 0; k < inventory->held.n; k++) {
            const struct vel_stock *held = stock_at(inventory, k);

            if (held->id == id && held->has_about)
                is[held->about.is_leaders ? i : n + i] = 1;
        }
        for (size_t k = 0; k < r->spoken.n && !is[2 * n + i]; k++)
            is[2 * n + i] = vel_spoken_at(r, k)->part.id == id &&
                            !vel_spoken_at(r, k)->is_theirs &&
                            has_trace(r, &vel_spoken_at(r, k)->part);
    }
    rc = vel_comm_agree(r->of.world, rc, err);
    if (rc == 0)
        rc = vel_comm_allreduce(r->of.world, VEL_COMM_MAX, is, 3 * n, err);
    for (size_t i = 0; rc == 0 && i < n; i++) {
        vel_recovery_id_at(r, i)->is_theirs |= is[i] && !is[n + i];
        vel_recovery_id_at(r, i)->is_past = is[2 * n + i];
    }
    free(is);
    return rc;
}

static bool is_spoilt(const struct vel_recovery *r, const uint8_t id[VEL_ENCODING_ID])
{
    for (size_t i = 0; i < r->spoilt.n; i++)
        if (memcmp(vel_vec_at(&r->spoilt, i), id, VEL_ENCODING_ID) == 0)
            return true;
    return false;
}

/* Files are found by the parts that they are in: their names stay here. */
static void forget_names(struct vel_stock_encoding *encoding)
{
    for (size_t i = 0; i < encoding->lists.n; i++) {
        struct vel_stock_list *list = vel_vec_at(&encoding->lists, i);

        for (size_t k = 0; k < list->files.n; k++)
            free(((struct vel_stock_file *)vel_vec_at(&list->files, k))->name);
        list->files.n = 0;
    }
}

/* Only what counts is told. */
static void choose(const struct vel_recovery *r, struct vel_inventory *inventory)
{
    struct vel_stock *all = inventory->held.items;
    size_t n = 0;

    for (size_t i = 0; i < inventory->held.n; i++) {
        struct vel_stock *held = &all[i];
        bool counts = !(held->has_about && held->about.is_leaders);

        for (size_t k = 0; k < r->ids.n; k++)
            counts &= vel_recovery_id_at(r, k)->id != held->id ||
                      !vel_recovery_id_at(r, k)->is_theirs;
        for (size_t k = held->encodings.n; k-- > 0;) {
            struct vel_stock_encoding *e = vel_vec_at(&held->encodings, k);

            forget_names(e);
            if (!is_spoilt(r, e->id))
                continue;
            vel_stock_encoding_fini(e);
            vel_vec_remove(&held->encodings, k);
        }
        if (counts)
            all[n++] = *held;
        else
            vel_stock_fini(held);
    }
    inventory->held.n = n;
}

/* Collective. As bytes; nothing of a rank that speaks for no store. */
static int take_stock(struct vel_recovery *r, struct vel_buf *ret, struct vel_err *err)
{
    struct vel_inventory inventory = {0};
    int rc = vel_inventory_look(r->of.fs, r->of.node, r->spoken_homes,
                                r->n_spoken_homes, &inventory, err);

    if (rc == 0)
        mark_leaders(r, &inventory);
    rc = tell_kinds(r, rc, &inventory, err);
    if (rc == 0 && r->n_spoken_homes > 0) {
        choose(r, &inventory);
        rc = vel_inventory_encode(&inventory, ret, err);
    }
    if (inventory.node)
        vel_inventory_fini(&inventory);
    return vel_comm_agree(r->of.world, rc, err);
}

/* --- the view, at rank 0 --- */

/* What takes the place of the view before when all have it. */
struct sight {
    struct vel_view view;
    bool has_view;
    int *reader;
};

/* What makes no sense is told, and as if it were lost. */
static int read_stock(const struct vel_buf *told, const size_t *lens, int ranks,
                      struct vel_vec *ret, struct vel_vec *ret_ranks,
                      struct vel_err *err)
{
    size_t at = 0;
    int rc;

    for (int i = 0; i < ranks; at += lens[i++]) {
        struct vel_inventory inventory;
        struct vel_err why = {0};

        if (lens[i] == 0)
            continue;
        rc = vel_inventory_decode(told->data + at, lens[i], &inventory, &why);
        if (rc == VEL_ENOMEM)
            return vel_recovery_no_memory(err);
        if (rc < 0) {
            vel_log(VEL_LOG_WARN, "what rank %d has is not counted: %s", i, why.text);
            continue;
        }
        if (!vel_vec_push(ret, &inventory)) {
            vel_inventory_fini(&inventory);
            return vel_recovery_no_memory(err);
        }
        if (!vel_vec_push(ret_ranks, &i))
            return vel_recovery_no_memory(err);
    }
    return 0;
}

static const struct vel_inventory *inventory_at(const struct vel_vec *nodes, size_t i)
{
    return vel_vec_at(nodes, i);
}

/* Of each node the lowest rank that has told of it. */
static void name_readers(const struct vel_view *view, const struct vel_vec *nodes,
                         const struct vel_vec *ranks, int *ret)
{
    for (size_t i = 0; i < view->nodes.n; i++)
        for (size_t k = nodes->n; k-- > 0;)
            if (strcmp(*(char **)vel_vec_at(&view->nodes, i),
                       inventory_at(nodes, k)->node) == 0)
                ret[i] = *(int *)vel_vec_at(ranks, k);
}

static int make_view(struct sight *sight, const char *prefix_id,
                     const struct vel_vec *nodes, const struct vel_vec *ranks,
                     struct vel_err *err)
{
    const struct vel_view_of of = {
        .launch = prefix_id, .nodes = nodes->items, .n_nodes = nodes->n};
    int rc = vel_view_make(&of, &sight->view, err);

    if (rc < 0)
        return rc;
    sight->has_view = true;
    sight->reader = calloc(sight->view.nodes.n + 1, sizeof *sight->reader);
    if (!sight->reader)
        return vel_recovery_no_memory(err);
    name_readers(&sight->view, nodes, ranks, sight->reader);
    return 0;
}

/* For people: what it is, and whose files are whole nowhere. */
static int tell_lost(struct vel_view_lost *lost, const struct vel_vec *nodes,
                     struct vel_err *err)
{
    const struct vel_dataset *about = NULL;
    struct vel_buf is_lost, text;

    vel_buf_init(&is_lost);
    vel_buf_init(&text);
    for (size_t i = 0; i < nodes->n; i++)
        for (size_t k = 0; k < inventory_at(nodes, i)->held.n; k++) {
            const struct vel_stock *held = stock_at(inventory_at(nodes, i), k);
            const struct vel_stock_encoding *e = held->encodings.items;

            if (held->id != lost->id)
                continue;
            if (!about && held->has_about) {
                about = &held->about;
                for (int rank = 0; rank < about->ranks; rank++)
                    vel_buf_putc(&is_lost, 1);
            }
            for (size_t j = 0; j < held->encodings.n; j++)
                if (e[j].is_whole && (size_t)held->rank < is_lost.len)
                    is_lost.data[held->rank] = 0;
        }
    vel_buf_printf(&text, "dataset %" PRId64, lost->id);
    if (about)
        vel_buf_printf(&text, " (%s %" PRId64 ")", about->name, about->version);
    vel_buf_puts(&text, ": ");
    if (about && memchr(is_lost.data, 1, is_lost.len)) {
        vel_buf_puts(&text, "the files of ");
        vel_ranks_print(&is_lost, &text);
        vel_buf_puts(&text, " are lost: ");
    }
    vel_buf_puts(&text, lost->why);
    free(lost->why);
    lost->why = vel_buf_take(&text, NULL);
    vel_buf_fini(&is_lost);
    return lost->why ? 0 : vel_recovery_no_memory(err);
}

static int put_together(const struct vel_recovery *r, const struct vel_buf *told,
                        const size_t *lens, struct sight *ret, struct vel_err *err)
{
    struct vel_vec nodes, ranks;
    int rc;

    vel_vec_init(&nodes, sizeof(struct vel_inventory));
    vel_vec_init(&ranks, sizeof(int));
    rc = read_stock(told, lens, r->of.world->size, &nodes, &ranks, err);
    if (rc == 0)
        rc = make_view(ret, r->of.owner->prefix_id, &nodes, &ranks, err);
    for (size_t i = 0; rc == 0 && i < ret->view.lost.n; i++)
        rc = tell_lost(vel_vec_at(&ret->view.lost, i), &nodes, err);
    for (size_t i = 0; i < nodes.n; i++)
        vel_inventory_fini(vel_vec_at(&nodes, i));
    vel_vec_fini(&nodes);
    vel_vec_fini(&ranks);
    return rc;
}

/* --- for all --- */

static int encode(const struct sight *sight, struct vel_buf *ret, struct vel_err *err)
{
    vel_buf_append(ret, sight->reader, sight->view.nodes.n * sizeof *sight->reader);
    return vel_view_encode(&sight->view, ret, err);
}

static int decode(const struct vel_buf *bytes, size_t nodes, struct sight *ret,
                  struct vel_err *err)
{
    size_t head = nodes * sizeof *ret->reader;
    int rc;

    ret->reader = calloc(nodes + 1, sizeof *ret->reader);
    if (!ret->reader)
        return vel_recovery_no_memory(err);
    memcpy(ret->reader, bytes->data, head);
    rc = vel_view_decode(bytes->data + head, bytes->len - head, &ret->view, err);
    ret->has_view = rc == 0;
    return rc;
}

static int share(const struct vel_recovery *r, int rc, struct sight *sight,
                 struct vel_err *err)
{
    bool is_root = r->of.world->rank == 0;
    struct vel_buf bytes;
    int64_t nodes = is_root && rc == 0 ? (int64_t)sight->view.nodes.n : 0;

    vel_buf_init(&bytes);
    if (is_root && rc == 0)
        rc = encode(sight, &bytes, err);
    rc = vel_comm_agree_fold(r->of.world, rc, VEL_COMM_MAX, &nodes, 1, err);
    if (rc == 0)
        rc = vel_comm_bcast(r->of.world, 0, &bytes, err);
    if (rc == 0 && !is_root)
        rc = decode(&bytes, (size_t)nodes, sight, err);
    vel_buf_fini(&bytes);
    return vel_comm_agree(r->of.world, rc, err);
}

static void forget(struct sight *sight)
{
    if (sight->has_view)
        vel_view_fini(&sight->view);
    free(sight->reader);
}

int vel_recovery_look(struct vel_recovery *recovery, struct vel_err *err)
{
    struct vel_recovery *r = recovery;
    struct sight sight = {0}, before = {r->view, r->has_view, r->reader};
    struct vel_buf mine, told;
    size_t *lens = NULL;
    int rc;

    vel_buf_init(&mine);
    vel_buf_init(&told);
    rc = take_stock(r, &mine, err);
    if (rc == 0)
        rc = vel_comm_gather(r->of.world, 0, mine.data, mine.len, &told, &lens, err);
    if (rc == 0)
        rc = share(
            r, r->of.world->rank == 0 ? put_together(r, &told, lens, &sight, err) : 0,
            &sight, err);
    if (rc == 0) {
        r->view = sight.view;
        r->has_view = sight.has_view;
        r->reader = sight.reader;
    }
    forget(rc == 0 ? &before : &sight);
    free(lens);
    vel_buf_fini(&told);
    vel_buf_fini(&mine);
    return rc;
}
