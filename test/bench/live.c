/* SPDX-License-Identifier: BSD-3-Clause */
/* What does a live file cost, one that no line has, against HDF5 without the connector?
 *
 *   small     200 files of 10 KB, one after the other, created, written and closed
 *   process   one such file in a process of its own, its start and end included
 *   created   a file of BENCH_MIB (256), created and closed
 *   rewritten all data of it, in place
 *   attrs     20,000 attributes changed after a flush; what undoes that is whole when
 *             the file is closed
 *
 * Wanted: small at most 0.3 ms a file more than native, process 10 ms more; created at
 * most 1.03 x, rewritten 1.05 x, attrs 1.3 x native. */
#define _GNU_SOURCE
#include "config.h"

#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <hdf5.h>

#include "H5VLveloc.h"
#include "bench/bench.h"
#include "sys/fs.h"

enum { SMALL = 200, CELLS = 2500, MIB_WANTED = 256, ATTRS = 20000, GROUPS = 100 };

struct work {
    char dir[256];
    hid_t native, veloc; /* file access property lists */
    size_t size;
    char *bytes;
    int made;
    double seconds; /* of the part that counts */
};

static void must(hid_t id, const char *what)
{
    if (id < 0)
        bench_die("%s failed", what);
}

static void write_file(const char *name, hid_t fapl, hid_t type, hsize_t n,
                       const void *values)
{
    hid_t space = H5Screate_simple(1, &n, NULL),
          file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, fapl),
          data =
              H5Dcreate2(file, "x", type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);

    must(data, "H5Dcreate2");
    must(H5Dwrite(data, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values), "H5Dwrite");
    H5Dclose(data);
    H5Sclose(space);
    must(H5Fclose(file), "H5Fclose");
}

/* --- small files --- */

static int small(struct work *w, hid_t fapl)
{
    static const int values[CELLS];
    char name[64];

    for (int i = 0; i < SMALL; i++) {
        snprintf(name, sizeof name, "small.%d.h5", w->made++);
        write_file(name, fapl, H5T_NATIVE_INT, CELLS, values);
    }
    return 0;
}

static int small_native(void *arg)
{
    return small(arg, ((struct work *)arg)->native);
}

static int small_veloc(void *arg)
{
    return small(arg, ((struct work *)arg)->veloc);
}

/* --- a process of its own --- */

static int write_one(const char *name)
{
    static const int values[CELLS];

    write_file(name, H5P_DEFAULT, H5T_NATIVE_INT, CELLS, values);
    return 0;
}

static int run_self(struct work *w, const char *connector)
{
    char name[64], self[] = "/proc/self/exe";
    char *argv[] = {self, name, NULL};
    pid_t child;
    int status;

    snprintf(name, sizeof name, "own.%d.h5", w->made++);
    setenv("HDF5_VOL_CONNECTOR", connector, 1);
    if (posix_spawn(&child, self, NULL, NULL, argv, environ) != 0 ||
        waitpid(child, &status, 0) < 0)
        return -1;
    unsetenv("HDF5_VOL_CONNECTOR");
    return status;
}

static int process_native(void *arg)
{
    return run_self(arg, "native");
}

static int process_veloc(void *arg)
{
    return run_self(arg, "veloc");
}

/* --- large files --- */

static int begin_anew(void *arg)
{
    (void)arg;
    return unlink("large.h5") < 0 && access("large.h5", F_OK) == 0;
}

static int created(struct work *w, hid_t fapl)
{
    write_file("large.h5", fapl, H5T_NATIVE_CHAR, w->size, w->bytes);
    return 0;
}

static int created_native(void *arg)
{
    return created(arg, ((struct work *)arg)->native);
}

static int created_veloc(void *arg)
{
    return created(arg, ((struct work *)arg)->veloc);
}

static int rewritten(struct work *w, hid_t fapl)
{
    hid_t file = H5Fopen("large.h5", H5F_ACC_RDWR, fapl),
          data = H5Dopen2(file, "x", H5P_DEFAULT);

    must(data, "H5Dopen2");
    w->bytes[0]++;
    must(H5Dwrite(data, H5T_NATIVE_CHAR, H5S_ALL, H5S_ALL, H5P_DEFAULT, w->bytes),
         "H5Dwrite");
    H5Dclose(data);
    must(H5Fclose(file), "H5Fclose");
    return 0;
}

static int rewritten_native(void *arg)
{
    return rewritten(arg, ((struct work *)arg)->native);
}

static int rewritten_veloc(void *arg)
{
    return rewritten(arg, ((struct work *)arg)->veloc);
}

/* --- attributes --- */

static void each_attr(hid_t file, bool is_new, int value)
{
    hid_t space = H5Screate(H5S_SCALAR);

    for (int g = 0; g < GROUPS; g++) {
        char name[32];
        hid_t group;

        snprintf(name, sizeof name, "g%d", g);
        group = is_new ? H5Gcreate2(file, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)
                       : H5Gopen2(file, name, H5P_DEFAULT);
        for (int a = 0; a < ATTRS / GROUPS; a++) {
            hid_t attr;

            snprintf(name, sizeof name, "a%d", a);
            attr = is_new ? H5Acreate2(group, name, H5T_NATIVE_INT, space, H5P_DEFAULT,
                                       H5P_DEFAULT)
                          : H5Aopen(group, name, H5P_DEFAULT);
            must(H5Awrite(attr, H5T_NATIVE_INT, &value), "H5Awrite");
            H5Aclose(attr);
        }
        H5Gclose(group);
    }
    H5Sclose(space);
}

static int attrs(struct work *w, hid_t fapl)
{
    hid_t file = H5Fcreate("attrs.h5", H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    double begin;

    must(file, "H5Fcreate");
    each_attr(file, true, 0);
    must(H5Fflush(file, H5F_SCOPE_GLOBAL), "H5Fflush");
    begin = bench_now();
    each_attr(file, false, 1);
    must(H5Fclose(file), "H5Fclose");
    w->seconds = bench_now() - begin;
    return 0;
}

static int attrs_native(void *arg)
{
    return attrs(arg, ((struct work *)arg)->native);
}

static int attrs_veloc(void *arg)
{
    return attrs(arg, ((struct work *)arg)->veloc);
}

static double seconds_of(void *arg)
{
    return ((struct work *)arg)->seconds;
}

/* --- */

static void open_work(struct work *w)
{
    const char *text = getenv("BENCH_MIB");
    int mib = text && atoi(text) > 0 ? atoi(text) : MIB_WANTED;

    if (chdir(w->dir) < 0 || mkdir("cache", 0700) < 0)
        bench_die("%s cannot be made", w->dir);
    setenv("VELOC_CACHE_BASE", "cache", 1);
    setenv("VELOC_CNTL_BASE", w->dir, 1);
    w->size = (size_t)mib << 20;
    w->bytes = malloc(w->size);
    if (!w->bytes)
        bench_die("no memory");
    memset(w->bytes, 1, w->size);
    w->native = H5Pcreate(H5P_FILE_ACCESS);
    w->veloc = H5Pcreate(H5P_FILE_ACCESS);
    must(H5Pset_vol(w->native, H5VL_NATIVE, NULL), "H5VL_NATIVE");
    must(H5Pset_vol_veloc(w->veloc, NULL), "connector veloc");
}

static int measure(struct work *w)
{
    struct bench small = {.name = "live small",
                          .params = "200 files of 10 KB",
                          .bytes = SMALL * CELLS * sizeof(int),
                          .a = {"native", small_native, NULL},
                          .b = {"veloc", small_veloc, NULL}},
                 process = {.name = "live process",
                            .params = "a file of 10 KB in a process of its own",
                            .bytes = CELLS * sizeof(int),
                            .a = {"native", process_native, NULL},
                            .b = {"veloc", process_veloc, NULL}},
                 large = {.name = "live created",
                          .params = "contiguous, close included",
                          .bytes = w->size,
                          .a = {"native", created_native, begin_anew},
                          .b = {"veloc", created_veloc, begin_anew},
                          .target = 1 / 1.03},
                 again = {.name = "live rewritten",
                          .params = "all data in place",
                          .bytes = w->size,
                          .a = {"native", rewritten_native, NULL},
                          .b = {"veloc", rewritten_veloc, NULL},
                          .target = 1 / 1.05},
                 changed = {.name = "live attrs",
                            .params = "20000 attributes after a flush",
                            .bytes = ATTRS * sizeof(int),
                            .a = {"native", attrs_native, NULL},
                            .b = {"veloc", attrs_veloc, NULL},
                            .target = 1 / 1.3};
    int missed = 0;

    missed |= bench_is_wanted("small") && bench_run_more(&small, SMALL * 0.3e-3, w);
    missed |= bench_is_wanted("process") && bench_run_more(&process, 10e-3, w);
    missed |= bench_is_wanted("created") && bench_run(&large, w);
    missed |= bench_is_wanted("rewritten") && bench_run(&again, w);
    missed |= bench_is_wanted("attrs") && bench_run_part(&changed, seconds_of, w);
    return missed;
}

int main(int argc, char **argv)
{
    static struct work w;
    int status = 0;
    pid_t child;

    if (argc > 1)
        return write_one(argv[1]);
    snprintf(w.dir, sizeof w.dir, "%.100s/h5veloc-live.XXXXXX", bench_ram_dir());
    if (!mkdtemp(w.dir))
        bench_die("%s cannot be made", w.dir);
    child = fork();
    if (child == 0) {
        open_work(&w);
        exit(measure(&w));
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        bench_die("no process");
    vel_fs_remove_tree(vel_fs_posix(), w.dir, NULL);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
