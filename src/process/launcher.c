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

enum { ANCESTORS = 32, STAT_MOST = 4096 };

/* A process as its /proc/PID/stat tells: "PID (NAME) STATE PARENT ... START ...". */
struct process {
    char name[32];
    int64_t parent;
    uint64_t start;
};

static bool read_process(struct vel_fs *fs, int64_t pid, struct process *ret)
{
    char path[64];
    const char *name, *rest = NULL;
    struct vel_buf text;
    bool is_read = false;

    vel_buf_init(&text);
    snprintf(path, sizeof path, "/proc/%" PRId64 "/stat", pid);
    if (vel_fs_read_file(fs, path, STAT_MOST, &text, NULL) == 0) {
        name = strchr(vel_buf_text(&text), '(');
        rest = name ? strrchr(name, ')') : NULL;
    }
    if (rest) {
        snprintf(ret->name, sizeof ret->name, "%.*s", (int)(rest - name - 1), name + 1);
        is_read = sscanf(rest + 1,
                         " %*c %" SCNd64 " %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u "
                         "%*d %*d %*d %*d %*d %*d %" SCNu64,
                         &ret->parent, &ret->start) == 2;
    }
    vel_buf_fini(&text);
    return is_read;
}

void vel_launcher_find(struct vel_fs *fs, const struct vel_launcher *launcher,
                       struct vel_buf *ret)
{
    char boot[VEL_HOST_BOOT];
    struct process process;
    int64_t pid = getppid();

    if (!launcher->is_here || vel_host_boot(fs, boot, NULL) < 0)
        return;
    for (int i = 0; i < ANCESTORS && pid > 1; i++, pid = process.parent) {
        if (!read_process(fs, pid, &process))
            return;
        if (!strstr(process.name, "pmi_proxy"))
            continue;
        vel_buf_printf(ret, "%.*s.%" PRId64 ".%" PRIu64, (int)strcspn(boot, "\n"), boot,
                       pid, process.start);
        return;
    }
}
