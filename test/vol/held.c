/* SPDX-License-Identifier: BSD-3-Clause */
/* A program that writes what it reads: HDF5 refuses it, in whatever place the file is.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <hdf5.h>

#include "H5VLveloc.h"
#include "tap/placelab.h"
#include "tap/tap.h"

static struct placelab lab;
static hid_t ours = H5P_DEFAULT, native;

static hid_t create(const char *name, unsigned flags)
{
    return H5Fcreate(name, flags, H5P_DEFAULT, ours);
}

static hid_t open_to(const char *name, unsigned flags)
{
    return H5Fopen(name, flags, ours);
}

static bool has_group(hid_t file)
{
    return file >= 0 && H5Lexists(file, "g", H5P_DEFAULT) > 0;
}

static void make(const char *path)
{
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, native);

    H5Gclose(H5Gcreate2(file, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    H5Fclose(file);
}

static herr_t keep_first(unsigned n, const H5E_error2_t *entry, void *data)
{
    if (n == 0)
        snprintf(data, 200, "%s", entry->desc);
    return 0;
}

static void is_refused(hid_t file, const char *want, const char *what)
{
    char first[200] = "";

    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_first, first);
    ok(file < 0, "%s", what);
    is_str(first, want, "which HDF5 says itself");
}

static void test_held(const char *name, const char *where)
{
    hid_t file = open_to(name, H5F_ACC_RDONLY), again;

    note("%s", where);
    is_refused(create(name, H5F_ACC_TRUNC),
               "unable to truncate a file which is already open",
               "a file that is read is not truncated");
    is_refused(create(name, H5F_ACC_EXCL), "file exists", "nor created anew");
    is_refused(open_to(name, H5F_ACC_RDWR), "file is already open for read-only",
               "nor opened to be written");
    again = open_to(name, H5F_ACC_RDONLY);
    ok(has_group(again), "it is read once more");
    H5Fclose(file);
    ok(open_to(name, H5F_ACC_RDWR) < 0, "its last close counts");
    H5Fclose(again);
    file = open_to(name, H5F_ACC_RDWR);
    ok(has_group(file), "then it may be written");
    H5Fclose(file);
}

static void test_removed(const char *name)
{
    hid_t file = open_to(name, H5F_ACC_RDONLY), again;

    H5Fdelete(name, ours);
    placelab_say(&lab, name, 0);
    again = create(name, H5F_ACC_EXCL);
    ok(again >= 0, "when it is removed its name is free");
    H5Fclose(again);
    H5Fclose(file);
}

int main(void)
{
    hid_t connector;

    placelab_start(&lab);
    if (chdir(lab.prefix) < 0)
        bail_out("no prefix");
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    connector = H5VLregister_connector_by_name(H5VL_VELOC_NAME, H5P_DEFAULT);
    ours = H5Pcreate(H5P_FILE_ACCESS);
    native = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_vol(ours, connector, NULL);
    H5Fclose(create("first.h5", H5F_ACC_TRUNC)); /* that one leads here */
    placelab_say(&lab, "cached.h5", 1);
    make(placelab_place(&lab, "cached.h5"));
    test_held("cached.h5", "in the cache");
    make("own.h5");
    test_held("./own.h5", "at its own path");
    test_removed("own.h5");
    H5Pclose(ours);
    H5Pclose(native);
    H5VLclose(connector);
    H5close();
    placelab_end(&lab);
    return done_testing();
}
