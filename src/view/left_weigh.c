/* SPDX-License-Identifier: BSD-3-Clause */
/* Which of the files that were left are a whole dataset. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "view/left.h"

enum { MEMBERS_MOST = 1 << 17 }; /* more do not fit a seal by far */

/* What a node tells of a rank. */
struct ref {
    const char *node;
    const struct vel_left *left;
};

/* A rank of a key: all that is told of it. */
struct one {
    int64_t rank;
    const char *node;
    int64_t files, open, bytes, order;
    struct vel_vec points; /* int64_t */
};

struct key {
    const struct vel_left_of *of;
    const struct vel_batch_key *is;
    struct vel_vec ones; /* struct one, by rank */
    char *why;           /* of the result */
};

enum { WHY = sizeof((struct vel_left_key){0}.why) };

/* --- what is told --- */

static int compare_keys(const struct vel_batch_key *a, const struct vel_batch_key *b)
{
    int order = strcmp(a->launch, b->launch);

    if (!order)
        order = strcmp(a->template, b->template);
    if (!order)
        order = strcmp(a->step, b->step);
    return order ? order
                 : (a->generation > b->generation) - (a->generation < b->generation);
}

static int compare_refs(const void *a, const void *b)
{
    const struct ref *x = a, *y = b;
    int order = compare_keys(&x->left->key, &y->left->key);

    if (!order)
        order = (x->left->rank > y->left->rank) - (x->left->rank < y->left->rank);
    return order ? order : strcmp(x->node, y->node);
}

void vel_left_keep_common(struct vel_vec *points, const struct vel_vec *with)
{
    for (size_t i = points->n; i-- > 0;)
        if (!vel_vec_has_number(with, *(int64_t *)vel_vec_at(points, i)))
            vel_vec_remove(points, i);
}

static int add_points(struct one *one, const struct vel_left *left, struct vel_err *err)
{
    if (one->open > 0) {
        vel_left_keep_common(&one->points, &left->points);
        return 0;
    }
    for (size_t i = 0; i < left->points.n; i++)
        if (!vel_vec_push(&one->points, vel_vec_at(&left->points, i)))
            return vel_out_of_memory(err, "what is left");
    return 0;
}

static struct one *last_one(const struct key *key)
{
    return key->ones.n > 0 ? vel_vec_at(&key->ones, key->ones.n - 1) : NULL;
}

/* They come by rank. */
static int add_ref(struct key *key, const struct ref *ref, struct vel_err *err)
{
    const struct vel_left *left = ref->left;
    struct one *one = last_one(key);
    int rc = 0;

    if (!one || one->rank != left->rank) {
        const struct one fresh = {.rank = left->rank, .node = ref->node};

        one = vel_vec_push(&key->ones, &fresh);
        if (!one)
            return vel_out_of_memory(err, "what is left");
        vel_vec_init(&one->points, sizeof(int64_t));
    } else if (strcmp(one->node, ref->node) != 0) {
        snprintf(key->why, WHY, "rank %" PRId64 " has files of it on two nodes",
                 left->rank);
    }
    if (left->open > 0)
        rc = add_points(one, left, err);
    one->files += left->closed + left->open;
    one->open += left->open;
    one->bytes += left->bytes;
    one->order = left->order > one->order ? left->order : one->order;
    return rc;
}

static void key_fini(struct key *key)
{
    for (size_t i = 0; i < key->ones.n; i++)
        vel_vec_fini(&((struct one *)vel_vec_at(&key->ones, i))->points);
    vel_vec_fini(&key->ones);
}

static const struct one *find_one(const struct key *key, int64_t rank)
{
    for (size_t i = 0; i < key->ones.n; i++)
        if (((struct one *)vel_vec_at(&key->ones, i))->rank == rank)
            return vel_vec_at(&key->ones, i);
    return NULL;
}

/* --- what was sealed --- */

enum whose { OWN, ANY };

/* The newest sealed dataset of the template. */
static const struct vel_seal *newest(const struct key *key, enum whose whose)
{
    const struct vel_seal *found = NULL;

    for (size_t i = 0; i < key->of->n_seals; i++) {
        const struct vel_seal *seal = &key->of->seals[i].seal;

        if (seal->verdict == VEL_VERDICT_SEALED &&
            strcmp(seal->template, key->is->template) == 0 &&
            (whose == ANY || strcmp(key->of->seals[i].launch, key->is->launch) == 0) &&
            (!found || seal->id > found->id))
            found = seal;
    }
    return found;
}

/* Sealed is this one, or a newer one of its names. */
static bool is_decided(const struct key *key)
{
    for (size_t i = 0; i < key->of->n_seals; i++) {
        const struct vel_seal *seal = &key->of->seals[i].seal;

        if (strcmp(key->of->seals[i].launch, key->is->launch) == 0 &&
            strcmp(seal->template, key->is->template) == 0 &&
            strcmp(seal->step, key->is->step) == 0 &&
            seal->generation >= key->is->generation)
            return true;
    }
    return false;
}

/* No clock tells which of two launches was later; the ids that were there do, but for
 * what the launch itself has sealed, which is of launches before it, and may have come
 * after its own first file. */
static bool is_outdated(const struct key *key)
{
    for (size_t i = 0; i < key->of->n_seals; i++) {
        const struct vel_seal *seal = &key->of->seals[i].seal;

        if (strcmp(key->of->seals[i].launch, key->is->launch) != 0 &&
            strcmp(seal->by, key->is->launch) != 0 &&
            seal->verdict == VEL_VERDICT_SEALED && seal->id > key->is->above &&
            strcmp(seal->template, key->is->template) == 0)
            return true;
    }
    return false;
}

bool vel_left_is_replaced(const struct vel_left_of *of, const struct vel_batch_key *key)
{
    const struct key k = {.of = of, .is = key};

    return is_decided(&k) || is_outdated(&k);
}

/* That which files that came late belong to. */
static const struct vel_seal *before(const struct key *key)
{
    const struct vel_seal *found = NULL;

    for (size_t i = 0; key->is->is_late && i < key->of->n_seals; i++) {
        const struct vel_seal *seal = &key->of->seals[i].seal;

        if (seal->verdict == VEL_VERDICT_SEALED &&
            strcmp(key->of->seals[i].launch, key->is->launch) == 0 &&
            strcmp(seal->template, key->is->template) == 0 &&
            strcmp(seal->step, key->is->step) == 0 &&
            (!found || seal->generation > found->generation))
            found = seal;
    }
    return found;
}

/* --- who is missing? --- */

static void check_one(struct key *key, int64_t rank, int64_t files)
{
    const struct one *one = find_one(key, rank);

    if (!*key->why && !one)
        snprintf(key->why, WHY, "there is no file of rank %" PRId64, rank);
    else if (!*key->why && one->files < files)
        snprintf(key->why, WHY,
                 "rank %" PRId64 " has only %" PRId64 " of %" PRId64 " files", rank,
                 one->files, files);
}

static void check_ranks(struct key *key, int64_t from)
{
    if (key->is->ranks == 0 && !*key->why)
        snprintf(key->why, WHY, "nobody knows how many ranks there were");
    for (int64_t rank = from; !*key->why && rank < key->is->ranks; rank++)
        check_one(key, rank, 1);
}

/* As the chair of the launch would have expected it, but that who is gone cannot say
 * any more that it has no file. */
static void check_expected(struct key *key)
{
    const struct vel_seal *own = newest(key, OWN), *last = own ? own : newest(key, ANY);

    if (key->is->is_alone || before(key))
        return;
    for (size_t i = 0; last && i < last->members.n; i++)
        if (vel_seal_member(last, i)->files > 0)
            check_one(key, vel_seal_member(last, i)->rank,
                      own ? vel_seal_member(last, i)->files : 1);
    if (!own)
        check_ranks(key, last ? (int64_t)last->members.n : 0);
}

/* The version point that all have who were killed with a file open. 0: none has. */
static int64_t common_point(struct key *key)
{
    const struct one *first = vel_vec_at(&key->ones, 0);
    int64_t point = 0;
    size_t open = 0;

    for (size_t i = 0; i < key->ones.n; i++) {
        const struct one *one = vel_vec_at(&key->ones, i);

        if (one->open > 0 && one->points.n == 0 && !*key->why)
            snprintf(key->why, WHY,
                     "rank %" PRId64 " has not closed its file, nor flushed it",
                     one->rank);
        open += one->open > 0;
    }
    if (open == 0 || *key->why)
        return 0;
    for (size_t k = 0; open == key->ones.n && k < first->points.n; k++) {
        int64_t number = *(int64_t *)vel_vec_at(&first->points, k);
        bool is_common = number > point;

        for (size_t i = 1; is_common && i < key->ones.n; i++)
            is_common = vel_vec_has_number(
                &((struct one *)vel_vec_at(&key->ones, i))->points, number);
        point = is_common ? number : point;
    }
    if (point == 0)
        snprintf(key->why, WHY,
                 "its ranks ended at different H5Fflush, or not all "
                 "had closed their files");
    return point;
}

/* --- its seal --- */

static bool is_here(const struct key *key, const char *node)
{
    for (size_t i = 0; i < key->of->n_nodes; i++)
        if (strcmp(key->of->nodes[i].node, node) == 0)
            return true;
    return false;
}

static int64_t ranks_of(const struct key *key)
{
    const struct vel_seal *own = newest(key, OWN);
    int64_t ranks = last_one(key)->rank + 1;

    if (key->is->ranks > ranks)
        ranks = key->is->ranks;
    if (own && (int64_t)own->members.n > ranks)
        ranks = (int64_t)own->members.n;
    return ranks;
}

static int add_member(struct key *key, int64_t rank, struct vel_seal *ret,
                      struct vel_err *err)
{
    const struct vel_seal *older = before(key);
    const struct vel_seal_member *was = older ? vel_seal_find(older, rank) : NULL;
    const struct one *one = find_one(key, rank);
    struct vel_seal_member member = {.rank = rank, .node = (char *)key->of->node};

    if (one) {
        member.node = (char *)one->node;
        member.files = one->files;
        member.bytes = one->bytes;
        member.upto = INT64_MAX; /* nothing follows */
    } else if (was && was->files > 0) {
        member.node = was->node;
        member.files = was->files;
        member.bytes = was->bytes;
        if (!is_here(key, was->node))
            snprintf(key->why, WHY, "node %.100s is not here", was->node);
    }
    return *key->why ? 0 : vel_seal_add(ret, &member, err);
}

static int fill(struct key *key, struct vel_seal *ret, struct vel_err *err)
{
    const struct vel_seal *after = before(key);
    int64_t ranks = ranks_of(key);
    int rc = 0;

    ret->template = strdup(key->is->template);
    ret->step = strdup(key->is->step);
    ret->generation = key->is->generation;
    ret->after = after ? after->id : 0;
    if (!ret->template || !ret->step)
        return vel_out_of_memory(err, "a seal");
    if (ranks > MEMBERS_MOST)
        snprintf(key->why, WHY, "%" PRId64 " ranks are too many", ranks);
    for (int64_t rank = 0; rc == 0 && !*key->why && rank < ranks; rank++)
        rc = add_member(key, rank, ret, err);
    return rc;
}

static int weigh_key(struct key *key, struct vel_vec *ret, struct vel_err *err)
{
    struct vel_left_key is = {.key = key->is,
                              .order = ((const struct one *)key->ones.items)->order};
    int rc;

    if (is_decided(key))
        return 0;
    vel_seal_init(&is.seal);
    memcpy(is.why, key->why, WHY);
    key->why = is.why;
    if (!*is.why && is_outdated(key))
        snprintf(is.why, WHY, "a newer one was made by a launch after it");
    is.seal.point = common_point(key);
    check_expected(key);
    rc = fill(key, &is.seal, err);
    if (rc == 0 && vel_vec_push(ret, &is))
        return 0;
    vel_seal_fini(&is.seal);
    return rc < 0 ? rc : vel_out_of_memory(err, "what is left");
}

/* --- all keys --- */

static int collect(const struct vel_left_of *of, struct vel_vec *ret,
                   struct vel_err *err)
{
    for (size_t i = 0; i < of->n_nodes; i++)
        for (size_t k = 0; k < of->nodes[i].left->n; k++) {
            const struct ref ref = {of->nodes[i].node,
                                    vel_vec_at(of->nodes[i].left, k)};

            if (!vel_vec_push(ret, &ref))
                return vel_out_of_memory(err, "what is left");
        }
    vel_vec_sort(ret, compare_refs);
    return 0;
}

/* What is open is younger than what was closed before. */
static int64_t age(const struct vel_left_key *key)
{
    return key->seal.point > 0 ? INT64_MAX : key->order;
}

static int compare_ages(const void *a, const void *b)
{
    const struct vel_left_key *x = a, *y = b;
    int order = (age(x) > age(y)) - (age(x) < age(y));

    return order ? order : compare_keys(x->key, y->key);
}

static int weigh_refs(const struct vel_left_of *of, const struct ref *refs, size_t n,
                      struct vel_vec *ret, struct vel_err *err)
{
    char why[WHY] = "";
    struct key key = {.of = of, .is = &refs[0].left->key, .why = why};
    int rc = 0;

    vel_vec_init(&key.ones, sizeof(struct one));
    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = add_ref(&key, &refs[i], err);
    if (rc == 0)
        rc = weigh_key(&key, ret, err);
    key_fini(&key);
    return rc;
}

void vel_left_keys_fini(struct vel_vec *keys)
{
    for (size_t i = 0; i < keys->n; i++)
        vel_seal_fini(&((struct vel_left_key *)vel_vec_at(keys, i))->seal);
    vel_vec_fini(keys);
}

int vel_left_weigh(const struct vel_left_of *of, struct vel_vec *ret,
                   struct vel_err *err)
{
    struct vel_vec refs;
    const struct ref *at;
    int rc;

    vel_vec_init(&refs, sizeof(struct ref));
    rc = collect(of, &refs, err);
    at = refs.items;
    for (size_t i = 0, end; rc == 0 && i < refs.n; i = end) {
        for (end = i + 1;
             end < refs.n && compare_keys(&at[i].left->key, &at[end].left->key) == 0;)
            end++;
        rc = weigh_refs(of, at + i, end - i, ret, err);
    }
    vel_vec_fini(&refs);
    if (rc == 0)
        vel_vec_sort(ret, compare_ages);
    return rc;
}
