/* SPDX-License-Identifier: BSD-3-Clause */
/* What does the connector cost, against HDF5 without one, and against HDF5's own
 * connector that passes everything through?
 *
 *   objects   20,000 datasets with an attribute each, created, written, opened again
 *             and read, in a live file that is in memory (BENCH_OBJECTS)
 *             BENCH_PART=pass_through compares with that connector alone
 *   large     a contiguous dataset of BENCH_MIB (512), written to the same memory and
 *             closed; the file is one that is published behind
 *
 * Wanted: objects at most 1.05 x pass_through, large at most 1.05 x native. */
#include "config.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "H5VLveloc.h"
#include "bench/bench.h"
#include "sys/fs.h"

enum { OBJECTS = 20000, MIB_WANTED = 512, CHUNK = 1 << 20, VALUES = 4 };

struct work {
    char dir[256];
    hid_t native, pass, veloc; /* file access property lists */
    int objects;
    size_t size;
    char *bytes;
    int made;      /* large files */
    bool is_veloc; /* the last one */
};

static void must(hid_t id, const char *what)
{
    if (id < 0)
        bench_die("%s failed", what);
}

static void make_object(hid_t file, hid_t space, int i)
{
    const int values[VALUES] = {i, i + 1, i + 2, i + 3};
    char name[32];

    snprintf(name, sizeof name, "d%06d", i);
    hid_t data = H5Dcreate2(file, name, H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT,
                            H5P_DEFAULT);
    must(data, "H5Dcreate2");
    must(H5Dwrite(data, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values),
         "H5Dwrite");
    hid_t attr = H5Acreate2(data, "a", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT);
    must(attr, "H5Acreate2");
    must(H5Awrite(attr, H5T_NATIVE_INT, values), "H5Awrite");
    H5Aclose(attr);
    H5Dclose(data);
}

static void read_object(hid_t file, int i)
{
    int values[VALUES] = {0}, attrs[VALUES] = {0};
    char name[32];

    snprintf(name, sizeof name, "d%06d", i);
    hid_t data = H5Dopen2(file, name, H5P_DEFAULT);
    must(data, "H5Dopen2");
    must(H5Dread(data, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values),
         "H5Dread");
    hid_t attr = H5Aopen(data, "a", H5P_DEFAULT);
    must(attr, "H5Aopen");
    must(H5Aread(attr, H5T_NATIVE_INT, attrs), "H5Aread");
    if (values[1] != i + 1 || attrs[3] != i + 3)
        bench_die("%s has other values", name);
    H5Aclose(attr);
    H5Dclose(data);
}

static int objects(struct work *w, hid_t fapl)
{
    hsize_t size = VALUES;
    hid_t space = H5Screate_simple(1, &size, NULL);
    hid_t file = H5Fcreate("objects.h5", H5F_ACC_TRUNC, H5P_DEFAULT, fapl);

    must(file, "H5Fcreate");
    for (int i = 0; i < w->objects; i++)
        make_object(file, space, i);
    must(H5Fclose(file), "H5Fclose");
    file = H5Fopen("objects.h5", H5F_ACC_RDONLY, fapl);
    must(file, "H5Fopen");
    for (int i = 0; i < w->objects; i++)
        read_object(file, i);
    must(H5Fclose(file), "H5Fclose");
    H5Sclose(space);
    return 0;
}

static int objects_native(void *arg)
{
    return objects(arg, ((struct work *)arg)->native);
}

static int objects_pass(void *arg)
{
    return objects(arg, ((struct work *)arg)->pass);
}

static int objects_veloc(void *arg)
{
    return objects(arg, ((struct work *)arg)->veloc);
}

/* --- large files --- */

/* What was written before is on its path, and gone: nothing goes on behind. */
static int settle(void *arg)
{
    struct work *w = arg;
    H5VL_veloc_status_t status;
    char name[64];
    snprintf(name, sizeof name, "large.%d.h5", w->made);
    if (access(name, F_OK) < 0)
        return 0;
    if (w->is_veloc &&
        H5VL_veloc_wait(name, w->veloc, H5VL_VELOC_FLUSHED, 600, &status) < 0)
        return -1;
    return unlink(name);
}

static int large(struct work *w, hid_t fapl)
{
    hsize_t size = w->size;
    char name[64];

    snprintf(name, sizeof name, "large.%d.h5", ++w->made);
    hid_t space = H5Screate_simple(1, &size, NULL);
    hid_t file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    hid_t data = H5Dcreate2(file, "x", H5T_NATIVE_CHAR, space, H5P_DEFAULT, H5P_DEFAULT,
                            H5P_DEFAULT);
    must(data, "H5Dcreate2");
    must(H5Dwrite(data, H5T_NATIVE_CHAR, H5S_ALL, H5S_ALL, H5P_DEFAULT, w->bytes),
         "H5Dwrite");
    H5Dclose(data);
    H5Sclose(space);
    must(H5Fclose(file), "H5Fclose");
    return 0;
}

static int large_native(void *arg)
{
    ((struct work *)arg)->is_veloc = false;
    return large(arg, ((struct work *)arg)->native);
}

static int large_veloc(void *arg)
{
    ((struct work *)arg)->is_veloc = true;
    return large(arg, ((struct work *)arg)->veloc);
}

/* --- */

static int number(const char *name, int wanted)
{
    const char *text = getenv(name);

    return text && atoi(text) > 0 ? atoi(text) : wanted;
}

static void open_work(struct work *w)
{
    H5VL_pass_through_info_t info = {
        .under_vol_id = H5VLregister_connector_by_value(H5_VOL_NATIVE, H5P_DEFAULT)};
    FILE *rules;

    if (chdir(w->dir) < 0 || mkdir("cache", 0700) < 0 ||
        !(rules = fopen(".velocconf", "w")))
        bench_die("%s cannot be made", w->dir);
    fprintf(rules,
            "CACHE_BASE=%s/cache\nCNTL_BASE=%s\nLOG_LEVEL=WARN\n"
            "DATASET=large PATTERN=large.{step}.h5 PUBLISH=BEHIND KEEP=1\n",
            w->dir, w->dir);
    fclose(rules);
    w->objects = number("BENCH_OBJECTS", OBJECTS);
    w->size = (size_t)number("BENCH_MIB", MIB_WANTED) << 20;
    w->bytes = malloc(w->size);
    if (!w->bytes)
        bench_die("no memory");
    memset(w->bytes, 1, w->size);
    w->native = H5Pcreate(H5P_FILE_ACCESS);
    w->pass = H5Pcreate(H5P_FILE_ACCESS);
    w->veloc = H5Pcreate(H5P_FILE_ACCESS);
    must(H5Pset_vol(w->native, info.under_vol_id, NULL), "H5VL_NATIVE");
    must(H5Pset_vol(w->pass, H5VL_PASSTHRU, &info), "H5VL_PASSTHRU");
    must(H5Pset_vol_veloc(w->veloc, NULL), "connector veloc");
    H5VLclose(info.under_vol_id);
}

static int run_objects(struct work *w)
{
    const struct bench_side native = {"native", objects_native, NULL},
                            pass = {"pass_through", objects_pass, NULL},
                            veloc = {"veloc", objects_veloc, NULL};
    char params[64];
    struct bench bench = {.name = "objects",
                          .params = params,
                          .bytes = (uint64_t)w->objects * VALUES * 4 * sizeof(int),
                          .a = native,
                          .b = pass};
    int missed;

    snprintf(params, sizeof params, "%d datasets and attributes", w->objects);
    if (bench_is_wanted("objects"))
        bench_run(&bench, w);
    bench.b = veloc;
    if (bench_is_wanted("objects"))
        bench_run(&bench, w);
    bench.a = pass;
    bench.target = 1 / 1.05;
    missed = bench_run(&bench, w);
    return missed;
}

static int run_large(struct work *w)
{
    char params[64];
    const struct bench bench = {.name = "large",
                                .params = params,
                                .bytes = w->size,
                                .a = {"native", large_native, settle},
                                .b = {"veloc", large_veloc, settle},
                                .target = 1 / 1.05};

    snprintf(params, sizeof params, "%zu MiB contiguous, close included",
             w->size >> 20);
    return bench_run(&bench, w);
}

static int measure(struct work *w)
{
    int missed = 0;

    open_work(w);
    missed |= (bench_is_wanted("objects") || bench_is_wanted("pass_through")) &&
              run_objects(w);
    missed |= bench_is_wanted("large") && run_large(w);
    H5Pclose(w->native);
    H5Pclose(w->pass);
    H5Pclose(w->veloc);
    free(w->bytes);
    return missed;
}

/* The directory stays until the one who measures has ended, and all that it owes. */
int main(void)
{
    static struct work w;
    int status = 0;

    snprintf(w.dir, sizeof w.dir, "%.100s/h5veloc-connector.XXXXXX", bench_ram_dir());
    if (!mkdtemp(w.dir))
        bench_die("%s cannot be made", w.dir);
    pid_t child = fork();
    if (child == 0)
        exit(measure(&w));
    if (child < 0 || waitpid(child, &status, 0) != child)
        bench_die("no process");
    vel_fs_remove_tree(vel_fs_posix(), w.dir, NULL);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
