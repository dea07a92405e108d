/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/le.h"
#include "recover/rounds_in.h"

enum { TAG_BYTES = 0x7e1 }; /* those of answers */

/* What this rank has asked for. */
struct asked {
    struct vel_get *get;
    uint64_t number;
    int rank;
    bool is_sent;
};

struct rounds {
    struct vel_pull_source source; /* the first */
    const struct vel_rounds_of *of;
    struct vel_vec asked; /* struct asked */
    struct vel_vec done;  /* struct vel_get * */
    struct vel_lender lender;
    uint64_t numbers;
    bool is_over;       /* nobody pulls any more, */
    struct vel_err why; /* or the communicator broke */
};

/* --- asking --- */

static int compare_names(const void *key, const void *item)
{
    return strcmp(*(char *const *)key, *(char *const *)item);
}

static int reader_of(const struct rounds *r, const char *node)
{
    bool is_there;
    size_t at = vel_vec_place(&r->of->view->nodes, &node, compare_names, &is_there);

    return is_there ? r->of->reader[at] : -1;
}

static int pack_wants(struct rounds *r, struct vel_vec *ret, struct vel_err *err)
{
    for (size_t i = 0; i < r->asked.n; i++) {
        struct asked *asked = vel_vec_at(&r->asked, i);
        const struct vel_want *want = &asked->get->want;
        size_t name = strlen(want->name);
        struct vel_parcel parcel = {.peer = asked->rank, .len = VEL_WANT_HEAD + name};
        struct vel_le_writer w;

        if (asked->is_sent)
            continue;
        parcel.bytes = malloc(parcel.len);
        if (!parcel.bytes || !vel_vec_push(ret, &parcel)) {
            free(parcel.bytes);
            return vel_out_of_memory(err, "a pull");
        }
        vel_le_write_init(&w, parcel.bytes, parcel.len);
        vel_le_put64(&w, asked->number);
        vel_le_put64(&w, (uint64_t)want->dataset);
        vel_le_put32(&w, (uint32_t)want->rank);
        vel_le_put32(&w, want->what);
        vel_le_put64(&w, want->at);
        vel_le_put32(&w, want->len);
        vel_le_put_bytes(&w, want->name, name);
        asked->is_sent = true;
    }
    return 0;
}

static void free_parcels(struct vel_vec *parcels)
{
    for (size_t i = 0; i < parcels->n; i++)
        free(((struct vel_parcel *)vel_vec_at(parcels, i))->bytes);
    vel_vec_fini(parcels);
}

static int tell_wants(struct rounds *r, struct vel_err *err)
{
    struct vel_vec out, in = {0};
    int rc;

    vel_vec_init(&out, sizeof(struct vel_parcel));
    rc = pack_wants(r, &out, err);
    if (rc == 0)
        rc = vel_comm_exchange(r->of->comm, &out, &in, err);
    for (size_t i = 0; rc == 0 && i < in.n; i++)
        rc = vel_lender_add(&r->lender, vel_vec_at(&in, i), err);
    vel_parcels_fini(&in);
    free_parcels(&out);
    return rc;
}

static int begin(struct vel_pull_source *source, struct vel_get *get,
                 struct vel_err *err)
{
    struct rounds *r = (struct rounds *)source;
    const struct asked asked = {
        .get = get, .number = r->numbers++, .rank = reader_of(r, get->node)};

    if (r->why.status)
        return vel_fail(err, r->why.status, "%s", r->why.text);
    if (asked.rank < 0)
        return vel_fail(err, VEL_ELOST, "no rank reads the caches of node %s",
                        get->node);
    if (asked.rank == r->of->comm->rank) {
        get->rc = vel_lender_read(&r->lender, &get->want, get->bytes, &get->size,
                                  &get->got, &get->err);
        return 0;
    }
    return vel_vec_push(&r->asked, &asked) ? 0 : vel_out_of_memory(err, "a pull");
}

static int tell_heads(struct rounds *r, const struct vel_vec *answers,
                      struct vel_vec *ret_in, struct vel_err *err)
{
    struct vel_vec out;
    int rc = 0;

    vel_vec_init(&out, sizeof(struct vel_parcel));
    for (size_t i = 0; rc == 0 && i < answers->n; i++) {
        const struct vel_answer *answer = vel_vec_at(answers, i);
        size_t text = answer->why.status ? strlen(answer->why.text) : 0;
        struct vel_parcel parcel = {.peer = answer->rank,
                                    .len = VEL_ANSWER_HEAD + text};

        parcel.bytes = malloc(parcel.len);
        if (!parcel.bytes || !vel_vec_push(&out, &parcel)) {
            free(parcel.bytes);
            rc = vel_out_of_memory(err, "a pull");
            break;
        }
        memcpy(parcel.bytes, answer->head, VEL_ANSWER_HEAD);
        memcpy((char *)parcel.bytes + VEL_ANSWER_HEAD, answer->why.text, text);
    }
    if (rc == 0)
        rc = vel_comm_exchange(r->of->comm, &out, ret_in, err);
    free_parcels(&out);
    return rc;
}

/* --- the bytes --- */

/* What was asked for under this number; NULL: it was given up since. */
static struct asked *find_asked(const struct rounds *r, uint64_t number)
{
    for (size_t i = 0; i < r->asked.n; i++) {
        struct asked *asked = vel_vec_at(&r->asked, i);

        if (asked->number == number)
            return asked;
    }
    return NULL;
}

/* What comes with a head: it is told to its get, whose room *ret_bytes is; NULL: it is
 * thrown away. */
static int take_head(struct rounds *r, const struct vel_parcel *head, void **ret_bytes,
                     uint32_t *ret_got, struct vel_err *err)
{
    struct vel_le_reader reader;
    struct asked *asked;
    struct vel_get *get;
    uint64_t size;
    int rc;

    vel_le_read_init(&reader, head->bytes, head->len);
    asked = find_asked(r, vel_le_get64(&reader));
    rc = -(int)vel_le_get32(&reader);
    size = vel_le_get64(&reader);
    *ret_got = vel_le_get32(&reader);
    *ret_bytes = NULL;
    get = asked ? asked->get : NULL;
    if (reader.is_short || *ret_got > VEL_WANT_MOST ||
        (get && *ret_got > get->want.len))
        return vel_fail(err, VEL_ECORRUPT, "rank %d answers what was not asked",
                        head->peer);
    if (!get)
        return 0;
    *ret_bytes = get->bytes;
    get->size = size;
    get->got = *ret_got;
    get->rc = rc < 0 ? vel_fail(&get->err, VEL_EREMOTE, "node %s: %.*s", get->node,
                                (int)reader.left, (const char *)reader.at)
                     : 0;
    if (!vel_vec_push(&r->done, &get))
        return vel_out_of_memory(err, "a pull");
    vel_vec_remove(&r->asked,
                   (size_t)(asked - (struct asked *)vel_vec_at(&r->asked, 0)));
    return 0;
}

/* All messages are posted before any is waited for. waste[i]: room for what comes with
 * head i and nobody wants any more. */
static int post(struct rounds *r, const struct vel_vec *answers,
                const struct vel_vec *heads, struct vel_req **reqs, void **waste,
                uint64_t *ret_came, struct vel_err *err)
{
    size_t n = 0;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < heads->n; i++) {
        const struct vel_parcel *head = vel_vec_at(heads, i);
        void *bytes;
        uint32_t got;

        rc = take_head(r, head, &bytes, &got, err);
        if (rc == 0 && got > 0 && !bytes) {
            bytes = waste[i] = malloc(got);
            rc = bytes ? 0 : vel_out_of_memory(err, "a pull");
        }
        if (rc == 0 && got > 0)
            rc = vel_comm_irecv(r->of->comm, head->peer, TAG_BYTES, bytes, got,
                                &reqs[n++], err);
        *ret_came += got;
    }
    for (size_t i = 0; rc == 0 && i < answers->n; i++) {
        const struct vel_answer *answer = vel_vec_at(answers, i);

        if (answer->got > 0)
            rc = vel_comm_isend(r->of->comm, answer->rank, TAG_BYTES, answer->bytes,
                                answer->got, &reqs[n++], err);
    }
    return rc;
}

static int move_bytes(struct rounds *r, const struct vel_vec *answers,
                      const struct vel_vec *heads, struct vel_err *err)
{
    size_t n = answers->n + heads->n;
    struct vel_req **reqs = calloc(n + 1, sizeof *reqs);
    void **waste = calloc(heads->n + 1, sizeof *waste);
    uint64_t came = 0;
    int rc = reqs && waste ? 0 : vel_out_of_memory(err, "a pull");

    if (rc == 0)
        rc = post(r, answers, heads, reqs, waste, &came, err);
    if (rc == 0)
        rc = vel_comm_wait_all(r->of->comm, reqs, n, err);
    if (rc < 0 && reqs)
        vel_comm_cancel_all(r->of->comm, reqs, n);
    for (size_t i = 0; waste && i < heads->n; i++)
        free(waste[i]);
    free(waste);
    free(reqs);
    return rc == 0 && r->of->throttles
               ? vel_throttle_take(&r->of->throttles[r->of->into], came, NULL, err)
               : rc;
}

/* --- a round --- */

static int go_round(struct rounds *r, bool is_pulling, struct vel_err *err)
{
    int64_t pull = is_pulling;
    struct vel_vec answers, heads = {0};
    int rc = vel_comm_allreduce(r->of->comm, VEL_COMM_MAX, &pull, 1, err);

    r->is_over = pull == 0;
    if (rc < 0 || r->is_over)
        return rc;
    vel_vec_init(&answers, sizeof(struct vel_answer));
    rc = tell_wants(r, err);
    if (rc == 0)
        rc = vel_lender_answer(&r->lender, &answers, err);
    if (rc == 0)
        rc = tell_heads(r, &answers, &heads, err);
    if (rc == 0)
        rc = move_bytes(r, &answers, &heads, err);
    vel_parcels_fini(&heads);
    for (size_t i = 0; i < answers.n; i++)
        free(((struct vel_answer *)vel_vec_at(&answers, i))->bytes);
    vel_vec_fini(&answers);
    return rc;
}

/* Who cannot go on in a round must not leave the others waiting in it. What was to come
 * in it has perhaps not. */
static void take_part(struct rounds *r, bool is_pulling)
{
    if (go_round(r, is_pulling, &r->why) == 0)
        return;
    vel_comm_fail(r->of->comm, &r->why);
    r->is_over = true;
    for (size_t i = 0; i < r->done.n; i++) {
        struct vel_get *get = *(struct vel_get **)vel_vec_at(&r->done, i);

        get->rc = vel_fail(&get->err, r->why.status, "%s", r->why.text);
    }
}

static struct vel_get *next(struct vel_pull_source *source)
{
    struct rounds *r = (struct rounds *)source;
    struct vel_get *get;

    while (r->done.n == 0 && !r->why.status)
        take_part(r, true);
    if (r->done.n == 0) {
        get = ((struct asked *)vel_vec_at(&r->asked, 0))->get;
        get->rc = vel_fail(&get->err, r->why.status, "%s", r->why.text);
        vel_vec_remove(&r->asked, 0);
        return get;
    }
    get = *(struct vel_get **)vel_vec_at(&r->done, 0);
    vel_vec_remove(&r->done, 0);
    return get;
}

static void drop(struct vel_pull_source *source)
{
    struct rounds *r = (struct rounds *)source;

    r->asked.n = 0;
    r->done.n = 0;
}

int vel_rounds_run(const struct vel_rounds_of *of,
                   int (*work)(void *arg, struct vel_pull_source *source,
                               struct vel_err *err),
                   void *arg, struct vel_err *err)
{
    static const struct vel_pull_source_ops ops = {
        .begin = begin, .next = next, .drop = drop};
    struct rounds r = {.source.ops = &ops, .of = of};
    int rc;

    vel_vec_init(&r.asked, sizeof(struct asked));
    vel_vec_init(&r.done, sizeof(struct vel_get *));
    vel_lender_init(&r.lender, of);
    rc = work(arg, &r.source, err);
    while (!r.is_over)
        take_part(&r, false);
    vel_lender_fini(&r.lender);
    vel_vec_fini(&r.done);
    vel_vec_fini(&r.asked);
    if (r.why.status)
        return vel_fail(err, r.why.status, "%s", r.why.text);
    return vel_comm_agree(of->comm, rc, err);
}
