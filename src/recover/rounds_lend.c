/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/le.h"
#include "base/path.h"
#include "recover/rounds_in.h"

enum {
    ROUND_MOST = 64 << 20, /* bytes that a rank answers in a round, */
    ANSWERS_MOST = 1024    /* and how often */
};

/* What another rank wants to have read here. */
struct wanted {
    int rank;
    uint64_t number; /* the asker's */
    struct vel_want want;
    char *name; /* want.name; NULL: answered */
};

int vel_lender_add(struct vel_lender *l, const struct vel_parcel *parcel,
                   struct vel_err *err)
{
    struct wanted wanted = {.rank = parcel->peer};
    struct vel_le_reader reader;

    vel_le_read_init(&reader, parcel->bytes, parcel->len);
    wanted.number = vel_le_get64(&reader);
    wanted.want.dataset = (int64_t)vel_le_get64(&reader);
    wanted.want.rank = (int)vel_le_get32(&reader);
    wanted.want.what = vel_le_get32(&reader);
    wanted.want.at = vel_le_get64(&reader);
    wanted.want.len = vel_le_get32(&reader);
    if (reader.is_short)
        return vel_fail(err, VEL_ECORRUPT, "rank %d asks for what makes no sense",
                        parcel->peer);
    wanted.name = strndup((const char *)reader.at, reader.left);
    if (!wanted.name || !vel_vec_push(&l->wanted, &wanted)) {
        free(wanted.name);
        return vel_out_of_memory(err, "a pull");
    }
    return 0;
}

static const struct wanted *wanted_at(const struct vel_lender *l, size_t i)
{
    return vel_vec_at(&l->wanted, i);
}

/* The next to be answered: of the one whose turn it is, or of the next rank above it
 * that wants anything. What one wants lies together, mostly. */
static size_t choose(const struct vel_lender *l, size_t after)
{
    int size = l->of->comm->size, least = size;
    size_t at = l->wanted.n;

    if (after > 0 && after < at && wanted_at(l, after)->name &&
        wanted_at(l, after)->rank == wanted_at(l, after - 1)->rank)
        return after;
    for (size_t i = 0; i < l->wanted.n; i++) {
        int behind = (wanted_at(l, i)->rank - l->turn + size) % size;

        if (wanted_at(l, i)->name && behind < least) {
            least = behind;
            at = i;
        }
    }
    return at;
}

static void forget_answered(struct vel_lender *l)
{
    struct wanted *w = l->wanted.items;
    size_t n = 0;

    for (size_t i = 0; i < l->wanted.n; i++)
        if (w[i].name)
            w[n++] = w[i];
    l->wanted.n = n;
}

/* A name in the part, where all of it lies together. */
static int read_at(const struct vel_lender *l, const char *dir,
                   const struct vel_want *want, void *bytes, uint64_t *ret_size,
                   uint32_t *ret_got, struct vel_err *err)
{
    const struct vel_rounds_of *of = l->of;
    struct vel_want at = *want;
    bool is_inner = vel_path_is_inner(want->name);
    char *path = is_inner ? vel_path_join(dir, want->name) : NULL;
    int rc = is_inner && !path
                 ? vel_out_of_memory(err, "a pull")
                 : vel_fail(err, VEL_ENOENT, "%s of rank %d is in no cache here",
                            want->name, want->rank);

    at.what = VEL_WANT_PLACE;
    at.name = path;
    for (size_t i = 0; path && rc == VEL_ENOENT && i < of->n_homes; i++) {
        const struct vel_giver giver = {of->fs, &of->homes[i], 1};

        if (!vel_path_below(of->homes[i], path))
            continue;
        rc = vel_give(&giver, &at, bytes, ret_size, ret_got, err);
        if (rc == 0 && of->throttles)
            rc = vel_throttle_take(&of->throttles[i], *ret_got, NULL, err);
    }
    free(path);
    return rc;
}

int vel_lender_read(const struct vel_lender *l, const struct vel_want *want,
                    void *bytes, uint64_t *ret_size, uint32_t *ret_got,
                    struct vel_err *err)
{
    char *dir = bytes ? l->of->find(l->of->arg, want->rank) : NULL;
    int rc =
        dir ? read_at(l, dir, want, bytes, ret_size, ret_got, err)
            : vel_fail(err, bytes ? VEL_ENOENT : VEL_ENOMEM,
                       "%s of rank %d cannot be read here", want->name, want->rank);

    free(dir);
    return rc;
}

static int answer_one(struct vel_lender *l, size_t i, struct vel_vec *ret,
                      struct vel_err *err)
{
    struct wanted *w = vel_vec_at(&l->wanted, i), wanted = *w;
    struct vel_answer *answer = vel_vec_push(ret, NULL);
    uint64_t size = 0;
    struct vel_le_writer writer;
    int rc;

    wanted.want.name = wanted.name;
    if (!answer)
        return vel_out_of_memory(err, "a pull");
    answer->bytes =
        wanted.want.len <= VEL_WANT_MOST ? malloc(wanted.want.len + 1) : NULL;
    rc = vel_lender_read(l, &wanted.want, answer->bytes, &size, &answer->got,
                         &answer->why);
    if (rc < 0)
        answer->got = 0;
    answer->rank = wanted.rank;
    vel_le_write_init(&writer, answer->head, VEL_ANSWER_HEAD);
    vel_le_put64(&writer, wanted.number);
    vel_le_put32(&writer, (uint32_t)-rc);
    vel_le_put64(&writer, size);
    vel_le_put32(&writer, answer->got);
    free(w->name);
    w->name = NULL;
    return 0;
}

int vel_lender_answer(struct vel_lender *l, struct vel_vec *ret, struct vel_err *err)
{
    uint64_t bytes = 0;
    size_t i, after = 0;
    int rc = 0;

    while (rc == 0 && ret->n < ANSWERS_MOST && (i = choose(l, after)) < l->wanted.n) {
        if (ret->n == 0) /* he has it until he wants no more */
            l->turn = wanted_at(l, i)->rank;
        bytes += wanted_at(l, i)->want.len;
        if (bytes > ROUND_MOST && ret->n > 0)
            break;
        rc = answer_one(l, i, ret, err);
        after = i + 1;
    }
    forget_answered(l);
    return rc;
}

void vel_lender_init(struct vel_lender *lender, const struct vel_rounds_of *of)
{
    *lender = (struct vel_lender){.of = of, .turn = of->comm->rank};
    vel_vec_init(&lender->wanted, sizeof(struct wanted));
}

void vel_lender_fini(struct vel_lender *lender)
{
    for (size_t i = 0; i < lender->wanted.n; i++)
        free(((struct wanted *)vel_vec_at(&lender->wanted, i))->name);
    vel_vec_fini(&lender->wanted);
}
