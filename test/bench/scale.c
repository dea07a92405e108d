/* SPDX-License-Identifier: BSD-3-Clause */
/* What do very many leaders cost? The brain of each, in one process and with virtual
 * time (tap/scalelab.h): a launch begins, a checkpoint is made and published, a node is
 * lost, the chair is lost, the launch ends, the next one begins and looks for its
 * files. A row for each of these, of the median leader, of the one that has most, and
 * of the chair: messages and bytes between leaders, seconds of one core, and bytes of
 * memory at its end. doc/performance.md says what came out.
 * Columns of a row: phase, leaders, ranks of each, what, median, most, chair; of "all"
 * seconds of a core, virtual ones, and messages.
 *
 *   BENCH_LEADERS=n  64; 1000 takes a minute, 10000 some
 *   BENCH_RANKS=n    of each (16)
 *   BENCH_STEPS=n    checkpoints (2) */
#include "config.h"

#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/bench.h"
#include "tap/scalelab.h"

#define SPREAD (1000 * SCALE_MS) /* in which ranks do what they all do */

/* --- memory: whoever allocates in its turn has it --- */

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *old, size_t size);
void __libc_free(void *old);

static void count(void *block, int64_t sign)
{
    if (scale_heap && block)
        *scale_heap += sign * (int64_t)malloc_usable_size(block);
}

void *malloc(size_t size)
{
    void *block = __libc_malloc(size);

    count(block, 1);
    return block;
}

void *calloc(size_t n, size_t size)
{
    void *block = __libc_calloc(n, size);

    count(block, 1);
    return block;
}

void *realloc(void *old, size_t size)
{
    count(old, -1);
    void *block = __libc_realloc(old, size);

    count(block ? block : size > 0 ? old : NULL, 1);
    return block;
}

void free(void *old)
{
    count(old, -1);
    __libc_free(old);
}

/* --- rows --- */

static double core_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

enum { SENT, HEARD, SENT_BYTES, HEARD_BYTES, SECONDS, MEMORY, COLUMNS };

static double value_of(const struct scale_leader *of, int column)
{
    const struct scale_count *count = &of->count;

    switch (column) {
    case SENT:
        return (double)count->sent;
    case HEARD:
        return (double)count->heard;
    case SENT_BYTES:
        return (double)count->sent_bytes;
    case HEARD_BYTES:
        return (double)count->heard_bytes;
    case SECONDS:
        return count->seconds * 1e6;
    default:
        return (double)of->heap;
    }
}

/* Of all but the chair: median and most; and the chair. */
static void row(const struct scale *world, const char *phase, int chair, double seconds,
                uint64_t began)
{
    double *values = calloc((size_t)world->nodes, sizeof *values);

    for (int c = 0; c < COLUMNS; c++) {
        static const char *const names[] = {"sent",        "heard", "sent bytes",
                                            "heard bytes", "us",    "memory"};
        int n = 0;

        for (int i = 0; i < world->nodes; i++)
            if (i != chair)
                values[n++] = value_of(&world->leaders[i], c);
        qsort(values, (size_t)n, sizeof *values, compare);
        printf("%s\t%d\t%d\t%s", phase, world->nodes, world->per_node, names[c]);
        printf("\t%.0f\t%.0f\t%.0f\n", values[n / 2], values[n - 1],
               chair >= 0 ? value_of(&world->leaders[chair], c) : 0);
    }
    printf("%s\t%d\t%d\tall\t%.1f\t%.3f\t%" PRIu64 "\n", phase, world->nodes,
           world->per_node, seconds, (double)(world->now - began) / 1e9,
           world->messages);
    fflush(stdout);
    free(values);
}

static void phase(struct scale *world, const char *name,
                  bool (*is_so)(const struct scale *))
{
    double begun = core_seconds();
    uint64_t began = world->now;
    int chair = scale_chair(world);

    world->messages = 0;
    if (!scale_run(world, is_so, 20 * SCALE_T))
        bench_die("%s: it does not come to its end", name);
    row(world, name, chair >= 0 ? chair : scale_chair(world), core_seconds() - begun,
        began);
    scale_clear(world);
}

static int number(const char *name, int otherwise)
{
    const char *text = getenv(name);

    return text ? (int)strtol(text, NULL, 10) : otherwise;
}

int main(void)
{
    static struct scale world;

    scale_create(&world, number("BENCH_LEADERS", 64), number("BENCH_RANKS", 16), 1);
    scale_launch(&world, SPREAD);
    phase(&world, "begin", scale_is_running);
    for (int i = 0; i < number("BENCH_STEPS", 2); i++) {
        scale_do(&world, SCALE_WRITE, SPREAD);
        phase(&world, i == 0 ? "checkpoint" : "next checkpoint", scale_is_published);
    }
    scale_kill_node(&world, world.nodes / 2 == scale_chair(&world) ? world.nodes / 2 + 1
                                                                   : world.nodes / 2);
    phase(&world, "node lost", scale_is_seen);
    scale_kill_node(&world, scale_chair(&world));
    phase(&world, "chair lost", scale_is_running);
    scale_do(&world, SCALE_LEAVE, SPREAD);
    phase(&world, "end", scale_is_over);
    scale_launch(&world, SPREAD);
    phase(&world, "next begin", scale_is_running);
    scale_do(&world, SCALE_LOOK, SPREAD);
    phase(&world, "look", scale_is_done);
    scale_destroy(&world);
    return 0;
}
