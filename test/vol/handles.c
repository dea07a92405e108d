/* SPDX-License-Identifier: BSD-3-Clause */
/* A file at its own path that is open more than once, or not as we open files, when its
 * process is killed: the next one finds it as at its newest point.
 */
#include "config.h"

#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <hdf5.h>

#include "tap/tap.h"

enum {
    GROUPS = 2000,
    CELLS = 1 << 16,
    ATTRS = 80,
    ATTR_CELLS = 1000, /* with its name a message of more than 4 KiB */
    NAME = 900,
    SMALL = 1200,
};

static void must(bool is_well, const char *what)
{
    if (is_well)
        return;
    H5Eprint2(H5E_DEFAULT, stderr);
    fprintf(stderr, "# a process cannot %s\n", what);
    _exit(1);
}

/* --- what is in the file --- */

static hid_t little_cache(void)
{
    H5AC_cache_config_t config = {.version = H5AC__CURR_CACHE_CONFIG_VERSION};
    hid_t fapl = H5Pcreate(H5P_FILE_ACCESS);

    H5Pget_mdc_config(fapl, &config);
    config.set_initial_size = true;
    config.initial_size = config.min_size = config.max_size = 4096;
    H5Pset_mdc_config(fapl, &config);
    return fapl;
}

static hid_t newest_format(void)
{
    hid_t fapl = H5Pcreate(H5P_FILE_ACCESS);

    H5Pset_libver_bounds(fapl, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
    return fapl;
}

static hid_t without_us(void)
{
    hid_t fapl = little_cache();

    H5Pset_vol(fapl, H5VL_NATIVE, NULL);
    return fapl;
}

static hid_t open_with(const char *name, hid_t fapl)
{
    hid_t file = H5Fopen(name, H5F_ACC_RDWR, fapl);

    must(file >= 0, "open a file");
    return file;
}

static void write_data(hid_t file, const char *name, hsize_t cells, int value)
{
    static int values[CELLS];
    hid_t space = H5Screate_simple(1, &cells, NULL),
          data = H5Dcreate2(file, name, H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT,
                            H5P_DEFAULT);

    for (hsize_t i = 0; i < cells; i++)
        values[i] = value;
    must(H5Dwrite(data, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0,
         "write a dataset");
    H5Dclose(data);
    H5Sclose(space);
}

static bool has_data(hid_t file, const char *name, int value)
{
    static int values[CELLS];
    hid_t data = H5Dopen2(file, name, H5P_DEFAULT);
    bool has = data >= 0 && H5Dread(data, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT,
                                    values) >= 0;

    for (int i = 0; i < CELLS; i++)
        has = has && values[i] == value;
    H5Dclose(data);
    return has;
}

/* So many of them that some are written before anybody flushes the file. */
static void add_groups(hid_t at, char kind)
{
    for (int i = 0; i < GROUPS; i++) {
        char name[16];

        snprintf(name, sizeof name, "%c%d", kind, i * 7919 % GROUPS);
        must(H5Gclose(H5Gcreate2(at, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)) >= 0,
             "create a group");
    }
}

static bool has_groups(hid_t file)
{
    hid_t group = H5Gopen2(file, "g", H5P_DEFAULT);
    int n = 0;

    for (int i = 0; group >= 0 && i < GROUPS; i++) {
        char name[16];
        hid_t one;

        snprintf(name, sizeof name, "m%d", i);
        one = H5Gopen2(group, name, H5P_DEFAULT);
        n += one >= 0;
        H5Gclose(one);
    }
    H5Gclose(group);
    return n == GROUPS;
}

static const char *attr_name(int i)
{
    static char name[NAME];

    memset(name, 'n', sizeof name - 1);
    snprintf(name, sizeof name, "%02d", i);
    name[2] = 'n';
    return name;
}

/* --- made without us --- */

static void make_data(void)
{
    hid_t file = H5Fcreate("f.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);

    write_data(file, "a", CELLS, 1);
    must(H5Fclose(file) >= 0, "close a file");
}

static void make_newest(void)
{
    hid_t file = H5Fcreate("f.h5", H5F_ACC_TRUNC, H5P_DEFAULT, newest_format());

    write_data(file, "a", CELLS, 1);
    must(H5Fclose(file) >= 0, "close a file");
}

static void make_groups(void)
{
    hid_t file = H5Fcreate("f.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT),
          group = H5Gcreate2(file, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);

    add_groups(group, 'm');
    H5Gclose(group);
    must(H5Fclose(file) >= 0, "close a file");
}

static void make_shared_attrs(void)
{
    hid_t fcpl = H5Pcreate(H5P_FILE_CREATE), file, space;
    hsize_t cells = ATTR_CELLS;
    int values[ATTR_CELLS] = {0};

    H5Pset_shared_mesg_nindexes(fcpl, 1);
    H5Pset_shared_mesg_index(fcpl, 0, H5O_SHMESG_ATTR_FLAG, 10);
    file = H5Fcreate("f.h5", H5F_ACC_TRUNC, fcpl, newest_format());
    space = H5Screate_simple(1, &cells, NULL);
    for (int i = 0; i < ATTRS; i++) {
        hid_t attr = H5Acreate2(file, attr_name(i), H5T_NATIVE_INT, space, H5P_DEFAULT,
                                H5P_DEFAULT);

        values[0] = i + 1;
        must(H5Awrite(attr, H5T_NATIVE_INT, values) >= 0, "write an attribute");
        H5Aclose(attr);
    }
    must(H5Fclose(file) >= 0, "close a file");
}

/* --- changed, and killed --- */

/* The class of a driver is taken with the first file. */
static void open_another(void)
{
    H5Fclose(H5Fcreate("z.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
}

static void is_reached_by_a_link_first(void)
{
    hid_t fapl = little_cache(),
          links = H5Fcreate("l.h5", H5F_ACC_TRUNC, H5P_DEFAULT, fapl), group;

    H5Lcreate_external("f.h5", "/g", links, "e", H5P_DEFAULT, H5P_DEFAULT);
    group = H5Gopen2(links, "e", H5P_DEFAULT);
    must(group >= 0, "follow a link");
    add_groups(group, 'n');
    open_with("f.h5", fapl);
}

static void is_opened_twice(void)
{
    hid_t file = open_with("f.h5", H5P_DEFAULT);

    H5Fclose(open_with("f.h5", H5P_DEFAULT));
    write_data(file, "b", CELLS, 2);
}

static void run(void (*what)(void), const char *connector);

/* HDF5's locks refuse it. */
static void is_tried_by_another(void)
{
    open_another();
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    if (H5Fopen("f.h5", H5F_ACC_RDWR, H5P_DEFAULT) >= 0)
        _exit(1);
}

static void has_a_rival(void)
{
    hid_t file = open_with("f.h5", H5P_DEFAULT);

    run(is_tried_by_another, "veloc");
    write_data(file, "b", CELLS, 2);
}

static void shares_messages(void)
{
    hid_t file = open_with("f.h5", H5P_DEFAULT);
    int values[ATTR_CELLS] = {0};

    for (int i = 0; i < ATTRS; i++) {
        hid_t attr = H5Aopen(file, attr_name(i), H5P_DEFAULT);

        values[0] = i + 101;
        must(H5Awrite(attr, H5T_NATIVE_INT, values) >= 0, "write an attribute");
        H5Aclose(attr);
    }
    for (int i = 0; i < 100; i++) {
        char name[16];

        snprintf(name, sizeof name, "b%d", i);
        write_data(file, name, SMALL, 99);
    }
}

/* Without us nobody sees that the space of raw data is free again. */
static void is_changed_without_us(void)
{
    hid_t file, native;

    open_another();
    open_with("f.h5", H5P_DEFAULT);
    native = without_us();
    file = open_with("f.h5", native);
    must(H5Ldelete(file, "a", H5P_DEFAULT) >= 0, "delete a dataset");
    write_data(file, "b", CELLS, 2);
}

static void is_overwritten(void)
{
    hid_t file, data;
    static int values[CELLS];

    open_another();
    file = open_with("f.h5", H5P_DEFAULT);
    data = H5Dopen2(file, "a", H5P_DEFAULT);
    must(H5Dwrite(data, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0,
         "write a dataset");
    H5Dclose(data);
}

/* --- found --- */

static bool has_old_groups(hid_t file)
{
    return has_groups(file);
}

static bool has_old_data(hid_t file)
{
    return has_data(file, "a", 1);
}

static bool has_new_data(hid_t file)
{
    return has_data(file, "a", 0);
}

static bool has_its_attrs(hid_t file)
{
    bool has = true;

    for (int i = 0; i < ATTRS; i++) {
        hid_t attr = H5Aopen(file, attr_name(i), H5P_DEFAULT);
        int values[ATTR_CELLS] = {0};

        has = has && attr >= 0 && H5Aread(attr, H5T_NATIVE_INT, values) >= 0 &&
              (values[0] == i + 1 || values[0] == i + 101);
        H5Aclose(attr);
    }
    return has;
}

/* --- cases --- */

static const struct file_case {
    const char *what, *cache;
    void (*make)(void), (*change)(void);
    bool (*is_right)(hid_t file);
    bool keeps_no_data;
} cases[] = {
    {"one that a link has led to first", "c0", make_groups, is_reached_by_a_link_first,
     has_old_groups, false},
    {"one whose head says that it is open, with a second handle", "c1", make_newest,
     is_opened_twice, has_old_data, false},
    {"one whose head says that it is open, and that another process is refused", "c2",
     make_newest, has_a_rival, has_old_data, false},
    {"one with shared messages", "c3", make_shared_attrs, shares_messages,
     has_its_attrs, false},
    {"one that is changed by HDF5's own connector, too", "c4", make_data,
     is_changed_without_us, has_old_data, false},
    {"one whose data are only overwritten", "c5", make_data, is_overwritten,
     has_new_data, true},
};

static const struct file_case *now;

static void change(void)
{
    now->change();
    raise(SIGKILL);
}

static void check(void)
{
    hid_t file;

    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    file = H5Fopen("f.h5", H5F_ACC_RDWR, H5P_DEFAULT);
    if (file < 0 || !now->is_right(file) || H5Fclose(file) < 0)
        _exit(2);
}

static int failed; /* the status of one that did not end as it should */

static void run(void (*what)(void), const char *connector)
{
    pid_t child = fork();
    int status;

    if (child == 0) {
        if (connector)
            setenv("HDF5_VOL_CONNECTOR", connector, 1);
        what();
        exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) < 0)
        bail_out("cannot fork");
    if (!(WIFEXITED(status) && WEXITSTATUS(status) == 0) &&
        !(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL))
        failed = status;
}

/* Bytes in journals. */
static long long kept(void)
{
    char pattern[64];
    glob_t found;
    long long size = 0;

    snprintf(pattern, sizeof pattern, "%s/*/journal/*", now->cache);
    if (glob(tap_path(pattern), 0, NULL, &found) != 0)
        return 0;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        struct stat st;

        size += stat(found.gl_pathv[i], &st) == 0 ? st.st_size : 0;
    }
    globfree(&found);
    return size;
}

int main(void)
{
    if (chdir(tap_dir()) < 0)
        bail_out("no directory");
    setenv("VELOC_CNTL_BASE", tap_dir(), 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        now = &cases[i];
        failed = 0;
        setenv("VELOC_CACHE_BASE", tap_path(now->cache), 1);
        run(now->make, NULL);
        run(change, "veloc");
        if (now->keeps_no_data)
            ok(kept() < (long long)CELLS, "no data is saved of %s", now->what);
        run(check, "veloc");
        is_int(failed, 0, "a killed process leaves whole %s", now->what);
    }
    return done_testing();
}
