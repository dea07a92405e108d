/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "meta/settlement.h"
#include "meta/ids.h"
#include "meta/paths.h"
#include "record/record.h"

enum { FORMAT = 1, BYTES_MOST = 1 << 20 };

/* What is in other records, too: the same pointers. */
static struct vel_made made_of(const struct vel_settlement *s)
{
    return (struct vel_made){s->dataset, s->is_flushed, s->nodes, s->n_nodes};
}

void vel_settlement_fini(struct vel_settlement *s)
{
    struct vel_made made = made_of(s);

    vel_made_fini(&made);
    free(s->seats);
    memset(s, 0, sizeof *s);
}

/* --- out --- */

/* One number of every seat, by rank. */
static struct vel_node *list_numbers(const struct vel_settlement *s, size_t offset)
{
    struct vel_node *list = vel_node_list();

    for (int i = 0; list && i < s->dataset.ranks; i++) {
        uint32_t number;

        memcpy(&number, (const char *)&s->seats[i] + offset, sizeof number);
        if (vel_node_append_int(list, number) < 0) {
            vel_node_destroy(list);
            return NULL;
        }
    }
    return list;
}

static int put(struct vel_node *body, const struct vel_settlement *s)
{
    const struct vel_made made = made_of(s);

    return vel_made_put(body, &made) || vel_node_set_int(body, "level", s->level) ||
           vel_node_set_text(body, "scheme", vel_scheme_name(s->scheme)) ||
           vel_node_set_int(body, "m", (int64_t)s->m) ||
           vel_node_set_bool(body, "encoded", s->is_encoded) ||
           (s->is_plain && vel_node_set_bool(body, "plain", true)) ||
           vel_node_adopt(body, "node",
                          list_numbers(s, offsetof(struct vel_seat, node))) ||
           vel_node_adopt(body, "set",
                          list_numbers(s, offsetof(struct vel_seat, set))) ||
           vel_node_adopt(body, "place",
                          list_numbers(s, offsetof(struct vel_seat, place)));
}

int vel_settlement_encode(const struct vel_settlement *settlement, struct vel_buf *ret,
                          struct vel_err *err)
{
    struct vel_node *body = vel_node_object();
    int rc = !body || put(body, settlement)
                 ? vel_out_of_memory(err, "a settlement")
                 : vel_record_encode("settlement", FORMAT, body, ret, err);

    vel_node_destroy(body);
    return rc;
}

/* --- in --- */

static int get_numbers(const struct vel_node *body, const char *key, int64_t most,
                       struct vel_settlement *s, size_t offset, struct vel_err *err)
{
    const struct vel_node *list;
    int rc = vel_node_get_list(body, key, &list, err);

    if (rc == 0 && vel_node_count(list) != (size_t)s->dataset.ranks)
        rc = vel_fail(err, VEL_ECORRUPT, "%s: %zu of %d ranks", key,
                      vel_node_count(list), s->dataset.ranks);
    for (int i = 0; rc == 0 && i < s->dataset.ranks; i++) {
        int64_t number = 0;
        uint32_t seat;

        rc = vel_node_int_at(list, (size_t)i, 0, most, &number, err);
        seat = (uint32_t)number;
        memcpy((char *)&s->seats[i] + offset, &seat, sizeof seat);
    }
    return rc < 0 ? vel_wrap(err, rc, "%s", key) : 0;
}

static int by_place(const void *a, const void *b)
{
    const struct vel_seat *x = a, *y = b;

    if (x->set != y->set)
        return x->set < y->set ? -1 : 1;
    return x->place < y->place ? -1 : x->place > y->place;
}

/* The sets are numbered from 0 on, as are the places of each, and each is there once.
 */
static int check_sets(struct vel_settlement *s, struct vel_err *err)
{
    size_t n = (size_t)s->dataset.ranks;
    struct vel_seat *sorted = malloc(n * sizeof *sorted);
    int rc = 0;

    if (!sorted)
        return vel_out_of_memory(err, "a settlement");
    memcpy(sorted, s->seats, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, by_place);
    for (size_t i = 0; rc == 0 && i < n; i++) {
        bool begins = i == 0 || sorted[i].set != sorted[i - 1].set;
        uint32_t due = begins ? 0 : sorted[i - 1].place + 1;

        s->sets += begins;
        if (sorted[i].set != s->sets - 1)
            rc = vel_fail(err, VEL_ECORRUPT, "set %" PRIu32 " is missing", s->sets - 1);
        else if (sorted[i].place != due)
            rc = vel_fail(err, VEL_ECORRUPT, "set %" PRIu32 ": place %" PRIu32 " is %s",
                          sorted[i].set, due,
                          sorted[i].place < due ? "there twice" : "missing");
    }
    free(sorted);
    return rc;
}

static int get_scheme(const struct vel_node *body, struct vel_settlement *s,
                      struct vel_err *err)
{
    const char *text;
    int64_t m;
    int rc = vel_node_get_text(body, "scheme", &text, err);

    if (rc == 0 && vel_scheme_parse(text, &s->scheme, NULL) < 0)
        rc = vel_fail(err, VEL_ECORRUPT, "scheme: '%s' is none", text);
    if (rc == 0)
        rc = vel_node_get_int(body, "m", 0, VEL_SET_MAX - 1, &m, err);
    if (rc == 0)
        s->m = (size_t)m;
    return rc;
}

/* Memory for as many as there are, and not for as many as are said to be. */
static int make_seats(const struct vel_node *body, struct vel_settlement *s,
                      struct vel_err *err)
{
    const struct vel_node *list;
    int rc = vel_node_get_list(body, "node", &list, err);

    if (rc == 0 && vel_node_count(list) != (size_t)s->dataset.ranks)
        rc = vel_fail(err, VEL_ECORRUPT, "node: %zu of %d ranks", vel_node_count(list),
                      s->dataset.ranks);
    if (rc == 0 && !(s->seats = calloc(vel_node_count(list), sizeof *s->seats)))
        rc = vel_out_of_memory(err, "a settlement");
    return rc;
}

static int get(const struct vel_node *body, struct vel_settlement *s,
               struct vel_err *err)
{
    struct vel_made made;
    int rc = vel_made_get(body, &made, err);

    if (rc < 0)
        return rc;
    s->dataset = made.dataset;
    s->is_flushed = made.is_flushed;
    s->nodes = made.nodes;
    s->n_nodes = made.n_nodes;
    rc = make_seats(body, s, err);
    if (rc < 0)
        return rc;
    if ((rc = vel_node_get_int(body, "level", 0, INT32_MAX, &s->level, err)) < 0 ||
        (rc = get_scheme(body, s, err)) < 0 ||
        (rc = vel_node_get_bool(body, "encoded", &s->is_encoded, err)) < 0 ||
        (vel_node_has(body, "plain") &&
         (rc = vel_node_get_bool(body, "plain", &s->is_plain, err)) < 0) ||
        (rc = get_numbers(body, "node", (int64_t)s->n_nodes - 1, s,
                          offsetof(struct vel_seat, node), err)) < 0 ||
        (rc = get_numbers(body, "set", s->dataset.ranks - 1, s,
                          offsetof(struct vel_seat, set), err)) < 0 ||
        (rc = get_numbers(body, "place", VEL_SET_MAX - 1, s,
                          offsetof(struct vel_seat, place), err)) < 0)
        return rc;
    return check_sets(s, err);
}

int vel_settlement_decode(const void *bytes, size_t len, struct vel_settlement *ret,
                          struct vel_err *err)
{
    struct vel_settlement settlement = {0};
    struct vel_node *body = NULL;
    int version,
        rc = vel_record_decode(bytes, len, "settlement", FORMAT, &version, &body, err);

    if (rc == 0)
        rc = get(body, &settlement, err);
    vel_node_destroy(body);
    if (rc < 0)
        vel_settlement_fini(&settlement);
    else
        *ret = settlement;
    return rc;
}

char *vel_settlement_path(const char *dir, int64_t id)
{
    char *its = vel_dataset_dir(dir, id);
    char *path = its ? vel_path_join(its, "settlement") : NULL;

    free(its);
    return path;
}

int vel_settlement_load(struct vel_fs *fs, const char *dir, int64_t id,
                        struct vel_settlement *ret, struct vel_err *err)
{
    char *path = vel_settlement_path(dir, id);
    struct vel_buf bytes;
    int rc;

    vel_buf_init(&bytes);
    rc = path ? vel_fs_read_file(fs, path, BYTES_MOST, &bytes, err)
              : vel_out_of_memory(err, "a dataset");
    if (rc == 0)
        rc = vel_settlement_decode(bytes.data, bytes.len, ret, err);
    vel_buf_fini(&bytes);
    free(path);
    return rc;
}

int vel_settled_made(struct vel_fs *fs, const char *dir, int64_t id,
                     struct vel_made *ret, struct vel_err *err)
{
    struct vel_settlement settlement;
    int rc = vel_settlement_load(fs, dir, id, &settlement, err);

    if (rc == VEL_ENOENT)
        return vel_id_made(fs, dir, id, ret, err);
    if (rc < 0)
        return rc;
    *ret = made_of(&settlement);
    free(settlement.seats);
    return 0;
}
