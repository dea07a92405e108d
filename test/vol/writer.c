/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "config.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <hdf5.h>

#include "tap/rng.h"
#include "tap/tap.h"
#include "vol/writer.h"

enum {
    DATASETS = 10,
    ATTRS = 6,
    GROUPS = 60,
    CELLS = 300,
    OWN = 1000, /* values of a dataset begin with its number times this */
    CHUNK = 64,
    OPS = 60,
    PAGE = 4096,
    WRITES = 260, /* it is killed at one of these, or ends before */
};

enum kind { CONTIGUOUS, CHUNKED, DEFLATED, TEXTS, KINDS };

struct dataset {
    bool is_there;
    enum kind kind;
    int cells, value;
};

struct state {
    struct dataset datasets[DATASETS];
    int attrs[ATTRS]; /* 0: it is not there */
    int groups;
};

/* What the parent knows of its children. */
static struct told {
    struct writer_told all;
    struct state point, now;
    int newest[DATASETS]; /* value that was begun to be written */
} * told;

/* --- killed at a write --- */

static long writes_left = -1; /* -1: never */

static bool is_last(void)
{
    return writes_left > 0 && --writes_left == 0;
}

ssize_t pwrite(int fd, const void *buf, size_t n, off_t at)
{
    static union {
        void *symbol;
        ssize_t (*function)(int, const void *, size_t, off_t);
    } next;

    if (!next.symbol)
        next.symbol = dlsym(RTLD_NEXT, "pwrite");
    if (is_last()) {
        if (at / 8 % 2) /* below a page it is done whole or not at all */
            next.function(fd, buf, n / 2 / PAGE * PAGE, at);
        else
            next.function(fd, buf, n, at);
        raise(SIGKILL);
    }
    return next.function(fd, buf, n, at);
}

ssize_t pwrite64(int fd, const void *buf, size_t n, off64_t at)
{
    return pwrite(fd, buf, n, at);
}

/* --- what the program does --- */

struct program {
    struct vel_rng rng;
    hid_t fapl, fcpl, file;
    int value; /* the last that was written */
};

static int chance(struct program *p, int n)
{
    return (int)vel_rng_below(&p->rng, (uint64_t)n);
}

static void must(bool is_well, const char *what)
{
    if (is_well)
        return;
    H5Eprint2(H5E_DEFAULT, stderr);
    snprintf(told->all.wrong, sizeof told->all.wrong, "the writer cannot %s", what);
    _exit(1);
}

static const char *name_of(char kind, int i)
{
    static char name[16];

    snprintf(name, sizeof name, "%c%d", kind, i);
    return name;
}

static void write_all(struct program *p, hid_t data, int i, int cells)
{
    int values[2 * CELLS];
    char texts[2 * CELLS][12];
    const char *pointers[2 * CELLS];
    hid_t type = H5Tcopy(H5T_C_S1);
    bool is_text = told->now.datasets[i].kind == TEXTS;

    told->newest[i] = i * OWN + ++p->value % OWN;
    H5Tset_size(type, H5T_VARIABLE);
    for (int k = 0; k < cells; k++) {
        values[k] = told->newest[i];
        snprintf(texts[k], sizeof texts[k], "%d", told->newest[i]);
        pointers[k] = texts[k];
    }
    must(H5Dwrite(data, is_text ? type : H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT,
                  is_text ? (const void *)pointers : values) >= 0,
         "write a dataset");
    H5Tclose(type);
    told->now.datasets[i].value = told->newest[i];
    told->now.datasets[i].cells = cells;
}

static void make_dataset(struct program *p, int i)
{
    enum kind kind = (enum kind)chance(p, KINDS);
    hsize_t cells = kind == TEXTS ? 20 : CELLS, most = H5S_UNLIMITED, chunk = CHUNK;
    bool is_chunked = kind == CHUNKED || kind == DEFLATED;
    hid_t space = H5Screate_simple(1, &cells, is_chunked ? &most : NULL),
          how = H5Pcreate(H5P_DATASET_CREATE), type = H5Tcopy(H5T_NATIVE_INT), data;

    if (is_chunked)
        H5Pset_chunk(how, 1, &chunk);
    if (kind == DEFLATED)
        H5Pset_deflate(how, 1);
    if (kind == TEXTS) {
        H5Tclose(type);
        type = H5Tcopy(H5T_C_S1);
        H5Tset_size(type, H5T_VARIABLE);
    }
    data = H5Dcreate2(p->file, name_of('d', i), type, space, H5P_DEFAULT, how,
                      H5P_DEFAULT);
    must(data >= 0, "create a dataset");
    told->now.datasets[i] = (struct dataset){.is_there = true, .kind = kind};
    write_all(p, data, i, (int)cells);
    H5Dclose(data);
    H5Tclose(type);
    H5Pclose(how);
    H5Sclose(space);
}

static void change_dataset(struct program *p, int i)
{
    struct dataset *d = &told->now.datasets[i];
    hid_t data = H5Dopen2(p->file, name_of('d', i), H5P_DEFAULT);
    hsize_t cells = (hsize_t)d->cells;

    must(data >= 0, "open a dataset");
    if ((d->kind == CHUNKED || d->kind == DEFLATED) && chance(p, 2)) {
        cells = (hsize_t)(CELLS / 2 + chance(p, CELLS));
        must(H5Dset_extent(data, &cells) >= 0, "resize a dataset");
    }
    write_all(p, data, i, (int)cells);
    H5Dclose(data);
}

static void change_attr(struct program *p, int i)
{
    int *value = &told->now.attrs[i];
    hid_t space, attr;

    if (*value && chance(p, 3) == 0) {
        must(H5Adelete(p->file, name_of('a', i)) >= 0, "delete an attribute");
        *value = 0;
        return;
    }
    space = H5Screate(H5S_SCALAR);
    attr = *value ? H5Aopen(p->file, name_of('a', i), H5P_DEFAULT)
                  : H5Acreate2(p->file, name_of('a', i), H5T_NATIVE_INT, space,
                               H5P_DEFAULT, H5P_DEFAULT);
    p->value++;
    must(attr >= 0 && H5Awrite(attr, H5T_NATIVE_INT, &p->value) >= 0,
         "write an attribute");
    H5Aclose(attr);
    H5Sclose(space);
    *value = p->value;
}

static void set_point(void)
{
    told->point = told->now;
    told->all.points++;
}

static void close_it(struct program *p)
{
    must(H5Fclose(p->file) >= 0, "close the file");
    set_point();
}

static void do_one(struct program *p)
{
    int i = chance(p, DATASETS);
    bool is_there = told->now.datasets[i].is_there;

    switch (chance(p, 8)) {
    case 0:
        must(H5Fflush(p->file, H5F_SCOPE_GLOBAL) >= 0, "flush the file");
        set_point();
        break;
    case 1:
        if (is_there)
            must(H5Ldelete(p->file, name_of('d', i), H5P_DEFAULT) >= 0,
                 "delete a dataset");
        told->now.datasets[i].is_there = false;
        break;
    case 2:
        for (int n = 0; n < 4 && told->now.groups < GROUPS; n++) {
            hid_t group = H5Gcreate2(p->file, name_of('g', told->now.groups),
                                     H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);

            must(group >= 0, "create a group");
            H5Gclose(group);
            told->now.groups++;
        }
        break;
    case 3:
        close_it(p);
        p->file = H5Fopen("f.h5", H5F_ACC_RDWR, p->fapl);
        must(p->file >= 0, "open the file again");
        break;
    case 4:
    case 5:
        change_attr(p, chance(p, ATTRS));
        break;
    default:
        if (is_there)
            change_dataset(p, i);
        else
            make_dataset(p, i);
    }
}

/* With little room for metadata, which is written early then. */
static hid_t fapl_of(struct program *p)
{
    H5AC_cache_config_t config = {.version = H5AC__CURR_CACHE_CONFIG_VERSION};
    hid_t fapl = H5Pcreate(H5P_FILE_ACCESS);

    H5Pget_mdc_config(fapl, &config);
    config.set_initial_size = true;
    config.initial_size = config.min_size = config.max_size = 4096;
    if (chance(p, 4))
        H5Pset_mdc_config(fapl, &config);
    if (chance(p, 2))
        H5Pset_libver_bounds(fapl, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
    return fapl;
}

static hid_t fcpl_of(struct program *p)
{
    hid_t fcpl = H5Pcreate(H5P_FILE_CREATE);

    if (chance(p, 5) == 0)
        H5Pset_file_space_strategy(fcpl, H5F_FSPACE_STRATEGY_PAGE, chance(p, 2), 1);
    return fcpl;
}

/* --- what is found --- */

static void is_wrong(const char *what, int i, int got)
{
    if (!told->all.wrong[0])
        snprintf(told->all.wrong, sizeof told->all.wrong, "%s %d: %d", what, i, got);
}

static bool fits_dataset(hid_t file, const struct state *s, int i)
{
    const struct dataset *d = &s->datasets[i];
    int values[2 * CELLS] = {0};
    char *texts[2 * CELLS] = {0};
    hid_t data, space, type = H5Tcopy(H5T_C_S1);
    bool fits, is_read;

    if (H5Lexists(file, name_of('d', i), H5P_DEFAULT) != d->is_there)
        return false;
    if (!d->is_there)
        return true;
    data = H5Dopen2(file, name_of('d', i), H5P_DEFAULT);
    space = data >= 0 ? H5Dget_space(data) : H5I_INVALID_HID;
    fits = data >= 0 && H5Sget_simple_extent_npoints(space) == d->cells;
    H5Tset_size(type, H5T_VARIABLE);
    fits = is_read = fits && H5Dread(data, d->kind == TEXTS ? type : H5T_NATIVE_INT,
                                     H5S_ALL, H5S_ALL, H5P_DEFAULT,
                                     d->kind == TEXTS ? (void *)texts : values) >= 0;
    for (int k = 0; fits && k < d->cells; k++) {
        int value = d->kind == TEXTS ? atoi(texts[k] ? texts[k] : "") : values[k];

        fits = value >= d->value && value <= told->newest[i];
    }
    if (d->kind == TEXTS && is_read)
        H5Treclaim(type, space, H5P_DEFAULT, texts);
    H5Tclose(type);
    H5Sclose(space);
    H5Dclose(data);
    return fits;
}

static bool fits_attr(hid_t file, const struct state *s, int i)
{
    int value = 0;
    hid_t attr;

    if (H5Aexists(file, name_of('a', i)) != (s->attrs[i] != 0))
        return false;
    if (!s->attrs[i])
        return true;
    attr = H5Aopen(file, name_of('a', i), H5P_DEFAULT);
    bool fits =
        attr >= 0 && H5Aread(attr, H5T_NATIVE_INT, &value) >= 0 && value == s->attrs[i];
    H5Aclose(attr);
    return fits;
}

static bool fits(hid_t file, const struct state *s, const char *which)
{
    for (int i = 0; i < DATASETS; i++)
        if (!fits_dataset(file, s, i))
            return is_wrong(which, i, s->datasets[i].is_there), false;
    for (int i = 0; i < ATTRS; i++)
        if (!fits_attr(file, s, i))
            return is_wrong("attribute", i, s->attrs[i]), false;
    for (int i = 0; i < GROUPS; i++)
        if (H5Lexists(file, name_of('g', i), H5P_DEFAULT) != (i < s->groups))
            return is_wrong("group", i, s->groups), false;
    return true;
}

/* --- what a process does --- */

/* With the file open: some deeds, and its end. */
static void go_on(struct program *p)
{
    int ops = 1 + chance(p, OPS);

    writes_left = 1 + chance(p, WRITES);
    for (int i = 0; i < ops; i++)
        do_one(p);
    close_it(p);
    writes_left = -1;
}

void writer_begin(uint64_t seed)
{
    struct program p = {0};

    vel_rng_init(&p.rng, seed);
    p.fapl = fapl_of(&p);
    p.fcpl = fcpl_of(&p);
    p.file = H5Fcreate("f.h5", H5F_ACC_TRUNC, p.fcpl, p.fapl);
    must(p.file >= 0, "create the file");
    go_on(&p);
}

/* It goes on from what it finds, which is one of two states. */
static bool is_right(hid_t file)
{
    bool is_point = fits(file, &told->point, "dataset"),
         is = is_point || fits(file, &told->now, "dataset");

    if (is_point)
        told->now = told->point;
    if (is) {
        told->point = told->now;
        told->all.wrong[0] = '\0';
    }
    return is;
}

void writer_go_on(uint64_t seed)
{
    struct program p = {.value = OWN / 2};

    vel_rng_init(&p.rng, seed + 1000000);
    p.fapl = fapl_of(&p);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    p.file = H5Fopen("f.h5", H5F_ACC_RDWR, p.fapl);
    if (p.file < 0)
        is_wrong("it is not opened again", told->all.points, 0);
    else if (is_right(p.file))
        go_on(&p);
}

void writer_read(uint64_t seed)
{
    hid_t file;

    (void)seed;
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    file = H5Fopen("f.h5", H5F_ACC_RDONLY, H5P_DEFAULT);
    if (file < 0)
        is_wrong("it is not opened", told->all.points, 0);
    else
        is_right(file);
    H5Fclose(file);
}

void writer_open_and_die(uint64_t seed)
{
    writes_left = 1 + (long)(seed % 7);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    H5Fclose(H5Fopen("f.h5", H5F_ACC_RDONLY, H5P_DEFAULT));
    writes_left = -1;
}

struct writer_told *writer_told(void)
{
    if (!told)
        told = mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (told == MAP_FAILED)
        bail_out("no memory");
    memset(told, 0, sizeof *told);
    return &told->all;
}
