/* SPDX-License-Identifier: BSD-3-Clause */
/* Which of how many ranks a process is, as its launcher says. */
#include "config.h"

#include <string.h>

#include "process/launcher.h"
#include "tap/tap.h"

/* An environment: NAME, VALUE, ... NULL. */
static const char *variable(void *arg, const char *name)
{
    const char *const *pairs = arg;

    for (; *pairs; pairs += 2)
        if (strcmp(pairs[0], name) == 0)
            return pairs[1];
    return NULL;
}

static struct vel_launcher ask(const char *const *pairs)
{
    struct vel_launcher launcher;

    vel_launcher_ask(variable, (void *)(uintptr_t)pairs, &launcher);
    return launcher;
}

#define ASK(...) ask((const char *const[]){__VA_ARGS__, NULL})

static void is_rank(struct vel_launcher got, int64_t rank, int64_t ranks,
                    const char *what)
{
    ok(got.has_rank && got.rank == rank && got.ranks == ranks, "%s", what);
}

static void has_none(struct vel_launcher got, const char *what)
{
    ok(!got.has_rank && got.rank == 0 && got.ranks == 1, "%s", what);
}

static void names_job(struct vel_launcher got, const char *want, const char *what)
{
    is_str(got.texts.job ? got.texts.job : "none", want, "%s", what);
}

static void has_jobs(void)
{
    struct vel_launcher flux =
        ASK("FLUX_TASK_RANK", "1", "FLUX_JOB_SIZE", "2", "FLUX_JOB_ID", "f3");
    struct vel_launcher alps =
        ASK("ALPS_APP_PE", "2", "PMI_SIZE", "3", "ALPS_APP_ID", "77");

    is_rank(flux, 1, 2, "Flux is known where it offers no PMI");
    names_job(flux, "f3", "and its job names the launch");
    names_job(ASK("FLUX_TASK_RANK", "1", "FLUX_JOB_SIZE", "2", "FLUX_JOB_ID", "f3",
                  "FLUX_JOB_ID_PATH", "/f1/f3"),
              "/f1/f3", "by its path, since each instance counts its own");
    names_job(ASK("PMI_RANK", "0", "PMI_SIZE", "1", "FLUX_JOB_ID_PATH", "/f1"), "none",
              "but a path that a batch script has inherited is no job's");
    names_job(ASK("PMI_RANK", "1", "PMI_SIZE", "2", "FLUX_TASK_RANK", "0",
                  "FLUX_JOB_SIZE", "1", "FLUX_JOB_ID", "f3"),
              "none", "nor does a job name what a launcher inside of it starts");
    names_job(
        ASK("PMI_RANK", "1", "PMI_SIZE", "2", "PALS_RANKID", "1", "PALS_APID", "5a-b"),
        "5a-b", "PALS names its launches");
    is_rank(ASK("PALS_RANKID", "1", "PMI_SIZE", "2"), 1, 2,
            "and says which rank this is, without PMI_RANK, too");
    is_rank(alps, 2, 3, "so does ALPS");
    names_job(alps, "77", "by the number of the application");
    has_none(ASK("ALPS_APP_PE", "2", "ALPS_APP_ID", "77"),
             "where nobody says how many there are a process is alone");
}

int main(void)
{
    struct vel_launcher open_mpi =
        ASK("SLURM_PROCID", "0", "SLURM_STEP_NUM_TASKS", "2", "SLURM_STEP_ID", "1",
            "SLURM_JOB_ID", "77", "OMPI_COMM_WORLD_RANK", "5", "OMPI_COMM_WORLD_SIZE",
            "8", "PMIX_NAMESPACE", "prterun-1");

    has_none(ASK("HOME", "/"), "without a launcher a process is alone");
    is_rank(ASK("PMI_RANK", "3", "PMI_SIZE", "4"), 3, 4, "MPICH's launcher is known");
    is_rank(ASK("SLURM_PROCID", "1", "SLURM_STEP_NUM_TASKS", "2", "SLURM_STEP_ID", "0"),
            1, 2, "so is a step of Slurm");
    has_none(
        ASK("SLURM_PROCID", "0", "SLURM_STEP_NUM_TASKS", "2", "SLURM_JOB_ID", "77"),
        "a batch script is none");
    is_rank(open_mpi, 5, 8, "Open MPI inside of a step is believed before Slurm");
    is_str(open_mpi.texts.pmix, "prterun-1", "and has a name for the launch");
    is_str(open_mpi.texts.slurm_job, "77", "beside that of the job");
    has_jobs();
    has_none(ASK("PMI_RANK", "4", "PMI_SIZE", "4"),
             "no rank is as large as their number");
    has_none(ASK("PMI_RANK", "-1", "PMI_SIZE", "4"), "or below 0");
    has_none(ASK("PMI_RANK", "1x", "PMI_SIZE", "4"), "or no number");
    has_none(ASK("PMI_RANK", "1", "PMI_SIZE", "99999999999999999999"),
             "nor is any number too large to be one");
    has_none(ASK("PMI_RANK", "", "PMI_SIZE", ""), "what is empty is not said");
    has_none(ASK("PMI_RANK", "1"), "nor is half of it");
    return done_testing();
}
