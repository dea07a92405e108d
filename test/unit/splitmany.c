/* SPDX-License-Identifier: BSD-3-Clause */
/* Many ranks that split themselves: the same as one process, with few messages from
 * each, and an end for all when one fails anywhere. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tap/crowd.h"
#include "tap/seeds.h"
#include "tap/splitlab.h"
#include "tap/tap.h"

static const struct vel_place untouched = {77, 77, 77, 77};

struct job {
    struct splitlab lab;
    struct vel_place *places; /* as one process gives them */
    struct vel_err err;
    int rc;
};

static int same(struct vel_comm *comm, void *arg)
{
    const struct job *job = arg;
    struct vel_place got = untouched;
    struct vel_err err = {0};
    int rc = vel_split(comm, job->lab.groups[comm->rank], &job->lab.rule, &got, &err);
    const struct vel_place *want = rc == 0 ? &job->places[comm->rank] : &untouched;

    return rc != job->rc || strcmp(err.text, job->err.text) != 0 ||
           memcmp(&got, want, sizeof got) != 0;
}

/* Returns how many ranks came to something else. */
static int compare(size_t n, uint64_t seed, unsigned *ret_sent)
{
    struct job job = {.places = calloc(n, sizeof *job.places)};

    splitlab_make(&job.lab, n, seed);
    job.rc = vel_split_all((const char *const *)job.lab.groups, n, &job.lab.rule,
                           job.places, &job.err);
    int bad = crowd_run((int)n, NULL, same, &job, ret_sent);
    if (bad != 0)
        note("%zu ranks, SEEDS=%" PRIu64 ": %d come to something else", n, seed, bad);
    splitlab_free(&job.lab);
    free(job.places);
    return bad;
}

/* A few for each doubling of the ranks. */
static unsigned most_messages(size_t n)
{
    unsigned t = 0;

    while ((size_t)1 << t < n)
        t++;
    return 10 * t;
}

static void sizes(struct tap_seeds seeds)
{
    static const size_t ranks[] = {9, 16, 33, 100, 257, 600};

    for (size_t i = 0; i < sizeof ranks / sizeof ranks[0]; i++) {
        unsigned sent, most = 0;
        int bad = 0;
        for (uint64_t seed = seeds.first; seed <= seeds.last; seed++) {
            bad += compare(ranks[i], seed, &sent);
            most = sent > most ? sent : most;
        }
        is_int(bad, 0,
               "%zu ranks come to what one process would, SEEDS=%" PRIu64 "-%" PRIu64,
               ranks[i], seeds.first, seeds.last);
        ok(most <= most_messages(ranks[i]), "with at most %u messages each, %u allowed",
           most, most_messages(ranks[i]));
    }
}

struct loss {
    struct crowd_fault fault;
    int failed[5];
};

static int split_or_fail(struct vel_comm *comm, void *arg)
{
    struct loss *loss = arg;
    const struct vel_split_rule rule = {2, 1, 1, "NODE"};
    struct vel_place got = untouched;
    struct vel_err err = {0};
    int rc = vel_split(comm, comm->rank % 2 ? "odd" : "even", &rule, &got, &err);

    loss->failed[comm->rank] = rc < 0;
    if (rc == 0)
        return got.sets != 3;
    return rc != VEL_ENOMEM || strstr(err.text, "a letter") == NULL ||
           memcmp(&got, &untouched, sizeof got) != 0;
}

/* Rank 2 of 5 fails at every message in turn. */
static void losses(void)
{
    int bad = 0, fired = 0;

    for (unsigned nth = 1; nth < 1000; nth++) {
        struct loss loss = {.fault = {2, nth}};
        bad += crowd_run(5, &loss.fault, split_or_fail, &loss, NULL);
        if (!loss.failed[2])
            break;
        fired++;
    }
    is_int(bad, 0, "a failure at any message ends the split for all, with its cause");
    ok(fired > 5 && fired < 500, "%d messages were tried", fired);
}

int main(void)
{
    sizes(tap_seeds(8));
    losses();
    return done_testing();
}
