/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "base/runs.h"
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
static int put_numbers(struct vel_node *body, const char *key,
                       const struct vel_settlement *s, size_t offset)
{
    struct vel_vec numbers;
    struct vel_buf text;
    int rc = 0;

    vel_vec_init(&numbers, sizeof(int64_t));
    vel_buf_init(&text);
    for (int i = 0; rc == 0 && i < s->dataset.ranks; i++) {
        uint32_t seat;
        int64_t number;

        memcpy(&seat, (const char *)&s->seats[i] + offset, sizeof seat);
        number = seat;
        rc = vel_vec_push(&numbers, &number) ? 0 : VEL_ENOMEM;
    }
    if (rc == 0) {
        vel_runs_put(&numbers, &text);
        rc = vel_buf_status(&text, NULL);
    }
    if (rc == 0)
        rc = vel_node_set_text(body, key, text.data);
    vel_buf_fini(&text);
    vel_vec_fini(&numbers);
    return rc;
}

static int put(struct vel_node *body, const struct vel_settlement *s)
{
    const struct vel_made made = made_of(s);

    return vel_made_put(body, &made) || vel_node_set_int(body, "level", s->level) ||
           vel_node_set_text(body, "scheme", vel_scheme_name(s->scheme)) ||
           vel_node_set_int(body, "m", (int64_t)s->m) ||
           vel_node_set_bool(body, "encoded", s->is_encoded) ||
           (s->is_plain && vel_node_set_bool(body, "plain", true)) ||
           put_numbers(body, "node", s, offsetof(struct vel_seat, node)) ||
           put_numbers(body, "set", s, offsetof(struct vel_seat, set)) ||
           put_numbers(body, "place", s, offsetof(struct vel_seat, place));
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
    struct vel_vec numbers = {0};
    const char *text;
    int rc = vel_node_get_text(body, key, &text, err);

    if (rc == 0)
        rc = vel_runs_parse(text, (size_t)s->dataset.ranks, 0, most, &numbers, err);
    if (rc == 0 && numbers.n != (size_t)s->dataset.ranks)
        rc =
            vel_fail(err, VEL_ECORRUPT, "%zu of %d ranks", numbers.n, s->dataset.ranks);
    if (rc == 0 && !s->seats && !(s->seats = calloc(numbers.n, sizeof *s->seats)))
        rc = vel_out_of_memory(err, "a settlement");
    for (size_t i = 0; rc == 0 && i < numbers.n; i++) {
        uint32_t seat = (uint32_t) * (int64_t *)vel_vec_at(&numbers, i);

        memcpy((char *)&s->seats[i] + offset, &seat, sizeof seat);
    }
    vel_vec_fini(&numbers);
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
