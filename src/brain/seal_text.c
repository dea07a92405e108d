/* SPDX-License-Identifier: BSD-3-Clause */
/* A seal as bytes: of a message, and of the line that says it. */
#include "config.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/runs.h"
#include "brain/seal.h"
#include "record/node.h"

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

enum { NODE_MOST = 200 };

/* A member is one item in each of these lists, and one in "node": a place in "nodes".
 */
static const struct {
    const char *key;
    size_t offset;
    int64_t least, most;
} columns[] = {
#define COLUMN(field, least, most)                                                     \
    {                                                                                  \
#field, offsetof(struct vel_seal_member, field), least, most                   \
    }
    COLUMN(rank, 0, VEL_RANKS_MAX - 1), COLUMN(set, 0, VEL_RANKS_MAX),
    COLUMN(place, 0, VEL_SET_MAX - 1),  COLUMN(level, 0, INT32_MAX),
    COLUMN(scheme, VEL_SINGLE, VEL_RS), COLUMN(failures, 0, VEL_SET_MAX - 1),
    COLUMN(bytes, 0, INT64_MAX),        COLUMN(files, 0, INT64_MAX),
    COLUMN(upto, 0, INT64_MAX),
};

enum { RANK, SET, PLACE, LEVEL }; /* of columns */

static int compare_numbers(const void *a, const void *b)
{
    const int64_t *left = a, *right = b;

    return (*left > *right) - (*left < *right);
}

/* --- encode --- */

/* A number of each member, by rank. */
static int put_numbers(struct vel_node *body, const char *key,
                       const struct vel_vec *numbers)
{
    struct vel_buf text;
    int rc;

    vel_buf_init(&text);
    vel_runs_put(numbers, &text);
    rc = vel_buf_status(&text, NULL);
    if (rc == 0)
        rc = vel_node_set_text(body, key, text.data);
    vel_buf_fini(&text);
    return rc;
}

static int put_nodes(const struct vel_seal *seal, struct vel_node *body,
                     struct vel_err *err)
{
    struct vel_node *list = vel_node_list();
    struct vel_seal_nodes nodes;
    struct vel_vec of;
    int rc = vel_seal_nodes(seal, &nodes, err);

    vel_vec_init(&of, sizeof(int64_t));
    if (rc == 0 && !list)
        rc = VEL_ENOMEM;
    for (size_t i = 0; rc == 0 && i < nodes.n; i++)
        rc = vel_node_append_name(list, nodes.names[i]);
    for (size_t i = 0; rc == 0 && i < seal->members.n; i++) {
        int64_t node = (int64_t)nodes.of[i];

        if (!vel_vec_push(&of, &node))
            rc = VEL_ENOMEM;
    }
    vel_seal_nodes_fini(&nodes);
    if (rc == 0) {
        rc = vel_node_adopt(body, "nodes", list);
        list = NULL;
    }
    if (rc == 0)
        rc = put_numbers(body, "node", &of);
    vel_node_destroy(list);
    vel_vec_fini(&of);
    return rc;
}

static int put_columns(const struct vel_seal *seal, struct vel_node *body)
{
    struct vel_vec numbers;
    int rc = 0;

    vel_vec_init(&numbers, sizeof(int64_t));
    for (size_t c = 0; rc == 0 && c < COUNT_OF(columns); c++) {
        numbers.n = 0;
        for (size_t i = 0; rc == 0 && i < seal->members.n; i++)
            if (!vel_vec_push(&numbers, (const char *)vel_vec_at(&seal->members, i) +
                                            columns[c].offset))
                rc = VEL_ENOMEM;
        if (rc == 0)
            rc = put_numbers(body, columns[c].key, &numbers);
    }
    vel_vec_fini(&numbers);
    return rc;
}

static int put_again(const struct vel_seal *seal, struct vel_node *body)
{
    struct vel_node *list = vel_node_list();
    int rc = vel_node_adopt(body, "again", list);

    for (size_t i = 0; rc == 0 && i < seal->again.n; i++)
        rc = vel_node_append_int(list, *(int64_t *)vel_vec_at(&seal->again, i));
    return rc;
}

int vel_seal_encode(const struct vel_seal *seal, struct vel_buf *ret,
                    struct vel_err *err)
{
    struct vel_node *body = vel_node_object();
    struct vel_buf text;
    int rc = 0;

    assert(!seal->is_cut);
    vel_buf_init(&text);
    if (!body || vel_node_set_int(body, "dataset", seal->id) ||
        vel_node_set_int(body, "verdict", seal->verdict) ||
        vel_node_set_int(body, "what", (int64_t)seal->what) ||
        vel_node_set_name(body, "template", seal->template ? seal->template : "") ||
        vel_node_set_name(body, "step", seal->step ? seal->step : "") ||
        vel_node_set_int(body, "generation", seal->generation) ||
        vel_node_set_int(body, "after", seal->after) ||
        (seal->anew > 0 && vel_node_set_int(body, "anew", seal->anew)) ||
        (seal->point > 0 && vel_node_set_int(body, "point", seal->point)) ||
        (seal->by[0] && vel_node_set_text(body, "by", seal->by)) ||
        (seal->about.name &&
         vel_node_adopt(body, "about", vel_dataset_to_node(&seal->about))) ||
        (seal->is_plain && vel_node_set_bool(body, "plain", true)) ||
        vel_node_set_bytes(body, "encoding", seal->encoding, sizeof seal->encoding) ||
        vel_node_set_int(body, "owner", seal->owner) ||
        vel_node_set_int(body, "attempt", seal->attempt) ||
        vel_node_set_bool(body, "encoded", seal->is_encoded) ||
        put_nodes(seal, body, err) || put_columns(seal, body) || put_again(seal, body))
        rc = vel_out_of_memory(err, "a seal");
    if (rc == 0) {
        vel_node_print(body, &text);
        rc = vel_buf_status(&text, err);
    }
    if (rc == 0 && (text.len > VEL_SEAL_MOST || seal->members.n > VEL_SEAL_RANKS))
        rc = vel_fail(err, VEL_EUNSUP,
                      "dataset %lld has %zu parts: they do not fit one message of %d "
                      "bytes; checkpoints of VELOC_* can do without, with MODE=SYNC "
                      "and FLUSH=0",
                      (long long)seal->id, seal->members.n, VEL_SEAL_MOST);
    if (rc == 0 && vel_buf_reserve(ret, text.len) < 0)
        rc = vel_out_of_memory(err, "a seal");
    if (rc == 0)
        vel_buf_append(ret, text.data, text.len);
    vel_buf_fini(&text);
    vel_node_destroy(body);
    return rc;
}

/* --- decode --- */

/* In lists of messages nodes are divided by blanks. */
static bool is_node(const char *name)
{
    size_t len = strlen(name);

    return len > 0 && len <= NODE_MOST && strcspn(name, " ") == len;
}

/* As many as there are members; the first list says how many that is. */
static int get_numbers(const struct vel_node *body, const char *key, size_t n,
                       int64_t least, int64_t most, struct vel_vec *ret,
                       struct vel_err *err)
{
    const char *text;
    int rc = vel_node_get_text(body, key, &text, err);

    if (rc == 0)
        rc = vel_runs_parse(text, n, least, most, ret, err);
    return rc < 0 ? vel_wrap(err, rc, "%s", key) : 0;
}

static int get_names(const struct vel_node *nodes, char **ret, struct vel_err *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < vel_node_count(nodes); i++) {
        rc = vel_node_name_at(nodes, i, &ret[i], err);
        if (rc == 0 && !is_node(ret[i]))
            rc = vel_fail(err, VEL_ECORRUPT, "nodes: %zu is no name of a node", i);
    }
    return rc;
}

/* The sets that have a member on a node. */
static int list_sets(const struct vel_vec *node, const struct vel_vec *set, int64_t own,
                     struct vel_vec *ret, struct vel_err *err)
{
    for (size_t i = 0; i < node->n; i++)
        if (*(int64_t *)vel_vec_at(node, i) == own &&
            !vel_vec_push(ret, vel_vec_at(set, i)))
            return vel_out_of_memory(err, "a seal");
    vel_vec_sort(ret, compare_numbers);
    return 0;
}

/* sets: only members of these; NULL: all. */
static int add_members(const struct vel_vec *node, char *const *names,
                       const struct vel_vec *column, const struct vel_vec *sets,
                       struct vel_seal *ret, struct vel_err *err)
{
    bool is_wanted = true;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < node->n; i++) {
        struct vel_seal_member member = {.node =
                                             names[*(int64_t *)vel_vec_at(node, i)]};

        if (sets)
            vel_vec_place(sets, vel_vec_at(&column[SET], i), compare_numbers,
                          &is_wanted);
        if (!is_wanted)
            continue;
        for (size_t c = 0; c < COUNT_OF(columns); c++)
            memcpy((char *)&member + columns[c].offset, vel_vec_at(&column[c], i),
                   sizeof(int64_t));
        rc = vel_seal_add(ret, &member, err);
    }
    return rc;
}

static int add_cut(const struct vel_vec *node, char *const *names, size_t n,
                   const struct vel_vec *column, const char *only, struct vel_seal *ret,
                   struct vel_err *err)
{
    struct vel_vec sets;
    size_t own = 0;

    vel_vec_init(&sets, sizeof(int64_t));
    while (own < n && strcmp(names[own], only) != 0)
        own++;
    int rc = list_sets(node, &column[SET], (int64_t)own, &sets, err);
    if (rc == 0)
        rc = add_members(node, names, column, &sets, ret, err);
    vel_vec_fini(&sets);
    for (size_t i = 0; i < n; i++)
        vel_buf_append(&ret->nodes, names[i], strlen(names[i]) + 1);
    for (size_t i = 0; i < node->n; i++) {
        int64_t set = *(int64_t *)vel_vec_at(&column[SET], i);

        ret->sets = set >= ret->sets ? set + 1 : ret->sets;
    }
    ret->level = node->n > 0 ? *(int64_t *)vel_vec_at(&column[LEVEL], 0) : 0;
    ret->n_nodes = n;
    ret->is_cut = true;
    return rc == 0 ? vel_buf_status(&ret->nodes, err) : rc;
}

static int get_members(const struct vel_node *body, const char *only,
                       struct vel_seal *ret, struct vel_err *err)
{
    const struct vel_node *nodes = NULL;
    struct vel_vec node = {0}, column[COUNT_OF(columns)] = {{0}};
    char **names;
    size_t n;
    int rc = vel_node_get_list(body, "nodes", &nodes, err);

    if (rc < 0)
        return rc;
    n = vel_node_count(nodes);
    names = calloc(n + 1, sizeof *names);
    rc = names ? get_names(nodes, names, err) : vel_out_of_memory(err, "a seal");
    if (rc == 0)
        rc = get_numbers(body, "node", VEL_SEAL_RANKS, 0, (int64_t)n - 1, &node, err);
    for (size_t c = 0; rc == 0 && c < COUNT_OF(columns); c++) {
        rc = get_numbers(body, columns[c].key, node.n, columns[c].least,
                         columns[c].most, &column[c], err);
        if (rc == 0 && column[c].n != node.n)
            rc = vel_fail(err, VEL_ECORRUPT, "%s: has another length", columns[c].key);
    }
    if (rc == 0 && !vel_runs_rise(&column[RANK]))
        rc = vel_fail(err, VEL_ECORRUPT, "a rank is there twice, or too late");
    if (rc == 0 && only)
        rc = add_cut(&node, names, n, column, only, ret, err);
    else if (rc == 0)
        rc = add_members(&node, names, column, NULL, ret, err);
    for (size_t c = 0; c < COUNT_OF(columns); c++)
        vel_vec_fini(&column[c]);
    vel_vec_fini(&node);
    for (size_t i = 0; names && i < n; i++)
        free(names[i]);
    free(names);
    return rc;
}

static int get_again(const struct vel_node *body, struct vel_seal *ret,
                     struct vel_err *err)
{
    const struct vel_node *list = NULL;
    int64_t set = 0;
    int rc = vel_node_get_list(body, "again", &list, err);

    for (size_t i = 0; rc == 0 && i < vel_node_count(list); i++) {
        rc = vel_node_int_at(list, i, 0, VEL_RANKS_MAX, &set, err);
        if (rc == 0)
            rc = vel_seal_form_again(ret, set, err);
    }
    return rc;
}

static int get_by(const struct vel_node *body, struct vel_seal *ret,
                  struct vel_err *err)
{
    const char *by = "";
    int rc = vel_node_has(body, "by") ? vel_node_get_text(body, "by", &by, err) : 0;

    if (rc == 0 && strlen(by) >= sizeof ret->by)
        rc = vel_fail(err, VEL_ECORRUPT, "by: longer than the name of a launch");
    if (rc == 0)
        memcpy(ret->by, by, strlen(by) + 1);
    return rc;
}

/* One that is void is no dataset. */
static int get_about(const struct vel_node *body, struct vel_seal *ret,
                     struct vel_err *err)
{
    const struct vel_node *about;
    int rc = 0;

    if (vel_node_has(body, "plain"))
        rc = vel_node_get_bool(body, "plain", &ret->is_plain, err);
    if (rc < 0 || !vel_node_has(body, "about"))
        return rc;
    rc = vel_node_get_object(body, "about", &about, err);
    if (rc == 0)
        rc = vel_dataset_from_node(about, &ret->about, err);
    if (rc == 0 && ret->about.id != ret->id)
        rc = vel_fail(err, VEL_ECORRUPT, "about: it is of dataset %lld",
                      (long long)ret->about.id);
    return rc;
}

static int get_seal(const struct vel_node *body, const char *only, struct vel_seal *ret,
                    struct vel_err *err)
{
    int64_t verdict = 0, what = 0;
    int rc = vel_node_get_int(body, "dataset", 0, INT64_MAX, &ret->id, err);

    if (rc == 0)
        rc = vel_node_get_int(body, "verdict", VEL_VERDICT_SEALED, VEL_VERDICT_VOID,
                              &verdict, err);
    if (rc == 0)
        rc = vel_node_get_int(body, "what", 0, VEL_OWED_ENCODE | VEL_OWED_FLUSH, &what,
                              err);
    if (rc == 0)
        rc = vel_node_get_name(body, "template", &ret->template, err);
    if (rc == 0)
        rc = vel_node_get_name(body, "step", &ret->step, err);
    if (rc == 0)
        rc = vel_node_get_int(body, "generation", 0, INT64_MAX, &ret->generation, err);
    if (rc == 0)
        rc = vel_node_get_int(body, "after", 0, INT64_MAX, &ret->after, err);
    if (rc == 0 && vel_node_has(body, "anew"))
        rc = vel_node_get_int(body, "anew", 1, INT64_MAX, &ret->anew, err);
    if (rc == 0 && vel_node_has(body, "point"))
        rc = vel_node_get_int(body, "point", 1, INT64_MAX, &ret->point, err);
    if (rc == 0)
        rc = get_by(body, ret, err);
    if (rc == 0)
        rc = get_about(body, ret, err);
    if (rc == 0)
        rc = vel_node_get_int(body, "owner", 0, INT64_MAX, &ret->owner, err);
    if (rc == 0)
        rc = vel_node_get_int(body, "attempt", 0, 1 << 30, &ret->attempt, err);
    if (rc == 0)
        rc = vel_node_get_bool(body, "encoded", &ret->is_encoded, err);
    if (rc == 0)
        rc = vel_node_get_bytes(body, "encoding", ret->encoding, sizeof ret->encoding,
                                err);
    if (rc == 0)
        rc = get_members(body, only, ret, err);
    if (rc == 0)
        rc = get_again(body, ret, err);
    ret->verdict = (enum vel_verdict)verdict;
    ret->what = (unsigned)what;
    if (rc == 0 && (ret->id == 0) != (verdict == VEL_VERDICT_VOID))
        rc = vel_fail(err, VEL_ECORRUPT, "dataset: only one that is void has none");
    return rc;
}

int vel_seal_decode(const void *bytes, size_t len, struct vel_seal *ret,
                    struct vel_err *err)
{
    return vel_seal_decode_for(bytes, len, NULL, ret, err);
}

int vel_seal_decode_for(const void *bytes, size_t len, const char *node,
                        struct vel_seal *ret, struct vel_err *err)
{
    struct vel_node *body = NULL;
    struct vel_seal seal;
    int rc = len > VEL_SEAL_MOST
                 ? vel_fail(err, VEL_ECORRUPT, "it is longer than any seal")
                 : vel_node_parse(bytes, len, &body, err);

    vel_seal_init(&seal);
    if (rc == 0)
        rc = get_seal(body, node, &seal, err);
    vel_node_destroy(body);
    if (rc == 0) {
        *ret = seal;
        return 0;
    }
    vel_seal_fini(&seal);
    return vel_wrap(err, rc, "a seal");
}

/* --- of a session --- */

static int by_place(const void *a, const void *b)
{
    const struct vel_seal_member *const *left = a, *const *right = b;
    const struct vel_seal_member *x = *left, *y = *right;

    if (x->set != y->set)
        return x->set < y->set ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

static int check_sets(const struct vel_seal *seal, struct vel_err *err)
{
    size_t n = seal->members.n;
    const struct vel_seal_member **sorted = malloc((n + 1) * sizeof *sorted);
    int64_t sets = 0;
    int rc = sorted ? 0 : vel_out_of_memory(err, "a seal");

    if (rc == 0 && (int64_t)n != seal->about.ranks)
        rc = vel_fail(err, VEL_ECORRUPT, "%zu of %d ranks", n, seal->about.ranks);
    for (size_t i = 0; rc == 0 && i < n; i++) {
        sorted[i] = vel_seal_member(seal, i);
        if (sorted[i]->rank != (int64_t)i)
            rc = vel_fail(err, VEL_ECORRUPT, "rank %zu has no part", i);
    }
    if (rc == 0)
        qsort(sorted, n, sizeof *sorted, by_place);
    for (size_t i = 0; rc == 0 && i < n; i++) {
        bool begins = i == 0 || sorted[i]->set != sorted[i - 1]->set;
        int64_t due = begins ? 0 : sorted[i - 1]->place + 1;

        sets += begins;
        if (sorted[i]->set != sets - 1)
            rc = vel_fail(err, VEL_ECORRUPT, "set %lld is missing",
                          (long long)(sets - 1));
        else if (sorted[i]->place != due)
            rc = vel_fail(err, VEL_ECORRUPT, "set %lld: place %lld is %s",
                          (long long)sorted[i]->set, (long long)due,
                          sorted[i]->place < due ? "there twice" : "missing");
    }
    free(sorted);
    return rc;
}

int vel_seal_decode_settled(int64_t id, const void *bytes, size_t len,
                            struct vel_seal *ret, struct vel_err *err)
{
    struct vel_seal seal;
    int rc = vel_seal_decode(bytes, len, &seal, err);

    if (rc < 0)
        return rc;
    if (seal.id != id || seal.about.id != id)
        rc = vel_fail(err, VEL_ECORRUPT, "dataset: it is not %lld", (long long)id);
    if (rc == 0)
        rc = check_sets(&seal, err);
    if (rc < 0) {
        vel_seal_fini(&seal);
        return vel_wrap(err, rc, "what is settled of dataset %lld", (long long)id);
    }
    seal.verdict = VEL_VERDICT_SEALED;
    *ret = seal;
    return 0;
}
