/* SPDX-License-Identifier: BSD-3-Clause */
/* What the leader hears of the files of an HDF5 program, and what the program sees: its
 * own names and properties, and the errors that it would have had without us. */
#include "config.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <hdf5.h>

#include "H5VLveloc.h"
#include "process/files.h"
#include "tap/placelab.h"
#include "tap/tap.h"

static struct placelab lab;
static hid_t ours = H5P_DEFAULT, native;

static bool is_empty(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && st.st_size == 0;
}

static bool is_there(const char *path)
{
    return access(path, F_OK) == 0;
}

static void put(hid_t file, const char *name, int value)
{
    hid_t space = H5Screate(H5S_SCALAR);
    hid_t dset = H5Dcreate2(file, name, H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT,
                            H5P_DEFAULT);

    if (H5Dwrite(dset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, &value) < 0)
        note("%s was not written", name);
    H5Dclose(dset);
    H5Sclose(space);
}

/* -1: there is no such thing. */
static int got(hid_t file, const char *name)
{
    int value = -1;
    hid_t dset = H5Dopen2(file, name, H5P_DEFAULT);

    if (dset >= 0 &&
        H5Dread(dset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, &value) < 0)
        value = -1;
    if (dset >= 0)
        H5Dclose(dset);
    return value;
}

static hid_t create(const char *name, unsigned flags, hid_t fapl)
{
    return H5Fcreate(name, flags, H5P_DEFAULT, fapl);
}

static int value_in(const char *path, hid_t fapl)
{
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, fapl);
    int value = file < 0 ? -2 : got(file, "d");

    if (file >= 0)
        H5Fclose(file);
    return value;
}

#define heard(want, ...) is_str(placelab_heard(&lab), want, __VA_ARGS__)

/* --- written --- */

static void check_seen(hid_t file, const char *name)
{
    char text[300] = "";
    void *handle = NULL;
    hid_t fapl = H5Fget_access_plist(file);

    H5Fget_name(file, text, sizeof text);
    is_str(text, name, "the program sees its own name");
    ok(H5Pget_driver(fapl) == H5FD_SEC2 && H5Pget_driver_info(fapl) == NULL,
       "and the driver that it has chosen");
    ok(H5Fget_vfd_handle(file, H5P_DEFAULT, &handle) >= 0 && *(int *)handle > 2,
       "whose descriptor it can have");
    H5Pclose(fapl);
}

static void test_written(void)
{
    hid_t file = create("a.h5", H5F_ACC_TRUNC, ours);

    heard("create a.h5; ", "a file that is created is asked for");
    put(file, "d", 1);
    check_seen(file, "a.h5");
    ok(is_there(placelab_place(&lab, "a.h5")) && is_empty("a.h5"),
       "it is in the cache, and an empty file where it belongs");
    is_int(H5Fclose(file), 0, "it is closed");
    heard("close0 a.h5; ", "and told to be complete");
    is_int(value_in(placelab_place(&lab, "a.h5"), native), 1, "it is a plain file");
}

static void test_held_open(void)
{
    hid_t file = create("held.h5", H5F_ACC_TRUNC, ours), group;

    group = H5Gcreate2(file, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Fclose(file);
    heard("create held.h5; ", "a group that is open holds the file");
    H5Gclose(group);
    heard("close0 held.h5; ", "its last object lets it go");
}

static void test_twice(void)
{
    hid_t file = create("twice.h5", H5F_ACC_TRUNC, ours), again;

    put(file, "d", 7);
    again = H5Fopen("./twice.h5", H5F_ACC_RDWR, ours);
    ok(again >= 0 && got(again, "d") == 7, "a file is opened twice");
    ok(create("twice.h5", H5F_ACC_TRUNC, ours) < 0, "it cannot be truncated then");
    ok(create("twice.h5", H5F_ACC_EXCL, ours) < 0, "nor be new");
    is_int(value_in("twice.h5", ours), 7, "but read");
    is_int(H5Fis_accessible("twice.h5", ours), 1, "and it is accessible");
    H5Fclose(file);
    heard("create twice.h5; ", "its first close is none");
    H5Fclose(again);
    heard("close0 twice.h5; ", "its last one is");
}

static void test_flushed(void)
{
    hid_t file = create("flushed.h5", H5F_ACC_TRUNC, ours);

    H5Fflush(file, H5F_SCOPE_GLOBAL);
    H5Fclose(file);
    heard("create flushed.h5; close1 flushed.h5; close0 flushed.h5; ",
          "H5Fflush is a version point");
}

static void test_append(void)
{
    hid_t file;

    placelab_say(&lab, "append.h5", 1);
    file = create(placelab_place(&lab, "append.h5"), H5F_ACC_TRUNC, native);
    put(file, "d", 1);
    H5Fclose(file);
    file = H5Fopen("append.h5", H5F_ACC_RDWR, ours);
    put(file, "e", 2);
    H5Fclose(file);
    heard("write append.h5; close0 append.h5; ",
          "what is appended to is new as a whole");
    is_int(value_in("append.h5", ours), 1, "and has what was there");
    heard("pull append.h5; ", "a file that is only read is only looked for");
}

static void test_broken(void)
{
    FILE *text = fopen(placelab_place(&lab, "text"), "w");

    fputs("no file of HDF5", text);
    fclose(text);
    placelab_say(&lab, "text", 1);
    ok(H5Fopen("text", H5F_ACC_RDWR, ours) < 0,
       "what is no file of HDF5 is not opened");
    heard("write text; close2 text; ", "and given up");
}

static void test_refused(void)
{
    hid_t file = create("home.h5", H5F_ACC_TRUNC, ours);

    put(file, "d", 3);
    lab.refuses_close = true;
    is_int(H5Fclose(file), 0, "a leader that does not take a file makes no close fail");
    lab.refuses_close = false;
    is_int(value_in("home.h5", native), 3, "the file is where it belongs then");
    placelab_heard(&lab);
}

static void test_removed(void)
{
    hid_t file = create("gone.h5", H5F_ACC_TRUNC, ours), again;

    H5Fdelete("gone.h5", ours);
    heard("create gone.h5; remove gone.h5; ", "a file is removed while it is open");
    again = create("gone.h5", H5F_ACC_EXCL, ours);
    ok(again >= 0, "its name is free again");
    is_int(H5Fclose(file), 0, "it is closed without a name");
    H5Fclose(again);
    heard("create gone.h5; close2 gone.h5; close0 gone.h5; ", "and given up");
}

/* --- elsewhere --- */

struct error {
    char first[1000];
};

static herr_t keep(unsigned n, const H5E_error2_t *entry, void *data)
{
    struct error *error = data;

    if (n == 0)
        snprintf(error->first, sizeof error->first, "%s", entry->desc);
    return 0;
}

static void first_error(struct error *error)
{
    memset(error, 0, sizeof *error);
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep, error);
}

static void test_lost(void)
{
    struct error error;

    placelab_say(&lab, "lost.h5", 3);
    fclose(fopen("lost.h5", "w")); /* a stub stands there */
    ok(H5Fopen("lost.h5", H5F_ACC_RDONLY, ours) < 0, "what is lost is not opened");
    first_error(&error);
    ok(strstr(error.first, "'lost.h5', errno = 2,") &&
           strstr(error.first, "older.h5 is the newest"),
       "it is missing, and the error says what can be restored");
    if (!strstr(error.first, "errno = 2,"))
        note("%s", error.first);
    ok(H5Fis_accessible("lost.h5", ours) < 0, "nor is it accessible");
    placelab_heard(&lab);
}

static void test_moved(void)
{
    placelab_say(&lab, "moved.h5", 1);
    ok(H5Fopen("moved.h5", H5F_ACC_RDONLY, ours) < 0,
       "what is not where it is said to be is not opened");
    heard("pull moved.h5; pull moved.h5; pull moved.h5; ",
          "after it was looked for again");
}

static void test_away(void)
{
    placelab_say(&lab, "away.h5", 4);
    fclose(fopen("away.h5", "w")); /* a stub stands there */
    is_int(H5Fis_accessible("away.h5", ours), 1,
           "what is on another node is accessible");
    heard("look away.h5; ", "and not brought here for that");
    ok(create("away.h5", H5F_ACC_EXCL, ours) < 0, "and cannot be new");
    placelab_heard(&lab);
}

static void test_own(void)
{
    hid_t file;

    placelab_say(&lab, "own.h5", 2);
    file = create("own.h5", H5F_ACC_TRUNC, ours);
    put(file, "d", 5);
    H5Fclose(file);
    heard("create own.h5; ", "a file at its own path has no close to tell");
    is_int(value_in("own.h5", native), 5, "it is there at once");
    is_int(H5Fdelete("own.h5", ours), 0, "it is deleted");
    heard("look own.h5; remove own.h5; ", "which is told");
    ok(!is_there("own.h5"), "and it is gone");
}

static void test_not_ours(void)
{
    hid_t fapl = H5Pcopy(ours), file;
    const char *outside = tap_path("outside.h5");

    H5Fclose(create(outside, H5F_ACC_TRUNC, ours));
    ok(is_there(outside), "a file outside of the prefix is where it belongs");
    H5Pset_fapl_core(fapl, 4096, 0);
    H5Fclose(create("memory.h5", H5F_ACC_TRUNC, fapl));
    H5Pset_fapl_family(fapl, 1 << 20, H5P_DEFAULT);
    file = create("family%d.h5", H5F_ACC_TRUNC, fapl);
    H5Fclose(file);
    ok(is_there("family0.h5"), "so is one in several pieces");
    ok(create("no/where.h5", H5F_ACC_TRUNC, ours) < 0,
       "where there is no directory there is no file");
    heard("", "of all those nothing is asked");
    H5Pclose(fapl);
}

static void test_drivers(void)
{
    hid_t fapl = H5Pcopy(ours), back;
    hid_t file;

    H5Pset_fapl_core(fapl, 4096, 1);
    file = create("core.h5", H5F_ACC_TRUNC, fapl);
    put(file, "d", 8);
    back = H5Fget_access_plist(file);
    size_t increment = 0;
    hbool_t is_stored = 0;
    ok(H5Pget_fapl_core(back, &increment, &is_stored) >= 0 && increment == 4096 &&
           is_stored,
       "another driver comes back with all that it was told");
    H5Pclose(back);
    H5Fclose(file);
    heard("create core.h5; close0 core.h5; ",
          "a file that is written from memory is ours");
    is_int(value_in(placelab_place(&lab, "core.h5"), native), 8, "and in the cache");
    H5Pset_fapl_stdio(fapl);
    H5Fclose(create("stdio.h5", H5F_ACC_TRUNC, fapl));
    heard("create stdio.h5; close0 stdio.h5; ", "so is one of the C library");
    H5Pclose(fapl);
}

/* --- names --- */

static void test_names(void)
{
    mkdir("dir", 0700);
    if (symlink("dir", "link") < 0)
        note("no link");
    H5Fclose(create("./dir//n.h5", H5F_ACC_TRUNC, ours));
    H5Fclose(create("link/n.h5", H5F_ACC_TRUNC, ours));
    if (chdir("dir") < 0)
        note("no directory");
    H5Fclose(create("n.h5", H5F_ACC_TRUNC, ours));
    if (chdir("..") < 0)
        note("no directory");
    heard("create dir/n.h5; close0 dir/n.h5; create dir/n.h5; close0 dir/n.h5; "
          "create dir/n.h5; close0 dir/n.h5; ",
          "a file has one name, however it is called");
}

/* Found beside the file as the program knows it. */
static void test_links(void)
{
    hid_t file = create("dir/target.h5", H5F_ACC_TRUNC, native);

    put(file, "d", 9);
    H5Fclose(file);
    file = create("dir/links.h5", H5F_ACC_TRUNC, ours);
    H5Lcreate_external("target.h5", "/d", file, "there", H5P_DEFAULT, H5P_DEFAULT);
    is_int(got(file, "there"), 9,
           "an external link leads where it would lead without us");
    H5Fclose(file);
    placelab_heard(&lab);
}

/* HDF5 opens these by itself, and does not ask us. */
static void test_links_to_cached(void)
{
    hid_t file = create("dir/cached.h5", H5F_ACC_TRUNC, ours), space, dset, dcpl;
    int value = 0;

    put(file, "d", 10);
    H5Fclose(file);
    file = create("dir/more.h5", H5F_ACC_TRUNC, ours);
    H5Lcreate_external("cached.h5", "/d", file, "there", H5P_DEFAULT, H5P_DEFAULT);
    is_int(got(file, "there"), 10, "an external link leads into the cache");
    space = H5Screate(H5S_SCALAR);
    dcpl = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_virtual(dcpl, space, "cached.h5", "/d", space);
    dset = H5Dcreate2(file, "virtual", H5T_NATIVE_INT, space, H5P_DEFAULT, dcpl,
                      H5P_DEFAULT);
    H5Dread(dset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, &value);
    is_int(value, 10, "so does a virtual dataset");
    H5Dclose(dset);
    H5Pclose(dcpl);
    H5Sclose(space);
    H5Fclose(file);
    heard("create dir/cached.h5; close0 dir/cached.h5; create dir/more.h5; "
          "write dir/cached.h5; close2 dir/cached.h5; write dir/cached.h5; "
          "close2 dir/cached.h5; close0 dir/more.h5; ",
          "what was only read through them has no new version");
}

static void test_mount(void)
{
    hid_t file = create("parent.h5", H5F_ACC_TRUNC, ours);
    hid_t child = create("child.h5", H5F_ACC_TRUNC, ours), group;
    char text[100] = "";

    put(child, "d", 4);
    H5Gclose(H5Gcreate2(file, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    is_int(H5Fmount(file, "g", child, H5P_DEFAULT), 0, "a file is mounted");
    is_int(got(file, "g/d"), 4, "and read through the other one");
    group = H5Gopen2(file, "g", H5P_DEFAULT);
    H5Fget_name(group, text, sizeof text);
    is_str(text, "child.h5", "whose objects tell its name");
    H5Gclose(group);
    H5Fclose(child);
    heard("create parent.h5; create child.h5; ", "it is open while it is mounted");
    H5Fclose(file);
    is_str(placelab_heard(&lab), "close0 child.h5; close0 parent.h5; ",
           "and closed with the other one");
}

/* --- a forked child --- */

static void test_fork(void)
{
    hid_t file = create("forked.h5", H5F_ACC_TRUNC, ours);
    int status = -1;
    pid_t pid;

    put(file, "d", 6);
    H5Fflush(file, H5F_SCOPE_GLOBAL);
    placelab_heard(&lab);
    pid = fork();
    if (pid == 0) {
        H5Fclose(file);
        H5Fclose(create("child-own.h5", H5F_ACC_TRUNC, ours));
        exit(0);
    }
    waitpid(pid, &status, 0);
    is_int(status, 0, "a forked child ends as it wants to");
    heard("", "and nothing is heard of it");
    ok(is_there("child-own.h5"), "what it creates is where it belongs");
    is_int(H5Fclose(file), 0, "its parent goes on");
    heard("close0 forked.h5; ", "and closes its file");
}

int main(void)
{
    hid_t connector;

    placelab_start(&lab);
    setenv("VELOC_SEAL_AFTER", "0", 1);
    if (chdir(lab.prefix) < 0)
        bail_out("no prefix");
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    connector = H5VLregister_connector_by_name(H5VL_VELOC_NAME, H5P_DEFAULT);
    ours = H5Pcreate(H5P_FILE_ACCESS);
    native = H5Pcreate(H5P_FILE_ACCESS);
    if (!ok(connector >= 0 && H5Pset_vol(ours, connector, NULL) >= 0,
            "there is the connector"))
        return done_testing();
    test_written();
    test_held_open();
    test_twice();
    test_flushed();
    test_append();
    test_broken();
    test_refused();
    test_removed();
    test_lost();
    test_moved();
    test_away();
    test_own();
    test_not_ours();
    test_drivers();
    test_names();
    test_links();
    test_links_to_cached();
    test_mount();
    test_fork();
    H5Pclose(ours);
    H5Pclose(native);
    H5VLclose(connector);
    H5close();
    heard("", "the end of HDF5 is not that of the program");
    vel_files_leave();
    heard("leave well; ", "which leaves in good order");
    placelab_end(&lab);
    return done_testing();
}
