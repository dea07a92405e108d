/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "link/link.h"
#include "process/launcher.h"
#include "sys/host.h"

/* Daemons of Open MPI may be a step of Slurm themselves, and MPICH below either sets
 * its own: the innermost launcher comes first. */
static const struct {
    const char *rank, *ranks, *with; /* `with`: only where this one is there */
} launchers[] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", NULL},
    {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", NULL},
    {"PMI_RANK", "PMI_SIZE", NULL},
    {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_STEP_ID"},
};

static bool number(const char *text, int64_t most, int64_t *ret)
{
    char *end;
    long long value;

    if (!text || *text < '0' || *text > '9')
        return false;
    value = strtoll(text, &end, 10);
    if (*end || value > most)
        return false;
    *ret = value;
    return true;
}

void vel_launcher_ask(const char *(*variable)(void *arg, const char *name), void *arg,
                      struct vel_launcher *ret)
{
    *ret = (struct vel_launcher){.ranks = 1};
    ret->texts.pmix = variable(arg, "PMIX_NAMESPACE");
    ret->texts.slurm_job = variable(arg, "SLURM_JOB_ID");
    ret->texts.slurm_step = variable(arg, "SLURM_STEP_ID");
    ret->texts.slurm_restart = variable(arg, "SLURM_RESTART_COUNT");
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++) {
        int64_t rank, ranks, here;

        if ((launchers[i].with && !variable(arg, launchers[i].with)) ||
            !number(variable(arg, launchers[i].rank), VEL_MSG_NO_RANK - 1, &rank) ||
            !number(variable(arg, launchers[i].ranks), VEL_MSG_NO_RANK, &ranks) ||
            rank >= ranks)
            continue;
        ret->has_rank = true;
        ret->rank = rank;
        ret->ranks = ranks;
        ret->is_here = number(variable(arg, "MPI_LOCALNRANKS"), ranks, &here) &&
                       here == ranks && strcmp(launchers[i].rank, "PMI_RANK") == 0;
        return;
    }
}

/* --- a hydra of this machine --- */

void vel_launcher_find(struct vel_fs *fs, const struct vel_launcher *launcher,
                       struct vel_buf *ret)
{
    char boot[VEL_HOST_BOOT];
    struct vel_process process;
    int64_t pid = getppid();

    if (!launcher->is_here || vel_host_boot(fs, boot, NULL) < 0)
        return;
    for (int i = 0; i < VEL_HOST_ABOVE && pid > 1; i++, pid = process.parent) {
        if (vel_host_process(fs, pid, &process, NULL) < 0)
            return;
        if (!strstr(process.name, "pmi_proxy"))
            continue;
        vel_buf_printf(ret, "%.*s.%" PRId64 ".%" PRIu64, (int)strcspn(boot, "\n"), boot,
                       pid, process.start);
        return;
    }
}
