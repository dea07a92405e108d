/* SPDX-License-Identifier: BSD-3-Clause */
/* What a dataset costs in messages, on the connections that leaders really have: those
 * of 4, 16 and 64 nodes count what they send and hear, the processes' questions and the
 * meetings of sets included. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "process/attend.h"
#include "tap/files.h"
#include "tap/seslab.h"
#include "tap/sockjob.h"
#include "tap/tap.h"

enum { FEW = 1, MANY = 5, SIZES = 3, NODES_MOST = 64 };

struct launch {
    struct seslab lab;
    int nodes, datasets;
};

/* Messages of all leaders, and of the busiest that is not the chair; a launch's. */
struct bill {
    uint64_t all, most;
};

/* Where the leader of a rank's node says what it has counted. */
static const char *log_of(int rank)
{
    char name[32];

    snprintf(name, sizeof name, "log.%d", rank);
    return tap_path(name);
}

static int member(struct vel_comm *comm, void *arg)
{
    const struct launch *l = arg;
    struct vel_session *s = NULL;
    struct vel_err err = {0};
    int rc;

    if (!freopen(log_of(comm->rank), "w", stderr))
        return 1;
    setvbuf(stderr, NULL, _IONBF, 0);
    rc = seslab_open_with(&l->lab, comm, vel_fs_posix(), vel_attend(), &s, &err);
    for (int i = 1; rc == 0 && i <= l->datasets; i++)
        rc = seslab_checkpoint(&l->lab, s, i, &err);
    if (rc == 0)
        rc = vel_session_wait(s, &err);
    if (rc < 0)
        fprintf(stderr, "# rank %d: %s\n", comm->rank, err.text);
    vel_session_close(s, rc == 0 ? "it is over" : NULL, NULL);
    return rc < 0;
}

/* 0: it does not say. */
static uint64_t count_of(int rank)
{
    char *text = tap_get_file(log_of(rank), NULL);
    const char *words = text ? strstr(text, " messages sent, ") : NULL;
    uint64_t sent = 0, heard = 0;

    while (words && words > text && words[-1] >= '0' && words[-1] <= '9')
        words--;
    if (words && sscanf(words, "%" SCNu64 " messages sent, %" SCNu64 " heard", &sent,
                        &heard) != 2)
        sent = heard = 0;
    free(text);
    return sent + heard;
}

static bool run(int nodes, int datasets, struct bill *ret)
{
    struct launch l = {.nodes = nodes, .datasets = datasets};
    uint64_t first = 0, second = 0;
    char text[16];

    snprintf(text, sizeof text, "%d", nodes);
    seslab_init(&l.lab, 7);
    l.lab.most = 100;
    seslab_set(&l.lab, "MODE", "ASYNC");
    seslab_set(&l.lab, "CNTL_BASE", tap_path("cntl"));
    seslab_set(&l.lab, "VIRTUAL_NODES", text);
    seslab_set(&l.lab, "COPY_TYPE", "XOR");
    seslab_set(&l.lab, "SET_SIZE", "4");
    seslab_set(&l.lab, "FLUSH", "1");
    seslab_set(&l.lab, "LOG_LEVEL", "DEBUG");
    tap_fresh_dir(tap_path("cntl"));
    if (sockjob_run_limit(nodes, "unix", 120000, member, &l) != 0)
        return false;
    *ret = (struct bill){0};
    for (int i = 0; i < nodes; i++) {
        uint64_t n = count_of(i);

        if (n == 0) {
            note("the leader of rank %d of %d does not say what it counted", i, nodes);
            return false;
        }
        ret->all += n;
        second = n > first ? first : n > second ? n : second;
        first = n > first ? n : first;
    }
    ret->most = second;
    return true;
}

int main(void)
{
    static const int sizes[SIZES] = {4, 16, NODES_MOST};
    double each[SIZES] = {0};

    for (int i = 0; i < SIZES; i++) {
        struct bill few, many;

        ok(run(sizes[i], FEW, &few) && run(sizes[i], MANY, &many),
           "leaders of %d nodes count their messages", sizes[i]);
        each[i] = ((double)many.all - (double)few.all) / (MANY - FEW) / sizes[i];
        note("%d nodes: a dataset costs %.1f messages of a node, at most %.1f of one "
             "that is not the chair; a launch with one %.1f",
             sizes[i], each[i], ((double)many.most - (double)few.most) / (MANY - FEW),
             (double)few.all / sizes[i]);
    }
    ok(each[1] <= 1.5 * each[0] && each[2] <= 1.5 * each[0],
       "what a node has to say for a dataset does not grow with their number");
    return done_testing();
}
