/* SPDX-License-Identifier: BSD-3-Clause */
/* A process that creates, writes, closes, opens and reads files again and again holds
 * no more descriptors and no more memory after many of them than after a few, whether
 * they come to their path at once or behind, are steps of one dataset or have names
 * that nobody can make anything of, and stay. GROWTH_FILES: so many (make check: 300).
 */
#define _GNU_SOURCE
#include "config.h"

#include <dirent.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "H5VLveloc.h"
#include "tap/tap.h"

enum {
    FILES = 300,
    ALONE_FILES = 1500, /* some hundreds are known */
    KEPT = 5,           /* the program unlinks those before */
    TIMES = 6,          /* it is measured so often, every so many files: datasets */
    APART = 24,         /* that are over are forgotten some dozens at a time, */
    SLACK = 600000,     /* bytes: and keys 256 at a time, of 2.5 KB each */
    PER_FILE = 140      /* bytes, see below */
};

/* How often each of the newest 65536 names was used stands in three tables, 24 bytes in
 * each; the id of each dataset that is on the prefix in a list, 8 bytes; and where its
 * entry stands in the ledger twice, 24 bytes each, for the loop and for workers. */

struct held {
    int descriptors;
    size_t heap, resident; /* bytes */
};

static int count_descriptors(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int n = 0;

    while (dir && readdir(dir))
        n++;
    if (dir)
        closedir(dir);
    return n;
}

/* In use, of all threads. */
static size_t heap_in_use(void)
{
    char *text = NULL, *at, *next;
    size_t len, total = 0;
    FILE *file = open_memstream(&text, &len);

    if (!file || malloc_info(0, file) != 0 || fclose(file) != 0)
        exit(3);
    for (at = text; (next = strstr(at, "</heap>")); at = next + 1) {
        size_t fast = 0, rest = 0, size = 0;
        char *found = strstr(at, "<total type=\"fast\"");

        if (found && found < next)
            sscanf(found, "<total type=\"fast\" count=\"%*u\" size=\"%zu\"", &fast);
        found = strstr(at, "<total type=\"rest\"");
        if (found && found < next)
            sscanf(found, "<total type=\"rest\" count=\"%*u\" size=\"%zu\"", &rest);
        found = strstr(at, "<system type=\"current\"");
        if (found && found < next)
            sscanf(found, "<system type=\"current\" size=\"%zu\"", &size);
        total += size - fast - rest;
    }
    free(text);
    return total;
}

static size_t resident(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");

    if (!file || fscanf(file, "%*u %lu", &pages) != 1 || fclose(file) != 0)
        exit(3);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static bool has_rule = true;

static void name_file(char name[40], int i)
{
    if (has_rule)
        snprintf(name, 40, "g/f.%d.h5", i);
    else
        snprintf(name, 40, "g/%08x.h5", (unsigned)i * 2654435761U);
}

static void write_named(const char *name, int i)
{
    static int cells[500];
    hsize_t n = 500;
    hid_t file, space, data;

    cells[0] = i;
    file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    space = H5Screate_simple(1, &n, NULL);
    data = H5Dcreate2(file, "cells", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT,
                      H5P_DEFAULT);
    if (H5Dwrite(data, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, cells) < 0)
        exit(4);
    H5Dclose(data);
    H5Sclose(space);
    if (H5Fclose(file) < 0)
        exit(4);
}

static void read_one(int i)
{
    int cells[500];
    char name[40];
    hid_t file, data;

    name_file(name, i);
    file = H5Fopen(name, H5F_ACC_RDONLY, H5P_DEFAULT);
    data = H5Dopen2(file, "cells", H5P_DEFAULT);
    if (H5Dread(data, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, cells) < 0 ||
        cells[0] != i)
        exit(5);
    H5Dclose(data);
    H5Fclose(file);
}

/* Until nothing of it is under way. */
static struct held measure(int i)
{
    H5VL_veloc_status_t status;
    struct held held;
    char name[40];

    name_file(name, i);
    if (H5VL_veloc_wait(name, H5P_DEFAULT, H5VL_VELOC_FLUSHED, 60, &status) < 0 ||
        status.safety < H5VL_VELOC_FLUSHED)
        exit(6);
    held.descriptors = count_descriptors();
    held.heap = heap_in_use();
    held.resident = resident();
    return held;
}

/* What is under way comes and goes with the machine: the least of several times counts.
 */
static void keep_least(struct held *least, const struct held *now)
{
    bool is_first = least->descriptors == 0;

    if (is_first || now->descriptors < least->descriptors)
        least->descriptors = now->descriptors;
    if (!is_first && now->heap >= least->heap)
        return;
    least->heap = now->heap;
    least->resident = now->resident;
}

/* Prints what is held about when a fifth of the files are written, and when all are. */
static int writes(int files)
{
    struct held least = {0}, held;
    char name[40];

    write_named("g/once.h5", 0); /* what stays hides nothing of the others */
    for (int i = 1; i <= files; i++) {
        name_file(name, i);
        write_named(name, i);
        read_one(i);
        name_file(name, i - KEPT);
        if (has_rule && i > KEPT && unlink(name) < 0)
            return 7;
        int left = (i > files / 5 ? files : files / 5) - i;

        if (left > TIMES * APART || left % APART != 0)
            continue;
        held = measure(i);
        keep_least(&least, &held);
        if (left > 0)
            continue;
        printf("%d %zu %zu\n", least.descriptors, least.heap, least.resident);
        fflush(stdout);
        least = (struct held){0};
    }
    return 0;
}

/* --- run as a user would --- */

static char top[] = "/dev/shm/h5veloc-growth.XXXXXX";

/* In memory if it can be: thousands of files are synced. */
static const char *make_top(void)
{
    if (!mkdtemp(top))
        return tap_path("all");
    return top;
}

static void remove_top(void)
{
    char command[60];

    snprintf(command, sizeof command, "rm -rf '%s'", top);
    if (strcmp(top + sizeof top - 7, "XXXXXX") != 0 && system(command) != 0)
        note("%s is left", top);
}

static void set_up(const char *above, const char *how)
{
    char path[1000];
    FILE *file;
    bool is_ruled = strcmp(how, "ALONE") != 0;

    mkdir(above, 0700);
    snprintf(path, sizeof path, "%s/%s", above, how);
    if (mkdir(path, 0700) < 0 || chdir(path) < 0 || mkdir("g", 0700) < 0)
        bail_out("no directory %s", path);
    file = fopen(".velocconf", "w");
    if (!file ||
        (is_ruled ? fprintf(file, "DATASET=g PATTERN=g/f.{step}.h5 PUBLISH=%s\n", how)
                  : fprintf(file, "UNLISTED=BEHIND\n")) < 0 ||
        fclose(file) != 0)
        bail_out("no settings");
    setenv("VELOC_CACHE_BASE", path, 1);
    setenv("VELOC_CNTL_BASE", path, 1);
    setenv("VELOC_SEAL_AFTER", "0", 1);
    setenv("HDF5_VOL_CONNECTOR", "veloc", 1);
    setenv("ASAN_OPTIONS", "detect_leaks=0", 1); /* who is traced cannot tell */
}

static void run(const char *self, const char *above, const char *how, int files)
{
    struct held first = {0}, last = {0};
    char command[1100];
    FILE *said;
    int n = 0, status;

    set_up(above, how);
    snprintf(command, sizeof command, "'%s' %d %s", self, files, how);
    said = popen(command, "r");
    if (said)
        n = fscanf(said, "%d %zu %zu %d %zu %zu", &first.descriptors, &first.heap,
                   &first.resident, &last.descriptors, &last.heap, &last.resident);
    status = said ? pclose(said) : -1;
    is_int(status, 0, "%s: a program writes and reads %d files", how, files);
    note("after %d files %d descriptors, %zu bytes of heap, %zu resident; after %d %d, "
         "%zu, %zu",
         files / 5, first.descriptors, first.heap, first.resident, files,
         last.descriptors, last.heap, last.resident);
    is_int(n, 6, "it tells what it holds");
    ok(last.descriptors <= first.descriptors, "and holds no more descriptors");
    ok(last.heap <= first.heap + (size_t)(files - files / 5) * PER_FILE + SLACK,
       "and no more memory");
}

int main(int argc, char **argv)
{
    const char *text = getenv("GROWTH_FILES"), *above;
    char self[1000];
    ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);

    if (argc > 2) {
        has_rule = strcmp(argv[2], "ALONE") != 0;
        return writes(atoi(argv[1]));
    }
    if (len < 0)
        bail_out("who am I?");
    self[len] = '\0';
    atexit(remove_top);
    above = make_top();
    run(self, above, "LIVE", text ? atoi(text) : FILES);
    run(self, above, "BEHIND", text ? atoi(text) : FILES);
    run(self, above, "ALONE", text ? atoi(text) : ALONE_FILES);
    return done_testing();
}
