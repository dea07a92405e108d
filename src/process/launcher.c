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
    {"PMI_RANK", "PMI_SIZE", NULL}, /* MPICH, Flux, PALS */
    {"FLUX_TASK_RANK", "FLUX_JOB_SIZE", NULL},
    {"PALS_RANKID", "PMI_SIZE", NULL}, /* PALS and ALPS have no count of their own */
    {"ALPS_APP_PE", "PMI_SIZE", NULL},
    {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_STEP_ID"},
};

/* What launchers call their jobs. Flux numbers those of each of its instances: the path
 * of instances is unique where it is there, but outlives the job in what a batch script
 * inherits. */
static const struct {
    const char *rank, *id, *path;
} jobs[] = {
    {"FLUX_TASK_RANK", "FLUX_JOB_ID", "FLUX_JOB_ID_PATH"},
    {"PALS_RANKID", "PALS_APID", "PALS_APID"},
    {"ALPS_APP_PE", "ALPS_APP_ID", "ALPS_APP_ID"},
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

/* The job counts where it says of our rank what we believe: a launcher inside of it, as
 * hydra, leaves its variables as they are. */
static const char *find_job(const char *(*variable)(void *arg, const char *name),
                            void *arg, int64_t rank)
{
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++) {
        const char *id = variable(arg, jobs[i].id);
        const char *path = variable(arg, jobs[i].path);
        int64_t its;

        if (id && *id && number(variable(arg, jobs[i].rank), rank, &its) && its == rank)
            return path && *path ? path : id;
    }
    return NULL;
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
        ret->texts.job = find_job(variable, arg, rank);
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
