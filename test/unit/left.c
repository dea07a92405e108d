/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that were left by a launch that is over: which of them are a whole dataset. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "tap/tap.h"
#include "view/inventory.h"

enum { NODES = 2, SEALS = 4 };

/* What is known: filled by each case. */
static struct scene {
    struct vel_inventory nodes[NODES];
    struct vel_view_seal seals[SEALS];

    size_t n_seals;
} scene;

static void begin(void)
{
    static const char *const names[NODES] = {"n0", "n1"};

    memset(&scene, 0, sizeof scene);
    for (size_t i = 0; i < NODES; i++)
        if (vel_inventory_init(&scene.nodes[i], names[i], NULL) < 0)
            bail_out("no memory");
}

/* A rank's files, all of launch M with `ranks` ranks. */
static struct vel_left *leave(size_t node, int64_t rank, int64_t closed, int64_t open)
{
    struct vel_left *left = vel_vec_push(&scene.nodes[node].left, NULL);

    vel_left_init(left);
    left->key = (struct vel_batch_key){.launch = strdup("M"),
                                       .template = strdup("t"),
                                       .step = strdup("7"),
                                       .generation = 1,
                                       .ranks = 2,
                                       .above = 10};
    left->rank = rank;
    left->closed = closed;
    left->open = open;
    left->bytes = 100;
    left->order = 5 + rank;
    return left;
}

static void add_point(struct vel_left *left, int64_t number)
{
    vel_vec_push(&left->points, &number);
}

static struct vel_seal *sealed(const char *launch, int64_t id, const char *step,
                               int64_t ranks, int64_t files)
{
    struct vel_seal *seal = &scene.seals[scene.n_seals].seal;

    scene.seals[scene.n_seals++].launch = launch;
    vel_seal_init(seal);
    seal->id = id;
    seal->generation = 1;
    seal->template = strdup("t");
    seal->step = strdup(step);
    for (int64_t rank = 0; rank < ranks; rank++) {
        const struct vel_seal_member member = {
            .rank = rank, .node = (char *)(uintptr_t) "n0", .files = files};

        vel_seal_add(seal, &member, NULL);
    }
    return seal;
}

/* As the chair hears of it; the first key's sentence, or "whole", "nothing". */
static const char *weigh(struct vel_seal *ret)
{
    struct vel_inventory heard[NODES];
    struct vel_left_of of = {.node = "n0"};
    static char said[sizeof((struct vel_left_key){0}.why)];
    struct vel_vec keys;
    struct vel_err err = {0};

    of.nodes = calloc(NODES, sizeof *of.nodes);
    of.seals = scene.seals;
    of.n_seals = scene.n_seals;
    for (size_t i = 0; i < NODES; i++) {
        struct vel_buf bytes;

        vel_buf_init(&bytes);
        if (vel_inventory_encode(&scene.nodes[i], &bytes, &err) < 0 ||
            vel_inventory_decode(bytes.data, bytes.len, &heard[i], &err) < 0)
            bail_out("%s", err.text);
        vel_buf_fini(&bytes);
        of.nodes[i].node = heard[i].node;
        of.nodes[i].left = &heard[i].left;
        of.n_nodes++;
    }
    vel_vec_init(&keys, sizeof(struct vel_left_key));
    if (vel_left_weigh(&of, &keys, &err) < 0)
        bail_out("%s", err.text);
    const struct vel_left_key *key = keys.n > 0 ? keys.items : NULL;
    strcpy(said, !key ? "nothing" : *key->why ? key->why : "whole");
    if (key && ret)
        vel_seal_copy(&key->seal, ret, NULL);
    vel_left_keys_fini(&keys);
    free(of.nodes);
    for (size_t i = 0; i < NODES; i++) {
        vel_inventory_fini(&heard[i]);
        vel_inventory_fini(&scene.nodes[i]);
    }
    for (size_t i = 0; i < scene.n_seals; i++)
        vel_seal_fini(&scene.seals[i].seal);
    return said;
}

static void closed(void)
{
    struct vel_seal seal;

    begin();
    leave(0, 0, 1, 0);
    leave(1, 1, 2, 0);
    is_str(weigh(&seal), "whole", "all ranks have closed their files");
    ok(seal.members.n == 2 && strcmp(vel_seal_member(&seal, 1)->node, "n1") == 0 &&
           vel_seal_member(&seal, 1)->files == 2 && seal.point == 0,
       "each is where its node says");
    vel_seal_fini(&seal);
    begin();
    leave(0, 0, 1, 0);
    is_str(weigh(NULL), "there is no file of rank 1", "a rank that is missing");
    begin();
    leave(0, 0, 1, 0);
    leave(1, 1, 1, 1);
    is_str(weigh(NULL), "rank 1 has not closed its file, nor flushed it",
           "one that was killed");
    begin();
    leave(0, 0, 1, 0);
    leave(0, 1, 1, 0);
    leave(1, 1, 1, 0);
    is_str(weigh(NULL), "rank 1 has files of it on two nodes", "one in two places");
    begin();
    leave(0, 0, 1, 0)->key.ranks = 0;
    is_str(weigh(NULL), "nobody knows how many ranks there were", "nobody knows");
    begin();
    leave(0, 0, 1, 0)->key.is_alone = true;
    is_str(weigh(NULL), "whole", "a file that is a dataset by itself");
}

static void expected(void)
{
    struct vel_seal_member *none;

    begin();
    leave(0, 0, 1, 0);
    sealed("M", 11, "6", 2, 1);
    is_str(weigh(NULL), "there is no file of rank 1", "as in the step before");
    begin();
    leave(0, 0, 1, 0);
    leave(0, 1, 1, 0);
    sealed("M", 11, "6", 2, 2);
    is_str(weigh(NULL), "rank 0 has only 1 of 2 files", "which had more");
    begin();
    leave(0, 1, 1, 0);
    none = vel_vec_at(&sealed("K", 9, "6", 2, 1)->members, 0);
    none->files = 0;
    is_str(weigh(NULL), "whole",
           "who wrote nothing in the launch before is not missed");
    begin();
    leave(0, 0, 1, 0);
    leave(0, 1, 1, 0);
    sealed("N", 11, "6", 2, 1);
    is_str(weigh(NULL), "a newer one was made by a launch after it", "what came later");
    begin();
    leave(0, 0, 1, 0);
    leave(0, 1, 1, 0);
    sealed("M", 11, "7", 2, 1);
    is_str(weigh(NULL), "nothing", "what was sealed is not sealed again");
}

/* The ids of datasets are claimed when they are sealed: what M seals for an older
 * launch may have a higher one than M knew when it began its own files. */
static void sealed_by(void)
{
    begin();
    leave(0, 0, 1, 0);
    leave(1, 1, 1, 0);
    strcpy(sealed("A", 12, "6", 2, 1)->by, "M");
    is_str(weigh(NULL), "whole",
           "what its own launch has sealed for one before it is older");
    begin();
    leave(0, 0, 1, 0);
    leave(1, 1, 1, 0);
    strcpy(sealed("A", 12, "6", 2, 1)->by, "N");
    is_str(weigh(NULL), "a newer one was made by a launch after it",
           "of what others have sealed that is not known");
}

static void points(void)
{
    struct vel_seal seal;
    struct vel_left *left;

    begin();
    left = leave(0, 0, 0, 1);
    add_point(left, 6);
    add_point(left, 5);
    add_point(leave(1, 1, 0, 1), 5);
    is_str(weigh(&seal), "whole", "all were killed after the same H5Fflush");
    is_int(seal.point, 5, "which counts");
    vel_seal_fini(&seal);
    begin();
    add_point(leave(0, 0, 0, 1), 6);
    add_point(leave(1, 1, 0, 1), 5);
    is_str(weigh(NULL),
           "its ranks ended at different H5Fflush, or not all had closed their files",
           "after different ones");
    begin();
    add_point(leave(0, 0, 0, 1), 6);
    leave(1, 1, 1, 0);
    ok(strstr(weigh(NULL), "not all had closed their files"),
       "what one has closed may be younger than what another has flushed");
    begin();
    left = leave(0, 0, 1, 1);
    add_point(left, 6);
    left->key.is_alone = true;
    is_str(weigh(&seal), "whole", "a file by itself is as its last H5Fflush left it");
    is_int(seal.point, 6, "that one");
    vel_seal_fini(&seal);
}

int main(void)
{
    closed();
    expected();
    points();
    sealed_by();
    return done_testing();
}
