/* SPDX-License-Identifier: BSD-3-Clause */
/* filer [OPTIONS] DIR, filer -v [OPTIONS] DIR
 *
 * An MPI program whose ranks keep their state in HDF5 files of their own, and that
 * knows nothing of h5veloc but with -w. Each rank looks which steps it can read, every
 * byte of them, they go on from the newest that all can read, and write those that are
 * left.
 *
 *   -n STEPS    of them (6)
 *   -s SHAPE    each: one file of each rank and step, DIR/ck.STEP/part-RANK.h5
 *               same: the same names in all steps, DIR/state.RANK.h5
 *               odd: as each, but rank 3 has none and rank 0 has two
 *               zero: rank 0 alone has files, others do not know HDF5
 *   -b          ranks wait for each other after each step
 *   -w LEVEL:MASK  after step s of bit s-1 wait until its file is as safe as that level
 *               of H5VLveloc.h
 *   -r DIR      rank R appends to DIR/R: "found STEPS...", "safe STEP", "end"
 *   -f FIFO     all ranks keep it open and write a byte to it at each turn
 *
 * -v is no MPI program: it prints "STEP RANK STATE" for each file that there could be,
 * of -R RANKS (8), read by HDF5 alone. STATE is right, wrong, stub, empty or absent;
 * with the same names STEP is what the file has, 0 unless it is right.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <mpi.h>

#include "H5VLveloc.h"

enum { LEAST = 500, MOST = 7000, WAIT_SECONDS = 30 };

enum shape { EACH, SAME, ODD, ZERO };

static const char *const shapes[] = {"each", "same", "odd", "zero"};

struct filer {
    const char *dir, *results;
    int steps, rank, ranks;
    enum shape shape;
    bool has_barrier;
    int level; /* 0: waits for nothing */
    unsigned long waits;
    int events, did; /* descriptors; -1: none */
};

static void die(const struct filer *f, const char *what)
{
    fprintf(stderr, "filer: rank %d: %s\n", f->rank, what);
    MPI_Abort(MPI_COMM_WORLD, 2);
    exit(2);
}

/* --- what it tells ------------------------------------------------------------------
 */

/* One write(2): a kill comes before or after it. */
__attribute__((format(printf, 2, 3))) static void did(const struct filer *f,
                                                      const char *fmt, ...)
{
    char line[500];
    va_list args;
    int len;

    va_start(args, fmt);
    len = vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    if (f->did >= 0 && write(f->did, line, (size_t)len) != len)
        die(f, "cannot tell what it did");
}

static void turn(const struct filer *f)
{
    if (f->events >= 0 && write(f->events, ".", 1) != 1 && errno != EAGAIN)
        die(f, "nobody hears its events");
}

/* --- its files -----------------------------------------------------------------------
 */

static int files_of(const struct filer *f, int rank)
{
    switch (f->shape) {
    case ODD:
        return rank == 0 ? 2 : rank != 3;
    case ZERO:
        return rank == 0;
    default:
        return 1;
    }
}

static void name_file(const struct filer *f, int step, int rank, int i, char name[300])
{
    if (f->shape == SAME)
        snprintf(name, 300, "%s/state.%d.h5", f->dir, rank);
    else if (i > 0)
        snprintf(name, 300, "%s/ck.%d/more-%d.h5", f->dir, step, rank);
    else
        snprintf(name, 300, "%s/ck.%d/part-%d.h5", f->dir, step, rank);
}

static uint32_t mix(uint32_t x)
{
    x = (x ^ x >> 16) * 0x7feb352du;
    x = (x ^ x >> 15) * 0x846ca68bu;
    return x ^ x >> 16;
}

/* How many cells the file has, and what is in them. */
static hsize_t fill(int step, int rank, int i, int cells[MOST])
{
    uint32_t x = mix((uint32_t)(step * 1000 + rank * 2 + i + 1));
    int n = LEAST + (int)(x % (MOST - LEAST));

    for (int k = 0; k < n; k++)
        cells[k] = (int)(mix(x + (uint32_t)k) >> 1);
    return (hsize_t)n;
}

static void write_file(const struct filer *f, int step, int i)
{
    static int cells[MOST];
    hsize_t n = fill(step, f->rank, i, cells);
    char name[300];
    hid_t file, line, scalar, data, attr;

    name_file(f, step, f->rank, i, name);
    file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    if (file < 0)
        die(f, "cannot create a file");
    turn(f);
    line = H5Screate_simple(1, &n, NULL);
    scalar = H5Screate(H5S_SCALAR);
    data = H5Dcreate2(file, "cells", H5T_STD_I32LE, line, H5P_DEFAULT, H5P_DEFAULT,
                      H5P_DEFAULT);
    attr = H5Acreate2(data, "step", H5T_STD_I32LE, scalar, H5P_DEFAULT, H5P_DEFAULT);
    if (H5Awrite(attr, H5T_NATIVE_INT, &step) < 0 ||
        H5Dwrite(data, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, cells) < 0)
        die(f, "cannot write a file");
    turn(f);
    H5Aclose(attr);
    H5Dclose(data);
    H5Sclose(scalar);
    H5Sclose(line);
    if (H5Fclose(file) < 0)
        die(f, "cannot close a file");
}

/* The step that the file has: that one, with the same names any; 0: it is not right. */
static int read_cells(hid_t file, int rank, int i)
{
    static int want[MOST], got[MOST];
    hid_t data = H5Dopen2(file, "cells", H5P_DEFAULT);
    hid_t attr = H5Aopen(data, "step", H5P_DEFAULT);
    hid_t line = H5Dget_space(data);
    int step = 0;
    bool is_right = H5Aread(attr, H5T_NATIVE_INT, &step) >= 0;
    hsize_t n = fill(step, rank, i, want);

    is_right = is_right && H5Sget_simple_extent_npoints(line) == (hssize_t)n &&
               H5Dread(data, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, got) >= 0 &&
               memcmp(got, want, (size_t)n * sizeof *got) == 0;
    H5Sclose(line);
    H5Aclose(attr);
    H5Dclose(data);
    return is_right ? step : 0;
}

/* -1: there is no file that can be opened. */
static int read_file(const struct filer *f, int step, int rank, int i)
{
    char name[300];
    hid_t file;
    int found;

    name_file(f, step, rank, i, name);
    file = H5Fopen(name, H5F_ACC_RDONLY, H5P_DEFAULT);
    if (file < 0)
        return -1;
    found = read_cells(file, rank, i);
    if (f->shape != SAME && found != step)
        found = 0;
    H5Fclose(file);
    return found;
}

/* --- the program ---------------------------------------------------------------------
 */

/* Those that this rank can read all its files of; bit s-1 is step s. */
static unsigned long find(const struct filer *f)
{
    unsigned long found = 0;

    for (int step = f->shape == SAME ? 1 : f->steps; step > 0; step--) {
        int has = f->shape == SAME ? 0 : step;

        for (int i = 0; i < files_of(f, f->rank); i++) {
            int is = read_file(f, step, f->rank, i);

            if (is == 0)
                did(f, "torn %d\n", step);
            if (is <= 0 || (has && is != has))
                has = -1;
            else if (has == 0)
                has = is;
        }
        if (has > 0)
            found |= 1ul << (has - 1);
    }
    return found;
}

static int restart(const struct filer *f)
{
    unsigned long mine = files_of(f, f->rank) > 0 ? find(f) : ~0ul, all;
    char text[500] = "";

    for (int step = f->steps; step > 0; step--)
        if (mine >> (step - 1) & 1)
            snprintf(text + strlen(text), 16, " %d", step);
    if (files_of(f, f->rank) > 0)
        did(f, "found%s\n", text);
    MPI_Allreduce(&mine, &all, 1, MPI_UNSIGNED_LONG, MPI_BAND, MPI_COMM_WORLD);
    for (int step = f->steps; step > 0; step--)
        if (all >> (step - 1) & 1)
            return step;
    return 0;
}

static void make_dir(const struct filer *f, int step)
{
    char name[300];

    snprintf(name, sizeof name, f->shape == SAME ? "%s" : "%s/ck.%d", f->dir, step);
    if (mkdir(name, 0777) < 0 && errno != EEXIST)
        die(f, "cannot make a directory");
}

static void wait_until_safe(const struct filer *f, int step)
{
    H5VL_veloc_status_t status;
    char name[300];

    name_file(f, step, f->rank, 0, name);
    if (H5VL_veloc_wait(name, H5P_DEFAULT, (H5VL_veloc_safety_t)f->level, WAIT_SECONDS,
                        &status) >= 0 &&
        (int)status.safety >= f->level)
        did(f, "safe %d\n", step);
}

static void save(const struct filer *f, int step)
{
    int n = files_of(f, f->rank);

    if (n > 0)
        make_dir(f, step);
    for (int i = 0; i < n; i++)
        write_file(f, step, i);
    turn(f);
    if (f->has_barrier)
        MPI_Barrier(MPI_COMM_WORLD);
    if (n > 0 && f->waits >> (step - 1) & 1)
        wait_until_safe(f, step);
}

static void run(struct filer *f, const char *fifo)
{
    char name[300];

    MPI_Comm_rank(MPI_COMM_WORLD, &f->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &f->ranks);
    if (fifo)
        f->events = open(fifo, O_WRONLY | O_NONBLOCK);
    if (f->results) {
        snprintf(name, sizeof name, "%s/%d", f->results, f->rank);
        f->did = open(name, O_WRONLY | O_CREAT | O_APPEND, 0666);
    }
    if (files_of(f, f->rank) > 0)
        H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    turn(f);
    for (int step = restart(f) + 1; step <= f->steps; step++)
        save(f, step);
    turn(f);
}

/* --- from outside --------------------------------------------------------------------
 */

static const char *state_of(const struct filer *f, int step, int rank, int i, int *has)
{
    static const char stub[] = "\211HDF\r\n\032\n\377\nh5veloc stub 2\n";
    char name[300], begin[sizeof stub] = "";
    size_t len;
    FILE *file;

    *has = 0;
    name_file(f, step, rank, i, name);
    file = fopen(name, "rb");
    if (!file)
        return "absent";
    len = fread(begin, 1, sizeof begin - 1, file);
    begin[len] = '\0';
    fclose(file);
    if (len == 0)
        return "empty";
    if (strcmp(begin, stub) == 0)
        return "stub";
    *has = read_file(f, step, rank, i);
    return *has > 0 ? "right" : "wrong";
}

static int look(struct filer *f)
{
    int has;

    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    for (int step = 1; step <= (f->shape == SAME ? 1 : f->steps); step++)
        for (int rank = 0; rank < f->ranks; rank++)
            for (int i = 0; i < files_of(f, rank); i++) {
                const char *state = state_of(f, step, rank, i, &has);

                printf("%d %d %s\n", f->shape == SAME ? has : step, rank, state);
            }
    return 0;
}

static enum shape shape_of(const char *name)
{
    for (int i = EACH; i <= ZERO; i++)
        if (strcmp(shapes[i], name) == 0)
            return (enum shape)i;
    return EACH;
}

int main(int argc, char **argv)
{
    struct filer f = {.steps = 6, .events = -1, .did = -1, .ranks = 8};
    bool is_looking = false;
    const char *fifo = NULL;
    char *rest;
    int option;

    while ((option = getopt(argc, argv, "vbn:s:w:r:f:R:")) != -1)
        switch (option) {
        case 'v':
            is_looking = true;
            break;
        case 'b':
            f.has_barrier = true;
            break;
        case 'n':
            f.steps = atoi(optarg);
            break;
        case 's':
            f.shape = shape_of(optarg);
            break;
        case 'w':
            f.level = (int)strtol(optarg, &rest, 10);
            f.waits = *rest ? strtoul(rest + 1, NULL, 10) : 0;
            break;
        case 'r':
            f.results = optarg;
            break;
        case 'f':
            fifo = optarg;
            break;
        case 'R':
            f.ranks = atoi(optarg);
            break;
        default:
            return 2;
        }
    if (optind + 1 != argc || f.steps < 1 || f.steps > 30) {
        fprintf(stderr, "filer: see filer.c for its arguments\n");
        return 2;
    }
    f.dir = argv[optind];
    if (is_looking)
        return look(&f);
    MPI_Init(&argc, &argv);
    run(&f, fifo);
    MPI_Finalize();
    did(&f, "end\n");
    return 0;
}
