/* SPDX-License-Identifier: BSD-3-Clause */
/* redset protect|recover ROOT SCHEME M - ranks as the members of a redundancy set whose
 * directories ROOT/m<rank> are seen by their own node only. `recover` prints how many
 * members were rebuilt, and why each of them was. */
#include "config.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm/mpi.h"
#include "red/set.h"
#include "tap/redlab.h"

static int protect(const struct vel_red_set *set, const char *root, struct vel_err *err)
{
    struct vel_vec names;

    redlab_make(root, set->rank, 9, 100000, &names);
    int rc = vel_red_apply(set, names.items, names.n, NULL, 0, NULL, err);
    vel_fs_names_fini(&names);
    return rc;
}

static int recover(const struct vel_red_set *set, struct vel_err *err)
{
    struct vel_red_report report;
    int rc = vel_red_recover(set, &report, err);

    if (rc < 0)
        return rc;
    if (set->rank == 0)
        printf("%zu rebuilt\n%s", report.lost, vel_buf_text(&report.sentences));
    vel_red_report_fini(&report);
    return 0;
}

static int run(char **argv, struct vel_err *err)
{
    struct vel_red_set set = {.m = strtoul(argv[4], NULL, 10),
                              .sets = 1,
                              .fs = vel_fs_posix(),
                              .label = "ckpt"};
    int rc = vel_scheme_parse(argv[3], &set.scheme, err);

    if (rc == 0)
        rc = vel_comm_mpi(MPI_COMM_WORLD, &set.comm, err);
    if (rc < 0)
        return rc;
    set.rank = (uint32_t)set.comm->rank;
    set.dir = redlab_dir(argv[2], set.rank);
    if (strcmp(argv[1], "protect") == 0)
        rc = protect(&set, argv[2], err);
    else
        rc = recover(&set, err);
    vel_comm_destroy(set.comm);
    return rc;
}

int main(int argc, char **argv)
{
    struct vel_err err = {0};
    int rank;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int rc = argc == 5 ? run(argv, &err) : vel_fail(&err, VEL_EINVAL, "wrong usage");
    if (rc < 0 && rank == 0)
        fprintf(stderr, "redset: %s\n", err.text);
    MPI_Finalize();
    return rc < 0;
}
