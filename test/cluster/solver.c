/* SPDX-License-Identifier: BSD-3-Clause */
/* solver CONF RESULT [-n STEPS] [-k EVERY] [-f DIR] [-m] [-x RANK:STEP]
 *        [-w STEP:FIFO]
 *
 * A program that is killed and launched again: its cells form a ring over all ranks,
 * every step mixes each with its neighbours, and what comes out depends on every bit of
 * every step. A checkpoint every EVERY steps, of memory or with -f of files in DIR; at
 * the end all cells and a checksum of them go to the file RESULT.
 *
 *   -x  RANK kills itself when STEP steps are done; with -m in the middle of the
 *       checkpoint of that step, when its part is written
 *   -w  when STEP steps are done every rank writes "HOST RANK PID" to the FIFO, keeps
 * it open, and goes no further: a reader meets its end when no rank is left
 *
 * Rank 0 prints "begins at STEP".
 */
#include "config.h"

#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <mpi.h>
#include <veloc.h>

struct solver {
    const char *conf, *result;
    int steps, every;
    const char *dir; /* NULL: checkpoints of memory */
    bool dies_midway;
    int victim, victim_step;
    int wait_step;
    const char *fifo;

    int rank, ranks;
    int step;
    int n;          /* cells of this rank: not the same on all, so that files differ */
    uint64_t *cell; /* one more at either end: the neighbours' */
};

static void die(const char *what)
{
    fprintf(stderr, "solver: %s\n", what);
    MPI_Abort(MPI_COMM_WORLD, 2);
    exit(2);
}

/* --- what it computes --- */

static uint64_t mix(uint64_t x)
{
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9u;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static void begin(struct solver *s)
{
    s->n = 20000 + 777 * s->rank;
    s->cell = calloc((size_t)s->n + 2, sizeof *s->cell);
    if (!s->cell)
        die("out of memory");
    for (int i = 1; i <= s->n; i++)
        s->cell[i] = mix(((uint64_t)s->rank << 32) + (uint64_t)i);
}

static void exchange(struct solver *s)
{
    int left = (s->rank + s->ranks - 1) % s->ranks, right = (s->rank + 1) % s->ranks;

    MPI_Sendrecv(&s->cell[1], 1, MPI_UINT64_T, left, 0, &s->cell[s->n + 1], 1,
                 MPI_UINT64_T, right, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(&s->cell[s->n], 1, MPI_UINT64_T, right, 1, &s->cell[0], 1,
                 MPI_UINT64_T, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void advance(struct solver *s)
{
    uint64_t before;

    exchange(s);
    before = s->cell[0];
    for (int i = 1; i <= s->n; i++) {
        uint64_t own = s->cell[i];

        s->cell[i] = mix(own + 3 * before + 5 * s->cell[i + 1] + (uint64_t)s->step);
        before = own;
    }
    s->step++;
}

/* --- its checkpoints --- */

static void file_name(const struct solver *s, char name[VELOC_MAX_NAME])
{
    char original[VELOC_MAX_NAME];

    snprintf(original, sizeof original, "%s/rank%d.bin", s->dir, s->rank);
    if (VELOC_Route_file(original, name) != VELOC_SUCCESS)
        die("a file cannot be routed");
}

static bool write_file(const struct solver *s)
{
    char name[VELOC_MAX_NAME];
    FILE *file;
    bool ok;

    file_name(s, name);
    file = fopen(name, "wb");
    if (!file)
        return false;
    ok = fwrite(&s->step, sizeof s->step, 1, file) == 1 &&
         fwrite(s->cell, sizeof *s->cell, (size_t)s->n + 2, file) == (size_t)s->n + 2;
    return fclose(file) == 0 && ok;
}

static bool read_file(struct solver *s)
{
    char name[VELOC_MAX_NAME];
    FILE *file;
    bool ok;

    file_name(s, name);
    file = fopen(name, "rb");
    if (!file)
        return false;
    ok = fread(&s->step, sizeof s->step, 1, file) == 1 &&
         fread(s->cell, sizeof *s->cell, (size_t)s->n + 2, file) == (size_t)s->n + 2 &&
         getc(file) == EOF;
    fclose(file);
    return ok;
}

static bool is_victim(const struct solver *s)
{
    return s->step == s->victim_step && s->rank == s->victim;
}

static void checkpoint(const struct solver *s)
{
    bool ok;

    if (VELOC_Checkpoint_begin("solver", s->step) != VELOC_SUCCESS)
        die("no checkpoint");
    ok = s->dir ? write_file(s) : VELOC_Checkpoint_mem() == VELOC_SUCCESS;
    if (s->dies_midway && is_victim(s))
        raise(SIGKILL);
    if (VELOC_Checkpoint_end(ok) != VELOC_SUCCESS)
        die("no checkpoint");
}

static void restart(struct solver *s)
{
    int version = VELOC_Restart_test("solver", 0);
    bool ok;

    if (version != VELOC_FAILURE) {
        if (VELOC_Restart_begin("solver", version) != VELOC_SUCCESS)
            die("no restart");
        ok = s->dir ? read_file(s) : VELOC_Recover_mem() == VELOC_SUCCESS;
        if (VELOC_Restart_end(ok) != VELOC_SUCCESS || s->step != version)
            die("no restart: the checkpoint is not what it should be");
    }
    if (s->rank == 0)
        printf("begins at %d\n", s->step);
    fflush(stdout);
}

/* --- what is done to it --- */

static void wait_to_be_killed(const struct solver *s)
{
    char host[256] = "";
    FILE *fifo;

    gethostname(host, sizeof host - 1);
    fifo = fopen(s->fifo, "w");
    if (!fifo)
        die("no FIFO");
    MPI_Barrier(MPI_COMM_WORLD);
    fprintf(fifo, "%s %d %d\n", host, s->rank, (int)getpid());
    fflush(fifo);
    for (;;)
        MPI_Barrier(MPI_COMM_WORLD);
}

static void suffer(const struct solver *s)
{
    if (is_victim(s))
        raise(SIGKILL);
    if (s->fifo && s->step == s->wait_step)
        wait_to_be_killed(s);
}

/* --- its result --- */

static void write_result(const struct solver *s)
{
    uint64_t sum = 0, all;
    char name[VELOC_MAX_NAME];
    FILE *file;

    for (int i = 1; i <= s->n; i++)
        sum += mix(s->cell[i] ^ ((uint64_t)s->rank << 32) ^ (uint64_t)i);
    MPI_Reduce(&sum, &all, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    if (s->rank == 0) {
        file = fopen(s->result, "wb");
        if (!file || fprintf(file, "%d %016" PRIx64 "\n", s->step, all) < 0 ||
            fclose(file) != 0)
            die("no result");
    }
    snprintf(name, sizeof name, "%s.%d", s->result, s->rank);
    file = fopen(name, "wb");
    if (!file ||
        fwrite(&s->cell[1], sizeof *s->cell, (size_t)s->n, file) != (size_t)s->n ||
        fclose(file) != 0)
        die("no result");
}

static void parse(struct solver *s, int argc, char **argv)
{
    char *rest;
    int option;

    while ((option = getopt(argc, argv, "n:k:f:mx:w:")) != -1)
        switch (option) {
        case 'n':
            s->steps = atoi(optarg);
            break;
        case 'k':
            s->every = atoi(optarg);
            break;
        case 'f':
            s->dir = optarg;
            break;
        case 'm':
            s->dies_midway = true;
            break;
        case 'x':
            s->victim = (int)strtol(optarg, &rest, 10);
            s->victim_step = *rest ? atoi(rest + 1) : -1;
            break;
        case 'w':
            s->wait_step = (int)strtol(optarg, &rest, 10);
            s->fifo = *rest ? rest + 1 : "";
            break;
        default:
            die("see solver.c for its arguments");
        }
    if (argc - optind != 2 || s->every <= 0)
        die("see solver.c for its arguments");
    s->conf = argv[optind];
    s->result = argv[optind + 1];
}

int main(int argc, char **argv)
{
    struct solver s = {.steps = 40, .every = 10, .victim_step = -1, .wait_step = -1};

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &s.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &s.ranks);
    parse(&s, argc, argv);
    begin(&s);
    if (VELOC_Init(MPI_COMM_WORLD, s.conf) != VELOC_SUCCESS) {
        /* on all ranks; an abort by one may overtake on its way what another has said
         */
        MPI_Finalize();
        return 2;
    }
    VELOC_Mem_protect(0, &s.step, 1, sizeof s.step);
    VELOC_Mem_protect(1, s.cell, (size_t)s.n + 2, sizeof *s.cell);
    restart(&s);
    while (s.step < s.steps) {
        advance(&s);
        if (s.step % s.every == 0)
            checkpoint(&s);
        suffer(&s);
    }
    VELOC_Finalize(1);
    write_result(&s);
    free(s.cell);
    MPI_Finalize();
    return 0;
}
