/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "brain/tally.h"
#include "meta/dataset.h"

enum { OPEN = 1, GIVEN = 2 }; /* of a rank in a line */

static struct vel_tally_node *node_at(const struct vel_tally *tally, size_t i)
{
    return vel_vec_at(&tally->nodes, i);
}

static const struct vel_tally_rank *rank_at(const struct vel_tally_node *node, size_t i)
{
    return vel_vec_at(&node->ranks, i);
}

void vel_tally_init(struct vel_tally *tally)
{
    vel_vec_init(&tally->nodes, sizeof(struct vel_tally_node));
    tally->numbers = NULL;
}

static void fini_node(struct vel_tally_node *node)
{
    free(node->node);
    vel_vec_fini(&node->ranks);
}

void vel_tally_fini(struct vel_tally *tally)
{
    for (size_t i = 0; i < tally->nodes.n; i++)
        fini_node(node_at(tally, i));
    vel_vec_fini(&tally->nodes);
    vel_map_destroy(tally->numbers, NULL);
    tally->numbers = NULL;
}

/* NULL: nothing was heard of it. */
static struct vel_tally_node *find(const struct vel_tally *tally, const char *node)
{
    uintptr_t number =
        tally->numbers ? (uintptr_t)vel_map_get(tally->numbers, node) : 0;

    return number > 0 ? node_at(tally, number - 1) : NULL;
}

/* Takes what a node says now; false: no memory. */
static bool put(struct vel_tally *tally, const struct vel_tally_node *node)
{
    struct vel_tally_node *known = find(tally, node->node);
    uintptr_t number = tally->nodes.n + 1;

    if (known) {
        fini_node(known);
        *known = *node;
        return true;
    }
    if (!tally->numbers)
        tally->numbers = vel_map_create();
    if (!tally->numbers || !vel_vec_push(&tally->nodes, node))
        return false;
    if (vel_map_set(tally->numbers, node->node, (void *)number, NULL) == 0)
        return true;
    vel_vec_remove(&tally->nodes, number - 1);
    return false;
}

/* --- lines --- */

void vel_tally_print(const char *node, int64_t open, const struct vel_vec *ranks,
                     struct vel_buf *ret)
{
    vel_buf_printf(ret, "%s %" PRId64, node, open);
    for (size_t i = 0; i < ranks->n; i++) {
        const struct vel_tally_rank *rank = vel_vec_at(ranks, i);

        vel_buf_printf(ret, " %" PRId64 ":%d:%" PRId64 ":%" PRId64 ":%" PRId64,
                       rank->rank,
                       rank->is_open     ? OPEN
                       : rank->has_given ? GIVEN
                                         : 0,
                       rank->files, rank->upto, rank->bytes);
    }
    vel_buf_putc(ret, '\n');
}

/* A number of 18 digits at most, and the byte behind it. */
static bool take_number(const char **at, const char *behind, int64_t *ret)
{
    size_t len = strspn(*at, "0123456789");

    if (len == 0 || len > 18 || !strchr(behind, (*at)[len]) || !(*at)[len])
        return false;
    *ret = strtoll(*at, NULL, 10);
    *at += len;
    return true;
}

static bool take_rank(const char **at, struct vel_tally_rank *ret)
{
    int64_t is_open = 0, *const fields[] = {&ret->rank, &is_open, &ret->files,
                                            &ret->upto, &ret->bytes};

    for (size_t i = 0; i < 5; i++) {
        (*at)++; /* the blank or colon before it */
        if (!take_number(at, i < 4 ? ":" : " \n", fields[i]))
            return false;
    }
    ret->is_open = is_open == OPEN;
    ret->has_given = is_open == GIVEN;
    if (is_open > GIVEN)
        return false;
    return ret->rank < VEL_RANKS_MAX;
}

static int take_line(const char **at, struct vel_tally_node *ret)
{
    size_t len = strcspn(*at, " \n");
    struct vel_tally_rank rank;

    vel_vec_init(&ret->ranks, sizeof rank);
    ret->node = strndup(*at, len);
    if (!ret->node)
        return VEL_ENOMEM;
    if (len == 0 || (*at)[len] != ' ')
        return VEL_ECORRUPT;
    *at += len + 1;
    if (!take_number(at, " \n", &ret->open))
        return VEL_ECORRUPT;
    while (**at == ' ') {
        if (!take_rank(at, &rank))
            return VEL_ECORRUPT;
        if (!vel_vec_push(&ret->ranks, &rank))
            return VEL_ENOMEM;
    }
    ++*at;
    return 0;
}

int vel_tally_hear(struct vel_tally *tally, const char *lines)
{
    while (*lines) {
        struct vel_tally_node node = {0};
        int rc = take_line(&lines, &node);

        if (rc == 0 && !put(tally, &node))
            rc = VEL_ENOMEM;
        if (rc < 0) {
            fini_node(&node);
            return rc;
        }
    }
    return 0;
}

void vel_tally_doubt(struct vel_tally *tally, const char *node)
{
    struct vel_tally_node *away = find(tally, node);

    if (!away)
        return;
    away->open = 0;
    for (size_t k = 0; k < away->ranks.n; k++) {
        struct vel_tally_rank *rank = vel_vec_at(&away->ranks, k);

        *rank = (struct vel_tally_rank){.rank = rank->rank, .is_open = true};
    }
}

/* --- what it comes to --- */

int64_t vel_tally_files(const struct vel_tally *tally)
{
    int64_t files = 0;

    for (size_t i = 0; i < tally->nodes.n; i++)
        for (size_t k = 0; k < node_at(tally, i)->ranks.n; k++)
            files += rank_at(node_at(tally, i), k)->files;
    return files;
}

size_t vel_tally_closed(const struct vel_tally *tally)
{
    size_t closed = 0;

    for (size_t i = 0; i < tally->nodes.n; i++)
        for (size_t k = 0; k < node_at(tally, i)->ranks.n; k++)
            closed += !rank_at(node_at(tally, i), k)->is_open;
    return closed;
}

bool vel_tally_has(const struct vel_tally *tally, int64_t rank)
{
    for (size_t i = 0; i < tally->nodes.n; i++)
        for (size_t k = 0; k < node_at(tally, i)->ranks.n; k++)
            if (rank_at(node_at(tally, i), k)->rank == rank &&
                rank_at(node_at(tally, i), k)->files > 0)
                return true;
    return false;
}

static int compare_ranks(const void *a, const void *b)
{
    const struct vel_tally_one *left = a, *right = b;

    return (left->rank.rank > right->rank.rank) - (left->rank.rank < right->rank.rank);
}

int vel_tally_collect(const struct vel_tally *tally, struct vel_vec *ret)
{
    for (size_t i = 0; i < tally->nodes.n; i++) {
        const struct vel_tally_node *node = node_at(tally, i);

        for (size_t k = 0; k < node->ranks.n; k++) {
            const struct vel_tally_rank *rank = rank_at(node, k);
            struct vel_tally_one one = {*rank, node->node};

            if (!vel_vec_push(ret, &one))
                return VEL_ENOMEM;
        }
    }
    vel_vec_sort(ret, compare_ranks);
    return 0;
}

const struct vel_tally_one *vel_tally_find(const struct vel_vec *ones, int64_t rank)
{
    struct vel_tally_one key = {.rank.rank = rank};
    bool is_there;
    size_t i = vel_vec_place(ones, &key, compare_ranks, &is_there);

    return is_there ? vel_vec_at(ones, i) : NULL;
}

bool vel_tally_has_closed(const struct vel_vec *ones, int64_t rank, int64_t files)
{
    const struct vel_tally_one *one = vel_tally_find(ones, rank);

    return one && !one->rank.is_open &&
           (one->rank.has_given || one->rank.files >= files);
}
