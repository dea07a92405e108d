/* SPDX-License-Identifier: BSD-3-Clause */
/* What is large: files of more than 4 GiB, and ten thousand of them. Takes its time:
 * make check-slow. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "red/set.h"
#include "tap/redlab.h"
#include "tap/sockjob.h"
#include "tap/sparse.h"
#include "tap/tap.h"

enum { MEMBERS = 3, LIMIT_MS = 300000, MANY = 10000 };
#define LARGE (((uint64_t)4 << 30) + 13)
#define ROOM ((uint64_t)64 << 20)

struct large {
    enum vel_scheme scheme;
    size_t m;
    int lost;
};

static struct vel_red_set set_of(const struct large *l, struct vel_comm *comm)
{
    return (struct vel_red_set){.comm = comm,
                                .scheme = l->scheme,
                                .m = l->m,
                                .sets = 1,
                                .rank = (uint32_t)comm->rank,
                                .fs = sparse_fs(),
                                .dir = redlab_dir(tap_dir(), (size_t)comm->rank),
                                .label = "large"};
}

/* Protect, lose, recover; what was lost stays aside to be compared. */
static int lose_and_recover(const struct large *l, struct vel_comm *comm,
                            char *const *names, size_t n)
{
    struct vel_red_set set = set_of(l, comm);
    struct vel_err err = {0};
    int rc = vel_red_apply(&set, names, n, NULL, 0, NULL, &err);

    if (rc == 0 && l->lost == comm->rank)
        redlab_put_aside(tap_dir(), set.rank);
    if (rc == 0)
        rc = vel_red_recover(&set, NULL, &err);
    if (rc < 0)
        note("rank %d: %s", comm->rank, err.text);
    return rc;
}

static bool same_as_aside(const char *dir, char *const *names, size_t n)
{
    bool is_same = true;
    char now[1300], then[1300];

    for (size_t i = 0; i < n; i++) {
        snprintf(now, sizeof now, "%s/%s", dir, names[i]);
        snprintf(then, sizeof then, "%s.aside/%s", dir, names[i]);
        is_same = is_same && sparse_same(now, then);
    }
    return is_same;
}

/* Members of very different sizes: a large one, a small one, one with nothing else
 * than an empty file. */
static int large_files(struct vel_comm *comm, void *arg)
{
    static const uint64_t sizes[MEMBERS] = {LARGE, 1000, 0};
    const struct large *l = arg;
    char small[] = "small", large[] = "large", *names[] = {small, large};
    const char *dir = redlab_dir(tap_dir(), (size_t)comm->rank);
    char path[1200];
    bool is_made = vel_fs_make_dirs(sparse_fs(), dir, 0700, NULL) == 0;

    for (uint64_t i = 0; is_made && i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", dir, names[i]);
        is_made = sparse_make(path, i ? sizes[comm->rank] : 0, 3);
    }
    int rc = vel_comm_agree(comm, is_made ? 0 : VEL_EIO, NULL);
    if (rc == 0)
        rc = lose_and_recover(l, comm, names, 2);
    if (rc == 0 && l->lost == comm->rank)
        rc = same_as_aside(dir, names, 2) ? 0 : VEL_ECORRUPT;
    return rc;
}

static int many_files(struct vel_comm *comm, void *arg)
{
    const struct large *l = arg;
    const char *dir = redlab_dir(tap_dir(), (size_t)comm->rank);
    char **names = calloc(MANY, sizeof *names), path[1200];
    bool is_made = names && vel_fs_make_dirs(sparse_fs(), dir, 0700, NULL) == 0;

    for (uint64_t i = 0; is_made && i < MANY; i++) {
        names[i] = malloc(32);
        snprintf(names[i], 32, "file-%05" PRIu64 ".h5", i);
        snprintf(path, sizeof path, "%s/%s", dir, names[i]);
        is_made = sparse_make(path, i % 7 * 100, i); /* each seventh is empty */
    }
    int rc = vel_comm_agree(comm, is_made ? 0 : VEL_EIO, NULL);
    if (rc == 0)
        rc = lose_and_recover(l, comm, names, MANY);
    if (rc == 0 && l->lost == comm->rank)
        rc = same_as_aside(dir, names, MANY) ? 0 : VEL_ECORRUPT;
    for (size_t i = 0; names && i < MANY; i++)
        free(names[i]);
    free(names);
    return rc;
}

static void clean(void)
{
    for (size_t i = 0; i < MEMBERS; i++) {
        char aside[1200];

        redlab_lose(tap_dir(), i);
        snprintf(aside, sizeof aside, "%s.aside", redlab_dir(tap_dir(), i));
        vel_fs_remove_tree(sparse_fs(), aside, NULL);
    }
}

int main(void)
{
    static const struct {
        const char *what;
        struct large large;
    } cases[] = {
        {"XOR: the large one is lost", {VEL_XOR, 1, 0}},
        {"PARTNER: who keeps its copy is lost", {VEL_PARTNER, 1, 1}},
    };
    struct large many = {VEL_XOR, 1, 1};
    uint64_t room = 0;

    vel_fs_space(sparse_fs(), tap_dir(), &room, NULL);
    if (room < ROOM || !sparse_make(tap_path("probe"), LARGE, 1))
        skip(2, "%s has no room for sparse files of 4 GiB", tap_dir());
    else
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
            struct large large = cases[i].large;

            is_int(sockjob_run_limit(MEMBERS, "unix", LIMIT_MS, large_files, &large), 0,
                   "files over 4 GiB come back byte for byte, %s", cases[i].what);
            clean();
        }
    is_int(sockjob_run_limit(MEMBERS, "unix", LIMIT_MS, many_files, &many), 0,
           "so do %d files of a member", MANY);
    return done_testing();
}
