/* SPDX-License-Identifier: BSD-3-Clause */
/* redset - a program that keeps its files on storage that may vanish with its node.
 *
 * Every rank walks its own random way. Each run takes ten more steps, writes where it
 * stands to DIR/rank.<rank>/way, and protects that file. When the directory of a rank
 * is gone the next run gets its file back from the others, and goes on as if nothing
 * had happened. It needs veloc_redset.h and MPI, and nothing else:
 *
 *     mpicc redset.c -o redset $(pkg-config --cflags --libs veloc) */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <veloc_redset.h>

enum { STEPS = 10 };

struct walk {
    int rank;
    int step;
    uint64_t at;
    char dir[4096];
};

static void die(const char *what, const char *why)
{
    fprintf(stderr, "redset: %s: %s\n", what, why);
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

static FILE *open_way(const struct walk *walk, const char *mode)
{
    char name[4200];

    snprintf(name, sizeof name, "%s/way", walk->dir);
    FILE *file = fopen(name, mode);
    if (file == NULL)
        die(name, "cannot be opened");
    return file;
}

static void save(const struct walk *walk)
{
    mkdir(walk->dir, 0777); /* it may be there already */
    FILE *file = open_way(walk, "w");

    fprintf(file, "%d %llu\n", walk->step, (unsigned long long)walk->at);
    if (fclose(file) != 0)
        die(walk->dir, "cannot be written");
}

static void load(struct walk *walk)
{
    unsigned long long at;
    FILE *file = open_way(walk, "r");

    if (fscanf(file, "%d %llu", &walk->step, &at) != 2)
        die(walk->dir, "the file has other contents");
    walk->at = at;
    fclose(file);
}

static void go(struct walk *walk)
{
    for (int i = 0; i < STEPS; i++, walk->step++)
        walk->at = walk->at * 6364136223846793005u + 1442695040888963407u;
}

/* What fails in a collective call fails on all ranks: one tells, and all end well. */
static int told(const struct walk *walk, const char *what, VELOC_Redset set)
{
    if (walk->rank == 0)
        fprintf(stderr, "redset: %s: %s\n", what, VELOC_Redset_error(set));
    return 0;
}

/* Back to where the run before this one stood, if there was one. */
static int restart(struct walk *walk, const VELOC_Redset_options *options)
{
    VELOC_Redset set;
    int member, ok = 1;

    switch (VELOC_Redset_recover(MPI_COMM_WORLD, options, &set)) {
    case VELOC_SUCCESS:
        if (VELOC_Redset_place(set, NULL, NULL, &member, NULL) == VELOC_SUCCESS &&
            member == 0) /* one tells for the set */
            fputs(VELOC_Redset_report(set), stdout);
        load(walk);
        break;
    case VELOC_REDSET_NONE:
        walk->at = (uint64_t)walk->rank; /* the first run */
        break;
    default:
        ok = told(walk, "cannot go on", set);
    }
    VELOC_Redset_delete(&set);
    return ok;
}

static int protect(const struct walk *walk, int type,
                   const VELOC_Redset_options *options)
{
    VELOC_Redset set;
    char group[32];
    int ok = 1;

    /* Ranks of one node are lost together: give NULL, and the nodes are the groups.
     * That this example works on a single machine, each rank is a group here. */
    snprintf(group, sizeof group, "rank%d", walk->rank);
    if (VELOC_Redset_create(type, MPI_COMM_WORLD, group, options, &set) !=
        VELOC_SUCCESS)
        ok = told(walk, "cannot form sets", set);
    if (ok && VELOC_Redset_add(set, "way") != VELOC_SUCCESS)
        die("cannot list the file", VELOC_Redset_error(set));
    if (ok && VELOC_Redset_apply(set) != VELOC_SUCCESS)
        ok = told(walk, "cannot protect the files", set);
    VELOC_Redset_delete(&set);
    return ok;
}

/* One number for all ways. */
static void tell(const struct walk *walk)
{
    unsigned long long mine = walk->at, all = 0;

    MPI_Reduce(&mine, &all, 1, MPI_UNSIGNED_LONG_LONG, MPI_BXOR, 0, MPI_COMM_WORLD);
    if (walk->rank == 0)
        printf("step %d, the sum of all ways is %016llx\n", walk->step, all);
}

static int type_of(const char *name)
{
    return strcmp(name, "XOR") == 0       ? VELOC_REDSET_XOR
           : strcmp(name, "RS") == 0      ? VELOC_REDSET_RS
           : strcmp(name, "PARTNER") == 0 ? VELOC_REDSET_PARTNER
                                          : 0;
}

int main(int argc, char **argv)
{
    VELOC_Redset_options options = VELOC_REDSET_OPTIONS;
    struct walk walk = {0};

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &walk.rank);
    int type = argc == 3 ? type_of(argv[1]) : 0;
    if (type == 0) {
        if (walk.rank == 0)
            fprintf(stderr, "usage: redset XOR|RS|PARTNER DIR\n");
        MPI_Finalize();
        return 2;
    }
    snprintf(walk.dir, sizeof walk.dir, "%s/rank.%d", argv[2], walk.rank);
    options.directory = walk.dir;
    options.label = "walk";
    int ok = restart(&walk, &options);
    if (ok) {
        go(&walk);
        save(&walk);
        ok = protect(&walk, type, &options);
    }
    if (ok)
        tell(&walk);
    MPI_Finalize();
    return ok ? 0 : 1;
}
