/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tap/rng.h"
#include "brain/seal.h"
#include "tap/tap.h"

enum { RANKS = 7, TRIES = 20000 };

static void fill(struct vel_seal *seal)
{
    vel_seal_init(seal);
    seal->id = 12;
    seal->what = VEL_OWED_ENCODE | VEL_OWED_FLUSH;
    seal->template = strdup("out/ck.{n}");
    seal->step = strdup("3");
    seal->generation = 4;
    seal->owner = 2;
    seal->anew = 11;
    seal->attempt = 33;
    seal->is_encoded = true;
    seal->is_plain = true;
    seal->about = (struct vel_dataset){.id = 12,
                                       .name = strdup("ck"),
                                       .version = 3,
                                       .use = VEL_USE_CHECKPOINT,
                                       .ranks = RANKS,
                                       .nodes = 4,
                                       .bytes = 721,
                                       .checkpoint = 7};
    memset(seal->encoding, 0xa5, sizeof seal->encoding);
    for (int rank = RANKS - 1; rank >= 0; rank--) {
        char node[] = "node0";
        node[4] = (char)('0' + rank / 2);
        struct vel_seal_member member = {.rank = rank,
                                         .node = node,
                                         .set = rank / 4,
                                         .place = rank % 4,
                                         .level = 1,
                                         .scheme = VEL_XOR,
                                         .failures = 1,
                                         .bytes = 100 + rank};
        if (vel_seal_add(seal, &member, NULL) < 0)
            bail_out("no memory");
    }
    if (vel_seal_form_again(seal, 1, NULL) < 0)
        bail_out("no memory");
}

static bool is_same(const struct vel_seal *a, const struct vel_seal *b)
{
    bool is = a->id == b->id && a->what == b->what && a->verdict == b->verdict &&
              a->generation == b->generation && a->anew == b->anew &&
              a->owner == b->owner && a->attempt == b->attempt &&
              a->is_encoded == b->is_encoded && strcmp(a->template, b->template) == 0 &&
              strcmp(a->step, b->step) == 0 && a->is_plain == b->is_plain &&
              strcmp(a->about.name, b->about.name) == 0 &&
              a->about.version == b->about.version &&
              a->about.checkpoint == b->about.checkpoint &&
              a->about.bytes == b->about.bytes &&
              memcmp(a->encoding, b->encoding, sizeof a->encoding) == 0 &&
              a->members.n == b->members.n && a->again.n == b->again.n;

    for (size_t i = 0; is && i < a->members.n; i++) {
        const struct vel_seal_member *x = vel_seal_member(a, i),
                                     *y = vel_seal_member(b, i);
        is = x->rank == y->rank && strcmp(x->node, y->node) == 0 && x->set == y->set &&
             x->place == y->place && x->level == y->level && x->scheme == y->scheme &&
             x->failures == y->failures && x->bytes == y->bytes;
    }
    return is && vel_seal_is_again(b, 1) && !vel_seal_is_again(b, 0);
}

/* What is decoded of changed bytes can be encoded again; nothing else comes of it. */
static void damaged(const struct vel_buf *bytes)
{
    char *copy = malloc(bytes->len);
    struct vel_rng rng;
    bool is_well = copy != NULL;

    vel_rng_init(&rng, 5);
    for (int i = 0; is_well && i < TRIES; i++) {
        struct vel_seal seal;
        struct vel_buf again;
        size_t len = bytes->len - (i % 3 == 0 ? vel_rng_below(&rng, bytes->len) : 0);

        memcpy(copy, bytes->data, bytes->len);
        copy[vel_rng_below(&rng, bytes->len)] = (char)vel_rng_next(&rng);
        if (vel_seal_decode(copy, len, &seal, NULL) < 0)
            continue;
        vel_buf_init(&again);
        is_well = vel_seal_encode(&seal, &again, NULL) == 0;
        vel_buf_fini(&again);
        vel_seal_fini(&seal);
    }
    ok(is_well, "damaged bytes are refused, or are a seal like any other");
    free(copy);
}

static bool is_refused(const struct vel_buf *bytes, const char *from, const char *to)
{
    struct vel_seal seal;
    struct vel_buf changed;
    const char *at = strstr(vel_buf_text(bytes), from);

    if (!at)
        return false;
    vel_buf_init(&changed);
    vel_buf_append(&changed, bytes->data, (size_t)(at - bytes->data));
    vel_buf_puts(&changed, to);
    vel_buf_puts(&changed, at + strlen(from));
    int rc = vel_seal_decode(changed.data, changed.len, &seal, NULL);
    vel_buf_fini(&changed);
    if (rc == 0)
        vel_seal_fini(&seal);
    return rc == VEL_ECORRUPT;
}

/* Of so many ranks, sixteen on a node, sets of eight nodes; parts differ, as does the
 * order in which they were closed. */
static void fill_large(struct vel_seal *seal, int ranks)
{
    struct vel_rng rng;

    vel_rng_init(&rng, 3);
    vel_seal_init(seal);
    seal->id = 12;
    seal->template = strdup("out/ck.{step}.{rank}.h5");
    seal->step = strdup("3");
    seal->generation = 1;
    for (int rank = 0; rank < ranks; rank++) {
        char node[32];
        struct vel_seal_member member = {
            .rank = rank,
            .node = node,
            .set = rank / 128 * 16 + rank % 16,
            .place = rank / 16 % 8,
            .level = 2,
            .scheme = VEL_XOR,
            .failures = 1,
            .bytes = 1000000 + (int64_t)vel_rng_below(&rng, 1000),
            .files = 1,
            .upto = (INT64_C(1) << 32) + (int64_t)vel_rng_below(&rng, 16)};

        snprintf(node, sizeof node, "node%05d", rank / 16);
        if (vel_seal_add(seal, &member, NULL) < 0)
            bail_out("no memory");
    }
}

/* It fits its message, be there ten thousand nodes. */
static void large(void)
{
    enum { MANY = 160000 };
    struct vel_seal seal, decoded;
    struct vel_err err = {0};
    struct vel_buf bytes;

    fill_large(&seal, MANY);
    vel_buf_init(&bytes);
    is_int(vel_seal_encode(&seal, &bytes, &err), 0, "a seal of %d ranks has bytes",
           MANY);
    note("%zu bytes, %s", bytes.len, err.text);
    ok(bytes.len < VEL_SEAL_MOST / 2 &&
           vel_seal_decode(bytes.data, bytes.len, &decoded, &err) == 0 &&
           decoded.members.n == MANY &&
           strcmp(vel_seal_member(&decoded, MANY - 1)->node, "node09999") == 0 &&
           vel_seal_member(&decoded, MANY - 1)->bytes ==
               vel_seal_member(&seal, MANY - 1)->bytes,
       "and is the same seal again");
    vel_buf_fini(&bytes);
    vel_seal_fini(&decoded);
    vel_seal_fini(&seal);
}

/* A node keeps what concerns it, and copies of that are as good. */
static void cut(void)
{
    struct vel_seal whole, read, kept;
    struct vel_seal_nodes all, known;
    struct vel_buf bytes;
    bool has_sets = true, has_names;

    fill_large(&whole, 1024);
    vel_buf_init(&bytes);
    if (vel_seal_encode(&whole, &bytes, NULL) < 0)
        bail_out("no memory");
    is_int(vel_seal_decode_for(bytes.data, bytes.len, "node00009", &read, NULL), 0,
           "a seal is read for a node");
    if (vel_seal_copy(&read, &kept, NULL) < 0)
        bail_out("no memory");
    vel_seal_fini(&read);
    for (size_t i = 0; i < kept.members.n; i++) {
        const struct vel_seal_member *member = vel_seal_member(&kept, i);

        has_sets =
            has_sets && member->set >= 16 && member->set < 32 &&
            member->bytes == vel_seal_member(&whole, (size_t)member->rank)->bytes;
    }
    ok(has_sets && kept.members.n == 128, "it has the members of the node's sets");
    is_int(vel_seal_sets(&kept), vel_seal_sets(&whole), "and knows how many there are");
    if (vel_seal_nodes(&whole, &all, NULL) < 0 ||
        vel_seal_nodes(&kept, &known, NULL) < 0)
        bail_out("no memory");
    has_names = all.n == known.n;
    for (size_t i = 0; has_names && i < all.n; i++)
        has_names = strcmp(all.names[i], known.names[i]) == 0;
    ok(has_names, "and all its nodes, in their order");
    vel_seal_nodes_fini(&known);
    vel_seal_nodes_fini(&all);
    vel_seal_fini(&kept);
    is_int(vel_seal_decode_for(bytes.data, bytes.len, "node99999", &read, NULL), 0,
           "and for one that has no part");
    ok(read.members.n == 0 && vel_seal_level(&read) == 2,
       "that has no member, and knows the level");
    vel_seal_fini(&read);
    vel_seal_fini(&whole);
    vel_buf_fini(&bytes);
}

/* --- what a session settles --- */

static int settled(const struct vel_seal *seal, int64_t id, struct vel_err *err)
{
    struct vel_seal got;
    struct vel_buf bytes;
    int rc;

    vel_buf_init(&bytes);
    if (vel_seal_encode(seal, &bytes, NULL) < 0)
        bail_out("no memory");
    rc = vel_seal_decode_settled(id, bytes.data, bytes.len, &got, err);
    vel_buf_fini(&bytes);
    if (rc == 0)
        vel_seal_fini(&got);
    return rc;
}

/* With one rank in that seat. */
static void refused(int64_t rank, int64_t set, int64_t place, const char *words,
                    const char *what)
{
    struct vel_seal_member *member;
    struct vel_seal seal;
    struct vel_err err = {0};

    fill(&seal);
    member = vel_vec_at(&seal.members, (size_t)rank);
    member->set = set;
    member->place = place;
    ok(settled(&seal, 12, &err) == VEL_ECORRUPT && strstr(err.text, words),
       "%s is refused: %s", what, err.text);
    vel_seal_fini(&seal);
}

static void settles(void)
{
    struct vel_seal seal;
    struct vel_err err = {0};

    fill(&seal);
    is_int(settled(&seal, 12, &err), 0, "what a session settles is read");
    is_int(settled(&seal, 13, &err), VEL_ECORRUPT, "not that of another dataset");
    seal.about.ranks = VEL_RANKS_MAX;
    ok(settled(&seal, 12, &err) == VEL_ECORRUPT &&
           strstr(err.text, "7 of 1073741824 ranks"),
       "nor more ranks than seats: %s", err.text);
    vel_seal_fini(&seal);
    refused(6, 1, 0, "there twice", "a place that two have");
    refused(6, 1, 3, "place 2 is missing", "a place of nobody");
    refused(6, 3, 0, "set 2 is missing", "a set of nobody");
}

int main(void)
{
    struct vel_seal seal, copy, decoded;
    struct vel_err err = {0};
    struct vel_buf bytes;

    fill(&seal);
    vel_buf_init(&bytes);
    ok(vel_seal_member(&seal, 0)->rank == 0, "members are kept by rank");
    ok(vel_seal_has_node(&seal, "node3") && !vel_seal_has_node(&seal, "node4"),
       "it knows its nodes");
    is_int(vel_seal_add(&seal, vel_seal_member(&seal, 2), &err), VEL_EINVAL,
           "a rank has one part");
    is_int(vel_seal_encode(&seal, &bytes, &err), 0, "a seal has bytes");
    ok(vel_seal_decode(bytes.data, bytes.len, &decoded, &err) == 0 &&
           is_same(&seal, &decoded),
       "which are the same seal again");
    ok(vel_seal_copy(&seal, &copy, &err) == 0 && is_same(&seal, &copy), "so is a copy");
    ok(is_refused(&bytes, "node0", "node 0") && is_refused(&bytes, "node0", ""),
       "a name that cannot stand in a list is no node");
    ok(is_refused(&bytes, "\"dataset\":12", "\"dataset\":0") &&
           is_refused(&bytes, "a5a5", "a5g5") &&
           is_refused(&bytes, "\"rank\":\"0..6", "\"rank\":\"0..5 5") &&
           is_refused(&bytes, "\"rank\":\"0..6", "\"rank\":\"0..5") &&
           is_refused(&bytes, "\"rank\":\"0..6", "\"rank\":\"0 2 1 3..6"),
       "nor are other values taken that make no sense");
    damaged(&bytes);
    large();
    cut();
    settles();
    vel_buf_fini(&bytes);
    vel_seal_fini(&decoded);
    vel_seal_fini(&copy);
    vel_seal_fini(&seal);
    return done_testing();
}
