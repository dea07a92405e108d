/* SPDX-License-Identifier: BSD-3-Clause */
/* A session ends while the files of a checkpoint get their names on the prefix: some
 * have theirs, one cannot have it yet. Then a node is lost, and the next launch has to
 * finish that, not begin anew. Four ranks on nodes of their own. */
#include "config.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "comm/mpi.h"
#include "engine/session.h"
#include "process/attend.h"
#include "sys/clock.h"
#include "tap/apilab.h"
#include "tap/files.h"
#include "tap/mtap.h"

enum { STUCK = 1, LIMIT = 60 };

static atomic_bool is_stuck; /* a name of that rank: */
static char stuck[1200];

static int rename_or_fail(struct vel_fs *fs, const char *from, const char *to)
{
    if (is_stuck && strcmp(to, stuck) == 0)
        return -EIO;
    return vel_fs_posix()->ops->rename(fs, from, to);
}

static struct vel_fs *stuck_fs(void)
{
    static struct vel_fs_ops ops;
    static struct vel_fs fs;

    fs = *vel_fs_posix();
    ops = *fs.ops;
    ops.rename = rename_or_fail;
    fs.ops = &ops;
    return &fs;
}

static struct vel_session *begin(void)
{
    struct vel_session_setup setup = {.fs = stuck_fs(), .clock = vel_clock_system()};
    struct vel_session *s = NULL;
    struct vel_err err = {0};

    if (vel_comm_mpi(MPI_COMM_WORLD, &setup.world, &err) < 0 ||
        vel_conf_create(&setup.conf, &err) < 0)
        return NULL;
    setup.user_file = apilab_at("veloc.conf");
    setup.background = vel_attend();
    if (vel_session_open(&setup, &s, &err) < 0)
        mtap_note("%s", err.text);
    return s;
}

static bool save(struct vel_session *s)
{
    const char *name = apilab_at("prefix/s.1.%d", mtap_rank());
    struct vel_err err = {0};
    char *path = NULL;
    int rc = vel_session_start(s, "s", 1, VEL_USE_CHECKPOINT, &err);

    if (rc == 0)
        rc = vel_session_route(s, name, &path, &err);
    if (rc == 0)
        tap_put_file(path, apilab_text("s", 1, mtap_rank()));
    free(path);
    return vel_session_complete(s, rc == 0, &err) == 0;
}

static bool come(int files)
{
    const time_t end = time(NULL) + LIMIT;
    int n = 0;
    bool is_over = false;

    while (n < files && !is_over) {
        n = apilab_files("prefix", "s.1.?");
        is_over = time(NULL) > end;
        MPI_Bcast(&is_over, 1, MPI_C_BOOL, 0, MPI_COMM_WORLD);
        MPI_Bcast(&n, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    return n == files;
}

int main(int argc, char **argv)
{
    struct vel_session *s;
    struct vel_err err = {0};

    mtap_init(&argc, &argv);
    apilab_case("staged", 4, "MODE=ASYNC\nFLUSH=1\nPEER_TIMEOUT=10\nLOG_FILE=$/log\n");
    snprintf(stuck, sizeof stuck, "%s", apilab_at("prefix/s.1.%d", STUCK));
    is_stuck = true;
    s = begin();
    mok(s && save(s) && come(3),
        "of a checkpoint that is flushed one file has no name yet");
    vel_session_close(s, NULL, &err);
    apilab_lose(0);
    is_stuck = false;
    s = begin();
    mok(s && vel_session_wait(s, &err) == 0 && come(4),
        "the next launch gives it that, though a node was lost");
    mis_int(apilab_files("prefix", "*h5veloc-*"), 0,
            "and takes what had its name for no one else's");
    vel_session_close(s, NULL, &err);
    return mtap_done();
}
