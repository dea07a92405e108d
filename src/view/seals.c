/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/siphash.h"
#include "facts/facts.h"
#include "meta/ids.h"
#include "meta/index.h"
#include "meta/launch.h"
#include "view/seals.h"

enum { MOST_UNSORTED = 64 }; /* and an eighth of the others */

uint64_t vel_seals_hash(const char *template, const char *step)
{
    static const uint8_t none[VEL_SIPHASH_KEY];
    uint8_t hash[VEL_SIPHASH_LEN];
    struct vel_buf text;
    uint64_t key;

    vel_buf_init(&text);
    vel_buf_printf(&text, "%s\n%s", template, step);
    vel_siphash(none, text.data, text.len, hash);
    memcpy(&key, hash, sizeof key);
    vel_buf_fini(&text);
    return key;
}

void vel_seals_key(const struct vel_seal *seal, char ret[VEL_SEALS_KEY])
{
    if (seal->template && *seal->template)
        snprintf(ret, VEL_SEALS_KEY, "%016" PRIx64 ".%" PRId64,
                 vel_seals_hash(seal->template, seal->step), seal->generation);
    else
        snprintf(ret, VEL_SEALS_KEY, "%" PRId64, seal->id);
}

int vel_seals_put(const struct vel_seal *seal, struct vel_buf *ret, struct vel_err *err)
{
    char key[VEL_SEALS_KEY];
    struct vel_buf text;
    int rc;

    vel_buf_init(&text);
    vel_seals_key(seal, key);
    rc = vel_seal_encode(seal, &text, err);
    if (rc == 0) {
        const struct vel_fact fact = {
            .kind = VEL_FACT_SEALED,
            .u.sealed = {key, seal->id, (int64_t)seal->verdict, text.data}};

        rc = vel_fact_put(&fact, ret, err);
    }
    vel_buf_puts(ret, "\n");
    vel_buf_fini(&text);
    return rc == 0 ? vel_buf_status(ret, err) : rc;
}

bool vel_seals_is(const struct vel_ledger_line *line, char ret_key[VEL_SEALS_KEY])
{
    struct vel_fields fields;
    struct vel_buf key;

    if (!vel_line_is(line, "sealed", &fields))
        return false;
    vel_buf_init(&key);
    vel_fields_text(&fields, &key);
    snprintf(ret_key, VEL_SEALS_KEY, "%s", vel_buf_text(&key));
    vel_buf_fini(&key);
    return true;
}

bool vel_seals_key_of(const struct vel_sealed *sealed, char ret_key[VEL_SEALS_KEY])
{
    const struct vel_ledger_line line = {sealed->text, sealed->len};

    return sealed->text && vel_seals_is(&line, ret_key);
}

/* --- items --- */

static uint64_t hash_of(const char *key)
{
    return vel_seals_hash("key", key);
}

static int compare(const void *a, const void *b)
{
    const struct vel_sealed *x = a, *y = b;

    return (x->hash > y->hash) - (x->hash < y->hash);
}

const struct vel_sealed *vel_seals_item(const struct vel_seals *seals, size_t i)
{
    return vel_vec_at(&seals->items, i);
}

static const struct vel_sealed *find(const struct vel_seals *seals, uint64_t hash)
{
    const struct vel_sealed key = {.hash = hash};
    struct vel_vec sorted = seals->items;
    bool is_there;
    size_t i;

    sorted.n = seals->sorted;
    i = vel_vec_place(&sorted, &key, compare, &is_there);
    if (is_there)
        return vel_seals_item(seals, i);
    for (i = seals->sorted; i < seals->items.n; i++)
        if (vel_seals_item(seals, i)->hash == hash)
            return vel_seals_item(seals, i);
    return NULL;
}

const struct vel_sealed *vel_seals_of_key(const struct vel_seals *seals,
                                          const char *key)
{
    return find(seals, hash_of(key));
}

/* The first of a key counts. Takes the text. */
static int keep(struct vel_seals *seals, struct vel_sealed *sealed, struct vel_err *err)
{
    size_t most = MOST_UNSORTED + seals->sorted / 8;

    if (find(seals, sealed->hash)) {
        free(sealed->text);
        return 0;
    }
    if (!vel_vec_push(&seals->items, sealed)) {
        free(sealed->text);
        return vel_out_of_memory(err, "seals");
    }
    if (seals->items.n - seals->sorted > most) {
        vel_vec_sort(&seals->items, compare);
        seals->sorted = seals->items.n;
    }
    return 0;
}

static void forget(struct vel_seals *seals)
{
    for (size_t i = 0; i < seals->items.n; i++)
        free(((struct vel_sealed *)vel_vec_at(&seals->items, i))->text);
    vel_vec_fini(&seals->items);
    vel_vec_init(&seals->items, sizeof(struct vel_sealed));
    seals->sorted = 0;
}

/* --- to read --- */

int vel_seals_create(struct vel_fs *fs, const char *dir, const char *launch,
                     struct vel_seals **ret, struct vel_err *err)
{
    struct vel_seals *seals = calloc(1, sizeof *seals);
    int rc = seals ? vel_follow_init(&seals->follow, fs, dir, launch, err)
                   : vel_out_of_memory(err, "seals");

    if (rc < 0) {
        free(seals);
        return rc;
    }
    vel_vec_init(&seals->items, sizeof(struct vel_sealed));
    *ret = seals;
    return 0;
}

void vel_seals_destroy(struct vel_seals *seals)
{
    if (!seals)
        return;
    forget(seals);
    vel_follow_fini(&seals->follow);
    free(seals);
}

/* A line of a term (NULL: not known) that was read from `begin` on. Where the term is
 * damaged it may be another's: then only its text is kept. */
static int take_line(struct vel_seals *seals, const struct vel_ledger_text *text,
                     const struct vel_ledger_line *line, uint64_t begin,
                     struct vel_err *err)
{
    const struct vel_buf *bytes =
        text && text->bytes.n == 1 ? vel_vec_at(&text->bytes, 0) : NULL;
    struct vel_sealed sealed = {.len = (uint32_t)line->len};
    struct vel_fact fact;
    int rc = vel_fact_get(line, &fact, err);

    if (rc < 0)
        return rc;
    sealed.hash = hash_of(fact.u.sealed.key);
    sealed.id = fact.u.sealed.id;
    sealed.verdict = (uint32_t)fact.u.sealed.verdict;
    if (bytes)
        sealed.at = begin + (uint64_t)(line->text - bytes->data);
    if (!bytes || seals->keeps_texts) {
        sealed.text = malloc(line->len + 1);
        if (sealed.text)
            memcpy(sealed.text, line->text, line->len);
        else
            rc = vel_out_of_memory(err, "seals");
    }
    vel_fact_fini(&fact);
    return rc == 0 ? keep(seals, &sealed, err) : rc;
}

static int take_good(struct vel_seals *seals, const struct vel_ledger_text *text,
                     const struct vel_ledger_line *line, uint64_t begin,
                     struct vel_err *err)
{
    struct vel_err why = {0};
    int rc = take_line(seals, text, line, begin, &why);

    if (rc == VEL_ECORRUPT) {
        vel_log(VEL_LOG_WARN, "a seal in %s does not count: %s",
                seals->follow.launch_dir, why.text);
        rc = 0;
    } else if (rc < 0) {
        vel_fail(err, (enum vel_status)rc, "%s", why.text);
    }
    return rc;
}

/* What a term leaves out is not wanted any more. */
static int take(void *arg, const struct vel_follow_text *read, struct vel_err *err)
{
    struct vel_seals *seals = arg;
    const struct vel_ledger_text *text = read->text;
    int rc = 0;

    if (read->is_anew)
        forget(seals);
    for (size_t i = 0; rc == 0 && i < text->facts.n; i++) {
        const struct vel_ledger_fact *fact = vel_vec_at(&text->facts, i);
        struct vel_fields fields;

        if (vel_line_is(&fact->line, "sealed", &fields))
            rc = take_good(seals, text, &fact->line, read->from, err);
    }
    return rc;
}

int vel_seals_read(struct vel_seals *seals, struct vel_err *err)
{
    return vel_follow_read(&seals->follow, take, seals, err);
}

int vel_seals_load(struct vel_fs *fs, const char *dir, const char *launch,
                   struct vel_seals **ret, struct vel_err *err)
{
    int rc;

    *ret = NULL;
    rc = vel_seals_create(fs, dir, launch, ret, err);
    if (rc == 0) {
        (*ret)->keeps_texts = true;
        rc = vel_seals_read(*ret, err);
    }
    if (rc < 0) {
        vel_seals_destroy(*ret);
        *ret = NULL;
    }
    return rc;
}

static int take_known(void *arg, const struct vel_ledger_line *line,
                      struct vel_err *err)
{
    return take_good(arg, NULL, line, 0, err);
}

int vel_seals_load_by(struct vel_index *index, const char *launch,
                      struct vel_seals **ret, struct vel_err *err)
{
    struct vel_seals *seals;
    int rc = vel_seals_create(vel_index_fs(index), vel_index_dir(index), launch, &seals,
                              err);

    *ret = NULL;
    if (rc < 0)
        return rc;
    seals->keeps_texts = true;
    rc = vel_index_sealed(index, launch, &seals->size, take_known, seals, err);
    if (rc == 0) {
        rc = vel_seals_read(seals, err);
        seals->size = seals->follow.end;
    }
    if (rc < 0)
        vel_seals_destroy(seals);
    else
        *ret = seals;
    return rc < 0 ? rc : 0;
}

/* --- seals --- */

static int decode_line(const char *text, size_t len, struct vel_seal *ret,
                       struct vel_err *err)
{
    const struct vel_ledger_line line = {text, len};
    struct vel_fact fact;
    int rc = vel_fact_get(&line, &fact, err);

    if (rc < 0)
        return rc;
    rc = vel_seal_decode(fact.u.sealed.seal, strlen(fact.u.sealed.seal), ret, err);
    vel_fact_fini(&fact);
    return rc;
}

static int decode(const struct vel_seals *seals, const struct vel_sealed *sealed,
                  struct vel_seal *ret, struct vel_err *err)
{
    const struct vel_follow *of = &seals->follow;
    const struct vel_ledger_dir dir = {.fs = of->fs, .path = of->launch_dir};
    const struct vel_ledger_spot spot = {
        .name = of->name, .salt = of->salt, .at = sealed->at, .len = sealed->len};
    struct vel_buf text;
    int rc;

    if (sealed->text)
        return decode_line(sealed->text, sealed->len, ret, err);
    vel_buf_init(&text);
    rc = vel_ledger_load_line(&dir, &spot, &text, err);
    if (rc == VEL_ENOENT)
        rc = vel_fail(err, VEL_EBUSY, "the ledger in %s changes", of->launch_dir);
    if (rc == 0)
        rc = decode_line(text.data, text.len, ret, err);
    vel_buf_fini(&text);
    return rc;
}

int vel_seals_at(const struct vel_seals *seals, size_t i, struct vel_seal *ret,
                 struct vel_err *err)
{
    return decode(seals, vel_seals_item(seals, i), ret, err);
}

int vel_seals_find(const struct vel_seals *seals, const char *key, struct vel_seal *ret,
                   struct vel_err *err)
{
    const struct vel_sealed *sealed = vel_seals_of_key(seals, key);

    return sealed ? decode(seals, sealed, ret, err)
                  : vel_fail(err, VEL_ENOENT, "nothing is sealed of this key");
}

int vel_seals_find_id(const struct vel_seals *seals, int64_t id, struct vel_seal *ret,
                      struct vel_err *err)
{
    for (size_t i = 0; i < seals->items.n; i++) {
        const struct vel_sealed *sealed = vel_seals_item(seals, i);

        if (sealed->id == id)
            return decode(seals, sealed, ret, err);
    }
    return vel_fail(err, VEL_ENOENT, "dataset %" PRId64 " is not sealed", id);
}

int vel_seals_of_dataset(struct vel_seals_of *of, int64_t id, struct vel_seal *ret)
{
    char *launch = NULL;
    int rc = vel_id_launch(of->fs, of->dir, id, &launch, NULL, NULL);

    if (rc < 0)
        return rc == VEL_ENOENT ? VEL_ESTATE : rc;
    if (!of->launch || strcmp(of->launch, launch) != 0) {
        vel_seals_of_fini(of);
        rc = vel_seals_create(of->fs, of->dir, launch, &of->seals, NULL);
        if (rc == 0) {
            of->launch = launch;
            launch = NULL;
        }
    }
    free(launch);
    if (rc == 0)
        rc = vel_seals_read(of->seals, NULL);
    return rc == 0 ? vel_seals_find_id(of->seals, id, ret, NULL) : rc;
}

void vel_seals_of_fini(struct vel_seals_of *of)
{
    vel_seals_destroy(of->seals);
    free(of->launch);
    of->seals = NULL;
    of->launch = NULL;
}
