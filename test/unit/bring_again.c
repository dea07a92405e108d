/* SPDX-License-Identifier: BSD-3-Clause */
/* A dataset was being encoded once more in the background when its launch died: some
 * parts have a redundancy file of the next encoding, all have that of the commit. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "meta/cache.h"
#include "red/redfile.h"
#include "red/set.h"
#include "tap/crowd.h"
#include "tap/seslab.h"
#include "tap/tap.h"

enum { RANKS = 8 };

struct launch {
    const struct seslab *lab;
    bool writes;
    int64_t found;
};

static int run_rank(struct vel_comm *comm, void *arg)
{
    struct launch *l = arg;
    struct vel_session *session = NULL;
    struct vel_err err = {0};
    int64_t found = 0;
    int rc = seslab_open(l->lab, comm, vel_fs_posix(), &session, &err);

    if (rc == 0)
        rc = seslab_newest(session, &found, &err);
    if (rc == 0 && comm->size == RANKS && found > 0)
        rc = seslab_restart(l->lab, session, found, &err);
    if (rc == 0 && l->writes)
        rc = seslab_checkpoint(l->lab, session, 1, &err);
    if (rc < 0)
        note("rank %d: %s", comm->rank, err.text);
    if (comm->rank == 0)
        l->found = found;
    vel_session_close(session, NULL, NULL);
    return rc;
}

static int64_t run(const struct seslab *lab, int ranks, bool writes)
{
    struct launch l = {.lab = lab, .writes = writes};

    return crowd_run(ranks, NULL, run_rank, &l, NULL) == 0 ? l.found : -1;
}

struct parts {
    const char *root;
    int n;
};

/* Odd ranks have come to the next encoding. */
static int encode_again(void *arg, enum vel_fs_visit what, const char *below,
                        const struct stat *st, struct vel_err *err)
{
    static const uint8_t id[VEL_ENCODING_ID] = "the next";
    struct parts *parts = arg;
    const char *number = strstr(below, "/rank.");
    struct vel_comm *alone = NULL;

    (void)st;
    if (what != VEL_FS_FILE || !number || !vel_red_is_file_name(below))
        return 0;
    unsigned rank = (unsigned)strtoul(number + 6, NULL, 10);
    if (rank % 2 == 0)
        return 0;
    char *path = vel_path_join(parts->root, below), *dir = vel_path_dir(path);
    int rc = vel_comm_self(&alone, err);
    const struct vel_red_set set = {.comm = alone,
                                    .scheme = VEL_SINGLE,
                                    .set = rank,
                                    .sets = RANKS,
                                    .rank = rank,
                                    .fs = vel_fs_posix(),
                                    .dir = dir,
                                    .label = VEL_CACHE_LABEL,
                                    .id = id};
    bool holds = false;
    if (rc == 0)
        rc = vel_red_holds(&set, &holds, err);
    if (rc == 0 && !holds)
        rc = vel_red_apply_again(&set, 0, NULL, 0, NULL, err);
    parts->n += rc == 0 && !holds;
    vel_comm_destroy(alone);
    free(path);
    free(dir);
    return rc;
}

static void make(struct seslab *lab)
{
    struct parts parts = {.root = lab->cache};
    struct vel_err err = {0};

    seslab_init(lab, 5);
    seslab_set(lab, "FLUSH", "0");
    seslab_set(lab, "SET_SIZE", "4");
    seslab_set(lab, "LOG_LEVEL", "ERROR");
    seslab_set(lab, "COPY_TYPE", "XOR");
    seslab_set(lab, "VIRTUAL_NODES", "4");
    run(lab, RANKS, true);
    parts.root = lab->cache;
    if (vel_fs_walk(vel_fs_posix(), lab->cache, encode_again, &parts, &err) < 0)
        bail_out("%s", err.text);
    is_int(parts.n, RANKS / 2, "half of the parts are at the next encoding");
}

int main(void)
{
    struct seslab lab;

    make(&lab);
    is_int(run(&lab, 4, false), 1, "another number of ranks finds the dataset");
    make(&lab);
    is_int(run(&lab, RANKS, false), 1, "the same ranks restart from it");
    is_int(run(&lab, 4, false), 1, "and then others find it");
    return done_testing();
}
