/* SPDX-License-Identifier: BSD-3-Clause */
/* A leader that is neither the chair nor passes on what others say has as much to do
 * for a checkpoint on 512 nodes as on 64, but for the seal, which names all ranks. And
 * whoever becomes the chair looks for no seal before it is needed. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "tap/scalelab.h"
#include "tap/tap.h"

enum { FEW = 64, MANY = 512, RANKS = 4, INNER = 10 /* of 100 leaders, at most */ };

#define SPREAD (1000 * SCALE_MS)

static int compare(const void *a, const void *b)
{
    const struct scale_count *left = a, *right = b;
    uint64_t of_left = left->sent + left->heard, of_right = right->sent + right->heard;

    return (of_left > of_right) - (of_left < of_right);
}

static void checkpoint(struct scale *world)
{
    scale_clear(world);
    scale_do(world, SCALE_WRITE, SPREAD);
    if (!scale_run(world, scale_is_published, 10 * SCALE_T))
        bail_out("a checkpoint of %d nodes is not published", world->nodes);
}

/* Of its second checkpoint: the busiest leader that is no inner one of the tree. */
static struct scale_count measure(int nodes)
{
    struct scale_count *counts = calloc((size_t)nodes, sizeof *counts), leaf;
    struct scale *world = calloc(1, sizeof *world);

    if (!world || !counts)
        bail_out("no memory");
    scale_create(world, nodes, RANKS, 1);
    scale_launch(world, SPREAD);
    if (!scale_run(world, scale_is_running, 10 * SCALE_T))
        bail_out("a launch of %d nodes has no view", nodes);
    checkpoint(world);
    checkpoint(world);
    for (int i = 0; i < nodes; i++)
        counts[i] = world->leaders[i].count;
    qsort(counts, (size_t)nodes, sizeof *counts, compare);
    leaf = counts[nodes - 1 - nodes * INNER / 100];
    note("%d nodes: a leaf sends %llu messages of %llu bytes, and hears %llu of %llu, "
         "the largest of %llu",
         nodes, (unsigned long long)leaf.sent, (unsigned long long)leaf.sent_bytes,
         (unsigned long long)leaf.heard, (unsigned long long)leaf.heard_bytes,
         (unsigned long long)leaf.largest);
    scale_destroy(world);
    free(world);
    free(counts);
    return leaf;
}

/* After so many checkpoints, which are all on the prefix. */
static void take_over(int times)
{
    struct scale *world = calloc(1, sizeof *world);
    int chair;

    if (!world)
        bail_out("no memory");
    scale_create(world, FEW, RANKS, 1);
    scale_launch(world, SPREAD);
    if (!scale_run(world, scale_is_running, 10 * SCALE_T))
        bail_out("a launch has no view");
    for (int i = 0; i < times; i++)
        checkpoint(world);
    chair = scale_chair(world);
    world->seals_read = 0;
    scale_kill_node(world, chair);
    ok(scale_run(world, scale_is_running, 10 * SCALE_T) && scale_chair(world) != chair,
       "there is a new chair when the first one is lost");
    is_int(world->seals_read, 0, "it looks for no seal of what is on the prefix");
    scale_destroy(world);
    free(world);
}

int main(void)
{
    struct scale_count few = measure(FEW), many = measure(MANY);

    ok(few.heard > 0 && many.largest > few.largest, "a seal is told, of all ranks");
    ok(many.sent <= few.sent + 1 && many.heard <= few.heard + 1,
       "a leaf sends and hears as many messages of %d nodes as of %d", MANY, FEW);
    ok(many.sent_bytes <= few.sent_bytes + few.sent_bytes / 10,
       "and sends as many bytes");
    ok(many.heard_bytes - many.largest <= few.heard_bytes - few.largest + 100,
       "it hears as many bytes but for the seal, which it hears once");
    ok(many.largest / MANY <= few.largest / FEW * 2,
       "which grows with the ranks that it names, and no faster");
    take_over(6);
    return done_testing();
}
